"""Producers that put keys elsewhere: librdkafka's own way is a CRC32, everybody else's murmur2."""

import asyncio
from pathlib import Path
from zlib import crc32

from aiokafka import AIOKafkaProducer

from tests.command import turnfold
from tests.kafka.counting import PARTITIONS
from tests.kafka.test_worker import lines_of, same_documents, same_memory
from tests.kafka.working import Given, Working, message
from tests.planned import CONVERSATIONS


async def send_by_crc32(working: Working, messages: list[Given]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=working.bootstrap) as producer:
        for topic, key, value, headers in messages:
            to = crc32(key or b"") % PARTITIONS
            topic = working.there(topic)
            await producer.send(topic, value, key, headers=list(headers), partition=to)


def replay(working: Working) -> None:
    done = turnfold("admin", "dlq", "replay", "--from-topic", *working.at, "-o", "json")
    assert done.code == 0, done.err
    working.sent += done.json()["sent"]


def test_records_in_wrong_partitions_are_refused_and_a_replay_puts_them_right(
    working: Working, tmp_path: Path
) -> None:
    working.start()
    working.await_ready()
    sent = [message(line) for line in lines_of(CONVERSATIONS)]
    asyncio.run(send_by_crc32(working, sent))
    working.sent = len(sent)
    first = working.await_done()
    letters = working.dead_letters()
    refused = [one for one in letters if one["reason"] == "wrong_partition"]
    assert len(refused) > len(sent) / 2
    assert all("partitioner=murmur2_random" in one["detail"] for one in refused)
    replay(working)
    second = working.await_done()
    assert second["dead"] == first["dead"] + len(letters) - len(refused)
    same_memory(working, CONVERSATIONS, tmp_path)
    same_documents(working, tmp_path / "by-file")
    replay(working)  # what was replayed is settled: nothing is sent again
    assert working.await_done() == second
