"""Owners of the rows that a sink writes, to drop rows of forgotten users and sessions."""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sinks.tables import SCHEMAS

USERS, SESSIONS = "users", "sessions"
OF_SESSIONS = ("session", "session_memory")


def owners(table: str, rows: pa.Table) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yields for each column that names an owner: `tenant/id` of each row, or null, and the kinds
    of owners that it may name. A session may have the same id as a user."""
    names = SCHEMAS[table].names
    if "user_id" in names:
        yield row_owner(rows, rows["user_id"]), (USERS,)
    if "session_id" in names:
        yield row_owner(rows, rows["session_id"]), (SESSIONS,)
    if "owner_id" in names:
        owner, of_session = rows["owner_id"], _owned_by_sessions(table, rows)
        none = pa.scalar(None, pa.string())
        yield row_owner(rows, pc.if_else(of_session, none, owner)), (USERS,)
        yield row_owner(rows, pc.if_else(of_session, owner, none)), (SESSIONS,)
    if "key" in names:  # a message's
        yield rows["key"], (USERS, SESSIONS)
    if "payload" in names:  # its message may have no key, or a wrong one
        records = [_record_ids(payload) for payload in rows["payload"].to_pylist()]
        for field, kind in (("user_id", USERS), ("session_id", SESSIONS)):
            ids = pa.array([record.get(field) for record in records], pa.string())
            yield row_owner(rows, ids), (kind,)


def row_owner(rows: pa.Table, ids: Any) -> Any:
    """`tenant/id` of each row."""
    return pc.binary_join_element_wise(rows["tenant"], ids, "/")


def _owned_by_sessions(table: str, rows: pa.Table) -> Any:
    """Whether a session owns the row, as in `sinks.erasure`."""
    if table == "links":
        provisional: Any = rows["provisional"]
        return pc.fill_null(provisional, False)
    if table == "revisions":
        kind: Any = rows["entity_type"]
        session_kind = pc.is_in(kind, pa.array(OF_SESSIONS))
        return pc.or_(
            session_kind, pc.and_(pc.equal(kind, pa.scalar("link")), pc.is_null(rows["plan_id"]))
        )
    return pa.nulls(rows.num_rows, pa.bool_()).fill_null(False)


def _record_ids(payload: bytes | None) -> dict[str, str]:
    """The ids in a dead letter's record, if it is readable."""
    try:
        record = json.loads(payload or b"")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(record, dict):
        return {}
    return {
        name: id for name in ("user_id", "session_id") if isinstance(id := record.get(name), str)
    }
