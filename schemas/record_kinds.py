"""The kinds of input records and their owners, for `streams/record_kinds.py` (folding and
routing) and `sinks/erasure.py` (`forget`).

This module has names only, in named tuples: readers of a history do not load pydantic.
"""

from typing import Literal, NamedTuple

Owner = Literal["session_id", "user_id"]


class OwnedRecord(NamedTuple):
    """One kind of input record.

    `type` and, for a type with several kinds, `scope` are the values of those fields. `history` is
    the table with one row per applied record. `owner` is the field with the session or user that
    the record updates and belongs to; it only mentions other sessions and users. `id` is the field
    with the record's id.
    """

    type: str
    history: str
    owner: Owner
    id: str
    scope: str | None = None


OWNED_RECORDS = (
    OwnedRecord("turn", "events", "session_id", "event_id"),
    OwnedRecord("recursion", "recursions", "session_id", "trace_id"),
    OwnedRecord("tool_result", "tool_results", "session_id", "tool_call_id"),
    OwnedRecord("signal", "signals", "session_id", "signal_id", "session"),
    OwnedRecord("signal", "signals", "user_id", "signal_id", "user"),
    OwnedRecord("write_plan", "plans", "user_id", "plan_id"),
)
"""In the order of error messages."""

RECORD_TABLES = {record.type: record.history for record in OWNED_RECORDS}
"""Type of input record -> table with one row per applied record; `doc` is the record."""


def owned_by(owner: Owner, table: str) -> str:
    """SQL condition for the rows of a history table with records of this type of owner."""
    records = [record for record in OWNED_RECORDS if record.history == table]
    owned = [record for record in records if record.owner == owner]
    if len(owned) in (0, len(records)):
        return "true" if owned else "false"
    return " OR ".join(f"scope = '{record.scope}'" for record in owned)
