"""Reads a history with DuckDB: the tables and views of docs/tables.md in an in-memory database.

The file lists are read once, when the connection is opened: later commits are visible in the next
connection (in a catalog file, when `catalog` runs again). To start fast, this module does not
import pyarrow or pydantic: column types come from the generated JSON Schemas. It uses `_duckdb`, as
the package `duckdb` adds relations, which take longer to import than a query takes.
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
from sinks import file_checks, query_profile, scratch
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
"""Table -> columns that files of earlier versions lack; they are NULL there."""
JSON_OF: dict[str, Any] = {"TIMESTAMPTZ": "VARCHAR", "VARCHAR[]": ["VARCHAR"]}
SHOWN_AS = {"TIMESTAMPTZ": "TIMESTAMPTZ", "JSON": "VARCHAR"}
DOCUMENT_FIELDS = re.compile(r"\$(type|columns)\((\w+)\)")
LETTERS = "dead_letters"
COMMIT_ORDER = "commit_order"  # as in sinks.tables, which imports pyarrow
NEWEST_FIRST = f"version DESC, {COMMIT_ORDER} DESC"
"""Order of a key's documents. Sinks write partitions in any order, and after a repartition a key is
in several: only `version` increases across partitions."""
SETTINGS = """
    SET TimeZone = 'UTC';
    SET enable_progress_bar = false; -- it would mix with the output
    SET python_enable_replacements = false; -- our variables are not tables
"""

WATCH: ContextVar[Callable[[DuckDBPyConnection], None] | None] = ContextVar("WATCH", default=None)
"""Called with each new connection: a server limits and interrupts its queries."""


LISTS_VIEWS = re.compile("show|information_schema|(duckdb|pg|pragma|sqlite)_.*")
"""Words of queries that list views."""
DESCRIBED = "DESCRIBE FROM ("
"""Prefix of a query that returns its columns."""


class QueryError(HistoryError):
    """The SQL is not a query, or DuckDB rejects it."""

    exit_code = 2


@cache
def columns(table: str) -> dict[str, str]:
    """Column -> DuckDB type: the table's own columns, then its source's columns."""
    schema = json.loads((ROWS / f"{table}.json").read_bytes())
    types = {name: _duckdb_type(name, field) for name, field in schema["properties"].items()}
    source = list(types)[:6]  # `Source` is first in the schema, and last in a row
    return {name: types[name] for name in [*list(types)[6:], *source]}


@cache
def document_columns(kind: str) -> dict[str, str]:
    """Field -> DuckDB type of a memory document (`schemas.memory.DOCUMENTS`)."""
    schema = json.loads((GENERATED / "documents" / f"{kind}.json").read_bytes())
    return {name: _duckdb_type(name, field) for name, field in schema["properties"].items()}


def _duckdb_type(name: str, field: dict[str, Any]) -> str:
    if name == "date":
        return "DATE"
    field = field["anyOf"][0] if "anyOf" in field else field
    return FORMATS.get(field.get("format", "")) or JSON_TYPES[field["type"]]


def table_names() -> list[str]:
    """All tables of a history, including those without rows."""
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
    """Opens the history as it is now; with `tenant` only that tenant's rows, including macros.

    `views` names the tables, views and macros to define (default all): fewer open faster. `locked`
    is for untrusted SQL: it can read only this history's files. The tenant's filter is then a
    convenience, not access control: the files contain all tenants. `profiled` enables
    `sinks.query_profile`. `max_iteration`: default limit of tasks, if the generation was folded
    under another one. Raises HistoryError without a history.
    """
    folder = find_tables(root)
    connection = connect_empty()
    define(connection, folder, views, tenant=tenant, max_iteration=max_iteration)
    if profiled:
        connection.execute(query_profile.PROFILE)
    if locked:
        _lock(connection, folder)
    return connection


def connect_empty() -> DuckDBPyConnection:
    """Opens an empty in-memory database; reports it to `WATCH`."""
    connection = _duckdb.connect()
    connection.execute(f"{SETTINGS}; SET temp_directory = {quoted(scratch.of_process())}")
    report_connection(connection)
    return connection


def report_connection(connection: DuckDBPyConnection) -> None:
    """Calls `WATCH` with a connection."""
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
    """Creates the views of tables, then the views and macros over them; arguments as in `connect`.

    `loaded` are tables that are in the database already, snapshots with their commit order.
    """
    tables = table_names()
    relations = needs(views if views is not None else [*tables, *ALL_VIEWS], tables)
    # a snapshot's view reads the files themselves, for their commit order
    tables_read = {SNAPSHOT_KEYS[name][0] if name in SNAPSHOT_KEYS else name for name in relations}
    files = {name: data_files(connection, folder / name) for name in tables
             if name in tables_read and name not in loaded}  # fmt: skip
    for name in relations:
        if name not in loaded:
            definition = _definition(name, files, tenant, max_iteration)
            connection.execute(f"CREATE OR REPLACE {definition}")


def define_over(
    connection: DuckDBPyConnection, names: Iterable[str], folders: Sequence[Location], tenant: str
) -> None:
    """Redefines the views of these tables over several histories."""
    roots = [find_tables(folder) for folder in folders]
    for name in names:
        files = [file for folder in roots for file in data_files(connection, folder / name)]
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
            rows = select(table, files[table], tenant=tenant, commit_order=True)
        return f"VIEW {name} AS {_newest(table, rows, key)}"
    if name in MACROS:
        return f"MACRO {name}{MACROS[name]}"
    sql = VIEWS[name].replace("$max_iteration", str(max_iteration))
    return f"VIEW {name} AS {DOCUMENT_FIELDS.sub(_document_fields, sql)}"


def document_type(kind: str) -> str:
    """The document of a kind of memory, as DuckDB's `from_json` takes it; times stay text."""
    columns = document_columns(kind)
    return json.dumps({name: JSON_OF.get(type_, type_) for name, type_ in columns.items()})


