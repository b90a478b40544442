"""Sorts a history's records into the order of folding, as one Parquet file.

Events may be folded in any order (docs/guarantees.md). Write plans apply in the order of their
partition; a user's plans from several partitions (files run in sequence) in the order of their
revisions. Records are ordered by `recorded_at`, which preserves the history of knowledge. Users and
the sessions they share are adjacent: they are folded once and written once.

DuckDB joins and sorts, on disk where memory does not suffice.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sinks.hard_links import DataFile, files_at, share
from sinks.history import quoted, select
from sinks.tables import STORED
from streams.files.manifest import Settings, load
from streams.files.stored_records import (
    INPUT_TABLES,
    LINE,
    PLACE,
    SESSION_TABLES,
    extra_fields,
    names_user,
    of_session,
    owner,
    plan_order,
)
from streams.generations.parquet import write_rows
from streams.generations.retraction_scope import (
    MARKED,
    Origin,
    counts,
    define,
    fallen_letter,
    remaining,
)
from streams.generations.snapshot import Snapshot, marks_of

RECORDS, LETTERS, MARKS = "records.parquet", "letters.parquet", "marks.parquet"
MEMORY_LIMIT = "1GB"
ROW_GROUP = 4096
LETTERS_AT_ONCE = 2_048
"""DuckDB's minimum; of the largest letters they just fit an Arrow array."""

NAMED = " UNION ALL ".join(
    f"SELECT tenant, session_id, user_id FROM {table} WHERE {of_session(table)}"
    for table in SESSION_TABLES
    if names_user(table)
)
SPEAKERS = f"""
CREATE TEMP TABLE speaker AS
SELECT DISTINCT tenant, session_id, user_id FROM ({NAMED}) WHERE user_id IS NOT NULL
"""
GROUPS = """
SELECT tenant, list(DISTINCT user_id) FROM speaker
GROUP BY tenant, session_id HAVING count(DISTINCT user_id) > 1
"""
HOMES = """
CREATE TEMP TABLE home AS
SELECT tenant, session_id AS id, true AS is_session,
    min(hash(tenant, coalesce(leader, user_id))) AS home
FROM speaker LEFT JOIN led USING (tenant, user_id) GROUP BY ALL
UNION ALL SELECT tenant, user_id, false, hash(tenant, leader) FROM led
"""

LED = ("tenant", "user_id", "leader")

TOLD = " UNION ALL ".join(
    f"SELECT tenant, {owner(table)} AS id, {of_session(table)} AS is_session, recorded_at AS due, "
    f"0 AS number, doc, {extra_fields(table)} AS more, {PLACE} FROM {table}"
    for table in INPUT_TABLES
)
RECORDS_IN_ORDER = f"""
WITH told AS (
    {TOLD}
    UNION ALL
    SELECT tenant, user_id, false, due, number, doc, {extra_fields("plans")}, {PLACE}
    FROM plans JOIN plan_order USING (tenant, user_id, plan_id)
)
SELECT coalesce(home, hash(tenant, id)) AS home, {LINE} AS line, {PLACE}
FROM told LEFT JOIN home USING (tenant, id, is_session)
ORDER BY 1, due, number, {PLACE}
"""


FIRST_OF_HOME = """
WITH cut AS MATERIALIZED (
    SELECT file_row_number AS cut_at, home FROM gathered
    WHERE file_row_number IN (SELECT unnest($1))
), begins AS (
    SELECT home, min(file_row_number) AS begins_at FROM gathered SEMI JOIN cut USING (home)
    GROUP BY home
)
SELECT cut_at, begins_at FROM cut JOIN begins USING (home)
"""
"""Row numbers -> number and start of the row's home. Reads one column twice, independent of their
count."""

SAID_IN_LETTER = "TRY_CAST(TRY(decode(payload)) AS JSON) ->> "
PLAN_OF_LETTER = f"{SAID_IN_LETTER} '$.plan_id'"
USER_OF_LETTER = f"{SAID_IN_LETTER} '$.user_id'"


class Gathered(NamedTuple):
    """Number of records to fold, and of omitted plans; of retracted records by kind. `files`: of
    the generation's tables of input records."""

    records: int
    left_out: int
    retracted: dict[str, int]
    files: Snapshot


def gather(
    source: Path, folder: Path, snapshot: Snapshot, settings: Settings, target: Path
) -> Gathered:
    """Writes the records of a snapshot of `source` that the generation in `folder` has not read.

    Writes the records to fold and all dead letters of the source to the folder `target`. DuckDB
    sorts at least 2,048 rows at a time; if these exceed the memory limit, DuckDB's default applies.
    """
    try:
        return _gather(source, folder, snapshot, settings, target, bounded=True)
    except duckdb.OutOfMemoryException:
        return _gather(source, folder, snapshot, settings, target, bounded=False)


