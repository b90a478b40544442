"""Checks of a history: format, tables, documents, rows, search indexes."""

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from errno import EACCES
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from schemas.rows import SNAPSHOT_KEYS
from sinks import forgotten_users, power_loss
from sinks.errors import HistoryError, in_a_line
from sinks.file_checks import Damage, damage
from sinks.files import data_files
from sinks.generation import find_tables, pointer
from sinks.history import NEWEST_FIRST, connect, select, table_names
from sinks.history_root import OWNER, check_root, is_marked, is_shared
from sinks.locations import Location
from streams.doctor.check_result import Finding, ok, warning, wrong
from streams.doctor.tables import stored_value
from streams.errors import ConfigurationError
from streams.files import manifest
from streams.files.extractor_choice import stored_choice
from streams.files.store import VALUES
from streams.files.upgrade import AFTER
from streams.files.upgrade import FORMAT as STORE_FORMAT
from streams.output import counted
from streams.pipeline.row_formats import CURRENT, ROW_FORMAT, Reached
from streams.search.indexing import FOLDER, SUFFIX
from streams.search.open_index import read_meta
from streams.search.store import FORMAT

FILES = 5_000
"""Maximum files of all tables: a query opens the files of its days."""
SHOWN = 5
"""Maximum damaged files in the report."""
ANEW = (
    "Restore the history from a backup, or make it anew by a backfill or from the input "
    '(docs/recovery.md, "A damaged history").'
)
ALLOW = "Run this as the account that writes the history, or give this account permission to read."
CORRECT = "Correct --history (TURNFOLD_HISTORY)"
ANEW_BY_SEARCH = (
    "The first search of each of these tenants builds its index anew, and waits for it."
)
INDEX = re.compile(rf"(.+)\.(\d+){re.escape(SUFFIX)}")

ENDED = """SEMI JOIN (
    SELECT tenant, session_id, max(occurred_at) AS latest FROM events
    WHERE status <> 'running' GROUP BY ALL
) turned ON turned.tenant = stale.tenant AND turned.session_id = stale.session_id
    AND turned.latest >= stale.latest"""
"""A session's time decreases if a running turn ends with an earlier one."""


def history(place: Location) -> Iterator[Finding]:
    """Checks a history and the tables of its live generation. Read-only."""
    try:
        root = check_root(place)
        if not is_marked(root):
            yield _no_history(root)
            return
        writer = "sinks" if is_shared(root) else "run or serve"
        live = pointer(root).current
        yield ok("history", f"{root}: written by {writer}; live generation: {live}")
        folder = find_tables(root)
    except (HistoryError, OSError) as error:
        yield wrong(
            "history",
            str(error),
            "No command can use it.",
            _remedy(str(error), f"{CORRECT}, or follow the error text."),
        )
        return
    yield from _tables(folder)
    yield from _files(root, folder)
    yield from _constants(folder)
    if isinstance(folder, Path):
        yield from _store(folder)
        yield from _indexes(folder)


def _remedy(error: str, do: str = ANEW) -> str:
    """The action for an unreadable file; a lack of permission is not a damage."""
    return ALLOW if os.strerror(EACCES) in error else do


def _no_history(root: Location) -> Finding:
    """An empty folder is fine; the name of a missing folder may be mistyped."""
    if isinstance(root, Path) and (above := next((p for p in root.parents if p.is_file()), None)):
        return wrong("history", f"{root}: {above} is a file", "No command can use it.", CORRECT)
    if isinstance(root, Path) and root.exists():
        return ok("history", f"{root}: empty; the first command that writes makes a history there")
    return warning(
        "history",
        f"{root}: does not exist",
        "Queries fail; a command that writes creates a new history there.",
        f"{CORRECT}, if it is mistyped.",
    )


def _tables(folder: Location) -> Iterator[Finding]:
    count = rows = 0
    damaged: list[Damage] = []
    unreadable: list[str] = []
    flushed = power_loss.flushed(folder) if isinstance(folder, Path) else {}
    for name in table_names():
        try:
            files, faults = damage(folder / name)
            if isinstance(folder, Path):
                power_loss.checked_versions(folder / name, flushed.get(name, -1))
        except HistoryError as error:
            unreadable.append(str(error))
            continue
        count, rows = count + files, rows + bool(files)
        damaged += faults
    for error_text in unreadable:
        means = "Queries of this table fail, or lack rows."
        yield wrong("tables", error_text, means, _remedy(error_text))
    for file, why in sorted(damaged)[:SHOWN]:
        yield wrong("tables", f"{file}: {why}", "Queries of this file fail.", _remedy(why))
    if len(damaged) > SHOWN:
        yield wrong(
            "tables", f"and {len(damaged) - SHOWN:,} more data files", "As said above.", ANEW
        )
    if unreadable or damaged:
        return
    text = f"{counted(rows, 'table')} with rows, {counted(count, 'file')}"
    if count > FILES:
        yield warning(
            "tables", text, "Queries open many files and become slow.",
            f"turnfold admin compact --history {quote(str(folder))}",
        )  # fmt: skip
    else:
        yield ok("tables", text)
    if isinstance(folder, Path):
        yield from _documents(folder)


def _documents(folder: Path) -> Iterator[Finding]:
    """Whether the newest documents have the newest state."""
    try:
        stale = stale_documents(folder)
    except Exception as error:  # DuckDB's errors of a damage that no footer shows
        means = "Queries of documents may fail."
        yield wrong("documents", f"cannot be read: {in_a_line(error)}", means, ANEW)
        return
    if stale:
        counts = ", ".join(f"{count:,} in {table}" for table, count in stale.items())
        yield wrong(
            "documents",
            f"older than others of theirs: {counts}",
            "Queries of these sessions, tasks or users return an older state.",
            ANEW,
        )


