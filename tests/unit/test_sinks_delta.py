"""Exactly once into files: batches written again, torn, undone; folders that are no history."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from schemas.rows import TABLES
from sinks.delta import OPEN_FOR, History, HistoryError, HistoryWriteError
from sinks.history import columns, connect
from sinks.history_root import MARKER, open_root
from sinks.tables import SCHEMAS, to_arrow
from tests.unit.test_sinks_support import row, write


def events(*ids: str) -> pa.Table:
    return to_arrow("events", [row("events", event_id=one, session_id="s") for one in ids])


def shown(root: Path) -> list[str]:
    with connect(root, views=["events"]) as db:
        return [one for (one,) in db.execute("SELECT event_id FROM events ORDER BY 1").fetchall()]


def test_a_version_is_written_once_by_any_handle(tmp_path: Path) -> None:
    root = tmp_path / "history"
    with History(root) as history:
        assert history.append("events", events("a"), "app", 7)
        assert not history.append("events", events("a"), "app", 7)
    with History(root) as fresh:
        assert fresh.versions("app") == {"events": 7}
        assert not fresh.append("events", events("a"), "app", 7)
        assert not fresh.append("events", events("b"), "app", 6)
        assert fresh.append("events", events("c"), "other", 6)
        assert fresh.append("events", events("d"), "app", 8)
    assert shown(root) == ["a", "c", "d"]


def test_a_long_run_is_written_through_handle_after_handle(tmp_path: Path) -> None:
    """Each is used for some commits, and the next one goes on where it ended."""
    handles = []  # kept, so that none has another's id
    with History(tmp_path / "h") as history:
        for version in range(2 * OPEN_FOR + 2):
            assert history.append("events", events(f"e{version:03}"), "app", version)
            assert not history.append("events", events("again"), "app", version)
            handles.append(history.table("events"))
    assert len({id(handle) for handle in handles}) == 3
    assert shown(tmp_path / "h") == [f"e{version:03}" for version in range(2 * OPEN_FOR + 2)]


def test_a_batch_without_rows_carries_its_version(tmp_path: Path) -> None:
    with History(tmp_path / "history") as history:
        assert not history.append("events", events(), "app", 1)  # makes no table
        assert history.append("events", events("a"), "app", 1)
        assert history.append("events", events(), "app", 2)
        assert history.versions("app") == {"events": 2}


def test_a_torn_batch_is_undone_and_can_be_written_again(tmp_path: Path) -> None:
    root = tmp_path / "history"
    with History(root) as history:
        history.append("events", events("a"), "app", 1)
        stands = history.delta_versions()
        history.append("events", events("b"), "app", 2)
        history.append("plans", to_arrow("plans", [row("plans", plan_id="p")]), "app", 2)
    with History(root) as fresh:  # killed before the batch's last table
        fresh.restore(stands)
        assert fresh.versions("app") == {"events": 1}
        assert shown(root) == ["a"]
        fresh.restore(stands)
        assert fresh.append("events", events("b"), "app", 2)
        assert fresh.append("plans", to_arrow("plans", [row("plans", plan_id="p")]), "app", 2)
    assert shown(root) == ["a", "b"]
    with connect(root) as db:
        assert db.execute("SELECT plan_id FROM plans").fetchall() == [("p",)]


def test_a_file_without_what_is_asked_for_is_not_read(tmp_path: Path) -> None:
    with History(tmp_path / "history") as history:
        history.append("events", events(*(f"e{n}" for n in range(1000))), "app", 1)
        delta = history.table("events")
        assert delta is not None
        (file,) = delta.file_uris()
    filters = "SELECT path_in_schema FROM parquet_metadata(?) WHERE bloom_filter_offset IS NOT NULL"
    looks = "FROM parquet_bloom_probe(?, 'event_id', ?)"
    with connect(tmp_path / "history") as db:
        assert {name for (name,) in db.execute(filters, [file]).fetchall()} == {
            "event_id",
            "session_id",
        }
        left_out = [
            db.execute(f"SELECT bool_and(bloom_filter_excludes) {looks}", [file, one]).fetchone()
            for one in ("e7", "e7x")
        ]
    assert left_out == [(False,), (True,)]


def test_restore_to_a_version_that_never_was_is_refused(tmp_path: Path) -> None:
    with History(tmp_path / "history") as history:
        history.append("events", events("a"), "app", 1)
        with pytest.raises(HistoryError, match="is at version 0, expected 5"):
            history.restore({"events": 5})


def test_two_writers_of_one_app_do_not_both_write(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(root, events=[row("events", event_id="a", session_id="s")])
    one, two = History(root), History(root)
    assert one.versions("app") == two.versions("app") == {}
    assert one.append("events", events("b"), "app", 1)
    with pytest.raises(HistoryWriteError, match="another writer"):
        two.append("events", events("b"), "app", 1)
    assert not two.append("events", events("b"), "app", 1)
    assert shown(root) == ["a", "b"]


def test_a_file_or_a_foreign_folder_is_refused_untouched(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    for path in (file, folder, tmp_path / "a[b]"):
        with pytest.raises(HistoryError) as refused:
            History(path)
        assert refused.value.exit_code == 3
    assert file.read_text() == "mine"
    assert [one.name for one in folder.iterdir()] == ["mine.txt"]


def test_several_may_make_a_history_at_once(tmp_path: Path) -> None:
    """As sinks do that are started together."""
    with ThreadPoolExecutor(8) as pool:
        for number in range(100):
            root = tmp_path / str(number)
            assert list(pool.map(open_root, [root] * 8)) == [root] * 8
            assert [one.name for one in root.iterdir()] == [MARKER]


def test_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text(json.dumps({"format": 99}))
    with pytest.raises(HistoryError, match="format 99, this version reads 1"):
        History(tmp_path)
    (tmp_path / MARKER).write_text("{")
    with pytest.raises(HistoryError, match="not readable"):
        History(tmp_path)


def test_an_empty_folder_becomes_a_history_and_a_path_may_hold_spaces(tmp_path: Path) -> None:
    root = tmp_path / "with a space, é and 'quote"
    root.mkdir()
    write(root, events=[row("events", event_id="a", session_id="s")])
    assert shown(root) == ["a"]


def test_a_table_that_cannot_be_written_is_a_plain_error(tmp_path: Path) -> None:
    root = tmp_path / "history"
    with History(root) as history:
        history.append("events", events("a"), "app", 1)
        (root / "plans").write_text("in the way")  # also for root, whom no permission stops
        with pytest.raises(HistoryWriteError, match="plans: ") as refused:
            history.append("plans", to_arrow("plans", [row("plans", plan_id="p")]), "app", 1)
        assert refused.value.exit_code == 1
    assert shown(root) == ["a"]


def test_a_disk_that_is_full_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for a full disk: a real write fails in the kernel."""
    import resource
    import signal

    root = tmp_path / "history"
    text = "".join(chr(33 + (n * n * 7919) % 90) for n in range(400_000))
    big = to_arrow("events", [row("events", event_id="b", session_id="s", user_input=text)])
    with History(root) as history:
        history.append("events", events("a"), "app", 1)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            with pytest.raises(HistoryWriteError):
                history.append("events", big, "app", 2)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, before)
        assert history.versions("app") == {"events": 1}
        assert shown(root) == ["a"]
        assert history.append("events", big, "app", 2)
    assert shown(root) == ["a", "b"]


