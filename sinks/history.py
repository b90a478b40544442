"""Reading a history with DuckDB: the tables and views of docs/tables.md in an in-memory database.

The file lists are read once, when the connection is made: rows committed later show in the next
connection (and for a catalog file when `catalog` runs again). Starts fast: neither pyarrow nor
pydantic is imported here, column types come from the generated JSON Schemas. `_duckdb` is DuckDB
itself; the package `duckdb` adds relations to it, which take longer to import than a question to
answer and are not used here.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextvars import ContextVar
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import _duckdb
from _duckdb import DuckDBPyConnection, Statement, StatementType

import schemas
from schemas.task_limits import MAX_ITERATION
from sinks import damage, explain, scratch
from sinks.errors import HistoryError
from sinks.files import data_files
from sinks.generation import find_tables
from sinks.locations import Location
from sinks.store_errors import of_duckdb
from sinks.views import ALL_VIEWS, MACROS, SNAPSHOT_KEYS, VIEWS, needs

GENERATED = Path(schemas.__file__).parent / "generated"
ROWS = GENERATED / "rows"
JSON_TYPES = {
    "string": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "array": "VARCHAR[]",
    "object": "JSON",
}
FORMATS = {"date-time": "TIMESTAMPTZ", "base64url": "BLOB"}
LATER: dict[str, tuple[str, ...]] = {}
"""Columns that files written by earlier versions lack: NULL there."""
JSON_OF: dict[str, Any] = {"TIMESTAMPTZ": "VARCHAR", "VARCHAR[]": ["VARCHAR"]}
SHOWN_AS = {"TIMESTAMPTZ": "TIMESTAMPTZ", "JSON": "VARCHAR"}
DOCUMENT_FIELDS = re.compile(r"\$(type|columns)\((\w+)\)")
LETTERS = "dead_letters"
COMMIT_ORDER = "commit_order"  # as in sinks.tables, which imports pyarrow
NEWEST_FIRST = f"version DESC, {COMMIT_ORDER} DESC"
"""The order of a key's documents. Sinks write those of several partitions in any order, and after a
repartition a key's lie in several: only `version` grows over that."""
SETTINGS = """
    SET TimeZone = 'UTC';
    SET enable_progress_bar = false; -- it would stand among the data
    SET python_enable_replacements = false; -- our variables are not tables
"""

WATCH: ContextVar[Callable[[DuckDBPyConnection], None] | None] = ContextVar("WATCH", default=None)
"""Told of each connection made: a server bounds and interrupts what its readers ask."""


LISTS_VIEWS = re.compile("show|information_schema|(duckdb|pg|pragma|sqlite)_.*")
"""Words of queries that ask which views there are."""
DESCRIBED = "DESCRIBE FROM ("
"""Stands before a query, to learn its columns."""


class QueryError(HistoryError):
    """The SQL is not a query, or DuckDB refuses it."""

    exit_code = 2


@cache
def columns(table: str) -> dict[str, str]:
    """Column -> DuckDB type: the table's own columns, then those of its source."""
    schema = json.loads((ROWS / f"{table}.json").read_bytes())
    given = {name: _duckdb_type(name, field) for name, field in schema["properties"].items()}
    source = list(given)[:6]  # `Source` stands first there; a row holds it last
    return {name: given[name] for name in [*list(given)[6:], *source]}


@cache
def document_columns(kind: str) -> dict[str, str]:
    """Field -> DuckDB type, of a document of memory (`schemas.memory.DOCUMENTS`)."""
    schema = json.loads((GENERATED / "documents" / f"{kind}.json").read_bytes())
    return {name: _duckdb_type(name, field) for name, field in schema["properties"].items()}


def _duckdb_type(name: str, field: dict[str, Any]) -> str:
    if name == "date":
        return "DATE"
    field = field["anyOf"][0] if "anyOf" in field else field
    return FORMATS.get(field.get("format", "")) or JSON_TYPES[field["type"]]


def table_names() -> list[str]:
    """All tables of a history, whether they have rows or not."""
    return sorted(path.stem for path in ROWS.glob("*.json"))


