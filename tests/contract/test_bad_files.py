"""Files and folders that are no good: what was read before is kept, nothing else is touched."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import checked, folded, ndjson, rows, snapshot, turn, turnfold
from tests.contract.test_bad_input import text

pytestmark = pytest.mark.nightly


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Path, int]:
    """A gzip file of 5,000 turns, and how many."""
    content = b"".join(
        text(turn(f"e{n}", user_input=os.urandom(30).hex())) + b"\n" for n in range(5000)
    )
    file = tmp_path / "turns.ndjson.gz"
    file.write_bytes(gzip.compress(content))
    return file, 5000


def test_of_a_truncated_gzip_file_what_came_before_is_kept(
    tmp_path: Path, packed: tuple[Path, int]
) -> None:
    file, count = packed
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    done = turnfold("run", file, "--history", tmp_path / "history", "-o", "json")
    assert done.code == 4 and "ends too early" in done.err
    counts = checked(done.json())
    assert 1000 < counts["applied"] < count
    assert rows(tmp_path / "history", "SELECT count(*) FROM events") == [(counts["applied"],)]
    file.write_bytes(whole)
    again = folded(file, history=tmp_path / "history")
    assert again["applied"] == count - counts["applied"], "the whole file goes on from there"
    assert rows(tmp_path / "history", "SELECT count(*) FROM events") == [(count,)]


def test_of_a_corrupt_gzip_file_what_came_before_is_kept(
    tmp_path: Path, packed: tuple[Path, int]
) -> None:
    file, count = packed
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = b"\xff" * 64
    file.write_bytes(content)
    done = turnfold("run", file, "--history", tmp_path / "history", "-o", "json")
    assert done.code == 4 and str(file) in done.err
    counts = checked(done.json())
    assert rows(tmp_path / "history", "SELECT count(*) FROM events") == [(counts["applied"],)]
    assert 500 < counts["applied"] < count


def bad_sources(folder: Path) -> Iterator[tuple[str, Path]]:
    (folder / "folder.ndjson").mkdir()
    yield "a folder as file", folder / "folder.ndjson"
    yield "no such file", folder / "absent.ndjson"


@pytest.mark.parametrize("index", [0, 1], ids=["folder", "absent"])
def test_a_bad_source_touches_nothing(tmp_path: Path, index: int) -> None:
    good = ndjson(tmp_path / "good.ndjson", [turn("e1")])
    _, source = list(bad_sources(tmp_path))[index]
    before = snapshot(tmp_path)
    done = turnfold("run", good, source, "--history", tmp_path / "history")
    assert done.code == 3 and str(source) in done.err
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("kind", ["a file", "other things", "broken marker", "newer format"])
def test_a_bad_history_is_refused_and_nothing_is_touched(tmp_path: Path, kind: str) -> None:
    history = tmp_path / "history"
    if kind == "a file":
        history.write_text("mine")
    else:
        history.mkdir()
        name = "notes.txt" if kind == "other things" else "turnfold.json"
        (history / name).write_text('{"format": 99}' if kind == "newer format" else "mine")
    file = ndjson(tmp_path / "good.ndjson", [turn("e1")])
    before = snapshot(tmp_path)
    for command in (["run", str(file)], ["sql", "SELECT 1"]):
        done = turnfold(*command, "--history", history)
        assert done.code == 3 and str(history) in done.err, (command, done)
    assert snapshot(tmp_path) == before


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    file = ndjson(tmp_path / "good.ndjson", [turn("e1")])
    file.chmod(0)
    done = turnfold("run", file, "--history", tmp_path / "history")
    if os.access(file, os.R_OK):  # root reads every file
        assert done.code == 0
    else:
        assert done.code == 3 and str(file) in done.err
