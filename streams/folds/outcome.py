"""What a record ends as (docs/laws.md, "Nothing vanishes"): one type, from folds to HTTP API."""

from typing import NamedTuple

from schemas.record import Ended


class Outcome(NamedTuple):
    """`applied`, a `duplicate` of one that was, `withheld` from all that is kept, or `dead`, with
    the reason and detail of its dead letter. `accepted`: it is in the log for good, and what it
    ends as was not known in time."""

    ending: Ended
    reason: str | None = None
    detail: str | None = None


APPLIED = Outcome("applied")
DUPLICATE = Outcome("duplicate")
WITHHELD = Outcome("withheld")
ACCEPTED = Outcome("accepted")
