"""Another number of partitions is refused with its reason, before anything is folded by it."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx
import msgspec
import pytest
from aiokafka.admin import NewPartitions

from sinks.digest import digest
from sinks.generation import folder_of
from streams.broker import Broker
from streams.folds.constants import Rules
from streams.kafka.agents.agents import changelogs, plans
from streams.kafka.client.admin import connected
from streams.kafka.client.partitions import partition_of
from streams.kafka.client.topic_changes import alter_topic, own_settings
from streams.kafka.client.topic_names import changelog_name, sources_of
from streams.kafka.client.topic_specs import IN_SYNC, spec
from streams.kafka.client.topics import STATE, create
from streams.kafka.tools.copy_records import PartitionMessage
from streams.kafka.tools.repartition import repartition
from streams.kafka.tools.repartition_plan import RepartitionState, kinds_of
from streams.kafka.tools.repartition_targets import Places, merged, owner_of
from streams.kafka.transport.marker import MARKER_KEY, Marker, decode
from streams.kafka.transport.partition_check import topics_of
from streams.topology import AGENTS, SESSION_AGENT, TOPICS
from tests.command import environment, rows, start, turn, turnfold
from tests.kafka.working import APP, Working, message, remove, settings_of
from tests.waiting import WITHIN, until

TOO_LONG = 120.0
encode = msgspec.json.Encoder().encode


def lines(numbers: Iterable[int]) -> list[bytes]:
    return [encode(turn(f"e{n}", session_id=f"s{n % 40}", user_id=f"u{n % 9}")) for n in numbers]


def grow(working: Working, to: int, *names: str) -> None:
    """As an operator does, with Kafka's own tool."""

    async def ask() -> None:
        async with connected(working.settings) as admin:
            for name in names:
                await admin.create_partitions({name: NewPartitions(to)})

    asyncio.run(ask())


