"""The routes of the API: declared as FastAPI's, so that the OpenAPI document has them, answered
without its machinery, which doubles what a request costs.

An endpoint takes the request, and parameters of path and query by name; it answers a `Response`.
"""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from http import HTTPStatus
from time import monotonic
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, TypeVar, Unpack
from urllib.parse import unquote, unquote_to_bytes

import msgspec
from fastapi import Path, Query
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette import routing
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from schemas.base import Id, JsonObject, Tenant
from schemas.http import Moment
from schemas.validation_text import reason
from streams.folds.effects import Rows
from streams.observability import traces
from streams.observability.memory_spans import Operation, span
from streams.serving.backends.backend import Backend, NotReady, Table
from streams.serving.flow.replaying import Replays
from streams.serving.flow.sampler import Sampler
from streams.serving.history.history_queries import HistoryQueries
from streams.serving.http.auth import READING, Needs
from streams.serving.http.body_readers import Readers
from streams.serving.http.event_stream import SessionEventStreams
from streams.serving.http.keys import Role
from streams.serving.http.problems import KNOWN, Fault, Problem, invalid, not_found, problem_of
from streams.serving.http.quotas import TenantQuotas
from streams.serving.http.refusal import Header, Refusal
from streams.serving.http.session_locks import Sessions
from streams.serving.http.write_records import IdempotencyCache

SLASH = "\x1f"
"""Stands for a `/` within an id on its way through the router; no id holds it."""

SessionInPath = Annotated[Id, Path(description="Id of the session; a slash in it is `%2F`.")]
UserInPath = Annotated[Id, Path(description="Id of the user; a slash in it is `%2F`.")]
AsOf = Annotated[
    Moment | None,
    Query(description="Answer as of this time: RFC 3339, or a date, which means its end (UTC). "
          "Default: now."),
]  # fmt: skip
KnownAt = Annotated[
    Moment | None,
    Query(description="Use only what was known at this time: RFC 3339, or a date, which means its "
          "end (UTC). Default: all that is known."),
]  # fmt: skip
Limit = Annotated[
    int | None, Query(ge=1, description="Maximum entries per page; capped by the server.")
]

JSON = "application/json"
STREAM = "text/event-stream"

WRITE_ERRORS = (400, 403, 408, 409, 413, 415, 422, 429, 503, 507)
ROW_ERRORS = (404, 422, 429, 503)
LIST_ERRORS = (422, 429, 501, 503)
HISTORY_ERRORS = (404, *LIST_ERRORS)
"""Statuses of problems, beyond those of every endpoint: of what writes, of what answers from rows,
of lists, of what answers from the history."""
NAME_LENGTH = 64
"""Characters of an unknown parameter's name that are said."""
EMPTY = QueryParams()
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

    backend: Backend
    past: HistoryQueries
    streams: SessionEventStreams
    keys: IdempotencyCache
    quotas: TenantQuotas
    sessions: Sessions
    readers: Readers
    within: float
    page: int
    records: int
    flow: Sampler
    replays: Replays | None

    async def rows_after(self, table: Table, tenant: str, key: str, until: float) -> Rows:
        """The rows of a session or user with all that was posted before, to whichever server.
        Raises NotReady, also where that takes until then (`monotonic`)."""
        await self.backend.catch_up(table, tenant, key, max(0.0, until - monotonic()))
        return (await self.backend.rows(table, tenant, key)).rows

    def close_streams(self) -> None:
        """Ends all event streams: nobody would wait for their end."""
        self.streams.close()
        self.flow.close()

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


def accepted(id: str | None, look: str) -> Response:
    """The record is in the log and not applied yet; `look` will show what it did."""
    document = {"id": id, "ending": "accepted", "look": look}
    return reply(document, HTTPStatus.ACCEPTED, location=look)


def known(document: Any, what: str) -> Response:
    """A document as JSON. Raises Problem where there is none."""
    if document is None:
        raise not_found(what)
    return reply(document)


