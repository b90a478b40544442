"""The folder of a server that keeps its rows on disk: whose it is, and what leaves it."""

import asyncio
import json
import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.transport.changelog import AWAY
from streams.kafka.transport.disk_rows import Damaged, DiskRows
from streams.kafka.transport.marker import Marker, TablePosition
from streams.kafka.transport.rows import MemoryRows
from streams.pipeline.interfaces import StoreError
from streams.serving.backends import replica_disk, replica_lane
from streams.serving.backends.backend import NotReady
from streams.serving.backends.change_waiters import Changes
from streams.serving.backends.replica_disk import COMPACTED, LOCK, OWNER, DiskStore
from streams.serving.backends.replica_lane import ReplicaLane
from tests.fault.disk import can_mount, filled, mounted
from tests.serving.test_replica_lane import Record, marker, read, row, seen
from tests.waiting import WITHIN, eventually

OURS = {"app_id": "turnfold", "cluster": "c-1"}
AT = TopicPartition("turnfold-sessions-changelog", 0)
WORDS = b"the heron on the roof"


@contextmanager
def taken(folder: Path, **other: str) -> Iterator[DiskStore]:
    """The store of a server that runs."""
    store = DiskStore(folder)
    store._take({**OURS, **other})
    try:
        yield store
    finally:
        store.release()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "rows"


def lane_in(folder: Path) -> ReplicaLane:
    """Its rows are opened as a process finds them."""
    lane = ReplicaLane(AT, "sessions", DiskRows(folder), Changes())
    asyncio.run(lane.reopen())
    return lane


def followed(lane: ReplicaLane, end: int, records: Sequence[Record] = ()) -> None:
    """A consumer starts, and reads what there is."""
    lane.progress.open(0, end)
    read(lane, [one for one in records if one.offset >= lane.progress.position], end)


def test_a_folder_is_that_of_one_server_at_a_time(folder: Path) -> None:
    with taken(folder), pytest.raises(ConfigurationError, match="another server has it"):
        DiskStore(folder)._take(OURS)
    with taken(folder):
        pass


@pytest.mark.parametrize("field", ["app_id", "cluster"])
def test_the_rows_of_another_memory_are_refused_and_left(folder: Path, field: str) -> None:
    """Also those of a generation: it has an app id of its own."""
    with taken(folder):
        (folder / "turnfold+4").mkdir()
    with pytest.raises(ConfigurationError) as refused, taken(folder, **{field: "another"}):
        pass
    assert OURS[field] in str(refused.value) and "another" in str(refused.value)
    assert "delete the folder" in str(refused.value)
    assert (folder / "turnfold+4").is_dir()
    with taken(folder):
        pass


@pytest.mark.parametrize("name", ["turnfold.json", "session-0", "notes.txt"])
def test_a_folder_with_other_files_is_refused(folder: Path, name: str) -> None:
    """A history, a worker's tables, anything."""
    folder.mkdir()
    (folder / name).write_text("{}")
    with pytest.raises(ConfigurationError, match="folder of its own"), taken(folder):
        pass
    assert [one.name for one in folder.iterdir()] == [name]


def test_a_new_volume_is_empty(folder: Path) -> None:
    (folder / "lost+found").mkdir(parents=True)
    with taken(folder):
        assert (folder / OWNER).exists()


@pytest.mark.parametrize("known", ["", "{", "[]", '{"app_id": 1}'])
def test_who_had_it_cannot_be_read(folder: Path, known: str) -> None:
    """A lane's marker says which changelog its rows are of, so nothing wrong is shown."""
    folder.mkdir()
    (folder / OWNER).write_text(known)
    with taken(folder):
        pass
    assert json.loads((folder / OWNER).read_text()) == OURS


