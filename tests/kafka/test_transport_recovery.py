"""What a lane does when its standing is odd: fenced, without a changelog."""

import asyncio
import signal

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import NewTopic
from aiokafka.codec import zstd_encode
from aiokafka.errors import KafkaError
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import TopicPartition

from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import QUICK, TIGHT, ZSTD
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.transaction import Transactions
from streams.kafka.transport.interfaces import LaneSettings, Output
from streams.kafka.transport.writer import TransactionFailed, Writer
from tests.kafka.counting import TOO_LONG, Counting, create_known, read_all
from tests.kafka.working import remove
from tests.waiting import WITHIN


def _end(counting: Counting) -> None:
    worker = counting.workers[-1]
    worker.terminate()
    assert worker.wait(WITHIN) == 0


def _fold(counting: Counting, count: int) -> None:
    """So many more records, by a worker that has ended."""
    counting.produce(count)
    counting.start()
    counting.wait_done()
    _end(counting)


def test_offsets_of_the_group_that_trail_do_nobody_harm(counting: Counting) -> None:
    _fold(counting, 1_000)
    asyncio.run(_set_back(counting))
    assert counting.done() == 0
    _fold(counting, 1_000)
    assert counting.totals()["records"] == 1_000
    assert counting.problems() == []


def test_offsets_of_the_group_are_told_though_nothing_comes(counting: Counting) -> None:
    _fold(counting, 1_000)
    asyncio.run(_set_back(counting))
    counting.start()
    counting.wait_done()
    _end(counting)
    assert counting.totals()["records"] == 0


def test_a_transaction_that_nobody_ends_is_told(counting: Counting) -> None:
    _fold(counting, 1_000)
    asyncio.run(_begin_and_vanish(counting))
    assert counting.start().wait(WITHIN) == 3
    assert "was never ended" in counting.log()
    assert f"{counting.changelog}, partition 0" in counting.log()
    assert counting.totals()["transactions"] == 0


async def _begin_and_vanish(counting: Counting) -> None:
    """To a lane this looks like a broker that has lost the end of a transaction."""
    producer = AIOKafkaProducer(
        bootstrap_servers=counting.bootstrap,
        transactional_id=f"{counting.group}-gone",
        transaction_timeout_ms=600_000,
    )
    await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait(counting.changelog, b"never seen", key=b"x", partition=0)
    await producer.client.close()
    producer._closed = True  # nothing left to close, and nothing to warn of


