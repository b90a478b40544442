"""Which records count, once each, and in what order.

The reference model takes the whole set of records, sorts it and computes every document from the
beginning. It is slow and plain on purpose: it says what memory is, not how it is kept up to date.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from schemas.events import Recursion, Turn
from schemas.record import Record
from schemas.time import format_time


class Given(NamedTuple):
    """A record and its canonical text.

    `record` is valid; a turn may come as another object with the names of `schemas.events.Turn`.
    `doc` is its JSON with sorted keys, without defaults, `recorded_at`, `schema_version` and
    `image_summaries`. Two records of equal `doc` are the same record.
    """

    record: Record
    doc: str


def once(given: Iterable[Given], record_type: str) -> list[Any]:
    """The records of a type, each once, by time, then by text; none that are to be withheld."""
    kept = {item.doc: item for item in given if item.record.type == record_type}
    in_order = sorted(kept.values(), key=lambda item: (item.record.occurred_at, item.doc))
    return [item.record for item in in_order if not is_withheld(item.record)]


def is_withheld(record: Record) -> bool:
    return getattr(record, "source", None) == "meta_request"


def has_ended(version: Turn | Recursion) -> bool:
    return version.status != "running"


def order(turn: Turn) -> tuple[int, str]:
    """The place of a turn in its session: by time, then by id."""
    return turn.occurred_at, turn.event_id


def standing_turns(given: Iterable[Given]) -> list[Turn]:
    """Each turn once, in order: as it ended, or as it runs where no end has come."""
    versions = sorted(once(given, "turn"), key=has_ended)  # of one key, the last stands
    standing = {(turn.tenant, turn.session_id, turn.event_id): turn for turn in versions}
    return sorted(standing.values(), key=lambda turn: (order(turn), turn.session_id, turn.tenant))


def ended_turns(given: Iterable[Given]) -> list[Turn]:
    """Each turn that has ended (done or error) once, in order, of all sessions together."""
    return [turn for turn in standing_turns(given) if has_ended(turn)]


def standing_recursions(given: Iterable[Given]) -> list[Recursion]:
    """Of one task, in the order of its loop. Ended beats running, then later, then greater text."""
    versions = sorted(once(given, "recursion"), key=has_ended)  # of one trace, the last stands
    standing = {recursion.trace_id: recursion for recursion in versions}
    return sorted(standing.values(), key=lambda last: (last.iteration_index, last.trace_id))


def times(dated: Sequence[Any], otherwise: Sequence[Any]) -> dict[str, str]:
    """Earliest and latest time of the records that date a document; without any, of others."""
    at = [record.occurred_at for record in dated or otherwise]
    return {"created_at": format_time(min(at)), "updated_at": format_time(max(at))}
