"""One partition of a changelog, followed on a real broker through what may befall it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.admin import RecordsToDelete
from aiokafka.errors import KafkaError, OffsetOutOfRangeError
from aiokafka.structs import TopicPartition

from streams.broker import Broker
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import create
from streams.kafka.client.transaction import Transactions
from streams.kafka.transport import changelog
from streams.kafka.transport.changelog import AWAY, ChangelogChunk, Progress, Replaced, Short
from streams.kafka.transport.changelog_reader import Follower
from streams.kafka.transport.interfaces import LaneSettings
from streams.kafka.transport.lane import Lane
from streams.kafka.transport.marker import MARKER_KEY, Marker, TablePosition
from tests.kafka.counting import read_all
from tests.kafka.counting_worker import Counting, plan
from tests.waiting import eventually

LIMIT = 120.0
numbers = count()

Rows = dict[bytes, bytes]


class Log:
    """A changelog of one partition, and who writes it."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        self.at = TopicPartition(f"followed{next(numbers)}", 0)
        self.log_id = "first"
        self.written = 0

    async def create(self, **config: str) -> None:
        topic = spec(self.at.topic, partitions=1, compacted=True)
        topic = replace(topic, exact={**topic.exact, **config})
        async with connected(self.settings, LIMIT) as admin:
            while self.at.topic not in await create(admin, [topic]):  # one of the name may be going
                await asyncio.sleep(0.1)

    async def delete(self) -> None:
        async with connected(self.settings, LIMIT) as admin:
            await admin.delete_topics([self.at.topic])
            while self.at.topic in await admin.list_topics():
                await asyncio.sleep(0.1)
        self.written = 0

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transactions]:
        made = Transactions(f"{self.at.topic}-writer", self.settings.client(), 60.0)
        await made.start()
        await made.load_partitions([self.at.topic])
        await made.add([self.at])
        yield made
        await made.close()

    async def send(self, transaction: Transactions, rows: Rows) -> None:
        batch = transaction.batch(None, 100_000)
        for number, (key, value) in enumerate(rows.items()):
            batch.append(number, int(time.time() * 1000), key, value, [])
        await transaction.send({self.at: (batch, len(rows))})

    def marked(self, rows: Rows) -> Rows:
        self.written += 1
        marker = Marker({"turns": self.written}, {}, self.log_id, 1)
        return {**rows, MARKER_KEY: marker.encode()}

    async def commit(self, rows: Rows) -> None:
        async with self.transaction() as transaction:
            await self.send(transaction, self.marked(rows))
            await transaction.commit()

    async def abort(self, rows: Rows) -> None:
        async with self.transaction() as transaction:
            await self.send(transaction, self.marked(rows))
            await transaction.abort()
        self.written -= 1


