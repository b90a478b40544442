"""The routes of the API: declared as FastAPI's, so that the OpenAPI document has them, answered
without its machinery, which doubles what a request costs (docs/http.md, Speed).

An endpoint takes the request, and parameters of path and query by name; it answers a `Response`.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple
from urllib.parse import unquote

import msgspec
from fastapi import Path, Query
from fastapi.routing import APIRoute, APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from schemas.base import Id, Tenant
from schemas.http import Moment
from streams.serving.events import Streams
from streams.serving.memory import Memory
from streams.serving.past import Past
from streams.serving.problems import KNOWN, Fault, invalid, not_found, problem_of
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
    """Reads the parameters that the endpoint's signature names, and calls it (as ASGI)."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        super().__init__(path, endpoint, **given)
        if self.methods and "GET" in self.methods:
            self.methods.add("HEAD")  # uvicorn leaves the body out
        self._call: Callable[..., Awaitable[Response]] = endpoint
        self._in_path = [(one, one.alias) for one in self.dependant.path_params]
        self._in_query = [
            (one, one.alias, one.field_info.is_required()) for one in self.dependant.query_params
        ]
        self.app = self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        response = await self._call(request, **self._values(request))
        await response(scope, receive, send)

    def _values(self, request: Request) -> dict[str, Any]:
        """Raises Problem."""
        values: dict[str, Any] = {}
        errors: list[Fault] = []
        for field, name in self._in_path:
            self._read(field, request.path_params[name].replace(SLASH, "/"), values, errors)
        for field, name, required in self._in_query:
            given = request.query_params.getlist(name)
            if len(given) > 1:
                errors.append(Fault(name, "is given twice"))
            elif given:
                self._read(field, given[0], values, errors)
            elif required:
                errors.append(Fault(name, "is missing"))
        if errors:
            raise invalid(errors)
        return values

    @staticmethod
    def _read(field: Any, given: str, values: dict[str, Any], errors: list[Fault]) -> None:
        values[field.name], wrong = field.validate(given)
        errors += [
            Fault(field.alias, one["msg"].removeprefix("Value error, ")) for one in wrong[:1]
        ]


class Router:
    """Finds a request's route among the few that come into question, where FastAPI's router tries
    one after the other (pure ASGI). What is raised becomes a `Refusal`, for `Access` to answer.

    `%2F` in a path stays within its part, so that an id may hold a slash.
    """

    def __init__(self, router: APIRouter) -> None:
        """Of no route is a parameter among the first two parts of its path."""
        alike: defaultdict[Shape, list[Any]] = defaultdict(list)
        routes: Sequence[Any] = router.routes
        for route in sorted(routes, key=lambda one: len(one.param_convertors)):
            alike[_shape(route.path)].append(route)
        self._rest = router
        self._routers = {
            shape: APIRouter(routes=some, redirect_slashes=False) for shape, some in alike.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._rest(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or b""
        if SLASH in scope["path"]:
            raise not_found("path")
        if b"%2F" in raw or b"%2f" in raw:
            kept = raw.replace(b"%2F", b"%1F").replace(b"%2f", b"%1F")
            scope["path"] = unquote(kept.decode("ascii"))
        router = self._routers.get(_shape(scope["path"]), self._rest)
        try:
            await router(scope, receive, send)
        except KNOWN as error:
            raise problem_of(error) from None


Shape = tuple[int | str, ...]


def _shape(path: str) -> Shape:
    """How many parts there are, and the first two."""
    parts = path.split("/")
    return len(parts), *parts[1:3]
