"""A disk whose syncs take long keeps the lanes waiting that write to it, and nobody else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SYNC = 0.3
"""Seconds of one."""


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
def test_writing_rows_waits_for_no_sync(silences: dict[str, float]) -> None:
    assert silences["writing"] < SYNC, silences


@pytest.mark.component
@pytest.mark.needs("cc")
def test_lanes_open_one_after_the_other(silences: dict[str, float]) -> None:
    assert silences["one"] > SYNC, "the disk is not slow"
    assert silences["opening"] < 1.8 * silences["one"], silences
