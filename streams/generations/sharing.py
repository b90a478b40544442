"""What a generation has folded and the live one has, too: one file for both.

A Parquet file is never changed, so a generation may hold any of live's whose rows are its own; what
is left is written anew, a day after the other. Each table goes over in one commit. Killed in
between, the next pass does it again.

- Tables that only grow: a file is shared if the generation has each of its rows, as often.
- Snapshots: a file is shared if the generation knows each of its keys and has half of its documents
  as they are; those that differ are written behind it, and the newest of a key is what counts.

Rows are compared by their hashes: however large documents are, DuckDB holds only what is narrow. A
table that cannot be compared even so stays as the generation has it.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
from deltalake import write_deltalake

from schemas.rows import SNAPSHOT_KEYS, TABLES
from sinks.delta import WRITER, History, in_a_line
from sinks.links import DataFile, files_at, hold, share, version_of
from sinks.maintenance import SMALL, drop_unnamed, vacuum
from sinks.root import HistoryWriteError
from sinks.tables import COMMIT_ORDER, SCHEMAS, STORED
from streams.errors import TurnstoneError
from streams.generations.gathering import database
from streams.generations.parquet import ROW, rows_of
from streams.generations.snapshot import SAID

FOLDED = tuple(name for name in TABLES if name not in SAID)
REST = "rest"
TRIES = 5
READ_FOR = 1
"""Hours that a file which was replaced stays, for who reads the generation meanwhile."""
SHORT = 64
"""Bytes of a text that is shorter to write than to hash."""
NARROW = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal,
)  # fmt: skip
"""Types whose values have short texts, without a comma."""


class _Files(NamedTuple):
    """A table's files that are compared, the generation's (each with the folder of the table that
    it lies in) and live's, and the generation's others, which stay. `shared`: if no more than these
    are equal, all is as it should be."""

    mine: list[tuple[Path, DataFile]]
    theirs: list[DataFile]
    others: list[DataFile]
    shared: frozenset[str] | None = None


def merge(live: Path, parts: list[Path], tables: History, work: Path) -> None:
    """The rows of a first pass's parts as the generation's tables: live's files where they are
    equal. Called again after a kill it does the same.

    Raises TurnstoneError, HistoryError, duckdb.Error, OSError.
    """
    for name in FOLDED:
        _go_over(name, live / name, partial(_of_parts, name, live, parts), tables, work)


def share_equal(live: Path, tables: History, work: Path, names: Iterable[str]) -> None:
    """Puts live's files in the place of the generation's own where their rows are equal.

    Raises TurnstoneError, HistoryError, duckdb.Error, OSError; the generation is whole then, too.
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
        try:
            if files.mine:
                _take_over(name, live, files, tables, work)
        except duckdb.OutOfMemoryException:  # sharing saves room: no reason not to end
            _keep(name, files, tables)
        except (duckdb.IOException, FileNotFoundError):
            if all((live / one.path).exists() for one in files.theirs):
                raise
            continue
        if table := tables.table(name):
            with tables.writing(name):
                drop_unnamed(table, Path(tables.root) / name)  # as a killed pass leaves them
        return
    raise TurnstoneError(f"{live}: its files go again and again; the same command again goes on")


def _of_parts(name: str, live: Path, parts: list[Path]) -> _Files:
    mine = [(part / name, one) for part in parts for one in files_at(part / name)]
    return _Files(mine, files_at(live / name), [])


def _of_generation(name: str, live: Path, folder: Path) -> _Files:
    """The days with several small files of the generation's own, or some of its own and some of
    live's that it does not share. Of snapshots all days, if there is one: a key's documents may
    lie in many."""
    mine, theirs = files_at(folder / name), files_at(live / name)
    known, lent = {one.path for one in mine}, {one.path for one in theirs}
    own = [one for one in mine if one.path not in lent]
    small = Counter(one.day for one in own if one.size < SMALL)
    untidy = {day for day, count in small.items() if count > 1}
    days = untidy | {one.day for one in own} & {one.day for one in theirs if one.path not in known}
    if name in SNAPSHOT_KEYS and days:
        days = {one.day for one in (*mine, *theirs)}
    return _Files(
        [(folder / name, one) for one in mine if one.day in days],
        [one for one in theirs if one.day in days],
        [one for one in mine if one.day not in days],
        None if untidy else frozenset(known & lent),
    )