async def _set_back(counting: Counting) -> None:
    """The group's committed offsets back to the beginning, as if nobody had told them."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=counting.bootstrap, group_id=counting.group, enable_auto_commit=False
    )
    async with consumer:
        topics = (counting.clicks, counting.taps)
        at = [TopicPartition(topic, one) for topic in topics for one in range(4)]
        consumer.assign(at)
        await consumer.commit(dict.fromkeys(at, 0))


def test_a_lost_changelog_is_refused(counting: Counting) -> None:
    _fold(counting, 500)
    asyncio.run(_recreate(counting))
    assert counting.start().wait(WITHIN) == 3
    assert "delete the group's offsets" in counting.log()


async def _recreate(counting: Counting) -> None:
    settings = KafkaSettings.plain(counting.bootstrap)
    await remove(settings, counting.changelog)
    async with connected(settings, TOO_LONG) as admin:
        await create_known(admin, NewTopic(counting.changelog, 4, 1))


@pytest.mark.component
def test_a_fenced_lane_that_is_still_the_owner_continues(counting: Counting) -> None:
    counting.start("--max-records", "50")
    counting.wait_for(" ready\n", times=4)
    counting.produce(1_000)
    asyncio.run(_fence(counting, f"{counting.group}-counting-1"))
    counting.produce(1_000)
    counting.wait_done()
    _end(counting)
    assert counting.problems() == []
    assert counting.totals()["failures"] >= 1


async def _fence(counting: Counting, transactional_id: str) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=counting.bootstrap, transactional_id=transactional_id
    )
    await producer.start()
    await producer.stop()


def test_a_lane_takes_no_more_than_it_can_hold(counting: Counting) -> None:
    counting.produce(4_000)
    worker = counting.start("--max-records", "20")
    counting.wait_done()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(WITHIN) == 0
    assert counting.problems() == []
    totals = counting.totals()
    assert totals["paused"] > 0
    assert totals["transactions"] >= 4_000 / 20


@pytest.mark.component
def test_an_output_the_broker_refuses_fails_the_whole_transaction(counting: Counting) -> None:
    async def try_it() -> None:
        writer = Writer(
            f"{counting.group}-x", {"bootstrap_servers": counting.bootstrap}, LaneSettings()
        )
        await writer.start()
        small, large = (Output(counting.counts, 0, b"k", b"x" * size) for size in (10, 2_000_000))
        at = TopicPartition(counting.changelog, 0)
        with pytest.raises(TransactionFailed, match="MessageSizeTooLarge"):
            await writer.commit([small, large], at, [(b"row", b"1")])
        await writer.close(2)
        assert await read_all(counting.bootstrap, counting.counts) == []
        assert await read_all(counting.bootstrap, counting.changelog) == []

    asyncio.run(try_it())


def test_the_position_after_a_transaction_is_the_next_to_read(counting: Counting) -> None:
    async def try_it() -> None:
        writer = Writer(
            f"{counting.group}-y", {"bootstrap_servers": counting.bootstrap}, LaneSettings()
        )
        await writer.start()
        at = TopicPartition(counting.changelog, 0)
        rows = [(b"%d" % number, b"x" * 1_000) for number in range(2_500)]
        written = await writer.commit([], at, rows)
        await writer.close(2)
        read = await read_all(counting.bootstrap, counting.changelog, {0: written.position})
        assert [(one.key, one.value) for one in read] == rows
        assert written.position == read[-1].offset + 1

    asyncio.run(try_it())


def test_the_changelog_is_packed_tighter_than_what_goes_out(counting: Counting) -> None:
    async def try_it() -> None:
        connection = {"bootstrap_servers": counting.bootstrap}
        writer = Writer(f"{counting.group}-w", connection, LaneSettings(compression="zstd"))
        await writer.start()
        words = [b"row %d of %d" % (number * 7_919 % 1_000, number) * 9 for number in range(900)]
        outputs = [Output(counting.counts, 0, word[:9], word) for word in words]
        rows = [(word[:9], word) for word in words]
        written = await writer.commit(outputs, TopicPartition(counting.changelog, 0), rows)
        await writer.close(2)
        assert written.changelog_bytes < 0.9 * (written.bytes - written.changelog_bytes)
        read = await read_all(counting.bootstrap, counting.changelog, {0: written.position})
        assert len(read) == len(rows)

    asyncio.run(try_it())


@pytest.mark.component
def test_a_late_end_is_not_that_of_the_next_transaction(counting: Counting) -> None:
    """What an aiokafka producer does when the answer to its commit is lost: it asks again, and
    the first one then ends whatever came after."""

    async def try_it() -> None:
        at, name = TopicPartition(counting.counts, 0), f"{counting.group}-z"
        connection = {"bootstrap_servers": counting.bootstrap}
        late, next_ = (Transactions(name, connection, 10) for _ in range(2))
        await late.start()
        await _write(late, at, b"aborted")
        await next_.start()  # as a lane does, whatever went wrong
        await _write(next_, at, b"stands")
        with pytest.raises(KafkaError):
            await late.commit()
        with pytest.raises(KafkaError):
            await _write(late, at, b"aborted")
        assert await read_all(counting.bootstrap, counting.counts) == []
        await next_.commit()
        await asyncio.gather(late.close(), next_.close())
        (one,) = await read_all(counting.bootstrap, counting.counts, {0: 3})
        assert one.value == b"stands"

    asyncio.run(try_it())


async def _write(transactions: Transactions, at: TopicPartition, value: bytes) -> None:
    await transactions.load_partitions({at.topic})
    batch = transactions.batch(None, 1_000)
    batch.append(0, None, b"key", value, [])
    await transactions.add([at])
    await transactions.send({at: (batch, 1)})


@pytest.mark.parametrize("level", [QUICK, TIGHT])
def test_zstd_is_told_its_level(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The override in aiokafka_internals.py: what stands behind a batch's header of 61 bytes."""
    packed, plain = (DefaultRecordBatchBuilder(2, codec, 1, 1, 1, 0, 10_000) for codec in (4, 0))
    for number in range(100):
        for batch in (packed, plain):
            batch.append(number, 0, b"key", b"value %d" % (number * 7_919), [])
    records = bytes(plain.build())[61:]
    monkeypatch.setattr(ZSTD, "level", level)
    assert bytes(packed.build())[61:] == zstd_encode(records, level) != zstd_encode(records, 3)
