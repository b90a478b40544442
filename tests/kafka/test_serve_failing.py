"""A replica that cannot go on ends its process: who watches over it starts another."""

import asyncio
import json
import time

import httpx
import pytest
from aiokafka.structs import TopicPartition

from streams.broker import Broker
from streams.kafka.agents.agents import changelogs
from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import check, create
from streams.kafka.transport.marker import MARKER_KEY, Marker
from streams.pipeline.row_formats import ROW_FORMAT, Reached
from streams.serving.backends import producer
from streams.serving.backends.producer import NotAppended, OutgoingRecord, Writing
from tests.command import start
from tests.kafka.working import options_of
from tests.waiting import WITHIN

TOO_LONG = 120.0


async def _create(settings: KafkaSettings, group: str) -> None:
    async with connected(settings, TOO_LONG) as admin:
        await create(admin, changelogs(group, settings.partitions))
        await check(admin, changelogs(group, settings.partitions), TOO_LONG)


async def _mark(settings: KafkaSettings, group: str, ends: object) -> None:
    """Writes a marker into the changelog of the sessions, as a worker does."""
    await _write(settings, group, Marker({"turns": 1}, {"ends": ends}, "log", settings.partitions))


async def _write(settings: KafkaSettings, group: str, marker: Marker) -> None:
    async with KafkaProducer(**settings.client()) as producer:
        await producer.send_and_wait(
            changelogs(group, settings.partitions)[0].name, marker.encode(), MARKER_KEY, partition=0
        )


def test_what_it_cannot_read_ends_the_process_with_an_error(broker: Broker) -> None:
    """A marker whose note no worker writes: read again it would be no other."""
    settings, group = KafkaSettings.plain(broker.bootstrap), "poisoned"
    asyncio.run(_create(settings, group))
    asyncio.run(_mark(settings, group, {}))
    process = start(
        "serve", "--bootstrap", broker.bootstrap, "--app-id", group, "--port", "0", "-o", "json"
    )
    try:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        deadline = time.monotonic() + TOO_LONG
        while httpx.get(f"{url}/readyz").status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        asyncio.run(_mark(settings, group, ["not by topic"]))
        _, error = process.communicate(timeout=TOO_LONG)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 1, error.decode()
    assert "start it again" in error.decode().splitlines()[-1]


@pytest.mark.parametrize("command", ["serve", "kafka worker"])
def test_a_changelog_of_another_version_is_exit_3_and_the_way_out_is_reported(
    command: str, prefixed: KafkaSettings
) -> None:
    more = ("--port", "0") if command == "serve" else ()
    asyncio.run(_create(prefixed, "old"))
    older = Marker({"turns": 1}, {}, "log", prefixed.partitions, Reached(ROW_FORMAT - 1))
    asyncio.run(_write(prefixed, "old", older))
    process = start(*command.split(), *options_of(prefixed), "--app-id", "old", *more)
    try:
        _, error = process.communicate(timeout=TOO_LONG)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 3, error.decode()
    assert f"rows have format {ROW_FORMAT - 1}" in error.decode()
    assert "another app id" in error.decode()
    assert "Traceback" not in error.decode()


ONE = [OutgoingRecord(TopicPartition("there", 0), b"key", b"value")]


def test_who_waits_is_told_and_nothing_is_sent_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer, "REQUEST_MS", 1_000)

    async def run(broker: Broker) -> None:
        settings = KafkaSettings.plain(broker.bootstrap)
        async with connected(settings) as admin:
            await create(admin, [spec("there", 1)])
        appends = Writing(settings.client())
        running = asyncio.create_task(appends.run())
        before = asyncio.all_tasks()
        assert await appends.append(ONE) == [0]
        monkeypatch.setattr(producer, "APPEND_WITHIN", 2.0)
        broker.stop()
        with pytest.raises(NotAppended):
            await appends.append(ONE)
        async with asyncio.timeout(WITHIN):  # the producer is gone, with all it had to send
            while asyncio.all_tasks() - before:
                await asyncio.sleep(0.05)
        waits = asyncio.create_task(appends.append(ONE))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(NotAppended):
            await asyncio.wait_for(waits, WITHIN)
        with pytest.raises(NotAppended):
            await asyncio.wait_for(appends.append(ONE), 1)

    with Broker.start(short_lived=True) as broker:
        asyncio.run(run(broker))
