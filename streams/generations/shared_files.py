"""Shares equal files between a generation and the live one.

A Parquet file is never changed, so a generation can reference live files with equal rows; the
remaining rows are written again, day by day. Each table changes in one commit. After a kill, the
next pass repeats it.

- Append-only tables: a file is shared if the generation has all of its rows, equally often.
- Snapshots: a file is shared if the generation has all of its keys and half of its documents are
  equal; different documents are written after it, as the newest of a key counts.

Rows are compared by hash, so that DuckDB's memory does not depend on the size of documents. A table
that still cannot be compared keeps the generation's files.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from schemas.rows import SNAPSHOT_KEYS, TABLES
from sinks.delta import History
from sinks.hard_links import DataFile, files_at, set_files, share, version_of
from sinks.history import NEWEST_FIRST
from sinks.maintenance import SMALL, drop_unnamed, vacuum
from sinks.tables import COMMIT_ORDER, SCHEMAS, STORED
from streams.errors import TurnfoldError
from streams.files.stored_records import INPUT_TABLES
from streams.generations.parquet import FILE_BITS, ROW, rows_of, write_rows
from streams.generations.replay_order import database

FOLDED = tuple(name for name in TABLES if name not in INPUT_TABLES)
WORK_FOLDER = "sharing"
"""Folder with a subfolder per table during comparison."""
PARALLEL_TABLES = min(len(os.sched_getaffinity(0)), 4)
"""Tables compared in parallel, each with the memory of `database`; also folding processes."""
TRIES = 5
READ_FOR = 1
"""Hours that replaced files stay for concurrent readers of the generation."""
SHORT = 64
"""Bytes up to which a text is compared itself instead of its hash."""
NARROW = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal,
)  # fmt: skip
"""Types with short texts without a comma."""

Read = Callable[[Mapping[int, str]], Iterator[pa.Table]]
"""Reads numbered files in chunks (`rows_of`), until stopped."""


class _Files(NamedTuple):
    """Files of a table: `own`, the generation's files to compare, with the folder of their table;
    `live`, live's; `rest`, the generation's remaining files. `shared`: files shared already; if
    no other file is equal, the table does not change."""

    own: list[tuple[Path, DataFile]]
    live: list[DataFile]
    rest: list[DataFile]
    shared: frozenset[str] | None = None


def merge(
    live: Path, parts: list[Path], tables: History, work: Path, *, is_partial: bool = False
) -> None:
    """Makes the rows of a first pass's parts the generation's tables, with live's files where they
    are equal; idempotent after a kill. `is_partial`: shares no snapshots, as their older documents
    may contain retracted records.

    Raises TurnfoldError, HistoryError, duckdb.Error, OSError.
    """

    def take_over(name: str, stop: Event) -> None:
        is_shared = not (is_partial and name in SNAPSHOT_KEYS)
        find = partial(_of_parts, name, live if is_shared else None, parts)
        _share_table(name, live / name, find, tables, work, stop)

    _side_by_side(take_over, FOLDED)


def adopt_parts(parts: list[Path], tables: History) -> None:
    """Makes the files of a first pass's parts the generation's tables, without reading or sharing
    them; idempotent after a kill.

    Raises HistoryError, OSError.
    """
    for name in FOLDED:
        mine = [(part / name, file) for part in parts for file in files_at(part / name)]
        if mine:
            _keep_own(name, _Files(mine, [], []), tables)


def share_equal(live: Path, tables: History, work: Path, names: Iterable[str]) -> None:
    """Replaces the generation's files by live's where their rows are equal.

    Raises TurnfoldError, HistoryError, duckdb.Error, OSError; the generation stays complete.
    """

    def put(name: str, stop: Event) -> None:
        find = partial(_of_generation, name, live, Path(tables.root))
        _share_table(name, live / name, find, tables, work, stop)
        if table := tables.table(name):
            tables.flush()
            with tables.writing(name):
                vacuum(table, READ_FOR, full=False)

    _side_by_side(put, names)


def _side_by_side(task: Callable[[str, Event], None], names: Iterable[str]) -> None:
    """Runs a task for each table, in parallel by cores. After a failure or interrupt it stops the
    others, and waits for them."""
    stop = Event()
    with ThreadPoolExecutor(PARALLEL_TABLES) as pool:
        try:
            for future in as_completed([pool.submit(task, name, stop) for name in names]):
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _share_table(
    name: str,
    live: Path,
    find: Callable[[], _Files],
    tables: History,
    work: Path,
    stop: Event,
) -> None:
    """Changes a table in one commit; retries if live's files were rewritten and deleted."""
    for _ in range(TRIES):
        files = find()
        try:
            if files.own:
                _replace_files(name, live, files, tables, work, stop)
        except duckdb.OutOfMemoryException:  # sharing only saves space
            _keep_own(name, files, tables)
        except (duckdb.IOException, FileNotFoundError):
            if all((live / file.path).exists() for file in files.live):
                raise
            continue
        if table := tables.table(name):
            tables.flush()
            with tables.writing(name):
                drop_unnamed(table, Path(tables.root) / name)  # leftovers of a killed pass
        return
    raise TurnfoldError(
        f"{live}: other commands keep removing its files; run this one again to continue"
    )


