"""What a history's records say: the definition of docs/conformance.md, as a program.

It shares no code with Turnfold. Times are RFC 3339 texts of one form, which sort as text.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

Record = dict[str, Any]
NOW = "2025-01-01T00:00:00Z"
"""The time of questions without `as_of` or `known_at`; after everything that was learned."""
FOREVER = "9999-12-31T00:00:00Z"


class Span(NamedTuple):
    """A time, from `start` until and not at `stop`, for which a record says the value."""

    start: str
    stop: str
    record: Record


def believed(records: Iterable[Record], fact: str, as_of: str, known_at: str) -> Record | None:
    """The record that says what a fact was at `as_of`, of those learned by `known_at`."""
    spans = timeline(records, fact, known_at)
    return next((span.record for span in spans if span.start <= as_of < span.stop), None)


def timeline(records: Iterable[Record], fact: str, known_at: str) -> list[Span]:
    """The spans of a fact, in order, of the records learned by a time."""
    learned = [record for record in records if record["learned_at"] <= known_at]
    retracted = {record["record"] for record in learned if record["op"] == "retract"}
    spans: list[Span] = []
    for record in sorted(learned, key=lambda record: str(record["learned_at"])):
        if record.get("fact") == fact and record["id"] not in retracted:
            spans = _stated(spans, record)
    return spans


def _stated(spans: list[Span], record: Record) -> list[Span]:
    """The spans after a statement: it has its interval; if that has no end, values that are known
    to start later keep theirs."""
    start, stop = record["from"], record.get("to", FOREVER)
    latest = stop if "to" in record else max(start, record["learned_at"])
    values = (span for span in spans if span.record["op"] == "state")
    announced = [span for span in values if span.record["from"] > latest]
    replaced = [span for span in spans if span not in announced]
    free = [Span(start, stop, record)]
    for span in announced:
        free = [part for piece in free for part in _outside(piece, span.start, span.stop)]
    rest = [part for span in replaced for part in _outside(span, start, stop)]
    return sorted([*announced, *free, *rest])


def _outside(span: Span, start: str, stop: str) -> list[Span]:
    """The parts of a span before and after an interval."""
    parts = (
        span._replace(stop=min(span.stop, start)),
        span._replace(start=max(span.start, stop)),
    )
    return [part for part in parts if part.start < part.stop]