def connect(
    root: Location,
    *,
    tenant: str | None = None,
    views: Iterable[str] | None = None,
    locked: bool = False,
    profiled: bool = False,
    max_iteration: int = MAX_ITERATION,
) -> DuckDBPyConnection:
    """The history as it is now; with `tenant` only that tenant's rows, in macros too.

    `views` names the tables, views and macros that are wanted (default all): fewer open faster.
    `locked` is for SQL of others: it reads nothing but this history's files. A tenant's filter
    is a convenience there, not a wall: the files hold all tenants. `profiled`: `sinks.explain` can
    say what a query has read. `max_iteration`: the limit of
    tasks that say none, where the generation was folded under another than the default.
    Raises HistoryError where there is no history.
    """
    folder = find_tables(root)
    connection = begin()
    define(connection, folder, views, tenant=tenant, max_iteration=max_iteration)
    if profiled:
        connection.execute(explain.PROFILE)
    if locked:
        _lock(connection, folder)
    return connection


def begin() -> DuckDBPyConnection:
    """A database in memory with nothing in it yet; `WATCH` is told."""
    connection = _duckdb.connect()
    connection.execute(f"{SETTINGS}; SET temp_directory = {quoted(scratch.of_process())}")
    told(connection)
    return connection


def told(connection: DuckDBPyConnection) -> None:
    """Tells `WATCH` of a connection on which a question is asked."""
    if watch := WATCH.get():
        watch(connection)


def define(
    connection: DuckDBPyConnection,
    folder: Location,
    views: Iterable[str] | None = None,
    *,
    tenant: str | None = None,
    loaded: Collection[str] = (),
    max_iteration: int = MAX_ITERATION,
) -> None:
    """Creates tables' views, then the views and macros over them, for `connect`'s arguments.

    `loaded` are tables that lie in the database already, snapshots with their commit order.
    """
    tables = table_names()
    wanted = needs(views if views is not None else [*tables, *ALL_VIEWS], tables)
    # a snapshot's view reads the files themselves, for their commit order
    opened = {SNAPSHOT_KEYS[name][0] if name in SNAPSHOT_KEYS else name for name in wanted}
    files = {name: data_files(connection, folder / name) for name in tables
             if name in opened and name not in loaded}  # fmt: skip
    for name in wanted:
        if name not in loaded:
            definition = _definition(name, files, tenant, max_iteration)
            connection.execute(f"CREATE OR REPLACE {definition}")


def define_over(
    connection: DuckDBPyConnection, names: Iterable[str], folders: Sequence[Location], tenant: str
) -> None:
    """Makes the views of these tables show the rows of several histories."""
    found = [find_tables(folder) for folder in folders]
    for name in names:
        files = [one for folder in found for one in data_files(connection, folder / name)]
        rows = select(name, files, tenant=tenant)
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS {rows}")


def _definition(
    name: str, files: dict[str, list[str]], tenant: str | None, max_iteration: int
) -> str:
    if name in files:
        rows = select(name, files[name], tenant=tenant)
        return f"VIEW {name} AS {_letters(rows) if name == LETTERS else rows}"
    if name in SNAPSHOT_KEYS:
        table, key = SNAPSHOT_KEYS[name]
        rows = f"FROM {table}"
        if table in files:
            rows = select(table, files[table], tenant=tenant, more=True)
        return f"VIEW {name} AS {_newest(table, rows, key)}"
    if name in MACROS:
        return f"MACRO {name}{MACROS[name]}"
    sql = VIEWS[name].replace("$max_iteration", str(max_iteration))
    return f"VIEW {name} AS {DOCUMENT_FIELDS.sub(_document_fields, sql)}"


def document_type(kind: str) -> str:
    """The document of a kind of memory, as DuckDB's `from_json` takes it; times stay text."""
    columns = document_columns(kind)
    return json.dumps({name: JSON_OF.get(type_, type_) for name, type_ in columns.items()})


def _document_fields(found: re.Match[str]) -> str:
    """What the SQL of a view leaves open: the type of a kind's document, or the columns of the
    `document` that was made with it, without its id. JSON inside is shown as text."""
    what, kind = found.groups()
    if what == "type":
        return document_type(kind)
    _own_id, *names = columns = document_columns(kind)
    shown = {name: f'document."{name}"' for name in names}
    for name in names:
        if cast := SHOWN_AS.get(columns[name]):
            shown[name] = f"CAST({shown[name]} AS {cast})"
    return ", ".join(f'{sql} AS "{name}"' for name, sql in shown.items())


