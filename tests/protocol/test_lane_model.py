"""A model of how lanes take over and commit, checked by SPIN in all its states."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.building import run

pytestmark = [pytest.mark.nightly, pytest.mark.needs("spin", "cc")]

MODEL = Path(__file__).with_name("lane.pml")


def failures(folder: Path, *definitions: str) -> list[str]:
    """The assertions that fail in a state of the model, the first one."""
    run("spin", "-a", *[f"-D{name}" for name in definitions], MODEL, folder=folder)
    run("gcc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "check", "pan.c", folder=folder)
    done = subprocess.run(
        [folder / "check", "-m400000"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert re.search(r"errors: [01]$", done.stdout, re.M) and "depth too small" not in done.stdout
    return re.findall(r"^pan:1: (.+?) \(at depth", done.stdout, re.M)


@pytest.mark.parametrize(("rebalances", "faults"), [(1, 1), (2, 0)])
def test_each_record_is_folded_once_whole_and_in_order(
    tmp_path: Path, rebalances: int, faults: int
) -> None:
    """And the group's offset never goes back."""
    assert failures(tmp_path, f"REBALANCES={rebalances}", f"FAULTS={faults}") == []


@pytest.mark.parametrize(
    ("definition", "rebalances", "faults", "assertion"),
    [
        ("END_TWICE", 1, 1, "(has_outputs&&has_marker)"),
        ("KEPT_OFFSETS", 2, 0, "(unreported>=group_offset)"),
        ("FINISHED", 0, 0, "(marker<2)"),
    ],
)
def test_it_finds_faults_of_the_past_and_can_finish(
    tmp_path: Path, definition: str, rebalances: int, faults: int, assertion: str
) -> None:
    failed = failures(tmp_path, definition, f"REBALANCES={rebalances}", f"FAULTS={faults}")
    assert failed == [f"assertion violated {assertion}"]