@pytest.mark.parametrize("another", [False, True])
async def test_a_folder_that_is_removed_while_it_runs_ends_the_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, another: bool
) -> None:
    """Its files would have no name, and its lock would keep nobody out."""
    quick(monkeypatch)
    store = DiskStore(folder)
    store._take(OURS)
    assert store.rows("turnfold", AT, 4).open() is not None
    working = asyncio.create_task(store.run())
    await asyncio.sleep(0.2)
    assert not working.done()
    while folder.exists():  # RocksDB removes an old log of its own meanwhile
        shutil.rmtree(folder, ignore_errors=True)
    if another:
        folder.mkdir()
        (folder / LOCK).touch()
    with pytest.raises(StoreError, match="nothing is lost"):
        await asyncio.wait_for(working, WITHIN)
    store.release()
    shutil.rmtree(folder, ignore_errors=True)
    with taken(folder):
        pass


def test_what_is_in_the_way_of_rows_and_cannot_be_removed_is_named(folder: Path) -> None:
    """Else the server would throw it away again and again."""
    folder.mkdir()
    lane = folder / "lane"
    lane.write_text("a file")
    with pytest.raises(StoreError, match="lane: cannot be removed"):
        DiskRows(lane).open()


def test_rows_that_nobody_reads_are_removed(folder: Path) -> None:
    """Those of a generation that answers no more, and of another number of partitions; but not
    before it is known what is read."""
    store, again = DiskStore(folder), DiskStore(folder)
    folder.mkdir()
    other = AT._replace(topic="turnfold.plain-sessions-changelog")
    for group, at, count in (
        ("turnfold", AT, 4), ("turnfold", AT, 8), ("turnfold.plain", other, 8)
    ):  # fmt: skip
        rows = store.rows(group, at, count)
        rows.open()
        rows.close()
    asyncio.run(again._sweep())
    assert places(folder) == {"turnfold+4", "turnfold+8", "turnfold.plain+8"}
    again.rows("turnfold", AT, 8)
    asyncio.run(again._sweep())
    assert places(folder) == {"turnfold+8"}
    asyncio.run(store._sweep())
    store.leave("turnfold")
    store.rows("turnfold.plain", other, 8)
    asyncio.run(store._sweep())
    assert places(folder) == set(), "a group's name is no beginning of another's"


def test_what_was_not_all_removed_is_removed_later(folder: Path) -> None:
    (folder / ".gone-turnfold+4-1" / "lane").mkdir(parents=True)
    (folder / LOCK).touch()
    store = DiskStore(folder)
    store.rows("turnfold", AT, 8)
    asyncio.run(store._sweep())
    assert [one.name for one in folder.iterdir()] == [LOCK]


def places(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir() if one.is_dir()}


def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_disk, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(replica_disk, "COMPACT_EVERY", 0.0)


def holding(folder: Path, *words: bytes) -> list[str]:
    """The files that have one of the words in their bytes."""
    return [
        one.name
        for one in folder.rglob("*")
        if one.is_file() and any(word in one.read_bytes() for word in words)
    ]


def test_guarantee_8_no_byte_of_what_is_gone_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of the rows nor of their names; what is there stays, also for who reads meanwhile."""
    store = DiskStore(folder)
    rows = store.rows("turnfold", AT, 4)
    standing = rows.open()
    assert standing is not None
    for number in range(40):
        gone = (b"s\0default\0wanderer\0c/%d" % number, b"%d: %s" % (number, WORDS))
        rows.put([gone, (b"s\0default\0stays-%d\0c/0" % number, b"kept")])
        standing.saw(number, Marker({"turns": number + 1}, {}, "log", 1))
        rows.commit(standing)
    rows.read(b"s\0default\0wanderer")  # a cursor that holds old files
    asyncio.run(rewritten(store, folder, monkeypatch))
    assert holding(folder, WORDS, b"wanderer")
    rows.put([(b"s\0default\0wanderer\0c/%d" % number, None) for number in range(40)])
    standing.saw(41, Marker({"turns": 42}, {}, "log", 1))
    rows.commit(standing)
    assert holding(folder, WORDS, b"wanderer")
    asyncio.run(rewritten(store, folder, monkeypatch))
    assert holding(folder, WORDS, b"wanderer") == []
    assert len(list(rows.keys(b""))) == 40
    assert rows.read(b"s\0default\0stays-7") == {"c/0": b"kept"}
    rows.close()
    found = rows.open()
    assert found is not None and found.position == 42
    rows.close()


async def rewritten(store: DiskStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store's own work, until all lanes were rewritten once."""
    with monkeypatch.context() as patched:
        quick(patched)
        stamps = [one.with_name(COMPACTED) for one in folder.rglob("CURRENT")]
        assert stamps
        for stamp in stamps:
            stamp.touch()
            os.utime(stamp, (0, 0))
        working = asyncio.create_task(store.run())
        await eventually(lambda: all(stamp.stat().st_mtime for stamp in stamps))
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working


