"""What a body is: its media type, and JSON in it, read strictly."""

import asyncio
import re
from typing import Any, TypeVar

import msgspec
from pydantic import ValidationError
from starlette.requests import Request

from schemas.base import Wire
from schemas.events import MAX_RECORD_BYTES
from streams.pipeline import bounds
from streams.pipeline.decode import LONE_SURROGATE, half_of_a_pair
from streams.serving.http.problems import Fault, Problem, faults, invalid

JSON = "application/json"
CHEAP = 500_000
"""Elements that are told apart in 35 ms, however small they are; to count them takes longer."""
TURN = 5_000
"""Tokens that are looked at before other requests have a turn."""

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_INSIDE = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+[\[\]{}]", re.DOTALL)
"""Up to the next bracket."""
_BETWEEN = re.compile(rb'(?:[^"\[\]{},]++|' + _STRING + rb")*+[\[\]{},]", re.DOTALL)
"""Up to the next bracket or comma."""


def media_type(request: Request) -> str:
    """The body's, without parameters; JSON by default. Raises Problem for another
    charset than UTF-8."""
    given = request.headers.get("content-type", JSON)
    if given == JSON:
        return given
    kind, *parameters = given.lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8"):
            raise unsupported("the charset is UTF-8")
    return kind.strip()


def unsupported(detail: str) -> Problem:
    """Nothing here reads that kind of body."""
    return Problem(415, "Unsupported media type", f"Content-Type: {detail}")


async def json_body(request: Request) -> Any:
    """The body's JSON, decoded. Raises Problem."""
    if media_type(request) != JSON:
        raise unsupported(f"expected {JSON}")
    body = await request.body()
    if len(body) <= bounds.SHORT:
        return decoded(body)
    if (reason := bounds.too_many_values(body)) is not None:
        decoded(body, msgspec.Raw)  # says what is wrong with it, and makes nothing of it
        raise Problem(413, "Body too large", f"body: {reason}", errors=[Fault("body", reason)])
    return await asyncio.to_thread(decoded, body)


Body = TypeVar("Body", bound=Wire)


async def model_body(request: Request, model: type[Body]) -> Body:
    """The body as a model that becomes a record. Raises Problem."""
    size = len(await request.body())
    if size > MAX_RECORD_BYTES:  # it is long in being read
        detail = f"{size} bytes; this body has at most {MAX_RECORD_BYTES}"
        raise Problem(413, "Body too large", detail)
    try:
        return model.model_validate(await json_body(request))
    except ValidationError as error:
        raise invalid(faults(error)) from None


def said_in(body: Wire) -> dict[str, Any]:
    """The fields that a body gives, as JSON has them. Raises Problem."""
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
        if lone := LONE_SURROGATE.search(body):
            reason = half_of_a_pair(lone)
        else:
            reason = str(error)
            if "byte" not in reason:  # it ends too soon
                reason += f" (byte {len(body)})"
    except RecursionError:
        reason = "nested too deep"
    raise Problem(400, "Bad JSON", reason, errors=[Fault("body", reason)])


def empty() -> Problem:
    """There is no body, or nothing but blanks."""
    reason = "the body is empty"
    return Problem(400, "Bad JSON", reason, errors=[Fault("body", reason)])


async def elements(body: bytes, most: int) -> list[bytes]:
    """The elements of a JSON array, as they are written. Raises Problem, for more than `most` of
    them before they are made: millions of small ones would keep all others waiting."""
    if body.count(b",") >= max(most, CHEAP) and await _is_longer(body, most):
        raise too_many(most)
    found = decoded(body, list[msgspec.Raw])
    if len(found) > most:
        raise too_many(most)
    return [bytes(one) for one in found]


async def _is_longer(body: bytes, most: int) -> bool:
    """Whether an array has more elements, by its outermost commas."""
    depth = commas = looked = 0
    place = body.find(b"[") + 1
    while depth >= 0 and (found := (_INSIDE if depth else _BETWEEN).match(body, place)):
        place = found.end()
        sign = body[place - 1 : place]
        depth += (sign in b"[{") - (sign in b"]}")
        commas += sign == b","
        if commas >= most:
            return True
        looked += 1
        if looked % TURN == 0:
            await asyncio.sleep(0)
    return False


def too_many(most: int) -> Problem:
    """More records than a request may have."""
    reason = f"more than {most} records; send them in several requests"
    return Problem(413, "Too many records", f"body: {reason}", errors=[Fault("body", reason)])
