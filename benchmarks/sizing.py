"""What a turn, a session and a user cost in each tier: CPU, memory, disk, changelog.

    python -m benchmarks.sizing [--turns 100000] [--corpus sgd]

Real turns with the extractor `rules` through the commands themselves: `run`, `compact` and
`search` over a file; a broker, `worker` (RocksDB), `sink` and `serve` over Kafka. CPU is that of a
command's process with all threads, less that of the same process with nothing to do. Factors are
to a bare loop that decodes the same turns and writes them as Parquet (CPU), and to the turns as
JSON (bytes). docs/sizing.md says what follows from the figures; `tables.py` measures a restore.

The tier `sample` is `turnfold admin size`, which anybody can run over records of their own.
Corpora: `sgd`, short orders that resemble each other; `locomo`, 2,960 turns of ordinary English.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import psutil
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from benchmarks import common, locomo, loops, tables, topology
from benchmarks.peers.__main__ import broker_cpu
from schemas.base import JsonObject
from streams.apps.size import measure
from streams.apps.worker import prepare
from streams.apps.worker_settings import WorkerSettings
from streams.broker import Broker
from streams.files.store import Store
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.lag import lag
from streams.topology import HISTORY, MEMORY_AGENT, SESSION_AGENT, TOPICS, TURNS
from tests.command import PROGRAM, environment
from tests.serving.serving import serving

STORE = "_store"
SOURCES = {name.name for agent in (SESSION_AGENT, MEMORY_AGENT) for name in agent.sources}
TOO_LONG = 600.0


class Ended(NamedTuple):
    """A command: CPU seconds of all its threads, peak MB."""

    cpu: float
    peak: float


class Scale(NamedTuple):
    """How many turns, sessions and users, the turns' bytes as JSON, and a bare loop's CPU."""

    turns: int
    sessions: int
    users: int
    bytes: int
    bare: float

    def cpu(self, seconds: float) -> tuple[str, str]:
        """A turn's CPU, and the factor to the bare loop."""
        return f"{seconds / self.turns * 1e6:.1f} µs", f"{seconds / self.bare:.1f}"

    def size(self, found: float) -> tuple[str, str]:
        """A turn's bytes, and the factor to its JSON."""
        return f"{found / self.turns:,.0f} B", f"{found / self.bytes:.2f}"