def test_what_cannot_be_rewritten_is_left_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """There is less room than a second copy takes."""
    store = DiskStore(folder)
    rows = store.rows("turnfold", AT, 4)
    rows.open()
    rows.put([(b"s\0default\0s-1\0c/0", b"x")])
    rows.commit(TablePosition(1, marker=Marker({}, {}, "log", 1), marker_at=0))
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    asyncio.run(store._compact(rows))  # type: ignore[arg-type]
    assert "too little room" in caplog.text
    assert rows.read(b"s\0default\0s-1") == {"c/0": b"x"}
    rows.close()


def test_closing_breaks_off_what_takes_long(folder: Path) -> None:
    """A server that ends does not wait until gigabytes are rewritten."""
    rows, chance = DiskRows(folder), random.Random(1)
    rows.open()
    for number in range(60):
        rows.put([(b"s\0default\0%08d\0c" % chance.randrange(10**8), chance.randbytes(1_000))
                  for _ in range(1_000)])  # fmt: skip
        rows.commit(TablePosition(number + 1, marker=Marker({}, {}, "log", 1), marker_at=number))
    rewriting = Thread(target=rows.compact)
    rewriting.start()
    while not rows._compacting.locked() and rewriting.is_alive():
        time.sleep(0.001)
    rows.close()
    rewriting.join(WITHIN)
    assert not rewriting.is_alive()
    found = rows.open()
    assert found is not None and found.position == 60
    assert sum(1 for _ in rows.keys(b"")) > 59_000


def test_a_restart_continues_behind_what_it_has(folder: Path) -> None:
    lane = lane_in(folder)
    records = [row(0, b"a"), marker(1, 1), row(3, b"b"), marker(4, 2)]
    followed(lane, 6, records)
    assert seen(lane) == b"b"
    lane.rows.close()
    lane = lane_in(folder)
    lane.progress.open(0, 6)
    assert lane.progress.position == 4, "it reads its newest marker again, and nothing before"
    read(lane, [records[-1]], 6)
    assert lane.ready and seen(lane) == b"b"


def test_half_a_transaction_is_not_on_disk(folder: Path) -> None:
    lane = lane_in(folder)
    followed(lane, 3, [row(0, b"a"), marker(1, 1)])
    read(lane, [row(3, b"half")], 4)
    lane.rows.close()
    lane = lane_in(folder)
    followed(lane, 6, [marker(1, 1), row(3, b"half"), marker(4, 2)])
    assert seen(lane) == b"half"
    lane.rows.close()


