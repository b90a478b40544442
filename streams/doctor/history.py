"""A history: its format, its tables, the rows of its fold, its search indexes."""

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

from sinks import forgotten
from sinks.damage import Damage, damage
from sinks.errors import HistoryError, in_a_line
from sinks.generation import find_tables, pointer
from sinks.history import table_names
from sinks.locations import Location
from sinks.root import OWNER, check_root, is_marked, is_shared
from sinks.stale import stale_documents
from streams.doctor import rocksdb
from streams.doctor.finding import Finding, ok, warning, wrong
from streams.errors import ConfigurationError
from streams.files import manifest
from streams.files.extractor_choice import own_choice
from streams.files.store import VALUES
from streams.files.upgrade import AFTER
from streams.files.upgrade import FORMAT as STORE_FORMAT
from streams.pipeline.row_formats import CURRENT, ROW_FORMAT, Reached
from streams.search.build import FOLDER, SUFFIX
from streams.search.opening import notes
from streams.search.store import FORMAT

FILES = 5_000
"""Of all tables: a question opens as many as its days have."""
SHOWN = 5
"""Damaged files that are named."""
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


def history(place: Location) -> Iterator[Finding]:
    """All of a history, the live generation's tables included. Touches nothing."""
    try:
        root = check_root(place)
        if not is_marked(root):
            yield _nothing(root)
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
            _mend(str(error), f"{CORRECT}, or what the line says."),
        )
        return
    yield from _tables(folder)
    yield from _files(root, folder)
    yield from _constants(folder)
    if isinstance(folder, Path):
        yield from _store(folder)
        yield from _indexes(folder)


def _mend(said: str, do: str = ANEW) -> str:
    """What to do of a file that cannot be read; nothing is damaged where it is not allowed."""
    return ALLOW if os.strerror(EACCES) in said else do


def _nothing(root: Location) -> Finding:
    """An empty folder was made by somebody; one that is not there may be mistyped."""
    if isinstance(root, Path) and (above := next((p for p in root.parents if p.is_file()), None)):
        return wrong("history", f"{root}: {above} is a file", "No command can use it.", CORRECT)
    if isinstance(root, Path) and root.exists():
        return ok("history", f"{root}: empty; the first command that writes makes a history there")
    return warning(
        "history",
        f"{root}: there is nothing",
        "A command that asks it fails; one that writes makes a new history there.",
        f"{CORRECT}, if it is mistyped; else nothing.",
    )


def _tables(folder: Location) -> Iterator[Finding]:
    count = rows = 0
    damaged: list[Damage] = []
    unreadable: list[str] = []
    for name in table_names():
        try:
            files, found = damage(folder / name)
        except HistoryError as error:
            unreadable.append(str(error))
            continue
        count, rows = count + files, rows + bool(files)
        damaged += found
    for said in unreadable:
        means = "Questions that need this table fail, or lack rows."
        yield wrong("tables", said, means, _mend(said))
    for file, why in sorted(damaged)[:SHOWN]:
        yield wrong("tables", f"{file}: {why}", "Questions that need this file fail.", _mend(why))
    if len(damaged) > SHOWN:
        yield wrong(
            "tables", f"and {len(damaged) - SHOWN:,} more data files", "As said above.", ANEW
        )
    if unreadable or damaged:
        return
    found_ = f"{rows} tables with rows, {count:,} files"
    if count > FILES:
        yield warning(
            "tables", found_, "Questions open many files and become slow.",
            f"turnfold admin compact --history {quote(str(folder))}",
        )  # fmt: skip
    else:
        yield ok("tables", found_)
    if isinstance(folder, Path):
        yield from _documents(folder)


def _documents(folder: Path) -> Iterator[Finding]:
    """Whether the newest documents are the newest."""
    try:
        stale = stale_documents(folder)
    except Exception as error:  # DuckDB's own of a damage that no footer shows
        means = "Questions that read documents may fail."
        yield wrong("documents", f"cannot be read: {in_a_line(error)}", means, ANEW)
        return
    if stale:
        counts = ", ".join(f"{count:,} in {table}" for table, count in stale.items())
        yield wrong(
            "documents",
            f"older than others of theirs: {counts}",
            "Questions about these sessions, tasks or users answer with an older state.",
            ANEW,
        )