def command(*args: str | Path) -> Ended:
    """Runs a command of ours to its end."""
    process = subprocess.Popen(
        [PROGRAM, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=environment(),
    )  # fmt: skip
    assert process.stderr
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, args))}: {said.decode()[-2000:]}")
    return Ended(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def live(history: Path) -> int:
    """Bytes of the files that the tables of a history have now, without those that were merged."""
    tables = [DeltaTable(one.parent) for one in history.glob("*/_delta_log")]
    actions = [pa.table(one.get_add_actions()) for one in tables]
    return int(sum(pc.sum(one["size_bytes"]).as_py() or 0 for one in actions))


Line = tuple[str, ...]

# --- a sample ---------------------------------------------------------------------------------


def sample(file: Path, scale: Scale) -> Iterator[Line]:
    """What needs no broker, as if each turn of a session came in a batch of its own."""
    measured = common.in_process(measure, str(file)).answer
    for name, amount in measured.bytes_per_turn.items():
        yield "sample", name, *scale.size(amount * scale.turns)
    for name, amount in measured.bytes_per_session.items():
        yield "sample", name, f"{amount:,.0f} B", ""
    for name, cpu in measured.cpu_us_per_turn.items():
        yield "sample", f"{name}, CPU a turn", *scale.cpu(cpu * scale.turns / 1e6)


# --- the file tier ----------------------------------------------------------------------------


def files(file: Path, folder: Path, scale: Scale) -> Iterator[Line]:
    """`run`, `compact`, and the index of `search`."""
    history = folder / "history"
    ran = command("run", file, "--history", history, "--extractor", "rules")
    again = command("run", file, "--history", history)
    yield "run", "CPU a turn", *scale.cpu(ran.cpu - again.cpu)
    yield "run", "peak memory", f"{ran.peak:.0f} MB", ""
    yield "run", "tables", *scale.size(live(history))
    for name, prefix, count in (("session", b"s\0", scale.sessions), ("user", b"u\0", scale.users)):
        rows, weight = _rows(history / STORE, prefix)
        said = f"{rows / count:.1f} rows of {weight / count:,.0f} B, not packed"
        yield "run", f"store, a {name}", said, ""
    yield from _compacted("run", history, scale)
    first = command("search", "a table for two", "--history", history)
    again = command("search", "a table for two", "--history", history)
    yield "search index", "CPU a turn", *scale.cpu(first.cpu - again.cpu)
    yield "search index", "peak memory", f"{first.peak:.0f} MB", ""


def _rows(path: Path, prefix: bytes) -> tuple[int, int]:
    """How many rows of a table a store has, and their bytes with their keys."""
    store = Store(path)
    cursor = store._db.iter()
    cursor.seek(prefix)
    rows = weight = 0
    while cursor.valid() and (key := cursor.key()).startswith(prefix):
        rows, weight = rows + 1, weight + len(key) + len(cursor.value())
        cursor.next()
    store.close()
    return rows, weight


def _compacted(name: str, history: Path, scale: Scale) -> Iterator[Line]:
    compacted = command("admin", "compact", "--history", history)
    again = command("admin", "compact", "--history", history)
    yield name, "compact, CPU a turn", *scale.cpu(compacted.cpu - again.cpu)
    yield name, "tables after compact", *scale.size(live(history))


# --- the Kafka tier ---------------------------------------------------------------------------


@contextmanager
def worker(bootstrap: str, folder: Path) -> Iterator[psutil.Process]:
    """A worker with its tables on disk."""
    log = folder / f"worker-{time.monotonic_ns()}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [PROGRAM, "kafka", "worker", "--bootstrap", bootstrap, "--store", "rocksdb",
             "--data", str(folder / "tables"), "--extractor", "rules"],
            stdout=out, stderr=out, env=environment(),
        )  # fmt: skip
    try:
        tables._await(log, process, 2 * topology.PARTITIONS)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def cpu_of(process: psutil.Process) -> float:
    """CPU seconds so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def await_folded(settings: KafkaSettings, turns: int) -> None:
    """Until the worker's group has read all there is in its topics."""
    deadline = time.monotonic() + TOO_LONG
    while time.monotonic() < deadline:
        found = asyncio.run(lag(settings))
        read = sum(one.committed or 0 for one in found if one.topic == TURNS.name)
        if read >= turns and not any(one.lag for one in found):
            return
        time.sleep(0.5)
    sys.exit("the worker took too long")


def kafka(folder: Path, scale: Scale) -> Iterator[Line]:
    """A worker and what it writes; a sink and a server behind it."""
    with Broker.start(heap_mb=512) as broker:
        settings = KafkaSettings.plain(broker.bootstrap)
        prepare(settings, WorkerSettings())
        reached = ("--bootstrap", broker.bootstrap)
        with worker(broker.bootstrap, folder) as idle:
            began, empty = cpu_of(idle), idle.memory_info().rss / 1e6
        with serving(*reached) as server:
            server.until("/readyz", 200)
            serving_nothing = psutil.Process(server.process.pid).memory_info().rss
        asyncio.run(topology.fill(broker.bootstrap, scale.turns, None))
        served = broker_cpu(broker)
        with worker(broker.bootstrap, folder) as working:
            await_folded(settings, scale.turns)
            cpu, rss = cpu_of(working) - began, working.memory_info().rss / 1e6
        served = broker_cpu(broker) - served
        common.note(f"worker: {cpu:.1f} s of CPU")
        yield "worker", "CPU a turn, both agents", *scale.cpu(cpu)
        yield "broker", "CPU a turn", *scale.cpu(served)
        yield "worker", "memory (RocksDB), idle and at the end", f"{empty:.0f}, {rss:.0f} MB", ""
        on_disk = common.folder_size(folder / "tables") * 1e6 / scale.sessions
        yield "worker", "RocksDB, a session with its share of users", f"{on_disk:,.0f} B", ""
        yield from _topics(broker, scale)
        yield from _sunk(reached, folder, scale)
        with serving(*reached) as server:
            server.until("/readyz", 200)
            rss = psutil.Process(server.process.pid).memory_info().rss - serving_nothing
        each = f"{rss / scale.sessions / 1e3:.1f} KB"
        yield "serve", "memory beyond an idle one, a session", each, ""


