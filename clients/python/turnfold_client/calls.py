"""Requests and the meaning of replies, without I/O."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from turnfold_client import errors

Moment = str | date | datetime
"""RFC 3339 text, a time with its zone, or a day, which means its end (UTC)."""
Records = Iterable[BaseModel | Mapping[str, Any]]
"""Input records, as models or as JSON objects."""

NDJSON = "application/x-ndjson"
HALF_PAIR = "half of a surrogate pair is no text, so nothing was sent"

R = TypeVar("R")


class Page(Protocol):
    """A reply that may have a next page."""

    next: str | None


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """One request. `gives`: the model of each status that is a reply, or None for no content.
    Parameters and headers that are None are not sent."""

    method: str
    path: str
    gives: Mapping[int, type[BaseModel] | None]
    query: Mapping[str, str | int | None] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    content: bytes | None = None
    kind: str = "application/json"

    def request(self) -> dict[str, Any]:
        """The arguments of httpx. Raises ClientError."""
        for value in (*self.query.values(), *self.headers.values()):
            written(str, value)
        kind = None if self.content is None else self.kind
        return {
            "method": self.method,
            "url": self.path,
            "params": without_none(self.query),
            "headers": without_none({**self.headers, "Content-Type": kind}),
            "content": self.content,
        }

    def reply(self, response: httpx.Response) -> R:
        """The model of a response. Raises ReplyError, StatusError."""
        status = response.status_code
        if status not in self.gives:
            raise errors.of(response)
        model = self.gives[status]
        reply: Any = None if model is None else read(model, response.content)
        return reply  # type: ignore[no-any-return]  # `gives` names its type


M = TypeVar("M", bound=BaseModel)


def read(model: type[M], content: bytes | str) -> M:
    """A document; fields of a newer server are ignored. Raises ReplyError."""
    try:
        return model.model_validate_json(content, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise errors.ReplyError(
            f"no {model.__name__}: {where}: {first['msg']}; is this the address of a Turnfold?"
        ) from None


# --- the parts of a call ----------------------------------------------------------------------


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def in_path(text: str) -> str:
    """An id as one segment of a path, whatever characters it has. Raises ClientError."""
    written(str, text)
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


def moment(at: Moment | None) -> str | None:
    """A time as the server reads it. Raises ValueError for one without its zone."""
    if at is None or isinstance(at, str):
        return at
    if isinstance(at, datetime) and at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone; give one, such as tzinfo=UTC")
    return at.isoformat()


def encoded(model: BaseModel) -> bytes:
    """A model as JSON. Raises ClientError."""
    return written(model.model_dump_json, exclude_none=True)


def lines(records: Records) -> bytes:
    """Records as NDJSON. Raises ClientError."""
    return b"\n".join(
        _line(record) if isinstance(record, BaseModel) else written(to_json, record)
        for record in records
    )


def written(write: Callable[..., str | bytes], *values: Any, **options: Any) -> bytes:
    """The output of a serializer as UTF-8. Raises ClientError for half of a surrogate pair."""
    try:
        text = write(*values, **options)
        return text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        reason = f"{error.reason}, at character {error.start}"
    except PydanticSerializationError as error:
        if "surrogates" not in str(error):
            raise
        reason = str(error)
    raise errors.ClientError(f"{HALF_PAIR} ({reason})")


def _line(record: BaseModel) -> bytes:
    """A record as JSON. Its tenant is omitted unless it was set, as the server rejects the model's
    default with the key of another tenant."""
    unset = {"tenant"} - record.model_fields_set
    return written(record.model_dump_json, exclude_none=True, exclude=unset)


def key(chosen: str | None, content: bytes) -> str | None:
    """The `Idempotency-Key` of a POST, with which it can be sent twice: the caller's, or a new one.
    Several records do not need one, because each has an id."""
    return chosen or (None if b"\n" in content or not content else uuid4().hex)
