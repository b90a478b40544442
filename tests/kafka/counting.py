"""Drives counting workers, and says whether every record counted exactly once."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.kafka.transport.marker import MARKER_KEY, Marker, decode
from tests.kafka.counting_worker import topics

PARTITIONS = 4
KEYS = 500
TOO_LONG = 120.0


class Counting:
    """One group's topics and workers; `produced` counts the records of its sources."""

    def __init__(self, bootstrap: str, group: str, folder: Path) -> None:
        self.bootstrap, self.group, self.folder = bootstrap, group, folder
        self.clicks, self.taps, self.changelog, self.counts = topics(group)
        self.produced = 0
        self.workers: list[subprocess.Popen[bytes]] = []

    def create(self, **partitions: int) -> None:
        """The topics; a keyword gives one of them another partition count."""
        names = {"clicks": self.clicks, "taps": self.taps, "changelog": self.changelog,
                 "counts": self.counts}  # fmt: skip
        wanted = {name: partitions.get(kind, PARTITIONS) for kind, name in names.items()}
        asyncio.run(_create(self.bootstrap, wanted))

    def produce(self, count: int) -> None:
        """Records of 500 keys; a third of them to the second source."""
        numbers = range(self.produced, self.produced + count)
        asyncio.run(_produce(self.bootstrap, self.clicks, self.taps, numbers))
        self.produced += count

    def start(self, *options: str) -> "subprocess.Popen[bytes]":
        number = len(self.workers)
        with (
            (self.folder / f"worker-{number}.out").open("wb") as out,
            (self.folder / f"worker-{number}.err").open("wb") as error,
        ):
            worker = subprocess.Popen(
                [sys.executable, "-m", "tests.kafka.counting_worker", "--bootstrap",
                 self.bootstrap, "--group", self.group, *options],
                stdout=out, stderr=error,
            )  # fmt: skip
        self.workers.append(worker)
        return worker

    def said(self, number: int = -1) -> str:
        """What a worker wrote to stdout, the points its lanes passed."""
        return (self.folder / f"worker-{number % len(self.workers)}.out").read_text()

    def log(self, number: int = -1) -> str:
        return (self.folder / f"worker-{number % len(self.workers)}.err").read_text()

    def totals(self, number: int = -1) -> dict[str, float]:
        """The counters of a worker that has ended by itself."""
        (line,) = [one for one in self.said(number).splitlines() if one.startswith("totals ")]
        found: dict[str, float] = json.loads(line.removeprefix("totals "))
        return found

    def wait_for(self, text: str, number: int = -1, times: int = 1) -> None:
        """Until a worker has written `text` so often, to stdout or its log."""
        deadline = time.monotonic() + TOO_LONG
        while (self.said(number) + self.log(number)).count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} not seen:\n{self.log(number)[-3000:]}"
            time.sleep(0.02)

    def done(self) -> int:
        """How many records are read and committed."""
        return sum(asyncio.run(_committed(self.bootstrap, self.group, self._sources())).values())

    def _sources(self) -> list[TopicPartition]:
        topics = (self.clicks, self.taps)
        return [TopicPartition(topic, one) for topic in topics for one in range(PARTITIONS)]

    def wait_done(self) -> None:
        deadline = time.monotonic() + TOO_LONG
        while (done := self.done()) < self.produced:
            logs = "\n".join(self.log(number)[-1500:] for number in range(len(self.workers)))
            assert time.monotonic() < deadline, f"{done} of {self.produced} done:\n{logs}"
            time.sleep(0.1)

    def stop(self) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()

    def problems(self) -> list[str]:
        """What is wrong; empty where every record counted exactly once."""
        return asyncio.run(self._problems())

    async def _problems(self) -> list[str]:
        outputs = await read_all(self.bootstrap, self.counts)
        changelog = await read_all(self.bootstrap, self.changelog)
        wrong = _output_problems(outputs, self.produced)
        expected = Counter(b"k%d\0h" % (number % KEYS) for number in range(self.produced))
        table = {one.key: int(one.value) for one in changelog if one.key != MARKER_KEY}
        if table != expected:
            wrong.append(f"table: {len(table)} keys, {sum(table.values())} in all")
        markers: dict[int, Marker] = {}
        went_back = 0
        for one in changelog:
            if one.key == MARKER_KEY:
                marker, before = decode(one.value), markers.get(one.partition)
                markers[one.partition] = marker
                went_back += before is not None and _before(marker, before)
        if went_back:
            wrong.append(f"offsets went back {went_back} times")
        seen = sum(marker.note["seen"] for marker in markers.values())
        if seen != self.produced:
            wrong.append(f"the markers' counters add up to {seen}, not {self.produced}")
        return wrong


def _before(marker: Marker, other: Marker) -> bool:
    return any(marker.offsets[topic] < offset for topic, offset in other.offsets.items())


def _output_problems(outputs: Iterable[Any], produced: int) -> list[str]:
    sources: Counter[bytes] = Counter()
    newest: dict[bytes, int] = {}
    jumps = 0
    for one in outputs:
        sources[dict(one.headers)["src"]] += 1
        jumps += int(one.value) != newest.get(one.key, 0) + 1
        newest[one.key] = int(one.value)
    wrong = []
    if len(sources) != produced or sources.total() != produced:
        wrong.append(f"outputs: {sources.total()} of {len(sources)} sources, not {produced}")
    if jumps:
        wrong.append(f"outputs: {jumps} counts do not follow the one before")
    return wrong


async def read_all(bootstrap: str, topic: str, least: Mapping[int, int] | None = None) -> list[Any]:
    """The committed records of a topic, each partition in its order.

    `least`: offsets, by partition, up to which all is committed: who committed hears of it before
    consumers can see it.
    """
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    async with consumer:
        numbers = await consumer._client._wait_on_metadata(topic)
        at = [TopicPartition(topic, number) for number in sorted(numbers)]
        consumer.assign(at)
        ends = await consumer.end_offsets(at)
        async with asyncio.timeout(TOO_LONG):
            while any(ends[at[number]] < offset for number, offset in (least or {}).items()):
                await asyncio.sleep(0.02)
                ends = await consumer.end_offsets(at)
        found: list[Any] = []
        while [one for one in at if await consumer.position(one) < ends[one]]:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                found.extend(records)
        return found


async def create_known(admin: AIOKafkaAdminClient, *topics: NewTopic) -> None:
    """Creates topics, and waits until the broker knows them: it answers before."""
    await admin.create_topics(list(topics))
    while {topic.name for topic in topics} - set(await admin.list_topics()):
        await asyncio.sleep(0.05)


async def _create(bootstrap: str, partitions: dict[str, int]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await create_known(admin, *(NewTopic(name, count, 1) for name, count in partitions.items()))
    await admin.close()


async def _produce(bootstrap: str, clicks: str, taps: str, numbers: range) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5, enable_idempotence=True)
    async with producer:
        for number in numbers:
            topic = taps if number % 3 == 0 else clicks
            await producer.send(topic, key=b"k%d" % (number % KEYS), value=b"x" * 100)


async def _committed(
    bootstrap: str, group: str, at: list[TopicPartition]
) -> dict[TopicPartition, int]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    with suppress(KafkaError):
        await admin.start()
        found = await admin.list_consumer_group_offsets(group)
        await admin.close()
        return {one: max(found[one].offset, 0) for one in at if one in found}
    await admin.close()
    return {}


def pause(worker: "subprocess.Popen[bytes]", number: int) -> None:
    os.kill(worker.pid, number)
