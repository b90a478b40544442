"""Delta's log read by ourselves names the files that the library names."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import _duckdb
import pytest
from deltalake import DeltaTable

from sinks import files
from sinks.delta import History
from sinks.file_checks import damage
from sinks.hard_links import files_at, version_of
from sinks.history_root import HistoryError
from sinks.maintenance import compact, forget
from tests.unit.test_sinks_support import row, write

DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")


def turns(event_id: str) -> list[tuple[Any, ...]]:
    """A turn a day, of users `u` and `v`."""
    return [
        row("events", event_id=f"{event_id}-{day}", session_id=user, user_id=user, occurred_at=day)
        for day in DAYS
        for user in "uv"
    ]


def named(root: Path) -> list[str]:
    """The files of `events` by us, which must be those by the library."""
    table = root / "events"
    found = files.data_files(_duckdb.connect(), table)
    assert found == sorted(unquote(uri) for uri in DeltaTable(str(table)).file_uris())
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A history of three batches: nine files, and a checkpoint after the second and the third."""
    root = tmp_path / "a history"
    for version in range(3):
        write(root, version, events=turns(str(version)))
    return root


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is not asked."""
    monkeypatch.delattr(files, "_by_library")


def log(root: Path) -> Path:
    return root / "events" / "_delta_log"


def without_checkpoint(root: Path) -> None:
    (log(root) / "_last_checkpoint").unlink()


def with_an_older_checkpoint(root: Path) -> None:
    (log(root) / "_last_checkpoint").write_text('{"version": 1}')


def compacted(root: Path) -> None:
    compact(root)


def restored(root: Path) -> None:
    with History(root) as history:
        history.restore({"events": 0})


def emptied(root: Path) -> None:
    with History(root) as history:
        history.restore({})


def forgotten(root: Path) -> None:
    forget(root, "default", "u")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("change", "count"),
    [
        (without_checkpoint, 9), (with_an_older_checkpoint, 9), (compacted, 3), (restored, 3),
        (emptied, 0), (forgotten, 3),
    ],
)  # fmt: skip
def test_the_files_of_the_newest_version(
    root: Path, change: Callable[[Path], None], count: int
) -> None:
    assert len(named(root)) == 9
    change(root)
    assert len(named(root)) == count


@pytest.mark.usefixtures("alone")
def test_a_whole_log_says_what_a_checkpoint_says(root: Path) -> None:
    restored(root)
    without_checkpoint(root)
    assert len(named(root)) == 3


@pytest.mark.usefixtures("alone")
def test_commits_after_the_checkpoint_count(root: Path) -> None:
    with History(root) as history:
        table = history.table("events")
        assert table is not None
        table.delete("date = '2026-03-02'")
        assert len(named(root)) == 6
        table.create_checkpoint()
        assert len(named(root)) == 6


def test_a_table_without_a_log_has_no_files(tmp_path: Path) -> None:
    assert files.data_files(_duckdb.connect(), tmp_path / "events") == []


def test_a_table_whose_making_broke_off_has_no_files(tmp_path: Path) -> None:
    """A full disk leaves the folder of the log, and what was not yet a commit."""
    log = tmp_path / "events" / "_delta_log"
    log.mkdir(parents=True)
    (log / "_commit_1.json.tmp").touch()
    assert files.data_files(_duckdb.connect(), tmp_path / "events") == []


def test_a_log_with_more_to_it_is_left_to_the_library(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_by_library", lambda table: [f"asked of {table.name}"])
    commit, checkpoint = log(root) / f"{3:020}.json", log(root) / "_last_checkpoint"
    for text in (
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}},
        {"add": {"path": "file:///elsewhere/part.parquet"}},
        {"add": {"path": "/elsewhere/part.parquet"}},
    ):
        commit.write_text(json.dumps(text) + "\n")
        assert files.data_files(_duckdb.connect(), root / "events") == ["asked of events"]
    commit.unlink()
    for last in ('{"version": 2, "parts": 2}', '{"version": 2, "v2Checkpoint": {}}', "{}", "?"):
        checkpoint.write_text(last)
        assert files.data_files(_duckdb.connect(), root / "events") == ["asked of events"]


@pytest.mark.parametrize(
    "read",
    [
        lambda table: files.data_files(_duckdb.connect(), table),
        lambda table: History(table.parent).table(table.name),
        damage,
        files_at,
        version_of,
    ],
)
def test_a_damaged_log_is_an_error_with_a_remedy(
    read: Callable[[Path], object], root: Path
) -> None:
    for part in log(root).iterdir():
        part.write_text("no log")
    with pytest.raises(HistoryError, match=r"events: the table cannot be read: .*; restore"):
        read(root / "events")
