"""Keys per user and session over a real broker: a forgotten person's words are nowhere."""

import asyncio
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from streams.broker import Broker
from streams.erasure_keys.key_store import KeyStore
from streams.erasure_keys.master_key import MasterKeyFile
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.encryption import ERASED
from streams.kafka.client.topic_names import changelog_name
from streams.topology import AGENTS, TOPICS
from tests.command import ndjson, turn
from tests.fault.doomed_command import called
from tests.kafka.installation import Installation
from tests.kafka.served import Served
from tests.scanning import holding

pytestmark = pytest.mark.nightly

EMMA, BEN = "emma", "ben"
OF_EMMA = ("kyoto-quartz-0815", "plan-zinnia-471100", "step-saffron-23420", "bad-marigold-90210")
OF_BOTH, OF_BEN, NEW = "group-indigo-13371", "ben-cobalt-9876543", "new-vermilion-4242"
OPTIONS = ("--extractor", "rules", "--compression", "none", "--store", "rocksdb", "--data")


def records() -> list[dict[str, Any]]:
    quartz, zinnia, saffron, marigold = OF_EMMA
    hers = {"session_id": "hers", "user_id": EMMA}
    plan = {
        "type": "write_plan", "plan_id": "p1", "user_id": EMMA, "session_id": "hers",
        "event_id": "e1", "occurred_at": "2026-01-10T09:00:05Z",
        "extractor": {"name": "by-hand", "version": "1"},
        "state_updates": [{
            "op": "upsert", "kind": "fact", "state_id": "home", "body_text": f"Lives in {zinnia}.",
            "valid_from": "2026-01-03T00:00:00Z", "reason": "stated",
        }],
    }  # fmt: skip
    step = {
        "type": "recursion", "session_id": "hers", "task_id": "e1", "trace_id": "r1",
        "iteration_index": 1, "occurred_at": "2026-01-10T09:00:03Z", "observe": saffron,
        "action": {"action_type": "CALL_TOOL", "output": {"tool_calls": [
            {"id": "c1", "name": "look_up", "arguments": {}},
        ]}},
    }  # fmt: skip
    return [
        turn("e1", **hers, user_input=f"I moved to {quartz}.", agent_answer=f"Is {quartz} nice?"),
        step,
        plan,
        turn("bad", **hers, user_input=marigold, occurred_at="no time"),
        turn("g1", session_id="group", user_id=EMMA, user_input=f"emma says {OF_BOTH}"),
        turn("g2", session_id="group", user_id=BEN, user_input="ben in company"),
        turn("b1", session_id="his", user_id=BEN, user_input=f"I live in {OF_BEN}."),
    ]


@pytest.fixture
def installation(broker: Broker, tmp_path: Path) -> Iterator[Installation]:
    made = Installation(broker, f"{tmp_path.name}.".replace("_", "-"), tmp_path)
    made.env |= {
        "TURNFOLD_ERASURE_KEYS": str(tmp_path / "keys"),
        "TURNFOLD_ERASURE_MASTER_KEY": str(tmp_path / "master.key"),
    }
    yield made
    made.working.stop()


class Memory:
    """An installation with its history and the folder of its worker's tables."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.history = installation.folder / "history"
        self.tables = installation.folder / "tables"

    def start(self, *options: str | Path) -> None:
        working = self.installation.working
        options = options or (self.tables,)
        working.start(*OPTIONS, *map(str, options), env=self.installation.env)
        working.await_ready()

    def produce(self, lines: list[dict[str, Any]]) -> None:
        file = ndjson(self.installation.folder / "records.ndjson", lines)
        self.installation.run("kafka", "produce", file)
        file.unlink()
        self.installation.await_read()

    def sink(self) -> None:
        self.installation.run("kafka", "sink", "--once", "--history", self.history)

    def forget(self) -> Any:
        return self.installation.run("forget", EMMA, "--yes", "--history", self.history)

    def stop(self) -> None:
        self.installation.working.workers[-1].terminate()
        self.installation.working.workers[-1].wait()

    def values(self) -> list[tuple[str, bytes | None, Any]]:
        """Topic, decrypted value and headers of each message that a process can read now."""
        return asyncio.run(self._values(store_in(self.installation.folder)))

    async def _values(self, keys: KeyStore | None) -> list[tuple[str, bytes | None, Any]]:
        env = self.installation.env
        topics = [topic.name for topic in TOPICS]
        topics += [changelog_name("turnfold", agent) for agent in AGENTS]
        values: list[tuple[str, bytes | None, Any]] = []
        async with KafkaConsumer(
            *(self.installation.prefix + topic for topic in topics),
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            bootstrap_servers=env["TURNFOLD_KAFKA_BOOTSTRAP"],
            keys=keys,
        ) as consumer:
            ends = await consumer.end_offsets(consumer.assignment())
            while [tp for tp, end in ends.items() if await consumer.position(tp) < end]:
                for fetched in (await consumer.getmany(timeout_ms=200)).values():
                    values += [(record.topic, record.value, record.headers) for record in fetched]
        return values

    def encrypted(self) -> list[bytes]:
        """All values as they are in Kafka."""
        values = asyncio.run(self._values(None))
        return [value for _, value, _ in values if value is not None]

    def words(self) -> set[str]:
        """The marks that a process can read in Kafka."""
        return marks_in(value for _, value, _ in self.values())


def store_in(folder: Path) -> KeyStore:
    return KeyStore(folder / "keys", MasterKeyFile(folder / "master.key"))


def marks_in(values: Iterable[bytes | None]) -> set[str]:
    text = b"\n".join(value or b"" for value in values).decode(errors="replace")
    return {mark for mark in (*OF_EMMA, OF_BOTH, OF_BEN, NEW) if mark in text}


@pytest.fixture
def memory(installation: Installation) -> Memory:
    installation.run("admin", "erasure-keys", "create")
    made = Memory(installation)
    made.start()
    made.produce(records())
    made.sink()
    return made


def in_logs(broker: Broker, marks: Sequence[str]) -> set[str]:
    """The marks in the bytes of the broker's logs, which are not compressed here."""
    logs = [path.read_bytes() for path in broker.folder.rglob("*.log")]
    return {mark for mark in marks for log in logs if mark.encode() in log}


