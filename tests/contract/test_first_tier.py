"""The first tier stays quick: no test of it takes over two seconds."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import durations
from tests.command import environment
from tests.shared_data import ROOT

TABLE = ROOT / ".ci" / "durations.tsv"
LIMIT = 2.0
"""Seconds of a test's own call, on a machine that does the yardstick in `YARDSTICK` seconds."""
YARDSTICK = 0.1
TRIES = 3

WARMING = [
    f"tests/unit/test_private_files.py::test_what_is_no_umask_is_a_wrong_setting[{umask}]"
    for umask in ("700", "88")
]
"""One of these goes first: the first test that calls a command starts a server of processes, which
takes seconds."""


@pytest.mark.component
def test_no_test_of_the_first_tier_takes_over_two_seconds(tmp_path: Path) -> None:
    """Reads what `.ci/run` has just measured. A test that was slow there, also beside other work of
    the machine, runs again alone: the machine may have stood still."""
    assert TABLE.exists(), "run the first tier before: .ci/run tests"
    rows = [row for row in durations.read(TABLE) if row.step == "tests"]
    (step,) = [row for row in rows if row.kind == "step"]
    limit = LIMIT * max(1.0, step.seconds / step.cpu_seconds)  # two workers share the seconds
    slow = [row.name for row in rows if row.kind == "test" and row.seconds > limit]
    for _ in range(TRIES):
        if slow:
            slow = _slow_alone(slow, tmp_path / "again.tsv")
    assert slow == []


def _slow_alone(tests: list[str], table: Path) -> list[str]:
    """Which of the tests take too long by the speed that the machine has just now."""
    slowness = max(1.0, _yardstick() / YARDSTICK)
    first = next(test for test in WARMING if test not in tests)
    command = [sys.executable, "-m", "pytest", "-n", "0", f"{durations.OPTION}={table}", first]
    command += tests
    ours = {name: value for name, value in environment().items() if not name.startswith("PYTEST")}
    done = subprocess.run(command, cwd=ROOT, env=ours, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    rows = durations.read(table)
    return [row.name for row in rows if row.name in tests and row.seconds > LIMIT * slowness]


def _yardstick() -> float:
    """Seconds of a fixed piece of work."""
    start = time.monotonic()
    sum(number * number for number in range(2_000_000))
    return time.monotonic() - start
