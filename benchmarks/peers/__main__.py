"""Runs the peer job by each peer, on one broker, and prints the table.

    python -m benchmarks.peers --turns 200000 --repeat 3 --peers ours bare faust

Turns a second and CPU are taken between the first turn done and the last, so nobody's start
counts; CPU is the worker process's own, all threads. The broker's own work is in nobody's CPU, but
on a machine of two cores it is in everybody's time.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
from itertools import count
from typing import NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.consumer import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from benchmarks.common import median, spread
from benchmarks.peers import job
from streams.broker import Broker

SOURCE = "peer-turns"
TICKS = os.sysconf("SC_CLK_TCK")
PEERS = {
    "ours": ("benchmarks.peers.ours",),
    "bare": ("benchmarks.peers.bare",),
    "faust": ("benchmarks.peers.faust_tutorial",),
    "faust-exactly-once": ("benchmarks.peers.faust_tutorial", "exactly_once"),
}
TOO_LONG = 600.0


class Result(NamedTuple):
    """Turns a second and CPU µs a turn."""

    rate: float
    cpu: float


async def create(bootstrap: str, *topics: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, job.PARTITIONS, 1) for topic in topics])
    await admin.close()


async def fill(bootstrap: str, turns: int) -> None:
    """Writes the input once, uncompressed."""
    await create(bootstrap, SOURCE)
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, linger_ms=20, max_batch_size=500_000, acks="all"
    )
    async with producer:
        for key, value in job.turns(turns):
            await producer.send(SOURCE, key=key, value=value)


class Progress:
    """How many turns are done: by the group's committed offsets where those are part of each
    transaction, else by the outputs that are there."""

    def __init__(self, bootstrap: str, group: str, output: str, by_output: bool) -> None:
        self._by_output = by_output
        topic = output if by_output else SOURCE
        self._at = [TopicPartition(topic, number) for number in range(job.PARTITIONS)]
        self._group = group
        self._admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        self._consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)

    async def __aenter__(self) -> "Progress":
        await self._admin.start()
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()
        await self._admin.close()

    async def done(self) -> int:
        if self._by_output:
            return sum((await self._consumer.end_offsets(self._at)).values())
        try:
            found = await self._admin.list_consumer_group_offsets(self._group)
        except KafkaError:  # the broker makes its coordinator topics at the first use
            return 0
        return sum(max(found[at].offset, 0) for at in self._at if at in found)


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - a short read of a special file
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def measure(bootstrap: str, peer: str, run: int, turns: int) -> Result:
    group, output, changelog = f"{peer}-{run}", f"{peer}-{run}-out", f"{peer}-{run}-changelog"
    await create(bootstrap, output, changelog)
    module, *options = PEERS[peer]
    worker = subprocess.Popen(
        [sys.executable, "-m", module, bootstrap, group, SOURCE, output, changelog, *options],
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with Progress(bootstrap, group, output, peer.startswith("faust")) as progress:
            return await _watch(worker, progress, turns)
    finally:
        worker.kill()
        worker.wait()


async def _watch(worker: "subprocess.Popen[bytes]", progress: Progress, turns: int) -> Result:
    first: tuple[int, float, float] | None = None
    deadline = time.monotonic() + TOO_LONG
    while time.monotonic() < deadline:
        if worker.poll() is not None:
            sys.exit(f"the worker ended with {worker.returncode}")
        done = await progress.done()
        now, cpu = time.perf_counter(), cpu_seconds(worker.pid)
        if done and first is None:
            first = done, now, cpu
        if done >= turns and first is not None:
            counted = turns - first[0]
            return Result(counted / (now - first[1]), (cpu - first[2]) / counted * 1e6)
        await asyncio.sleep(0.02)
    sys.exit("took too long")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    given = parser.parse_args()
    with Broker.start() as broker:
        asyncio.run(fill(broker.bootstrap, given.turns))
        results: dict[str, list[Result]] = {peer: [] for peer in given.peers}
        runs = count()
        for _ in range(given.repeat):
            for peer in given.peers:
                result = asyncio.run(measure(broker.bootstrap, peer, next(runs), given.turns))
                results[peer].append(result)
                sys.stderr.write(f"{peer}: {result.rate:,.0f}/s, {result.cpu:.1f} µs\n")
    report(results)


def report(results: dict[str, list[Result]]) -> None:
    base = median(one.rate for one in results[next(iter(results))])
    sys.stdout.write(f"{'peer':20} {'turns/s':>10} {'':6} {'CPU µs':>8} {'ratio':>7}\n")
    for peer, them in results.items():
        rates = [one.rate for one in them]
        rate, cpu = median(rates), median(one.cpu for one in them)
        sys.stdout.write(
            f"{peer:20} {rate:>10,.0f} {spread(rates):6} {cpu:>8.1f} {base / rate:>6.1f}x\n"
        )


if __name__ == "__main__":
    main()
