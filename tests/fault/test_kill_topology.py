"""The short form of kill_topology: each kind of fault once, then digests and counters."""

import random
from pathlib import Path

import pytest

from tests.fault.kill_backfill import kill_backfill, kill_parts
from tests.fault.kill_repartition import play
from tests.fault.kill_run import kill_run, problems
from tests.fault.load import records
from tests.fault.scenario import Scenario, one_broker, three_brokers
from tests.shared_data import SGD, shared

ONCE = (
    "worker killed: before commit", "poison", "worker killed: committed", "connections stalled",
    "broker killed", "worker killed: restoring", "sink killed: after events",
    "connections half-closed", "disk full", "both workers killed", "connections dropped",
)  # fmt: skip
"""The others only take longer: sleepers past their session's end, rebalances. The long form."""


@pytest.mark.component
def test_guarantees_1_and_3_whatever_is_done_to_workers_sinks_and_broker(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, records(shared("data").parent), random.Random(3), megabytes=500)
    result = scenario.play(one_broker(kills=5, turns=6_000, step=500, only=ONCE))
    assert result.wrong == []
    assert result.kills >= 5 and result.turns >= 6_000


@pytest.mark.soak
def test_one_of_three_brokers_is_killed_and_the_work_continues(tmp_path: Path) -> None:
    scenario = Scenario(
        tmp_path, records(shared("data").parent), random.Random(4), nodes=3, megabytes=500
    )
    result = scenario.play(three_brokers(rounds=1, step=1_000))
    assert result.wrong == []
    assert result.struck["one of three brokers killed, the work went on"] == 1
    assert result.kills == 2


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


@pytest.mark.component
def test_guarantee_3_a_run_killed_at_any_moment_continues_exactly_once(tmp_path: Path) -> None:
    result = kill_run(shared(*SGD), tmp_path, kills=12, seed=7)
    assert problems(result) == []
    assert sum(result.struck.values()) == 12
    assert len(result.struck) >= 3, f"kills struck in too few places: {result.struck}"
    assert result.torn >= 1, f"no batch was torn: {result.struck}"
    assert result.turns >= 60_000


def test_guarantees_1_and_3_whenever_the_change_of_partitions_is_killed(tmp_path: Path) -> None:
    result = play(tmp_path, records(shared("data").parent), kills=6, size=600, seed=5)
    assert result.wrong == []
    assert sum(n for name, n in result.struck.items() if not name.startswith("(")) >= 4
    assert result.struck["(records sent meanwhile)"] > 100
