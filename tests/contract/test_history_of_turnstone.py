"""A history that was written while the project was called Turnstone opens as it is.

`golden/history_of_turnstone.tar.gz` holds `h`, the first 40 lines of the sample, folded by commit
27fb7e1 (`turnstone run first.ndjson --history h`), the last one before the rename.
"""

import fcntl
import tarfile
from importlib.resources import as_file
from pathlib import Path

import pytest

from sinks.digest import digest
from sinks.root import MARKERS
from streams import sample
from tests.command import folded, turnfold

FIRST = 40
ARCHIVE = Path(__file__).parent / "golden" / "history_of_turnstone.tar.gz"
MEMORY = "c3a003f6b8182a9f1e580166ba8142e18dd5e78b9af8bfac5b10994df4840c03"
LOG = "fc3c3034ebfdc43a934c16de1cb06f115fb915b8b1f5013dca67fe33ad9381e1"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "h"


def test_it_is_read_with_the_digest_that_it_had(history: Path) -> None:
    found = digest(history)
    assert (found["memory"], found["log"]) == (MEMORY, LOG)


@pytest.mark.nightly
def test_it_continues_where_it_was_and_ends_as_one_folded_in_one_go_but_for_what_is_expected(
    history: Path, tmp_path: Path
) -> None:
    with as_file(sample.CONVERSATIONS) as file:
        counts = folded(file, history=history)
        lines = file.read_text(encoding="utf-8").count("\n")
        fresh = folded(file, history=tmp_path / "fresh")
    assert counts["applied"] == fresh["applied"] - 38  # what the archive has applied
    assert counts["read"] == lines
    ours, theirs = digest(history)["tables"], digest(tmp_path / "fresh")["tables"]
    assert {name for name in ours if ours[name] != theirs[name]} == {"profile_current", "profiles"}
    made = turnfold("backfill", "--history", history, "--generation", "again")
    assert made.code == 0, made.err
    assert turnfold("promote", "again", "--history", history).code == 0
    assert digest(history)["memory"] == digest(tmp_path / "fresh")["memory"]
    assert [name for name in MARKERS if (history / name).exists()] == ["turnstone.json"]


def test_it_has_the_lock_that_the_older_version_takes(history: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.ndjson"
    first.write_text("")
    with (history / "turnstone.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = turnfold("run", first, "--history", history)
    assert done.code == 3
    assert "another turnfold is writing this history" in done.err
