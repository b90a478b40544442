"""`generations drop`, `reset` and `lag`: what is ended for good leaves nothing behind in Kafka."""

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
from streams.kafka.tools.leftovers import topics_of
from tests.command import Done, start, turn, turnfold
from tests.kafka.working import TOO_LONG, Working, message

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
    done = turnfold("sink", *working.at, "--history", history, "--once", *more)
    assert done.code == 0, done.err


def drop(working: Working, history: Path, *more: str) -> Done:
    at = ("--history", str(history), *working.at)
    return turnfold("generations", "drop", "new", *at, *more)


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


@pytest.fixture
def history(working: Working, tmp_path: Path) -> Path:
    """Live memory, and the generation `new` beside it, whose worker has ended."""
    made = tmp_path / "history"
    with lives(working):
        working.send(message(json.dumps(one).encode()) for one in TURNS)
        working.await_done()
    sink(working, made)
    with lives(working, "--generation", "new"):
        sink(working, made, "--generation", "new")
        refused = drop(working, made)
        assert refused.code == 3
        assert "group turnfold.new: 1 member is running" in refused.err
        running = start("sink", "--generation", "new", "--history", made, *working.at)
        with running:
            assert running.stderr is not None
            while b"partitions" not in running.stderr.readline():
                pass
            assert drop(working, made).code == 3
            running.terminate()
    assert (made / "generations/new").exists()
    return made


def test_a_dropped_generation_leaves_no_group_no_topic_and_no_lag(
    working: Working, history: Path
) -> None:
    before, live = topics(working), digest(history)
    assert {"turnfold.new", "sink.new"} <= groups(working)
    assert turnfold("generations", "drop", "root", "--history", history).code == 3
    done = drop(working, history, "--json")
    assert done.code == 0, done.err
    said = done.json()
    assert said["groups"] == ["turnfold.new", "sink.new"]
    assert set(said["topics"]) == before - topics(working)
    assert set(said["topics"]) == set(topics_of("turnfold", "new"))
    assert groups(working) == {"turnfold", "sink"}
    assert not (history / "generations/new").exists()
    assert digest(history) == live
    lag = turnfold("lag", *working.at, "--json")
    assert {one["group"] for one in lag.json()} == {"turnfold", "sink"}
    again = drop(working, history)
    assert again.code == 0
    assert "nothing is left" in again.out


def test_a_drop_that_is_killed_is_ended_by_the_next_one(working: Working, history: Path) -> None:
    """Between the removal of groups and topics, wherever it strikes."""
    at = ("--history", str(history), *working.at)
    for seconds in (1.2, 1.5, 1.8):
        process = start("generations", "drop", "new", *at)
        time.sleep(seconds)
        process.kill()
        process.communicate()
    if (history / "generations/new/_dropped").exists():
        assert turnfold("promote", "new", "--behind", "--history", history).code == 3
    lag = turnfold("lag", *working.at)
    assert lag.code == 0, lag.err
    assert drop(working, history).code == 0
    assert not (history / "generations/new").exists()
    assert groups(working) == {"turnfold", "sink"}
    assert topics(working).isdisjoint(topics_of("turnfold", "new"))


def test_topics_can_be_kept_and_removed_later(working: Working, history: Path) -> None:
    """`lag` then leaves out a group whose own topics are gone."""
    before = topics(working)
    done = drop(working, history, "--keep-topics")
    assert done.code == 0
    assert "turnfold reset turnfold --generation new" in done.err
    assert topics(working) == before
    asyncio.run(_remove(working, topics_of("turnfold", "new")))
    lag = turnfold("lag", *working.at, "--json")
    assert {one["group"] for one in lag.json()} == {"turnfold", "sink"}
    at = ("--generation", "new", *working.at)
    assert turnfold("reset", "turnfold", *at, "--yes").code == 0
    assert "turnfold.new" not in groups(working)
    assert "turnfold" in groups(working)


async def _remove(working: Working, names: list[str]) -> None:
    async with connected(working.settings, TOO_LONG) as admin:
        await admin.delete_topics(names)
        while set(names).intersection(await admin.list_topics()):
            await asyncio.sleep(0.1)


def test_another_clusters_history_is_not_dropped_with_topics_of_this_one(
    working: Working, history: Path
) -> None:
    owner = history / "generations/new/_sink.json"
    owner.write_text(owner.read_text().replace(json.loads(owner.read_text())["cluster"], "else"))
    done = drop(working, history)
    assert done.code == 3
    assert "cluster else" in done.err
    assert set(topics_of("turnfold", "new")) <= topics(working)


def test_a_reset_app_folds_all_of_its_inputs_again(working: Working) -> None:
    def reset(*more: str) -> Done:
        return turnfold("reset", "turnfold", *working.at, *more)

    assert "has nothing in Kafka" in reset().out
    with lives(working):
        working.send(message(json.dumps(one).encode()) for one in TURNS)
        first = working.await_done()
        assert reset().code == 0
        refused = reset("--yes")
        assert refused.code == 3
        assert "group turnfold: 1 member is running" in refused.err
    before = topics(working)
    shown = reset("--json").json()
    assert shown["removed"] is False
    assert [one["name"] for one in shown["groups"]] == ["turnfold"]
    assert {one["name"] for one in shown["topics"]} == set(topics_of("turnfold"))
    assert all(one["records"] > 0 and one["partitions"] == 4 for one in shown["topics"])
    text = reset()
    assert "nothing is removed yet" in text.err
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
    done = turnfold("reset", "payments", *working.at, "--yes")
    assert done.code == 3
    assert "group payments: has read invoices" in done.err
    assert "payments" in groups(working)
    assert turnfold("reset", "a/b", *working.at).code == 3
    assert turnfold("reset", "x", "--bootstrap", "127.0.0.1:1").code == 5


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
