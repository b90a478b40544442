"""What must hold when the work is done, whatever was done to those who did it.

One fold, and nothing vanishes: each record of the input topics ended as one of four; every row the
workers wrote is in the history once; the history remembers what the file runner remembers.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from schemas.rows import SNAPSHOT_KEYS, TABLES
from sinks.digest import digest
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import changelog_name
from streams.kafka.sink.dedupe import IDENTITY
from streams.kafka.transport.marker import MARKER_KEY
from streams.kafka.transport.marker import decode as decode_marker
from streams.topology import AGENTS, DEAD_LETTERS, HISTORY, TOPICS, USER_SIGNALS
from tests.command import OUTCOMES, checked, rows, turnfold
from tests.fault.deployment import SINK, Deployment
from tests.kafka.counting import PARTITIONS
from tests.kafka.working import APP

TOO_LONG = 120.0  # without any progress
SAID = ("events", "recursions", "tool_results", "signals", "plans")
"""Tables with a row for each applied record; they must agree as sets."""


def await_done(run: Deployment) -> Counter[str]:
    """Waits until every record and user signal is committed; returns the counters."""
    best, deadline = -1, time.monotonic() + TOO_LONG
    while True:
        run.supervise()
        counts = committed_counts(run.broker.bootstrap)
        done = counts["read"] + _hops(counts)
        sent = asyncio.run(_sent(run.broker.bootstrap))
        if counts["read"] >= sent:  # now it is worth counting hops
            posted, hops = asyncio.run(_hops_and_posted(run.broker.bootstrap))
            if counts["read"] == sent + posted and _hops(counts) == hops:
                return counts
        if done > best:
            best, deadline = done, time.monotonic() + TOO_LONG
        if time.monotonic() > deadline:
            logs = "\n".join(f"{role.name}: {role.end_of()}" for role in run.workers.values())
            raise AssertionError(f"no progress: {counts} of {sent}\n{logs}")
        time.sleep(0.5)


def _hops(counts: Counter[str]) -> int:
    return counts["hops"] + counts["hops_dead"] + counts["hops_repeated"]


def committed_counts(bootstrap: str) -> Counter[str]:
    """The counters of outcomes as the newest markers of all lanes have them."""
    return asyncio.run(_counts(bootstrap))


async def _counts(bootstrap: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    places = [
        TopicPartition(changelog_name(APP, agent), number)
        for agent in AGENTS
        for number in range(PARTITIONS)
    ]
    async with _reader(bootstrap) as consumer:
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        for at in places:
            counts.update(await _newest_note(consumer, at, ends[at]))
    return counts


async def _newest_note(consumer: Any, at: TopicPartition, end: int) -> dict[str, int]:
    """The counters of a lane: its marker ends each transaction, so it lies near the log's end."""
    back = 20
    while end:
        consumer.seek(at, max(0, end - back))
        found: dict[str, int] | None = None
        while await consumer.position(at) < end:
            for one in (await consumer.getmany(at, timeout_ms=200)).get(at, ()):
                if one.key == MARKER_KEY:
                    found = dict(decode_marker(one.value).note["counts"])
        if found is not None or back > end:
            return found or {}
        back *= 10
    return {}


async def _sent(bootstrap: str) -> int:
    """How many records the input topics hold."""
    names = [one.name for one in TOPICS if one.direction == "input"]
    places = [TopicPartition(name, number) for name in names for number in range(PARTITIONS)]
    async with _reader(bootstrap) as consumer:
        return sum((await consumer.end_offsets(places)).values())


async def _hops_and_posted(bootstrap: str) -> tuple[int, int]:
    """What is on the way between the agents: signals that were posted, and the session agent's."""
    count: Counter[bool] = Counter()
    async for one in committed(bootstrap, USER_SIGNALS.name):
        said = dict(one.headers).get("src_offset", b"")
        count[said is not None and said.isdigit()] += 1
    return count[False], count[True]


def _reader(bootstrap: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8_000_000,
    )