def every_topic() -> list[str]:
    return [*(topic.name for topic in TOPICS), *(one.name for one in changelogs(APP, 4))]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a broker with a memory of four partitions, which has ended."""
    folder = tmp_path_factory.mktemp("past")
    with Broker.start(keep=folder / "kafka", short_lived=True) as broker:
        working = Working(settings_of(broker), folder)
        worker = working.start()
        try:
            working.await_ready()
            working.send(message(line) for line in lines(range(200)))
            working.await_done()
            worker.terminate()
            assert worker.wait(WITHIN) == 0
        finally:
            working.stop()
    return folder / "kafka"


@contextmanager
def opened(past: Path, folder: Path) -> Iterator[Working]:
    """A broker with that memory, and no worker."""
    shutil.copytree(past, folder / "kafka")
    with Broker.start(keep=folder / "kafka", short_lived=True) as broker:
        working = Working(settings_of(broker), folder)
        working.sent = 200
        try:
            yield working
        finally:
            working.stop()
            broker.kill()


@pytest.fixture
def remembered(past: Path, tmp_path: Path) -> Iterator[Working]:
    """The memory of one test."""
    with opened(past, tmp_path) as working:
        yield working


@pytest.fixture(scope="module")
def intact(past: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Working]:
    """A memory that several tests read: each leaves it as it was."""
    with opened(past, tmp_path_factory.mktemp("intact")) as working:
        yield working


def refused(working: Working, *options: str) -> str:
    """The log of a worker that ends at once; after the reason it may log how it stops."""
    worker = working.start(*options)
    assert worker.wait(TOO_LONG) == 3, working.log()[-3000:]
    assert ": restored " not in working.log()
    return working.log()


# --- refusals ---------------------------------------------------------------------------------


def test_a_grown_topic_ends_a_server_and_is_named_with_both_numbers_and_the_way_out(
    remembered: Working,
) -> None:
    counts = remembered.counts()
    server = start("serve", *remembered.at, "--port", "0", "-o", "json")
    try:
        assert server.stdout
        url = json.loads(server.stdout.readline())["url"]
        until(lambda: httpx.get(f"{url}/readyz").status_code == 200, every=0.1)
        grow(remembered, 6, "turns")
        _, error = server.communicate(timeout=TOO_LONG)
    finally:
        server.kill()
    assert server.returncode == 3, error.decode()
    assert "topic turns has 6 now" in error.decode().splitlines()[-1]

    said = refused(remembered)
    assert "was folded with 4 partitions, but topic turns has 6 now" in said
    assert "`turnfold kafka repartition --to 6`" in said
    assert "TURNFOLD_KAFKA_PARTITIONS" not in said
    assert "topic turns has 6 now" in refused(remembered, "--partitions", "6")
    served = turnfold("serve", *remembered.at, "--port", "0")
    assert (served.code, "topic turns has 6 now" in served.err) == (3, True), served.err
    produced = turnfold("kafka", "produce", "-", *remembered.at, input=lines([999])[0])
    assert produced.code == 3 and "topic turns: expected 4 partitions" in produced.err

    # all of them and the setting: the markers say the number
    grow(remembered, 6, *(name for name in every_topic() if name != "turns"))
    said = refused(remembered, "--partitions", "6")
    assert "was folded with 4 partitions, but topic turns has 6, topic recursions has 6" in said
    assert "`turnfold kafka repartition --to 6`" in said
    served = turnfold("serve", *remembered.at, "--port", "0")
    assert (served.code, "was folded with 4" in served.err) == (3, True), served.err
    assert remembered.counts() == counts


@pytest.mark.soak
def test_another_setting_is_the_setting_s_fault(intact: Working) -> None:
    said = refused(intact, "--partitions", "6")
    assert "TURNFOLD_KAFKA_PARTITIONS (--partitions) is 6" in said
    assert "set it to 4" in said


def test_a_worker_runs_on_beside_a_refused_repartition_and_stops_where_topics_grow(
    working: Working,
) -> None:
    worker = working.start()
    working.await_ready()
    running = turnfold("kafka", "repartition", "--yes", "--to", "6", *working.at)
    assert running.code == 3
    assert "group turnfold has 1; stop them first" in running.err
    assert turnfold("kafka", "repartition", "--yes", "--to", "0").code == 2
    working.send(message(line) for line in lines(range(200)))
    working.await_done()
    before = working.counts()
    moved = [
        line
        for line in lines(range(1_000, 1_400))
        if partition_of(message(line)[1] or b"", 6) != partition_of(message(line)[1] or b"", 4)
    ]
    grow(working, 6, "turns")
    working.send(message(line) for line in moved)  # a producer that knows the new number
    assert worker.wait(TOO_LONG) == 3, working.log()[-3000:]
    grown = f"topic {working.there('turns')} has 6 now"
    assert f"was folded with 4 partitions, but {grown}" in working.log()
    prefix = working.settings.topic_prefix
    assert f"`turnfold kafka repartition --to 6 --topic-prefix {prefix}`" in working.log()
    assert working.counts() == before
    assert working.dead_letters() == []
    done = turnfold("kafka", "repartition", "--yes", "--to", "6", *working.at)
    assert done.code == 0, done.err
    working.start("--partitions", "6")
    assert working.await_done()["applied"] == before["applied"] + len(moved)
    assert working.counts()["dead"] == 0


@pytest.mark.soak
def test_topics_that_grow_under_an_idle_worker_stop_it_too(working: Working) -> None:
    worker = working.start()
    working.await_ready()
    grow(working, 6, "recursions")
    assert worker.wait(TOO_LONG) == 3
    assert f"topic {working.there('recursions')} has 6 now" in working.log()


def test_a_sink_that_runs_reads_the_partitions_that_come(
    remembered: Working, tmp_path: Path
) -> None:
    """Each message says by itself whose row it is: the sink goes on."""
    history = tmp_path / "history"
    sink = start("kafka", "sink", *remembered.at, "--history", history,
                 "--roll-seconds", "0.5")  # fmt: skip
    try:
        _await_events(history, 200, sink)  # one that starts while the number is changed is refused
        done = turnfold("kafka", "repartition", "--yes", "--to", "6", *remembered.at)
        assert done.code == 0, done.err
        remembered.start("--partitions", "6")
        remembered.send(message(line) for line in lines(range(1_000, 1_200)))
        remembered.await_done()
        _await_events(history, 400, sink)
        sink.send_signal(signal.SIGTERM)
        _, error = sink.communicate(timeout=TOO_LONG)
        assert sink.returncode == 0, error.decode()
    finally:
        sink.kill()
    assert _events(history) == 400


def _await_events(history: Path, number: int, sink: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + TOO_LONG
    while _events(history) < number:
        assert time.monotonic() < deadline and sink.poll() is None
        time.sleep(0.5)


def _events(history: Path) -> int:
    done = turnfold("sql", "SELECT count(*) AS n FROM events", "--history", history, "-o", "json")
    return int(done.json()[0]["n"]) if done.code == 0 else 0


def test_nobody_starts_while_the_number_is_being_changed(intact: Working, tmp_path: Path) -> None:

    async def begin() -> None:
        async with connected(intact.settings) as admin:
            await create(admin, [spec(STATE, 1, compacted=True)])

    asyncio.run(begin())
    assert "run the same command again; it continues" in refused(intact)
    for command in (
        ("serve", "--port", "0"),
        ("kafka", "sink", "--history", tmp_path / "history"),
        ("kafka", "produce", "-"),
    ):
        done = turnfold(*command, *intact.at)
        assert done.code == 3, command
        assert "the number of partitions is being changed" in done.err
    asyncio.run(remove(intact.settings, STATE))


# --- the command ------------------------------------------------------------------------------


def test_a_dry_run_says_what_would_be_done_and_does_nothing(intact: Working) -> None:
    told = (*intact.at, "-o", "json")
    done = turnfold("kafka", "repartition", "--to", "6", *told)
    assert done.code == 0, done.err
    said = done.json()
    assert (said["from"], said["to"], said["done"]) == (4, 6, False)
    turns = next(one for one in said["topics"] if one["topic"] == "turns")
    assert turns == {"topic": "turns", "from": 4, "to": 6, "offsets": 200}
    intact.start()
    intact.await_ready()
    intact.workers[-1].terminate()
    intact.workers[-1].wait(WITHIN)
    same = turnfold("kafka", "repartition", "--yes", "--to", "4", *told).json()
    assert same["topics"] == []


def test_a_dry_run_plans_while_a_generation_exists_and_says_that_it_is_refused(
    intact: Working,
) -> None:
    changelog, *_ = changelogs(f"{APP}.new", 4)

    async def make() -> None:
        async with connected(intact.settings) as admin:
            await create(admin, [changelog])

    asyncio.run(make())
    command = ("kafka", "repartition", "--to", "6", *intact.at)
    try:
        planned = turnfold(*command, "-o", "json")
        assert planned.code == 0, planned.err
        assert {one["to"] for one in planned.json()["topics"]} == {6}
        assert "generation drop" in planned.json()["refused"]
        shown = turnfold(*command)
        assert "rejected now" in shown.err and "turns" in shown.out
        refusal = turnfold(*command, "--yes")
        assert refusal.code == 3 and "another memory reads the same topics" in refusal.err
    finally:
        asyncio.run(remove(intact.settings, changelog.name))
    assert turnfold(*command, "-o", "json").json()["refused"] is None


def test_topics_with_wrong_settings_are_refused_before_anything_is_copied(
    intact: Working,
) -> None:
    """A broker would refuse the copies: half of them would be made."""
    before = intact.counts()

    async def alter(**more: dict[str, str]) -> None:
        async with connected(intact.settings) as admin:
            known = await own_settings(admin, list(more))
            for name, changes in more.items():
                own.setdefault(name, known[name])
                await alter_topic(admin, name, own[name] | changes)

    own: dict[str, dict[str, str]] = {}
    asyncio.run(alter(turns={IN_SYNC: "2"}, sessions={"max.message.bytes": "2"}))
    command = ("kafka", "repartition", "--to", "6", *intact.at)
    for options in ((), ("--yes",)):
        done = turnfold(*command, *options)
        assert done.code == 3
        assert "topic turns: expected min.insync.replicas at most 1" in done.err
        assert "topic sessions: expected max.message.bytes at least" in done.err
        assert "found 2; alter it with kafka-configs" in done.err
    asyncio.run(alter(turns={}, sessions={}))
    assert intact.counts() == before


@pytest.mark.component
def test_it_waits_for_sinks_the_digest_is_the_same_and_what_is_sent_again_is_a_duplicate(
    remembered: Working, tmp_path: Path
) -> None:
    """Else an older document of a session, out of another partition, might be written last."""
    history = tmp_path / "history"
    sink = ("kafka", "sink", *remembered.at, "--history", str(history), "--once")
    assert turnfold(*sink).code == 0
    worker = remembered.start()
    remembered.send(message(line) for line in lines(range(500, 520)))
    remembered.await_done()
    worker.terminate()
    assert worker.wait(WITHIN) == 0
    done = turnfold("kafka", "repartition", "--yes", "--to", "6", *remembered.at)
    assert done.code == 3
    assert "sinks that are behind: group sink;" in done.err
    assert turnfold("kafka", "lag", *remembered.at).code == 0

    assert turnfold(*sink).code == 0
    before = digest(history)
    every = [*range(200), *range(500, 520)]
    for to, times in ((6, 2), (3, 3)):
        done = turnfold("kafka", "repartition", "--yes", "--to", str(to), *remembered.at)
        assert done.code == 0, done.err
        assert f"has {to} partitions now" in done.out
        assert turnfold(*sink).code == 0
        assert digest(history) == before
        worker = remembered.start("--partitions", str(to))
        remembered.send(message(line) for line in lines(every))
        counts = remembered.await_done()
        assert (counts["applied"], counts["duplicate"]) == (220, 220 * (times - 1))
        worker.terminate()
        assert worker.wait(WITHIN) == 0
        assert turnfold(*sink).code == 0
        assert digest(history)["memory"] == before["memory"]
        before = digest(history)


@pytest.mark.nightly
def test_a_history_written_anew_after_changes_of_the_number_is_the_one_that_was_kept(
    remembered: Working, tmp_path: Path
) -> None:
    """Each session has documents in several partitions of `history` then."""
    last = 200
    for to in (6, 3):
        kept = ("kafka", "sink", *remembered.at, "--history", str(tmp_path / "kept"), "--once")
        assert turnfold(*kept).code == 0
        done = turnfold("kafka", "repartition", "--yes", "--to", str(to), *remembered.at)
        assert done.code == 0, done.err
        worker = remembered.start("--partitions", str(to))
        remembered.send(message(line) for line in lines(range(last, last + 200)))
        last += 200
        assert remembered.await_done()["applied"] == last
        worker.terminate()
        assert worker.wait(WITHIN) == 0
    assert turnfold(*kept).code == 0
    expected = digest(tmp_path / "kept")
    for name in ("once", "twice"):
        anew = ("kafka", "sink", *remembered.at, "--history", str(tmp_path / name), "--once")
        assert turnfold(*anew).code == 0
        assert digest(tmp_path / name) == expected


@pytest.mark.soak
def test_lanes_read_on_behind_the_last_record_as_if_they_had_read_it(remembered: Working) -> None:
    """Not at the topic's end, which is further: a generation, which has read the same records,
    would never be as far as the live memory."""
    done = turnfold("kafka", "repartition", "--yes", "--to", "6", *remembered.at)
    assert done.code == 0, done.err
    for agent in AGENTS:
        markers = {
            one.partition: decode(one.value).offsets
            for one in remembered.read(changelog_name(APP, agent))
            if one.key == MARKER_KEY
        }
        assert len(markers) == 6
        for source in agent.sources:
            last = {one.partition: one.offset + 1 for one in remembered.read(source.name)}
            offsets = {n: at[source.name] for n, at in markers.items() if source.name in at}
            assert offsets == last


MEANWHILE = ("fresh", "past", "pad", "back", "open", "tail", "drop")
"""Steps at which `turns` is there and takes records."""


def test_what_producers_send_at_every_step_is_folded_once(remembered: Working) -> None:
    """Also among the copies, before the topic's first record and before lanes read on."""
    numbers = count(1_000)
    sent: list[str] = []

    def observe(point: str) -> None:
        topic, _, step = point.partition(" ")
        if topic == "turns" and step in (*MEANWHILE, "copied"):
            some = lines(next(numbers) for _ in range(12))
            with ThreadPoolExecutor(1) as other:
                other.submit(remembered.send, [message(line) for line in some]).result(TOO_LONG)
            sent.append(step)

    settings = remembered.settings
    done = asyncio.run(repartition(settings, APP, None, 6, observe=observe))
    assert done["done"] and {*MEANWHILE, "copied"} <= set(sent)
    remembered.start("--partitions", "6")
    counts = remembered.await_done()
    assert counts["applied"] == counts["read"] == 200 + 12 * len(sent)
    begins = min(one.offset for one in remembered.read("turns"))
    assert begins >= 200 // 4, "a place of before is taken again"


