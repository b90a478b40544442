"""Quotas of workers on a real broker: a tenant within its quota does not wait for one beyond it.

That is measured by how many records of the other are folded before. Nothing is lost or doubled, and
memory is the file runner's.
"""

import asyncio
import json
import signal
import time
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import RecordsToDelete
from aiokafka.structs import TopicPartition

from sinks.digest import digest
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.transport import throttled_tenants
from streams.quota import BURST_SECONDS
from streams.topology import HISTORY, SESSION_AGENT, TURNS, USER_SIGNALS
from tests.acceptance import sgd
from tests.command import environment, ndjson, turn, turnfold
from tests.kafka.counting import PARTITIONS
from tests.kafka.test_worker import lines_of, same_memory
from tests.kafka.working import TOO_LONG, Working, message
from tests.shared_data import SGD, shared
from tests.waiting import WITHIN

pytestmark = pytest.mark.nightly
MANY, FEW = 12_000, 200
RATE = 20
BATCH = 50


def behind(working: Working) -> list[dict[str, Any]]:
    """What the markers of lanes say whose tenants are behind."""
    notes = working.notes()[SESSION_AGENT.name]
    return [note[throttled_tenants.NOTED] for note in notes if throttled_tenants.NOTED in note]


def await_behind(working: Working) -> None:
    deadline = time.monotonic() + TOO_LONG
    while len(behind(working)) < PARTITIONS:
        assert time.monotonic() < deadline, working.log()[-3000:]
        time.sleep(0.1)


def before_the_last(records: list[Any], tenant: str) -> dict[int, int]:
    """By partition: how many records of others come before the last one of a tenant."""
    others: Counter[int] = Counter()
    found = {}
    for record in records:
        if record.key.startswith(f"{tenant}/".encode()):
            found[record.partition] = others[record.partition]
        else:
            others[record.partition] += 1
    return found


def test_a_tenant_within_its_quota_does_not_wait_for_one_beyond_it(
    working: Working, tmp_path: Path
) -> None:
    said = list(islice(sgd.records(shared(*SGD)), MANY + FEW))
    records = [
        one | {"tenant": "noisy" if number < MANY else "quiet"} for number, one in enumerate(said)
    ]
    file = ndjson(tmp_path / "records.ndjson", records)
    asyncio.run(ensure_topics(working.settings))
    working.send(message(line) for line in lines_of(file))
    given = working.read(TURNS.name)
    waiting = before_the_last(given, "quiet")
    assert len(waiting) == PARTITIONS and min(waiting.values()) > MANY / PARTITIONS / 2
    times: defaultdict[int, list[int]] = defaultdict(list)
    for one in given:
        times[one.partition].append(one.timestamp)

    quotas = {"noisy": {"records": RATE}}
    env = environment(**working.kafka, TURNFOLD_WORKER_QUOTAS=json.dumps(quotas))
    few = ("--instance", "a", "--max-records", str(BATCH))
    working.start(*few, env=env)
    working.await_ready()
    await_behind(working)
    working.kill()
    working.start(*few, env=env)
    working.await_ready()
    assert {name for said in behind(working) for name in said["behind"]} == {"noisy"}
    # until all of the quiet tenant is folded, however much of the other is left
    deadline = time.monotonic() + TOO_LONG
    while sum(one.key.startswith(b"quiet/") for one in events(working)) < FEW:
        assert time.monotonic() < deadline, working.log()[-3000:]
        time.sleep(0.3)
    found = before_the_last(events(working), "quiet")
    for partition, others in found.items():
        seconds = (times[partition][-1] - times[partition][0]) / 1000
        # its quota, and of what was set aside a ninth of all batches
        allowed = RATE * (BURST_SECONDS + seconds) + waiting[partition] / 8 + 4 * BATCH
        assert others <= allowed < waiting[partition] / 2, (others, allowed)
    hops = before_the_last([one for one in working.read(USER_SIGNALS.name) if one.key], "quiet")
    assert sum(hops.values()) < sum(waiting.values()), "nor is a user's memory late"

    working.workers[-1].send_signal(signal.SIGTERM)
    assert working.workers[-1].wait(WITHIN) == 0
    if behind(working):
        refuses_to_repartition(working)
    working.start("--instance", "a")  # and without quotas: what is behind is folded all the same
    counts = working.await_done()
    assert counts["applied"] == counts["read"] == MANY + FEW
    assert counts["hops_repeated"] == 0
    assert not behind(working)
    same_memory(working, file, tmp_path)
    one, other = digest(tmp_path / "by-file"), digest(tmp_path / "by-kafka")
    assert one["tables"] == other["tables"]


def events(working: Working) -> list[Any]:
    """The rows of events, in the order in which they were folded."""
    rows = working.read(HISTORY.name)
    return [one for one in rows if dict(one.headers)["table"] == b"events"]


def refuses_to_repartition(working: Working) -> None:
    reached = working.at
    lag = turnfold("kafka", "lag", *reached, "-o", "json")
    assert lag.code == 0 and sum(one["lag"] for one in lag.json()) > 0
    done = turnfold("kafka", "repartition", "--yes", *reached, "--to", str(2 * PARTITIONS))
    assert done.code == 3
    assert "beyond their quota are not folded yet" in done.err


def test_what_retention_takes_of_a_tenant_that_is_behind_holds_up_nobody(working: Working) -> None:
    asyncio.run(ensure_topics(working.settings))
    working.send(said_by("noisy", 1_200))
    env = environment(**working.kafka, TURNFOLD_WORKER_QUOTAS=json.dumps({"noisy": {"records": 1}}))
    few = ("--instance", "a", "--max-records", "5")
    working.start(*few, env=env)
    working.await_ready()
    await_behind(working)
    working.kill()
    asyncio.run(deleted(working.settings))
    lost = len(events(working))
    working.send(said_by("quiet", 40))
    working.start(*few, env=env)
    deadline = time.monotonic() + TOO_LONG
    while sum(one.key.startswith(b"quiet/") for one in events(working)) < 40:
        assert time.monotonic() < deadline, working.log()[-3000:]
        time.sleep(0.3)
    assert lost < 1_200 and not behind(working)


def said_by(tenant: str, count: int) -> list[Any]:
    """Turns of a tenant, in as many sessions."""
    return [
        message(
            json.dumps(
                turn(f"{tenant}-{number}", tenant=tenant, session_id=f"{tenant}-{number}")
            ).encode()
        )
        for number in range(count)
    ]


async def deleted(settings: KafkaSettings) -> None:
    """All turns, as retention does it."""
    async with connected(settings) as admin:
        parts = [TopicPartition(TURNS.name, number) for number in range(PARTITIONS)]
        await admin.delete_records({at: RecordsToDelete(-1) for at in parts})
