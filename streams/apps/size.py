"""Measures a sample of records: bytes in topics, tables, store and search index, and CPU.

The agents of the Kafka tier fold the sample in this process, and their output is packed as in a
worker; then `run` folds it into a history. It works without a broker (docs/sizing.md).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet as pq
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from deltalake import DeltaTable

from sinks.scratch import scratch
from streams.apps.compact_and_forget import compact
from streams.errors import DataRefused, UsageError
from streams.extractors.registry import named
from streams.files import file_runner, sources
from streams.files.sources import STDIN, Source, Truncated, TruncatedError
from streams.folds.constants import Rules
from streams.kafka.agents.agent import LaneAgent
from streams.kafka.agents.log_clock import DatedMessage
from streams.kafka.agents.memory_agent import MemoryAgent
from streams.kafka.agents.routing import route
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.client.aiokafka_internals import QUICK, TIGHT, ZSTD
from streams.kafka.client.transaction import CODECS
from streams.kafka.transport.batch_buffer import FIRST
from streams.kafka.transport.interfaces import Row
from streams.kafka.transport.rows import MemoryRows
from streams.kafka.transport.writer import BATCH_BYTES, RecordBatches
from streams.search import update
from streams.topology import HISTORY, MEMORY_AGENT, TOPICS, TURNS

SPEAKING = 1_000
"""Concurrent sessions."""
FEW = 10_000
"""Number of turns below which a table's bytes are mostly overhead of its file."""
EXTRACTOR = "rules"
INPUTS = [topic.name for topic in TOPICS if topic.direction == "input"]
COMPACTED = [topic.name for topic in TOPICS if topic.compacted]
OTHERS = [
    topic.name
    for topic in TOPICS
    if topic.direction != "input" and topic is not HISTORY and not topic.compacted
]
OF_MEMORY = {topic.name for topic in MEMORY_AGENT.sources}
DAY_SECONDS = 86_400
ZSTD_LEVEL = 1
"""Level of the tables' writer (`sinks.delta`)."""
CHANGELOGS = "changelogs"

Message = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes]]]
"""Key, value, headers."""


class Measurement(NamedTuple):
    """Counts of a sample: turns, sessions, users, dead letters; bytes and CPU microseconds per
    turn, and bytes per session."""

    turns: int
    sessions: int
    users: int
    dead: int
    bytes_per_turn: dict[str, float]
    cpu_us_per_turn: dict[str, float]
    bytes_per_session: dict[str, float]

    def a_day(self, turns: int) -> dict[str, float]:
        """Load of `turns` per day: bytes added per day, for topics per replica, and busy cores on
        average."""
        sessions = turns * self.sessions / self.turns
        amounts = {f"{name}, bytes": size * turns for name, size in self.bytes_per_turn.items()}
        amounts |= {f"{name}, bytes": size * sessions for name, size in
                    self.bytes_per_session.items()}  # fmt: skip
        busy = {f"{name}, cores": cpu * turns / 1e6 / DAY_SECONDS for name, cpu in
                self.cpu_us_per_turn.items()}  # fmt: skip
        return amounts | busy


def measure(path: str) -> Measurement:
    """Folds a file of input records (NDJSON, .gz, .parquet) with the extractor `rules`, in a
    temporary folder that is removed at the end.

    The sample must fit in memory. Raises UsageError for stdin, ConfigurationError for a file that
    cannot be read, DataRefused if it has no turn or is truncated.
    """
    if path == STDIN:
        raise UsageError("--sample is read twice, so it must be a file")
    sources.check([path])
    sample = _Sample(path)
    with scratch() as folder:
        topics, folding = _topics(sample)
        files, cpu = _files(path, folder / "history", sample)
    store = files.pop("store")
    compacted = {name: topics.pop(name) for name in list(topics) if name.startswith("compacted")}
    per_turn = {"records as JSON": sample.bytes, **topics, **files}
    per_session = {**compacted, "store, rows of a session and its share of users": store}
    return Measurement(
        sample.turns, len(sample.sessions), len(sample.users), sample.dead,
        {name: size / sample.turns for name, size in per_turn.items()},
        {name: seconds / sample.turns * 1e6 for name, seconds in (folding | cpu).items()},
        {name: size / len(sample.sessions) for name, size in per_session.items()},
    )  # fmt: skip


class _SizeHead(msgspec.Struct, gc=False):
    session_id: Any = None
    user_id: Any = None
    tenant: Any = "default"


_head = msgspec.json.Decoder(_SizeHead).decode


class _Sample:
    """The routed records of a file: topic, key and value of each."""

    def __init__(self, path: str) -> None:
        self.records: list[tuple[str, bytes | None, bytes]] = []
        self.sessions: set[Any] = set()
        self.users: set[Any] = set()
        self.tenants: set[str] = set()
        self.turns = self.bytes = self.dead = 0
        try:
            for chunk in Source(path).chunks():
                for line, _ in chunk:
                    self._add(line)
        except TruncatedError as error:
            raise Truncated("not measured", [str(error)]) from None
        if not self.turns:
            raise DataRefused(f"{path}: has no turn with a session")

    def _add(self, line: bytes) -> None:
        routed = route(line)
        if routed is None:
            return
        self.records.append((routed.topic, routed.key, routed.value))
        self.bytes += len(line) + 1
        if routed.topic == TURNS.name and routed.is_known:
            head = _head(routed.value)
            self.turns += 1
            self.sessions.add((head.tenant, head.session_id))
            self.users.add((head.tenant, head.user_id))
            self.tenants.add(head.tenant)

    def side_by_side(self) -> list[tuple[str, bytes | None, bytes]]:
        """The records as in a topic: sessions interleaved, each in order. Sequential sessions would
        compress better."""
        by_key: dict[bytes | None, list[tuple[str, bytes | None, bytes]]] = {}
        for record in self.records:
            by_key.setdefault(record[1], []).append(record)
        sessions = list(by_key.values())
        groups = (sessions[start : start + SPEAKING] for start in range(0, len(sessions), SPEAKING))
        return [
            record for group in groups for row in zip_longest(*group) for record in row if record
        ]