def test_a_generation_folds_inputs_that_a_killed_call_and_the_next_one_have_moved(
    remembered: Working, tmp_path: Path
) -> None:
    """As it would have folded the first. The killed call's transaction is open, and would be for a
    minute: another number is refused at once, and the first continues."""
    signals = remembered.counts()["hops"]
    assert signals > 0
    history = tmp_path / "history"
    sink = ("kafka", "sink", *remembered.at, "--history", str(history), "--once")
    assert turnfold(*sink).code == 0
    doomed = subprocess.run(
        [sys.executable, "-m", "tests.fault.doomed_repartition", "--to", "3", "--die-inside", "7",
         *remembered.at],
        env=environment(), timeout=TOO_LONG, check=False,
    )  # fmt: skip
    assert doomed.returncode == -signal.SIGKILL
    done = turnfold("kafka", "repartition", "--yes", "--to", "5", *remembered.at)
    assert done.code == 3, done
    assert "first run `turnfold kafka repartition --to 3`" in done.err
    done = turnfold("kafka", "repartition", "--yes", "--to", "3", *remembered.at)
    assert done.code == 0, done.err
    env = environment(TURNFOLD_KAFKA_PARTITIONS="3")
    remembered.start("--partitions", "3", "--generation", "again")
    remembered.await_counts(f"{APP}.again", read=200, hops=signals)
    assert turnfold(*sink, "--generation", "again", env=env).code == 0
    again = digest(folder_of(history, "again"))
    live = digest(history)
    assert again["memory"] == live["memory"]
    assert again["tables"]["events"] == live["tables"]["events"]
    times = "SELECT event_id, recorded_at FROM events ORDER BY ALL"
    assert rows(folder_of(history, "again"), times) == rows(history, times)
    promoted = turnfold("generation", "promote", "again", "--history", history)
    assert promoted.code == 0, promoted.err


