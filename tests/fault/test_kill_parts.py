"""Nothing vanishes: parts of a backfill under SIGKILL, while others fold and the history grows."""

from pathlib import Path

from tests.fault.kill_parts import PLACES, kill_parts
from tests.shared_data import SGD, shared


def test_guarantee_3_parts_killed_at_any_moment_lose_and_double_nothing(tmp_path: Path) -> None:
    result = kill_parts(shared(*SGD), tmp_path, kills=10, seed=7)
    assert result.problems == []
    struck = [place for place in PLACES if result.struck[place]]
    assert {"gathering", "gathered", "part", "exported", "taken"} <= {*struck}, result.struck
    assert len(struck) >= len(PLACES) - 1, result.struck  # the last ones are a moment apart
    assert result.struck["random"] >= 10 - len(PLACES)
