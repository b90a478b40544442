"""Latency: a turn is produced → its context can be read under `read_committed`.

    python -m benchmarks.peers.latency --peers ours kafka-streams-exactly-once-10ms

Producer and reader are this process; a turn's `occurred_at` is the moment it was handed to the
producer, which its context carries on as `updated_at`.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.common import note
from benchmarks.peers import job
from benchmarks.peers.outputs import create
from benchmarks.peers.workers import PEERS, start
from streams.broker import Broker

STEP = 0.005
"""Seconds between two handfuls of turns."""
WARM = 15.0
"""Seconds at the beginning that do not count: the broker's JVM compiles, the worker starts."""
JVM_RATE, JVM_WARM = 5_000, 40.0
"""A peer on a JVM begins with so many turns a second for so many seconds: it compiles too."""
PATIENCE = 15.0
"""Seconds that the last turns may take: some peers commit every five."""


def _stamped() -> Iterator[tuple[bytes, bytes]]:
    """Turns without end, each stamped when it is asked for."""
    kept = [(key, msgspec.json.decode(value)) for key, value in job.turns(20_000)]
    for number in count():
        key, turn = kept[number % len(kept)]
        turn["occurred_at"] = f"{time.time():.6f}"
        yield key, job.encode(turn)


def _stamp(row: bytes) -> float:
    return float(job.decode_row(row).updated_at)


async def produce(
    bootstrap: str, topic: str, turns: Iterator[tuple[bytes, bytes]], rate: int, seconds: float
) -> int:
    """Sends turns, stamped when they are asked for, at that rate; how many."""
    sent = 0
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            while sent < passed * rate:
                key, value = next(turns)
                await producer.send(topic, key=key, value=value)
                sent += 1
            await asyncio.sleep(STEP)
    return sent


async def read(
    bootstrap: str,
    topic: str,
    stamp: Callable[[bytes], float],
    latencies: list[tuple[float, float]],
) -> None:
    """Appends (when it was produced, seconds until it was here) of every context, by its stamp."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, isolation_level="read_committed",
        auto_offset_reset="earliest", fetch_max_wait_ms=100,
    )  # fmt: skip
    async with consumer:
        while True:
            fetched = await consumer.getmany(timeout_ms=500)
            now = time.time()
            for records in fetched.values():
                for record in records:
                    sent = stamp(record.value)
                    latencies.append((sent, now - sent))


async def measure(bootstrap: str, peer: str, run: int, rate: int, seconds: float) -> list[float]:
    """Latencies in seconds, sorted; none where the peer does not keep up."""
    group = f"{peer}-{run}"
    source, output, changelog = (f"{group}-{kind}" for kind in ("in", "out", "changelog"))
    await create(bootstrap, source, output, changelog)
    folder = tempfile.TemporaryDirectory()
    worker = start(peer, Path(folder.name), bootstrap, group, source, output, changelog)
    latencies: list[tuple[float, float]] = []
    reader = asyncio.create_task(read(bootstrap, output, _stamp, latencies))
    try:
        jvm = PEERS[peer].compiles
        before = await produce(
            bootstrap, source, _stamped(), *((JVM_RATE, JVM_WARM) if jvm else (200, WARM))
        )
        began = time.time() + WARM
        sent = before + await produce(bootstrap, source, _stamped(), rate, WARM + seconds)
        deadline = time.monotonic() + PATIENCE
        while len(latencies) < sent:
            if time.monotonic() > deadline:
                note(f"{peer}: {len(latencies)} of {sent} came through in time")
                return []
            await asyncio.sleep(0.1)
        return sorted(took for at, took in latencies if at > began)
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        worker.kill()
        worker.wait()
        folder.cleanup()


def percentiles(found: list[float]) -> str:
    """Of sorted seconds, in ms."""
    if not found:
        return "does not keep up"
    p50, p99 = (found[len(found) * part // 100] * 1e3 for part in (50, 99))
    return f"p50 {p50:6.1f}  p99 {p99:6.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 5_000])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--peers", nargs="+", default=["ours"], choices=list(PEERS))
    given = parser.parse_args()
    runs = count()
    with Broker.start() as broker:
        for rate in given.rates:
            for peer in given.peers:
                found = asyncio.run(
                    measure(broker.bootstrap, peer, next(runs), rate, given.seconds)
                )
                sys.stdout.write(f"{peer:32} {rate:>6,}/s  {percentiles(found)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
