"""A disk whose syncs take long keeps the lanes waiting that write to it, and nobody else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SYNC = 0.5
"""Seconds of one."""
WAITING = ["writing", "closing", "following", "filling", "sinking", "serving"]


@pytest.fixture(scope="module")
def silences(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    folder = tmp_path_factory.mktemp("slow")
    library, source = folder / "slow_disk.so", Path(__file__).with_name("slow_disk.c")
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    slow = {"LD_PRELOAD": str(library), "SLOW_MS": str(int(SYNC * 1000))}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.fault.slow_disk", str(folder)],
        capture_output=True, check=True, text=True, env=os.environ | slow,
    )  # fmt: skip
    found: dict[str, float] = json.loads(ran.stdout)
    return found


@pytest.mark.component
@pytest.mark.needs("cc")
@pytest.mark.parametrize(
    "what", ["writing", "closing", "following", "filling", "sinking", "serving"]
)
def test_what_waits_for_a_sync_lets_the_event_loop_run(
    what: str, silences: dict[str, float]
) -> None:
    assert silences[what] < SYNC, silences


@pytest.mark.component
@pytest.mark.needs("cc")
@pytest.mark.parametrize("what", ["creating", "opening", "making"])
def test_the_event_loop_waits_for_five_syncs_of_one_store_at_most(
    what: str, silences: dict[str, float]
) -> None:
    """rocksdict lets no thread run while it opens a store; a new one needs ten."""
    assert silences["one"] > 4 * SYNC, "the disk is not slow"
    assert silences[what] < 6.5 * SYNC, silences
