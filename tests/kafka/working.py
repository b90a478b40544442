"""Drives real workers on the broker of this test process, and reads their topics.

Each `Working` has a topic prefix: topics, groups, transactional ids and changelogs are its own.
"""

import asyncio
import atexit
import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer

from schemas.events import RECORD_TYPES
from sinks.delta import History
from streams.broker import Broker
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import changelog_name
from streams.kafka.sink.history_rows import parse
from streams.kafka.transport.marker import MARKER_KEY
from streams.kafka.transport.marker import decode as decode_marker
from streams.topology import AGENTS, DEAD_LETTERS, HISTORY, USER_SIGNALS, topic_of
from tests.command import BY_DEFAULT, environment, launch
from tests.kafka.counting import PARTITIONS, read_all

APP = "turnfold"
SOURCE_HEADERS = ("src_topic", "src_partition", "src_offset", "ordinal")
OUTCOMES = ("applied", "duplicate", "dead", "withheld")
TOO_LONG = 120.0
PATIENT = "90"
"""Seconds that the group waits for a worker with a name: a machine may stand still for some."""

Given = tuple[str, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""A message to send: topic, key, value, headers."""
_numbers = count()


@cache
def shared_broker() -> Broker:
    """The broker of this test process, started by the first test that needs it. Topics and groups
    of finished tests stay: an idle partition costs it next to nothing, a deleted one does not."""
    broker = Broker.start(short_lived=True, tied=True)
    atexit.register(broker.kill)
    return broker


def shared_settings() -> KafkaSettings:
    """The way to the shared broker, with a topic prefix that nobody else has."""
    return settings_of(shared_broker(), f"t{next(_numbers)}.")


def settings_of(broker: Broker, prefix: str = "") -> KafkaSettings:
    """The way to a broker, with a topic prefix."""
    plain = KafkaSettings.plain(broker.bootstrap)
    return plain.model_copy(update={"topic_prefix": prefix})


def options_of(settings: KafkaSettings) -> tuple[str, ...]:
    """The same as options of a command."""
    prefix = ("--topic-prefix", settings.topic_prefix) if settings.topic_prefix else ()
    return ("--bootstrap", settings.bootstrap, *prefix)


def message(line: bytes, *headers: tuple[str, bytes]) -> Given:
    """A valid record on its way."""
    record = json.loads(line)
    kind = RECORD_TYPES[record["type"]].model_construct(**record)
    owner = "user_id" if topic_of(kind).key.endswith("{user_id}") else "session_id"
    key = f"{record.get('tenant', 'default')}/{record[owner]}".encode()
    return topic_of(kind).name, key, line, headers


class Working:
    """Workers of one app; `sent` counts input records. `at` are the settings as options of a
    command, `kafka` as its environment.

    `others` are topics of another platform: their names have no prefix.
    """

    def __init__(self, settings: KafkaSettings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.bootstrap = settings.bootstrap
        self.at = options_of(settings)
        self.kafka = {
            "TURNFOLD_KAFKA_BOOTSTRAP": settings.bootstrap,
            "TURNFOLD_KAFKA_TOPIC_PREFIX": settings.topic_prefix,
        }
        self.others: set[str] = set()
        self.sent = 0
        self.workers: list[subprocess.Popen[bytes]] = []
        self.chooses = False
        """Whether a worker was given an extractor: the next ones continue with what is stored."""

    def there(self, topic: str) -> str:
        """The name of a topic on the broker."""
        return topic if topic in self.others else self.settings.on_broker(topic)

    def start(self, *options: str, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
        """A worker process; its log is LOG-n in the folder. `env`: its whole environment, with
        `kafka` or another way to the broker."""
        self.chooses |= bool({BY_DEFAULT, "--extractor"} & {*options})
        with (self.folder / f"log-{len(self.workers)}").open("wb") as log:
            at = () if env else self.at
            patient = (
                {"TURNFOLD_WORKER_SESSION_SECONDS": PATIENT} if "--instance" in options else {}
            )
            env = env or environment(**patient)
            stored = [BY_DEFAULT] * self.chooses
            worker = launch(
                "kafka", "worker", *at, *options, *stored, stderr=log, stdout=log, env=env
            )
        self.workers.append(worker)
        return worker

    def log(self, number: int = -1) -> str:
        return (self.folder / f"log-{number % len(self.workers)}").read_text()

    def await_log(self, text: str, times: int = 1) -> None:
        deadline = time.monotonic() + TOO_LONG
        while self.log().count(text) < times:
            code = self.workers[-1].poll()
            assert code is None, f"ended with {code}\n{self.log()[-3000:]}"
            assert time.monotonic() < deadline, self.log()[-3000:]
            time.sleep(0.05)

    def await_ready(self) -> None:
        """Until all lanes of the newest worker have restored."""
        self.await_log(": restored ", times=2 * PARTITIONS)

    def send(self, messages: Iterable[Given]) -> None:
        self.sent += produced(
            self.bootstrap,
            [(self.there(topic), key, value, headers) for topic, key, value, headers in messages],
        )

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
        return asyncio.run(read_all(self.bootstrap, self.there(topic)))

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
        for record in self.read(HISTORY.name):
            headers = dict(record.headers)
            source = tuple(headers[name] for name in SOURCE_HEADERS)
            assert source not in seen, f"twice: {source}"
            seen.add(source)
            rows.setdefault(headers["table"].decode(), []).append(record.value)
        # A tool's result may be refused more than once, as versions change: twice is right there.
        if letters := [record.value for record in self.read(DEAD_LETTERS.name)]:
            rows["dead_letters"] = letters
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
def alone(folder: Path, broker: Broker | None = None) -> Iterator[Working]:
    """Workers with topics of their own on the shared broker. `broker`: on this one, without a
    prefix."""
    settings = settings_of(broker) if broker else shared_settings()
    working = Working(settings, folder)
    try:
        yield working
    finally:
        working.stop()


@contextmanager
def one_worker(folder: Path, broker: Broker | None = None) -> Iterator[Working]:
    """A worker that is ready."""
    with alone(folder, broker) as working:
        working.start()
        working.await_ready()
        yield working


async def remove(settings: KafkaSettings, *topics: str) -> None:
    """Deletes topics, and waits until a topic of the same name can be created."""
    async with connected(settings, TOO_LONG) as admin:
        await admin.delete_topics(list(topics))
        while set(topics).intersection(await admin.list_topics()):
            await asyncio.sleep(0.1)


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
