"""What goes wrong, said as RFC 9457 has it. The kinds are listed in docs/http.md.

A problem is a `Refusal`, which `streams.serving.http.auth` answers wherever it is raised.
"""

from collections.abc import Sequence

import msgspec
from pydantic import ValidationError

from schemas import validation_text as said
from streams.files.inbox import NoRoom
from streams.serving.backends.backend import Busy, NotReady
from streams.serving.http.refusal import Header, Refusal

MEDIA_TYPE = "application/problem+json"


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong: where and why. `position` is a record's, from 1."""

    field: str
    reason: str
    position: int | None = None


class Problem(Refusal):
    """A refusal with its faults, one by one."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *headers: Header,
        errors: Sequence[Fault] = (),
    ) -> None:
        super().__init__(status, title, detail, *headers)
        if errors:
            whole = msgspec.json.decode(self.body) | {"errors": errors}
            self.body = msgspec.json.encode(whole)


def not_found(what: str) -> Problem:
    """The same for what is nobody's and for what is another tenant's."""
    return Problem(404, "Not found", f"no {what} of that id")


def invalid(errors: Sequence[Fault]) -> Problem:
    """What was sent says something that cannot be."""
    detail = "; ".join(f"{one.field}: {one.reason}" for one in errors[:3])
    return Problem(422, "Invalid", detail, errors=errors)


def faults(error: ValidationError) -> list[Fault]:
    """Field and reason of each, without the values."""
    return [
        Fault(".".join(map(str, one.place)) or "body", one.reason) for one in said.faults(error)[:8]
    ]


def retry_after(seconds: int) -> Header:
    """When to try again."""
    return (b"retry-after", b"%d" % seconds)


def no_history(what: str) -> Problem:
    """There is no history beside this server."""
    detail = (
        f"{what} is asked of the history, and this server has none: start it with --history DIR, "
        "the folder that `turnfold kafka sink` or `turnfold run` writes"
    )
    return Problem(501, "No history", detail)


# --- what others raise ------------------------------------------------------------------------

KNOWN = (NotReady, Busy, NoRoom)


def problem_of(error: Exception) -> Problem:
    """What is answered where one of `KNOWN` was raised."""
    assert isinstance(error, NotReady | Busy | NoRoom)
    status, title = _STATES[type(error)]
    return Problem(status, title, str(error), retry_after(error.retry_after))


_STATES = {NotReady: (503, "Not ready"), Busy: (429, "Busy"), NoRoom: (507, "No room")}
