"""What a generation has folded and the live one has, too: one file for both.

A Parquet file is never changed, so a generation may hold any of live's whose rows are its own; what
is left is written again, a day after the other. Each table goes over in one commit. Killed in
between, the next pass does it again.

- Tables that only grow: a file is shared if the generation has each of its rows, as often.
- Snapshots: a file is shared if the generation knows each of its keys and has half of its documents
  as they are; those that differ are written behind it, and the newest of a key is what counts.

Rows are compared by their hashes: however large documents are, DuckDB holds only what is narrow. A
table that cannot be compared even so stays as the generation has it.
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
from deltalake import write_deltalake

from schemas.rows import SNAPSHOT_KEYS, TABLES
from sinks.delta import WRITER, History
from sinks.errors import in_a_line
from sinks.history import NEWEST_FIRST
from sinks.links import DataFile, files_at, hold, share, version_of
from sinks.maintenance import SMALL, drop_unnamed, vacuum
from sinks.root import HistoryWriteError
from sinks.tables import COMMIT_ORDER, SCHEMAS, STORED
from streams.errors import TurnfoldError
from streams.generations.parquet import FILE_BITS, ROW, rows_of
from streams.generations.replay_order import database
from streams.generations.snapshot import SAID

FOLDED = tuple(name for name in TABLES if name not in SAID)
DESK = "sharing"
"""Where each table has a folder, while it is compared."""
AT_ONCE = min(len(os.sched_getaffinity(0)), 4)
"""Tables, each of which takes the memory that `database` gives; and processes that fold."""
TRIES = 5
READ_FOR = 1
"""Hours that a file which was replaced stays, for readers of the generation meanwhile."""
SHORT = 64
"""Bytes of a text that is shorter to write than to hash."""
NARROW = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_temporal,
)  # fmt: skip
"""Types whose values have short texts, without a comma."""

Read = Callable[[Mapping[int, str]], Iterator[pa.Table]]
"""The rows of files by their numbers, some at a time (`rows_of`), until it is over."""


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

    Raises TurnfoldError, HistoryError, duckdb.Error, OSError.
    """

    def take_over(name: str, over: Event) -> None:
        _go_over(name, live / name, partial(_of_parts, name, live, parts), tables, work, over)

    _side_by_side(take_over, FOLDED)


def hold_parts(parts: list[Path], tables: History) -> None:
    """The files of a first pass's parts as the generation's tables; none is read, and none shared
    with live. Called again after a kill it does the same.

    Raises HistoryError, OSError.
    """
    for name in FOLDED:
        mine = [(part / name, one) for part in parts for one in files_at(part / name)]
        if mine:
            _keep(name, _Files(mine, [], []), tables)


def share_equal(live: Path, tables: History, work: Path, names: Iterable[str]) -> None:
    """Puts live's files in the place of the generation's own where their rows are equal.

    Raises TurnfoldError, HistoryError, duckdb.Error, OSError; the generation is whole then, too.
    """

    def put(name: str, over: Event) -> None:
        find = partial(_of_generation, name, live, Path(tables.root))
        _go_over(name, live / name, find, tables, work, over)
        if table := tables.table(name):
            with tables.writing(name):
                vacuum(table, READ_FOR, full=False)

    _side_by_side(put, names)


def _side_by_side(do: Callable[[str, Event], None], names: Iterable[str]) -> None:
    """Does a thing to each table, to as many at once as there are cores. Where one fails, or the
    user interrupts, the others are told that it is over, and are waited for."""
    over = Event()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for ended in as_completed([pool.submit(do, name, over) for name in names]):
                ended.result()
        except BaseException:
            over.set()
            pool.shutdown(cancel_futures=True)
            raise


def _go_over(
    name: str,
    live: Path,
    find: Callable[[], _Files],
    tables: History,
    work: Path,
    over: Event,
) -> None:
    """In one commit; again where live's files have been rewritten and deleted meanwhile."""
    for _ in range(TRIES):
        files = find()
        try:
            if files.mine:
                _take_over(name, live, files, tables, work, over)
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
    raise TurnfoldError(
        f"{live}: other commands keep removing its files; run this one again to continue"
    )


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


