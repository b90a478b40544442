"""A history made from the topic `history` after the number of partitions has changed holds the
newest documents, in whatever order a sink reads the partitions."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest
from aiokafka.structs import TopicPartition

from sinks.delta import in_commit_order
from sinks.history import define
from streams.folds.constants import Rules
from streams.kafka.agents.memory_agent import MemoryAgent
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.client.partitions import partition_of
from streams.kafka.sink.batch import SinkBatch
from streams.kafka.tools.repartition_targets import merged
from streams.kafka.transport.partition_check import owner_of
from streams.kafka.transport.rows import MemoryRows
from tests.kafka.test_agents import NOW_MS, Record, encode, of, on

VIEWS = {"sessions": "session_current", "tasks": "task_current", "profiles": "profile_current"}
KEYS = {"sessions": ("session_id",), "tasks": ("session_id", "task_id"), "profiles": ("user_id",)}
Documents = dict[tuple[str, str], str]
"""By table and key."""


class Message(NamedTuple):
    """A message of `history`, as a sink gets it."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    timestamp: int


class Lanes:
    """The lanes of one agent. `changelog`: what is in it, by key."""

    def __init__(self, make: Callable[[int, MemoryRows, int], Any]) -> None:
        self._make = make
        self.changelog: dict[bytes, bytes] = {}
        self.lanes: list[Any] = []
        self.notes: dict[int, Mapping[str, Any]] = {}

    def begin(self, partitions: int) -> None:
        """Under another number of partitions: `turnfold kafka repartition` does this."""
        notes = merged([self.notes[n] for n in sorted(self.notes)], partitions)
        self.lanes = [self._make(n, MemoryRows(), partitions) for n in range(partitions)]
        for number, lane in enumerate(self.lanes):
            rows = self.changelog.items()
            lane.restore(
                [row for row in rows if partition_of(owner_of(row[0]), partitions) == number]
            )
            lane.restored(notes[number])

    def process(self, number: int, records: list[Record]) -> Any:
        batch = self.lanes[number].process(records)
        for key, value in batch.changelog:
            if value is None:
                self.changelog.pop(key, None)
            else:
                self.changelog[key] = value
        self.lanes[number].committed()
        self.notes[number] = batch.note
        return batch


