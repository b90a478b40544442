"""Tables of the worker: how fast a changelog is restored, and what a session of 20 turns takes.

Goals: 200,000 changelog records/s into the table, and 4 KB of the worker's memory a session beyond
its base. The changelog holds the rows of real turns, again and again under other sessions' names;
the worker is the command itself. A session's memory is the difference of two such workers.
"""

import asyncio
import os
import re
import subprocess
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psutil
from aiokafka import AIOKafkaProducer

from benchmarks import common
from streams.apps.worker import prepare
from streams.apps.worker_settings import WorkerSettings
from streams.broker import Broker
from streams.folds.constants import Rules
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.client.partitions import partition_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import changelog_name
from streams.kafka.transport.marker import MARKER_KEY, Marker
from streams.kafka.transport.rows import MemoryRows, Row
from streams.topology import AGENTS, SESSION_AGENT
from tests.command import PROGRAM

TURNS = 20
REAL = 1_000  # sessions whose rows are folded; the others are theirs under another name
PARTITIONS = 4
BATCH_BYTES = 900_000
SAID = re.compile(r" (\S+): restored (\d+) rows in ([\d.]+) s")


class Given(NamedTuple):
    """A record as the agent reads it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes
    value: bytes
    headers: tuple[()] = ()


class Run(NamedTuple):
    """A worker that has restored: rows in all, seconds of its slowest lane, CPU seconds and MB of
    the process."""

    rows: int
    seconds: float
    cpu: float
    megabytes: float


def main() -> None:
    """Workers with few and with many sessions, in memory and on disk."""
    parser = common.arguments(__doc__)
    parser.add_argument("--sessions", type=int, nargs=2, default=(40_000, 100_000))
    parser.add_argument("--stores", nargs="+", default=["memory", "rocksdb"])
    given = parser.parse_args()
    few, many = given.sessions
    lines = []
    with common.work_folder(given.work) as folder, Broker.start(heap_mb=512) as broker:
        idle = restored(broker.bootstrap, "idle", folder)
        for store in given.stores:
            runs = []
            for sessions in (few, many):
                name = f"{store}{sessions}"
                options = ["--store", store]
                if store == "rocksdb":
                    options += ["--data", str(folder / name)]
                fill(broker.bootstrap, name, sessions)
                runs.append(restored(broker.bootstrap, name, folder, *options))
                common.note(f"{name}: {runs[-1]}")
            lines.append(_line(store, runs, idle, many - few))
            again = restored(broker.bootstrap, name, folder, *options)
            lines.append(_line(f"{store}, again", [again], idle, 0))
    head = ("", "rows", "rows/s", "CPU µs a row", "MB", "KB a session")
    common.show(f"tables: {many:,} sessions of {TURNS} turns; idle {idle.megabytes:.0f} MB", head,
                lines)  # fmt: skip


def _line(name: str, runs: list[Run], idle: Run, more: int) -> tuple[Any, ...]:
    last = runs[-1]
    each = (last.megabytes - runs[0].megabytes) * 1e3 / more if more else None
    return (
        name,
        f"{last.rows:,}",
        f"{last.rows / last.seconds:,.0f}" if last.rows else f"{last.seconds:.2f} s",
        f"{(last.cpu - idle.cpu) * 1e6 / last.rows:.1f}" if last.rows else "",
        f"{last.megabytes:.0f}",
        "" if each is None else f"{each:.1f}",
    )


# --- the changelog ------------------------------------------------------------------------------


def real_rows() -> list[list[Row]]:
    """The rows of REAL sessions, each of TURNS turns."""
    agent = SessionAgent(0, MemoryRows(), 1, None, Rules(), "none")  # all sessions are its own
    changed: dict[bytes, list[Row]] = {}
    for key, value in agent.process(list(_records())).changelog:
        changed.setdefault(key.rpartition(b"\0")[0], []).append((key, value))
    return list(changed.values())


def _records() -> Iterator[Given]:
    encode = msgspec.json.Encoder().encode
    now = int(time.time() * 1000)
    count = REAL * TURNS
    for number, record in enumerate(islice(common.sgd_records(count), count)):
        turn = {**record, "session_id": f"session-{number // TURNS:07d}"}
        key = f"default/{turn['session_id']}".encode()
        yield Given("turns", 0, number, now, key, encode(turn))


def fill(bootstrap: str, app: str, sessions: int) -> None:
    """So many sessions' rows into the changelog of `app`."""
    kafka = KafkaSettings.plain(bootstrap)
    prepare(kafka, WorkerSettings.load(app_id=app))
    asyncio.run(_fill(bootstrap, changelog_name(app, SESSION_AGENT), sessions))


async def _fill(bootstrap: str, topic: str, sessions: int) -> None:
    rows = real_rows()
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, compression_type="zstd", max_batch_size=BATCH_BYTES
    ) as producer:
        for first in range(0, sessions, 200):
            parts: dict[int, list[tuple[bytes, bytes | None]]] = {}
            for number in range(first, min(first + 200, sessions)):
                name = b"session-%07d" % number
                to = partition_of(b"default/" + name, PARTITIONS)
                for key, value in rows[number % len(rows)]:
                    prefix, _, row = key.rpartition(b"\0")
                    named = prefix[: -len(name)] + name + b"\0" + row
                    parts.setdefault(to, []).append((named, value))
            await asyncio.gather(*(_send(producer, topic, *one) for one in parts.items()))
        marker = Marker(dict.fromkeys((one.name for one in SESSION_AGENT.sources), 0), {}, "log", 1)
        for partition in range(PARTITIONS):
            await _send(producer, topic, partition, [(MARKER_KEY, marker.encode())])


async def _send(producer: Any, topic: str, partition: int, rows: list[Row]) -> None:
    batch = producer.create_batch()
    for key, value in rows:
        if not batch.append(timestamp=None, key=key, value=value):
            await (await producer.send_batch(batch, topic, partition=partition))
            batch = producer.create_batch()
            batch.append(timestamp=None, key=key, value=value)
    await (await producer.send_batch(batch, topic, partition=partition))


# --- the worker ---------------------------------------------------------------------------------


def restored(bootstrap: str, app: str, folder: Path, *options: str) -> Run:
    """Starts a worker, waits until its lanes have restored, looks at it and ends it."""
    log = folder / f"{app}-{time.monotonic_ns()}.log"
    told = ["--bootstrap", bootstrap, "--app-id", app, "--extractor", "none", *options]
    command = [PROGRAM, "kafka", "worker", *told]
    with log.open("wb") as out:
        worker = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, "NO_COLOR": "1"}
        )
    try:
        lanes = _await(log, worker, len(AGENTS) * PARTITIONS)
        process = psutil.Process(worker.pid)
        cpu = process.cpu_times()
        run = Run(
            sum(rows for rows, _ in lanes),
            max(seconds for _, seconds in lanes),
            cpu.user + cpu.system,
            process.memory_info().rss / 1e6,
        )
    finally:
        worker.terminate()
        worker.wait()
    return run


def _await(log: Path, worker: "subprocess.Popen[bytes]", lanes: int) -> list[tuple[int, float]]:
    """Rows and seconds of each lane, from the log: all that it restored, should it begin again."""
    while True:
        found: dict[str, tuple[int, float]] = {}
        for lane, rows, seconds in SAID.findall(log.read_text()):
            before = found.get(lane, (0, 0.0))
            found[lane] = (before[0] + int(rows), before[1] + float(seconds))
        if len(found) >= lanes:
            return list(found.values())
        if worker.poll() is not None:
            raise SystemExit(f"the worker ended:\n{log.read_text()}")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