class Table:
    """What is made of a changelog."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.progress = Progress(log.at)
        self.rows: Rows = {}
        self.markers: list[Marker] = []

    def take(self, chunk: ChangelogChunk) -> None:
        for key, value in chunk.rows:
            assert value is not None
            self.rows[key] = value
        self.markers += [marker for _, marker in chunk.markers]

    async def restore(self) -> None:
        """As a lane does: what is committed is there a moment later."""
        self.progress.restored = False
        while not self.progress.restored:
            with suppress(Short):
                await self.read()

    async def read(self) -> None:
        """Raises Short where not all of it is committed."""
        self.progress.restored = False
        async with Follower(self.log.settings.client(), 1_000) as follower:
            async for _, chunk in follower.read([self.progress]):
                self.take(chunk)

    async def follow(self, until: Callable[[], bool], records: int = 1_000) -> None:
        """As a standby and a replica do: another consumer where one failed."""
        async with asyncio.timeout(LIMIT):
            while True:
                try:
                    async with (
                        Follower(self.log.settings.client(), records) as follower,
                        aclosing(follower.read([self.progress], for_ever=True)) as reading,
                    ):
                        async for _, chunk in reading:
                            self.take(chunk)
                            if until():
                                return
                except (KafkaError, Short):
                    await asyncio.sleep(0.1)


async def on_a_log(broker: Broker, **config: str) -> tuple[Log, Table]:
    log = Log(KafkaSettings.plain(broker.bootstrap))
    await log.create(**config)
    return log, Table(log)


async def test_a_restore_ends_behind_the_last_transactions_control_record(broker: Broker) -> None:
    log, table = await on_a_log(broker)
    await log.commit({b"a": b"1", b"b": b"1"})
    await log.commit({b"a": b"2"})
    await table.restore()
    assert table.rows == {b"a": b"2", b"b": b"1"}
    assert table.progress.position == table.progress.end == 7
    assert table.progress.standing.position == 6, "behind the marker"


async def test_an_empty_changelog_is_restored_at_once(broker: Broker) -> None:
    _, table = await on_a_log(broker)
    await table.restore()
    assert table.progress.restored and table.rows == {}


async def test_a_transaction_that_was_aborted_is_passed_over(broker: Broker) -> None:
    log, table = await on_a_log(broker)
    await log.commit({b"a": b"1"})
    await log.abort({b"a": b"aborted", b"b": b"aborted"})
    await table.restore()
    assert table.rows == {b"a": b"1"}
    await log.abort({b"c": b"aborted"})
    await log.commit({b"a": b"2"})
    await table.restore()
    assert table.rows == {b"a": b"2"}
    assert [one.offsets["turns"] for one in table.markers] == [1, 1, 2]


@pytest.mark.parametrize("before", [0, 2], ids=["an empty log", "a log with a past"])
async def test_who_follows_sees_a_transaction_whole_or_not_at_all(
    broker: Broker, before: int
) -> None:
    """Although the records come one by one. What was there before makes the table whole step by
    step: nobody reads it until then."""
    log, table = await on_a_log(broker)

    async def commit(wave: int) -> None:
        await log.commit({b"%d %d" % (number, wave): b"row" for number in range(5)})

    for wave in range(before):
        await commit(wave)
    seen: list[tuple[bool, int]] = []

    def until() -> bool:
        seen.append((table.progress.restored, len(table.rows)))
        return len(table.markers) == before + 3

    following = asyncio.create_task(table.follow(until, records=1))
    await eventually(lambda: table.progress.restored)
    for wave in range(before, before + 3):
        await commit(wave)
    await following
    whole = [rows for restored, rows in seen if restored]
    assert set(whole) == {5 * (before + wave) for wave in range(4)}
    assert whole == sorted(whole)
    in_parts = [rows for restored, rows in seen if not restored]
    assert set(in_parts) - {0} == set(range(1, 5 * before + 1))


async def test_a_follower_that_comes_while_a_transaction_is_written_sees_no_part_of_it(
    broker: Broker,
) -> None:
    log, table = await on_a_log(broker)
    async with log.transaction() as transaction:
        rows = {b"%d" % number: b"row" for number in range(5)}
        await log.send(transaction, log.marked(rows))
        seen: list[int] = []

        def until() -> bool:
            assert table.progress.restored, "nothing is committed yet"
            seen.append(len(table.rows))
            return bool(table.markers)

        following = asyncio.create_task(table.follow(until, records=1))
        await eventually(lambda: len(seen) > 3)
        await transaction.commit()
        await following
    assert set(seen) == {0, 5}


async def test_what_is_not_committed_is_not_seen_and_holds_up_a_restore(broker: Broker) -> None:
    log, table = await on_a_log(broker)
    await log.commit({b"a": b"1"})
    async with log.transaction() as transaction:
        await log.send(transaction, log.marked({b"a": b"2"}))
        with pytest.raises(Short):
            await table.read()
        await table.follow(lambda: table.progress.restored)
        assert table.rows == {b"a": b"1"}
        await transaction.commit()
    await table.follow(lambda: table.rows == {b"a": b"2"})
    await table.restore()


async def test_a_table_continues_where_it_stood_and_proves_the_place_by_a_marker(
    broker: Broker,
) -> None:
    log, table = await on_a_log(broker)
    await log.commit({b"%d" % number: b"1" for number in range(100)})
    await table.restore()
    later = Table(log)
    later.progress = Progress(log.at, table.progress.standing)  # as from a disk
    await later.restore()
    assert later.rows == {} and len(later.markers) == 1
    await log.commit({b"new": b"1"})
    await later.restore()
    assert later.rows == {b"new": b"1"}


async def test_a_start_that_has_moved_is_where_a_new_table_begins(broker: Broker) -> None:
    log, table = await on_a_log(broker, **{"cleanup.policy": "compact,delete"})
    await log.commit({b"a": b"1"})  # offsets 0 to 2
    await log.commit({b"b": b"1"})
    async with connected(log.settings, LIMIT) as admin:
        await admin.delete_records({log.at: RecordsToDelete(3)})
    await table.restore()
    assert table.rows == {b"b": b"1"}
    assert table.progress.first == 3


async def test_a_start_that_has_moved_beyond_a_table_makes_it_again(broker: Broker) -> None:
    log, table = await on_a_log(broker, **{"cleanup.policy": "compact,delete"})
    await log.commit({b"a": b"1"})
    await table.restore()
    for value in (b"1", b"2"):
        await log.commit({b"b": value})
    async with connected(log.settings, LIMIT) as admin:
        await admin.delete_records({log.at: RecordsToDelete(6)})
    with pytest.raises(Replaced, match="begins at 6, was read up to 2"):
        await table.restore()
    anew = Table(log)
    await anew.restore()
    assert anew.rows == {b"b": b"2"}


async def test_a_start_that_moves_away_under_a_follower_is_told(broker: Broker) -> None:
    """It was away meanwhile, so the broker says that its offset is out of range."""
    log, table = await on_a_log(broker, **{"cleanup.policy": "compact,delete"})
    await log.commit({b"a": b"1"})
    await table.restore()
    async with (
        Follower(log.settings.client(), 1_000) as follower,
        aclosing(follower.read([table.progress], for_ever=True)) as reading,
    ):
        await anext(reading)
        follower._consumer.pause(log.at)
        for value in (b"1", b"2", b"3"):
            await log.commit({b"b": value})
        async with connected(log.settings, LIMIT) as admin:
            await admin.delete_records({log.at: RecordsToDelete(9)})
        follower._consumer.resume(log.at)
        with pytest.raises(OffsetOutOfRangeError):
            async for _ in reading:
                pass
    with pytest.raises(Replaced, match="begins at 9"):
        await table.follow(lambda: False)


@pytest.mark.nightly
async def test_a_marker_that_compaction_took_is_followed_by_a_newer_one(broker: Broker) -> None:
    log, table = await on_a_log(
        broker,
        **{
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.01",
            "delete.retention.ms": "100",
        },
    )
    await log.commit({b"a": b"1", b"b": b"1"})
    await table.restore()
    stood = table.progress.standing.marker_at
    deadline = time.monotonic() + 2 * LIMIT
    while True:  # the segment that is written to is not compacted
        await log.commit({b"a": b"%d" % log.written, b"c": b"1"})
        records = await read_all(log.settings.bootstrap, log.at.topic)
        if stood not in [one.offset for one in records if one.key == MARKER_KEY]:
            break
        assert time.monotonic() < deadline, "nothing was compacted"
        await asyncio.sleep(1)
    whole = {one.key: one.value for one in records if one.key != MARKER_KEY}
    anew = Table(log)
    for one in (table, anew):
        await one.restore()
        assert one.rows == whole


@pytest.mark.parametrize("transactions", [1, 5], ids=["shorter", "longer"])
async def test_another_changelog_of_the_same_name_makes_a_table_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, transactions: int
) -> None:
    """By its markers, or because it stays shorter."""
    monkeypatch.setattr(changelog, "WHOLE_WITHIN", 1.0)
    log, table = await on_a_log(broker)
    for value in (b"1", b"2", b"3"):
        await log.commit({b"a": value})
    await table.restore()
    await log.delete()
    await log.create()
    log.log_id = "second"
    for _ in range(transactions):
        await log.commit({b"b": b"1"})
    started = time.monotonic()
    with pytest.raises(Replaced) as told:
        await table.follow(lambda: False)
    assert told.value.at == log.at
    assert table.rows == {b"a": b"3"}, "nothing of the other one was taken"
    if transactions == 1:
        assert "ends at 3, was read up to 8" in str(told.value)
        assert time.monotonic() - started >= 1.0
    else:
        assert "marker of another changelog" in str(told.value)


async def test_a_changelog_that_was_cut_and_written_on_makes_a_table_again(broker: Broker) -> None:
    """The same log by its id, as after a broker lost its end: other transactions lie there now."""
    log, table = await on_a_log(broker)
    await log.commit({b"a": b"1"})
    await log.commit({b"a": b"2"})
    await table.restore()
    await log.delete()
    await log.create()
    await log.commit({b"a": b"1", b"b": b"1"})
    for _ in range(3):
        log.written = 0
        await log.commit({b"c": b"1"})
    with pytest.raises(Replaced, match="of one that was cut"):
        await table.follow(lambda: False)


async def test_a_changelog_without_the_markers_that_were_read_makes_a_table_again(
    broker: Broker,
) -> None:
    log, table = await on_a_log(broker)
    await log.commit({b"a": b"1"})
    await table.restore()
    await log.delete()
    await log.create()
    async with log.transaction() as transaction:
        await log.send(transaction, {b"%d" % number: b"" for number in range(9)})
        await transaction.commit()
    with pytest.raises(Replaced, match="has no marker from offset 1 on"):
        await table.restore()


async def test_a_table_that_was_away_for_long_is_made_again_if_there_is_news(
    broker: Broker,
) -> None:
    """Brokers keep a tombstone for a day: later its row would stay for ever."""
    log, table = await on_a_log(broker)
    await log.commit({b"a": b"1"})
    await table.restore()
    old = table.progress.standing
    old = TablePosition(old.position, {}, old.marker, old.marker_at, time.time() - AWAY - 1)
    table.progress = Progress(log.at, old)
    await table.restore()
    table.progress = Progress(log.at, old)
    await log.commit({b"a": b"2"})
    with pytest.raises(Replaced, match="deletions may be missing"):
        await table.restore()
    assert table.rows == {b"a": b"1"}


async def test_a_standby_takes_the_rows_of_a_changelog_that_was_created_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changelog, "WHOLE_WITHIN", 1.0)
    log, _ = await on_a_log(broker)
    await log.commit({b"k1\0h": b"1"})
    await log.commit({b"k2\0h": b"1"})
    owner: Any = SimpleNamespace(
        settings=LaneSettings(max_backoff=0.2),
        source=SimpleNamespace(connection=log.settings.client()),
    )
    lane = Lane(replace(plan("g"), changelog=log.at.topic), log.at.partition, owner)
    assert isinstance(lane.processor, Counting)
    held = lane.processor.table
    lane.follow()
    await eventually(lambda: held == {b"k1": 1, b"k2": 1})
    await log.delete()
    await log.create()
    log.log_id = "second"
    await log.commit({b"k3\0h": b"1"})
    await eventually(lambda: held == {b"k3": 1})
    await lane.stop()


@pytest.fixture
def short_lived() -> Iterator[Broker]:
    with Broker.start(short_lived=True) as started:
        yield started


@pytest.mark.nightly
@pytest.mark.parametrize("records", [1, 1_000], ids=["one by one", "all at once"])
async def test_a_broker_that_is_killed_and_comes_back_is_followed_on(
    short_lived: Broker, records: int
) -> None:
    log, table = await on_a_log(short_lived)
    await log.commit({b"before": b"1"})
    following = asyncio.create_task(table.follow(lambda: b"after" in table.rows, records=records))
    await eventually(lambda: b"before" in table.rows)
    await log.commit({b"last": b"1"})
    await asyncio.to_thread(short_lived.nodes[0].kill)
    await asyncio.sleep(2)
    assert not following.done(), "it waits"
    await asyncio.to_thread(short_lived.nodes[0].start)
    await asyncio.to_thread(short_lived.await_ready)
    await log.commit({b"after": b"1"})
    await following
    assert table.rows == {b"before": b"1", b"last": b"1", b"after": b"1"}
    assert [one.offsets["turns"] for one in table.markers if one][-3:] == [1, 2, 3]
    await table.restore()
