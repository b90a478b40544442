"""`generation drop`, `reset` and `lag`: what is ended for good leaves nothing behind in Kafka."""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka.structs import TopicPartition

from sinks.digest import digest
from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import KafkaConsumer, KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import check, create
from streams.kafka.tools.reset import topics_of
from tests.command import Done, start, turn, turnfold
from tests.kafka.working import TOO_LONG, Working, alone, message, remove

TURNS = [turn(f"e{number}", session_id=f"s{number % 5}") for number in range(40)]


def topics(working: Working) -> set[str]:
    async def ask() -> set[str]:
        async with connected(working.settings) as admin:
            return set(await admin.list_topics())

    return asyncio.run(ask())


def groups(working: Working) -> set[str]:
    async def ask() -> set[str]:
        async with connected(working.settings) as admin:
            return {name for name, *_ in await admin.list_consumer_groups()}

    return asyncio.run(ask())


def sink(working: Working, history: Path, *more: str) -> None:
    done = turnfold("kafka", "sink", *working.at, "--history", history, "--once", *more)
    assert done.code == 0, done.err


def drop(working: Working, history: Path, *more: str) -> Done:
    at = ("--history", str(history), *working.at)
    return turnfold("generation", "drop", "--yes", "new", *at, *more)


def end(working: Working) -> None:
    """The newest worker."""
    working.workers[-1].send_signal(signal.SIGTERM)
    assert working.workers[-1].wait(TOO_LONG) == 0, working.log()


@contextmanager
def lives(working: Working, *options: str) -> Iterator[None]:
    working.start(*options)
    working.await_ready()
    yield
    end(working)


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Working]:
    """Live memory, sunk into `history` of its folder; its worker has ended."""
    with alone(tmp_path_factory.mktemp("folded")) as working:
        with lives(working):
            working.send(message(json.dumps(one).encode()) for one in TURNS)
            working.await_done()
        sink(working, working.folder / "history")
        yield working


@pytest.fixture
def history(folded: Working) -> Path:
    """The history with the generation `new`, whose worker has ended."""
    history = folded.folder / "history"
    if not (history / "generations/new").exists():
        with lives(folded, "--generation", "new"):
            sink(folded, history, "--generation", "new")
    return history


def test_a_generation_whose_worker_or_sink_runs_is_not_dropped(
    folded: Working, history: Path
) -> None:
    with lives(folded, "--generation", "new"):
        refused = drop(folded, history)
        assert refused.code == 3
        assert "group turnfold.new: 1 member is running" in refused.err
    running = start("kafka", "sink", "--generation", "new", "--history", history, *folded.at)
    with running:
        assert running.stderr is not None
        while b"partitions" not in running.stderr.readline():
            pass
        assert drop(folded, history).code == 3
        running.terminate()
    assert (history / "generations/new").exists()


def test_another_clusters_history_is_not_dropped_with_topics_of_this_one(
    folded: Working, history: Path
) -> None:
    owner = history / "generations/new/_sink.json"
    ours = owner.read_text()
    owner.write_text(ours.replace(json.loads(ours)["cluster"], "else"))
    done = drop(folded, history)
    owner.write_text(ours)
    assert done.code == 3
    assert "cluster else" in done.err
    assert set(topics_of("turnfold", "new")) <= topics(folded)


def test_a_dropped_generation_leaves_no_group_no_topic_and_no_lag(
    folded: Working, history: Path
) -> None:
    before, live = topics(folded), digest(history)
    assert {"turnfold.new", "sink.new"} <= groups(folded)
    assert turnfold("generation", "drop", "--yes", "root", "--history", history).code == 3
    done = drop(folded, history, "-o", "json")
    assert done.code == 0, done.err
    said = done.json()
    assert said["groups"] == ["turnfold.new", "sink.new"]
    assert set(said["topics"]) == before - topics(folded)
    assert set(said["topics"]) == set(topics_of("turnfold", "new"))
    assert groups(folded) == {"turnfold", "sink"}
    assert not (history / "generations/new").exists()
    assert digest(history) == live
    lag = turnfold("kafka", "lag", *folded.at, "-o", "json")
    assert {one["group"] for one in lag.json()} == {"turnfold", "sink"}
    again = drop(folded, history)
    assert again.code == 0
    assert "no data exists" in again.out


