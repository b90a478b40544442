"""Media types of bodies, and strict JSON."""

import re
from typing import Any, TypeVar

import msgspec
from pydantic import ValidationError
from starlette.requests import Request

from schemas.base import Wire
from schemas.events import MAX_RECORD_BYTES
from streams.pipeline import json_limits
from streams.pipeline.decode import LONE_SURROGATE, half_of_a_pair
from streams.serving.http.body_readers import BodyReaders
from streams.serving.http.problems import Fault, Problem, faults, invalid

JSON = "application/json"
PLACE = re.compile(r"\(byte (\d+)\)$")
PAIR = 16
"""Bytes of two escapes, and some more."""


def media_type(request: Request) -> str:
    """The body's, without parameters; JSON by default. Raises Problem for another
    charset than UTF-8."""
    content_type = request.headers.get("content-type", JSON)
    if content_type == JSON:
        return content_type
    kind, *parameters = content_type.lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8"):
            raise unsupported("the charset is UTF-8")
    return kind.strip()


def unsupported(detail: str) -> Problem:
    return Problem(415, "Unsupported media type", f"Content-Type: {detail}")


def json_of(body: bytes) -> Any:
    """A body's JSON, decoded. Raises Problem."""
    if (reason := json_limits.too_many_values(body)) is not None:
        decoded(body, msgspec.Raw)  # reports the error without building values
        raise too_large(reason)
    return decoded(body)


async def json_bytes(request: Request) -> bytes:
    """The body. Raises Problem if its type is not JSON."""
    if media_type(request) != JSON:
        raise unsupported(f"expected {JSON}")
    return await request.body()


Body = TypeVar("Body", bound=Wire)


async def model_body(request: Request, readers: BodyReaders, model: type[Body]) -> Body:
    """The body as a model that becomes a record. Raises Problem, Busy."""
    body = await json_bytes(request)
    if len(body) > MAX_RECORD_BYTES:  # it is long in being read
        detail = f"{len(body)} bytes; this body has at most {MAX_RECORD_BYTES}"
        raise Problem(413, "Body too large", detail)
    tenant = request.scope["state"]["caller"].tenant
    return await readers.read(tenant, len(body), _modelled, body, model)


def _modelled(body: bytes, model: type[Body]) -> Body:
    try:
        return model.model_validate(json_of(body))
    except ValidationError as error:
        raise invalid(faults(error)) from None


def said_in(body: Wire) -> dict[str, Any]:
    """The fields that a body sets, as JSON values. Raises Problem."""
    try:
        return body.model_dump(mode="json", exclude_none=True)
    except ValueError:  # pydantic's word for lists in lists without end
        raise invalid([Fault("body", "nested too deep")]) from None


def decoded(body: bytes, type: Any = Any) -> Any:
    """Strict JSON: no NaN, UTF-8 alone. Raises Problem with the byte's position."""
    if not body.strip():
        raise empty()
    try:
        return msgspec.json.decode(body, type=type)
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 (byte {error.start})"
    except msgspec.DecodeError as error:
        reason = str(error)
        if "byte" not in reason:  # it ends too soon
            reason += f" (byte {len(body)})"
        if lone := _half_near(body, reason):
            reason = half_of_a_pair(lone)
    except RecursionError:
        reason = "nested too deep"
    raise Problem(400, "Bad JSON", reason, errors=[Fault("body", reason)])


def _half_near(body: bytes, reason: str) -> "re.Match[bytes] | None":
    """The lone surrogate that makes a body invalid JSON, if any. It is close to the reported
    position: searching a long body would delay others."""
    place = PLACE.search(reason)
    return LONE_SURROGATE.search(body, max(int(place[1]) - PAIR, 0)) if place else None


def empty() -> Problem:
    reason = "the body is empty"
    return Problem(400, "Bad JSON", reason, errors=[Fault("body", reason)])


def elements(body: bytes, most: int) -> list[bytes]:
    """The elements of a JSON array, undecoded. Raises Problem for invalid JSON and for more than
    `most`."""
    items = decoded(body, list[msgspec.Raw])
    if len(items) > most:
        raise too_many(most)
    return [bytes(item) for item in items]


def too_large(reason: str) -> Problem:
    return Problem(413, "Body too large", f"body: {reason}", errors=[Fault("body", reason)])


def too_many(most: int) -> Problem:
    reason = f"more than {most} records; send them in several requests"
    return Problem(413, "Too many records", f"body: {reason}", errors=[Fault("body", reason)])
