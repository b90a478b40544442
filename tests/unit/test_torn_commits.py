"""The log of a table after a loss of power (sinks/power_loss.py)."""

from pathlib import Path

import pytest
from deltalake import DeltaTable

from sinks.delta import History
from sinks.power_loss import drop_torn_checkpoints, void_torn
from streams.search.history_source import new_files
from tests.fault.test_power_loss import piece

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


def repaired(table: Path, flushed: int = -1) -> bool:
    drop_torn_checkpoints(table)
    return void_torn(table, flushed, lambda: History(table.parent)._creation("threads"))


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
@pytest.mark.parametrize("how", ["empty", "cut", "missing", "no file", "short file"])
def test_a_torn_commit_and_later_ones_are_empty(torn: int, how: str, table: Path) -> None:
    (file,) = new_files(table, torn - 1).files[:1]  # type: ignore[union-attr]
    path, content = entry(table, torn), entry(table, torn).read_bytes()
    if how.endswith("file"):
        path = Path(file)
        content = path.read_bytes()
    path.unlink()
    if how in ("empty", "cut", "short file"):
        path.write_bytes(b"" if how == "empty" else content[: len(content) // 2])
    assert repaired(table)
    assert DeltaTable(str(table)).version() == COMMITS, "versions only grow"
    for since in range(torn, COMMITS):
        assert new_files(table, since) is None, "an index that knows the lost rows starts over"
    assert not repaired(table)
    assert rows(table) == list(range(torn))


def test_commits_before_the_last_flush_are_not_looked_at(table: Path) -> None:
    """A file that somebody has deleted is damage, which `doctor` reports."""
    (file, *_) = new_files(table, 0).files  # type: ignore[union-attr]
    Path(file).unlink()
    assert not repaired(table, 1)
    assert repaired(table, 0)


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
