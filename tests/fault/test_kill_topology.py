"""The short form of kill_topology: each kind of fault once, then digests and counters."""

import random
from pathlib import Path

import pytest

from tests.fault.load import records
from tests.fault.scenario import Scenario, one_broker, three_brokers
from tests.shared_data import shared

ONCE = (
    "worker killed: before commit",
    "poison",
    "worker killed: committed",
    "connections stalled",
    "broker killed",
    "worker killed: restoring",
    "sink killed: after events",
    "connections half-closed",
    "disk full",
    "both workers killed",
    "connections dropped",
)
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
