"""Nothing vanishes: backfill and switches under SIGKILL, while the live memory grows."""

from pathlib import Path

from tests.fault.kill_backfill import kill_backfill, kill_parts
from tests.shared_data import SGD, shared


def test_guarantee_3_backfill_and_switches_killed_at_any_moment_lose_nothing(
    tmp_path: Path,
) -> None:
    result = kill_backfill(shared(*SGD), tmp_path, kills=12, seed=7)
    assert result.problems == []
    assert sum(result.struck.values()) == 12
    stages = {name.partition(", ")[2] for name in result.struck}
    assert {"reading", "folding"} <= stages, f"kills struck in too few places: {result.struck}"
    assert {name.partition(",")[0] for name in result.struck} == {"create", "promote"}


def test_guarantee_3_several_processes_killed_with_their_parent_lose_nothing(
    tmp_path: Path,
) -> None:
    """The parent is killed; those that fold for it must end by themselves."""
    result = kill_parts(shared(*SGD), tmp_path, seed=7)
    assert result.problems == []
    assert all(result.struck[one] for one in ("part", "merge", "share")), result.struck