# --- its parts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "template", "owner"),
    [
        (b"t/a/b", "{tenant}/{session_id}", b"t/a/b"),
        (b"t/a%2Fb/task/1", "{tenant}/{session_id}/{task_id}", b"t/a/b"),
        (b"t/100%25/x", "{tenant}/{user_id}/{state_id}", b"t/100%"),
    ],
)
def test_a_document_lies_where_its_session_or_user_does(
    key: bytes, template: str, owner: bytes
) -> None:
    assert owner_of(key, template) == owner


def test_lanes_that_are_mixed_keep_their_sums_and_their_latest_time() -> None:
    one = {"counts": {"read": 2, "dead": 1}, "stream_time": 5, "hops": {"turns/0": 9}}
    other = {"counts": {"read": 3}, "stream_time": 7, "hops": {"turns/1": 2}}
    assert merged([one, other], 2) == [
        {"counts": {"read": 5, "dead": 1}, "stream_time": 7},
        {"counts": {}, "stream_time": 7},
    ]


class _Record:
    def __init__(self, offset: int, *source: bytes) -> None:
        names = ("src_topic", "src_partition", "src_offset")
        self.offset, self.timestamp, self.key, self.value = offset, 0, b"t/u", b"{}"
        self.headers = list(zip(names, source, strict=False))


