"""The same turns replayed three times: what the history holds after each, and after backfills.

python -m benchmarks.replay_thrice --turns 300000

A file's name and content say that it was read; so it is given other names, and each record is found
to be a duplicate by itself.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.backfill import Took, command
from benchmarks.common import arguments, note, sgd_records, show, work_folder, write_ndjson
from sinks.digest import digest
from sinks.generation import find, named
from sinks.history import connect, table_names

TIMES = 3


class Held(NamedTuple):
    """What a generation holds: rows of all tables, bytes on disk by part, its memory's digest.

    A file that it shares with another generation counts here, too.
    """

    rows: int
    tables: int
    logs: int
    store: int
    memory: str


def held(history: Path, generation: str) -> Held:
    """Of one generation."""
    folder = find(history, generation)
    with connect(named(history, generation)) as db:
        counted = [db.execute(f"SELECT count(*) FROM {name}").fetchall() for name in table_names()]
    return Held(
        sum(count for ((count,),) in counted),
        _bytes(folder, "*/date=*/*.parquet"),
        _bytes(folder, "*/_delta_log/*"),
        _bytes(folder, "_store/*"),
        str(digest(named(history, generation))["memory"]),
    )


def _bytes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern))


def disk(folder: Path) -> int:
    """Bytes of all files below a folder; one with several names counts once."""
    found = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum({one.st_ino: one.st_size for one in found}.values())


def main() -> None:
    """One table; fails where rows or memory are others after the first replay."""
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=300_000)
    given = parser.parse_args()
    with work_folder(given.work) as work:
        lines, same = replays(work, given.turns)
    head = ("after", "seconds", "CPU s", "rows", "tables MB", "logs MB", "_store MB", "all MB")
    show(f"{given.turns:,} turns of SGD, {TIMES} times", head, lines)
    if not same:
        sys.exit("rows or memory differ")


def replays(work: Path, turns: int) -> tuple[list[tuple[str, ...]], bool]:
    """A line for each replay and backfill; whether rows and memory were the same after each."""
    file, history = work / "turns.ndjson", work / "history"
    write_ndjson(file, sgd_records(turns))
    lines, seen = [], set[tuple[str, int, str]]()

    def look(after: str, took: Took, generation: str) -> None:
        found = held(history, generation)
        seen.add((generation, found.rows, found.memory))
        parts = (found.tables, found.logs, found.store, disk(history))
        sizes = (f"{size / 1e6:,.1f}" for size in parts)
        lines.append((after, f"{took.seconds:.1f}", f"{took.cpu:.1f}", f"{found.rows:,}", *sizes))

    for number in range(1, TIMES + 1):
        file = file.rename(work / f"turns-{number}.ndjson")
        note(f"run {number}")
        look(f"run {number}", command("run", file, "--history", history), "root")
    for number in range(1, TIMES + 1):
        note(f"backfill {number}")
        words = ("backfill", "--history", history, "--generation", "again")
        look(f"backfill {number}", command(*words), "again")
    return lines, len(seen) == 2 and len({memory for _, _, memory in seen}) == 1


if __name__ == "__main__":
    main()
