"""Outcome of a record (docs/guarantees.md, "No record is lost"): one type, from folds to HTTP."""

from typing import Literal, NamedTuple

from schemas.record import Ended


class Outcome(NamedTuple):
    """`applied`, a `duplicate` of one that was, `withheld` from all that is kept, or `dead`, with
    the reason and detail of its dead letter; `WAITS` has them, too. `accepted`: it is in the log
    for good, and what it ends as was not known in time. `skipped`: an event that a mapping makes
    nothing of."""

    ending: Ended | Literal["skipped"]
    reason: str | None = None
    detail: str | None = None


APPLIED = Outcome("applied")
WAITS = Outcome("applied", "waiting", "waits for the end of its recursion")
"""A tool result that was stored. Whether it fits a call of its recursion shows later, and what it
was counted as stays (`Effects.late`, `Effects.settled`)."""
DUPLICATE = Outcome("duplicate")
WITHHELD = Outcome("withheld")
SKIPPED = Outcome("skipped")
ACCEPTED = Outcome("accepted")
