"""What a body is: its media type, and JSON in it, read strictly."""

from typing import Any

import msgspec
from starlette.requests import Request

from streams.serving.problems import Fault, Problem

JSON = "application/json"


def media_type(request: Request) -> str:
    """The body's, without parameters; JSON where none is said. Raises Problem for another
    charset than UTF-8."""
    kind, *parameters = request.headers.get("content-type", JSON).lower().split(";")
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
    return decoded(await request.body())


def decoded(body: bytes, type: Any = Any) -> Any:
    """Strict JSON: no NaN, UTF-8 alone. Raises Problem with the byte's position."""
    try:
        return msgspec.json.decode(body, type=type)
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 (byte {error.start})"
    except msgspec.DecodeError as error:
        reason = str(error)
    except RecursionError:
        reason = "nested too deep"
    raise Problem(400, "Bad JSON", reason, errors=[Fault("body", reason)])
