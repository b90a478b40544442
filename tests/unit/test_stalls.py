"""When a lane is said to be stalled: work to do and no progress, for as long as is patient."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka.structs import TopicPartition

from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.transport import lane as lane_module
from streams.kafka.transport import lanes as lanes_module
from streams.kafka.transport.interfaces import LaneSettings
from streams.kafka.transport.lane import Lane
from streams.kafka.transport.lanes import Lanes
from streams.kafka.transport.writer import TransactionFailed
from streams.observability import readiness
from tests.kafka.counting_worker import plan, topics

CLICKS = TopicPartition(topics("group")[0], 0)


class Log:
    """How far the broker's log goes beyond what was fetched, and when it last answered."""

    def __init__(self) -> None:
        self.ahead: dict[TopicPartition, int] = {}
        self.silent = 0.0

    def unfetched(self, at: TopicPartition) -> int:
        return self.ahead.get(at, 0)

    def fetch_age(self, at: TopicPartition) -> float:
        return self.silent

    def oldest_fetch_age(self) -> float:
        return self.silent


class Watched:
    """A lane that is ready, under a clock that `after` moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        for module in (lane_module, lanes_module, readiness):
            monkeypatch.setattr(module, "monotonic", lambda: self.now)
        self.log = Log()
        counting = plan("group")
        self.lanes = Lanes("group", [counting], LaneSettings(stall_after=30.0))
        self.lanes.source = cast(ConsumerSource, self.log)
        self.lane = Lane(counting, 0, self.lanes)
        self.lane.enter("ready")

    def after(self, seconds: int) -> int:
        """How many stalls were told when the seconds are over; it looks each second."""
        for _ in range(seconds):
            self.now += 1.0
            self.lanes._check_stall(self.lane)
        return self.lanes.stalls


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def comes(watched: Watched) -> None:
    watched.log.ahead[CLICKS] = 2


def is_fetched(watched: Watched) -> None:
    watched.lane._queue.messages = 2


def is_folded(watched: Watched) -> None:
    watched.lane.enter("committing")


@pytest.mark.parametrize("work", [comes, is_fetched, is_folded])
@pytest.mark.parametrize("idle", [0, 29, 1_000])
def test_the_time_without_work_is_not_counted(
    watched: Watched, work: Callable[[Watched], None], idle: int
) -> None:
    assert watched.after(idle) == 0
    work(watched)
    assert watched.after(29) == 0
    assert watched.after(3) == 1


def test_a_stall_that_ended_begins_anew(watched: Watched) -> None:
    comes(watched)
    assert (watched.after(40), watched.lanes.stalled) == (1, 1)
    watched.log.ahead.clear()
    assert (watched.after(1), watched.lanes.stalled) == (1, 0)
    comes(watched)
    assert (watched.after(29), watched.lanes.stalled) == (1, 0)


@pytest.mark.parametrize(
    ("state", "records", "fetch", "commit"),
    [
        ("ready", 0, 7.0, 0.0),
        ("ready", 3, 7.0, 40.0),
        ("committing", 3, 7.0, 40.0),
        ("opening", 0, 7.0, 40.0),
        ("restoring", 0, 7.0, 40.0),
        ("backing off", 0, 7.0, 40.0),
    ],
)
def test_the_ages_of_a_worker_are_those_of_the_lane_that_waits_longest(
    state: str, records: int, fetch: float, commit: float, watched: Watched
) -> None:
    watched.now += 9
    assert watched.lanes.ages() == {"fetch": 9.0, "commit": 0.0}, "it waits for its assignment"
    watched.lanes.assignment.begin()
    assert watched.lanes.ages() == {"fetch": 0.0, "commit": 0.0}, "it was assigned nothing"
    watched.lanes._active[CLICKS] = watched.lane
    watched.log.silent = 7.0
    watched.lane.enter(state)
    watched.lane._queue.messages = records
    watched.now += 40
    assert watched.lanes.ages() == {"fetch": fetch, "commit": commit}


def test_the_age_of_the_commit_goes_on_over_transactions_that_fail(watched: Watched) -> None:
    """The lane is opened again after each, and is ready before it fails again."""

    async def fails(*_: object) -> None:
        raise TransactionFailed("no broker")

    lane, batch = watched.lane, SimpleNamespace(misplaced=False, note={}, outputs=[], changelog=[])
    fold = SimpleNamespace(process=lambda *_: batch, rolled_back=lambda: None)
    lane.processor, lane._writer = cast(Any, fold), cast(Any, SimpleNamespace(commit=fails))
    watched.lanes.assignment.begin()
    watched.lanes._active[CLICKS] = lane
    for attempt in range(1, 4):
        with pytest.raises(TransactionFailed):
            asyncio.run(lane._commit([], {}, None))
        watched.now += 30
        lane.enter("ready")
        assert watched.lanes.ages()["commit"] == 30.0 * attempt
    watched.after(1)  # nothing is left in the topics: another worker has folded it
    assert watched.lanes.ages()["commit"] == 0.0


def test_a_broker_that_does_not_answer_is_a_stall_without_work(watched: Watched) -> None:
    watched.log.silent = 31.0
    assert watched.after(1) == 1
