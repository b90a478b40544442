"""Drives real workers on a broker of their own, and reads what they made."""

import asyncio
import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer

from schemas.events import RECORD_TYPES
from sinks.delta import History
from streams.broker import Broker
from streams.kafka.client.names import changelog_name
from streams.kafka.sink.history_rows import parse
from streams.kafka.transport.marker import MARKER_KEY
from streams.kafka.transport.marker import decode as decode_marker
from streams.topology import AGENTS, DEAD_LETTERS, HISTORY, USER_SIGNALS, topic_of
from tests.command import environment, launch
from tests.kafka.counting import PARTITIONS, read_all

APP = "turnfold"
OUTCOMES = ("applied", "duplicate", "dead", "withheld")
TOO_LONG = 120.0
PATIENT = "90"
"""Seconds that the group waits for a worker with a name: a machine may stand still for some."""

Given = tuple[str, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""A message to send: topic, key, value, headers."""


def message(line: bytes, *headers: tuple[str, bytes]) -> Given:
    """A valid record on its way."""
    record = json.loads(line)
    kind = RECORD_TYPES[record["type"]].model_construct(**record)
    owner = "user_id" if topic_of(kind).key.endswith("{user_id}") else "session_id"
    key = f"{record.get('tenant', 'default')}/{record[owner]}".encode()
    return topic_of(kind).name, key, line, headers


class Working:
    """Workers of one app on a broker that nobody else uses; `sent` counts input records."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.broker, self.folder = broker, folder
        self.bootstrap = broker.bootstrap
        self.sent = 0
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, *options: str, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
        """A worker process; its log is LOG-n in the folder. `env`: how it reaches the broker, if
        not as all others do."""
        with (self.folder / f"log-{len(self.workers)}").open("wb") as log:
            told = [] if env else ["--bootstrap", self.bootstrap]
            patient = (
                {"TURNFOLD_WORKER_SESSION_SECONDS": PATIENT} if "--instance" in options else {}
            )
            env = env or environment(**patient)
            worker = launch("worker", *told, *options, stderr=log, stdout=log, env=env)
        self.workers.append(worker)
        return worker

    def log(self, number: int = -1) -> str:
        return (self.folder / f"log-{number % len(self.workers)}").read_text()

    def await_log(self, text: str, times: int = 1) -> None:
        deadline = time.monotonic() + TOO_LONG
        while self.log().count(text) < times:
            assert self.workers[-1].poll() is None, self.log()[-3000:]
            assert time.monotonic() < deadline, self.log()[-3000:]
            time.sleep(0.05)

    def await_ready(self) -> None:
        """Until all lanes of the newest worker have restored."""
        self.await_log(": restored ", times=2 * PARTITIONS)

    def send(self, messages: Iterable[Given]) -> None:
        self.sent += produced(self.bootstrap, list(messages))

    def notes(self, app: str = APP) -> dict[str, list[dict[str, Any]]]:
        """The newest note of each lane of an application, by agent."""
        return {agent.name: self._notes(changelog_name(app, agent)) for agent in AGENTS}

    def _notes(self, changelog: str) -> list[dict[str, Any]]:
        found = {
            one.partition: decode_marker(one.value).note
            for one in self.read(changelog)
            if one.key == MARKER_KEY
        }
        return [dict(note) for note in found.values()]

    def counts(self, app: str = APP) -> Counter[str]:
        """The counters of outcomes, of all lanes of an application together."""
        counts: Counter[str] = Counter()
        for notes in self.notes(app).values():
            for note in notes:
                counts.update(note["counts"])
        return counts

    def await_counts(self, app: str = APP, **least: int) -> None:
        """Until the counters of outcomes are at least so high."""
        deadline = time.monotonic() + TOO_LONG
        while any((counts := self.counts(app))[name] < count for name, count in least.items()):
            assert time.monotonic() < deadline, f"{counts}\n{self.log()[-3000:]}"
            time.sleep(0.3)

    def await_done(self) -> Counter[str]:
        """Until every record sent, and every hop it made, is committed."""
        deadline = time.monotonic() + TOO_LONG
        while True:
            counts = self.counts()
            hops = [
                one
                for one in self.read(USER_SIGNALS.name)
                if (dict(one.headers).get("src_offset") or b"").isdigit()
            ]
            if counts["read"] >= self.sent and counts["hops"] + counts["hops_dead"] >= len(hops):
                return counts
            logs = "\n".join(self.log(number)[-2000:] for number in range(len(self.workers)))
            assert time.monotonic() < deadline, f"{counts} of {self.sent}\n{logs}"
            time.sleep(0.3)

    def read(self, topic: str) -> list[Any]:
        """The committed records of a topic."""
        return asyncio.run(read_all(self.bootstrap, topic))

    def newest(self, topic: str) -> dict[bytes, Any]:
        """The newest document of each key of a compacted topic, None for a tombstone."""
        return {
            one.key: None if one.value is None else json.loads(one.value)
            for one in self.read(topic)
        }

    def dead_letters(self) -> list[dict[str, Any]]:
        return [json.loads(one.value) for one in self.read(DEAD_LETTERS.name)]

    def history(self, root: Path) -> Path:
        """What the workers wrote as Delta tables, in the order of each partition."""
        rows: dict[str, list[Any]] = {}
        seen = set()
        for one in (*self.read(HISTORY.name), *self.read(DEAD_LETTERS.name)):
            headers = dict(one.headers)
            table = headers["table"].decode()
            source = table == "dead_letters", *(headers[name] for name in
                      ("src_topic", "src_partition", "src_offset", "ordinal"))  # fmt: skip
            assert source not in seen or source[0], f"twice: {source}"
            seen.add(source)  # a tool's result may be refused more than once, as versions change
            rows.setdefault(table, []).append(one.value)
        with History(root) as tables:
            for table, some in rows.items():
                tables.append(table, parse(table, some), "test", 1)
        return root

    def stop(self) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()

    def kill(self) -> None:
        """SIGKILL for the newest worker."""
        self.workers[-1].send_signal(signal.SIGKILL)
        self.workers[-1].wait()


@contextmanager
def alone(folder: Path) -> Iterator[Working]:
    """Workers on a broker of their own: the topology's topics have one name each."""
    with Broker.start(short_lived=True) as broker:
        made = Working(broker, folder)
        try:
            yield made
        finally:
            made.stop()


@contextmanager
def one_worker(folder: Path) -> Iterator[Working]:
    """A worker that is ready, on a broker of its own."""
    with alone(folder) as made:
        made.start()
        made.await_ready()
        yield made


def produced(bootstrap: str, messages: Sequence[Given]) -> int:
    """Sends messages as any producer might; how many."""
    asyncio.run(_send(bootstrap, messages))
    return len(messages)


async def _send(bootstrap: str, messages: Sequence[Given]) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        linger_ms=5,
        enable_idempotence=True,
        max_request_size=3_000_000,
    )
    async with producer:
        for topic, key, value, headers in messages:
            partition = 0 if key is None else None
            await producer.send(topic, value, key, headers=list(headers), partition=partition)