def _take_over(name: str, live: Path, files: _Files, tables: History, work: Path) -> None:
    folder, rest = Path(tables.root) / name, work / REST / name
    shutil.rmtree(rest, ignore_errors=True)
    by_day = sorted(files.mine, key=lambda one: one[1].day)
    mine = [str(table / one.path) for table, one in by_day]
    theirs = [str(live / one.path) for one in files.theirs]
    is_compared = bool(theirs) or name in SNAPSHOT_KEYS  # else each row is to be written
    with database(work) as db:
        same = _compare(db, name, mine, theirs) if is_compared else set()
        equal = [one for one, path in zip(files.theirs, theirs, strict=True) if path in same]
        if files.shared is not None and files.shared >= {one.path for one in equal}:
            return
        after = max(_last_place(db) + 1 if is_compared else 0, tables.places_after(name))
        place = tables.place(name, after)
        _write(name, rest, _rest(db, name, mine, place) if is_compared else _all(name, mine))
    left = files_at(rest)
    share(live, folder, (one.path for one in equal))
    share(rest, folder, (one.path for one in left))
    hold(tables, name, [*files.others, *equal, *left], places_after=after)


def _keep(name: str, files: _Files, tables: History) -> None:
    """Nothing is shared: the table consists of the generation's own files."""
    last = max(version_of(table) for table, _ in files.mine)
    for table, one in files.mine:
        share(table, Path(tables.root) / name, [one.path])
    own = [one for _, one in files.mine]
    after = max(last + 1, tables.places_after(name))
    hold(tables, name, [*files.others, *own], places_after=after)


# --- which rows are equal ---------------------------------------------------------------------


def _compare(
    db: duckdb.DuckDBPyConnection, name: str, mine: list[str], theirs: list[str]
) -> set[str]:
    """Which of live's files are to be shared.

    Leaves the table `kept`, the generation's rows that are to be written, each as the place of its
    file in `mine` and its number there. Rows are told apart by `says`, their hash, and where a
    table only grows by their number among equal ones.
    """
    if name in SNAPSHOT_KEYS:
        key, number = ", ".join(SNAPSHOT_KEYS[name]), "0"
        counts = f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {COMMIT_ORDER} DESC) = 1"
    else:
        key, number, counts = "says, number", "row_number() OVER (PARTITION BY says)", ""
    _tell(db, "mine_told", name, mine)
    _tell(db, "theirs_told", name, theirs)
    db.execute(f"""
        CREATE TEMP TABLE mine AS SELECT *, {number} AS number FROM mine_told {counts};
        CREATE TEMP TABLE theirs AS SELECT *, {number} AS number FROM theirs_told;
        CREATE TEMP TABLE shared AS
        SELECT file FROM theirs LEFT JOIN (SELECT {key}, says AS said FROM mine) USING ({key})
        GROUP BY file HAVING count(said) = count(*)
            AND 2 * count(*) FILTER (says = said) >= count(*);
        CREATE TEMP TABLE held AS
        SELECT says, number FROM theirs SEMI JOIN shared USING (file) {counts};
        CREATE TEMP TABLE kept AS
        SELECT file, {ROW} FROM mine ANTI JOIN held USING (says, number) ORDER BY ALL
    """)
    return {theirs[file] for (file,) in db.execute("FROM shared").fetchall()}