class Result(NamedTuple):
    """A query's answer. Times are RFC 3339 text in UTC, as on the wire."""

    names: list[str]
    rows: list[tuple[Any, ...]]
    reading: explain.Reading | None = None
    """What was read for it, where that was asked for."""

    def objects(self) -> list[dict[str, Any]]:
        """The rows by name."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]


def query(
    root: Location,
    sql: str,
    tenant: str | None = None,
    max_iteration: int = MAX_ITERATION,
    *,
    profiled: bool = False,
) -> Result:
    """Answers one query of somebody else's making; several are refused.

    Anything that is not a query is refused before it runs: COPY could write over the history.
    `max_iteration`, `profiled`: as `connect` has it. Raises QueryError, HistoryError.
    """
    views = _asked_for(sql)
    try:
        return _answer(root, sql, tenant, max_iteration, views, profiled)
    except QueryError as error:
        if views is None or not isinstance(error.__cause__, _duckdb.CatalogException):
            raise
        return _answer(root, sql, tenant, max_iteration, None, profiled)  # a name made of pieces


def _asked_for(sql: str) -> list[str] | None:
    """The tables and views whose names are among the words, or None for all: to define each takes
    some milliseconds, more the more files a history has."""
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    if any(LISTS_VIEWS.fullmatch(word) for word in words):
        return None
    return [name for name in (*table_names(), *ALL_VIEWS) if name in words] or None


def _answer(
    root: Location,
    sql: str,
    tenant: str | None,
    max_iteration: int,
    views: list[str] | None,
    profiled: bool,
) -> Result:
    with connect(
        root,
        tenant=tenant,
        views=views,
        locked=True,
        profiled=profiled,
        max_iteration=max_iteration,
    ) as connection:
        try:
            statements = connection.extract_statements(sql)
            if not statements:
                raise QueryError("no query given")
            for statement in statements:
                _check_is_query(statement)
            if len(statements) > 1:
                raise QueryError(f"{len(statements)} queries given; `sql` answers one at a time")
            sql = _bare(statements[0].query)
            if statements[0].type == StatementType.EXPLAIN:
                told = connection.execute(sql)
                return Result([name for name, *_ in told.description or ()], told.fetchall())
            answer = read(connection, sql)
            return answer._replace(reading=explain.reading(connection)) if profiled else answer
        except _duckdb.Error as error:
            failure = of_duckdb(error) or damage.of_duckdb(error, find_tables(root))
            if failure is not None:
                raise failure from None
            raise QueryError(_as_asked(str(error))) from error


def _as_asked(fault: str) -> str:
    """DuckDB's words without what `read` has put around the query; its caret moves along."""
    lines = fault.split("\n")
    for number, line in enumerate(lines[:-1]):
        if line.startswith(f"LINE 1: {DESCRIBED}"):
            lines[number] = line.replace(DESCRIBED, "", 1)
            lines[number + 1] = lines[number + 1][len(DESCRIBED) :]
    return "\n".join(lines)


def _bare(statement: str) -> str:
    """One statement without its `;` and what follows: it becomes part of another."""
    ends = (at for at, kind in _duckdb.tokenize(statement) if kind == _duckdb.token_type.operator)
    # positions count bytes of UTF-8
    text = statement.encode()
    end = next((at for at in ends if text[at : at + 1] == b";"), len(text))
    return text[:end].decode()


def read(db: DuckDBPyConnection, sql: str, *given: Any) -> Result:
    """The answer to one query with its `?` parameters; not to an EXPLAIN.

    DuckDB's own fetch of a time needs pytz; times come as text made by DuckDB instead.
    """
    described = db.execute(f"{DESCRIBED}{sql}\n)", list(given)).fetchall()
    names, kinds = ([row[place] for row in described] for place in (0, 1))
    numbered = [f"c{n}" for n in range(len(kinds))]
    shown = ", ".join(map(_wire, numbered, kinds))
    wired = f"SELECT {shown} FROM ({sql}\n) AS t({', '.join(numbered)})"
    return Result(_distinct(names), db.execute(wired, list(given)).fetchall())


def _distinct(names: list[str]) -> list[str]:
    """`a, a` as `a, a_1`: a row object has each name once."""
    made: dict[str, None] = {}
    for name in names:
        fresh = (name if not n else f"{name}_{n}" for n in count())
        made[next(one for one in fresh if one not in made)] = None
    return list(made)