SOURCES = [
    *((None, topic) for topic in sources_of(SESSION_AGENT, None)),
    *(("again", topic) for topic in sources_of(SESSION_AGENT, "again", maps=True)),
]
"""Generations, and the topics whose turns their session agents tell of."""


@pytest.mark.parametrize(("generation", "topic"), SOURCES)
def test_hops_out_of_several_partitions_are_each_told_once_whatever_their_order(
    generation: str | None, topic: str
) -> None:
    state = RepartitionState(APP, generation, 3, 2, [], {}, hops={0: {f"{topic}/1": 4}})
    places = Places(state)
    offsets = count(10)

    def told(partition: int, source: int) -> tuple[bytes, bytes] | None:
        record = _Record(next(offsets), topic.encode(), b"1", b"%d" % source)
        copy = places.without_repeats(PartitionMessage(partition, record))
        if copy is None:
            return None
        headers = dict(copy.headers)
        assert headers["src_topic"] == topic.encode()
        return headers["src_partition"], headers["src_offset"]

    assert told(0, 4) is None  # folded before
    assert told(0, 7) == (b"-1", b"11")
    assert told(1, 5) == (b"-2", b"12")  # an earlier turn, for a user of another partition
    assert told(0, 7) is None  # said again after a torn transaction


@pytest.mark.parametrize("maps", [False, True])
@pytest.mark.parametrize("generation", [None, "again"])
def test_every_topic_that_a_worker_reads_by_key_is_moved(
    generation: str | None, maps: bool
) -> None:
    """Else its records stay in partitions that are no longer those of their keys."""
    group = f"{APP}.{generation}" if generation else APP
    moved = kinds_of(group, generation)
    for plan in plans(group, 4, None, Rules(), generation=generation, maps=maps):
        assert {moved[name][0] for name in plan.sources} == {"source"}
        assert moved[plan.changelog][0] == "table"
        assert {*plan.sources, plan.changelog} <= {*topics_of(group, generation)}


def test_a_marker_says_how_many_partitions_there_were() -> None:
    marker = Marker({"turns": 3}, {}, "log", 6)
    assert decode(marker.encode()) == marker
