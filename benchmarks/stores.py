"""The fold's tables in RocksDB or SQLite, under two loads.

`random`: 1 M rows of 600 bytes, one get and one put a turn of a row chosen uniformly, in batches of
20,000. `sessions`: what `run` asks of its store, which keeps open sessions at hand. Of
200,000 sessions of ten turns 20,000 are open at once; a turn writes its session's header anew and a
row of its own, and one in five reads all rows of a session: a new one, or one closed long ago.
"""

import random
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from rocksdict import WriteBatch

from benchmarks import common
from benchmarks.common import median, spread
from streams.files.database import open_database, rows_under

BATCH = 20_000
SESSIONS, LENGTH, OPEN = 200_000, 10, 20_000
HEADER, SPOKEN = 600, 200  # bytes
TURNS_A_BATCH = 6_500  # as many as touch the entities that one batch of `run` may
CACHE_KB = 64_000  # as much as the store gives RocksDB

Rows = Iterable[tuple[bytes, bytes]]


class Table(Protocol):
    """What the measurement asks of a store."""

    def get(self, key: bytes) -> Any:
        """The value's bytes."""

    def under(self, prefix: bytes) -> int:
        """How many rows have keys that begin so; each is read."""

    def write(self, rows: Rows) -> None:
        """All of a batch, or none."""

    def close(self) -> None:
        """Leaves everything on disk."""


class Rocks:
    """RocksDB with the store's own options."""

    def __init__(self, folder: Path) -> None:
        self._db = open_database(folder / "rocks")
        self._cursor = self._db.iter()
        self.get = self._db.get

    def under(self, prefix: bytes) -> int:
        return len(rows_under(self._cursor, prefix))

    def write(self, rows: Rows) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, value in rows:
            batch.put(key, value)
        self._db.write(batch)
        self._cursor = self._db.iter()

    def close(self) -> None:
        del self._cursor
        self._db.close()


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

    def under(self, prefix: bytes) -> int:
        asked = "SELECT k, v FROM t WHERE k >= ? AND k < ?"
        return len(self._db.execute(asked, (prefix, prefix + b"\xff")).fetchall())

    def write(self, rows: Rows) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT OR REPLACE INTO t VALUES (?, ?)", rows)
        self._db.execute("COMMIT")


class Memory:
    """The bare loop: a dict, nothing on disk."""

    def __init__(self, folder: Path) -> None:
        rows: dict[bytes, bytes] = {}
        self._names: defaultdict[bytes, set[bytes]] = defaultdict(set)
        self._rows = rows
        self.get = rows.__getitem__
        self.close = rows.clear

    def under(self, prefix: bytes) -> int:
        return len([self._rows[name] for name in self._names.get(prefix, ())])

    def write(self, rows: Rows) -> None:
        for key, value in rows:
            self._rows[key] = value
            self._names[key[: key.rindex(b"\0") + 1]].add(key)


STORES: dict[str, Callable[[Path], Table]] = {
    "rocksdict": Rocks,
    "sqlite3": SQLite,
    "dict (bare loop)": Memory,
}


def main() -> None:
    """Each store in a process of its own."""
    parser = common.arguments(__doc__)
    parser.add_argument("--load", choices=("random", "sessions"), default="sessions")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the random load")
    parser.add_argument("--bytes", type=int, default=600, help="of each of them")
    parser.add_argument("--turns", type=int, default=500_000, help="with them")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    common.pin(given.cores)
    common.sgd_path()
    if given.load == "random":
        load: Callable[..., Any] = filled_and_used
        shape = (given.rows, given.bytes, given.turns)
        what = f"{given.rows:,} rows of {given.bytes} bytes"
    else:
        load, shape = spoken, (SESSIONS, LENGTH, OPEN)
        what = f"{SESSIONS:,} sessions of {LENGTH} turns, {OPEN:,} open at once"
    costs = {
        name: [_measured(load, name, given.work, shape) for _ in range(given.repeat)]
        for name in STORES
    }
    floor = median(cost[0] for cost in costs["dict (bare loop)"])
    head = ("", "µs a turn", "spread", "CPU µs", "peak MB", "disk MB", "ratio of speeds")
    rows = [_row(name, some, floor) for name, some in costs.items()]
    title = f"stores: {what}, median of {given.repeat}"
    common.show(title, head, rows)


def _measured(
    load: Callable[..., Any], name: str, under: Path | None, shape: tuple[int, int, int]
) -> tuple[float, ...]:
    with common.work_folder(under) as folder:
        spent = common.in_process(load, name, str(folder), *shape)
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
    keys = [_key(number) + b"h" for number in range(rows)]
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


def spoken(name: str, folder: str, sessions: int, length: int, window: int) -> tuple[float, float]:
    """Sessions begin one after the other and go on side by side; µs of wall and CPU time a turn."""
    table, chance, text = STORES[name](Path(folder)), random.Random(1), _text()
    apart = window // (length - 1)
    batch: dict[bytes, bytes] = {}
    waiting = 0
    cpu, wall = time.process_time(), time.perf_counter()
    for second in range(sessions + apart * (length - 1)):
        for number in range(length):
            session = second - number * apart
            if not 0 <= session < sessions:
                continue
            prefix = _key(session)
            if number == 0:
                assert table.under(prefix) == 0
                if second > 2 * window:  # one that is on disk and ended
                    assert table.under(_key(chance.randrange(second - 2 * window))) == length + 1
            batch[prefix + b"h"] = _value(text, chance, HEADER)
            batch[prefix + b"c/%d" % number] = _value(text, chance, SPOKEN)
            waiting += 1
        if waiting >= TURNS_A_BATCH:
            table.write(batch.items())
            batch, waiting = {}, 0
    table.write(batch.items())
    table.close()
    used = (time.perf_counter() - wall, time.process_time() - cpu)
    turns = sessions * length
    return used[0] * 1e6 / turns, used[1] * 1e6 / turns


def _key(session: int) -> bytes:
    return f"s\0default\0session-{session}\0".encode()


def _text() -> bytes:
    """What was said in SGD, end to end: a row holds words, and packs as words do."""
    return "".join(said for one in common.sgd_texts() for turn in one for said in turn).encode()


def _value(text: bytes, chance: random.Random, size: int) -> bytes:
    start = chance.randrange(len(text) - size)
    return text[start : start + size]


if __name__ == "__main__":
    main()
