"""The sink against a real broker: every row once, whoever is killed, whoever shares."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import pytest
from aiokafka.protocol.group import LeaveGroupRequest

from sinks.delta import History
from sinks.digest import digest
from sinks.history import connect
from sinks.history_root import HistoryError
from sinks.locations import Location
from sinks.sink_history import SharedHistory
from streams.broker import Broker
from streams.errors import Unreachable
from streams.files import file_runner
from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import KafkaConsumer, KafkaProducer
from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.sink.batch import MISFIT
from streams.kafka.sink.options import SinkCounts, SinkOptions, owner
from streams.kafka.sink.sink import NAMED_SESSION_MS, Sink
from streams.topology import HISTORY
from tests.acceptance import ledger, sgd
from tests.command import ndjson, turnfold
from tests.kafka.history import Message, messages, send
from tests.kafka.working import options_of, shared_settings
from tests.shared_data import shared

TURNS = 2_000
TOO_LONG = 120.0


class Log:
    """Topics that hold what a file runner's history holds; `expected` its digest."""

    def __init__(self, folder: Path) -> None:
        self.settings = shared_settings()
        records = list(islice(sgd.records(shared("data", "sgd", "train_part.jsonl.gz")), TURNS))
        records += list(ledger.records(shared("data", "corrections", "ledger.json")))
        file = ndjson(folder / "records.ndjson", records)
        with file.open("ab") as more:
            more.write(b'not JSON\n{"type": "riddle"}\n')
        file_runner.run([str(file)], folder / "file")
        self.expected = digest(folder / "file")
        self.messages = messages(folder / "file")
        asyncio.run(ensure_topics(self.settings))
        asyncio.run(send(self.settings, self.messages))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return Log(tmp_path_factory.mktemp("log"))


def run(settings: KafkaSettings, history: Location, **options: Any) -> SinkCounts:
    """A sink in this process, until it has written what there is."""

    async def inside() -> SinkCounts:
        wanted = SinkOptions(
            **{"roll_bytes": 300_000, "once": True, "poll_records": 500, **options}
        )
        with SharedHistory(history, await owner(settings, wanted)) as tables:
            return await Sink(settings, tables, wanted).run()

    return asyncio.run(inside())


class Process:
    """A sink in a process of its own."""

    def __init__(
        self,
        settings: KafkaSettings,
        history: Location,
        name: str,
        *more: str,
        said: Path | None = None,
    ) -> None:
        folder = said or Path(str(history)).parent
        self._file = folder / f"{uuid4()}.out"
        with self._file.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.kafka.sink_worker", *options_of(settings),
                 "--history", str(history), "--name", name, *more],
                stdout=out, stderr=out,
            )  # fmt: skip

    def said(self) -> str:
        return self._file.read_text()

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + TOO_LONG
        while text not in self.said():
            assert time.monotonic() < deadline, f"{text!r} not seen:\n{self.said()[-3000:]}"
            time.sleep(0.02)

    def ends_with(self, code: int) -> None:
        assert self.process.wait(TOO_LONG) == code, self.said()[-3000:]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def count(history: Location, table: str) -> int:
    with connect(history, views=[table]) as db:
        (found,) = db.execute(f"SELECT count(*) FROM {table}").fetchall()
    return int(found[0])


def wait_until_read(log: Log, history: Location) -> None:
    """Until the tables have all that is append-only."""
    tables = {"events", "revisions", "links", "affects"}
    headers = [dict(one.headers)["table"].decode() for one in log.messages]
    wanted = sum(table in tables for table in headers)
    deadline = time.monotonic() + TOO_LONG
    while (found := sum(count(history, table) for table in tables)) < wanted:
        assert time.monotonic() < deadline, f"{found} of {wanted} rows"
        time.sleep(0.3)


def test_the_tables_are_those_of_the_file_runner(log: Log, tmp_path: Path) -> None:
    counts = run(log.settings, tmp_path / "h", name="plain")
    assert digest(tmp_path / "h") == log.expected
    assert (counts.read, counts.repeats, counts.misfits) == (len(log.messages), 0, 0)
    assert counts.writes > 3
    again = run(log.settings, tmp_path / "h", name="plain")
    assert (again.read, again.rows, again.writes) == (0, 0, 0)
    assert digest(tmp_path / "h") == log.expected


async def test_who_was_forgotten_does_not_set_the_group_s_offsets_back(log: Log) -> None:
    """It was away and has been put out; whoever took its place may be further."""
    consumer = KafkaConsumer(
        group_id="forgetful", enable_auto_commit=False, auto_offset_reset="earliest",
        **log.settings.client(),
    )  # fmt: skip
    consumer.subscribe([HISTORY.name])
    await consumer.start()
    try:
        await consumer.getmany(timeout_ms=5_000)
        at = min(consumer.assignment())
        source, group = ConsumerSource(consumer, {}), consumer.coordinator
        assert await source.commit({at: 10})
        first = await source.committed(at)
        await consumer.send_to_coordinator(LeaveGroupRequest(group.group_id, group.member_id))
        group.reset_generation()
        await source.commit({at: 5})
    finally:
        await consumer.stop()
    async with connected(log.settings) as admin:
        committed = await admin.list_consumer_group_offsets("forgetful")
    assert (first, committed[at].offset) == (10, 10)


