"""Rows of `serve` over Kafka, in memory and on disk: CPU of a row, of a transaction and of a read,
memory and disk.

    python -m benchmarks.replica_rows [--sessions 60000]

The rows of real sessions (SGD, 20 turns), again and again under other sessions' names, into the
stores of four lanes as a restore puts them; then transactions of four rows, and reads of sessions
by chance. Each store has a process of its own. `opened again` is the folder that `rocksdb` has
left, in a new process.
"""

import gc
import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
from aiokafka.structs import TopicPartition

from benchmarks import common, tables
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.marker import Marker, Standing
from streams.kafka.transport.rows import Row, RowStore
from streams.serving.backends.replica_disk import DiskStore
from streams.serving.backends.replica_store import MemoryStore

LANES, CHUNK, READS, TRANSACTIONS = 4, 2_000, 20_000, 5_000
MARKER = Marker({"turns": 1}, {}, "log")


class Used(NamedTuple):
    """CPU µs of a row that is restored, of a transaction, of a read, and of a read after the files
    were rewritten, as a server does once a day; CPU ms until all lanes were open; MB that the
    process grew by; bytes of a session on disk."""

    row: float | None
    transaction: float | None
    read: float
    rewritten: float | None
    opened: float
    memory: float
    disk: float


def measured(kind: str, folder: str, sessions: int) -> Used:
    """One store; `again` has all rows already."""
    real = tables.real_rows()
    before = _memory()
    store = MemoryStore() if kind == "memory" else DiskStore(Path(folder))
    lanes: list[RowStore] = []
    standings: list[Standing] = []

    def open_all(_: int) -> None:
        for at in (TopicPartition("sessions", number) for number in range(LANES)):
            lanes.append(store.rows("turnfold", at, LANES // 2))
            standings.append(lanes[-1].open() or Standing())

    opened = _each(1, open_all)
    row = transaction = None
    if kind != "again":
        row = _restored(lanes, standings, real, sessions)

        def one(number: int) -> None:
            some = _named(real[number % len(real)][:4], number % sessions)
            _commit(lanes, standings, some, number)

        transaction = _each(TRANSACTIONS, one)
    chance = random.Random(1)
    prefix = real[0][0][0].rpartition(b"\0")[0][: -len(_name(0))]

    def read(_: int) -> None:
        number = chance.randrange(sessions)
        lanes[number % LANES].read(prefix + _name(number))

    read_first = _each(READS, read)
    used = _memory() - before
    rewritten = None
    if kind != "rocksdb":
        for lane in lanes:
            if isinstance(lane, DiskRows):
                lane.compact()
                lane.renew()
        rewritten = _each(READS, read)
    for lane in lanes:
        lane.close()
    disk = common.folder_size(Path(folder)) * 1e6 / sessions
    return Used(row, transaction, read_first, rewritten, opened / 1e3, used, disk)


def _memory() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss) / 1e6


def _await_rest() -> None:
    """Until RocksDB's threads have nothing to do: what they do belongs to what was measured."""
    while True:
        before = time.process_time()
        time.sleep(0.3)
        if time.process_time() - before < 0.003:
            return


def _each(times: int, call: Callable[[int], object]) -> float:
    began = time.process_time()
    for number in range(times):
        call(number)
    _await_rest()
    return (time.process_time() - began) / times * 1e6


def _name(number: int) -> bytes:
    return b"session-%07d" % number


def _named(rows: list[Row], number: int) -> Iterator[Row]:
    name = _name(number)
    for key, value in rows:
        where, _, row = key.rpartition(b"\0")
        yield where[: -len(name)] + name + b"\0" + row, value


def _restored(
    lanes: list[RowStore], standings: list[Standing], real: list[list[Row]], sessions: int
) -> float:
    waiting: list[list[Row]] = [[] for _ in lanes]
    began, rows = time.process_time(), 0
    for number in range(sessions):
        some = waiting[number % LANES]
        some += _named(real[number % len(real)], number)
        if len(some) >= CHUNK or number >= sessions - LANES:
            rows += len(some)
            _commit(lanes, standings, some, number)
            some.clear()
    for lane in lanes:
        lane.settle()
    _await_rest()
    return (time.process_time() - began) / rows * 1e6


def _commit(
    lanes: list[RowStore], standings: list[Standing], rows: Iterable[Row], number: int
) -> None:
    lane, standing = lanes[number % LANES], standings[number % LANES]
    lane.put(rows)
    standing.saw(standing.position, MARKER)
    lane.commit(standing)


def main() -> None:
    """Each store in a process of its own."""
    parser = common.arguments(__doc__)
    parser.add_argument("--sessions", type=int, default=60_000)
    given = parser.parse_args()
    with common.work_folder(given.work) as folder:
        memory, disk, again = (
            common.in_process(measured, kind, str(folder / place), given.sessions).answer
            for kind, place in (("memory", "none"), ("rocksdb", "rows"), ("again", "rows"))
        )
    units = (
        "CPU µs, a row that is restored", "CPU µs, a transaction of four rows",
        "CPU µs, a read of a session", "the same, files rewritten", "CPU ms, all lanes opened",
        "MB of memory", "bytes of disk, a session",
    )  # fmt: skip
    lines = [
        (unit, _said(one), _said(two), _said(three), f"{(two or three) / one:.2f}" if one else "")
        for unit, one, two, three in zip(units, memory, disk, again, strict=True)
    ]
    each = [f"{used.memory * 1e6 / given.sessions:,.0f}" for used in (memory, disk, again)]
    shrunk = f"{disk.memory / memory.memory:.2f}"
    lines.append(("bytes of memory, a session", each[0], each[1], each[2], shrunk))
    rows = sum(map(len, tables.real_rows())) / tables.REAL
    title = (
        f"rows of a replica: {given.sessions:,} sessions of {tables.TURNS} turns, {rows:.1f} rows "
        f"each, {LANES} lanes"
    )
    common.show(title, ("", "memory", "rocksdb", "opened again", "rocksdb : memory"), lines)


def _said(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


if __name__ == "__main__":
    main()
