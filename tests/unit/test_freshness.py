"""A generation that sinks write goes live only where it has what the live one has."""

import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from schemas.base import DAY, SECOND
from sinks.generation import Pointer, folder_of, pointer
from sinks.sink_history import Piece, SharedHistory
from sinks.tables import to_arrow
from streams.errors import ConfigurationError
from streams.generations.promotion import promote, rollback

OWNER = {"sink": "s", "cluster": "c"}
LONG_AGO = int(time.time() - 3_600) * SECOND


def written(folder: Path, records: Iterable[tuple[str, int, int, int]]) -> None:
    """Signals applied from these (topic, partition, offset, recorded_at)."""
    rows = [
        (f"{topic}-{partition}-{offset}", "user", None, "ann", at,
         f'{{"n": "{topic}-{partition}-{offset}"}}', "default", at, topic, partition, offset,
         at // DAY)
        for topic, partition, offset, at in records
    ]  # fmt: skip
    with SharedHistory(folder, OWNER) as history:
        piece = Piece("sink-history-0", list(range(len(rows))), to_arrow("signals", rows))
        history.write({"signals": [piece]}, {"sink-history-0": len(rows)}, {})


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Live, two partitions read; `new` has read one of them as far, of the other nothing."""
    root = tmp_path / "h"
    read = [("user-signals", 0, offset, LONG_AGO) for offset in (3, 4, 7)]
    written(root, [*read, ("turns", 1, 5, LONG_AGO), ("turns", 1, 9, LONG_AGO)])
    written(folder_of(root, "new"), read)
    return root


def test_a_generation_that_is_behind_is_refused(history: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        promote(history, "new")
    assert str(refused.value) == (
        "generation 'new' is behind: it lacks 2 records that the live one has had for over 60 s, "
        "from turns/1 offset 5 on; let its workers and sink catch up (`turnfold kafka lag` shows "
        "how far they are), or promote it with --behind"
    )
    assert pointer(history) == Pointer()


def test_it_may_be_wanted_all_the_same(history: Path) -> None:
    assert promote(history, "new", behind=True).current == "new"
    assert rollback(history).current == "root"  # which lacks nothing
    with pytest.raises(ConfigurationError, match="is behind"):
        rollback(history)
    assert rollback(history, behind=True).current == "new"


def test_what_came_just_now_is_not_waited_for(tmp_path: Path) -> None:
    root = tmp_path / "h"
    read = [("turns", 0, offset, LONG_AGO) for offset in range(3)]
    now = int(time.time()) * SECOND
    written(root, [*read, ("turns", 0, 3, now), ("turns", 2, 0, now)])
    written(folder_of(root, "new"), read)
    assert promote(root, "new").current == "new"


def test_what_only_the_new_one_has_is_no_hindrance(tmp_path: Path) -> None:
    root = tmp_path / "h"
    read = [("turns", 0, offset, LONG_AGO) for offset in range(5)]
    written(root, read[:3])
    written(folder_of(root, "new"), [read[0], read[4]])  # 1 and 2 ended otherwise there
    assert promote(root, "new").current == "new"


def test_what_was_read_at_another_place_is_not_lacking(tmp_path: Path) -> None:
    """`repartition` has moved the records of three partitions into two."""
    root = tmp_path / "h"
    written(
        root, [("turns", 2, 0, LONG_AGO), ("turns", 2, 1, LONG_AGO), ("turns", 1, 70, LONG_AGO)]
    )
    moved(folder_of(root, "new"), [("turns-2-0", 71), ("turns-2-1", 72), ("turns-1-70", 70)])
    assert promote(root, "new").current == "new"


def moved(folder: Path, said: Iterable[tuple[str, int]]) -> None:
    """The same signals, read from partition 1 at these offsets."""
    rows = [
        (name, "user", None, "ann", LONG_AGO, f'{{"n": "{name}"}}',
         "default", LONG_AGO, "turns", 1, offset, LONG_AGO // DAY)
        for name, offset in said
    ]  # fmt: skip
    with SharedHistory(folder, OWNER) as history:
        piece = Piece("sink-history-0", list(range(len(rows))), to_arrow("signals", rows))
        history.write({"signals": [piece]}, {"sink-history-0": len(rows)}, {})
