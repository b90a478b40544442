"""The fold's tables in RocksDB or SQLite: 1 M rows of 600 bytes, one get and one put a turn.

Rows are chosen uniformly at random, read and written in batches of 20,000 (design 06).
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from rocksdict import WriteBatch

from benchmarks import common
from benchmarks.common import median, spread
from streams.runtime.database import open_database

BATCH = 20_000
CACHE_KB = 64_000  # as much as the store gives RocksDB

Rows = Iterable[tuple[bytes, bytes]]


class Table(Protocol):
    """What the measurement asks of a store."""

    def get(self, key: bytes) -> Any:
        """The value's bytes."""

    def write(self, rows: Rows) -> None:
        """All of a batch, or none."""

    def close(self) -> None:
        """Leaves everything on disk."""


class Rocks:
    """RocksDB with the store's own options."""

    def __init__(self, folder: Path) -> None:
        self._db = open_database(folder / "rocks")
        self.get = self._db.get
        self.close = self._db.close

    def write(self, rows: Rows) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, value in rows:
            batch.put(key, value)
        self._db.write(batch)


class SQLite:
    """SQLite with a write-ahead log, one transaction a batch."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "rows.sqlite", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        self._db.execute("CREATE TABLE t (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")
        self.close = self._db.close

    def get(self, key: bytes) -> Any:
        return self._db.execute("SELECT v FROM t WHERE k = ?", (key,)).fetchone()[0]

    def write(self, rows: Rows) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT OR REPLACE INTO t VALUES (?, ?)", rows)
        self._db.execute("COMMIT")


class Memory:
    """The bare loop: a dict, nothing on disk."""

    def __init__(self, folder: Path) -> None:
        rows: dict[bytes, bytes] = {}
        self.get = rows.__getitem__
        self.write = rows.update
        self.close = rows.clear


STORES: dict[str, Callable[[Path], Table]] = {
    "rocksdict": Rocks,
    "sqlite3": SQLite,
    "dict (bare loop)": Memory,
}


def main() -> None:
    """Each store in a process of its own."""
    parser = common.arguments(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=600)
    parser.add_argument("--turns", type=int, default=500_000)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    common.pin(given.cores)
    common.sgd_path()
    shape = (given.rows, given.bytes, given.turns)
    costs = {
        name: [_measured(name, given.work, shape) for _ in range(given.repeat)] for name in STORES
    }
    floor = median(cost[0] for cost in costs["dict (bare loop)"])
    head = ("", "µs a turn", "spread", "CPU µs", "peak MB", "disk MB", "ratio of speeds")
    rows = [_row(name, some, floor) for name, some in costs.items()]
    title = f"stores: {given.rows:,} rows of {given.bytes} bytes, median of {given.repeat}"
    common.show(title, head, rows)


def _measured(name: str, under: Path | None, shape: tuple[int, int, int]) -> tuple[float, ...]:
    with common.work_folder(under) as folder:
        spent = common.in_process(filled_and_used, name, str(folder), *shape)
        size = common.folder_size(folder)
    common.note(f"{name}: {spent.answer[0]:.1f} µs a turn")
    return *spent.answer, spent.peak, size


def _row(name: str, costs: list[tuple[float, ...]], floor: float) -> tuple[str, ...]:
    wall, cpu, peak, size = (median(one) for one in zip(*costs, strict=True))
    times = (f"{wall:.1f}", spread([cost[0] for cost in costs]), f"{cpu:.1f}")
    return name, *times, f"{peak:.0f}", f"{size:.0f}", f"{floor / wall:.2f}"


def filled_and_used(
    name: str, folder: str, rows: int, size: int, turns: int
) -> tuple[float, float]:
    """Fills a store, then gets and puts at random; µs of wall and of CPU time a turn."""
    table, chance, text = STORES[name](Path(folder)), random.Random(1), _text()
    keys = [f"s\0default\0session-{number}\0h".encode() for number in range(rows)]
    for first in range(0, rows, BATCH):
        table.write([(key, _value(text, chance, size)) for key in keys[first : first + BATCH]])
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(turns // BATCH):
        chosen = chance.choices(keys, k=BATCH)
        assert all(len(table.get(key)) == size for key in chosen)
        table.write([(key, _value(text, chance, size)) for key in chosen])
    table.close()
    used = (time.perf_counter() - wall, time.process_time() - cpu)
    return used[0] * 1e6 / turns, used[1] * 1e6 / turns


def _text() -> bytes:
    """What was said in SGD, end to end: a row holds words, and packs as words do."""
    return "".join(said for one in common.sgd_texts() for turn in one for said in turn).encode()


def _value(text: bytes, chance: random.Random, size: int) -> bytes:
    start = chance.randrange(len(text) - size)
    return text[start : start + size]


if __name__ == "__main__":
    main()
