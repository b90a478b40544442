"""What is searched, read from a history's tables: events, and the versions of what is held.

Delta only appends, so an index is brought up to date from the files that were added since. Files
that were taken away (`forget`, a batch undone after a crash) mean that it is built again; what
`compact` merges is known by `dataChange`, and is nothing new.
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
from streams.extractors.private import is_private
from streams.search import about
from streams.search.doc import FOREVER, Doc

TABLES = ("events", "revisions", "signals", "plans")
OF_SESSION = """(entity_type IN ('session', 'session_memory')
    OR (entity_type = 'link' AND plan_id IS NULL))"""
TOUCHES = {
    "revisions": f"CASE WHEN {OF_SESSION} THEN 'session' ELSE 'user' END, owner_id",
    "signals": "scope, CASE WHEN scope = 'session' THEN session_id ELSE user_id END",
    "plans": "'user', user_id",
}
"""Table -> SQL of whose a record is: `session` or `user`, and the id."""
HELD = {kind.name: kind for kind in MEMORY_KINDS if kind.searched}
BATCH = 10_000
FILES = 8
"""Of events that are read at once."""
AT_ONCE = 16
"""Looks at an object store."""
LOOK_EVERY = 2.0
"""Seconds between two looks whether a table in an object store has grown."""
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
ENDED = "".join(
    f""" OR (entity_type = '{kind.name}' AND ("after" ->> '$.status') = '{kind.ended}')"""
    for kind in HELD.values()
    if kind.ended
)
"""Of what was revoked the row stays, so that it can be confirmed again."""


_looked: dict[ObjectPath, tuple[int, float]] = {}
"""A table -> its newest version, and when that was."""


class News(NamedTuple):
    """A table's version, and the files added to it since another, of so many bytes each."""

    version: int
    files: list[str]
    sizes: Sequence[int] = ()

    @property
    def size(self) -> int:
        return sum(self.sizes)


class Change(NamedTuple):
    """A revision of something held: how it is from then on, or how it was when it went."""

    doc: Doc
    gone: bool


def whole(db: DuckDBPyConnection, table: Location) -> News:
    """All files of a table. Its version first: what is added in between is read twice, and then
    known by its ids."""
    return News(_latest(table / "_delta_log"), data_files(db, table))


def news(table: Location, known: int) -> News | None:
    """What a table has gained since a version; None where files went, or its log is another."""
    log, files, version, sizes = table / "_delta_log", list[str](), known, list[int]()
    if not _is_there(log / _name(max(known, 0))) and _latest(log) != known:
        return None
    while (commit := _read(log / _name(version + 1))) is not None:
        version += 1
        for action in map(json.loads, commit.splitlines()):
            if action.get("remove", {}).get("dataChange"):
                return None
            if action.get("add", {}).get("dataChange"):
                files.append(unquote(action["add"]["path"]))
                sizes.append(action["add"]["size"])
    merged_since = not _are_there([table / one for one in files])
    return None if merged_since else News(version, [f"{table}/{one}" for one in files], sizes)


def _are_there(files: list[Location]) -> bool:
    if not files or isinstance(files[0], Path):
        return all(map(_is_there, files))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return all(threads.map(_is_there, files))


def make_readable(db: DuckDBPyConnection, table: Location, found: News) -> None:
    """The files that a table has gained can be read by this connection."""
    if isinstance(table, ObjectPath):
        from sinks import object_files

        sizes = dict(zip(found.files, found.sizes, strict=True))
        object_files.know(db, table, {one: (ObjectPath(one, table.store), size)
                                      for one, size in sizes.items()})  # fmt: skip


def is_newest(table: ObjectPath | str, known: int) -> bool:
    """Whether a table has gained and lost nothing since a version. As every question asks, by a
    look or two at its log; in an object store every second or two."""
    if isinstance(table, ObjectPath):
        return _is_newest_in_store(table, known)
    log = f"{table}/_delta_log"  # making Paths costs more than looking
    is_there = os.access(f"{log}/{_name(max(known, 0))}", os.F_OK) or _latest(Path(log)) == known
    return is_there and not os.access(f"{log}/{_name(known + 1)}", os.F_OK)


def _is_newest_in_store(table: ObjectPath, known: int) -> bool:
    at, looked = _looked.get(table, (known - 1, 0.0))
    if at == known and time.monotonic() - looked < LOOK_EVERY:
        return True
    log, now = table / "_delta_log", time.monotonic()
    is_there = _is_there(log / _name(max(known, 0))) or _latest(log) == known
    if not is_there or _is_there(log / _name(known + 1)):
        return False
    _looked[table] = known, now
    return True


