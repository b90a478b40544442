"""Retention changes where rows lie, and nothing else."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.base import DAY, parse_time
from schemas.rows import Source
from sinks.digest import digest
from streams.files import file_runner
from streams.files.fold_batch import Applier
from streams.folds.constants import Rules
from streams.folds.session_state import HEADER
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.client.partitions import partition_of
from streams.kafka.transport.rows import MemoryRows
from streams.pipeline.entity import COLD, Entity
from streams.pipeline.retention import is_past
from tests.command import ndjson, rows
from tests.property.strategies import SESSIONS, events, shuffled
from tests.property.test_guarantee_2_rules import Where, final
from tests.property.world import START, Json, Tables, World, encode, turn, world

pytestmark = pytest.mark.nightly

SLOW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
decode = msgspec.json.decode


def entries(rows: Entity) -> dict[str, Any]:
    return dict(rows.scan(""))


class Disk(Tables):
    """Tables whose sessions are stored and read again, cold or as rows."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: defaultdict[Where, dict[str, bytes]] = defaultdict(dict)

    def store_again(self, cold: Sequence[str], compressed: bool = True) -> None:
        for where, entity in self.entities.items():
            if where[2] in cold and entity.get(HEADER) is not None:
                entity.cool(compressed)
            stored = self.stored[where]
            for name, row in entity.changes():
                if row is None:
                    stored.pop(name, None)
                else:
                    stored[name] = row
            assert COLD not in stored or len(stored) == 1, "cold and open at once"
            assert where[2] not in cold or set(stored) <= {COLD}
        self.entities = {at: Entity(*at, dict(self.stored[at])) for at in self.entities}


@SLOW
@given(st.data())
def test_guarantee_2_sessions_that_are_cold_between_any_two_records_change_nothing(
    data: st.DataObject,
) -> None:
    records = data.draw(shuffled(data.draw(events())))
    made, plain = World(), World()
    made.store = disk = Disk()
    made.applier = Applier(disk, Rules())
    for record in records:
        assert made.say(record) == plain.say(record)
        made.documents()
        disk.store_again(
            data.draw(st.lists(st.sampled_from(SESSIONS), max_size=2)), data.draw(st.booleans())
        )
    assert made.rows == plain.rows
    assert made.counts == plain.counts
    assert final(made) == final(plain)
    for table, tenant, key in plain.store.entities:
        assert entries(made.rows_of(table, key, tenant)) == entries(
            plain.rows_of(table, key, tenant)
        )


