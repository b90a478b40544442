"""The peer job on bare aiokafka: one consumer, one transaction for each fetch of all partitions.

What is possible in Python at all: no rebalance, no fencing, no restore.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.producer import sender

from benchmarks.peers import job

sender.BACKOFF_OVERRIDE = 0.001
MOST = 8_000


async def main(bootstrap: str, group: str, source: str, output: str, changelog: str) -> None:
    consumer = AIOKafkaConsumer(
        source, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False,
        auto_offset_reset="earliest", isolation_level="read_committed", fetch_max_wait_ms=100,
        max_partition_fetch_bytes=2 * 1024 * 1024,
    )  # fmt: skip
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=group, max_batch_size=900_000
    )
    await producer.start()
    await consumer.start()
    table: dict[bytes, job.Context] = {}
    while True:
        fetched = await consumer.getmany(timeout_ms=1_000, max_records=MOST)
        if not fetched:
            continue
        await producer.begin_transaction()
        sends = [
            _send(producer, at.partition, _folded(table, records), output, changelog)
            for at, records in fetched.items()
        ]
        await asyncio.gather(*sends)
        offsets = {at: records[-1].offset + 1 for at, records in fetched.items()}
        await producer.send_offsets_to_transaction(offsets, group)
        await producer.commit_transaction()


def _folded(table: dict[bytes, job.Context], records: list[Any]) -> list[tuple[bytes, bytes]]:
    rows = []
    for record in records:
        context = job.apply(table.get(record.key), job.decode(record.value))
        table[record.key] = context
        rows.append((record.key, job.encode(context)))
    return rows


async def _send(
    producer: AIOKafkaProducer, partition: int, rows: list[Any], output: str, changelog: str
) -> None:
    for topic, kept in ((output, rows), (changelog, list(dict(rows).items()))):
        at, batch = TopicPartition(topic, partition), producer.create_batch()
        append: Callable[..., Any] = batch.append
        for key, value in kept:
            if not append(timestamp=None, key=key, value=value):
                await (await producer.send_batch(batch, at.topic, partition=at.partition))
                batch = producer.create_batch()
                append = batch.append
                append(timestamp=None, key=key, value=value)
        await (await producer.send_batch(batch, at.topic, partition=at.partition))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