def _topics(broker: Broker, scale: Scale) -> Iterator[Line]:
    """One copy of each, zstd; of what is compacted later before that."""
    inputs = [topic.name for topic in TOPICS if topic.direction == "input"]
    others = [
        topic.name
        for topic in TOPICS
        if topic.name not in (*inputs, HISTORY.name) and not topic.compacted
    ]
    documents = [topic.name for topic in TOPICS if topic.compacted]
    for name, names in (
        ("inputs", inputs),
        ("history", [HISTORY.name]),
        ("kept for 30 days, dead letters", others),
        ("documents, before compaction", documents),
        ("changelogs, before compaction", list(topology.CHANGELOGS)),
    ):
        yield "topics", name, *scale.size(topology.stored(broker, *names))


def _sunk(reached: tuple[str, str], folder: Path, scale: Scale) -> Iterator[Line]:
    history = folder / "sunk"
    sunk = command("kafka", "sink", *reached, "--history", history, "--once")
    again = command("kafka", "sink", *reached, "--history", history, "--once")
    yield "sink", "CPU a turn", *scale.cpu(sunk.cpu - again.cpu)
    yield "sink", "peak memory", f"{sunk.peak:.0f} MB", ""
    yield "sink", "tables", *scale.size(live(history))
    yield from _compacted("sink", history, scale)


# --- command line -----------------------------------------------------------------------------


def talk(_: int) -> Iterator[JsonObject]:
    """The turns of LoCoMo's conversations: each speaker is a user, each conversation a tenant."""
    for name in (*locomo.DEVELOPMENT, locomo.KEPT_BACK):
        for record in locomo.convert(name, locomo.read(name), "users", together=False):
            if record.get("type") == "turn":
                yield record


CORPORA = {"sgd": common.sgd_records, "locomo": talk}
TIERS = ["sample", "files", "kafka"]


def main() -> None:
    """The tiers that are asked for, one after the other."""
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=TIERS, help="default: all")
    parser.add_argument("--corpus", choices=["sgd", "locomo"], default="sgd")
    given = parser.parse_args()
    if given.corpus != "sgd" and "kafka" in given.tiers:
        parser.error("the tier kafka takes sgd alone: give --tiers sample files")
    with common.work_folder(given.work) as folder:
        file = folder / "turns.ndjson"
        said = list(islice(CORPORA[given.corpus](given.turns), given.turns))
        turns = common.write_ndjson(file, said)
        sessions, users = ({one[name] for one in said} for name in ("session_id", "user_id"))
        bare = common.in_process(loops.bare, str(file), str(folder / "events.parquet"))
        scale = Scale(turns, len(sessions), len(users), file.stat().st_size, bare.cpu)
        tiers: dict[str, Callable[[], Iterator[Line]]] = {
            "sample": lambda: sample(file, scale),
            "files": lambda: files(file, folder, scale),
            "kafka": lambda: kafka(folder, scale),
        }
        rows = [line for name in given.tiers for line in tiers[name]()]
    title = (
        f"sizing: {turns:,} turns of {scale.bytes / turns:.0f} bytes in {scale.sessions:,} "
        f"sessions of {scale.users:,} users; a bare loop takes {bare.cpu / turns * 1e6:.1f} µs CPU "
        "a turn"
    )
    common.show(title, ("tier", "what", "measured", "factor"), rows)


if __name__ == "__main__":
    main()