@pytest.mark.parametrize("table", TABLES)
def test_readers_and_the_writer_agree_on_columns(table: str) -> None:
    duck = {
        "string": "VARCHAR", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN",
        "binary": "BLOB", "date32[day]": "DATE", "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
    }  # fmt: skip
    written = {f.name: duck.get(str(f.type), "VARCHAR[]") for f in SCHEMAS[table]}
    assert columns(table) == written
    assert list(columns(table)) == list(written)


def test_a_value_of_the_wrong_type_is_named() -> None:
    rows = [row("plans", plan_id="a"), row("plans", plan_id=7)]
    with pytest.raises(ValueError, match=r"plans\.plan_id, row 1: "):
        to_arrow("plans", rows)
    with pytest.raises(ValueError, match="plans, row 0: 1 values for 13 columns"):
        to_arrow("plans", [("a",)])


def test_a_reader_beside_a_writer_sees_whole_commits(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(root, events=[row("events", event_id=f"{n}", session_id="s") for n in range(10)])
    done = threading.Event()

    def work() -> None:
        with History(root) as history:
            for version in range(1, 15):
                history.append("events", events(*map(str, range(10))), "test", version)
        done.set()

    writer = threading.Thread(target=work)
    writer.start()
    counts: list[int] = []
    while not done.is_set() or not counts:
        counts.append(len(shown(root)))
    writer.join()
    assert all(count % 10 == 0 for count in counts)
    assert counts == sorted(counts)
    assert len(shown(root)) == 150