def test_no_word_of_a_forgotten_person_can_be_read_or_comes_back(
    memory: Memory, broker: Broker
) -> None:
    marks = (*OF_EMMA, OF_BOTH, OF_BEN)
    assert memory.words() == set(marks)
    assert {mark for held in holding(memory.history, marks).values() for mark in held} == set(marks)
    assert in_logs(broker, marks) == set() and holding(memory.tables, marks) == {}
    receipt = memory.forget()
    assert (receipt["keys"]["sessions"], receipt["keys"]["shared_sessions"]) == (1, 1)
    assert memory.words() == {OF_BOTH, OF_BEN}
    assert holding(memory.history, [*OF_EMMA, OF_BOTH]) == {}
    assert Counter(topic.rpartition(".")[2] for topic, _, headers in memory.values()
                   if ERASED in headers)["turns"] == 2  # fmt: skip
    letters = memory.installation.run("admin", "dlq", "replay", "--from-topic", "--dry-run")
    assert letters["chosen"] == 0
    memory.produce(records())  # a spool that is sent again
    memory.stop()
    memory.start(memory.installation.folder / "restored")
    memory.produce([turn("e9", session_id="hers", user_id=EMMA, user_input=NEW,
                         occurred_at=datetime.now(UTC).isoformat())])  # fmt: skip
    memory.start(memory.installation.folder / "replayed", "--app-id", "replayed")
    memory.installation.await_read("replayed")
    memory.sink()
    assert holding(memory.history, [*OF_EMMA, OF_BOTH]) == {}
    assert holding(memory.history, [NEW]) != {}
    readable = [value for topic, value, _ in memory.values() if "changelog" in topic and value]
    for mark in OF_EMMA:
        assert not [value for value in readable if mark.encode() in value]
    assert in_logs(broker, [*marks, NEW]) == set()
    assert holding(memory.installation.folder / "restored", [*marks, NEW]) == {}


def test_a_server_forgets_a_person_within_a_second(memory: Memory, broker: Broker) -> None:
    env, log = memory.installation.env, memory.installation.folder / "serve-log"
    served = Served(log, "--bootstrap", broker.bootstrap, env=env)
    posted = turn("h1", session_id="posted", user_id=EMMA, user_input=NEW)

    def post() -> str:
        lines = ndjson(memory.installation.folder / "posted", [posted]).read_bytes()
        kind = {"Content-Type": "application/x-ndjson", "Prefer": "wait=60"}
        reply = served.client.post("/v1/records", content=lines, headers=kind)
        return str(*reply.json()["counts"])

    def texts() -> list[str]:
        return [served.client.get(f"/v1/sessions/{name}").text for name in ("hers", "posted")]

    try:
        served.await_ready()
        assert post() == "applied"
        assert in_logs(broker, [NEW]) == set()
        assert {OF_EMMA[0], NEW} <= marks_in(text.encode() for text in texts())
        memory.sink()
        memory.forget()
        time.sleep(1.0)
        assert marks_in(text.encode() for text in texts()) == set()
        assert post() == "withheld"
        assert marks_in(text.encode() for text in texts()) == set()
    finally:
        served.stop()


SETTINGS = """[erasure]
keys = "keys"
master_key = "master.key"
"""


def test_a_killed_forget_is_completed_by_the_next_call(memory: Memory, tmp_path: Path) -> None:
    """Killed at each step of the destruction, and at the next change of the history."""
    memory.stop()
    encrypted, words = memory.encrypted(), ["forget", EMMA, "--yes", "--history", "history"]

    def forget(name: str, die_at: int | None = None) -> tuple[int, list[str]]:
        folder = tmp_path / name
        for part in ("history", "keys"):
            shutil.copytree(tmp_path / part, folder / part, dirs_exist_ok=die_at is None)
        shutil.copy(tmp_path / "master.key", folder)
        (folder / "turnfold.toml").write_text(SETTINGS)
        return called(words, folder, die_at)

    code, changes = forget("whole")
    assert code == 0, (tmp_path / "whole" / "err").read_text()
    steps = [number for number, change in enumerate(changes, 1) if " keys/" in change]
    assert len(steps) > 6, changes
    for step in sorted({*steps, *(step + 1 for step in steps)}):
        folder = tmp_path / f"killed-{step}"
        assert forget(folder.name, step)[0] == -signal.SIGKILL
        assert called(words, folder)[0] == 0, (folder / "err").read_text()
        store = store_in(folder)
        assert marks_in(map(store.decrypt, encrypted)) == {OF_BOTH, OF_BEN}
        assert holding(folder / "history", [*OF_EMMA, OF_BOTH]) == {}
