"""`sink`: messages of `history` into Delta tables, against a consumer that only counts them.

Goal: 60,000 rows/s in one process. The messages are the rows that real turns cause; their broker
runs on the same machine, and reads from its page cache. With `--bucket` a sink into a bucket of a
real S3 server (S3Proxy, on this machine too) stands beside it: goal 0.8 of the folder's rows/s.
"""

import asyncio
import os
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from benchmarks import common
from benchmarks.common import Spent, median, spread
from sinks.sink_history import SharedHistory
from streams.broker import Broker
from streams.files import file_runner
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.sink.options import SinkOptions, owner
from streams.kafka.sink.sink import Sink
from streams.topology import HISTORY
from tests.kafka.history import PARTITIONS, Message, messages, send
from tests.object_store.s3_server import S3Server


def main() -> None:
    """Sinks and counting consumers in turn, each in a process of its own."""
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--copies", type=int, default=5, help="of the rows of these turns")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--bucket", action="store_true", help="also into a bucket of an S3 server")
    given = parser.parse_args()
    buckets: list[Spent] = []
    with (
        common.work_folder(given.work) as folder,
        Broker.start(heap_mb=512) as broker,
        S3Server.start(folder / "s3") if given.bucket else nullcontext() as store,
    ):
        count = _fill(broker.bootstrap, folder, given.turns, given.copies)
        common.note(f"{count:,} messages")
        pairs = []
        for n in range(given.repeat):
            folders = common.in_process(sink, broker.bootstrap, str(folder / f"{n}"), f"sink{n}")
            if store is not None:
                os.environ.update(store.environ())
                url = store.place(f"sink{n}")
                buckets.append(common.in_process(sink, broker.bootstrap, url, f"bucket{n}"))
            pairs.append((folders, common.in_process(bare, broker.bootstrap)))
        assert all(one.answer == count for pair in pairs for one in pair), pairs
        assert all(one.answer == count for one in buckets), buckets
    rows = [_row("sink", [one for one, _ in pairs], count)]
    if buckets:
        rows.append(_row("sink into a bucket", buckets, count))
        beside = zip(pairs, buckets, strict=True)
        of_folder = median(one.seconds / other.seconds for (one, _), other in beside)
        rows.append(("bucket to folder", f"{of_folder:.2f}", "", "", ""))
    rows.append(_row("bare loop", [one for _, one in pairs], count))
    ratio = median(one.seconds / other.seconds for other, one in pairs)
    title = f"sink: {count:,} messages, {PARTITIONS} partitions, median of {given.repeat}"
    head = ("", "rows/s", "spread", "rows/CPU s", "peak MB")
    common.show(title, head, [*rows, ("ratio", f"{ratio:.2f}", "", "", "")])


def _fill(bootstrap: str, folder: Path, turns: int, copies: int) -> int:
    """The rows of real turns, so many times over, each time as if other records had caused them."""
    file = folder / "turns.ndjson"
    common.write_ndjson(file, islice(common.sgd_records(turns), turns))
    file_runner.run([str(file)], folder / "file")
    settings = KafkaSettings.plain(bootstrap)
    asyncio.run(ensure_topics(settings))
    rows = messages(folder / "file")
    for copy in range(copies):
        asyncio.run(send(settings, [_renamed(row, copy) for row in rows], transaction=4_000))
    return len(rows) * copies


def _renamed(row: Message, copy: int) -> Message:
    headers = [(name, b"%b-%d" % (value, copy) if name == "src_topic" else value)
               for name, value in row.headers]  # fmt: skip
    return row._replace(headers=headers)


def sink(bootstrap: str, history: str, name: str) -> int:
    """A sink until the end of the topics; how many messages it read."""

    async def run() -> int:
        settings, options = KafkaSettings.plain(bootstrap), SinkOptions(name, once=True)
        with SharedHistory(history, await owner(settings, options)) as tables:
            return (await Sink(settings, tables, options).run()).read

    return asyncio.run(run())


def bare(bootstrap: str) -> int:
    """Reads the topic, and nothing else."""

    async def run() -> int:
        async with AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=4_000_000,
        ) as consumer:
            parts = [TopicPartition(HISTORY.name, number) for number in range(PARTITIONS)]
            consumer.assign(parts)
            ends = await consumer.end_offsets(parts)
            count = 0
            while [at for at in parts if await consumer.position(at) < ends[at]]:
                found = await consumer.getmany(timeout_ms=200, max_records=4_000)
                count += sum(map(len, found.values()))
            return count

    return asyncio.run(run())


def _row(name: str, spent: list[Spent], count: int) -> tuple[Any, ...]:
    seconds = [one.seconds for one in spent]
    return (
        name,
        f"{count / median(seconds):,.0f}",
        spread(seconds),
        f"{count / median(one.cpu for one in spent):,.0f}",
        f"{median(one.peak for one in spent):.0f}",
    )


if __name__ == "__main__":
    main()