def _files(root: Location, folder: Location) -> Iterator[Finding]:
    """Checks the small files next to the tables that no other check reads."""
    files = {
        file for at in (root, folder) for file in (at / OWNER, *forgotten_users.small_files(at))
    }
    for file in sorted(files, key=str):
        try:
            if not isinstance(json.loads(file.read_text(encoding="utf-8")), dict):
                raise ValueError("not a JSON object")
        except FileNotFoundError:
            continue
        except (ValueError, OSError) as error:
            yield wrong(
                "files",
                f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}",
                "Commands that write this history fail.",
                _remedy(
                    str(error),
                    'Restore the history from a backup (docs/recovery.md, "A damaged history").',
                ),
            )
    if isinstance(folder, Path):
        try:
            stored_choice(folder)
        except ConfigurationError as error:
            text, _, do = str(error).rpartition("; ")
            means = "`run` and `serve` cannot continue this history."
            yield wrong("files", text, means, _remedy(text, f"{do[:1].upper()}{do[1:]}."))


def _constants(folder: Location) -> Iterator[Finding]:
    try:
        manifest.rules_of(folder)
    except ConfigurationError as error:
        yield wrong(
            "constants",
            str(error),
            "Its memory was made under rules that this version does not have.",
            "Use the version that made it.",
        )


def _store(folder: Path) -> Iterator[Finding]:
    """Checks the row store that `run` and `serve` continue with."""
    path = folder / "_store"
    if not path.exists():
        return
    try:
        number = _value(path, STORE_FORMAT)
        row_state = CURRENT if number is None else Reached(number, _value(path, AFTER))
    except Exception as error:  # rocksdict raises bare Exceptions
        yield wrong(
            "row format",
            f"{path}: cannot be read: {in_a_line(error)}",
            "`run` and `serve` cannot continue this history; queries still work.",
            _remedy(str(error)),
        )
        return
    yield row_format(str(path), row_state)


def _value(store: Path, name: str) -> Any:
    """A metadata value of a store, or None."""
    content = stored_value(store, VALUES + name.encode())
    return None if content is None else msgspec.msgpack.decode(content)


def row_format(place: str, rows: Reached) -> Finding:
    """Whether this version can continue rows of that format."""
    text = f"{place}: {rows.format}"
    if rows.is_current:
        return ok("row format", text)
    if rows.refusal() is None:
        return warning(
            "row format",
            f"{text}{', not all of them' if rows.after is not None else ''}, this version writes "
            f"{ROW_FORMAT}",
            "The next command that writes this history upgrades them; older versions cannot "
            "continue them then.",
            "Nothing, if you have done with the older version; else see docs/upgrades.md.",
        )
    return wrong(
        "row format",
        f"{text}, this version writes {ROW_FORMAT}",
        "They can be queried, not continued.",
        ('Use the version that wrote it, or a newer one; or see docs/upgrades.md, "Going back".'
         if rows.format > ROW_FORMAT
         else 'See docs/upgrades.md, "Rows that are too old".'),
    )  # fmt: skip


def _indexes(folder: Path) -> Iterator[Finding]:
    newest: dict[str, tuple[int, Path]] = {}
    for path in (folder / FOLDER).glob(f"*{SUFFIX}"):
        if match := INDEX.fullmatch(path.name):
            tenant, number = match[1], int(match[2])
            newest[tenant] = max(newest.get(tenant, (-1, path)), (number, path))
    if not newest:
        return
    formats = [_format(path) for _, path in newest.values()]
    broken = [error for error in formats if isinstance(error, sqlite3.Error)]
    outdated = [
        index_format
        for index_format in formats
        if not isinstance(index_format, sqlite3.Error) and index_format != FORMAT
    ]
    if broken:
        yield warning(
            "search index",
            f"{len(broken)} of {len(newest)} indexes cannot be read: {broken[0]}",
            ANEW_BY_SEARCH,
            _search(folder),
        )
    if outdated:
        yield warning(
            "search index",
            f"{len(outdated)} of {len(newest)} indexes have another format than {FORMAT}",
            ANEW_BY_SEARCH,
            _search(folder),
        )
    if not broken and not outdated:
        yield ok("search index", f"{len(newest)} of format {FORMAT}")


def _search(folder: Path) -> str:
    return (
        "Search once for each tenant before the users do: "
        f"turnfold search --history {quote(str(folder))} --tenant TENANT WORD"
    )


def _format(path: Path) -> Any:
    """The format, or the error of reading it. Opened as immutable, otherwise SQLite creates files
    next to it; the format is written before the first reader opens the file."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            return read_meta(db).get("format")
    except sqlite3.Error as error:
        return error


def stale_documents(folder: Location) -> dict[str, int]:
    """Table -> number of keys with a newest document (`version`) that has an earlier `updated_at`
    than another one; without tables that have none. The tables are in `folder` itself. Raises
    HistoryError, duckdb.Error."""
    counts = {}
    with connect(folder, views=("events",)) as db:
        for table, names in SNAPSHOT_KEYS.items():
            key = ", ".join(names)
            rows = select(table, data_files(db, folder / table), commit_order=True)
            ((count,),) = db.execute(f"""
                WITH stale AS (
                    SELECT {key}, first(updated_at ORDER BY {NEWEST_FIRST}) AS newest,
                        max(updated_at) AS latest
                    FROM ({rows}) GROUP BY {key} HAVING newest < latest
                )
                SELECT count(*) FROM stale {ENDED if table == "sessions" else ""}
            """).fetchall()
            if count:
                counts[table] = count
    return counts
