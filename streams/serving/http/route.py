"""The routes of the API: declared as FastAPI's, so that the OpenAPI document has them, answered
without its machinery, which doubles what a request costs (docs/http.md, Speed).

An endpoint takes the request, and parameters of path and query by name; it answers a `Response`.
"""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple
from urllib.parse import unquote, unquote_to_bytes

import msgspec
from fastapi import Path, Query
from fastapi.routing import APIRoute, APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from schemas.base import Id, Tenant
from schemas.http import Moment
from streams.serving.backends.backend import Backend, NotReady
from streams.serving.backends.live import Live
from streams.serving.http.access import OPEN
from streams.serving.http.events import SessionEventStreams
from streams.serving.http.problems import KNOWN, Fault, Problem, invalid, not_found, problem_of
from streams.serving.http.refusal import Header, Refusal
from streams.serving.http.submitting import IdempotencyCache
from streams.serving.past.history_queries import HistoryQueries

SLASH = "\x1f"
"""Stands for a `/` within an id on its way through the router; no id holds it."""

IdInPath = Annotated[Id, Path()]
IdInQuery = Annotated[Id | None, Query()]
MomentInQuery = Annotated[Moment | None, Query()]
Limit = Annotated[
    int | None, Query(ge=1, description="Maximum entries per page; capped by the server.")
]

JSON = "application/json"
STREAM = "text/event-stream"
NAME_LENGTH = 64
"""Characters of an unknown parameter's name that are said."""
ATTEMPTS = 5
"""To answer from one generation; switches are rare."""
GENERATION = b"turnfold-generation"
"""The header that says which one answered."""

encode = msgspec.json.Encoder().encode


class Serving(NamedTuple):
    """What the endpoints answer from: `request.app.state.serving`.

    `within`: seconds a write waits to be applied, unless asked otherwise. `page`: the most that
    one reply lists. `records`: the most that one request posts.
    """

    memory: Backend
    past: HistoryQueries
    streams: SessionEventStreams
    keys: IdempotencyCache
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
        self._tells_nothing = path in OPEN
        self._call: Callable[..., Awaitable[Response]] = endpoint
        self._in_path = [(one, one.alias) for one in self.dependant.path_params]
        self._in_query = [
            (one, one.alias, one.field_info.is_required()) for one in self.dependant.query_params
        ]
        self._names = frozenset(name for _, name, _ in self._in_query)
        self._media = STREAM if path.endswith("/events") else JSON
        self.app = self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        check_accept(scope, self._media)
        values = self._values(request)
        if self._tells_nothing:
            response = await self._call(request, **values)
        elif scope["method"] == "POST":
            response = await self._written(request, values)
        else:
            response = await self._read_whole(request, values)
        await response(scope, receive, send)

    async def _read_whole(self, request: Request, values: dict[str, Any]) -> Response:
        """The reply of one generation: where another goes live meanwhile, it is asked again."""
        memory = serving(request).memory
        for _ in range(ATTEMPTS):
            live = memory.live
            try:
                response = await self._call(request, **values)
            except Refusal as refusal:
                if memory.live is live:
                    refusal.headers += _generation(live)
                    raise
                continue
            if memory.live is live:
                response.raw_headers += _generation(live)
                return response
        raise NotReady("one generation after the other goes live; try again")

    async def _written(self, request: Request, values: dict[str, Any]) -> Response:
        """A write is done once. It answers from the generation that is live when it has ended."""
        response = await self._call(request, **values)
        with suppress(NotReady):
            response.raw_headers += _generation(serving(request).memory.live)
        return response

    def _values(self, request: Request) -> dict[str, Any]:
        """Raises Problem."""
        values: dict[str, Any] = {}
        errors: list[Fault] = []
        if request.scope["query_string"]:
            check_names(request, self._names)
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


@lru_cache(8)
def _generation(live: Live) -> list[Header]:
    return [] if live.name is None else [(GENERATION, live.name.encode())]


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
        if b"%" in raw:
            _check_text(raw, "path")
        if b"%" in scope["query_string"]:
            _check_text(scope["query_string"], "query")
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


def check_names(request: Request, known: Collection[str]) -> None:
    """Raises Problem for a parameter that the endpoint does not have: a slip that would be answered
    as if nothing had been asked."""
    for name in request.query_params:
        if name not in known:
            close = get_close_matches(name[:NAME_LENGTH], known, 1, 0.6) or _alike(name, known)
            meant = f"; did you mean {close[0]}?" if close else ""
            said = name[:NAME_LENGTH].encode("ascii", "replace").decode()
            takes = f"; it takes {', '.join(sorted(known))}" if known and not close else ""
            detail = f"unknown query parameter {said}{meant}{takes}"
            fault = Fault(said, f"is no parameter here{meant}")
            raise Problem(400, "Unknown parameter", detail, errors=[fault])


def _alike(name: str, known: Collection[str]) -> list[str]:
    """Those that differ in case and punctuation alone: `userId`, `session-id`."""
    bare = name.lower().replace("_", "").replace("-", "")
    return [one for one in known if one.replace("_", "") == bare]


def check_accept(scope: Scope, media: str) -> None:
    """Raises Problem where the client takes nothing of what there is."""
    for name, value in scope["headers"]:
        if name == b"accept" and value != b"*/*" and not _accepts(value.lower(), media):
            raise Problem(406, "Not acceptable", f"Accept: this endpoint returns {media} only")


@lru_cache(256)
def _accepts(value: bytes, media: str) -> bool:
    """Whether one of the ranges takes it; what cannot be read takes anything."""
    kind = media.partition("/")[0]
    takes = {"*/*", f"{kind}/*", media, "application/problem+json"}
    ranges = [one.partition(";") for one in value.decode("latin-1").split(",") if one.strip()]
    if not ranges or any("/" not in name for name, _, _ in ranges):
        return True
    return any(name.strip() in takes and not _REFUSED.search(said) for name, _, said in ranges)


_REFUSED = re.compile(r"\bq\s*=\s*0(\.0*)?\s*(;|$)")


def _check_text(raw: bytes, part: str) -> None:
    """Raises Problem where what is percent-encoded is not UTF-8: it would be read as other text."""
    try:
        unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        reason = "what is percent-encoded in it is not UTF-8"
        raise invalid([Fault(part, reason)]) from None


Shape = tuple[int | str, ...]


def _shape(path: str) -> Shape:
    """How many parts there are, and the first two."""
    parts = path.split("/")
    return len(parts), *parts[1:3]