async def committed(bootstrap: str, topic: str) -> Any:
    """The committed records of a topic."""
    async with connected(KafkaSettings.plain(bootstrap)) as admin:
        (described,) = await admin.describe_topics([topic])
    places = [TopicPartition(topic, number) for number in range(len(described["partitions"]))]
    async with _reader(bootstrap) as consumer:
        consumer.assign(places)
        ends = await consumer.end_offsets(places)
        while [at for at in places if await consumer.position(at) < ends[at]]:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for one in records:
                    yield one


def problems(run: Deployment, counts: Counter[str], by_file: Path, refused: int) -> list[str]:
    """What is wrong; empty where nothing is. The workers are done, all processes have ended.

    `by_file`: the history of the file runner over the same records. `refused`: how many records
    that must end as dead letters were sent besides.
    """
    ended = turnfold("kafka", "sink", "--bootstrap", run.broker.bootstrap, "--history", run.history,
                      "--name", SINK, "--once", "-o", "json")  # fmt: skip
    if ended.code:
        return [f"the last sink ended with {ended.code}: {ended.err}"]
    return [
        *run.wrong,
        *_law_3(run.history, counts, refused),
        *_each_row_once(run),
        *_law_1(run.history, by_file),
        *_logs(run),
    ]


def _law_3(history: Path, counts: Counter[str], refused: int) -> Iterable[str]:
    try:
        checked(counts)
    except AssertionError:
        yield f"the counters do not add up: {dict(counts)}"
    if counts["dead"] != refused:
        yield f"{counts['dead']} dead, not {refused}"
    kept = {name: _count(history, name) for name in (*SAID, "dead_letters")}
    if sum(kept[name] for name in SAID) != counts["applied"]:
        yield f"{counts['applied']} applied, the history says {kept}"
    if kept["dead_letters"] != counts["dead"] + counts["late"] + counts["hops_dead"]:
        yield f"{counts['dead']} dead, the history has {kept['dead_letters']} dead letters"


def _count(history: Path, table: str) -> int:
    ((found,),) = rows(history, f"SELECT count(*) FROM {table}")
    return int(found)


def _each_row_once(run: Deployment) -> Iterable[str]:
    """Rows of the append-only tables against what the workers wrote, known by its headers."""
    written, repeats = asyncio.run(_written(run.broker.bootstrap))
    run.struck["(rows that workers wrote again)"] += repeats
    for table in TABLES:
        if table not in SNAPSHOT_KEYS and (found := _count(run.history, table)) != written[table]:
            yield f"{table}: {found} rows in the history, workers wrote {written[table]}"
    sql = "SELECT count(*) - count(DISTINCT (src_topic, src_partition, src_offset)) FROM events"
    if rows(run.history, sql) != [(0,)]:
        yield "events: a record has two rows"


async def _written(bootstrap: str) -> tuple[Counter[str], int]:
    """Distinct rows by table, and how many came again (after a torn transaction)."""
    seen: set[int] = set()
    counts: Counter[str] = Counter()
    repeats = 0
    for topic in (HISTORY.name, DEAD_LETTERS.name):
        async for one in committed(bootstrap, topic):
            headers = dict(one.headers)
            table = headers["table"].decode()
            if table in SNAPSHOT_KEYS:
                continue
            known = hash(tuple(headers[name] for name in IDENTITY))
            if known in seen:
                repeats += 1
            else:
                seen.add(known)
                counts[table] += 1
    return counts, repeats


def _law_1(history: Path, by_file: Path) -> Iterable[str]:
    one, other = digest(history), digest(by_file)
    different = [name for name in one["tables"] if one["tables"][name] != other["tables"][name]]
    if one["memory"] != other["memory"]:
        yield f"memory differs from the file runner's: {different}"
    if lost := set(different).intersection(SAID):
        yield f"other than the file runner's: {sorted(lost)}"


def _logs(run: Deployment) -> Iterable[str]:
    """An error has a name and a line; a traceback is a fault of the program, colours are noise."""
    for role in run.roles:
        text = role.file.read_text(errors="replace")
        for sign in ("Traceback", "\x1b["):
            if (at := text.find(sign)) >= 0:
                yield f"{role.name}: {text[max(0, at - 500) : at + 2500]!r}"


def outcomes(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in ("read", *OUTCOMES)}
