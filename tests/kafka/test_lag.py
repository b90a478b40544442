"""`turnfold kafka lag` against a real broker."""

import asyncio

import pytest
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
)
from aiokafka.protocol.commit import OffsetFetchRequest, OffsetFetchResponse_v3
from aiokafka.protocol.coordination import FindCoordinatorRequest, FindCoordinatorResponse_v0
from aiokafka.structs import TopicPartition

from streams.errors import Unreachable
from streams.kafka.client.aiokafka_internals import KafkaAdmin, KafkaConsumer, KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.tools.lag import Lag, lag
from tests.command import turnfold
from tests.kafka.working import options_of, shared_settings


@pytest.fixture(scope="module")
def behind() -> KafkaSettings:
    """Ten records in partition 1 of `turns`, four of them committed by `reader`."""
    settings = shared_settings()
    asyncio.run(_fill(settings))
    return settings


async def _fill(settings: KafkaSettings) -> None:
    await ensure_topics(settings)
    async with KafkaProducer(**settings.client()) as producer:
        for _ in range(10):
            await producer.send_and_wait("turns", b"x", partition=1)
    async with KafkaConsumer(
        group_id="reader", enable_auto_commit=False, **settings.client()
    ) as consumer:
        part = TopicPartition("turns", 1)
        consumer.assign([part])
        await consumer.commit({part: 4})


def test_each_partition_of_a_group_has_a_line(behind: KafkaSettings) -> None:
    found = asyncio.run(lag(behind))
    assert found == [
        Lag("reader", "turns", 0, 0, None, 0),
        Lag("reader", "turns", 1, 10, 4, 6),
        Lag("reader", "turns", 2, 0, None, 0),
        Lag("reader", "turns", 3, 0, None, 0),
    ]


def test_the_command_says_the_same(behind: KafkaSettings) -> None:
    done = turnfold("kafka", "lag", *options_of(behind), "-o", "json")
    assert done.code == 0, done.err
    assert done.json()[1] == {
        "group": "reader", "topic": "turns", "partition": 1, "end": 10, "committed": 4, "lag": 6
    }  # fmt: skip
    assert "6 behind in all" in turnfold("kafka", "lag", *options_of(behind)).out


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        (OffsetFetchRequest, OffsetFetchResponse_v3(0, [], GroupLoadInProgressError.errno)),
        (OffsetFetchRequest, OffsetFetchResponse_v3(0, [], NotCoordinatorForGroupError.errno)),
        (
            FindCoordinatorRequest,
            FindCoordinatorResponse_v0(GroupCoordinatorNotAvailableError.errno, -1, "", -1),
        ),
    ],
)
def test_a_coordinator_that_is_not_ready_is_asked_again(
    asked: type, refusal: object, behind: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its group is not left out."""
    refusals, send = [refusal, refusal], KafkaAdmin._send_request

    async def answer(self: KafkaAdmin, request: object, node_id: int | None = None) -> object:
        if isinstance(request, asked) and refusals:
            return refusals.pop()
        return await send(self, request, node_id)

    monkeypatch.setattr(KafkaAdmin, "_send_request", answer)
    found = asyncio.run(lag(behind))
    assert not refusals
    assert [one.lag for one in found] == [0, 6, 0, 0]


@pytest.mark.component
def test_a_coordinator_that_never_is_ready_is_said(
    behind: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuses(self: KafkaAdmin, group: str) -> object:
        raise GroupLoadInProgressError

    monkeypatch.setattr(KafkaAdmin, "find_coordinator", refuses)
    with pytest.raises(Unreachable):
        asyncio.run(lag(behind))


def test_a_group_that_is_not_there_is_named(behind: KafkaSettings) -> None:
    done = turnfold("kafka", "lag", *options_of(behind), "--group", "nobody")
    assert done.code == 3
    assert "group nobody" in done.err


def test_a_broker_that_is_not_there_is_exit_5() -> None:
    assert turnfold("kafka", "lag", "--bootstrap", "127.0.0.1:1").code == 5
