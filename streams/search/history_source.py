"""Reads the events and the versions of memory from a history's tables for an index.

Delta only appends, so the update of an index reads the files added since. Removed files (`forget`,
a batch undone after a crash) require a rebuild; files merged by `compact` have `dataChange` false
and are skipped.
"""

import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import _duckdb
import msgspec
from _duckdb import DuckDBPyConnection

from schemas.memory_kinds import MEMORY_KINDS
from schemas.time import parse_time
from sinks import scratch
from sinks.files import data_files
from sinks.history import SETTINGS, quoted, select
from sinks.locations import Location
from sinks.object_store import ObjectPath
from streams.extractors.do_not_store import is_private
from streams.search import dates_named
from streams.search.document import FOREVER, Doc

TABLES = ("events", "revisions", "signals", "plans")
OF_SESSION = """(entity_type IN ('session', 'session_memory')
    OR (entity_type = 'link' AND plan_id IS NULL))"""
TOUCHES = {
    "revisions": f"CASE WHEN {OF_SESSION} THEN 'session' ELSE 'user' END, owner_id",
    "signals": "scope, CASE WHEN scope = 'session' THEN session_id ELSE user_id END",
    "plans": "'user', user_id",
}
"""Table -> SQL of a record's owner: `session` or `user`, and the id."""
SEARCHED = {kind.name: kind for kind in MEMORY_KINDS if kind.searched}
BATCH = 10_000
FILES = 8
"""Files of events per query."""
AT_ONCE = 16
"""Concurrent requests to an object store."""
LOOK_EVERY = 2.0
"""Seconds between two checks for new files of a table in an object store."""
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
ENDED = "".join(
    f""" OR (entity_type = '{kind.name}' AND ("after" ->> '$.status') = '{kind.ended}')"""
    for kind in SEARCHED.values()
    if kind.ended
)
"""The row of a revoked item stays, so that it can be confirmed again."""


_checked: dict[ObjectPath, tuple[int, float]] = {}
"""Table -> its newest version, and the time of the check."""


class TableFiles(NamedTuple):
    """A table's version, and the files added since an earlier one; `sizes` in bytes."""

    version: int
    files: list[str]
    sizes: Sequence[int] = ()

    @property
    def size(self) -> int:
        return sum(self.sizes)


class Change(NamedTuple):
    """A revision of memory: its new version, or the last version of a removed item."""

    doc: Doc
    is_removed: bool


def all_files(db: DuckDBPyConnection, table: Location) -> TableFiles:
    """Returns all files of a table. The version is read first: files added in between are read
    twice, and their rows recognized by id."""
    return TableFiles(_latest(table / "_delta_log"), data_files(db, table))


def new_files(table: Location, since: int) -> TableFiles | None:
    """Returns the files added to a table since a version, or None if files were removed or the log
    was replaced."""
    log, files, version, sizes = table / "_delta_log", list[str](), since, list[int]()
    if not _exists(log / _name(max(since, 0))) and _latest(log) != since:
        return None
    while (commit := _read(log / _name(version + 1))) is not None:
        version += 1
        for action in map(json.loads, commit.splitlines()):
            if action.get("remove", {}).get("dataChange"):
                return None
            if action.get("add", {}).get("dataChange"):
                files.append(unquote(action["add"]["path"]))
                sizes.append(action["add"]["size"])
    are_merged = not _all_exist([table / file for file in files])
    return None if are_merged else TableFiles(version, [f"{table}/{file}" for file in files], sizes)


def _all_exist(files: list[Location]) -> bool:
    if not files or isinstance(files[0], Path):
        return all(map(_exists, files))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return all(threads.map(_exists, files))


def make_readable(db: DuckDBPyConnection, table: Location, new: TableFiles) -> None:
    """Lets this connection read the new files of a table."""
    if isinstance(table, ObjectPath):
        from sinks import object_files

        sizes = dict(zip(new.files, new.sizes, strict=True))
        object_files.register(db, table, {file: (ObjectPath(file, table.store), size)
                                      for file, size in sizes.items()})  # fmt: skip


def is_newest(table: ObjectPath | str, version: int) -> bool:
    """Whether a table is unchanged since a version. Runs before every query: one or two checks of
    its log; for an object store every `LOOK_EVERY` seconds."""
    if isinstance(table, ObjectPath):
        return _is_newest_in_store(table, version)
    log = f"{table}/_delta_log"  # a Path costs more than the check
    exists = os.access(f"{log}/{_name(max(version, 0))}", os.F_OK) or _latest(Path(log)) == version
    return exists and not os.access(f"{log}/{_name(version + 1)}", os.F_OK)


def _is_newest_in_store(table: ObjectPath, version: int) -> bool:
    newest, checked_at = _checked.get(table, (version - 1, 0.0))
    if newest == version and time.monotonic() - checked_at < LOOK_EVERY:
        return True
    log, now = table / "_delta_log", time.monotonic()
    exists = _exists(log / _name(max(version, 0))) or _latest(log) == version
    if not exists or _exists(log / _name(version + 1)):
        return False
    _checked[table] = version, now
    return True


def _exists(file: Location) -> bool:
    if isinstance(file, Path):
        return file.exists()
    try:
        file.stat()  # `exists` also lists objects below the path
    except FileNotFoundError:
        return False
    return True


def _read(file: Location) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _name(version: int) -> str:
    return f"{version:020}.json"