class Reply(NamedTuple):
    """What the OpenAPI document has of an endpoint besides its signature. `models`: status -> the
    reply's model, None for no content. `body`: the body's model. `errors`: statuses of problems.
    `headers`: name -> what it is for. `one_of`: parameters of which one is needed at least."""

    models: Mapping[int, type[BaseModel] | None]
    body: type[BaseModel] | Literal["records"] | None = None
    errors: tuple[int, ...] = ()
    example: JsonObject | None = None
    headers: Mapping[str, str] = {}
    one_of: tuple[str, ...] = ()


NO_REPLY = Reply({})


class ReplyFields(TypedDict, total=False):
    """The fields of a `Reply` besides its models."""

    body: type[BaseModel] | Literal["records"]
    errors: tuple[int, ...]
    example: JsonObject
    headers: Mapping[str, str]
    one_of: tuple[str, ...]


class Route(APIRoute):
    """Reads the parameters that the endpoint's signature names, and calls it (as ASGI).

    `needs`: of who may call it. `media`: of its reply. `operation`: the span of what it does to
    memory.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        needs: Needs,
        method: str = "GET",
        *,
        media: str = JSON,
        reply: Reply = NO_REPLY,
        operation: Operation | None = None,
        tag: str = "",
    ) -> None:
        super().__init__(path, endpoint, methods=[method], tags=[tag], response_model=None)
        self.method, self.needs, self.reply = method, needs, reply
        if method == "GET":
            self.methods = {"GET", "HEAD"}  # uvicorn leaves the body out
        self.operation = operation
        self.media = media
        self._call: Callable[..., Awaitable[Response]] = endpoint
        self._in_path = [(one, one.alias) for one in self.dependant.path_params]
        self._in_query = [
            (one, one.alias, one.field_info.is_required()) for one in self.dependant.query_params
        ]
        self._names = frozenset(name for _, name, _ in self._in_query)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        check_accept(scope, self.media)
        values = self._values(request)
        of_generation = self._read_whole if scope["method"] in READING else self._written
        if not self.needs.is_of_tenant:
            response = await self._call(request, **values)
        elif self.operation is not None and traces.are_sent():
            with span(self.operation, tenant_of(request), values, _error_type):
                response = await of_generation(request, values)
        else:
            response = await of_generation(request, values)
        await response(scope, receive, send)

    async def _read_whole(self, request: Request, values: dict[str, Any]) -> Response:
        """The reply of one generation: where another goes live meanwhile, it is asked again."""
        backend = serving(request).backend
        for _ in range(ATTEMPTS):
            live = backend.live
            try:
                response = await self._call(request, **values)
            except Refusal as refusal:
                if backend.live is live:
                    refusal.headers += _generation(live.name)
                    raise
                continue
            if backend.live is live:
                response.raw_headers += _generation(live.name)
                return response
        raise NotReady("generations are being switched; try again")

    async def _written(self, request: Request, values: dict[str, Any]) -> Response:
        """A write is done once. It answers from the generation that is live when it has ended."""
        response = await self._call(request, **values)
        with suppress(NotReady):
            response.raw_headers += _generation(serving(request).backend.live.name)
        return response

    def _values(self, request: Request) -> dict[str, Any]:
        """Raises Problem."""
        values: dict[str, Any] = {}
        errors: list[Fault] = []
        query = EMPTY
        if request.scope["query_string"]:
            check_names(request, self._names)
            query = request.query_params
        for field, name in self._in_path:
            self._read(field, request.path_params[name].replace(SLASH, "/"), values, errors)
        for field, name, required in self._in_query:
            given = query.getlist(name)
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
        for one in wrong[:1]:
            is_cursor = field.alias == "cursor" and one["type"] == "string_pattern_mismatch"
            said = "not a cursor of this list; omit it" if is_cursor else reason(one)
            errors.append(Fault(field.alias, said))


def _error_type(error: Exception) -> str:
    """What a span calls it: the status that it is answered with, else its type."""
    if isinstance(error, KNOWN):
        return str(problem_of(error).status)
    return str(error.status) if isinstance(error, Refusal) else type(error).__name__


@lru_cache(8)
def _generation(name: str | None) -> list[Header]:
    return [] if name is None else [(GENERATION, name.encode())]


class PlainRoute(routing.Route):
    """A route that answers by itself: files, forms, other protocols."""

    def __init__(self, path: str, endpoint: Any, needs: Needs, method: str = "GET") -> None:
        super().__init__(path, endpoint, methods=[method])
        self.needs = needs


Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])


class Endpoints:
    """The endpoints of a module of the API, each declared where it is: what it takes and gives, and
    who may call it."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def add(
        self,
        method: Literal["GET", "POST", "PATCH", "DELETE"],
        path: str,
        tag: str,
        models: type[BaseModel] | Mapping[int, type[BaseModel] | None],
        *,
        needs: Needs | Role | None = None,
        media: str = JSON,
        operation: Operation | None = None,
        **reply: Unpack[ReplyFields],
    ) -> Callable[[Endpoint], Endpoint]:
        """Declares the function as an endpoint. `needs`: a role, by default `read` to read, else
        `write`. `models`: that of a 200, or by status. The rest is as `Route` and `Reply` have it.
        """
        if needs is None:
            needs = "read" if method in READING else "write"
        needs = needs if isinstance(needs, Needs) else Needs(needs)
        by_status = models if isinstance(models, Mapping) else {200: models}

        def declare(function: Endpoint) -> Endpoint:
            described = Reply(by_status, **reply)
            route = Route(
                path, function, needs, method,
                media=media, reply=described, operation=operation, tag=tag,
            )  # fmt: skip
            self.routes.append(route)
            return function

        return declare


