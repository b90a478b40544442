"""What a stream may commit after a transaction that failed."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.client.settings import KafkaSettings
from streams.llm.debounce import Group, Turn
from streams.llm.kafka_log import Stream, StreamOptions
from streams.llm.partition import Part
from streams.llm.settings import LlmSettings
from streams.observability import readiness
from streams.topology import TURNS

AT = TopicPartition(TURNS.name, 0)
SETTINGS = (
    KafkaSettings.plain("localhost:1"),
    LlmSettings.load(base_url="http://x/v1", model="m"),
    StreamOptions(),
)
TURN = Turn("default", "s", "u", "e", 0, 0, user_input="I have a cat.")


def opened() -> Part:
    """A partition of one turn, which is not settled."""
    part = Part(AT, 0, SETTINGS[1])
    part.ahead.append(SimpleNamespace(offset=0))
    assert [record.offset for record in part.read(None)] == [0]
    return part


async def test_no_later_commit_passes_over_a_plan_whose_transaction_failed() -> None:
    """Its turns were settled with it in memory: the session's last commit must not tell so."""
    sent: list[Any] = []

    class Failing(Stream):
        """The broker refuses the first transaction only."""

        async def _send(self, finished: Any, moved: Any) -> None:
            sent.append((len(finished), dict(moved)))
            if len(sent) == 1:
                raise KafkaError("the plan is not taken")

    part = opened()
    group = Group((TURN,), part)
    stream = Failing(*SETTINGS)
    stream._parts = {AT: part}
    await stream.write(group, {"plan_id": "p"})
    await stream._write_if_possible()
    await stream._write_if_possible()
    assert [count for count, _ in sent] == [1]


async def test_the_time_without_an_assignment_is_the_age_of_the_fetch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the broker is away sessions begin and end, and none is assigned anything."""
    now = 100.0
    monkeypatch.setattr(readiness, "monotonic", lambda: now)
    stream = Stream(*SETTINGS)
    stream._consumer = cast(AIOKafkaConsumer, None)  # of no partitions it is asked nothing
    stream._source = cast(ConsumerSource, SimpleNamespace(oldest_fetch_age=lambda: 7.0))
    now += 40
    assert stream.ages() == {"fetch": 40.0, "commit": 0.0}
    await stream.on_partitions_assigned([])
    assert stream.ages()["fetch"] == 7.0
    for _ in range(2):
        await stream.on_partitions_revoked([])
        now += 30
    assert stream.ages()["fetch"] == 60.0


def test_the_age_of_the_commit_goes_on_over_sessions_that_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until a commit succeeds, or there is nothing left to commit."""
    now = 100.0
    monkeypatch.setattr(readiness, "monotonic", lambda: now)

    class Failing(Stream):
        async def _send(self, finished: Any, moved: Any) -> None:
            raise KafkaError("no broker")

    async def nothing(**_: Any) -> dict[TopicPartition, Any]:
        return {}

    async def inside() -> None:
        nonlocal now
        stream = Failing(*SETTINGS)
        stream._consumer = SimpleNamespace(stop=nothing, getmany=nothing)
        stream._producer = SimpleNamespace(stop=nothing)
        stream._source = cast(
            ConsumerSource,
            SimpleNamespace(
                oldest_fetch_age=lambda: 0.0, is_known=lambda at: True, unfetched=lambda at: 0,
                resume=lambda some: None, pause=lambda some: None,
            ),
        )  # fmt: skip
        for session in range(1, 4):
            part = opened()
            stream._is_open, stream._parts = True, {AT: part}
            stream._assignment.begin()
            await stream.write(Group((TURN,), part), {"plan_id": "p"})
            with pytest.raises(KafkaError):
                await stream._write()
            await stream.end()
            now += 30
            assert stream.ages()["commit"] == 30.0 * session
        stream._assignment.begin()  # of no partition: they are another's
        assert await stream._read(0) == []
        assert stream.ages()["commit"] == 0.0

    asyncio.run(inside())
