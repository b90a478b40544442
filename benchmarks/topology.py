"""The whole topology in workers: both hops, all tables and outputs, exactly once.

    python -m benchmarks.topology --turns 300000 --repeat 3
    python -m benchmarks.topology --turns 300000 --workers 1 2 4
    python -m benchmarks.topology --turns 300000 --length 1000
    python -m benchmarks.topology --rate 5000 --seconds 20

Without a rate: turns a second and CPU a turn of so many workers that find all turns there (SGD,
always a thousand dialogues side by side), and of their broker; the first half warms both. Then what
the changelogs take beside what was read, as the broker stores them; `--length` makes sessions of so
many turns. With a rate: from a turn's production to its session's context under `read_committed`. A
session's turns that come together make one context, the newest's. `--worker FOLDER` (again and
again) takes the worker of another checkout, in turn with the others.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, product, zip_longest
from pathlib import Path
from typing import NamedTuple

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from benchmarks.common import machine, median, note, sgd_records
from benchmarks.peers.__main__ import broker_cpu, cpu_seconds
from benchmarks.peers.latency import WARM, percentiles, produce, read
from schemas.base import SECOND
from schemas.time import format_time, parse_time
from streams.apps.worker import prepare
from streams.apps.worker_settings import WorkerSettings
from streams.broker import Broker
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import changelog_name
from streams.topology import MEMORY_AGENT, SESSION_AGENT, SESSION_CONTEXTS, TURNS, USER_SIGNALS
from tests.acceptance.sgd import START

APP = WorkerSettings().app_id
PARTITIONS = KafkaSettings().partitions
SIDE_BY_SIDE = 1_000
TOO_LONG = 600.0
CHANGELOGS = tuple(changelog_name(APP, agent) for agent in (SESSION_AGENT, MEMORY_AGENT))

Turn = tuple[bytes, dict[str, object]]
encode = msgspec.json.Encoder().encode


def turns(wanted: int, length: int | None = None) -> Iterator[Turn]:
    """Keys and turns; a thousand sessions speak in turn. `length`: sessions of so many turns, one a
    second, instead of those of SGD."""
    sessions: dict[str, list[dict[str, object]]] = {}
    for number, record in enumerate(sgd_records(wanted)):
        if length:
            record["session_id"], at = f"session-{number // length}", number % length
            record["user_id"] = f"user-{number // length}"
            record["occurred_at"] = format_time(START + at * SECOND)
        sessions.setdefault(record["session_id"], []).append(record)
    waiting = list(sessions.values())
    for start in range(0, len(waiting), SIDE_BY_SIDE):
        some = zip_longest(*waiting[start : start + SIDE_BY_SIDE])
        for record in chain.from_iterable(some):
            if record is not None:
                yield f"default/{record['session_id']}".encode(), record


class Worker:
    """A worker process of a checkout, on topics of its own broker."""

    def __init__(self, checkout: Path, bootstrap: str, folder: Path, number: int) -> None:
        program = "import sys; from streams.cli import main; sys.exit(main())"
        self.log = folder / f"worker-{number}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, "kafka", "worker", "--bootstrap", bootstrap,
                 "--extractor", "none"],
                cwd=checkout, stdout=log, stderr=log, env={**os.environ, "TMPDIR": str(folder)},
            )  # fmt: skip

    def cpu(self) -> float:
        if self.process.poll() is not None:
            sys.exit(f"the worker ended: {self.log.read_text()[-3000:]}")
        return cpu_seconds(self.process.pid)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Result(NamedTuple):
    """Turns a second, CPU µs a turn of the workers and of the broker, and bytes that the changelogs
    of the first and of both hops take of what the hops have read."""

    rate: float
    cpu: float
    broker: float
    first_hop: float
    both_hops: float


# --- throughput -------------------------------------------------------------------------------


async def fill(bootstrap: str, wanted: int, length: int | None) -> None:
    """As `turnfold kafka produce` writes: compressed."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, linger_ms=20, max_batch_size=500_000, acks="all",
        compression_type="zstd",
    )  # fmt: skip
    async with producer:
        for key, turn in turns(wanted, length):
            await producer.send(TURNS.name, key=key, value=encode(turn))


def stored(broker: Broker, *topics: str) -> int:
    """Bytes of the topics' records as the broker has them."""
    return sum(
        log.stat().st_size
        for node in broker.nodes
        for topic in topics
        for log in node.data.glob(f"{topic}-[0-9]*/*.log")
    )