def _wire(column: str, kind: str) -> str:
    if kind == "TIMESTAMP WITH TIME ZONE":
        fraction = f"CASE WHEN epoch_us({column}) % 1000000 = 0 THEN 'Z' ELSE '.%fZ' END"
        return f"strftime({column}, '%Y-%m-%dT%H:%M:%S' || {fraction})"
    return f"CAST({column} AS VARCHAR)" if "WITH TIME ZONE" in kind else column


def catalog(
    root: Location,
    file: str | Path,
    tenant: str | None = None,
    max_iteration: int = MAX_ITERATION,
) -> None:
    """Writes the views into a DuckDB database file, over those a former run has written.

    They name the history's files by absolute path: run it again when the history has grown, was
    compacted or moved. `max_iteration`: as `connect` has it. Raises HistoryError where `file` is
    something else than a database.
    """
    folder = find_tables(root)
    if not _may_be_database(Path(file)):
        raise HistoryError(f"{file}: is not a DuckDB database; name a new file")
    try:
        with _duckdb.connect(str(file)) as connection:
            connection.execute("BEGIN")
            define(connection, folder, tenant=tenant, max_iteration=max_iteration)
            connection.execute("COMMIT")
    except _duckdb.Error as error:
        raise damage.of_duckdb(error, folder) or HistoryError(f"{file}: {error}") from error


def _may_be_database(file: Path) -> bool:
    """DuckDB itself opens CSV and JSON files, too, and writes nothing into them."""
    try:
        with file.open("rb") as opened:
            begins = opened.read(12)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise HistoryError(f"{file}: {error.strerror}") from error
    return begins[8:] == b"DUCK"


def _check_is_query(statement: Statement) -> None:
    kind, text = statement.type, statement.query
    if kind == StatementType.SELECT:
        return
    if kind == StatementType.EXPLAIN and "analyze" not in text.lower():
        return  # EXPLAIN ANALYZE runs what it explains
    raise QueryError(f"{kind.name} is not a query; `sql` takes SELECT, SHOW, DESCRIBE, EXPLAIN")


def _lock(connection: DuckDBPyConnection, folder: Location) -> None:
    connection.execute(f"SET allowed_directories = [{quoted(str(folder) + '/')}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def select(
    table: str,
    files: list[str],
    *,
    tenant: str | None = None,
    more: bool = False,
    only: Sequence[str] | None = None,
) -> str:
    """SQL of a table's rows, with `more` their commit order; without files typed, but none.

    `only`: with these columns. It has a WHERE where there is a tenant.
    """
    types = columns(table) | ({COMMIT_ORDER: "BIGINT"} if more else {})
    names = ", ".join(f't."{name}"' for name in (types if only is None else only))
    if not files:
        nothing = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in types.items())
        return f"SELECT {names} FROM (SELECT {nothing}) AS t WHERE false"
    read = (
        f"read_parquet([{', '.join(map(quoted, files))}], "
        "hive_partitioning = true, hive_types = {'date': DATE}, "
        f"union_by_name = {table in LATER})"
    )
    if later := LATER.get(table):
        blank = ", ".join(f"NULL::{types[name]} AS {name}" for name in later)
        read = f"(SELECT {blank} WHERE false UNION ALL BY NAME FROM {read})"
    rows = f"SELECT {names} FROM {read} AS t"
    return rows if tenant is None else f"{rows} WHERE t.tenant = {quoted(tenant)}"


def _letters(rows: str) -> str:
    """Dead letters, each once. Another letter at the same place, as in a file that was written
    anew, is settled by itself."""
    letter = "tenant, src_topic, src_partition, src_offset, payload"
    names = ", ".join(
        f'{"settled" if name == "settled_at" else "letter"}."{name}"' for name in columns(LETTERS)
    )
    return (
        f"WITH every AS ({rows}) SELECT {names} FROM every AS letter LEFT JOIN ("
        f"SELECT {letter}, min(every.settled_at) AS settled_at FROM every "
        "WHERE every.settled_at IS NOT NULL GROUP BY ALL"
        f") AS settled USING ({letter}) WHERE letter.settled_at IS NULL"
    )


def _newest(table: str, rows: str, key: str) -> str:
    # not a time of the document: a late record's document is newer than what it replaces
    names = ", ".join(f'"{name}"' for name in columns(table))
    return (
        f"SELECT {names} FROM ({rows}) "
        f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {NEWEST_FIRST}) = 1"
    )


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
