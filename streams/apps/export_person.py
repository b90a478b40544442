"""Exports all data of one person as JSON Lines (docs/erasure.md).

Ownership of rows is as in `forget` (`sinks.erasure`). A shared session contributes only the
person's own turns with the answers.
"""

import time
from collections.abc import Iterator
from typing import Any

import msgspec
from _duckdb import DuckDBPyConnection

from schemas.time import format_time
from sinks.erasure import OF_SESSION, conditions
from sinks.erasure_scope import scope
from sinks.history import columns, connect, quoted, read
from sinks.locations import Location
from streams.files.stored_records import lines

FORMAT, VERSION = "turnfold", 1
_encode = msgspec.json.Encoder().encode

OTHERS_TASK = """
CREATE TEMP TABLE others_task AS
    SELECT DISTINCT session_id, coalesce(task_id, event_id) AS task_id FROM events
    WHERE session_id IN (FROM shared_session) AND user_id IS DISTINCT FROM {user};
"""
"""Tasks with turns of other or unnamed users: their steps do not name a user."""

WHOLE = "t.session_id IN (FROM whole_session)"
_DOCUMENTS = {
    "profile": ("profile_current", "t.user_id = {user}", "t.user_id"),
    "session": ("session_current", WHOLE, "t.session_id"),
    "task": ("task_current", WHOLE, "t.session_id, t.task_id"),
}
"""Kind of line -> view of documents, condition of the person's, order."""
_CAME = "t.recorded_at, t.src_topic, t.src_partition, t.src_offset"
_CHANGED = f"{_CAME}, t.owner_id, t.seq"
_ROWS = {
    "state": ("state_current", "t.owner_id = {user}", "t.state_id"),
    "preference": ("preference_current", "t.owner_id = {user}", "t.preference_id"),
    "mood": ("mood_current", "t.owner_id = {user}", "t.state_id"),
    "revision": (
        "revisions",
        f"(t.owner_id = {{user}} AND NOT {OF_SESSION}) "
        f"OR (t.owner_id IN (FROM whole_session) AND {OF_SESSION})",
        f"{_CHANGED}, t.revision_id",
    ),
    "affect": ("affects", "t.user_id = {user}", f"{_CAME}, t.event_id"),
    "link": (
        "links",
        "IF(coalesce(t.provisional, false), t.owner_id IN (FROM whole_session), "
        "t.owner_id = {user})",
        _CHANGED,
    ),
    "thread": ("threads", "t.owner_id = {user}", _CHANGED),
}
"""Kind of line -> table or view, condition of the person's rows, order: archives of an unchanged
history have the same lines."""
JSON = ("before", "after", "payload", "doc")
"""Columns with JSON."""


def export(root: Location, tenant: str, user_id: str) -> Iterator[bytes]:
    """Yields the archive by line: a header, the records, the memory derived from them, and an end
    with the number of lines. Empty for an unknown user.

    Raises HistoryError.
    """
    with connect(root, tenant=tenant) as db:
        scope(db, tenant, user_id)
        db.execute(OTHERS_TASK.format(user=quoted(user_id)))
        head = {"kind": "header", "format": FORMAT, "version": VERSION, "tenant": tenant,
                "user_id": user_id, "exported_at": format_time(time.time_ns() // 1000)}  # fmt: skip
        count = 0
        for line in _lines(db, user_id):
            if not count:
                yield _encode(head) + b"\n"
            count += 1
            yield line + b"\n"
        if count:
            yield _encode({"kind": "end", "lines": count + 2}) + b"\n"


def records(root: Location, tenant: str | None) -> Iterator[bytes]:
    """Yields all input records of a history, or of one tenant, as JSON Lines (docs/recovery.md, "A
    lost cluster"). Raises HistoryError."""
    with connect(root, tenant=tenant) as db:
        for line in lines(db):
            yield line + b"\n"


def _lines(db: DuckDBPyConnection, user_id: str) -> Iterator[bytes]:
    for record in lines(db, _theirs, f"user_id = {quoted(user_id)}"):
        yield b'{"kind":"record","record":' + record + b"}"
    user = quoted(user_id)
    for kind, (view, condition, order) in _DOCUMENTS.items():
        sql = f"SELECT doc FROM {view} t WHERE {condition.format(user=user)} ORDER BY {order}"
        for (document,) in db.execute(sql).fetchall():
            yield _encode({"kind": kind, "document": msgspec.Raw(document.encode())})
    for kind, (view, condition, order) in _ROWS.items():
        sql = f"SELECT t.* FROM {view} t WHERE {condition.format(user=user)} ORDER BY {order}"
        for row in read(db, sql).objects():
            yield _encode({"kind": kind, "row": _plain(row)})


def _theirs(table: str) -> str:
    """SQL condition of the rows `t` of a table that a person's archive includes."""
    if "task_id" not in columns(table) or "user_id" in columns(table):
        return conditions(table)
    shared = "(t.session_id, t.task_id) IN (SELECT (session_id, task_id) FROM others_task)"
    return f"({conditions(table)}) AND NOT {shared}"


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with decoded JSON columns."""
    return {
        name: msgspec.Raw(value.encode()) if name in JSON and isinstance(value, str) else value
        for name, value in row.items()
    }