def _is_there(file: Location) -> bool:
    if isinstance(file, Path):
        return file.exists()
    try:
        file.stat()  # `exists` asks for what is below, too
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
    while _is_there(log / _name(version + 1)):
        version += 1
    return version


def opened() -> DuckDBPyConnection:
    """DuckDB, for reading."""
    db = _duckdb.connect()
    db.execute(f"{SETTINGS}; SET temp_directory = {quoted(scratch.of_process())}")
    db.execute("SET threads = 1")  # a server needs its other cores
    return db


def events(db: DuckDBPyConnection, files: list[str], tenant: str) -> Iterator[list[Doc]]:
    """The events in files, in batches; `seq` is 0 for a running one, 1 for an ended."""
    for start in range(0, len(files), FILES):  # an answer is held as a whole
        sql = (
            "SELECT event_id, session_id, user_id, epoch_us(occurred_at), epoch_us(recorded_at), "
            "status <> 'running', user_input, agent_answer, image_summaries, error, topic, "
            "intent, artifact "
            f"FROM ({select('events', files[start : start + FILES], tenant=tenant)})"
        )
        for rows in _batches(db, sql):
            yield [_event(row) for row in rows]


def _event(row: tuple[Any, ...]) -> Doc:
    key, session, user, at, recorded, ended, said, answered, images, error, *labels = row
    if said and is_private(said):
        said, answered, images, error, labels = "", "", (), None, []
    text = "\n".join(one for one in (said, *(images or ()), error, answered) if one)
    hidden = " ".join(CAMEL.sub(" ", one).replace("_", " ") for one in labels if one)
    return Doc(
        "event", key, session, user, at, at, FOREVER, int(ended), text, hidden, [],
        answered or "", len(said or ""), recorded,
        tuple(about.of_event(said or "", at)),
    )  # fmt: skip


def changes(db: DuckDBPyConnection, files: list[str], tenant: str) -> Iterator[list[Change]]:
    """The revisions in files, of an owner in the order in which they were made."""
    sql = (
        "SELECT owner_id, entity_type, entity_id, seq, epoch_us(occurred_at), "
        "epoch_us(recorded_at), kind, "
        'coalesce("after", "before"), '
        f""""after" IS NULL{ENDED} """
        f"FROM ({select('revisions', files, tenant=tenant)}) "
        f"WHERE entity_type IN {(*HELD,)} AND kind IS DISTINCT FROM 'long_mood_state' "
        "ORDER BY owner_id, seq"  # what is written together lies together in the index
    )
    for rows in _batches(db, sql):
        yield [_change(row) for row in rows]


def touches(
    db: DuckDBPyConnection, table: str, files: list[str], tenant: str
) -> Iterator[list[tuple[str, str, int]]]:
    """('session' or 'user', id, time of the latest record in files of a table of `TOUCHES`)."""
    rows = select(table, files, tenant=tenant)
    sql = f"SELECT {TOUCHES[table]}, epoch_us(max(occurred_at)) FROM ({rows}) GROUP BY ALL"
    yield from _batches(db, sql)


def planned(
    db: DuckDBPyConnection, files: list[str], tenant: str
) -> Iterator[list[tuple[str, int, int]]]:
    """(user, time, when the first of them was recorded) of the write plans in files."""
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
    owner, kind, key, seq, at, recorded, of, text, gone = row
    value: dict[str, Any] = msgspec.json.decode(text)
    held = HELD[kind]
    assert held.searched
    session = owner if "session_id" in held.key else None
    since = parse_time(value["valid_from"]) if kind == "state" else at
    ended = value.get("valid_to") if kind == "state" else None
    shown = (value.get(name) for name in held.searched.text)
    hidden = (value.get(name) or () for name in held.searched.hidden)
    words = ((one,) if isinstance(one, str) else one for one in hidden)
    doc = Doc(
        kind, key, session, None if session else owner, at, since,
        parse_time(ended) if ended else FOREVER, seq,
        "\n".join(dict.fromkeys(one for one in shown if one)),
        " ".join([*chain.from_iterable(words), of or ""]),
        list(value.get("evidence_event_ids") or value.get("evidence") or ()),
        recorded=recorded, about=tuple(about.of_payload(value.get("payload"))),
    )  # fmt: skip
    return Change(doc, gone)


def _batches(db: DuckDBPyConnection, sql: str) -> Iterator[list[tuple[Any, ...]]]:
    answer = db.execute(sql)
    while rows := answer.fetchmany(BATCH):
        yield rows
