"""Since when a process has not succeeded in what it repeats, by a clock that the test moves."""

from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.structs import TopicPartition

from streams.kafka.client import group_source as source_module
from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.tools.lag import Lag
from streams.observability import readiness as readiness_module
from streams.observability.readiness import STALE_AFTER, Advance, Pending, Readiness
from streams.serving.flow.gauges import lag_samples

HERE, THERE = TopicPartition("turns", 0), TopicPartition("turns", 1)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (readiness_module, source_module):
        monkeypatch.setattr(module, "monotonic", clock)
    return clock


@pytest.mark.parametrize(
    ("ages", "ready", "about"),
    [
        ({}, True, "4 lanes run"),
        ({"fetch": STALE_AFTER, "commit": 0.0}, True, "4 lanes run"),
        ({"fetch": 31.4}, False, "no fetch was answered for 31 s; 4 lanes run"),
        (
            {"fetch": 90.0, "write": 45.0},
            False,
            "no fetch was answered for 90 s; no write succeeded for 45 s; 4 lanes run",
        ),
    ],
)
def test_an_act_without_success_makes_a_process_unready(
    ages: dict[str, float], ready: bool, about: str
) -> None:
    now = Readiness(True, "4 lanes run").judged(ages)
    assert (now.ready, now.about, now.ages) == (ready, about, ages)
    assert now.reply() == {"ready": ready, "about": about, "done": 0, "total": 0}


def test_what_was_not_ready_stays_so() -> None:
    assert not Readiness(False, "restores").judged({"fetch": 0.0}).ready


def test_pending_acts_have_the_age_of_the_last_success(clock: Clock) -> None:
    pending = Pending()
    assert pending.age == 0.0
    pending.begin()
    clock.now += 10
    pending.begin()
    clock.now += 5
    assert pending.age == 15.0
    pending.end(succeeded=False)
    assert pending.age == 15.0
    pending.begin()
    pending.end(succeeded=True)
    clock.now += 1
    assert pending.age == 1.0
    pending.end(succeeded=False)
    assert pending.age == 0.0


def test_what_is_repeated_is_pending_from_the_first_failure_on(clock: Clock) -> None:
    """Until it succeeds, or there is nothing to do, whatever begins anew in between."""
    for over in ("succeeded", "nothing to do"):
        pending = Pending(repeats=True)
        for attempt in range(1, 5):
            pending.begin()
            clock.now += 1
            pending.end(succeeded=False)
            clock.now += 9
            assert pending.age == 10.0 * attempt
        pending.begin()
        if over == "succeeded":
            pending.end(succeeded=True)
        else:
            pending.end(succeeded=False)
            pending.rest()
        clock.now += 100
        assert pending.age == 0.0, over


def test_a_position_that_stands_before_its_end_grows_old(clock: Clock) -> None:
    advance = Advance()
    assert advance.age(5, 5) == 0.0
    clock.now += 100
    assert advance.age(5, 5) == 0.0
    clock.now += 3
    assert advance.age(5, 9) == 3.0  # since it was last seen at its end
    clock.now += 30
    assert advance.age(5, 9) == 33.0
    assert advance.age(6, 9) == 0.0


class Partition(SimpleNamespace):
    paused: bool = False
    timestamp: int | None = None


class Kafka:
    """A consumer whose broker answers when the test says so."""

    def __init__(self) -> None:
        self.states = {HERE: Partition(), THERE: Partition()}
        self.unread: set[TopicPartition] = set()
        self.heard_at = 1_000.0

    def state(self, at: TopicPartition) -> Any:
        return self.states.get(at)

    def has_unread(self, at: TopicPartition) -> bool:
        return at in self.unread

    def assignment(self) -> set[TopicPartition]:
        return set(self.states)


@pytest.fixture
def kafka() -> Kafka:
    return Kafka()


@pytest.fixture
def source(kafka: Kafka) -> ConsumerSource:
    return ConsumerSource(kafka, {})  # type: ignore[arg-type]


def test_a_broker_that_never_answers_is_seen(source: ConsumerSource, clock: Clock) -> None:
    assert source.oldest_fetch_age() == 0.0
    clock.now += 40
    assert source.oldest_fetch_age() == 40.0


def test_the_partition_that_waits_longest_counts(
    source: ConsumerSource, kafka: Kafka, clock: Clock
) -> None:
    for second in range(50):
        clock.now += 1
        kafka.states[HERE].timestamp = second
        source.oldest_fetch_age()
    assert source.fetch_age(HERE) == 0.0
    assert source.oldest_fetch_age() == 49.0


def test_a_clock_that_is_set_back_hides_no_outage(
    source: ConsumerSource, kafka: Kafka, clock: Clock
) -> None:
    kafka.states = {HERE: Partition(timestamp=2_000_000_000_000)}
    source.oldest_fetch_age()
    clock.now += 35
    assert source.oldest_fetch_age() == 35.0


@pytest.mark.parametrize("idle", ["paused", "unread", "gone"])
def test_what_is_not_fetched_is_not_waited_for(
    idle: str, source: ConsumerSource, kafka: Kafka, clock: Clock
) -> None:
    kafka.states = {HERE: Partition(timestamp=1)}
    source.oldest_fetch_age()
    if idle == "paused":
        kafka.states[HERE].paused = True
    elif idle == "unread":
        kafka.unread = {HERE}
    else:
        kafka.states = {}
    clock.now += 500
    assert (source.oldest_fetch_age(), source.fetch_age(HERE)) == (500.0, 0.0), "nor any heartbeat"
    kafka.heard_at = clock.now
    assert source.oldest_fetch_age() == source.fetch_age(HERE) == 0.0
    kafka.states, kafka.unread = {HERE: Partition(timestamp=1)}, set()
    assert source.oldest_fetch_age() == 0.0  # it has just begun to fetch again
    clock.now += 31
    assert source.oldest_fetch_age() == 31.0


def test_the_lag_of_workers_and_sinks_is_exported_and_of_no_other_group() -> None:
    lags = [
        Lag("turnfold", "turns", 0, 10, 4, 6),
        Lag("turnfold.new", "turns", 0, 10, 10, 0),
        Lag("sink", "history", 3, 9, None, 9),
        Lag("sink.new", "history.new", 0, 2, 1, 1),
        Lag("model-1", "turns", 0, 10, 0, 10),
        Lag("turnfolder", "sessions", 0, 10, 0, 10),
    ]
    found = {(name.name, labels): value for name, labels, value in lag_samples(lags, "turnfold")}
    lag, position = "turnfold_group_lag_offsets", "turnfold_group_position_offsets"
    assert found == {
        (lag, ("turnfold", "turns", "0")): 6, (position, ("turnfold", "turns", "0")): 4,
        (lag, ("turnfold.new", "turns", "0")): 0, (position, ("turnfold.new", "turns", "0")): 10,
        (lag, ("sink", "history", "3")): 9, (position, ("sink", "history", "3")): 0,
        (lag, ("sink.new", "history.new", "0")): 1, (position, ("sink.new", "history.new", "0")): 1,
    }  # fmt: skip