async def watch(broker: Broker, workers: list[Worker], wanted: int) -> Result:
    """From half of the turns done, while which the broker's JVM compiles, until all are, and the
    signals they made."""
    bootstrap = broker.bootstrap
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
    await consumer.start()
    hops = [TopicPartition(USER_SIGNALS.name, number) for number in range(PARTITIONS)]
    first: tuple[int, float, float, float] | None = None
    deadline = time.monotonic() + TOO_LONG
    try:
        while time.monotonic() < deadline:
            now, cpu = time.perf_counter(), sum(worker.cpu() for worker in workers)
            served = broker_cpu(broker)
            try:
                found = await admin.list_consumer_group_offsets(APP)
            except KafkaError:  # the broker makes its coordinator topics at the first use
                found = {}
            done = sum(max(one.offset, 0) for at, one in found.items() if at.topic == TURNS.name)
            if first is None and done >= wanted // 2:
                first = (done, now, cpu, served)
            if first is not None and done >= wanted:
                ends = await consumer.end_offsets(hops)
                if all(at in found and found[at].offset >= end for at, end in ends.items()):
                    before, began, used, idle = first
                    folded = wanted - before
                    inputs, changelogs = (TURNS.name, USER_SIGNALS.name), CHANGELOGS
                    return Result(
                        folded / (now - began),
                        (cpu - used) / folded * 1e6,
                        (served - idle) / folded * 1e6,
                        stored(broker, changelogs[0]) / stored(broker, inputs[0]),
                        stored(broker, *changelogs) / stored(broker, *inputs),
                    )
            await asyncio.sleep(0.05)
    finally:
        await consumer.stop()
        await admin.close()
    sys.exit(f"took too long; it says: {workers[0].log.read_text()[-3000:]}")


# --- latency ----------------------------------------------------------------------------------


def stamped(given: Iterator[Turn]) -> Iterator[tuple[bytes, bytes]]:
    """Turns that are said when they are asked for."""
    for key, turn in given:
        turn["occurred_at"] = format_time(time.time_ns() // 1_000)
        yield key, encode(turn)


def stamp(context: bytes) -> float:
    return parse_time(json.loads(context)["updated_at"]) / 1e6


async def measure(bootstrap: str, worker: Worker, rate: int, seconds: float) -> None:
    latencies: list[tuple[float, float]] = []
    reader = asyncio.create_task(read(bootstrap, SESSION_CONTEXTS.name, stamp, latencies))
    given = stamped(turns(int((2 * WARM + seconds) * rate) + rate))
    await produce(bootstrap, TURNS.name, given, 200, WARM)
    began = time.time() + WARM
    cpu = worker.cpu()
    await produce(bootstrap, TURNS.name, given, rate, WARM + seconds)
    cpu = worker.cpu() - cpu
    await asyncio.sleep(3)
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)
    found = sorted(took for at, took in latencies if at > began)
    used = cpu / (WARM + seconds) / rate * 1e6
    sys.stdout.write(
        f"{rate:>6,}/s  {percentiles(found)}  {used:.0f} µs CPU a turn, {len(found):,} contexts\n"
    )


# --- command line -----------------------------------------------------------------------------


def run(checkout: Path, count: int, given: argparse.Namespace) -> Result | None:
    """Workers of a checkout on a broker of their own: topics have one name each."""
    with Broker.start() as broker, tempfile.TemporaryDirectory() as folder, ExitStack() as started:
        prepare(KafkaSettings.plain(broker.bootstrap), WorkerSettings())
        if not given.rate:
            asyncio.run(fill(broker.bootstrap, given.turns, given.length))
        workers = [Worker(checkout, broker.bootstrap, Path(folder), one) for one in range(count)]
        for worker in workers:
            started.callback(worker.stop)
        if not given.rate:
            return asyncio.run(watch(broker, workers, given.turns))
        asyncio.run(measure(broker.bootstrap, workers[0], given.rate, given.seconds))
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=300_000)
    parser.add_argument("--length", type=int, help="turns a session; default: SGD's own")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1])
    parser.add_argument("--rate", type=int, help="turns a second: measures latency")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--worker", type=Path, action="append", help="another checkout's")
    given = parser.parse_args()
    ways = list(product(given.worker or [Path(__file__).parents[1]], given.workers))
    results: dict[tuple[Path, int], list[Result]] = {way: [] for way in ways}
    for _ in range(given.repeat):
        for checkout, workers in ways:
            note(f"{checkout.name}, workers: {workers}")
            result = run(checkout, workers, given)
            if result is not None:
                results[checkout, workers].append(result)
                note(f"{result.rate:,.0f} turns/s, {result.cpu:.1f} µs")
    for (checkout, workers), them in results.items():
        if them:
            rate, cpu, broker, first, both = map(median, zip(*them, strict=True))
            sys.stdout.write(
                f"{checkout.name}, workers: {workers}: {rate:,.0f} turns/s, CPU µs a turn: workers "
                f"{cpu:.1f}, broker {broker:.1f}; changelog {first:.2f} of the turns' bytes, both "
                f"hops' {both:.2f} of what they read\n"
            )
    sys.stdout.write(machine() + "\n")


if __name__ == "__main__":
    main()