# --- the Kafka tier -------------------------------------------------------------------------------


class _Lane:
    """An agent with all partitions of its topics in one lane. `sent`: packed bytes per topic;
    `rows`: newest values of the changelog."""

    def __init__(self, agent: LaneAgent[Any]) -> None:
        self.agent = agent
        self.sent: Counter[str] = Counter()
        self.rows: dict[bytes, bytes | None] = {}
        self.documents: dict[str, dict[bytes | None, bytes | None]] = {}
        self.cpu = 0.0
        self._offsets = count()

    def fold(self, records: Sequence[tuple[str, bytes | None, bytes, Any]]) -> list[Any]:
        """Folds one transaction; returns its output for other agents."""
        now = time.time_ns() // 1_000_000
        dated = [
            DatedMessage(topic, 0, next(self._offsets), key, value, headers, now)
            for topic, key, value, headers in records
        ]
        start = time.process_time()
        batch = self.agent.process(dated)
        topics: dict[str, list[Message]] = {}
        for output in batch.outputs:
            topics.setdefault(output.topic, []).append((output.key, output.value, output.headers))
        for topic, messages in topics.items():
            self.sent[topic] += packed(messages)
        self.sent[CHANGELOGS] += _packed_rows(batch.changelog)
        self.agent.committed()
        self.cpu += time.process_time() - start
        self.rows.update(batch.changelog)
        for output in batch.outputs:
            if output.topic in COMPACTED:
                self.documents.setdefault(output.topic, {})[output.key] = output.value
        return [
            (output.topic, output.key, output.value, output.headers)
            for output in batch.outputs
            if output.topic in OF_MEMORY
        ]


def _topics(sample: _Sample) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes of topics and changelogs, and CPU seconds of folding and packing."""
    rules = Rules()
    session = _Lane(SessionAgent(0, MemoryRows(), 1, None, rules, EXTRACTOR))
    memory = _Lane(MemoryAgent(0, MemoryRows(), 1, rules))
    sizes_by_topic: Counter[str] = Counter()
    records = sample.side_by_side()
    for start in range(0, len(records), FIRST):
        chunk = [(*record, ()) for record in records[start : start + FIRST]]
        for topic in {record[0] for record in chunk}:
            sizes_by_topic[topic] += packed(
                [(record[1], record[2], ()) for record in chunk if record[0] == topic]
            )
        outputs = session.fold([record for record in chunk if record[0] not in OF_MEMORY])
        memory.fold([*(record for record in chunk if record[0] in OF_MEMORY), *outputs])
    sample.dead = session.agent.counts["dead"] + memory.agent.counts["dead"]
    sizes_by_topic += session.sent + memory.sent
    groups = {
        "input topics": INPUTS,
        "topic history": [HISTORY.name],
        "topics of 30 days": OTHERS,
        "documents, before compaction": COMPACTED,
        "changelogs, before compaction": [CHANGELOGS],
    }
    sizes = {
        name: float(sum(sizes_by_topic[topic] for topic in topics))
        for name, topics in groups.items()
    }
    lanes = (session, memory)
    sizes["compacted changelogs"] = sum(_packed_rows(lane.rows.items()) for lane in lanes)
    sizes["compacted documents"] = sum(
        packed([(key, value, ()) for key, value in newest.items() if value is not None])
        for lane in lanes
        for newest in lane.documents.values()
    )
    return sizes, {"worker, without its connections": session.cpu + memory.cpu}


def _packed_rows(rows: Iterable[Row]) -> int:
    """Bytes of changelog rows."""
    ZSTD.level = TIGHT
    try:
        return packed([(key, value, ()) for key, value in rows if value is not None])
    finally:
        ZSTD.level = QUICK


def packed(messages: Sequence[Message]) -> int:
    """Bytes of messages in a partition."""
    return sum(len(batch) for batch in batches(messages))


def batches(messages: Sequence[Message]) -> Iterator[bytearray]:
    """Messages as record batches, with a worker's default size and compression."""
    records = RecordBatches(_batch)
    for key, value, headers in messages:
        records.add(0, key, value, list(headers))
    return (batch.build() for batch, count in records.all() if count)


def _batch() -> DefaultRecordBatchBuilder:
    return DefaultRecordBatchBuilder(2, CODECS["zstd"], 1, 0, 0, 0, BATCH_BYTES)


# --- files ----------------------------------------------------------------------------------------


def _files(path: str, history: Path, sample: _Sample) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes of a history written by `run`, and CPU seconds of its commands."""
    run = _spent(lambda: file_runner.run([path], history, choose=lambda: named(EXTRACTOR)))
    merged = _spent(lambda: compact(history))
    index = _spent(lambda: [update(history, tenant) for tenant in sorted(sample.tenants)])
    sizes = {
        "tables, after compact": _tables(history, history.parent),
        "search index": size_of(history / "_search"),
        "store": size_of(history / "_store"),
    }
    return sizes, {"run": run, "compact": merged, "search index": index}


def _spent(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _tables(history: Path, folder: Path) -> float:
    """Bytes of the tables' newest rows, with one file per table: a sample may have many days with
    few rows, in separate files."""
    size = 0
    for log in history.glob("*/_delta_log"):
        table = DeltaTable(log.parent).to_pyarrow_table()
        pq.write_table(table, folder / "table", compression="zstd", compression_level=ZSTD_LEVEL)
        size += (folder / "table").stat().st_size
    return size