def _latest(log: Location) -> int:
    """The newest version; -1 without any."""
    last = _read(log / "_last_checkpoint")
    version = -1 if last is None else int(json.loads(last)["version"])
    while _exists(log / _name(version + 1)):
        version += 1
    return version


def open_duckdb() -> DuckDBPyConnection:
    """Opens DuckDB for reading tables."""
    db = _duckdb.connect()
    db.execute(f"{SETTINGS}; SET temp_directory = {quoted(scratch.of_process())}")
    db.execute("SET threads = 1")  # leaves the other cores to the server
    return db


def events(db: DuckDBPyConnection, files: list[str], tenant: str) -> Iterator[list[Doc]]:
    """Yields the events in files, in batches; `seq` is 0 for a running one, 1 for an ended one."""
    for start in range(0, len(files), FILES):  # DuckDB materializes a result
        sql = (
            "SELECT event_id, session_id, user_id, epoch_us(occurred_at), epoch_us(recorded_at), "
            "status <> 'running', user_input, agent_answer, image_summaries, error, topic, "
            "intent, artifact "
            f"FROM ({select('events', files[start : start + FILES], tenant=tenant)})"
        )
        for rows in _batches(db, sql):
            yield [_event(row) for row in rows]


def _event(row: tuple[Any, ...]) -> Doc:
    key, session, user, at, recorded, ended, user_input, answer, images, error, *labels = row
    if user_input and is_private(user_input):
        user_input, answer, images, error, labels = "", "", (), None, []
    text = "\n".join(filter(None, (user_input, *(images or ()), error, answer)))
    hidden = " ".join(CAMEL.sub(" ", label).replace("_", " ") for label in labels if label)
    return Doc(
        "event", key, session, user, at, at, FOREVER, int(ended), text, hidden, [],
        answer or "", len(user_input or ""), recorded,
        tuple(dates_named.of_event(user_input or "", at)),
    )  # fmt: skip


def changes(db: DuckDBPyConnection, files: list[str], tenant: str) -> Iterator[list[Change]]:
    """Yields the revisions in files, in order for each owner."""
    sql = (
        "SELECT owner_id, entity_type, entity_id, seq, epoch_us(occurred_at), "
        "epoch_us(recorded_at), kind, "
        'coalesce("after", "before"), '
        f""""after" IS NULL{ENDED} """
        f"FROM ({select('revisions', files, tenant=tenant)}) "
        f"WHERE entity_type IN {(*SEARCHED,)} AND kind IS DISTINCT FROM 'long_mood_state' "
        "ORDER BY owner_id, seq"  # the index stores consecutive writes together
    )
    for rows in _batches(db, sql):
        yield [_change(row) for row in rows]


def touches(
    db: DuckDBPyConnection, table: str, files: list[str], tenant: str
) -> Iterator[list[tuple[str, str, int]]]:
    """Yields ('session' or 'user', id, time of the latest record) for a table of `TOUCHES`."""
    rows = select(table, files, tenant=tenant)
    sql = f"SELECT {TOUCHES[table]}, epoch_us(max(occurred_at)) FROM ({rows}) GROUP BY ALL"
    yield from _batches(db, sql)


def plans(
    db: DuckDBPyConnection, files: list[str], tenant: str
) -> Iterator[list[tuple[str, int, int]]]:
    """Yields (user, time, time of the first recording) of the write plans in files."""
    rows = select("plans", files, tenant=tenant)
    sql = (
        "SELECT user_id, epoch_us(occurred_at), epoch_us(min(recorded_at)) "
        f"FROM ({rows}) WHERE user_id IS NOT NULL GROUP BY ALL"
    )
    yield from _batches(db, sql)


def retracting(
    db: DuckDBPyConnection, files: list[str], tenant: str
) -> Iterator[list[tuple[str, str]]]:
    """(user, plan as JSON) of the write plans in files that retract or restore turns."""
    rows = select("plans", files, tenant=tenant)
    yield from _batches(
        db, f"""SELECT user_id, doc FROM ({rows}) WHERE contains(doc, '"event_updates"')"""
    )


def _change(row: tuple[Any, ...]) -> Change:
    owner, entity_type, key, seq, at, recorded, kind, text, is_removed = row
    document: dict[str, Any] = msgspec.json.decode(text)
    memory_kind = SEARCHED[entity_type]
    assert memory_kind.searched
    session = owner if "session_id" in memory_kind.key else None
    since = parse_time(document["valid_from"]) if entity_type == "state" else at
    ended = document.get("valid_to") if entity_type == "state" else None
    texts = (document.get(name) for name in memory_kind.searched.text)
    hidden = (document.get(name) or () for name in memory_kind.searched.hidden)
    hidden_words = ((words,) if isinstance(words, str) else words for words in hidden)
    doc = Doc(
        entity_type, key, session, None if session else owner, at, since,
        parse_time(ended) if ended else FOREVER, seq,
        "\n".join(dict.fromkeys(filter(None, texts))),
        " ".join([*chain.from_iterable(hidden_words), kind or ""]),
        list(document.get("evidence_event_ids") or document.get("evidence") or ()),
        recorded=recorded, about=tuple(dates_named.of_payload(document.get("payload"))),
    )  # fmt: skip
    return Change(doc, is_removed)


def _batches(db: DuckDBPyConnection, sql: str) -> Iterator[list[tuple[Any, ...]]]:
    result = db.execute(sql)
    while rows := result.fetchmany(BATCH):
        yield rows
