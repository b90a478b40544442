"""Checks this machine's clock against the broker's, which sets the times of records."""

import time
from collections.abc import Iterator
from typing import Any

from aiokafka.structs import TopicPartition

from streams.apps.worker_settings import WorkerSettings
from streams.doctor.check_result import Finding, ok, warning, wrong
from streams.kafka.client import topics
from streams.kafka.client.admin import connected, partitions_of
from streams.kafka.client.aiokafka_internals import KafkaConsumer, KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.transport.partition_check import changelogs_of

TOPIC = "turnfold-doctor"
"""The topic of `--probe`."""
OFF = 1.0
"""Seconds: more than the offset of a clock set by NTP."""
FAR_OFF = 60.0
MEANS = (
    "Times of records are the broker's, \"now\" is this machine's: what was just said may be in "
    "the future, and signed requests to an object store are refused."
)
DO = "Let NTP set the clocks of this machine and of the brokers."


async def clock(kafka: KafkaSettings, worker: WorkerSettings) -> Finding:
    """Checks the existing records for future times, read-only. Raises Unreachable, KafkaError."""
    async with connected(kafka) as admin:
        counts = await partitions_of(admin, ["turns", *changelogs_of(worker.group)])
    parts = [TopicPartition(name, n) for name, count in counts.items() for n in range(count)]
    ahead = 0.0
    if parts:
        async with KafkaConsumer(**kafka.client()) as consumer:
            now = time.time()
            later = {at: int((now + OFF) * 1000) for at in parts}
            offsets = (await consumer.offsets_for_times(later)).values()
            ahead = max(
                (offset.timestamp / 1000 - now for offset in offsets if offset), default=0.0
            )
    if ahead <= OFF:
        return ok("clock", "no record's time is in the future; --probe measures the difference")
    return _finding(-ahead, f"a record's time is {ahead:.1f} s in this machine's future")


async def probe(kafka: KafkaSettings) -> Iterator[Finding]:
    """Writes one record and compares its time, set by the broker, with this machine's. Raises
    ConfigurationError, Unreachable, KafkaError."""
    async with connected(kafka) as admin:
        topic = spec(TOPIC, 1, retention_days=1, more=True)
        await topics.create(admin, [topic], kafka.replication)
        await topics.check(admin, [topic], topics.ALL_KNOW_WITHIN)
    producer: Any = KafkaProducer(acks="all", **kafka.client())
    await producer.start()
    try:
        await producer.send_and_wait(TOPIC, b"doctor")  # the first one waits for metadata
        start, at = time.time(), time.perf_counter()
        metadata = await producer.send_and_wait(TOPIC, b"doctor")
        seconds = time.perf_counter() - at
    finally:
        await producer.stop()
    off = start + seconds / 2 - metadata.timestamp / 1000
    text = f"this machine is {abs(off):.2f} s {'ahead of' if off > 0 else 'behind'} the broker"
    return iter((
        ok("write", f"a record is on all replicas in {seconds * 1000:.0f} ms"),
        _finding(off, f"{text} (± {seconds / 2:.2f} s)"),
    ))  # fmt: skip


def _finding(off: float, text: str) -> Finding:
    if abs(off) <= OFF:
        return ok("clock", text)
    return (wrong if abs(off) > FAR_OFF else warning)("clock", text, MEANS, DO)
