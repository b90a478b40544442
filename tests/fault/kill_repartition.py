"""Kills `turnfold kafka repartition` while producers go on, and compares memory before and after.

Workers fold real records under 4 partitions and are stopped in the middle of it. Then the number
becomes 6, the command being killed at random points while a producer goes on sending; then 3, with
nobody sending. Afterwards digests and counters must agree, everything that is sent once more is a
duplicate, and the second change alters no digest.
"""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import msgspec
from aiokafka.errors import KafkaError

from sinks.digest import digest
from streams.broker import Broker
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.partitions import partition_of
from tests.command import environment, folded, ndjson, turnfold
from tests.fault.load import Record
from tests.kafka.working import Given, Working, alone, message

SAID = ("events", "recursions", "tool_results", "signals", "plans")
POINTS = 110
"""About so many points one undisturbed call passes."""
TOO_LONG = 240.0
encode = msgspec.json.Encoder().encode


class Result(NamedTuple):
    """Where kills struck (topic and step), how many records there were, what is wrong."""

    struck: Counter[str]
    records: int
    wrong: list[str]


class Producer(Thread):
    """Sends one record after the other, each until it is acknowledged, as long as it may."""

    def __init__(self, bootstrap: str, given: Iterator[Record], most: int) -> None:
        super().__init__(daemon=True)
        self.over = Event()
        self.sent: list[Record] = []
        self.refused: Counter[str] = Counter()
        self._servers, self._given, self._most = bootstrap, given, most

    def run(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        try:
            for record in islice(self._given, self._most):
                if self.over.is_set():
                    return
                await self._send_surely(record)
                self.sent.append(record)
                await asyncio.sleep(0.04)
        finally:
            await self._close()

    async def _send_surely(self, record: Record) -> None:
        topic, key, value, _ = message(encode(record))
        while True:
            try:
                return await self._send(topic, key, value)
            except (KafkaError, TimeoutError) as error:
                self.refused[type(error).__name__] += 1
                await self._close()
                await asyncio.sleep(0.05)

    _producer: Any = None

    async def _send(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        if self._producer is None:
            self._producer = KafkaProducer(
                bootstrap_servers=self._servers,
                enable_idempotence=True,
                request_timeout_ms=5_000,
                metadata_max_age_ms=500,
            )
            await self._producer.start()
        await asyncio.wait_for(self._producer.send_and_wait(topic, value, key), 10)

    async def _close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError, TimeoutError):
                await asyncio.wait_for(producer.stop(), 5)


class Play:
    """One run of it. `sent`: all records, in the order in which they were sent."""

    def __init__(self, working: Working, folder: Path, chance: random.Random) -> None:
        self.working, self.folder, self.chance = working, folder, chance
        self.history = folder / "history"
        self.sent: list[Record] = []
        self.struck: Counter[str] = Counter()
        self.wrong: list[str] = []

    def start(self, partitions: int) -> None:
        self.working.start("--partitions", str(partitions))
        self.working.await_log(": restored ", times=2 * partitions)

    def stop(self) -> None:
        worker = self.working.workers[-1]
        worker.terminate()
        if worker.wait(60):
            self.wrong.append(f"the worker ended with {worker.returncode}")

    def send(self, some: Sequence[Record]) -> None:
        self.working.send(_messages(some))

    def await_done(self, read: int) -> Counter[str]:
        """Until so many records are read, and nothing changes any more."""
        deadline, before, since = time.monotonic() + TOO_LONG, Counter[str](), time.monotonic()
        while True:
            counts = self.working.counts()
            if counts != before:
                before, since = counts, time.monotonic()
            if counts["read"] >= read and time.monotonic() - since > 3.0:
                return counts
            assert time.monotonic() < deadline, f"{counts}: {self.working.log()[-3000:]}"
            time.sleep(0.5)

    def sink(self) -> dict[str, Any]:
        """The digests of the history, once all is in it."""
        done = turnfold(
            "kafka", "sink", "--bootstrap", self.working.bootstrap, "--history", self.history,
            "--once", "-o", "json",
        )  # fmt: skip
        if done.code:
            self.wrong.append(f"sink ended with {done.code}: {done.err}")
        return digest(self.history)

    def repartition(self, to: int, kills: int) -> None:
        """The command, killed so often, and once more."""
        few = max(3, 2 * POINTS // max(1, kills))
        for _ in range(kills):
            when = self.chance.choice(["--die-after", "--die-inside"])
            doomed = subprocess.Popen(
                [sys.executable, "-m", "tests.fault.doomed_repartition", "--bootstrap",
                 self.working.bootstrap, "--to", str(to), when, str(self.chance.randint(2, few))],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(),
            )  # fmt: skip
            if self.chance.random() < 0.3:  # anywhere, not at a point that we thought of
                with suppress(subprocess.TimeoutExpired):
                    doomed.wait(self.chance.uniform(1.0, 6.0))
                doomed.send_signal(signal.SIGKILL)
            try:
                said, _ = doomed.communicate(timeout=TOO_LONG)
            finally:
                doomed.kill()
                doomed.wait()
            if doomed.returncode == 0:
                break
            if doomed.returncode != -signal.SIGKILL:
                self.wrong.append(f"a doomed command ended with {doomed.returncode}")
            self.struck[said.decode().strip() or "anywhere"] += 1
        done = turnfold(
            "kafka", "repartition", "--yes", "--to", str(to), "--bootstrap", self.working.bootstrap,
            "-o", "json",
        )  # fmt: skip
        if done.code:
            self.wrong.append(f"repartition ended with {done.code}: {done.err}")

    def send_astray(self, record: Record, partitions: int) -> None:
        """Into the partition after its key's: as a client does that chose one before the change,
        and tries again once the topic is there again."""
        topic, key, value, _ = message(encode(record))
        assert key is not None
        at = (partition_of(key, partitions) + 1) % partitions

        async def send() -> None:
            async with KafkaProducer(bootstrap_servers=self.working.bootstrap) as producer:
                await producer.send_and_wait(topic, value, key, partition=at)

        asyncio.run(send())
        self.sent.append(record)

    def replay_astray(self, partitions: int) -> int:
        """Sends the records right that came into a wrong partition; how many that were."""
        done = turnfold(
            "admin", "dlq", "replay", "--bootstrap", self.working.bootstrap, "--history",
            self.history, "--reason", "wrong_partition", "-o", "json",
            env=environment(TURNFOLD_KAFKA_PARTITIONS=str(partitions)),
        )  # fmt: skip
        if done.code:
            self.wrong.append(f"dlq replay ended with {done.code}: {done.err}")
            return 0
        return int(done.json()["sent"])

    def compare(self, found: dict[str, Any]) -> None:
        """The memory is that of the file runner over the same records."""
        by_file = self.folder / "by-file"
        folded(ndjson(self.folder / "records.ndjson", self.sent), history=by_file)
        expected = digest(by_file)
        if found["memory"] != expected["memory"]:
            tables = expected["tables"]
            different = [name for name in tables if found["tables"][name] != tables[name]]
            self.wrong.append(f"another memory than the file runner's; tables: {different}")
        for name in SAID:
            if found["tables"][name] != expected["tables"][name]:
                self.wrong.append(f"{name}: not the file runner's")

    def check_counts(self, counts: Counter[str], **expected: int) -> None:
        for name, value in expected.items():
            if counts[name] != value:
                self.wrong.append(f"{name}: {counts[name]}, not {value}: {dict(counts)}")


def _messages(some: Sequence[Record]) -> list[Given]:
    return [message(encode(record)) for record in some]


def play(folder: Path, data: Iterator[Record], kills: int, size: int, seed: int) -> Result:
    """4 -> 6 under load, then 6 -> 3; `size` records are sent at a time."""
    with Broker.start(short_lived=True) as broker, alone(folder, broker) as working:
        one = Play(working, folder, random.Random(seed))
        first, second = list(islice(data, size)), list(islice(data, size))
        one.start(4)
        one.send(first)
        one.await_done(size)
        one.sink()
        one.send(second)  # nobody waits: some are folded, some are not, some hops are on their way
        one.stop()
        one.sink()
        producer = Producer(working.bootstrap, data, most=5 * size)
        producer.start()
        one.repartition(6, kills - kills // 3)
        producer.over.set()
        producer.join(TOO_LONG)
        one.sent = [*first, *second, *producer.sent]
        one.struck["(records sent meanwhile)"] = len(producer.sent)
        one.struck["(records refused meanwhile)"] = sum(producer.refused.values())
        one.send_astray(next(data), 6)
        one.start(6)
        every = len(one.sent)
        one.await_done(every)
        one.sink()
        astray = one.replay_astray(6)  # the producer may have sent some, too
        one.struck["(records astray)"] = astray
        counts = one.await_done(every + astray)
        one.check_counts(counts, applied=every, dead=astray, hops_dead=0)
        before = one.sink()
        one.compare(before)
        one.send(one.sent)
        counts = one.await_done(2 * every + astray)
        twice = counts["read"] - every - astray
        one.check_counts(counts, applied=every, duplicate=twice, dead=astray)
        before = one.sink()
        one.stop()
        one.repartition(3, kills // 3)
        one.start(3)
        counts = one.await_done(counts["read"])
        one.check_counts(counts, applied=every, dead=astray)
        if one.sink() != before:
            one.wrong.append("the digest has changed from 6 to 3 partitions")
        one.send(one.sent)
        again = one.await_done(counts["read"] + every)
        twice = again["read"] - every - astray
        one.check_counts(again, applied=every, duplicate=twice, dead=astray)
        if one.sink()["memory"] != before["memory"]:
            one.wrong.append("what was sent again has changed the memory")
        one.stop()
        if left := [name for name in _topics(working) if "repartition" in name]:
            one.wrong.append(f"topics are left: {left}")
        return Result(one.struck, every, one.wrong)


def _topics(working: Working) -> list[str]:
    from streams.kafka.client.admin import connected
    from streams.kafka.client.settings import KafkaSettings

    async def names() -> list[str]:
        async with connected(KafkaSettings.plain(working.bootstrap)) as admin:
            return list(await admin.list_topics())

    return asyncio.run(names())
