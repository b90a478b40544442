"""Nothing vanishes under SIGKILL: real processes, killed at real points of a batch."""

from pathlib import Path

import pytest

from tests.fault.kill_run import kill_run, problems
from tests.shared_data import SGD, shared


@pytest.mark.component
def test_guarantee_3_a_run_killed_at_any_moment_continues_exactly_once(tmp_path: Path) -> None:
    result = kill_run(shared(*SGD), tmp_path, kills=12, seed=7)
    assert problems(result) == []
    assert sum(result.struck.values()) == 12
    assert len(result.struck) >= 3, f"kills struck in too few places: {result.struck}"
    assert result.torn >= 1, f"no batch was torn: {result.struck}"
    assert result.turns >= 60_000
