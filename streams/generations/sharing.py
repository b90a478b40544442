"""What a generation has folded and the live one has, too: one file for both.

A Parquet file is never changed, so a generation may hold any of live's whose rows are its own; what
is left lies in one file a day. Each table goes over in one commit. Killed in between, the next pass
does it again.

- Tables that only grow: a file is shared if the generation has each of its rows, as often.
- Snapshots: a file is shared if the generation knows each of its keys and has half of its documents
  as they are; those that differ are written behind it, and the newest of a key is what counts.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
from deltalake import write_deltalake

from schemas.rows import SNAPSHOT_KEYS, TABLES
from sinks.delta import WRITER, History
from sinks.history import quoted
from sinks.links import DataFile, files_at, hold, share
from sinks.maintenance import vacuum
from sinks.tables import COMMIT_ORDER, SCHEMAS, STORED
from streams.errors import TurnstoneError
from streams.generations.gathering import database
from streams.generations.snapshot import SAID

FOLDED = tuple(name for name in TABLES if name not in SAID)
REST = "rest"
ROWS_AT_ONCE = 20_000
TRIES = 5
READ_FOR = 1
"""Hours that a file which was replaced stays, for who reads the generation meanwhile."""


class _Files(NamedTuple):
    """A table's files that are compared, the generation's (paths) and live's, and the generation's
    others, which stay. `shared`: if no more than these are equal, all is as it should be."""

    mine: list[str]
    theirs: list[DataFile]
    others: list[DataFile]
    shared: frozenset[str] | None = None


def merge(live: Path, parts: list[Path], tables: History, work: Path) -> None:
    """The rows of a first pass's parts as the generation's tables: live's files where they are
    equal. Called again after a kill it does the same.

    Raises TurnstoneError, HistoryWriteError, duckdb.Error.
    """
    for name in FOLDED:
        _go_over(name, live / name, partial(_of_parts, name, live, parts), tables, work)


def share_equal(live: Path, tables: History, work: Path, names: Iterable[str]) -> None:
    """Puts live's files in the place of the generation's own where their rows are equal.

    Raises TurnstoneError, HistoryWriteError, duckdb.Error; the generation is whole then, too.
    """
    for name in names:
        find = partial(_of_generation, name, live, Path(tables.root))
        _go_over(name, live / name, find, tables, work)
        if table := tables.table(name):
            with tables.writing(name):
                vacuum(table, READ_FOR, full=False)


def _go_over(
    name: str, live: Path, find: Callable[[], _Files], tables: History, work: Path
) -> None:
    """In one commit; anew where live's files have been rewritten and deleted meanwhile."""
    for _ in range(TRIES):
        files = find()
        if not files.mine:
            return
        try:
            _take_over(name, live, files, tables, work)
        except (duckdb.IOException, FileNotFoundError):
            if all((live / one.path).exists() for one in files.theirs):
                raise
        else:
            return
    raise TurnstoneError(f"{live}: its files go again and again; the same command again goes on")


def _of_parts(name: str, live: Path, parts: list[Path]) -> _Files:
    mine = [str(part / name / one.path) for part in parts for one in files_at(part / name)]
    return _Files(mine, files_at(live / name), [])


def _of_generation(name: str, live: Path, folder: Path) -> _Files:
    """The days with several files of the generation's own, or one and some of live's that it does
    not share. Of snapshots all days, if there is one: a key's documents may lie in many."""
    mine, theirs = files_at(folder / name), files_at(live / name)
    known, lent = {one.path for one in mine}, {one.path for one in theirs}
    own = Counter(one.day for one in mine if one.path not in lent)
    fresh = {one.day for one in theirs if one.path not in known}
    days = {day for day, count in own.items() if count > 1 or day in fresh}
    if name in SNAPSHOT_KEYS and days:
        days = {one.day for one in (*mine, *theirs)}
    return _Files(
        [str(folder / name / one.path) for one in mine if one.day in days],
        [one for one in theirs if one.day in days],
        [one for one in mine if one.day not in days],
        frozenset(known & lent) if max(own.values(), default=0) <= 1 else None,
    )