def test_a_drop_that_is_killed_is_ended_by_the_next_one(folded: Working, history: Path) -> None:
    """Between the removal of groups and topics, wherever it strikes."""
    at = ("--history", str(history), *folded.at)
    for seconds in (1.2, 1.5, 1.8):
        process = start("generation", "drop", "--yes", "new", *at)
        time.sleep(seconds)
        process.kill()
        process.communicate()
    if (history / "generations/new/_dropped").exists():
        assert turnfold("generation", "promote", "new", "--behind", "--history", history).code == 3
    lag = turnfold("kafka", "lag", *folded.at)
    assert lag.code == 0, lag.err
    assert drop(folded, history).code == 0
    assert not (history / "generations/new").exists()
    assert groups(folded) == {"turnfold", "sink"}
    assert topics(folded).isdisjoint(topics_of("turnfold", "new"))


def test_topics_can_be_kept_and_removed_later(folded: Working, history: Path) -> None:
    """`lag` then leaves out a group whose own topics are gone."""
    before = topics(folded)
    done = drop(folded, history, "--keep-topics")
    assert done.code == 0
    assert "turnfold kafka reset turnfold --generation new" in done.err
    assert topics(folded) == before
    asyncio.run(remove(folded.settings, *topics_of("turnfold", "new")))
    lag = turnfold("kafka", "lag", *folded.at, "-o", "json")
    assert {one["group"] for one in lag.json()} == {"turnfold", "sink"}
    at = ("--generation", "new", *folded.at)
    assert turnfold("kafka", "reset", "turnfold", *at, "--yes").code == 0
    assert "turnfold.new" not in groups(folded)
    assert "turnfold" in groups(folded)


def test_a_reset_app_folds_all_of_its_inputs_again(working: Working) -> None:
    def reset(*more: str) -> Done:
        return turnfold("kafka", "reset", "turnfold", *working.at, *more)

    assert "no group and no topics in Kafka" in reset().out
    with lives(working):
        working.send(message(json.dumps(one).encode()) for one in TURNS)
        first = working.await_done()
        assert reset().code == 0
        refused = reset("--yes")
        assert refused.code == 3
        assert "group turnfold: 1 member is running" in refused.err
    before = topics(working)
    shown = reset("-o", "json").json()
    assert shown["removed"] is False
    assert [one["name"] for one in shown["groups"]] == ["turnfold"]
    assert {one["name"] for one in shown["topics"]} == set(topics_of("turnfold"))
    assert all(one["records"] > 0 and one["partitions"] == 4 for one in shown["topics"])
    text = reset()
    assert "dry run" in text.err
    assert "group turnfold: " in text.out
    assert topics(working) == before
    assert reset("--yes").code == 0
    assert topics(working) == before - set(topics_of("turnfold"))
    assert "turnfold" not in groups(working)
    assert reset("--yes").code == 0  # once more changes nothing
    working.start()
    working.await_ready()
    assert first["applied"] == len(TURNS)
    working.await_counts(applied=len(TURNS), hops_repeated=len(TURNS))
    again = working.counts()
    assert (again["read"], again["applied"]) == (len(TURNS), len(TURNS))


def test_the_group_of_another_application_is_not_reset(working: Working) -> None:
    asyncio.run(_foreign(working.settings))
    done = turnfold("kafka", "reset", "payments", *working.at, "--yes")
    assert done.code == 3
    assert "group payments: has offsets in invoices" in done.err
    assert "payments" in groups(working)
    assert turnfold("kafka", "reset", "a/b", *working.at).code == 3
    assert turnfold("kafka", "reset", "x", "--bootstrap", "127.0.0.1:1").code == 5


async def _foreign(settings: KafkaSettings) -> None:
    specs = [spec("invoices", 1)]
    async with connected(settings, TOO_LONG) as admin:
        await create(admin, specs)
        await check(admin, specs, TOO_LONG)
    async with KafkaProducer(**settings.client()) as producer:
        await producer.send_and_wait("invoices", b"x")
    given: dict[str, Any] = {"group_id": "payments", "enable_auto_commit": False}
    async with KafkaConsumer(**given, **settings.client()) as consumer:
        part = TopicPartition("invoices", 0)
        consumer.assign([part])
        await consumer.commit({part: 1})
