"""What is searched, read from a history's tables: events, and the versions of what is held.

Delta only appends, so an index is brought up to date from the files that were added since. Files
that were taken away (`forget`, a batch undone after a crash) mean that it is built again; what
`compact` merges is known by `dataChange`, and is nothing new.
"""

import json
import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import _duckdb
import msgspec
from _duckdb import DuckDBPyConnection

from schemas.memory_kinds import MEMORY_KINDS
from schemas.time import parse_time
from sinks.files import data_files
from sinks.history import SETTINGS, select
from streams.search import about
from streams.search.store import FOREVER, Doc

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
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
ENDED = "".join(
    f""" OR (entity_type = '{kind.name}' AND ("after" ->> '$.status') = '{kind.ended}')"""
    for kind in HELD.values()
    if kind.ended
)
"""Of what was revoked the row stays, so that it can be confirmed again."""


class News(NamedTuple):
    """A table's version, and the files added to it since another, of so many bytes."""

    version: int
    files: list[str]
    size: int = 0


class Change(NamedTuple):
    """A revision of something held: how it is from then on, or how it was when it went."""

    doc: Doc
    gone: bool


def whole(db: DuckDBPyConnection, table: Path) -> News:
    """All files of a table. Its version first: what is added in between is read twice, and then
    known by its ids."""
    return News(_latest(table / "_delta_log"), data_files(db, table))


def news(table: Path, known: int) -> News | None:
    """What a table has gained since a version; None where files went, or its log is another."""
    log, files, version, size = table / "_delta_log", list[str](), known, 0
    if not _commit(log, max(known, 0)).exists() and _latest(log) != known:
        return None
    while (commit := _commit(log, version + 1)).exists():
        version += 1
        for action in map(json.loads, commit.read_text(encoding="utf-8").splitlines()):
            if action.get("remove", {}).get("dataChange"):
                return None
            if action.get("add", {}).get("dataChange"):
                files.append(str(table / unquote(action["add"]["path"])))
                size += action["add"]["size"]
    merged_since = not all(Path(file).exists() for file in files)
    return None if merged_since else News(version, files, size)


def is_newest(table: Path | str, known: int) -> bool:
    """Whether a table has gained and lost nothing since a version. As every question asks, by a
    look or two at its log."""
    log = f"{table}/_delta_log"  # making Paths costs more than looking
    is_there = os.access(f"{log}/{_name(max(known, 0))}", os.F_OK) or _latest(Path(log)) == known
    return is_there and not os.access(f"{log}/{_name(known + 1)}", os.F_OK)


def _commit(log: Path, version: int) -> Path:
    return log / _name(version)


def _name(version: int) -> str:
    return f"{version:020}.json"


def _latest(log: Path) -> int:
    """The newest version; -1 without any."""
    try:
        last = json.loads((log / "_last_checkpoint").read_text(encoding="utf-8"))
        version = int(last["version"])
    except FileNotFoundError:
        version = -1
    while _commit(log, version + 1).exists():
        version += 1
    return version


def opened() -> DuckDBPyConnection:
    """DuckDB, for reading."""
    db = _duckdb.connect()
    db.execute(f"{SETTINGS}; SET threads = 1")  # a server needs its other cores
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
        "SELECT owner_id, entity_type, entity_id, seq, epoch_us(occurred_at), kind, "
        'coalesce("after", "before"), '
        f""""after" IS NULL{ENDED} """
        f"FROM ({select('revisions', files, tenant=tenant)}) "
        f"WHERE entity_type IN {(*HELD,)} AND kind IS DISTINCT FROM 'long_mood_state' "
        "ORDER BY owner_id, seq"  # what is written together lies together in the index
    )
    for rows in _batches(db, sql):
        yield [_change(row) for row in rows]


def threads(
    db: DuckDBPyConnection, files: list[str], tenant: str
) -> Iterator[list[tuple[str, str, bool]]]:
    """(event, thread, whether it belongs there from then on), in the order of the revisions."""
    sql = (
        """SELECT value ->> '$.event_id', value ->> '$.thread_key', held FROM (SELECT seq, """
        """coalesce("after", "before") AS value, "after" IS NOT NULL AS held """
        f"FROM ({select('revisions', files, tenant=tenant)}) WHERE entity_type = 'thread') "
        "ORDER BY seq"
    )
    yield from _batches(db, sql)


def touches(
    db: DuckDBPyConnection, table: str, files: list[str], tenant: str
) -> Iterator[list[tuple[str, str, int]]]:
    """('session' or 'user', id, time of the latest record in files of a table of `TOUCHES`)."""
    rows = select(table, files, tenant=tenant)
    sql = f"SELECT {TOUCHES[table]}, epoch_us(max(occurred_at)) FROM ({rows}) GROUP BY ALL"
    yield from _batches(db, sql)


def _change(row: tuple[Any, ...]) -> Change:
    owner, kind, key, seq, at, of, text, gone = row
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
        about=tuple(about.of_payload(value.get("payload"))),
    )  # fmt: skip
    return Change(doc, gone)


def _batches(db: DuckDBPyConnection, sql: str) -> Iterator[list[tuple[Any, ...]]]:
    answer = db.execute(sql)
    while rows := answer.fetchmany(BATCH):
        yield rows
