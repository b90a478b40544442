"""Everything that a history holds of one person, as JSON lines (docs/erasure.md).

Whose a row is, `forget` and this agree on (`sinks.erasure`). Of sessions that others took part in
a person gets their own turns and what was answered to them, never what the others said.
"""

import time
from collections.abc import Iterator
from typing import Any

import msgspec
from _duckdb import DuckDBPyConnection

from schemas.time import format_time
from sinks.erasure import OF_SESSION, conditions
from sinks.history import columns, connect, quoted, read
from sinks.locations import Location
from sinks.scope import scope
from streams.files.stored_records import lines

FORMAT, VERSION = "turnfold", 1
_encode = msgspec.json.Encoder().encode

OTHERS_TASK = """
CREATE TEMP TABLE others_task AS
    SELECT DISTINCT session_id, coalesce(task_id, event_id) AS task_id FROM events
    WHERE session_id IN (FROM shared_session) AND user_id IS DISTINCT FROM {user};
"""
"""Tasks on which others, or nobody who is named, spoke as well: a step does not say whose it is."""

WHOLE = "t.session_id IN (FROM whole_session)"
_DOCUMENTS = {
    "profile": ("profile_current", "t.user_id = {user}", "t.user_id"),
    "session": ("session_current", WHOLE, "t.session_id"),
    "task": ("task_current", WHOLE, "t.session_id, t.task_id"),
}
"""Kind of line -> view of documents, which are the person's, and their order."""
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
"""Kind of line -> table or view, which rows are the person's, and their order: two archives of a
history that stays as it is have the same lines."""
JSON = ("before", "after", "payload", "doc")
"""Columns that hold JSON."""


def export(root: Location, tenant: str, user_id: str) -> Iterator[bytes]:
    """The archive, line by line: a header, the records that were folded, what memory made of them,
    and an end with the number of lines. Nothing at all for a user of whom nothing is held.

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
    """Every input record of a history, or of one of its tenants, as JSON lines (docs/recovery.md,
    "A lost cluster"). Raises HistoryError."""
    with connect(root, tenant=tenant) as db:
        for line in lines(db):
            yield line + b"\n"


def _lines(db: DuckDBPyConnection, user_id: str) -> Iterator[bytes]:
    for record in lines(db, _theirs, f"user_id = {quoted(user_id)}"):
        yield b'{"kind":"record","record":' + record + b"}"
    user = quoted(user_id)
    for kind, (view, theirs, order) in _DOCUMENTS.items():
        sql = f"SELECT doc FROM {view} t WHERE {theirs.format(user=user)} ORDER BY {order}"
        for (document,) in db.execute(sql).fetchall():
            yield _encode({"kind": kind, "document": msgspec.Raw(document.encode())})
    for kind, (view, theirs, order) in _ROWS.items():
        sql = f"SELECT t.* FROM {view} t WHERE {theirs.format(user=user)} ORDER BY {order}"
        for row in read(db, sql).objects():
            yield _encode({"kind": kind, "row": _plain(row)})


def _theirs(table: str) -> str:
    """SQL that is true for the rows `t` of a table that are handed out to a person."""
    if "task_id" not in columns(table) or "user_id" in columns(table):
        return conditions(table)
    shared = "(t.session_id, t.task_id) IN (SELECT (session_id, task_id) FROM others_task)"
    return f"({conditions(table)}) AND NOT {shared}"


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its JSON as JSON."""
    return {
        name: msgspec.Raw(value.encode()) if name in JSON and isinstance(value, str) else value
        for name, value in row.items()
    }
