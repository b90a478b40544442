"""Tables on disk, under workers that are killed: the changelog folded, and its tail restored."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from streams.broker import Broker
from streams.kafka.transport.app import App
from streams.kafka.transport.disk_rows import STANDING_KEY, DiskRows
from streams.kafka.transport.marker import MARKER_KEY, TablePosition
from tests.fault.disk import small_disk
from tests.kafka.counting import PARTITIONS, Counting, read_all
from tests.waiting import WITHIN

SMALL = ("--max-records", "50")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def end(counting: Counting, number: int = -1) -> dict[str, float]:
    """Ends a worker; its counters."""
    worker = counting.workers[number]
    worker.terminate()
    assert worker.wait(WITHIN) == 0, counting.log(number)[-3000:]
    return counting.totals(number)


def killed(counting: Counting) -> None:
    counting.workers[-1].kill()
    counting.workers[-1].wait()


def rows_of(counting: Counting) -> int:
    """Rows of the changelog, markers aside."""
    records = asyncio.run(read_all(counting.bootstrap, counting.changelog))
    return sum(one.key != MARKER_KEY for one in records)


def at_rest(counting: Counting, data: Path, copies: Path) -> dict[int, TablePosition]:
    """Where each lane's store stands; it must hold the changelog up to there, and nothing else."""
    held, found = {}, {}
    for partition in range(PARTITIONS):
        copy = copies / f"copy-{partition}-{time.monotonic_ns()}"
        shutil.copytree(data / f"counting-{partition}", copy)
        rows = DiskRows(copy)
        standing = rows.open()
        assert standing is not None
        held[partition], found[partition] = dict(rows.named(b"h")), standing
        rows.close()
    least = {partition: standing.position for partition, standing in found.items()}
    records = asyncio.run(read_all(counting.bootstrap, counting.changelog, least))
    for partition, position in least.items():
        assert held[partition] == {
            one.key: one.value
            for one in records
            if one.partition == partition and one.offset < position and one.key != MARKER_KEY
        }
    return found


def test_a_restart_reads_the_tail_alone(counting: Counting, data: Path) -> None:
    counting.produce(2_000)
    counting.start("--data", str(data))
    counting.wait_done()
    end(counting)
    counting.produce(500)
    counting.start("--data", str(data))
    counting.wait_done()
    totals = end(counting)
    assert totals["restored_rows"] == 0
    assert totals["restores"] == PARTITIONS
    assert counting.problems() == []


@pytest.mark.component
@pytest.mark.parametrize("point", ["before commit", "committed", "stored"])
def test_killed_around_the_commit(counting: Counting, data: Path, point: str) -> None:
    counting.produce(3_000)
    dying = ("--die", point, "--after", "40")
    worker = counting.start("--instance", "a", "--data", str(data), *SMALL, *dying)
    assert worker.wait(WITHIN) == -signal.SIGKILL
    rows = rows_of(counting)
    counting.start("--instance", "a", "--data", str(data))
    counting.wait_done()
    totals = end(counting)
    assert counting.problems() == []
    assert totals["restored_rows"] <= PARTITIONS * 50 < rows
    if point == "committed":
        assert totals["restored_rows"] > 0, "the lane that died had not stored its rows"


def test_killed_while_it_writes_the_store(counting: Counting, data: Path, tmp_path: Path) -> None:
    """Kills at random moments around the write: some before it, some after."""
    chance, behind, level = random.Random(3), 0, 0
    for _ in range(6):
        counting.produce(2_000)
        worker = counting.start("--instance", "a", "--data", str(data), *SMALL)
        counting.wait_for(" ready\n", times=PARTITIONS)
        counting.wait_for("committed", times=10 + chance.randrange(10))
        time.sleep(chance.uniform(0, 0.01))
        worker.kill()
        worker.wait()
        standings = at_rest(counting, data, tmp_path)
        # a lane may have committed nothing yet: all ten were other lanes'
        for partition, last in asyncio.run(newest_markers(counting)).items():
            behind += standings[partition].position < last
            level += standings[partition].position == last
    assert level > 0
    counting.start("--instance", "a", "--data", str(data))
    counting.wait_done()
    end(counting)
    assert counting.problems() == []


