"""What a lane does when its standing is odd: torn, fenced, without a changelog (design 05)."""

import asyncio
import signal
from types import SimpleNamespace

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import ConcurrentTransactions
from aiokafka.producer import sender
from aiokafka.structs import TopicPartition

from streams.kafka.marker import MARKER_KEY, Marker, decode
from streams.kafka.processing import LaneSettings, Output
from streams.kafka.writer import TransactionFailed, Writer
from tests.kafka.counting import Counting, read_all
from tests.kafka.counting_worker import HEAD


def _end(counting: Counting) -> None:
    worker = counting.workers[-1]
    worker.terminate()
    assert worker.wait(10) == 0


async def _tear(counting: Counting) -> None:
    """Writes rows and marker of one more batch, as if its outputs and offsets had been lost: the
    marker says that a record was read that nobody has counted, its row says so too."""
    records = await read_all(counting.bootstrap, counting.changelog)
    newest = [one for one in records if one.partition == 0 and one.key == MARKER_KEY][-1]
    marker = decode(newest.value)
    table = {one.key: one.value for one in records if one.partition == 0}
    rest = [
        one
        for one in await read_all(counting.bootstrap, counting.clicks)
        if one.partition == 0 and one.offset >= marker.offsets[counting.clicks]
    ]
    first = rest[0]
    count = int(table.get(first.key + HEAD, 0)) + 1
    offsets = {**marker.offsets, counting.clicks: first.offset + 1}
    torn = Marker(offsets, {"seen": marker.note["seen"] + 1}).encode()
    producer = AIOKafkaProducer(
        bootstrap_servers=counting.bootstrap, transactional_id=f"{counting.group}-tears"
    )
    async with producer, producer.transaction():
        await producer.send(counting.changelog, b"%d" % count, first.key + HEAD, partition=0)
        await producer.send(counting.changelog, torn, MARKER_KEY, partition=0)


def test_a_torn_transaction_is_done_again(counting: Counting) -> None:
    counting.produce(1_000)
    counting.start()
    counting.wait_done()
    _end(counting)
    counting.produce(1_000)
    asyncio.run(_tear(counting))
    counting.start()
    counting.wait_done()
    _end(counting)
    assert "a torn transaction" in counting.log()
    # the batch done again may be cut otherwise, and its marker then stand before the torn one
    assert set(counting.problems()) <= {"offsets went back 1 times"}


def test_a_lost_changelog_is_refused(counting: Counting) -> None:
    counting.produce(500)
    counting.start()
    counting.wait_done()
    _end(counting)
    asyncio.run(_recreate(counting))
    assert counting.start().wait(30) == 3
    assert "delete the group's offsets" in counting.log()


async def _recreate(counting: Counting) -> None:
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    admin = AIOKafkaAdminClient(bootstrap_servers=counting.bootstrap)
    await admin.start()
    await admin.delete_topics([counting.changelog])
    await asyncio.sleep(1)
    await admin.create_topics([NewTopic(counting.changelog, 4, 1)])
    await admin.close()


def test_a_fenced_lane_that_is_still_the_owner_goes_on(counting: Counting) -> None:
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
    assert worker.wait(10) == 0
    assert counting.problems() == []
    totals = counting.totals()
    assert totals["paused"] > 0
    assert totals["transactions"] >= 4_000 / 20


def test_an_output_the_broker_refuses_fails_the_whole_transaction(counting: Counting) -> None:
    async def try_it() -> None:
        writer = Writer(
            f"{counting.group}-x", counting.group,
            {"bootstrap_servers": counting.bootstrap}, LaneSettings(),
        )  # fmt: skip
        await writer.start()
        small, large = (Output(counting.counts, 0, b"k", b"x" * size) for size in (10, 2_000_000))
        at, source = TopicPartition(counting.changelog, 0), TopicPartition(counting.clicks, 0)
        with pytest.raises(TransactionFailed, match="MessageSizeTooLarge"):
            await writer.commit([small, large], at, [(b"row", b"1")], {source: 1})
        await writer.close(2)
        assert await read_all(counting.bootstrap, counting.counts) == []
        assert await read_all(counting.bootstrap, counting.changelog) == []

    asyncio.run(try_it())


def test_the_position_after_a_transaction_is_the_next_to_read(counting: Counting) -> None:
    async def try_it() -> None:
        writer = Writer(
            f"{counting.group}-y", counting.group,
            {"bootstrap_servers": counting.bootstrap}, LaneSettings(),
        )  # fmt: skip
        await writer.start()
        at, source = TopicPartition(counting.changelog, 0), TopicPartition(counting.clicks, 0)
        rows = [(b"%d" % number, b"x" * 1_000) for number in range(2_500)]
        written = await writer.commit([], at, rows, {source: 1})
        await writer.close(2)
        read = await read_all(counting.bootstrap, counting.changelog)
        assert [(one.key, one.value) for one in read] == rows
        assert written.position == read[-1].offset + 1
        assert written.records == 2_500

    asyncio.run(try_it())


def test_aiokafka_still_waits_as_long_as_this_name_says() -> None:
    """The override in writer.py: what the installed version waits when a transaction follows hard
    on the last (its coordinator says CONCURRENT_TRANSACTIONS)."""
    at = TopicPartition("counts", 0)
    producer = SimpleNamespace(
        _retry_backoff=0.1, _txn_manager=SimpleNamespace(txn_partitions=set())
    )
    answer = SimpleNamespace(errors=[(at.topic, [(at.partition, ConcurrentTransactions.errno)])])
    handler = sender.AddPartitionsToTxnHandler(producer, [at])
    assert handler.handle_response(answer) == sender.BACKOFF_OVERRIDE == 0.001