def _of_parts(name: str, live: Path | None, parts: list[Path]) -> _Files:
    mine = [(part / name, file) for part in parts for file in files_at(part / name)]
    return _Files(mine, files_at(live / name) if live else [], [])


def _of_generation(name: str, live: Path, folder: Path) -> _Files:
    """Files of the days with several small files of the generation, or with own files and live
    files that are not shared. For snapshots all days, if there is such a day: a key's documents may
    be in many."""
    files, live_files = files_at(folder / name), files_at(live / name)
    paths, live_paths = {file.path for file in files}, {file.path for file in live_files}
    own_files = [file for file in files if file.path not in live_paths]
    small = Counter(file.day for file in own_files if file.size < SMALL)
    untidy = {day for day, count in small.items() if count > 1}
    days = untidy | {file.day for file in own_files} & {
        file.day for file in live_files if file.path not in paths
    }
    if name in SNAPSHOT_KEYS and days:
        days = {file.day for file in (*files, *live_files)}
    return _Files(
        [(folder / name, file) for file in files if file.day in days],
        [file for file in live_files if file.day in days],
        [file for file in files if file.day not in days],
        None if untidy else frozenset(paths & live_paths),
    )


def _replace_files(
    name: str, live: Path, files: _Files, tables: History, work: Path, stop: Event
) -> None:
    folder, desk = Path(tables.root) / name, work / WORK_FOLDER / name
    shutil.rmtree(desk, ignore_errors=True)
    desk.mkdir(parents=True)
    rest_table = desk / "rest"
    by_day = sorted(files.own, key=lambda entry: entry[1].day)
    paths = [str(table / file.path) for table, file in by_day]
    live_paths = [str(live / file.path) for file in files.live]
    is_compared = bool(live_paths) or name in SNAPSHOT_KEYS  # otherwise all rows are written
    read_rows = partial(_read, name, stop)
    with database(desk) as db:
        same = _compare(db, name, read_rows, paths, live_paths) if is_compared else set()
        equal = [file for file, path in zip(files.live, live_paths, strict=True) if path in same]
        if files.shared is not None and files.shared >= {file.path for file in equal}:
            return
        offset = max(_last_shared_version(db) + 1 if is_compared else 0, tables.places_after(name))
        place = tables.place(name, offset)
        rows = (
            _remaining_rows(db, name, read_rows, paths, place)
            if is_compared
            else _all_rows(read_rows, paths)
        )
        write_rows(name, rest_table, rows)
    rest_files = files_at(rest_table)
    share(live, folder, (file.path for file in equal))
    share(rest_table, folder, (file.path for file in rest_files))
    set_files(tables, name, [*files.rest, *equal, *rest_files], places_after=offset)


def _keep_own(name: str, files: _Files, tables: History) -> None:
    """Sets the table to the generation's own files, without sharing."""
    last = max(version_of(table) for table in {table for table, _ in files.own})
    for table, file in files.own:
        share(table, Path(tables.root) / name, [file.path])
    own_files = [file for _, file in files.own]
    offset = max(last + 1, tables.places_after(name))
    set_files(tables, name, [*files.rest, *own_files], places_after=offset)


def _read(name: str, stop: Event, files: Mapping[int, str]) -> Iterator[pa.Table]:
    for rows in rows_of(name, files):
        if stop.is_set():
            raise TurnfoldError(f"{name}: not complete; run the same command again to continue")
        yield rows


# --- which rows are equal ---------------------------------------------------------------------


