"""The same turns replayed three times: storage and state do not grow."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sinks.digest import digest
from sinks.generation import generation_path
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.files.open_generation import writing
from streams.generations.rebuild import backfill

pytestmark = pytest.mark.nightly

TURNS = 3_000


def parquet(folder: Path) -> dict[str, int]:
    """The tables' files and their bytes."""
    found = folder.glob("*/date=*/*.parquet")
    return {str(path.relative_to(folder)): path.stat().st_size for path in found}


def state(folder: Path) -> dict[bytes, bytes]:
    """All rows of the fold's tables, without the runner's own values."""
    with writing(folder) as (store, _):
        rows: Any = store._db.items()
        return {key: value for key, value in rows if not key.startswith(b"m\0")}


def test_guarantee_2_the_same_turns_three_times_are_held_once(
    sgd_run: Path, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    with (sgd_run / "records.ndjson").open("rb") as whole:
        lines = b"".join(islice(whole, TURNS))
    seen = []
    for number in (1, 2, 3):
        file = tmp_path / f"turns-{number}.ndjson"  # by another name it is read again
        file.write_bytes(lines)
        counts = file_runner.run([str(file)], history)
        assert (counts["applied"], counts["duplicate"]) == ((TURNS, 0), (0, TURNS))[number > 1]
        seen.append((parquet(history), state(history), digest(history)))
    assert seen[0] == seen[1] == seen[2]


def test_three_backfills_hold_what_the_first_held(sgd_run: Path, tmp_path: Path) -> None:
    history, again = tmp_path / "history", tmp_path / "history" / "generations" / "again"
    with (sgd_run / "records.ndjson").open("rb") as whole:
        (tmp_path / "turns.ndjson").write_bytes(b"".join(islice(whole, TURNS)))
    file_runner.run([str(tmp_path / "turns.ndjson")], history)
    seen = []
    for _ in range(3):
        backfill(history, "again", Settings(constants={"max_intents": 9}))
        seen.append((parquet(again), state(again), digest(generation_path(history, "again"))))
    assert seen[0] == seen[1] == seen[2]
