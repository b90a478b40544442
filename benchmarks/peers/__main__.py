"""Runs the peer job by each peer, on one broker, in turn, and prints the table.

    python -m benchmarks.peers --turns 600000 --repeat 3 --peers ours kafka-streams-exactly-once

A turn is done when its context can be read under `read_committed`. Turns a second and CPU are taken
from the first turns done to the last commit before the end, so nobody's start counts, nor how long
the last commit waits when nothing comes any more. CPU is the worker process's own, all threads. The
broker's own work is in nobody's CPU, but on a machine of two cores it is in everybody's time.
After each run the outputs are counted and the last context of every session is compared.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import NamedTuple

from aiokafka import AIOKafkaProducer

from benchmarks.common import machine, median, note, spread
from benchmarks.peers import job
from benchmarks.peers.outputs import Found, Outputs, create, delete, fold
from benchmarks.peers.workers import PEERS, last_words, start
from streams.broker import Broker

TICKS = os.sysconf("SC_CLK_TCK")
FEW = 20
"""A slow peer gets so many times fewer turns."""
TOO_LONG = 600.0
POLL = 0.02


class Source(NamedTuple):
    """An input topic, and what its turns make of each session."""

    topic: str
    turns: int
    contexts: dict[str, job.Context]


class Sample(NamedTuple):
    """`ends` of the output's partitions; wall and CPU seconds when they were seen."""

    at: float
    cpu: float
    ends: tuple[int, ...]


class Result(NamedTuple):
    """Turns a second and CPU µs a turn; `wrong` says what is, else empty."""

    rate: float
    cpu: float
    wrong: str


async def fill(bootstrap: str, topic: str, turns: int) -> Source:
    """Writes an input once, uncompressed."""
    await create(bootstrap, topic)
    contexts: dict[str, job.Context] = {}
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        linger_ms=20,
        max_batch_size=500_000,
        enable_idempotence=True,
    )
    async with producer:
        for key, value in job.turns(turns):
            await producer.send(topic, key=key, value=value)
            fold(contexts, value)
    return Source(topic, turns, contexts)


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - a short read of a special file
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def broker_cpu(broker: Broker) -> float:
    """CPU seconds of all its nodes."""
    return sum(cpu_seconds(node.pid) for node in broker.nodes if node.pid)


async def measure(bootstrap: str, peer: str, run: int, source: Source) -> Result:
    group = f"{peer}-{run:03}"
    output, changelog = f"{group}-out", f"{group}-changelog"
    await create(bootstrap, output, changelog)
    with tempfile.TemporaryDirectory() as folder:
        worker = start(peer, Path(folder), bootstrap, group, source.topic, output, changelog)
        try:
            async with Outputs(bootstrap, output) as outputs:
                samples, found = await _watch(worker, Path(folder), outputs, source.turns)
        finally:
            worker.kill()
            worker.wait()
    await delete(bootstrap, group)
    warm = source.turns // 2 if PEERS[peer].compiles else 1
    return _result(samples, found, warm, source)


async def _watch(
    worker: "subprocess.Popen[bytes]", folder: Path, outputs: Outputs, turns: int
) -> tuple[list[Sample], Found]:
    """Samples until all could be done, as the ends say, and then the outputs when all are."""
    samples: list[Sample] = []
    seen: tuple[int, ...] = ()
    deadline = time.monotonic() + TOO_LONG
    while time.monotonic() < deadline:
        if worker.poll() is not None:
            sys.exit(f"the worker ended with {worker.returncode}: {last_words(folder)}")
        ends = await outputs.ends()
        if ends != seen and sum(ends) < turns:
            samples.append(Sample(time.perf_counter(), cpu_seconds(worker.pid), ends))
        elif ends != seen and (found := await outputs.found()).total >= turns:
            return samples, found
        seen = ends
        await asyncio.sleep(POLL)
    sys.exit(f"took too long; it says: {last_words(folder)}")


def _result(samples: list[Sample], found: Found, warm: int, source: Source) -> Result:
    counted = [(found.before(sample.ends), sample) for sample in samples]
    counted = [one for one in counted if one[0] >= warm]
    if len(counted) < 2:
        sys.exit("too few commits were seen to measure between them: give more --turns")
    (before, first), (after, last) = counted[0], counted[-1]
    turns = after - before
    cpu = (last.cpu - first.cpu) / turns * 1e6
    return Result(turns / (last.at - first.at), cpu, _wrong(found, source))


def _wrong(found: Found, source: Source) -> str:
    if found.total != source.turns:
        return f"{found.total} outputs of {source.turns} turns"
    differ = sum(found.last.get(key) != context for key, context in source.contexts.items())
    return f"{differ} sessions have another context" if differ else ""


async def run(bootstrap: str, peers: list[str], turns: int, repeat: int) -> dict[str, list[Result]]:
    few = await fill(bootstrap, "peer-turns-few", turns // FEW)
    all_ = await fill(bootstrap, "peer-turns", turns)
    results: dict[str, list[Result]] = {peer: [] for peer in peers}
    runs = count()
    for _ in range(repeat):
        for peer in peers:
            source = few if PEERS[peer].slow else all_
            result = await measure(bootstrap, peer, next(runs), source)
            results[peer].append(result)
            note(f"{peer}: {result.rate:,.0f}/s, {result.cpu:.1f} µs {result.wrong}")
    return results


def table(results: dict[str, list[Result]]) -> str:
    """One Markdown table; ratios are the first peer's to this one's: rate over rate, CPU under."""
    first = next(iter(results))
    rates = {peer: median(one.rate for one in them) for peer, them in results.items()}
    cpus = {peer: median(one.cpu for one in them) for peer, them in results.items()}
    lines = [
        f"| peer | turns/s | spread | CPU µs a turn | spread | {first} faster | {first} cheaper |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for peer, them in results.items():
        cells = [
            peer,
            f"{rates[peer]:,.0f}",
            spread([one.rate for one in them]),
            f"{cpus[peer]:.1f}",
            spread([one.cpu for one in them]),
            f"{rates[first] / rates[peer]:.2f}x",
            f"{cpus[peer] / cpus[first]:.2f}x",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=600_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--json", action="store_true", help="every run's figures, as one object")
    given = parser.parse_args()
    with Broker.start() as broker:
        results = asyncio.run(run(broker.bootstrap, given.peers, given.turns, given.repeat))
    if given.json:
        runs = {peer: [one._asdict() for one in them] for peer, them in results.items()}
        said = json.dumps({"turns": given.turns, "machine": machine(), "runs": runs}, indent=1)
    else:
        said = f"{table(results)}\n\n{machine()}"
    sys.stdout.write(said + "\n")
    return int(any(one.wrong for them in results.values() for one in them))


if __name__ == "__main__":
    sys.exit(main())