def test_each_commit_says_how_far_its_partition_is(log: Log, tmp_path: Path) -> None:
    run(log.settings, tmp_path / "h", name="versions")
    with History(tmp_path / "h") as tables:
        events = tables.table("events")
        assert events is not None
        versions = [events.transaction_version(f"versions-history-{at}") for at in range(4)]
    assert all(version is not None and version > 0 for version in versions)


POINTS = [
    ("positioned", 1), ("before events", 2), ("after events", 1), ("after links", 2),
    ("before revisions", 1), ("after sessions", 3), ("written", 2), ("committed", 1),
]  # fmt: skip


@pytest.mark.component
def test_killed_sinks_go_on_without_loss_or_doubles(log: Log, tmp_path: Path) -> None:
    names = {f"killed{number}": point for number, point in enumerate(POINTS)}
    for name, (point, nth) in names.items():
        asked = ("--once", "--kill-at", point, "--nth", str(nth))
        with Process(log.settings, tmp_path / name, name, *asked) as killed:
            killed.ends_with(-signal.SIGKILL)
            assert killed.said().splitlines().count(point) == nth
    for name, killed_at in names.items():  # other cuts than before
        run(log.settings, tmp_path / name, name=name, roll_bytes=170_000)
        assert digest(tmp_path / name) == log.expected, killed_at


def test_two_sinks_share_the_partitions_and_one_is_killed(
    log: Log, prefixed: KafkaSettings, tmp_path: Path
) -> None:
    history = tmp_path / "h"
    often = ("--roll-bytes", "50000")
    asyncio.run(ensure_topics(prefixed))
    with (
        Process(prefixed, history, "two", *often) as stays,
        Process(prefixed, history, "two", *often, "--kill-at", "written", "--nth", "2") as dies,
    ):
        for one in (stays, dies):
            one.wait_for("two: 4 partitions")
        asyncio.run(send(prefixed, log.messages, transaction=100))
        dies.ends_with(-signal.SIGKILL)
        wait_until_read(log, history)
        stays.process.terminate()
        stays.ends_with(0)
        assert "two: 8 partitions" in stays.said().split("two: 4 partitions")[1]
    run(prefixed, history, name="two")
    assert digest(history) == log.expected


def test_a_broker_that_dies_while_partitions_are_given_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = SharedHistory.positions
    with Broker.start(short_lived=True) as broker:

        def killed_before(history: SharedHistory, apps: Iterable[str]) -> dict[str, int]:
            broker.nodes[0].kill()
            return positions(history, apps)

        settings = KafkaSettings.plain(broker.bootstrap)
        asyncio.run(ensure_topics(settings))
        monkeypatch.setattr(SharedHistory, "positions", killed_before)
        impatient = partial(KafkaConsumer, request_timeout_ms=2_000)
        monkeypatch.setattr("streams.kafka.sink.sink.KafkaConsumer", impatient)
        with pytest.raises(Unreachable, match="no broker can be reached"):
            run(settings, tmp_path / "h", name="lost")


@pytest.mark.component
def test_a_zombie_changes_nothing(log: Log, tmp_path: Path) -> None:
    history = tmp_path / "h"
    with Process(log.settings, history, "zombie", "--roll-bytes", "20000") as sleeper:
        sleeper.wait_for("before")
        sleeper.process.send_signal(signal.SIGSTOP)
        run(log.settings, history, name="zombie")  # waits for the session's end, writes it all
        assert digest(history) == log.expected
        sleeper.process.send_signal(signal.SIGCONT)
        time.sleep(2)
        sleeper.process.terminate()
        sleeper.ends_with(0)
    assert digest(history) == log.expected


def test_a_killed_sink_with_a_name_has_its_partitions_again_at_once(
    log: Log, tmp_path: Path
) -> None:
    """Nobody else takes them meanwhile: the group does not rebalance."""
    history, often = tmp_path / "h", ("--roll-bytes", "20000")
    first = Process(log.settings, history, "named", "--instance", "a", *often)
    with first, Process(log.settings, history, "named", "--instance", "b", *often) as other:
        for one in (first, other):
            one.wait_for("named: 4 partitions")
        first.process.kill()
        first.process.wait()
        began = time.monotonic()
        with Process(log.settings, history, "named", "--instance", "a", *often) as again:
            again.wait_for("named: 4 partitions")
            assert time.monotonic() - began < NAMED_SESSION_MS / 1000
            wait_until_read(log, history)
            assert other.said().count("positioned") == other.said().count("8 partitions") + 1
            assert "8 partitions" not in again.said()
            with Process(log.settings, history, "named", "--instance", "a", *often) as thief:
                thief.wait_for("named: 4 partitions")
                again.ends_with(1)
                assert "another one has its name" in again.said()
                thief.process.terminate()
                thief.ends_with(0)
    for name in ("a", "b"):
        run(log.settings, history, name="named", instance=name)
    assert digest(history) == log.expected