def _gather(
    source: Path,
    folder: Path,
    snapshot: Snapshot,
    settings: Settings,
    target: Path,
    *,
    bounded: bool,
) -> Gathered:
    retracted, live = settings.retracted, load(source)
    of_live = live.settings.retracted if live else ()
    is_partial = bool(retracted or of_live)  # otherwise all files of the source are shared
    with database(target, bounded=bounded) as db:
        if is_partial:
            origin = None
            if live and {*of_live} <= {*retracted}:
                is_same = {*of_live} == {*retracted}
                origin = Origin(marks_of(source), live.started_at if is_same else None)
            define(db, retracted, lambda name: select(name, _paths(source, name, snapshot)), origin)
        for name in INPUT_TABLES:
            _view_unread(db, name, folder, source, snapshot, settings, is_partial=is_partial)
        letters = select("dead_letters", _paths(source, "dead_letters", snapshot))
        if retracted:
            letters = f"FROM ({letters}) t WHERE NOT {fallen_letter(retracted)}"
        _copy(db, letters, target / LETTERS)
        plans = select("plans", _paths(source, "plans", snapshot))
        _view(db, "every_plan", plans)
        _view(db, "applied", _whole("plans", folder))
        _view(db, "refused", _plans_refused(folder))
        left_out = ", ".join(map(quoted, settings.left_out)) or "''"
        _view(db, "plans", f"""
            SELECT * FROM every_plan ANTI JOIN applied USING (tenant, user_id, plan_id)
            ANTI JOIN refused USING (tenant, user_id, plan_id, {PLACE})
            {"ANTI JOIN fallen_plan USING (tenant, user_id, plan_id)" if retracted else ""}
            WHERE extractor_name NOT IN ({left_out})
        """)  # fmt: skip
        _view(db, "revisions", _whole("revisions", source))
        db.execute(f"CREATE TEMP TABLE plan_order AS {plan_order()}")
        _find_homes(db)
        _copy(db, RECORDS_IN_ORDER, target / RECORDS)
        omitted = f"SELECT count(*) FROM every_plan WHERE extractor_name IN ({left_out})"
        ((count,),) = db.execute(omitted).fetchall()
        records_retracted = counts(db, retracted) if retracted else {}
        files = snapshot
        if is_partial:
            _copy(db, MARKED, target / MARKS)
            files = {name: remaining_files(db, name, source, folder, snapshot.get(name, ()), target)
                     for name in INPUT_TABLES}  # fmt: skip
    return Gathered(rows_in(target / RECORDS), count, records_retracted, files)


def remaining_files(
    db: duckdb.DuckDBPyConnection,
    name: str,
    source: Path,
    folder: Path,
    files: Iterable[DataFile],
    work: Path,
) -> list[DataFile]:
    """Files of a table of a generation that lacks records of its source: its own, files of the
    source from which it takes all rows, and files in the folder `work` with the other rows, which
    are linked into its folder."""
    files_before = files_at(folder / name)
    paths_before = {file.path for file in files_before}
    fresh = {
        str(source / name / file.path): file for file in files if file.path not in paths_before
    }
    counted = f"SELECT filename, count(*) FROM unread_{name} WHERE NOT altered GROUP BY filename"
    rows_taken = dict(db.execute(counted).fetchall()) if fresh else {}
    whole = [path for path, file in fresh.items() if rows_taken.get(path) == file.rows]
    names = ", ".join(f'"{column}"' for column in STORED[name].names)
    paths = ", ".join(map(quoted, whole)) or "''"
    rows = db.sql(f"SELECT {names} FROM unread_{name} WHERE filename NOT IN ({paths})")
    rest = work / "remaining" / name
    if len(whole) < len(fresh):
        batches = rows.to_arrow_reader(ROW_GROUP)
        write_rows(name, rest, (batch.cast(STORED[name]) for batch in batches if batch.num_rows))
    written = files_at(rest)
    share(rest, folder / name, (file.path for file in written))
    return [*files_before, *map(fresh.__getitem__, whole), *written]


def unknown_letters(file: Path, folder: Path) -> Iterator[pa.Table]:
    """Yields chunks of gathered dead letters that the generation lacks, except letters of plans
    that it has applied. The caller must append each chunk before it requests the next."""
    try:
        yield from _unknown(file, folder, bounded=True)
    except duckdb.OutOfMemoryException:
        yield from _unknown(file, folder, bounded=False)


def _unknown(file: Path, folder: Path, *, bounded: bool) -> Iterator[pa.Table]:
    schema = STORED["dead_letters"]
    names = ", ".join(f'"{name}"' for name in schema.names)
    with database(file.parent, bounded=bounded) as db:
        _view(db, "dead_letters", _whole("dead_letters", folder))
        _view(db, "plans", _whole("plans", folder))
        _view(db, "gathered", f"FROM read_parquet({quoted(str(file))})")
        letters = db.sql(f"""
            SELECT {names} FROM gathered WHERE coalesce(
                (tenant, {USER_OF_LETTER}, {PLAN_OF_LETTER}, {PLACE}) NOT IN (
                    SELECT (tenant, user_id, plan_id, {PLACE}) FROM plans
                ), true
            ) EXCEPT ALL SELECT {names} FROM dead_letters
        """)
        for batch in letters.to_arrow_reader(LETTERS_AT_ONCE):
            if batch.num_rows:
                yield pa.Table.from_batches([batch.cast(schema)])


