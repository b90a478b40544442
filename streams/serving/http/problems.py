"""Errors as RFC 9457 problem documents; docs/http.md lists them.

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
    """One error: field and reason. `position`: of the record, from 1."""

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


def not_found(noun: str) -> Problem:
    """The same for unknown ids and for ids of another tenant."""
    return Problem(404, "Not found", f"no {noun} of that id")


def invalid(errors: Sequence[Fault]) -> Problem:
    detail = "; ".join(f"{fault.field}: {fault.reason}" for fault in errors[:3])
    return Problem(422, "Invalid", detail, errors=errors)


def faults(error: ValidationError) -> list[Fault]:
    """Field and reason of each, without the values."""
    return [
        Fault(".".join(map(str, fault.place)) or "body", fault.reason)
        for fault in said.faults(error)[:8]
    ]


def retry_after(seconds: int) -> Header:
    """When to try again."""
    return (b"retry-after", b"%d" % seconds)


def no_history(feature: str) -> Problem:
    """This server has no history."""
    detail = (
        f"{feature} is asked of the history, and this server has none: start it with --history "
        "DIR, the folder that `turnfold kafka sink` or `turnfold run` writes"
    )
    return Problem(501, "No history", detail)


# --- what others raise ------------------------------------------------------------------------

KNOWN = (NotReady, Busy, NoRoom)


def problem_of(error: Exception) -> Problem:
    """The problem for an error of `KNOWN`."""
    assert isinstance(error, NotReady | Busy | NoRoom)
    status, title = _STATES[type(error)]
    return Problem(status, title, str(error), retry_after(error.retry_after))


_STATES = {NotReady: (503, "Not ready"), Busy: (429, "Busy"), NoRoom: (507, "No room")}