def test_what_was_sent_twice_is_written_once(
    log: Log, prefixed: KafkaSettings, tmp_path: Path
) -> None:
    asyncio.run(ensure_topics(prefixed))
    asyncio.run(send(prefixed, log.messages[:3_000]))
    asyncio.run(send(prefixed, log.messages[2_500:]))
    counts = run(prefixed, tmp_path / "h", name="repeats")
    assert counts.repeats > 400
    assert digest(tmp_path / "h") == log.expected
    # the repeats come after a restart as well
    asyncio.run(send(prefixed, log.messages[-200:]))
    again = run(prefixed, tmp_path / "h", name="repeats")
    assert again.read == 200
    assert digest(tmp_path / "h") == log.expected


@pytest.mark.component
def test_what_is_no_row_becomes_a_dead_letter(
    log: Log, prefixed: KafkaSettings, tmp_path: Path
) -> None:
    events = [one for one in log.messages if dict(one.headers)["table"] == b"events"]
    good, other = events[0], json.loads(events[1].value)
    late = json.dumps(other | {"occurred_at": "yesterday"}).encode()
    wrong = [
        Message(good.topic, 0, b"{", [("table", b"events")]),
        Message(good.topic, 0, b'{"event_id": 1}', [("table", b"events")]),
        good._replace(headers=[("table", b"nothing")]),
        good._replace(headers=[]),
        Message(good.topic, 0, late, [("table", b"events")]),
        Message(good.topic, 0, good.value[:-1] + b',"new_column":1}', [("table", b"events")]),
    ]
    asyncio.run(ensure_topics(prefixed))
    asyncio.run(send(prefixed, [*wrong[:3], good, *wrong[3:]]))
    asyncio.run(_send_null(prefixed))
    counts = run(prefixed, tmp_path / "h", name="misfits")
    assert (counts.misfits, counts.rows) == (7, 8)
    with connect(tmp_path / "h") as db:
        found = db.execute("SELECT reason, detail, payload, src_topic FROM dead_letters").fetchall()
        assert db.execute("SELECT event_id FROM events").fetchall() == [(other_id(good),)]
    assert {row[0] for row in found} == {MISFIT}
    assert {row[3] for row in found} == {HISTORY.name}
    assert {bytes(row[2]) for row in found} == {one.value for one in wrong} | {b""}
    assert any("event_id" in row[1] for row in found)
    assert any("yesterday" in row[1] for row in found)


def other_id(one: Message) -> str:
    return str(json.loads(one.value)["event_id"])


async def _send_null(settings: KafkaSettings) -> None:
    async with KafkaProducer(**settings.client()) as producer:
        await producer.send_and_wait(HISTORY.name, None, b"k", headers=[("table", b"events")])


def test_a_history_of_the_file_runner_is_refused(log: Log, tmp_path: Path) -> None:
    file = ndjson(tmp_path / "one.ndjson", [])
    file_runner.run([str(file)], tmp_path / "h")
    with pytest.raises(HistoryError, match="written by `turnfold run`"):
        run(log.settings, tmp_path / "h")


def test_another_sinks_history_is_refused_and_a_file_runner_too(log: Log, tmp_path: Path) -> None:
    run(log.settings, tmp_path / "h", name="mine")
    with pytest.raises(HistoryError, match="the sink 'mine' writes this history, not 'yours'"):
        run(log.settings, tmp_path / "h", name="yours")
    file = ndjson(tmp_path / "one.ndjson", [])
    done = turnfold("run", file, "--history", tmp_path / "h")
    assert done.code == 3
    assert "_store is missing" in done.err


def test_the_command_says_counts_and_ends(log: Log, tmp_path: Path) -> None:
    done = turnfold(
        "kafka", "sink", *options_of(log.settings), "--history", tmp_path / "h",
        "--name", "command", "--once", "-o", "json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json()["read"] == len(log.messages)
    assert digest(tmp_path / "h") == log.expected


def test_a_broker_that_is_not_there_is_exit_5(tmp_path: Path) -> None:
    done = turnfold("kafka", "sink", "--bootstrap", "127.0.0.1:1", "--history", tmp_path / "h")
    assert done.code == 5
    assert "127.0.0.1:1" in done.err
    assert not (tmp_path / "h").exists()