def _tell(db: duckdb.DuckDBPyConnection, table: str, name: str, files: list[str]) -> None:
    """What tells the rows of some files, as a table: key, place of the file, number, hash."""
    key = ", ".join((*SNAPSHOT_KEYS.get(name, ()), COMMIT_ORDER))
    if name not in SNAPSHOT_KEYS:
        key = f"CAST(-1 AS BIGINT) AS {COMMIT_ORDER}"
    told = f"{key}, {ROW}, md5_number({' || '.join(map(_short, SCHEMAS[name]))}) AS says"
    none = STORED[name].append(pa.field(ROW, pa.int64())).empty_table()
    db.register("given", none)
    db.execute(f"CREATE TEMP TABLE {table} AS SELECT 0 AS file, {told} FROM given")
    for file, path in enumerate(files):
        for rows in rows_of(name, path):
            db.register("given", rows)
            db.execute(f"INSERT INTO {table} SELECT {file}, {told} FROM given")
    db.unregister("given")


def _short(field: pa.Field[Any]) -> str:
    """SQL of a text that stands for a value among a row's others, and shows where it ends: itself
    where it is short, else its hash, so that no large row is ever put together."""
    value = f'"{field.name}"'
    if pa.types.is_binary(field.type):
        return f"coalesce('#' || md5({value}), '~')"
    text = f"CAST({value} AS VARCHAR)"
    if any(holds(field.type) for holds in NARROW):
        return f"coalesce({text} || ',', '~')"
    if pa.types.is_list(field.type):
        text = f"CAST(to_json({value}) AS VARCHAR)"
    return (
        f"CASE WHEN {value} IS NULL THEN '~' WHEN strlen({text}) > {SHORT} THEN '#' || md5({text}) "
        f"ELSE strlen({text}) || ':' || {text} END"
    )


def _last_place(db: duckdb.DuckDBPyConnection) -> int:
    """The last version whose documents are in what is shared; -1 without any."""
    last = f"SELECT coalesce(max({COMMIT_ORDER}) >> 32, -1) FROM theirs SEMI JOIN shared"
    ((place,),) = db.execute(f"{last} USING (file)").fetchall()
    return int(place)


def _rest(
    db: duckdb.DuckDBPyConnection, name: str, mine: list[str], place: int
) -> Iterator[pa.RecordBatch]:
    """The rows that lie in no shared file, in the order of the files; documents as of `place`."""
    order = place << 32
    for (file,) in db.execute("SELECT DISTINCT file FROM kept ORDER BY file").fetchall():
        for some in rows_of(name, mine[file]):
            rows = _kept(db, file, some)
            if name in SNAPSHOT_KEYS:
                rows = _ordered(rows, order)
            order += rows.num_rows
            yield from rows.to_batches()


def _all(name: str, mine: list[str]) -> Iterator[pa.RecordBatch]:
    """All rows, in the order of the files."""
    for file in mine:
        for some in rows_of(name, file):
            yield from some.drop_columns([ROW]).to_batches()


def _kept(db: duckdb.DuckDBPyConnection, file: int, some: pa.Table) -> pa.Table:
    """Those of some rows of a file that are to be written."""
    first = some.column(ROW)[0].as_py()
    found = db.execute(
        f"SELECT {ROW} FROM kept WHERE file = ? AND {ROW} BETWEEN ? AND ? ORDER BY ALL",
        [file, first, first + some.num_rows - 1],
    ).fetchall()
    return some.drop_columns([ROW]).take(pa.array([row - first for (row,) in found], pa.int64()))


def _ordered(rows: pa.Table, first: int) -> pa.Table:
    places = pa.array(range(first, first + rows.num_rows), pa.int64())
    return rows.set_column(rows.column_names.index(COMMIT_ORDER), COMMIT_ORDER, places)


def _write(name: str, rest: Path, rows: Iterator[pa.RecordBatch]) -> None:
    reader = pa.RecordBatchReader.from_batches(STORED[name], rows)
    try:
        write_deltalake(str(rest), reader, partition_by=["date"], writer_properties=WRITER)
    except Exception as error:  # what a reader raises comes as a bare one, with its traceback
        text = in_a_line(error).partition(" Detail: ")[0]
        raise HistoryWriteError(f"{name}: {text}") from error
