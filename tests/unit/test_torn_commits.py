"""The log of a table after a loss of power (sinks/power_loss.py)."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from deltalake import DeltaTable

from sinks import power_loss
from sinks.delta import History
from sinks.errors import HistoryError
from sinks.hard_links import files_at, set_files
from sinks.locations import replace
from sinks.maintenance import compact, forget
from sinks.power_loss import FLUSHED, drop_torn_checkpoints, flushed, note_flushed, void_torn
from streams.search.history_source import new_files
from tests.fault.test_power_loss import piece
from tests.unit.test_sinks_support import row, write

COMMITS = 4


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with four commits of one row, without checkpoints."""
    history = History(tmp_path / "h")
    for offset in range(COMMITS):
        assert history.append("threads", piece("threads", [offset]).rows, "app", offset)
    return tmp_path / "h" / "threads"


def entry(table: Path, version: int) -> Path:
    return table / "_delta_log" / f"{version:020}.json"


def repaired(table: Path, before: int = -1) -> bool:
    drop_torn_checkpoints(table)
    return void_torn(table, before, lambda: History(table.parent)._creation("threads"))


def rows(table: Path) -> list[int]:
    delta = DeltaTable(str(table))
    delta.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    return sorted(row["src_offset"] for row in delta.to_pyarrow_table().to_pylist())


def test_a_whole_log_stays(table: Path) -> None:
    DeltaTable(str(table)).create_checkpoint()
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}
    assert not repaired(table)
    assert not repaired(table, 0)
    assert {path: path.read_bytes() for path in table.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("torn", [0, 2])
@pytest.mark.parametrize("how", ["empty", "cut", "cut line", "missing", "no file", "short file"])
def test_a_torn_commit_and_later_ones_are_empty(torn: int, how: str, table: Path) -> None:
    (file,) = new_files(table, torn - 1).files[:1]  # type: ignore[union-attr]
    path, content = entry(table, torn), entry(table, torn).read_bytes()
    if how.endswith("file"):
        path = Path(file)
        content = path.read_bytes()
    path.unlink()
    ends = {"empty": 0, "cut line": content.rfind(b"\n")}
    if how in ("empty", "cut", "cut line", "short file"):
        path.write_bytes(content[: ends.get(how, len(content) // 2)])
    assert repaired(table)
    assert DeltaTable(str(table)).version() == COMMITS, "versions only grow"
    for since in range(torn, COMMITS):
        assert new_files(table, since) is None, "an index that knows the lost rows starts over"
    assert not repaired(table)
    assert rows(table) == list(range(torn))


def test_each_kind_of_commit_shows_the_loss_of_its_last_line(tmp_path: Path) -> None:
    root = tmp_path / "h"
    for version in range(4):
        name = "uv"[version % 2]
        day = row("events", event_id=str(version), session_id=name, user_id=name,
                  occurred_at="2026-03-01")  # fmt: skip
        write(root, version, events=[day])
    compact(root)
    forget(root, "default", "u")
    with History(root) as history:
        files, versions = files_at(root / "events"), history.delta_versions()
        set_files(history, "events", [])
        history.restore(versions)
        history.restore({})
        set_files(history, "events", files)
        history.open_or_create("links")
    operations = set()
    for log in root.glob("*/_delta_log/*.json"):
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        assert power_loss._is_complete(actions), log
        if len(actions) > 1:
            assert not power_loss._is_complete(actions[:-1]), actions
            operations.add(actions[0]["commitInfo"]["operation"])
    assert {"WRITE", "OPTIMIZE", "RESTORE", "DELETE", "CREATE TABLE"} <= operations


def test_commits_before_the_last_flush_are_not_looked_at(table: Path) -> None:
    """A file that somebody has deleted is damage, which `doctor` reports."""
    (file, *_) = new_files(table, 0).files  # type: ignore[union-attr]
    Path(file).unlink()
    assert not repaired(table, 1)
    assert repaired(table, 0)


@pytest.mark.parametrize("replaced", range(4))
def test_a_repair_that_was_killed_is_done_again(
    replaced: int, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry(table, 2).write_bytes(b"")
    left = iter(range(replaced))

    def stopping(file: Path, text: str) -> None:
        next(left)
        replace(file, text)

    with monkeypatch.context() as stopped, suppress(StopIteration):
        stopped.setattr(power_loss, "replace", stopping)
        repaired(table)
    repaired(table)
    assert rows(table) == [0, 1]


def test_a_lost_entry_with_a_checkpoint_is_torn(table: Path) -> None:
    DeltaTable(str(table)).create_checkpoint()
    entry(table, COMMITS - 1).unlink()
    assert repaired(table)
    assert rows(table) == list(range(COMMITS - 1))


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_damage_of_flushed_commits_that_readers_do_not_notice_is_an_error(
    how: str, table: Path
) -> None:
    path = entry(table, COMMITS - 1)
    path.unlink()
    if how == "empty":
        path.touch()
    with pytest.raises(HistoryError, match=r"ends at version 2|is empty"):
        repaired(table, COMMITS - 1)
    assert repaired(table, 0) == (how == "empty")


def test_a_data_file_of_zeros_is_torn(table: Path) -> None:
    (file,) = new_files(table, COMMITS - 2).files  # type: ignore[union-attr]
    Path(file).write_bytes(bytes(Path(file).stat().st_size))
    assert repaired(table)
    assert rows(table) == list(range(COMMITS - 1))


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b'{"threads": "x"}', b'{"thr'])
def test_a_damaged_note_counts_as_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FLUSHED).write_bytes(content)
    assert flushed(tmp_path) == {}
    note_flushed(tmp_path, {"threads": 2, "links": 3})
    note_flushed(tmp_path, {"threads": 5, "links": 1})
    assert flushed(tmp_path) == {"threads": 5, "links": 3}, "versions of the note only grow"


def test_a_file_that_a_later_commit_removed_may_be_gone(table: Path) -> None:
    delta = DeltaTable(str(table))
    delta.optimize.compact()
    delta.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert not repaired(table)
    assert rows(table) == list(range(COMMITS))


@pytest.mark.parametrize("content", [b"", b"PAR1 and more", b"{"])
def test_a_torn_checkpoint_is_not_read(content: bytes, table: Path) -> None:
    DeltaTable(str(table)).create_checkpoint()
    (checkpoint,) = table.glob("_delta_log/*.checkpoint.parquet")
    checkpoint.write_bytes(content)
    assert not repaired(table)
    assert rows(table) == list(range(COMMITS))


def test_a_checkpoint_that_the_log_needs_stays(table: Path) -> None:
    DeltaTable(str(table)).create_checkpoint()
    entry(table, 0).unlink()
    (checkpoint,) = table.glob("_delta_log/*.checkpoint.parquet")
    checkpoint.write_bytes(b"")
    drop_torn_checkpoints(table)
    assert checkpoint.exists()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"version": 9}', b'{"ver'])
def test_a_torn_pointer_to_a_checkpoint_is_not_read(content: bytes, table: Path) -> None:
    DeltaTable(str(table)).create_checkpoint()
    (table / "_delta_log" / "_last_checkpoint").write_bytes(content)
    assert not repaired(table)
    assert rows(table) == list(range(COMMITS))