async def newest_markers(counting: Counting) -> dict[int, int]:
    """The offset after each partition's newest marker."""
    records = await read_all(counting.bootstrap, counting.changelog)
    return {one.partition: one.offset + 1 for one in records if one.key == MARKER_KEY}


def test_killed_in_the_middle_of_a_restore(counting: Counting, data: Path, tmp_path: Path) -> None:
    counting.produce(3_000)
    counting.start("--instance", "a", *SMALL)
    counting.wait_done()
    killed(counting)
    dying = ("--die", "restored some", "--after", "2")
    worker = counting.start("--instance", "a", "--data", str(data), *dying)
    assert worker.wait(WITHIN) == -signal.SIGKILL
    counting.produce(500)
    counting.start("--instance", "a", "--data", str(data))
    counting.wait_done()
    end(counting)
    assert counting.problems() == []
    at_rest(counting, data, tmp_path)


def test_a_partition_that_comes_back_restores_what_it_missed(
    counting: Counting, data: Path, tmp_path: Path
) -> None:
    counting.produce(3_000)
    counting.start("--data", str(data / "one"), *SMALL)
    counting.wait_done()
    before = rows_of(counting)
    counting.start("--data", str(data / "other"))
    counting.wait_for(" ready\n", times=PARTITIONS // 2)
    counting.wait_for(" ready\n", 0, times=PARTITIONS + PARTITIONS // 2)
    counting.produce(1_000)
    counting.wait_done()
    other = end(counting, 1)
    missed = rows_of(counting) - before
    counting.wait_for(" ready\n", 0, times=2 * PARTITIONS + PARTITIONS // 2)
    counting.produce(500)
    counting.wait_done()
    one = end(counting, 0)
    assert counting.problems() == []
    assert other["restored_rows"] > 0
    assert 0 < one["restored_rows"] <= missed < before
    at_rest(counting, data / "one", tmp_path)


def test_workers_of_one_machine_share_the_folder(counting: Counting, data: Path) -> None:
    counting.produce(2_000)
    counting.start("--data", str(data), *SMALL)
    counting.wait_done()
    counting.start("--data", str(data))
    counting.wait_for(" ready\n", times=PARTITIONS // 2)
    counting.produce(1_000)
    counting.wait_done()
    other = end(counting, 1)
    end(counting, 0)
    assert other["restored_rows"] == 0
    assert counting.problems() == []


def test_a_folder_another_process_has_is_waited_for(counting: Counting, data: Path) -> None:
    theirs = DiskRows(data / "counting-2")
    theirs.open()
    counting.produce(500)
    counting.start("--data", str(data))
    counting.wait_for("another process has it", times=2)
    theirs.close()
    counting.wait_done()
    end(counting)
    assert counting.problems() == []


# --- a folder that is not what it should be -----------------------------------------------------


def garble(data: Path, pattern: str) -> None:
    """Writes noise into the middle of the files of every lane."""
    files = list(data.glob(f"*/{pattern}"))
    assert files, f"no {pattern}: {list(data.glob('*/*'))}"
    for file in files:
        content = bytearray(file.read_bytes())
        middle = len(content) // 3
        content[middle : middle * 2] = random.Random(1).randbytes(middle)
        file.write_bytes(content)


def other_format(data: Path) -> None:
    for folder in data.iterdir():
        rows = DiskRows(folder)
        rows.open()
        assert rows._db is not None
        rows._db.put(STANDING_KEY, b"\x92\x63\xc0")
        rows.close()


def without_standing(data: Path) -> None:
    for folder in data.iterdir():
        rows = DiskRows(folder)
        rows.open()
        assert rows._db is not None
        rows._db.delete(STANDING_KEY)
        rows.close()


DAMAGES: dict[str, Any] = {
    "manifest": lambda data: garble(data, "MANIFEST-*"),
    "tables": lambda data: garble(data, "*.sst"),
    "tables gone": lambda data: [file.unlink() for file in data.glob("*/*.sst")],
    "another format": other_format,
    "no standing": without_standing,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_folder_is_made_again(
    counting: Counting, data: Path, tmp_path: Path, damage: Any
) -> None:
    for _ in range(2):  # opened again, what it has logged becomes tables
        counting.produce(1_000)
        counting.start("--data", str(data), *SMALL)
        counting.wait_done()
        end(counting)
    damage(data)
    counting.produce(500)
    counting.start("--data", str(data))
    counting.wait_done()
    totals = end(counting)
    assert "thrown away" in counting.log()
    assert totals["restored_rows"] > 0
    assert counting.problems() == []
    at_rest(counting, data, tmp_path)


def test_a_log_cut_short_is_a_place_before(counting: Counting, data: Path, tmp_path: Path) -> None:
    """A machine that lost power: the end of RocksDB's own log is noise."""
    counting.produce(2_000)
    counting.start("--data", str(data), *SMALL)
    counting.wait_done()
    killed(counting)
    garble(data, "*.log")
    before = at_rest(counting, data, tmp_path)
    ends = asyncio.run(newest_markers(counting))
    assert any(before[partition].position < at for partition, at in ends.items())
    counting.produce(500)
    counting.start("--data", str(data))
    counting.wait_done()
    end(counting)
    assert counting.problems() == []
    at_rest(counting, data, tmp_path)


@pytest.mark.parametrize("records", [200, 4_000], ids=["ahead", "behind"])
def test_rows_of_another_changelog_are_thrown_away(
    counting: Counting, broker: Broker, data: Path, tmp_path: Path, records: int
) -> None:
    """The store of a topic that was deleted and made anew: its log may be shorter or longer."""
    counting.produce(2_000)
    counting.start("--data", str(data), *SMALL)
    counting.wait_done()
    end(counting)
    folder = tmp_path / "anew"
    folder.mkdir()
    anew = Counting(broker.bootstrap, f"{counting.group}anew", folder)
    anew.create()
    anew.produce(records)
    anew.start(*SMALL)
    anew.wait_done()
    end(anew)
    anew.produce(100)
    anew.start("--data", str(data))
    anew.wait_done()
    end(anew)
    assert anew.log().count("its rows on disk are thrown away") == PARTITIONS
    assert anew.problems() == []
    at_rest(anew, data, tmp_path)


# --- a full disk --------------------------------------------------------------------------------


def test_a_full_disk_ends_the_worker_and_loses_nothing(counting: Counting, data: Path) -> None:
    with small_disk(data, 8) as disk:
        worker = counting.start("--data", str(data), *SMALL)
        counting.wait_for(" ready\n", times=PARTITIONS)
        counting.produce(500)
        counting.wait_done()
        with disk.full([worker.pid]):
            counting.produce(3_000)
            assert worker.wait(WITHIN) == 1
        assert disk.message in counting.log()
        assert "nothing is lost" in counting.log()
        counting.start("--data", str(data))
        counting.wait_done()
        assert end(counting)["restored_rows"] < 500
        assert counting.problems() == []


# --- as Faust sees them -------------------------------------------------------------------------


def test_faust_lists_the_tables(counting: Counting) -> None:
    names = {"COUNTING_BOOTSTRAP": counting.bootstrap, "COUNTING_GROUP": counting.group}
    command = [sys.executable, "-m", "faust", "-A", "tests.kafka.counting_app", "tables"]
    listed = subprocess.run(command, env={**os.environ, **names}, capture_output=True, check=True)
    assert "counted" in listed.stdout.decode()
    assert "how often each key came" in listed.stdout.decode()


def _ready(app: App) -> int:
    return sum(lane.state == "ready" for lane in app.lanes.running())


@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
def test_a_standby_takes_over_with_next_to_nothing_to_restore(
    counting: Counting, data: Path, on_disk: bool
) -> None:
    def start(name: str) -> "subprocess.Popen[bytes]":
        folder = ("--data", str(data / name)) if on_disk else ()
        return counting.start("--instance", name, "--standbys", "1", *folder, *SMALL)

    doomed = start("a")
    counting.wait_for(" ready\n", times=PARTITIONS)
    start("b")
    counting.wait_for(" ready\n", times=PARTITIONS // 2)
    counting.wait_for(" ready\n", 0, times=PARTITIONS + PARTITIONS // 2)
    counting.produce(4_000)
    counting.wait_done()
    rows = rows_of(counting)
    doomed.kill()
    doomed.wait()
    counting.wait_for(" ready\n", 1, times=PARTITIONS + PARTITIONS // 2)
    counting.produce(500)
    counting.wait_done()
    totals = end(counting, 1)
    assert totals["restored_rows"] < rows / 10  # what was committed just before
    assert counting.problems() == []