def _document_fields(match: re.Match[str]) -> str:
    """Expands placeholders in a view's SQL: `$type(KIND)` is the type of a document, `$columns` its
    columns without its id. Nested JSON becomes text."""
    part, kind = match.groups()
    if part == "type":
        return document_type(kind)
    _own_id, *names = columns = document_columns(kind)
    selected = {name: f'document."{name}"' for name in names}
    for name in names:
        if cast := SHOWN_AS.get(columns[name]):
            selected[name] = f"CAST({selected[name]} AS {cast})"
    return ", ".join(f'{sql} AS "{name}"' for name, sql in selected.items())


class Result(NamedTuple):
    """Result of a query. Times are RFC 3339 text in UTC, as in the API."""

    names: list[str]
    rows: list[tuple[Any, ...]]
    reading: query_profile.Reading | None = None
    """Files and bytes read, if profiled."""

    def objects(self) -> list[dict[str, Any]]:
        """The rows as dicts by column name."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]


def query(
    root: Location,
    sql: str,
    tenant: str | None = None,
    max_iteration: int = MAX_ITERATION,
    *,
    profiled: bool = False,
) -> Result:
    """Runs one untrusted query; rejects several.

    Statements that are not queries are rejected before they run: COPY could overwrite the history.
    `max_iteration`, `profiled`: see `connect`. Raises QueryError, HistoryError.
    """
    views = _named_views(sql)
    try:
        return _answer(root, sql, tenant, max_iteration, views, profiled)
    except QueryError as error:
        if views is None or not isinstance(error.__cause__, _duckdb.CatalogException):
            raise
        return _answer(root, sql, tenant, max_iteration, None, profiled)  # a name composed in SQL


def _named_views(sql: str) -> list[str] | None:
    """Tables and views with names that occur in the query, or None for all: each definition takes
    some milliseconds, more in histories with many files."""
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
            sql = _without_semicolon(statements[0].query)
            if statements[0].type == StatementType.EXPLAIN:
                cursor = connection.execute(sql)
                return Result([name for name, *_ in cursor.description or ()], cursor.fetchall())
            answer = read(connection, sql)
            return (
                answer._replace(reading=query_profile.reading(connection)) if profiled else answer
            )
        except _duckdb.Error as error:
            failure = of_duckdb(error) or file_checks.of_duckdb(error, find_tables(root))
            if failure is not None:
                raise failure from None
            raise QueryError(_without_describe(str(error))) from error


def _without_describe(fault: str) -> str:
    """DuckDB's error without the prefix that `read` adds to the query; moves the caret."""
    lines = fault.split("\n")
    for number, line in enumerate(lines[:-1]):
        if line.startswith(f"LINE 1: {DESCRIBED}"):
            lines[number] = line.replace(DESCRIBED, "", 1)
            lines[number + 1] = lines[number + 1][len(DESCRIBED) :]
    return "\n".join(lines)


