"""`serve --store rocksdb` over real workers: killed, restarted, refused, full, damaged."""

import asyncio
import random
import shutil
import time
from collections import defaultdict
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from streams.folds import documents, learner
from streams.kafka.agents.agents import changelogs
from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.topic_names import changelog_name
from streams.kafka.client.topics import check, create
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.marker import MARKER_KEY, Marker
from streams.serving.backends.backend import NotReady
from streams.serving.backends.replica import ReplicaBackend
from streams.serving.backends.replica_disk import DiskStore
from streams.topology import AGENTS
from tests.command import start
from tests.fault.disk import small_disk
from tests.kafka.counting import PARTITIONS
from tests.kafka.test_serve_replica import plan, turn
from tests.kafka.working import APP, Working, message, remove
from tests.serving.serving import serving, url_of
from tests.waiting import WITHIN, eventually, until

Rows = dict[bytes, bytes]
numbers = count()
PLACE = f"{APP}+{PARTITIONS}"


def said(session: str, events: int, size: int = 10) -> list[Any]:
    """Turns of so many bytes and more, and what each says about a user of its own."""
    words = random.Random(session).randbytes(size // 2).hex()
    return [
        message(line)
        for number in range(events)
        for line in (
            turn(session, f"{session}-{number}", user_id=f"{session}-{number % 5}",
                 user_input=f"{number} {words}"),
            plan(f"{session}-{number % 5}", f"{session}-{number}"),
        )
    ]  # fmt: skip


def on_disk(lasting: Working, data: Path) -> list[str | Path]:
    return [*lasting.at, "--store", "rocksdb", "--data", data]


def folded(lasting: Working) -> dict[str, list[Any]]:
    """The records of each changelog partition, in order."""
    found: dict[str, list[Any]] = defaultdict(list)
    for agent in AGENTS:
        name = changelog_name(APP, agent)
        for one in lasting.read(name):
            found[f"{name}-{one.partition}"].append(one)
    return found


def at_rest(lasting: Working, data: Path, copies: Path) -> dict[str, int]:
    """Where the rows of each lane stand; they must be the changelog up to there, and a whole number
    of its transactions."""
    logs = folded(lasting)
    stands: dict[str, int] = {}
    for folder in sorted((data / PLACE).iterdir()):
        copy = copies / f"copy-{next(numbers)}"
        shutil.copytree(folder, copy)
        rows = DiskRows(copy)
        with suppress(OSError):  # left in the middle of its first restore
            standing = rows._open()
            expected: Rows = {}
            for one in logs[folder.name]:
                if one.offset < standing.position and one.key != MARKER_KEY:
                    expected.pop(one.key, None)
                    if one.value is not None:
                        expected[one.key] = one.value
            assert held(rows) == expected, folder.name
            before = [one.offset for one in logs[folder.name] if one.offset < standing.position]
            if before and standing.marker_at >= 0:
                ends = {one.offset for one in logs[folder.name] if one.key == MARKER_KEY}
                assert before[-1] in ends, "half a transaction"
            stands[folder.name] = standing.position
        rows.close()
    return stands


def held(rows: DiskRows) -> Rows:
    return {
        where + b"\0" + name.encode(): value
        for where in rows.keys(b"")
        if where  # not what says where they stand
        for name, value in rows.read(where).items()
    }


async def all_documents(memory: ReplicaBackend, sessions: list[str]) -> dict[str, Any]:
    await eventually(lambda: memory.readiness().ready)
    found: dict[str, Any] = {}
    for session in sessions:
        found[session] = documents.session(*await memory.rows("sessions", "default", session))
        for number in range(5):
            user = f"{session}-{number}"
            rows, rules = await memory.rows("users", "default", user)
            found[user] = learner.document(rows, rules, user), sorted(rows.names(""))
    return found


def same_as_in_memory(lasting: Working, data: Path, sessions: list[str]) -> dict[Any, int]:
    """A replica over the folder tells the same as one that restores in memory. From which offset
    the first one read each partition."""

    async def compare() -> dict[Any, int]:
        kafka = lasting.settings
        async with (
            ReplicaBackend(kafka, APP, store=DiskStore(data)) as disk,
            ReplicaBackend(kafka, APP) as memory,
        ):
            expected = await all_documents(memory, sessions)
            assert len(expected[sessions[0]]["conversations"]) > 0
            assert await all_documents(disk, sessions) == expected
            lanes = disk.tables._following.lanes.values()
            return {f"{lane.at.topic}-{lane.at.partition}": lane.progress.first for lane in lanes}

    return asyncio.run(compare())


@pytest.mark.nightly
def test_killed_at_any_moment_it_continues_from_its_rows(lasting: Working, tmp_path: Path) -> None:
    """While it restores, and while it follows what workers fold; each time its rows are a whole
    number of transactions."""
    data, chance = tmp_path / "rows", random.Random(5)
    sessions = [f"killed-{number}" for number in range(12)]
    lasting.send(one for session in sessions[:4] for one in said(session, 60))
    lasting.await_done()
    killed: list[dict[str, int]] = []
    for session in sessions[4:]:
        process = start("serve", "--port", "0", "-o", "json", *on_disk(lasting, data))
        try:
            url_of(process)
            time.sleep(chance.uniform(0, 1.5))
            for at in range(0, 120, 20):
                lasting.send(said(session, 60)[at : at + 20])
                time.sleep(chance.uniform(0, 0.1))
        finally:
            process.kill()
            process.communicate()
        killed.append(at_rest(lasting, data, tmp_path))
    lasting.await_done()
    for before, after in pairwise(killed):
        assert all(after.get(lane, 0) >= position for lane, position in before.items())
    assert len({sum(one.values()) for one in killed}) > 2, "they were killed at different places"
    first = same_as_in_memory(lasting, data, sessions)
    ends = {name: records[-1].offset + 1 for name, records in folded(lasting).items()}
    read = sum(ends[name] - max(first[name], 0) for name in ends)
    assert read < sum(ends.values()) / 2, "it did not read all again"
    at_rest(lasting, data, tmp_path)


def test_it_tells_what_a_replica_in_memory_tells(lasting: Working, tmp_path: Path) -> None:
    """As it follows, and after a restart, which reads the newest marker of each partition alone."""
    name = f"same-{next(numbers)}"
    lasting.send(said(name, 5))
    lasting.await_done()
    same_as_in_memory(lasting, tmp_path, [name])
    ends = {
        lane: max((one.offset for one in records if one.key == MARKER_KEY), default=0)
        for lane, records in folded(lasting).items()
    }
    first = same_as_in_memory(lasting, tmp_path, [name])
    assert {lane: first[lane] for lane in ends} == ends


def refused(*args: str | Path) -> str:
    process = start("serve", "--port", "0", "-o", "json", *args)
    try:
        _, error = process.communicate(timeout=WITHIN)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 3, error.decode()
    assert "Traceback" not in error.decode()
    return error.decode()


@pytest.mark.nightly
def test_a_folder_of_another_server_is_refused(lasting: Working, tmp_path: Path) -> None:
    """One that runs, one of another app id, and one that is no server's."""
    data = tmp_path / "rows"
    with serving(*on_disk(lasting, data)) as server:
        server.until("/readyz", 200)
        assert "another server has it" in refused(*on_disk(lasting, data))
    assert "app id another" in refused(*on_disk(lasting, data), "--app-id", "another")
    assert "a folder of its own" in refused(*on_disk(lasting, tmp_path))
    file = tmp_path / "file"
    file.touch()
    assert "can write" in refused(*on_disk(lasting, file))
    with serving(*on_disk(lasting, data)) as server:
        server.until("/readyz", 200)


def test_a_lane_that_cannot_be_opened_yet_is_waited_for(lasting: Working, tmp_path: Path) -> None:
    """And those before it are opened once."""
    kafka = lasting.settings
    lane = tmp_path / PLACE / f"{changelog_name(APP, AGENTS[1])}-1"

    async def run() -> None:
        async with ReplicaBackend(kafka, APP, store=DiskStore(tmp_path)) as memory:
            await eventually(lambda: memory.readiness().ready)
        other = DiskRows(lane)
        other.open()
        async with ReplicaBackend(kafka, APP, store=DiskStore(tmp_path)) as memory:
            await eventually(lambda: "rows on disk" in memory.readiness().about)
            assert str(tmp_path) not in memory.readiness().about
            other.close()
            await eventually(lambda: memory.readiness().ready)

    asyncio.run(run())


def test_rows_that_are_damaged_while_it_runs_are_read_again(
    lasting: Working, tmp_path: Path
) -> None:
    """A request gets 503, never a session that is not there; soon it is there again."""
    name = f"damaged-{next(numbers)}"
    lasting.send(said(name, 10, size=9_000))  # in blocks of their own
    lasting.await_done()
    before = same_as_in_memory(lasting, tmp_path, [name])
    for folder in (tmp_path / PLACE).iterdir():
        rows = DiskRows(folder)
        rows.open()
        rows.compact()
        rows.close()

    async def run() -> None:
        kafka = lasting.settings
        async with ReplicaBackend(kafka, APP, store=DiskStore(tmp_path)) as memory:
            await eventually(lambda: memory.readiness().ready)
            for file in (tmp_path / PLACE).glob("*/*.sst"):
                file.write_bytes(random.Random(1).randbytes(file.stat().st_size))
            with pytest.raises(NotReady):
                await memory.rows("sessions", "default", name)
            assert not memory.readiness().ready
            assert str(tmp_path) not in memory.readiness().about
            await eventually(lambda: memory.readiness().ready)
            assert len((await all_documents(memory, [name]))[name]["conversations"]) > 0

    asyncio.run(run())
    after = same_as_in_memory(lasting, tmp_path, [name])
    assert after.keys() == before.keys()


def test_a_changelog_made_again_leaves_nothing_on_disk(lasting: Working, tmp_path: Path) -> None:
    """What it had said is in no file, while it is followed and after a restart."""
    settings = lasting.settings
    specs = changelogs("erased", settings.partitions)
    words = b"the heron on the roof"

    def files() -> list[str]:
        return [one.name for one in tmp_path.rglob("*") if one.is_file()
                and words in one.read_bytes()]  # fmt: skip

    async def make() -> None:
        async with connected(settings, WITHIN) as admin:
            await create(admin, specs)
            await check(admin, specs, WITHIN)

    async def write(log: str, value: bytes) -> None:
        async with KafkaProducer(transactional_id=log, **settings.client()) as producer:
            for number in range(4):
                reached = Marker({"turns": number + 1}, {"ends": {}}, log, settings.partitions)
                marker = reached.encode()
                async with producer.transaction():
                    key = b"s\0default\0%d\0i/0" % number
                    await producer.send(specs[0].name, value, key, partition=2)
                    await producer.send(specs[0].name, marker, MARKER_KEY, partition=2)

    async def run() -> None:
        await make()
        await write("first", words)
        async with ReplicaBackend(settings, "erased", store=DiskStore(tmp_path)) as memory:
            await eventually(lambda: memory.readiness().ready)
            assert files()
        await remove(settings, specs[0].name)
        await make()
        await write("second", b"another")
        async with ReplicaBackend(settings, "erased", store=DiskStore(tmp_path)) as memory:
            await eventually(lambda: memory.readiness().ready)
            assert files() == []

    asyncio.run(run())


@pytest.mark.nightly
def test_a_full_disk_ends_the_server_and_loses_nothing(lasting: Working, tmp_path: Path) -> None:
    name = f"full-{next(numbers)}"
    with small_disk(tmp_path / "disk", 16) as disk:
        data = disk.folder / "rows"
        process = start("serve", "--port", "0", "-o", "json", *on_disk(lasting, data))
        try:
            url_of(process)
            until(lambda: list((data / PLACE).glob("*/CURRENT")))
            with disk.full([process.pid]):
                lasting.send(said(name, 200))
                _, error = process.communicate(timeout=WITHIN)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 1, error.decode()
        assert disk.message in error.decode().splitlines()[-1]
        assert "nothing is lost" in error.decode().splitlines()[-1]
        lasting.await_done()
        same_as_in_memory(lasting, data, [name])