def _compare(
    db: duckdb.DuckDBPyConnection,
    name: str,
    read_rows: Read,
    paths: list[str],
    live_paths: list[str],
) -> set[str]:
    """Returns live's files to share.

    Creates the table `kept` of the generation's rows to write (`ROW`: file's index in `paths`, row
    number). Rows are identified by their hash `says`, and in append-only tables by their number
    among equal rows.
    """
    if name in SNAPSHOT_KEYS:
        key, number = ", ".join(SNAPSHOT_KEYS[name]), "0"
        counts = f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {NEWEST_FIRST}) = 1"
    else:
        key, number, counts = "says, number", "row_number() OVER (PARTITION BY says)", ""
    _identify(db, "mine_told", name, read_rows(dict(enumerate(paths))))
    _identify(db, "theirs_told", name, read_rows(dict(enumerate(live_paths))))
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
        SELECT {ROW} FROM mine ANTI JOIN held USING (says, number) ORDER BY ALL
    """)
    return {live_paths[file] for (file,) in db.execute("FROM shared").fetchall()}


def _identify(
    db: duckdb.DuckDBPyConnection, table: str, name: str, chunks: Iterator[pa.Table]
) -> None:
    """Creates a table that identifies rows: file number, key, `ROW`, hash."""
    key = ", ".join((*SNAPSHOT_KEYS.get(name, ()), "version", COMMIT_ORDER))
    if name not in SNAPSHOT_KEYS:
        key = f"CAST(-1 AS BIGINT) AS {COMMIT_ORDER}"
    hash_sql = f"md5_number({' || '.join(map(_value_sql, SCHEMAS[name]))}) AS says"
    select = f"SELECT {ROW} >> {FILE_BITS} AS file, {key}, {ROW}, {hash_sql} FROM given"
    empty = STORED[name].append(pa.field(ROW, pa.int64())).empty_table()
    db.register("given", empty)
    db.execute(f"CREATE TEMP TABLE {table} AS {select}")
    for rows in chunks:
        db.register("given", rows)
        db.execute(f"INSERT INTO {table} {select}")
    db.unregister("given")


def _value_sql(field: pa.Field[Any]) -> str:
    """SQL of a self-delimiting text of a value, for a row's hash: the value if it is short,
    otherwise its hash, so that large rows are never concatenated."""
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


def _last_shared_version(db: duckdb.DuckDBPyConnection) -> int:
    """The last version with documents in shared files; -1 without any."""
    last = f"SELECT coalesce(max({COMMIT_ORDER}) >> 32, -1) FROM theirs SEMI JOIN shared"
    ((place,),) = db.execute(f"{last} USING (file)").fetchall()
    return int(place)


def _remaining_rows(
    db: duckdb.DuckDBPyConnection, name: str, read_rows: Read, paths: list[str], place: int
) -> Iterator[pa.RecordBatch]:
    """Yields the rows that are in no shared file, in the order of the files; `place` is the commit
    order of documents."""
    order = place << 32
    numbers = f"SELECT DISTINCT {ROW} >> {FILE_BITS} FROM kept ORDER BY ALL"
    files = {file: paths[file] for (file,) in db.execute(numbers).fetchall()}
    for chunk in read_rows(files):
        rows = _kept_rows(db, chunk)
        if name in SNAPSHOT_KEYS:
            rows = _ordered(rows, order)
        order += rows.num_rows
        yield from rows.to_batches()


def _all_rows(read_rows: Read, paths: list[str]) -> Iterator[pa.RecordBatch]:
    """Yields all rows in the order of the files."""
    for chunk in read_rows(dict(enumerate(paths))):
        yield from chunk.drop_columns([ROW]).to_batches()


def _kept_rows(db: duckdb.DuckDBPyConnection, chunk: pa.Table) -> pa.Table:
    """The rows of a chunk that are in `kept`."""
    rows = chunk.column(ROW)
    between = [rows[0].as_py(), rows[-1].as_py()]
    matches = db.sql(
        f"SELECT {ROW} FROM kept WHERE {ROW} BETWEEN ? AND ? ORDER BY ALL", params=between
    )
    row_numbers = matches.to_arrow_table().column(ROW)
    return chunk.drop_columns([ROW]).take(pc.index_in(row_numbers, rows))


def _ordered(rows: pa.Table, first: int) -> pa.Table:
    places = pa.array(range(first, first + rows.num_rows), pa.int64())
    return rows.set_column(rows.column_names.index(COMMIT_ORDER), COMMIT_ORDER, places)