def parts_of(file: Path, count: int) -> tuple[int, ...]:
    """Ends of `count` parts of the records of about equal size. A home is in one part, so parts may
    be empty."""
    rows = rows_in(file)
    cuts = [rows * number // count for number in range(1, count)]
    with duckdb.connect() as db:
        _view(db, "gathered", f"FROM read_parquet({quoted(str(file))}, file_row_number = true)")
        starts = dict(db.execute(FIRST_OF_HOME, [cuts]).fetchall()) if cuts and rows else {}
    return (*sorted(starts.get(cut, rows) for cut in cuts), rows)


def rows_in(file: Path) -> int:
    """Number of rows in a Parquet file."""
    with pq.ParquetFile(file) as parquet:
        return parquet.metadata.num_rows


@contextmanager
def database(work: Path, *, bounded: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with a memory limit, or its default, 80 % of the machine's memory; spills into a
    folder of `work`."""
    with duckdb.connect() as db:
        if bounded:
            db.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        db.execute(f"SET temp_directory = {quoted(str(work / 'sorting'))}")
        db.execute("SET TimeZone = 'UTC'")
        db.execute("SET enable_progress_bar = false")
        yield db


def _view(db: duckdb.DuckDBPyConnection, name: str, sql: str) -> None:
    db.execute(f"CREATE TEMP VIEW {name} AS {sql}")


def _copy(db: duckdb.DuckDBPyConnection, sql: str, file: Path) -> None:
    db.execute(f"COPY ({sql}) TO {quoted(str(file))} (FORMAT parquet, ROW_GROUP_SIZE {ROW_GROUP})")


def _view_unread(
    db: duckdb.DuckDBPyConnection,
    name: str,
    folder: Path,
    source: Path,
    snapshot: Snapshot,
    settings: Settings,
    *,
    is_partial: bool,
) -> None:
    """View of the rows in files that the generation does not share yet, without rows of files that
    the source has rewritten since the generation read them. `is_partial`: also without retracted
    rows; then the view `unread_TABLE` has their file too."""
    shared = {
        data_file.path for data_file in files_at(folder / name) if settings.covers(data_file.day)
    }
    current = {data_file.path for data_file in snapshot.get(name, ())}
    fresh = select(name, _below(source / name, current - shared), filename=is_partial)
    if is_partial:
        fresh = remaining(settings.retracted, name, fresh)
    _view(db, f"fresh_{name}", fresh)
    _view(db, f"gone_{name}", select(name, _below(folder / name, shared - current)))
    # a turn without the agent's part is the same record; lines of stdin share their positions
    content = "session_id, event_id, status" if is_partial and name == "events" else "doc"
    unread = f"FROM fresh_{name} ANTI JOIN gone_{name} USING (tenant, {PLACE}, {content})"
    unread = unread if shared - current else f"FROM fresh_{name}"
    if is_partial:
        _view(db, f"unread_{name}", unread)
        unread = f"SELECT * EXCLUDE (filename, altered) FROM unread_{name}"
    _view(db, name, unread)


def _plans_refused(folder: Path) -> str:
    """SQL of the plans that this generation rejected, with their positions: a corrected plan may
    arrive again."""
    return f"""
        SELECT tenant, {USER_OF_LETTER} AS user_id, {PLAN_OF_LETTER} AS plan_id, {PLACE}
        FROM ({_whole("dead_letters", folder)})
    """


def _whole(name: str, folder: Path) -> str:
    return select(
        name, _below(folder / name, {data_file.path for data_file in files_at(folder / name)})
    )


def _paths(source: Path, name: str, snapshot: Snapshot) -> list[str]:
    return _below(source / name, {data_file.path for data_file in snapshot.get(name, ())})


def _below(table: Path, files: set[str]) -> list[str]:
    return sorted(str(table / path) for path in files)


def _find_homes(db: duckdb.DuckDBPyConnection) -> None:
    """Assigns one home to all users who shared a session, and to their sessions."""
    db.execute(SPEAKERS)
    leaders: dict[tuple[str, str], tuple[str, str]] = {}

    def leader(user: tuple[str, str]) -> tuple[str, str]:
        while (parent := leaders.get(user, user)) != user:
            leaders[user] = leaders.get(parent, parent)
            user = parent
        return user

    groups = db.execute(GROUPS)
    while rows := groups.fetchmany(1000):
        for tenant, users in rows:
            first, *followers = sorted({leader((tenant, user)) for user in users})
            leaders.update(dict.fromkeys(followers, first))
            leaders.setdefault(first, first)
    pairs = [(*user, leader(user)[1]) for user in leaders]
    led = pa.table(
        {name: pa.array([pair[n] for pair in pairs], pa.string()) for n, name in enumerate(LED)}
    )
    db.register("led", led)
    db.execute(HOMES)