def damage(folder: Path) -> None:
    """Noise in the middle of each table."""
    files = list(folder.glob("*.sst"))
    assert files
    for file in files:
        content = bytearray(file.read_bytes())
        content[: len(content) // 2] = random.Random(1).randbytes(len(content) // 2)
        file.write_bytes(content)


def big_lane(folder: Path) -> tuple[ReplicaLane, list[Record]]:
    """Its rows in tables, of which nothing is at hand."""
    lane = lane_in(folder)
    chance = random.Random(2)
    records = [row(at, chance.randbytes(2_000), b"i/%d" % at) for at in range(40)]
    records.append(marker(40, 1))
    followed(lane, 42, records)
    rows = lane.rows
    assert isinstance(rows, DiskRows)
    rows.compact()
    rows.close()
    lane = lane_in(folder)
    lane.progress.open(0, 42)
    return lane, records


def test_rows_that_cannot_be_read_are_read_again_from_kafka(folder: Path) -> None:
    """503 until then, and never a session that is not there."""
    lane, records = big_lane(folder)
    damage(folder)
    read(lane, records[-1:], 42)
    assert lane.ready
    with pytest.raises(NotReady):
        seen(lane, "7")
    assert not lane.ready
    with pytest.raises(OSError):
        read(lane, [], 42)
    asyncio.run(lane.reopen())
    assert not lane.ready and lane.progress.position == 0
    followed(lane, 42, records)
    assert lane.ready and seen(lane, "7") == records[7].value


def test_rows_that_a_fault_closed_are_opened_before_they_are_written(folder: Path) -> None:
    lane, records = big_lane(folder)
    read(lane, records[-1:], 42)
    lane.rows.close()
    with pytest.raises(Damaged):
        read(lane, [row(42, b"new"), marker(43, 2)], 45)
    asyncio.run(lane.reopen())
    followed(lane, 45, [*records, row(42, b"new"), marker(43, 2)])
    assert lane.ready and seen(lane) == b"new" and seen(lane, "7") == records[7].value


if can_mount():

    @pytest.mark.parametrize("pages", range(14))
    def test_rows_on_a_full_disk_are_not_damaged_whatever_room_is_left(
        tmp_path: Path, pages: int
    ) -> None:
        """Each file that is written on opening may be the one without room."""
        with mounted(tmp_path / "disk", 4) as disk:
            kept = DiskRows(disk / "rows")
            kept.open()
            kept.put([(b"s\0name", WORDS)])
            kept.commit(TablePosition())
            kept.close()
            filled(disk / "ballast", pages * 4_096)
            for name in ("rows", "new"):
                with suppress(StoreError):
                    (rows := DiskRows(disk / name)).open()
                    rows.close()
            (disk / "ballast").unlink()
            kept.open()
            assert kept.read(b"s") == {"name": WORDS}
            kept.close()


def test_a_lane_in_which_nobody_speaks_was_not_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a restart after a quiet night would read all of it again."""
    clock = [1_800_000_000.0]
    for module in ("streams.kafka.transport.disk_rows", "streams.kafka.transport.changelog"):
        monkeypatch.setattr(f"{module}.time", lambda: clock[0])
    monkeypatch.setattr(replica_lane, "time", lambda: clock[0])
    lane = lane_in(folder)
    followed(lane, 3, [row(0, b"a"), marker(1, 1)])

    def restarted(seconds: float) -> ReplicaLane:
        lane.rows.close()
        clock[0] += seconds
        return lane_in(folder)

    clock[0] += AWAY + 1
    lane.progress.heard(3, time.monotonic())
    read(lane, [], 3)
    lane = restarted(5)
    followed(lane, 6, [marker(1, 1), row(3, b"b"), marker(4, 2)])
    assert seen(lane) == b"b"
    lane = restarted(AWAY + 1)
    lane.progress.open(0, 9)
    with pytest.raises(OSError, match="deletions may be missing"):
        read(lane, [marker(4, 2), row(6, b"c"), marker(7, 3)], 9)


def test_the_rows_are_those_of_a_replica_in_memory(folder: Path) -> None:
    """Whatever transactions, chunks and restarts there are."""
    for seed in range(20):
        chance = random.Random(seed)
        records: list[Record] = []
        for number in range(chance.randrange(3, 12)):
            for _ in range(chance.randrange(4)):
                value = None if chance.random() < 0.2 else b"%d" % len(records)
                records.append(row(len(records), value, b"i/%d" % chance.randrange(4)))
            records.append(marker(len(records), number))
        memory = ReplicaLane(AT, "sessions", MemoryRows(), Changes())
        followed(memory, len(records), records)
        lane = lane_in(folder / str(seed))
        at = 0
        while at < len(records):
            end = min(len(records), at + chance.randrange(1, 5))
            if at and records[at - 1].key == marker(0, 0).key and chance.random() < 0.5:
                lane.rows.close()
                lane = lane_in(folder / str(seed))
                followed(lane, at, records[:at])
            elif at == 0:
                lane.progress.open(0, 0)
            read(lane, records[at:end], end)
            at = end
        for run in range(4):
            assert seen(lane, str(run)) == seen(memory, str(run)), (seed, run)
        assert lane.shown_up_to == memory.shown_up_to
        lane.rows.close()
