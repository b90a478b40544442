"""A history that several write at once: rows once, whoever is faster (docs/kafka-tier.md)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sinks.history import connect
from sinks.history_root import HistoryError
from sinks.sink_history import LOCKS, Piece, SharedHistory
from sinks.tables import SCHEMAS, to_arrow

OWNER = {"sink": "s", "cluster": "c"}
DAY = 86_400_000_000


def piece(offsets: Sequence[int], app_id: str = "a") -> Piece:
    """Rows of `threads` whose event ids are their offsets."""
    rows = [
        ("put", "o", str(at), app_id, 1.0, at, at, None, "default", at, "history", 0, at, 1)
        for at in offsets
    ]
    assert len(rows[0]) == len(SCHEMAS["threads"])
    return Piece(app_id, list(offsets), to_arrow("threads", rows))


def stored(root: Path) -> list[Any]:
    with connect(root, views=["threads"]) as db:
        return db.execute("SELECT thread_key, src_offset FROM threads ORDER BY ALL").fetchall()


def test_rows_are_written_once_whoever_comes_again(tmp_path: Path) -> None:
    with SharedHistory(tmp_path / "h", OWNER) as one, SharedHistory(tmp_path / "h", OWNER) as two:
        assert one.write({"threads": [piece([1, 2, 5])]}, {"a": 6}, {}) == 3
        assert two.write({"threads": [piece([1, 2, 5])]}, {"a": 6}, {}) == 0
        assert two.write({"threads": [piece([2, 5, 8])]}, {"a": 9}, {}) == 1
        assert one.write({"threads": [piece([5, 8])]}, {"a": 8}, {}) == 0
        assert one.write({"threads": [piece([8, 10])]}, {"a": 10}, {"a": 1}) == 1
        assert one.positions(["a", "b"]) == {"a": 10}
    assert stored(tmp_path / "h") == [("a", at) for at in (1, 2, 5, 8, 10)]


def test_one_who_made_the_table_meanwhile_is_noticed(tmp_path: Path) -> None:
    """A table that did not exist when it was looked at: Delta itself would let both write."""
    with SharedHistory(tmp_path / "h", OWNER) as one, SharedHistory(tmp_path / "h", OWNER) as two:
        looked = _between(one, lambda: two.write({"threads": [piece([1, 2])]}, {"a": 2}, {}))
        assert looked.write({"threads": [piece([1, 2, 3])]}, {"a": 3}, {}) == 1
    assert stored(tmp_path / "h") == [("a", 1), ("a", 2), ("a", 3)]


def test_one_who_was_faster_is_noticed_when_committing(tmp_path: Path) -> None:
    with SharedHistory(tmp_path / "h", OWNER) as one, SharedHistory(tmp_path / "h", OWNER) as two:
        one.write({"threads": [piece([1])]}, {"a": 1}, {})
        looked = _between(one, lambda: two.write({"threads": [piece([2])]}, {"a": 2}, {}))
        assert looked.write({"threads": [piece([2, 3])]}, {"a": 3}, {}) == 1
        # another partition's rows are nobody's hindrance
        looked = _between(one, lambda: two.write({"threads": [piece([4], "b")]}, {"b": 4}, {}))
        assert looked.write({"threads": [piece([4])]}, {"a": 4}, {}) == 1
    assert stored(tmp_path / "h") == [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 4)]


def _between(history: SharedHistory, act: Any) -> SharedHistory:
    """Its next append happens after `act`, as if its process had been stopped; the lock is lost."""
    append = history._append

    def late(*given: Any) -> None:
        history._append = append  # type: ignore[method-assign]
        for lock in (Path(history.root) / LOCKS).iterdir():
            lock.unlink()
        act()
        append(*given)

    history._append = late  # type: ignore[method-assign, assignment]
    return history


def test_a_torn_write_is_read_again_and_finished(tmp_path: Path) -> None:
    """Killed after the first of two tables: the position is the one before."""
    with SharedHistory(tmp_path / "h", OWNER) as one:
        one.write({"threads": [piece([1])]}, {"a": 1}, {})

        def stop(point: str) -> None:
            if point == "after affects":
                raise KeyboardInterrupt

        affects = [("e", "u", None, 0.0, 0.0, 0.0, "", (), 1.0, False, 2, "default", 2, "history",
                    0, 2, 1)]  # fmt: skip
        pieces = {
            "affects": [Piece("a", [2], to_arrow("affects", affects))],
            "threads": [piece([3])],
        }
        with pytest.raises(KeyboardInterrupt):
            one.write(pieces, {"a": 3}, {"a": 1}, stop)
        assert one.positions(["a"]) == {"a": 1}
        assert one.write(pieces, {"a": 4}, {"a": 1}) == 1
        assert one.positions(["a"]) == {"a": 4}


def test_whose_history_it_is_is_checked(tmp_path: Path) -> None:
    with SharedHistory(tmp_path / "h", OWNER):
        pass
    wrong = "its rows are from the cluster c, but Kafka here is the cluster d. Name another folder"
    with pytest.raises(HistoryError, match=wrong):
        SharedHistory(tmp_path / "h", OWNER | {"cluster": "d"})
    with pytest.raises(HistoryError, match="the sink 's' writes this history, not 'another'"):
        SharedHistory(tmp_path / "h", OWNER | {"sink": "another"})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "turnfold.json").write_text('{"format": 1}')
    (tmp_path / "other" / "_store").mkdir()
    with pytest.raises(HistoryError, match="turnfold run"):
        SharedHistory(tmp_path / "other", OWNER)
