"""The kinds of input records, and who owns each: declared once, as `streams/kinds.py` (folding and
routing) and `sinks/erasure.py` (`forget`) both go by it.

Here are names only, in named tuples: readers of a history do not wait for models to load.
"""

from typing import Literal, NamedTuple

Owner = Literal["session_id", "user_id"]


class OwnedRecord(NamedTuple):
    """One kind of input record. `type` and, where a type has several kinds, `scope`: the values of
    its fields of these names. `history`: the table with a row per applied record. `owner`: the
    field with the session or user that the record updates and belongs to; any other session or
    user in it is only mentioned. `id`: the field with the record's own id."""

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
"""In the order in which messages name them."""

RECORD_TABLES = {record.type: record.history for record in OWNED_RECORDS}
"""Type of input record -> table with a row for each applied record; `doc` is the record."""


def owned_by(owner: Owner, table: str) -> str:
    """SQL that is true for the rows of a history table of records that such an owner has."""
    records = [record for record in OWNED_RECORDS if record.history == table]
    owned = [record for record in records if record.owner == owner]
    if len(owned) in (0, len(records)):
        return "true" if owned else "false"
    return " OR ".join(f"scope = '{record.scope}'" for record in owned)
