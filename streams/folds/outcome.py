"""Outcome of a record (docs/guarantees.md, "No record is lost"): one type, from folds to HTTP."""

from typing import Literal, NamedTuple

from schemas.record import Ended


class Outcome(NamedTuple):
    """`applied`, `duplicate` of an applied record, `withheld` from storage, or `dead` with the
    reason and detail of its dead letter; `WAITS` has a reason and detail as well. `accepted`: in
    the log, but processing had not finished before the timeout. `skipped`: an event that a mapping
    ignores."""

    ending: Ended | Literal["skipped"]
    reason: str | None = None
    detail: str | None = None


APPLIED = Outcome("applied")
WAITS = Outcome("applied", "waiting", "waits for the end of its recursion")
"""A stored tool result. Its recursion decides later whether it matches a call; the count of its
outcome does not change (`Effects.late`, `Effects.settled`)."""
DUPLICATE = Outcome("duplicate")
WITHHELD = Outcome("withheld")
SKIPPED = Outcome("skipped")
ACCEPTED = Outcome("accepted")