def _take_over(
    name: str, live: Path, files: _Files, tables: History, work: Path, over: Event
) -> None:
    folder, desk = Path(tables.root) / name, work / DESK / name
    shutil.rmtree(desk, ignore_errors=True)
    desk.mkdir(parents=True)
    rest = desk / "rest"
    by_day = sorted(files.mine, key=lambda one: one[1].day)
    mine = [str(table / one.path) for table, one in by_day]
    theirs = [str(live / one.path) for one in files.theirs]
    is_compared = bool(theirs) or name in SNAPSHOT_KEYS  # else each row is to be written
    read = partial(_read, name, over)
    with database(desk) as db:
        same = _compare(db, name, read, mine, theirs) if is_compared else set()
        equal = [one for one, path in zip(files.theirs, theirs, strict=True) if path in same]
        if files.shared is not None and files.shared >= {one.path for one in equal}:
            return
        after = max(_last_place(db) + 1 if is_compared else 0, tables.places_after(name))
        place = tables.place(name, after)
        rows = _rest(db, name, read, mine, place) if is_compared else _all(read, mine)
        _write(name, rest, rows)
    left = files_at(rest)
    share(live, folder, (one.path for one in equal))
    share(rest, folder, (one.path for one in left))
    hold(tables, name, [*files.others, *equal, *left], places_after=after)


def _keep(name: str, files: _Files, tables: History) -> None:
    """Nothing is shared: the table consists of the generation's own files."""
    last = max(version_of(table) for table in {table for table, _ in files.mine})
    for table, one in files.mine:
        share(table, Path(tables.root) / name, [one.path])
    own = [one for _, one in files.mine]
    after = max(last + 1, tables.places_after(name))
    hold(tables, name, [*files.others, *own], places_after=after)


def _read(name: str, over: Event, files: Mapping[int, str]) -> Iterator[pa.Table]:
    for rows in rows_of(name, files):
        if over.is_set():
            raise TurnfoldError(f"{name}: not complete; run the same command again to continue")
        yield rows


# --- which rows are equal ---------------------------------------------------------------------


def _compare(
    db: duckdb.DuckDBPyConnection, name: str, read: Read, mine: list[str], theirs: list[str]
) -> set[str]:
    """Which of live's files are to be shared.

    Leaves the table `kept`, the generation's rows that are to be written, each as the place of its
    file in `mine` and its number there. Rows are told apart by `says`, their hash, and where a
    table only grows by their number among equal ones.
    """
    if name in SNAPSHOT_KEYS:
        key, number = ", ".join(SNAPSHOT_KEYS[name]), "0"
        counts = f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {NEWEST_FIRST}) = 1"
    else:
        key, number, counts = "says, number", "row_number() OVER (PARTITION BY says)", ""
    _tell(db, "mine_told", name, read(dict(enumerate(mine))))
    _tell(db, "theirs_told", name, read(dict(enumerate(theirs))))
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
    return {theirs[file] for (file,) in db.execute("FROM shared").fetchall()}


def _tell(db: duckdb.DuckDBPyConnection, table: str, name: str, given: Iterator[pa.Table]) -> None:
    """What tells some rows, as a table: number of the file, key, `ROW`, hash."""
    key = ", ".join((*SNAPSHOT_KEYS.get(name, ()), "version", COMMIT_ORDER))
    if name not in SNAPSHOT_KEYS:
        key = f"CAST(-1 AS BIGINT) AS {COMMIT_ORDER}"
    says = f"md5_number({' || '.join(map(_short, SCHEMAS[name]))}) AS says"
    told = f"SELECT {ROW} >> {FILE_BITS} AS file, {key}, {ROW}, {says} FROM given"
    none = STORED[name].append(pa.field(ROW, pa.int64())).empty_table()
    db.register("given", none)
    db.execute(f"CREATE TEMP TABLE {table} AS {told}")
    for rows in given:
        db.register("given", rows)
        db.execute(f"INSERT INTO {table} {told}")
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
    db: duckdb.DuckDBPyConnection, name: str, read: Read, mine: list[str], place: int
) -> Iterator[pa.RecordBatch]:
    """The rows that lie in no shared file, in the order of the files; documents as of `place`."""
    order = place << 32
    held = f"SELECT DISTINCT {ROW} >> {FILE_BITS} FROM kept ORDER BY ALL"
    files = {file: mine[file] for (file,) in db.execute(held).fetchall()}
    for some in read(files):
        rows = _kept(db, some)
        if name in SNAPSHOT_KEYS:
            rows = _ordered(rows, order)
        order += rows.num_rows
        yield from rows.to_batches()


def _all(read: Read, mine: list[str]) -> Iterator[pa.RecordBatch]:
    """All rows, in the order of the files."""
    for some in read(dict(enumerate(mine))):
        yield from some.drop_columns([ROW]).to_batches()


def _kept(db: duckdb.DuckDBPyConnection, some: pa.Table) -> pa.Table:
    """Those of some rows that are to be written."""
    rows = some.column(ROW)
    between = [rows[0].as_py(), rows[-1].as_py()]
    found = db.sql(
        f"SELECT {ROW} FROM kept WHERE {ROW} BETWEEN ? AND ? ORDER BY ALL", params=between
    )
    kept = found.to_arrow_table().column(ROW)
    return some.drop_columns([ROW]).take(pc.index_in(kept, rows))


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
