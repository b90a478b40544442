"""A call before it is sent, what its reply means, and when to try it again: no input or output."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from schemas.events import Record
from streams.client import errors

Moment = str | date | datetime
"""RFC 3339 text, a time with its zone, or a day, which means its end (UTC)."""
Records = Iterable[Record | Mapping[str, Any]]
"""Input records, as models or as JSON objects."""

NDJSON = "application/x-ndjson"
RETRIED = frozenset({429, 503})
FIRST_WAIT, LONGEST_WAIT = 0.1, 30.0
"""Seconds, where the server says nothing."""

R = TypeVar("R")


class Page(Protocol):
    """A reply that may go on."""

    next: str | None


@dataclass(frozen=True, slots=True)
class Ask(Generic[R]):
    """One call. `gives`: what a status means; None for no content. Parameters and headers that
    are None are not sent."""

    method: str
    path: str
    gives: Mapping[int, type[BaseModel] | None]
    query: Mapping[str, str | int | None] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    content: bytes | None = None
    kind: str = "application/json"

    def sent(self) -> dict[str, Any]:
        """As httpx takes it."""
        return {
            "method": self.method,
            "url": self.path,
            "params": given(self.query),
            "headers": given(
                {**self.headers, "Content-Type": None if self.content is None else self.kind}
            ),
            "content": self.content,
        }

    def reply(self, response: httpx.Response) -> R:
        """What the server says. Raises ReplyError, StatusError."""
        status = response.status_code
        if status not in self.gives:
            raise errors.of(response)
        model = self.gives[status]
        reply: Any = None if model is None else read(model, response.content)
        return reply  # type: ignore[no-any-return]  # `gives` says which


M = TypeVar("M", bound=BaseModel)


def read(model: type[M], content: bytes | str) -> M:
    """A document; fields of a newer server are passed over. Raises ReplyError."""
    try:
        return model.model_validate_json(content, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise errors.ReplyError(
            f"no {model.__name__}: {where}: {first['msg']}; is this the address of a Turnfold?"
        ) from None


# --- what a call is made of -------------------------------------------------------------------


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def in_path(text: str) -> str:
    """An id as one part of a path, whatever is in it."""
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


def moment(at: Moment | None) -> str | None:
    """A time as the server reads it. Raises ValueError for one without its zone."""
    if at is None or isinstance(at, str):
        return at
    if isinstance(at, datetime) and at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone; give one, such as tzinfo=UTC")
    return at.isoformat()


def body(model: BaseModel) -> bytes:
    """A body as JSON."""
    return model.model_dump_json(exclude_none=True).encode()


def lines(records: Records) -> bytes:
    """Records as NDJSON."""
    return b"\n".join(body(one) if isinstance(one, Record) else to_json(one) for one in records)


def key(given: str | None, content: bytes) -> str | None:
    """The `Idempotency-Key` of a POST, so that it can be sent twice. Several records go without
    (each has an id), and none."""
    return given or (None if b"\n" in content or not content else uuid4().hex)


# --- trying again -----------------------------------------------------------------------------


class Attempts:
    """Of one call, which may always be made again: reads, and writes under a key or ids."""

    def __init__(self, retries: int) -> None:
        self._left = retries
        self._wait = FIRST_WAIT

    def wait(self, ask: Ask[Any], outcome: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds until the next attempt; None where this outcome is the answer.

        Raises UnreachableError where nothing has answered and no attempt is left.
        """
        if isinstance(outcome, httpx.TransportError):
            said = None
            if not self._left:
                about = f"{ask.method} {ask.path}: {outcome or type(outcome).__name__}"
                raise errors.UnreachableError(about) from outcome
        elif outcome.status_code in RETRIED - ask.gives.keys() and self._left:
            said = retry_after(outcome)
        else:
            return None
        self._left -= 1
        wait, self._wait = self._wait * random.uniform(0.5, 1), 2 * self._wait
        return min(wait if said is None else said, LONGEST_WAIT)


def retry_after(response: httpx.Response) -> float | None:
    """Seconds, if the reply says so in seconds, as Turnfold does."""
    said = response.headers.get("retry-after", "")
    return float(said) if said.isdecimal() else None