def _without_semicolon(statement: str) -> str:
    """A statement up to its `;`, to embed it in another."""
    ends = (
        position
        for position, kind in _duckdb.tokenize(statement)
        if kind == _duckdb.token_type.operator
    )
    # positions count bytes of UTF-8
    text = statement.encode()
    end = next((position for position in ends if text[position : position + 1] == b";"), len(text))
    return text[:end].decode()


def read(db: DuckDBPyConnection, sql: str, *parameters: Any) -> Result:
    """Runs one query with its `?` parameters; not for EXPLAIN.

    DuckDB formats times as text, as its Python values need pytz.
    """
    described = db.execute(f"{DESCRIBED}{sql}\n)", list(parameters)).fetchall()
    names, kinds = ([row[place] for row in described] for place in (0, 1))
    numbered = [f"c{n}" for n in range(len(kinds))]
    selected = ", ".join(map(_wire, numbered, kinds))
    wired = f"SELECT {selected} FROM ({sql}\n) AS t({', '.join(numbered)})"
    return Result(_distinct(names), db.execute(wired, list(parameters)).fetchall())


def _distinct(names: list[str]) -> list[str]:
    """Makes column names unique: `a, a` becomes `a, a_1`."""
    distinct: dict[str, None] = {}
    for name in names:
        candidates = (name if not n else f"{name}_{n}" for n in count())
        distinct[next(candidate for candidate in candidates if candidate not in distinct)] = None
    return list(distinct)


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
    """Writes the views into a DuckDB database file, replacing a former run's views.

    They refer to the history's files by absolute path: run it again after the history has grown,
    was compacted or moved. `max_iteration`: see `connect`. Raises HistoryError if `file` is not a
    database.
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
        raise file_checks.of_duckdb(error, folder) or HistoryError(f"{file}: {error}") from error


def _may_be_database(file: Path) -> bool:
    """Whether DuckDB can write into the file: it also opens CSV and JSON files, read-only."""
    try:
        with file.open("rb") as stream:
            header = stream.read(12)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise HistoryError(f"{file}: {error.strerror}") from error
    return header[8:] == b"DUCK"


def _check_is_query(statement: Statement) -> None:
    kind, text = statement.type, statement.query
    if kind == StatementType.SELECT:
        return
    if kind == StatementType.EXPLAIN and "analyze" not in text.lower():
        return  # EXPLAIN ANALYZE runs the query
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
    commit_order: bool = False,
    only: Sequence[str] | None = None,
    filename: bool = False,
) -> str:
    """SQL of a table's rows, optionally with the columns `commit_order` and `filename`; no rows
    without files.

    `only`: the columns to return. The SQL has a WHERE if there is a tenant.
    """
    types = columns(table) | ({COMMIT_ORDER: "BIGINT"} if commit_order else {})
    types |= {"filename": "VARCHAR"} if filename else {}
    names = ", ".join(f't."{name}"' for name in (types if only is None else only))
    if not files:
        nothing = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in types.items())
        return f"SELECT {names} FROM (SELECT {nothing}) AS t WHERE false"
    source = (
        f"read_parquet([{', '.join(map(quoted, files))}], "
        "hive_partitioning = true, hive_types = {'date': DATE}, "
        f"union_by_name = {table in LATER}, filename = {filename})"
    )
    if missing := LATER.get(table):
        blank = ", ".join(f"NULL::{types[name]} AS {name}" for name in missing)
        source = f"(SELECT {blank} WHERE false UNION ALL BY NAME FROM {source})"
    rows = f"SELECT {names} FROM {source} AS t"
    return rows if tenant is None else f"{rows} WHERE t.tenant = {quoted(tenant)}"


def _letters(rows: str) -> str:
    """SQL of distinct dead letters. Different letters at one position, as in a rewritten file, are
    settled separately."""
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
    # not by the document's time: a late record's document replaces newer ones
    names = ", ".join(f'"{name}"' for name in columns(table))
    return (
        f"SELECT {names} FROM ({rows}) "
        f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {NEWEST_FIRST}) = 1"
    )


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