class Record(NamedTuple):
    """A record as the broker gives it."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    timestamp: int
    headers: tuple[()] = ()


class Lanes:
    """Session agents of some partitions, with what they wrote: the changelog and topics."""

    def __init__(self, partitions: int, retention: int | None) -> None:
        self.partitions, self.retention = partitions, retention
        self.stored: list[dict[bytes, bytes | None]] = [{} for _ in range(partitions)]
        self.notes: list[Any] = [{} for _ in range(partitions)]
        self.agents = [self._agent(number) for number in range(partitions)]
        self.offsets = Counter[tuple[str, int]]()
        self.history: list[tuple[str, Json]] = []
        self.documents: dict[tuple[str, bytes], bytes | None] = {}

    def _agent(self, number: int) -> SessionAgent:
        agent = SessionAgent(number, MemoryRows(), self.partitions, self.retention, Rules(), "none")
        agent.restore(list(self.stored[number].items()))
        agent.restored(self.notes[number])
        return agent

    def restart(self, number: int) -> None:
        """Another worker takes over, from the changelog alone."""
        number %= self.partitions
        self.agents[number] = self._agent(number)

    def batch(self, records: Sequence[Json], timestamp: int, aborted: bool = False) -> None:
        batches: defaultdict[int, list[Record]] = defaultdict(list)
        for record in records:
            topic = "turns" if record["type"] in ("turn", "signal") else "recursions"
            key = f"default/{record['session_id']}".encode()
            number = partition_of(key, self.partitions)
            offset = self.offsets[topic, number]
            self.offsets[topic, number] += 1
            value = encode(record)
            batches[number].append(Record(topic, number, offset, key, value, timestamp // 1000))
        for number, some in batches.items():
            if aborted:
                self.agents[number].process(some)
                self.agents[number].rolled_back()
            self._keep(number, self.agents[number].process(some))
            self.agents[number].committed()

    def _keep(self, number: int, batch: Any) -> None:
        for key, value in batch.changelog:
            self.stored[number][key] = value
            if value is None:
                del self.stored[number][key]
        self.notes[number] = batch.note
        for one in batch.outputs:
            if one.topic == "history":
                row = {name: cell for name, cell in decode(one.value).items()
                       if name not in Source.model_fields}  # fmt: skip
                self.history.append((dict(one.headers)["table"].decode(), row))
            elif one.topic in ("sessions", "session-contexts", "tasks"):
                self.documents[one.topic, one.key] = one.value

    def rows(self, session: str) -> dict[str, Any]:
        number = partition_of(f"default/{session}".encode(), self.partitions)
        return entries(self.agents[number].table.entity("sessions", "default", session))

    def counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for agent in self.agents:
            counts.update(agent.counts)
        return counts

    def log(self) -> list[str]:
        """Append-only rows, whatever their order."""
        return sorted(
            repr((table, row)) for table, row in self.history if table not in ("sessions", "tasks")
        )

    def snapshots(self) -> dict[tuple[str, str], str]:
        """The newest document of each session and task in the history."""
        return {
            (table, repr((row["session_id"], row.get("task_id")))): row["doc"]
            for table, row in self.history
            if table in ("sessions", "tasks")
        }


@SLOW
@given(st.data())
def test_guarantee_2_lanes_with_retention_remember_what_lanes_without_it_do(
    data: st.DataObject,
) -> None:
    records = [one for one in data.draw(events()) if "session_id" in one]
    records = data.draw(shuffled(records)) if records else []
    partitions = data.draw(st.sampled_from((1, 3)))
    cold = Lanes(partitions, data.draw(st.sampled_from((1, DAY, 3 * DAY))))
    plain, alone = Lanes(partitions, None), Lanes(1, None)
    at = START
    while records:
        size, at = data.draw(st.integers(1, 6)), at + data.draw(st.integers(0, 3)) * DAY
        some, records = records[:size], records[size:]
        cold.batch(some, at, aborted=data.draw(st.booleans()))
        plain.batch(some, at)
        alone.batch(some, at)
        if data.draw(st.booleans()):
            cold.restart(data.draw(st.integers(0, 2)))
    assert cold.log() == plain.log() == alone.log()
    assert cold.snapshots() == plain.snapshots() == alone.snapshots()
    for session in SESSIONS:
        assert cold.rows(session) == plain.rows(session)
    cooled = cold.counts().pop("sessions_cooled", 0)
    assert cold.counts() - Counter(sessions_cooled=cooled) == plain.counts() == alone.counts()
    _check_topics(cold, plain)


def _check_topics(cold: Lanes, plain: Lanes) -> None:
    """A key of a compacted topic ended if its session is cold, and none is that is not past its
    retention by the broker's clock; every other has the document that it would have anyway."""
    assert cold.retention is not None
    for (topic, key), document in plain.documents.items():
        assert document is not None
        tenant, session = key.decode().split("/")[:2]
        number = partition_of(f"{tenant}/{session}".encode(), cold.partitions)
        stored = f"s\0{tenant}\0{session}\0{COLD}".encode() in cold.stored[number]
        if stored:
            assert cold.documents.get((topic, key)) is None
            shown = decode(plain.documents["sessions", f"{tenant}/{session}".encode()] or b"")
            horizon = cold.notes[number]["stream_time"] - cold.retention
            assert is_past(parse_time(shown["updated_at"]), horizon)
        else:
            assert cold.documents[topic, key] == document, (topic, key)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_guarantee_2_runs_with_retention_make_the_history_that_runs_without_it_do(
    data: st.DataObject,
) -> None:
    records = data.draw(shuffled(data.draw(events())))
    cut = data.draw(st.integers(0, len(records)))
    with TemporaryDirectory() as folder:
        root = Path(folder)
        past = json.loads(json.dumps(records).replace("2026-", "2020-"))
        files = [ndjson(root / "1.ndjson", past[:cut]), ndjson(root / "2.ndjson", past[cut:])]
        again = ndjson(root / "3.ndjson", past)
        for name, retention in (("cold", 30.0), ("plain", None)):
            for file in files:
                file_runner.run([str(file)], root / name, retention_days=retention)
        counts = file_runner.run([str(again)], root / "cold", retention_days=30.0)
        quiet = file_runner.run([str(again)], root / "plain")
        assert counts["cooled"] <= len(SESSIONS)
        for outcome in file_runner.OUTCOMES:
            assert counts[outcome] == quiet[outcome]
        assert digest(root / "cold") == digest(root / "plain")
        every = "SELECT count(*) FROM events"
        assert rows(root / "cold", every) == rows(root / "plain", every)


def test_a_session_that_is_stored_cold_is_one_row() -> None:
    """Else the first test above would prove little."""
    made = World()
    made.store = disk = Disk()
    made.applier = Applier(disk, Rules())
    made.say(turn("e", 0))
    disk.store_again(["s1"])
    assert list(disk.stored["sessions", "default", "s1"]) == [COLD]
    made.say(turn("e2", 1))
    disk.store_again([])
    assert COLD not in disk.stored["sessions", "default", "s1"]
    assert final(made) == final(world(turn("e", 0), turn("e2", 1)))