def _take_over(name: str, live: Path, files: _Files, tables: History, work: Path) -> None:
    folder, rest = Path(tables.root) / name, work / REST / name
    shutil.rmtree(rest, ignore_errors=True)
    with database(work) as db:
        same = _compare(db, name, files.mine, [str(live / one.path) for one in files.theirs])
        equal = [one for one in files.theirs if str(live / one.path) in same]
        if files.shared is not None and files.shared >= {one.path for one in equal}:
            return
        after = max(_last_place(db) + 1, tables.places_after(name))
        rows = _rest(db, name, tables.place(name, after))
        write_deltalake(str(rest), rows, partition_by=["date"], writer_properties=WRITER)
    left = files_at(rest)
    share(live, folder, (one.path for one in equal))
    share(rest, folder, (one.path for one in left))
    hold(tables, name, [*files.others, *equal, *left], places_after=after)


# --- which rows are equal ---------------------------------------------------------------------


def _compare(
    db: duckdb.DuckDBPyConnection, name: str, mine: list[str], theirs: list[str]
) -> set[str]:
    """Which of live's files are to be shared.

    Leaves the view `mine`, the rows that count of the generation's, and the table `held`, those
    that need not be written because of what is shared. Rows are told apart by `says`, their hash,
    and where a table only grows by their number among equal ones.
    """
    if name in SNAPSHOT_KEYS:
        key, order, number = ", ".join(SNAPSHOT_KEYS[name]), COMMIT_ORDER, "0"
        counts = f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {order} DESC) = 1"
    else:
        key, order, number = "says, number", "-1", "row_number() OVER (PARTITION BY says)"
        counts = ""
    db.execute(f"""
        CREATE TEMP VIEW mine AS
        SELECT *, {number} AS number FROM ({_told(name, mine)}) {counts};
        CREATE TEMP TABLE known AS SELECT {key}, says AS said FROM mine;
        CREATE TEMP TABLE theirs AS
        SELECT *, {number} AS number FROM (
            SELECT {key.removesuffix(", number")}, says, filename, {order} AS {COMMIT_ORDER}
            FROM ({_told(name, theirs or mine)}) WHERE {bool(theirs)}
        );
        CREATE TEMP TABLE shared AS SELECT filename FROM theirs LEFT JOIN known USING ({key})
        GROUP BY filename HAVING count(said) = count(*)
            AND 2 * count(*) FILTER (says = said) >= count(*);
        CREATE TEMP TABLE held AS
        SELECT says, number FROM theirs SEMI JOIN shared USING (filename) {counts}
    """)
    return {file for (file,) in db.execute("FROM shared").fetchall()}


def _told(name: str, files: list[str]) -> str:
    """SQL of the rows in some files, each with its hash and file."""
    row = ", ".join(f'"{column}"' for column in SCHEMAS[name].names)
    return f"""
        SELECT *, md5_number(CAST(to_json(row({row})) AS VARCHAR)) AS says
        FROM read_parquet([{", ".join(map(quoted, files))}], filename = true,
            hive_partitioning = true, hive_types = {{'date': DATE}})
    """


def _last_place(db: duckdb.DuckDBPyConnection) -> int:
    """The last version whose documents are in what is shared; -1 without any."""
    last = f"SELECT coalesce(max({COMMIT_ORDER}) >> 32, -1) FROM theirs SEMI JOIN shared"
    ((place,),) = db.execute(f"{last} USING (filename)").fetchall()
    return int(place)


def _rest(db: duckdb.DuckDBPyConnection, name: str, place: int) -> pa.RecordBatchReader:
    """The rows that lie in no shared file, a day after the other; documents as of `place`."""
    schema = STORED[name]
    columns = ", ".join(f'"{column}"' for column in schema.names)
    if name in SNAPSHOT_KEYS:
        order = f"{place << 32} + row_number() OVER () - 1"
        columns = columns.replace(f'"{COMMIT_ORDER}"', f"{order} AS {COMMIT_ORDER}")
    found = db.sql(f"""
        SELECT {columns} FROM mine ANTI JOIN held USING (says, number)
        ORDER BY date, src_topic, src_partition, src_offset
    """)
    batches: Iterator[pa.RecordBatch] = iter(found.to_arrow_reader(ROWS_AT_ONCE))
    return pa.RecordBatchReader.from_batches(schema, (one.cast(schema) for one in batches))