class Router:
    """Finds a request's route among the few that come into question, where FastAPI's router tries
    one after the other (pure ASGI). What is raised becomes a `Refusal`, for `Access` to answer.

    `%2F` in a path stays within its part, so that an id may hold a slash.
    """

    def __init__(self, router: routing.Router) -> None:
        """Of no route of the API is a parameter among the first two parts of its path; those of
        others are tried one after the other."""
        self._alike: defaultdict[Shape, list[Any]] = defaultdict(list)
        routes: Sequence[Any] = router.routes
        for route in sorted(routes, key=lambda one: len(one.param_convertors)):
            if "{" not in "".join(map(str, shape := _shape(route.path))):
                self._alike[shape].append(route)
        self._routes = routes
        self._lifespan = router

    def find(self, scope: Scope) -> Needs | None:
        """What the route of a request needs, which is noted in its scope; None: there is none. A
        path that needs no key needs none for the methods that it does not take."""
        if _is_no_path(scope):
            return None
        raw: bytes = scope.get("raw_path") or b""
        if b"%2F" in raw or b"%2f" in raw:
            kept = raw.replace(b"%2F", b"%1F").replace(b"%2f", b"%1F")
            scope["path"] = unquote(kept.decode("utf-8", "replace"))
        other: Needs | None = None
        for route in self._near(scope):
            match, more = route.matches(scope)
            needs: Needs = route.needs
            if match is Match.FULL:
                scope.update(more)
                scope["route"] = route
                if traces.are_sent():
                    traces.name_request(scope["method"], route.path)
                return needs
            if match is Match.PARTIAL and needs.role is None:
                other = needs
        return other

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._lifespan(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or b""
        if b"%" in raw:
            _check_text(raw, "path")
        if b"%" in scope["query_string"]:
            _check_text(scope["query_string"], "query")
        if (route := scope.get("route")) is None:
            raise self._not_found(scope)
        try:
            await route.handle(scope, receive, send)
        except KNOWN as error:
            raise problem_of(error) from None

    def _near(self, scope: Scope) -> Sequence[Any]:
        return self._alike.get(_shape(scope["path"]), self._routes)

    def _not_found(self, scope: Scope) -> Problem:
        """There is no such path, or it takes other methods."""
        near = self._near(scope)
        path = next((one.path for one in near if one.matches(scope)[0] is Match.PARTIAL), None)
        if path is None or _is_no_path(scope):
            return Problem(404, "Not found", "no such path")
        allowed = {method for one in near if one.path == path for method in one.methods}
        allow = (b"allow", ", ".join(sorted(allowed)).encode())
        detail = "that path takes other methods: see Allow"
        return Problem(405, "Method not allowed", detail, allow)


def _is_no_path(scope: Scope) -> bool:
    """No id ends with a line feed: a route's `$` would match before it. None holds a `SLASH`."""
    raw: bytes = scope.get("raw_path") or b""
    return scope["path"].endswith("\n") or b"%1f" in raw.lower() or SLASH.encode() in raw


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
