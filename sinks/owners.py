"""Whose a row is that a sink is about to write: what `forget` goes by where it comes later."""

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
    """For each way in which rows name an owner: `tenant/id` of each row, null where it names none,
    and what it may be the id of. A session may be called as a user is."""
    names = SCHEMAS[table].names
    if "user_id" in names:
        yield of(rows, rows["user_id"]), (USERS,)
    if "session_id" in names:
        yield of(rows, rows["session_id"]), (SESSIONS,)
    if "owner_id" in names:
        owner, of_session = rows["owner_id"], _are_of_sessions(table, rows)
        none = pa.scalar(None, pa.string())
        yield of(rows, pc.if_else(of_session, none, owner)), (USERS,)
        yield of(rows, pc.if_else(of_session, owner, none)), (SESSIONS,)
    if "key" in names:  # a message's
        yield rows["key"], (USERS, SESSIONS)
    if "payload" in names:  # it may have come without a key, or with a wrong one
        said = [_said(payload) for payload in rows["payload"].to_pylist()]
        for field, kind in (("user_id", USERS), ("session_id", SESSIONS)):
            ids = pa.array([one.get(field) for one in said], pa.string())
            yield of(rows, ids), (kind,)


def of(rows: pa.Table, ids: Any) -> Any:
    """`tenant/id` of each row."""
    return pc.binary_join_element_wise(rows["tenant"], ids, "/")


def _are_of_sessions(table: str, rows: pa.Table) -> Any:
    """Whether the owner is a session, as `sinks.erasure` tells it."""
    if table == "links":
        provisional: Any = rows["provisional"]
        return pc.fill_null(provisional, False)
    if table == "revisions":
        kind: Any = rows["entity_type"]
        own = pc.is_in(kind, pa.array(OF_SESSIONS))
        return pc.or_(own, pc.and_(pc.equal(kind, pa.scalar("link")), pc.is_null(rows["plan_id"])))
    return pa.nulls(rows.num_rows, pa.bool_()).fill_null(False)


def _said(payload: bytes | None) -> dict[str, str]:
    """The ids that a dead letter's record names, as far as it can be read."""
    try:
        found = json.loads(payload or b"")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: one for name in ("user_id", "session_id") if isinstance(one := found.get(name), str)
    }
