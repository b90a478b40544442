"""This machine's clock against the broker's, which gives records their time."""

import time
from collections.abc import Iterator
from typing import Any

from aiokafka.structs import TopicPartition

from streams.apps.worker_settings import WorkerSettings
from streams.doctor.finding import Finding, ok, warning, wrong
from streams.kafka.client import topics
from streams.kafka.client.admin import connected, partitions_of
from streams.kafka.client.aiokafka_internals import KafkaConsumer, KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.transport.layout import changelogs_of

TOPIC = "turnfold-doctor"
"""Where `--probe` writes."""
OFF = 1.0
"""Seconds: more than a clock that is set by NTP is off."""
FAR_OFF = 60.0
MEANS = (
    "Times of records are the broker's, \"now\" is this machine's: what was just said may be in "
    "the future, and signed requests to an object store are refused."
)
DO = "Let NTP set the clocks of this machine and of the brokers."


async def clock(kafka: KafkaSettings, worker: WorkerSettings) -> Finding:
    """By the records that are there: one of a future time says that a clock is wrong. Writes
    nothing. Raises Unreachable, KafkaError."""
    async with connected(kafka) as admin:
        counts = await partitions_of(admin, ["turns", *changelogs_of(worker.group)])
    parts = [TopicPartition(name, n) for name, count in counts.items() for n in range(count)]
    ahead = 0.0
    if parts:
        async with KafkaConsumer(**kafka.client()) as consumer:
            now = time.time()
            later = {at: int((now + OFF) * 1000) for at in parts}
            found = await consumer.offsets_for_times(later)
            ahead = max((one.timestamp / 1000 - now for one in found.values() if one), default=0.0)
    if ahead <= OFF:
        return ok("clock", "no record's time is in the future; --probe measures the difference")
    return _judged(-ahead, f"a record's time is {ahead:.1f} s in this machine's future")


async def probe(kafka: KafkaSettings) -> Iterator[Finding]:
    """Writes one record and compares its time, the broker's, with ours. Raises ConfigurationError,
    Unreachable, KafkaError."""
    async with connected(kafka) as admin:
        made = spec(TOPIC, 1, retention_days=1, more=True)
        await topics.create(admin, [made], kafka.replication)
        await topics.check(admin, [made], topics.ALL_KNOW_WITHIN)
    producer: Any = KafkaProducer(acks="all", **kafka.client())
    await producer.start()
    try:
        await producer.send_and_wait(TOPIC, b"doctor")  # the first one waits for metadata
        began, at = time.time(), time.perf_counter()
        told = await producer.send_and_wait(TOPIC, b"doctor")
        took = time.perf_counter() - at
    finally:
        await producer.stop()
    off = began + took / 2 - told.timestamp / 1000
    found = f"this machine is {abs(off):.2f} s {'ahead of' if off > 0 else 'behind'} the broker"
    return iter((
        ok("write", f"a record is on all replicas in {took * 1000:.0f} ms"),
        _judged(off, f"{found} (± {took / 2:.2f} s)"),
    ))  # fmt: skip


def _judged(off: float, found: str) -> Finding:
    if abs(off) <= OFF:
        return ok("clock", found)
    return (wrong if abs(off) > FAR_OFF else warning)("clock", found, MEANS, DO)
