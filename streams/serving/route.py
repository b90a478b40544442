"""The routes of the API: declared as FastAPI's, so that the OpenAPI document has them, answered
without its machinery, which doubles what a request costs (docs/http.md, Speed).

An endpoint takes the request, and parameters of path and query by name; it answers a `Response`.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple
from urllib.parse import unquote

import msgspec
from fastapi import Path, Query
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import request_response
from starlette.types import ASGIApp, Receive, Scope, Send

from schemas.base import Id, Tenant
from schemas.http import Moment
from streams.serving.events import Streams
from streams.serving.memory import Memory
from streams.serving.past import Past
from streams.serving.problems import Fault, invalid, not_found
from streams.serving.submitting import Keys

SLASH = "\x1f"
"""Stands for a `/` within an id on its way through the router; no id holds it."""

IdInPath = Annotated[Id, Path()]
IdInQuery = Annotated[Id | None, Query()]
MomentInQuery = Annotated[Moment | None, Query()]
Limit = Annotated[int | None, Query(ge=1, description="At most so many; the server has a bound.")]
Cursor = Annotated[str | None, Query(max_length=2000, description="The last reply's `next`.")]

encode = msgspec.json.Encoder().encode


class Serving(NamedTuple):
    """What the endpoints answer from: `request.app.state.serving`.

    `within`: seconds a write waits to be applied, unless asked otherwise. `page`: the most that
    one reply lists. `records`: the most that one request posts.
    """

    memory: Memory
    past: Past
    streams: Streams
    keys: Keys
    within: float
    page: int
    records: int

    def length(self, limit: int | None) -> int:
        """Of a page: as asked for, within the bound."""
        return min(limit or self.page, self.page)


def serving(request: Request) -> Serving:
    """The server's."""
    found: Serving = request.app.state.serving
    return found


def tenant_of(request: Request) -> str:
    """Whose data the caller may see: as the key says, and nothing else."""
    tenant: Tenant = request.scope["state"]["caller"].tenant
    return tenant


def reply(document: Any, status: int = HTTPStatus.OK, **headers: str) -> Response:
    """A document as JSON."""
    return Response(encode(document), status, headers or None, "application/json")


def known(document: Any, what: str) -> Response:
    """A document as JSON. Raises Problem where there is none."""
    if document is None:
        raise not_found(what)
    return reply(document)


class Route(APIRoute):
    """Reads the parameters that the endpoint's signature names, and calls it."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        super().__init__(path, endpoint, **given)
        self._call: Callable[..., Awaitable[Response]] = endpoint
        self.app = request_response(self._answer)

    async def _answer(self, request: Request) -> Response:
        values: dict[str, Any] = {}
        errors: list[Fault] = []
        for field in self.dependant.path_params:
            given = request.path_params[field.alias].replace(SLASH, "/")
            self._read(field, given, values, errors)
        for field in self.dependant.query_params:
            query = request.query_params
            if len(query.getlist(field.alias)) > 1:
                errors.append(Fault(field.alias, "is given twice"))
            elif field.alias in query:
                self._read(field, query[field.alias], values, errors)
            elif field.field_info.is_required():
                errors.append(Fault(field.alias, "is missing"))
        if errors:
            raise invalid(errors)
        return await self._call(request, **values)

    @staticmethod
    def _read(field: Any, given: str, values: dict[str, Any], errors: list[Fault]) -> None:
        values[field.name], wrong = field.validate(given)
        errors += [
            Fault(field.alias, one["msg"].removeprefix("Value error, ")) for one in wrong[:1]
        ]


class Slashes:
    """Lets an id hold a slash: `%2F` in a path stays within its part (pure ASGI)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if SLASH in scope.get("path", ""):
            raise not_found("path")
        if b"%2F" in raw or b"%2f" in raw:
            kept = raw.replace(b"%2F", b"%1F").replace(b"%2f", b"%1F")
            scope["path"] = unquote(kept.decode("ascii"))
        await self._app(scope, receive, send)
