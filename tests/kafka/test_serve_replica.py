"""A read replica of real workers' tables: what it answers, and what sent records end as."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aiokafka.structs import TopicPartition

from streams.folds import documents, learner, task
from streams.folds.outcome import Outcome
from streams.folds.seen_ids import RUNS
from streams.folds.session_state import HEADER
from streams.folds.states import STATES
from streams.kafka.agents.agents import changelogs
from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.topics import check, create
from streams.kafka.transport.marker import MARKER_KEY, Marker
from streams.serving.backends.backend import NotReady
from streams.serving.backends.replica import ReplicaBackend
from streams.serving.backends.replica_disk import DiskStore
from tests.command import OUTCOMES, folded, rows
from tests.kafka.working import APP, Working, remove
from tests.planned import CONVERSATIONS
from tests.waiting import eventually

TOO_LONG = 120.0
APPLIED = Outcome("applied")
numbers = count()


@asynccontextmanager
async def replica(
    lasting: Working, data: Path | None = None, group: str = APP
) -> AsyncIterator[ReplicaBackend]:
    """One that has restored."""
    store = None if data is None else DiskStore(data)
    async with ReplicaBackend(lasting.settings, group, store=store) as made:
        await eventually(lambda: made.readiness().ready)
        yield made


def record(kind: str, session: str, **fields: Any) -> bytes:
    said = {"type": kind, "session_id": session, "occurred_at": "2026-05-04T09:00:00Z"}
    return json.dumps(said | fields).encode()


def turn(session: str, event: str, **fields: Any) -> bytes:
    said = {"event_id": event, "source": "chat", "user_input": "hello", "agent_answer": "hi"}
    return record("turn", session, **said | fields)


def signal(scope: str, owner: str, signal_id: str) -> bytes:
    whose = {"session_id": "s"} if scope == "user" else {"user_id": "u"}
    named = {f"{scope}_id": owner, "signal_id": signal_id, "scope": scope, "topic": "fractions"}
    return json.dumps(
        {"type": "signal", "occurred_at": "2026-05-04T09:00:00Z", **whose, **named}
    ).encode()


def plan(user: str, plan_id: str) -> bytes:
    update = {"op": "upsert", "kind": "fact", "state_id": f"home-{user}", "body_text": "in Leeds",
              "payload": {}, "confidence": 0.9, "reason": "said so"}  # fmt: skip
    return json.dumps(
        {"type": "write_plan", "plan_id": plan_id, "user_id": user, "event_id": "e",
         "occurred_at": "2026-05-04T09:00:00Z", "extractor": {"name": "test", "version": "1"},
         "state_updates": [update], "preference_updates": []}
    ).encode()  # fmt: skip


@pytest.mark.component
async def test_reads_what_it_has_just_written(lasting: Working) -> None:
    """Each kind of record, in the rows of its own key, as soon as it is said to be applied."""
    async with replica(lasting) as memory:
        name = f"own-{next(numbers)}"

        async def sent(*records: bytes) -> list[Outcome]:
            return await memory.submit(records, TOO_LONG)

        assert await sent(turn(name, f"{name}-1")) == [APPLIED]
        session = documents.session(*await memory.rows("sessions", "default", name))
        assert session["conversations"][0]["user_input"] == "hello"
        assert await sent(signal("session", name, f"{name}-2")) == [APPLIED]
        session = documents.session(*await memory.rows("sessions", "default", name))
        assert session["context"]["current_topic"] == "fractions"
        assert await sent(signal("user", name, f"{name}-3")) == [APPLIED]
        profile = learner.document(*await memory.rows("users", "default", name), name)
        assert "fractions" in json.dumps(profile)
        assert await sent(plan(name, f"{name}-4")) == [APPLIED]
        user, _ = await memory.rows("users", "default", name)
        assert user[STATES.key(f"home-{name}")].versions[-1].body_text == "in Leeds"


@pytest.mark.component
async def test_says_what_each_record_ended_as(lasting: Working) -> None:
    async with replica(lasting) as memory:
        name = f"ends-{next(numbers)}"
        first, second = turn(name, f"{name}-1"), turn(name, f"{name}-2")
        other = turn(name, f"{name}-1", user_input="other words")
        hidden = turn(name, f"{name}-3", source="meta_request")
        said = await memory.submit([first, second, first, other, hidden, b"{"], TOO_LONG)
        assert [one.ending for one in said] == [
            "applied", "applied", "duplicate", "dead", "withheld", "dead",
        ]  # fmt: skip
        assert said[3].reason == "conflicting_duplicate"
        assert f"{name}-1" in (said[3].detail or "")
        assert said[5].reason == "bad_json"
        assert await memory.submit([first], TOO_LONG) == [Outcome("duplicate")]


async def test_guarantee_8_no_note_of_a_changelog_quotes_what_was_said(lasting: Working) -> None:
    """The reply has the reason; the words that were refused stand in the dead letter alone."""
    words = "the heron on the roof"
    name = f"words-{next(numbers)}"
    asked = json.loads(plan(name, name)) | {"state_updates": [], "preference_updates": [
        {"op": "revoke", "domain": "birds", "polarity": "like", "subject": words,
         "confidence": 0.9, "reason": "said so"}
    ]}  # fmt: skip
    async with replica(lasting) as memory:
        said = await memory.submit([json.dumps(asked).encode()], TOO_LONG)
        assert said == [Outcome("dead", "unknown_preference")]
    letters = await asyncio.to_thread(lasting.dead_letters)
    (letter,) = [one for one in letters if one["reason"] == "unknown_preference"]
    assert words in letter["detail"]
    for spec in changelogs(APP, 1):
        records = await asyncio.to_thread(lasting.read, spec.name)
        assert words.encode() not in b"".join(one.value or b"" for one in records)


@pytest.mark.component
async def test_documents_are_those_of_the_file_tier(lasting: Working, tmp_path: Path) -> None:
    """Sessions, tasks and profiles of the sample."""
    counts = folded(CONVERSATIONS, history=tmp_path / "files")
    sessions = rows(tmp_path / "files", "SELECT session_id, doc FROM session_current")
    tasks = rows(tmp_path / "files", "SELECT session_id, task_id, doc FROM task_current")
    profiles = rows(tmp_path / "files", "SELECT user_id, doc FROM profile_current")
    async with replica(lasting) as memory:
        lines = CONVERSATIONS.read_bytes().splitlines()
        ended = Counter(one.ending for one in await memory.submit(lines, TOO_LONG))
        assert ended == {name: counts[name] for name in OUTCOMES if counts[name]}
        for session_id, doc in sessions:
            found, rules = await memory.rows("sessions", "default", session_id)
            assert documents.session(found, rules) == json.loads(doc)
        for session_id, task_id, doc in tasks:
            found, rules = await memory.rows("sessions", "default", session_id)
            latest = documents.latest_turn(found, rules)
            assert task.document(found, rules, task_id, latest) == json.loads(doc)
        expected = {user: json.loads(doc) for user, doc in profiles}

        async def known() -> dict[str, Any]:
            return {
                user: learner.document(*await memory.rows("users", "default", user), user)
                for user in expected
            }

        deadline = time.monotonic() + TOO_LONG
        while await known() != expected:  # the turns' users come a moment later
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
    assert len(sessions) > 3 and profiles


@pytest.mark.component
async def test_a_restart_continues_from_its_rows_on_disk(lasting: Working, tmp_path: Path) -> None:
    name = f"disk-{next(numbers)}"
    async with replica(lasting, tmp_path) as memory:
        await memory.submit([turn(name, f"{name}-1")], TOO_LONG)
        lanes = memory.tables._following.lanes
        had = {at: lane.progress.standing.marker_at for at, lane in lanes.items()}
    async with replica(lasting) as other:
        await other.submit([turn(name, f"{name}-2")], TOO_LONG)
    async with replica(lasting, tmp_path) as memory:
        lanes = memory.tables._following.lanes
        first = {at: lane.progress.first for at, lane in lanes.items()}
        assert first == {at: max(place, 0) for at, place in had.items()}
        found, rules = await memory.rows("sessions", "default", name)
        assert len(documents.session(found, rules)["conversations"]) == 2


async def test_follows_a_generation_by_its_own_tables(lasting: Working) -> None:
    """What is posted there is folded by both, each in its own transactions."""
    lasting.start("--generation", "second")
    lasting.await_ready()
    async with replica(lasting, group=f"{APP}.second") as memory, replica(lasting) as live:
        name = f"generation-{next(numbers)}"
        records = [turn(name, f"{name}-1"), signal("user", name, f"{name}-2"),
                   plan(name, f"{name}-3")]  # fmt: skip
        assert await memory.submit(records, TOO_LONG) == [APPLIED] * 3
        assert (await memory.rows("sessions", "default", name)).rows.get(HEADER) is not None
        user, _ = await memory.rows("users", "default", name)
        assert user.get(STATES.key(f"home-{name}")) is not None
        assert await live.submit(records, TOO_LONG) == [Outcome("duplicate")] * 3


async def test_another_app_id_is_not_an_empty_memory(lasting: Working) -> None:
    async with ReplicaBackend(lasting.settings, "nobody") as memory:
        await eventually(lambda: "nobody" in memory.readiness().about)
        with pytest.raises(NotReady):
            await memory.rows("sessions", "default", "any")
        with pytest.raises(NotReady):
            await memory.submit([turn("any", "any")], 0.1)


def test_a_changelog_made_again_is_read_again(lasting: Working) -> None:
    """No row of the old one is left, though offsets go on as if nothing had happened."""
    settings = lasting.settings
    specs = changelogs("remade", settings.partitions)
    at = TopicPartition(specs[0].name, 2)  # of both sessions

    async def write(log: str, transactions: int) -> None:
        async with KafkaProducer(transactional_id="remade", **settings.client()) as producer:
            for number in range(transactions):
                reached = Marker({"turns": number + 1}, {"ends": {}}, log, settings.partitions)
                marker = reached.encode()
                async with producer.transaction():
                    row = f"s\0default\0{log}\0i/0".encode()
                    await producer.send(at.topic, b"%d" % number, row, partition=at.partition)
                    await producer.send(at.topic, marker, MARKER_KEY, partition=at.partition)

    async def make() -> None:
        async with connected(settings, TOO_LONG) as admin:
            await create(admin, specs)
            await check(admin, specs, TOO_LONG)

    async def value(memory: ReplicaBackend, session: str) -> Any:
        with suppress(NotReady):
            return (await memory.rows("sessions", "default", session)).rows.get(RUNS.key("0"))

    async def run() -> None:
        await make()
        await write("first", 3)
        async with ReplicaBackend(settings, "remade") as memory:
            await eventually(lambda: memory.readiness().ready)
            assert await value(memory, "first") == b"2"
            await remove(settings, at.topic)
            await make()
            await write("second", 5)
            deadline = time.monotonic() + TOO_LONG
            while (found := await value(memory, "second")) != b"4":
                assert found is None and time.monotonic() < deadline, memory.readiness()
                await asyncio.sleep(0.1)
            assert await value(memory, "first") is None

    asyncio.run(run())