class Cluster:
    """Workers over a log that keeps growing, while the number of partitions changes."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.sessions = Lanes(
            lambda n, rows, of_: SessionAgent(n, rows, of_, None, Rules(), "none")
        )
        self.users = Lanes(lambda n, rows, of_: MemoryAgent(n, rows, of_, Rules()))
        self.history: defaultdict[int, list[Message]] = defaultdict(list)
        self.newest: Documents = {}
        self.unread: list[Record] = []
        self.offsets: Counter[str] = Counter()
        self.clock = NOW_MS

    def send(self, topic: str, said: dict[str, Any]) -> None:
        self.clock += self.chance.choice((0, 0, 1, 1_000))
        self.offsets[topic] += 1
        key = f"default/{said['session_id']}".encode()
        record = Record(topic, self.offsets[topic], key, encode(said), timestamp=self.clock)
        self.unread.append(record)

    def fold(self, partitions: int, share: float) -> None:
        """Some of the records that wait; each partition of them as far as its lane has come."""
        by_lane: defaultdict[int, list[Record]] = defaultdict(list)
        for record in self.unread:
            by_lane[partition_of(record.key or b"", partitions)].append(record)
        self.unread = []
        for number, records in by_lane.items():
            until = len(records) if share >= 1 else self.chance.randint(0, len(records))
            for some in cut(records[:until], self.chance):
                batch = self.sessions.process(number, [r._replace(partition=number) for r in some])
                self._sent(number, batch)
                self._fold_signals(batch, partitions)
            self.unread += records[until:]
        self.unread.sort(key=lambda record: (record.timestamp, record.topic, record.offset))

    def _fold_signals(self, batch: Any, partitions: int) -> None:
        by_lane: defaultdict[int, list[Record]] = defaultdict(list)
        for output in of(batch, "user-signals"):
            self.offsets["user-signals"] += 1
            record = Record("user-signals", self.offsets["user-signals"], output.key, output.value,
                            output.headers, self.clock, output.partition or 0)  # fmt: skip
            by_lane[record.partition].append(record)
        for number, records in by_lane.items():
            self._sent(number, self.users.process(number, records))

    def _sent(self, number: int, batch: Any) -> None:
        """To the topics; the compacted ones have the newest document of a key."""
        for output in batch.outputs:
            if output.topic == "history":
                messages = self.history[number]
                messages.append(Message(len(messages), output.key, output.value, output.headers,
                                        self.clock))  # fmt: skip
            elif output.topic in VIEWS:
                self.newest[output.topic, output.key.decode()] = output.value.decode()


def cut(records: list[Any], chance: random.Random) -> Iterator[list[Any]]:
    while records:
        size = chance.randint(1, 6)
        yield records[:size]
        records = records[size:]


def said(number: int, chance: random.Random) -> tuple[str, dict[str, Any]]:
    """A turn or a step, many of them later than their place says."""
    session, day = f"s{chance.randint(0, 5)}", chance.uniform(0, 300)
    fields: dict[str, Any] = {"session_id": session, "task_id": f"t{chance.randint(0, 1)}"}
    if chance.random() < 0.3:
        step = {"type": "recursion", "trace_id": f"r{number}", "iteration_index": number,
                "action": {"action_type": "REFLECT"}}  # fmt: skip
        return "recursions", step | fields | {"occurred_at": on(day, "x")["occurred_at"]}
    more = {"user_id": f"u{chance.randint(0, 2)}", "intent": ["quiz"], "topic": f"p{number % 3}"}
    return "turns", on(day, f"e{number}", **fields, **more)


def grown(seed: int) -> Cluster:
    """A log whose partitions have changed twice, with records that waited meanwhile."""
    chance = random.Random(seed)
    cluster, number = Cluster(chance), 0
    for partitions in chance.sample((1, 2, 3, 4, 6), 3):
        cluster.sessions.begin(partitions)
        cluster.users.begin(partitions)
        for _ in range(3):
            for _ in range(8):
                number += 1
                cluster.send(*said(number, chance))
            cluster.fold(partitions, chance.random())
    cluster.fold(partitions, 1)
    return cluster


def rebuilt(messages: Mapping[int, list[Message]], chance: random.Random) -> Documents:
    """What the views show once a sink has read all partitions from their beginning, some of one
    and some of another."""
    waiting = {number: list(some) for number, some in messages.items()}
    tables: defaultdict[str, list[Any]] = defaultdict(list)
    commit = 0
    while waiting:
        batch, apps = SinkBatch(), {}
        for number in chance.sample(sorted(waiting), chance.randint(1, len(waiting))):
            at, some = TopicPartition("history", number), chance.randint(1, len(waiting[number]))
            apps[at] = f"history/{number}"
            for message in waiting[number][:some]:
                batch.add(at, dict(message.headers)["table"].decode(), message)
            waiting[number] = waiting[number][some:]
        waiting = {number: some for number, some in waiting.items() if some}
        commit += 1
        for table, pieces in batch.pieces(apps).items():
            assert table != "dead_letters", pieces[0].rows.to_pylist()
            tables[table] += [in_commit_order(table, piece.rows, commit * 100 + n)
                              for n, piece in enumerate(pieces)]  # fmt: skip
    return shown(tables)


def shown(tables: Mapping[str, list[Any]]) -> Documents:
    found: Documents = {}
    with duckdb.connect() as db:
        for table in VIEWS:
            db.register("given", pa.concat_tables(tables[table]))
            db.execute(f"CREATE TABLE {table} AS FROM given")
        define(db, Path(), VIEWS.values(), loaded=list(VIEWS))
        for table, view in VIEWS.items():
            key = " || '/' || ".join(("tenant", *KEYS[table]))
            for name, doc in db.execute(f"SELECT {key}, doc FROM {view}").fetchall():
                found[table, name] = doc
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_rebuilt_history_has_the_newest_documents_whatever_partition_is_read_first(
    seed: int,
) -> None:
    cluster = grown(seed)
    assert {table for table, _ in cluster.newest} == set(VIEWS)
    for order in range(2):
        assert rebuilt(cluster.history, random.Random(order)) == cluster.newest


def test_documents_of_many_sessions_lie_in_several_partitions() -> None:
    """Otherwise the test above would find nothing."""
    lain: defaultdict[bytes | None, set[int]] = defaultdict(set)
    for number, messages in grown(0).history.items():
        for message in messages:
            lain[message.key].add(number)
    assert sum(len(numbers) > 1 for numbers in lain.values()) >= 5