def _files(root: Location, folder: Location) -> Iterator[Finding]:
    """The small files beside the tables that no other check reads."""
    every = {file for at in (root, folder) for file in (at / OWNER, *forgotten.small_files(at))}
    for file in sorted(every, key=str):
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
                _mend(
                    str(error),
                    'Restore the history from a backup (docs/recovery.md, "A damaged history").',
                ),
            )
    if isinstance(folder, Path):
        try:
            own_choice(folder)
        except ConfigurationError as error:
            said, _, do = str(error).rpartition("; ")
            means = "`run` and `serve` cannot continue this history."
            yield wrong("files", said, means, _mend(said, f"{do[:1].upper()}{do[1:]}."))


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
    """The rows that `run` and `serve` continue with."""
    path = folder / "_store"
    if not path.exists():
        return
    try:
        number = _value(path, STORE_FORMAT)
        found = CURRENT if number is None else Reached(number, _value(path, AFTER))
    except Exception as error:  # rocksdict raises bare Exceptions
        yield wrong(
            "row format",
            f"{path}: cannot be read: {in_a_line(error)}",
            "`run` and `serve` cannot continue this history; questions still work.",
            _mend(str(error)),
        )
        return
    yield row_format(str(path), found)


def _value(store: Path, name: str) -> Any:
    """One of a store's own values, None where it has none."""
    kept = rocksdb.value(store, VALUES + name.encode())
    return None if kept is None else msgspec.msgpack.decode(kept)


def row_format(where: str, found: Reached) -> Finding:
    """Whether this version can continue rows of that format."""
    said = f"{where}: {found.format}"
    if found.is_current:
        return ok("row format", said)
    if found.refusal() is None:
        return warning(
            "row format",
            f"{said}{', not all of them' if found.after is not None else ''}, this version writes "
            f"{ROW_FORMAT}",
            "The next command that writes this history upgrades them; older versions cannot "
            "continue them then.",
            "Nothing, if you have done with the older version; else see docs/upgrades.md.",
        )
    return wrong(
        "row format",
        f"{said}, this version writes {ROW_FORMAT}",
        "They can be asked, not continued.",
        ('Use the version that wrote it, or a newer one; or see docs/upgrades.md, "Going back".'
         if found.format > ROW_FORMAT
         else 'See docs/upgrades.md, "Rows that are too old".'),
    )  # fmt: skip


def _indexes(folder: Path) -> Iterator[Finding]:
    newest: dict[str, tuple[int, Path]] = {}
    for path in (folder / FOLDER).glob(f"*{SUFFIX}"):
        if named := INDEX.fullmatch(path.name):
            tenant, number = named[1], int(named[2])
            newest[tenant] = max(newest.get(tenant, (-1, path)), (number, path))
    if not newest:
        return
    formats = [_format(path) for _, path in newest.values()]
    broken = [one for one in formats if isinstance(one, sqlite3.Error)]
    others = [one for one in formats if not isinstance(one, sqlite3.Error) and one != FORMAT]
    if broken:
        yield warning(
            "search index",
            f"{len(broken)} of {len(newest)} indexes cannot be read: {broken[0]}",
            ANEW_BY_SEARCH,
            _search(folder),
        )
    if others:
        yield warning(
            "search index",
            f"{len(others)} of {len(newest)} indexes have another format than {FORMAT}",
            ANEW_BY_SEARCH,
            _search(folder),
        )
    if not broken and not others:
        yield ok("search index", f"{len(newest)} of format {FORMAT}")


def _search(folder: Path) -> str:
    return (
        "Search once for each tenant before the users do: "
        f"turnfold search --history {quote(str(folder))} --tenant TENANT WORD"
    )


def _format(path: Path) -> Any:
    """The format, or the error that keeps it from being read. SQLite is told that nobody writes
    the file: else it would make files beside it. The format was written before the first reader."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            return notes(db).get("format")
    except sqlite3.Error as error:
        return error
