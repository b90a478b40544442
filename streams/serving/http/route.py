"""Routes of the API: declared as FastAPI routes for the OpenAPI document, dispatched without
FastAPI's machinery, which doubles the cost of a request.

An endpoint takes the request and, by name, path and query parameters; it returns a `Response`.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from http import HTTPStatus
from time import monotonic
from typing import (
    Annotated,
    Any,
    Concatenate,
    Literal,
    NamedTuple,
    ParamSpec,
    TypedDict,
    TypeVar,
    Unpack,
)
from urllib.parse import unquote, unquote_to_bytes
from weakref import WeakValueDictionary

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
from schemas.time import format_time
from schemas.validation_text import reason
from sinks.locations import Location
from streams.folds.effects import Rows
from streams.observability import traces
from streams.observability.memory_spans import Operation, span
from streams.serving.backends.backend import Backend, NotReady, Subject, Table
from streams.serving.backends.live_generation import Live
from streams.serving.flow.replaying import Replays
from streams.serving.flow.sampler import Sampler
from streams.serving.history.history_queries import HistoryQueries
from streams.serving.http.auth import READING, Needs
from streams.serving.http.body_readers import BodyReaders
from streams.serving.http.event_stream import SessionEventStreams
from streams.serving.http.keys import Role
from streams.serving.http.problems import KNOWN, Fault, Problem, invalid, not_found, problem_of
from streams.serving.http.quotas import TenantQuotas
from streams.serving.http.refusal import Header, Refusal
from streams.serving.http.write_records import IdempotencyCache

SLASH = "\x1f"
"""Replaces a `/` within an id in the router; ids cannot contain it."""

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
"""Statuses of problems in addition to every endpoint's: for writes, replies from rows, lists, and
replies from the history."""
NAME_LENGTH = 64
"""Characters of an unknown parameter's name that are said."""
EMPTY = QueryParams()
ATTEMPTS = 5
"""To answer from one generation; switches are rare."""
GENERATION = b"turnfold-generation"
"""The header with the generation that answered."""
HISTORY_UNTIL = b"turnfold-history-until"
"""The header with the time up to which the history was complete before the answer."""

P = ParamSpec("P")
T = TypeVar("T")
encode = msgspec.json.Encoder().encode


class Serving(NamedTuple):
    """The objects that endpoints use: `request.app.state.serving`.

    `sessions`: lock of each session (tenant, id) with requests under way. `within`: default seconds
    a write waits to be applied. `page`: maximum entries per reply. `records`: maximum records per
    request.
    """

    backend: Backend
    past: HistoryQueries
    streams: SessionEventStreams
    keys: IdempotencyCache
    quotas: TenantQuotas
    sessions: WeakValueDictionary[tuple[str, str], asyncio.Lock]
    readers: BodyReaders
    within: float
    page: int
    records: int
    flow: Sampler
    replays: Replays | None

    async def rows_after(self, table: Table, tenant: str, key: str, until: float) -> Rows:
        """The rows of a session or user, including everything posted before to any server. Raises
        NotReady, at the latest at `until` (`monotonic`)."""
        await self.backend.catch_up(table, tenant, key, max(0.0, until - monotonic()))
        return (await self.backend.rows(table, tenant, key)).rows

    def session_lock(self, tenant: str, session_id: str) -> asyncio.Lock:
        """Serializes the requests of a session: a message depends on those before it. For writes of
        other servers, see `catch_up` of the backend."""
        return self.sessions.setdefault((tenant, session_id), asyncio.Lock())

    def close_streams(self) -> None:
        """Ends all event streams, because the server would wait for them."""
        self.streams.close()
        self.flow.close()

    def length(self, limit: int | None) -> int:
        """Page length: `limit` within the server's bound."""
        return min(limit or self.page, self.page)


def serving(request: Request) -> Serving:
    server: Serving = request.app.state.serving
    return server


def tenant_of(request: Request) -> str:
    """The caller's tenant, from the key only."""
    tenant: Tenant = request.scope["state"]["caller"].tenant
    return tenant


async def ask_history(
    request: Request,
    noun: str,
    of: Sequence[Subject],
    question: Callable[Concatenate[Location, str, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """What `question` returns for the history's tables, the caller's tenant and the arguments.
    `noun` and `of` as in `HistoryQueries.ask`. Raises Problem, Busy."""
    tenant = tenant_of(request)
    return await serving(request).past.ask(
        noun, tenant, lambda root: question(root, tenant, *args, **kwargs), of=of
    )


def reply(document: Any, status: int = HTTPStatus.OK, **headers: str) -> Response:
    """A document as JSON."""
    return Response(encode(document), status, headers or None, "application/json")


def accepted(id: str | None, look: str) -> Response:
    """Reply for a record that is stored and not applied yet; `look`: path of the result."""
    document = {"id": id, "ending": "accepted", "look": look}
    return reply(document, HTTPStatus.ACCEPTED, location=look)


def known(document: Any, noun: str) -> Response:
    """A document as JSON. Raises Problem if it is None."""
    if document is None:
        raise not_found(noun)
    return reply(document)


class Reply(NamedTuple):
    """OpenAPI data of an endpoint besides its signature. `models`: status -> model of the reply,
    None for no content. `body`: model of the body. `errors`: statuses of problems. `headers`: name
    -> description. `one_of`: parameters; at least one of them is required."""

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
    """Reads the parameters of the endpoint's signature, and calls it (as ASGI).

    `needs`: access rule. `media`: of the reply. `operation`: span of the memory operation.
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
        self._in_path = [(field, field.alias) for field in self.dependant.path_params]
        self._in_query = [
            (field, field.alias, field.field_info.is_required())
            for field in self.dependant.query_params
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
        """A reply from one generation: if another goes live during the call, it is repeated."""
        backend = serving(request).backend
        for _ in range(ATTEMPTS):
            live = backend.live
            headers = _generation(live.name) + _history_until(live, backend.history_until)
            try:
                response = await self._call(request, **values)
            except Refusal as refusal:
                if backend.live is live:
                    refusal.headers += headers
                    raise
                continue
            if backend.live is live:
                response.raw_headers += headers
                return response
        raise NotReady("generations are being switched; try again")

    async def _written(self, request: Request, values: dict[str, Any]) -> Response:
        """Runs a write once. The reply names the generation that is live at its end."""
        response = await self._call(request, **values)
        with suppress(NotReady):
            response.raw_headers += _generation(serving(request).backend.live.name)
        return response

    def _values(self, request: Request) -> dict[str, Any]:
        values: dict[str, Any] = {}
        errors: list[Fault] = []
        query = EMPTY
        if request.scope["query_string"]:
            check_names(request, self._names)
            query = request.query_params
        for field, name in self._in_path:
            self._read(field, request.path_params[name].replace(SLASH, "/"), values, errors)
        for field, name, required in self._in_query:
            texts = query.getlist(name)
            if len(texts) > 1:
                errors.append(Fault(name, "is given twice"))
            elif texts:
                self._read(field, texts[0], values, errors)
            elif required:
                errors.append(Fault(name, "is missing"))
        if errors:
            raise invalid(errors)
        return values

    @staticmethod
    def _read(field: Any, text: str, values: dict[str, Any], errors: list[Fault]) -> None:
        values[field.name], wrong = field.validate(text)
        for error in wrong[:1]:
            is_cursor = field.alias == "cursor" and error["type"] == "string_pattern_mismatch"
            message = "not a cursor of this list; omit it" if is_cursor else reason(error)
            errors.append(Fault(field.alias, message))


def _error_type(error: Exception) -> str:
    """The error's name in spans: the HTTP status, otherwise its type."""
    if isinstance(error, KNOWN):
        return str(problem_of(error).status)
    return str(error.status) if isinstance(error, Refusal) else type(error).__name__


@lru_cache(8)
def _generation(name: str | None) -> list[Header]:
    return [] if name is None else [(GENERATION, name.encode())]


def _history_until(live: Live, progress: tuple[Live, int | None] | None) -> list[Header]:
    if progress is None or progress[0] is not live or progress[1] is None:
        return []
    return [(HISTORY_UNTIL, format_time(progress[1]).encode())]


class PlainRoute(routing.Route):
    """A route for files, forms and other protocols."""

    def __init__(self, path: str, endpoint: Any, needs: Needs, method: str = "GET") -> None:
        super().__init__(path, endpoint, methods=[method])
        self.needs = needs


Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])


class Endpoints:
    """The endpoints of a module, each declared at its function."""

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
        """Declares a function as an endpoint. `needs`: a role; default: `read` for reads, otherwise
        `write`. `models`: of a 200, or by status. Other arguments as in `Route` and `Reply`."""
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
    """Finds a request's route by the shape of its path; FastAPI's router tries one route after the
    other (pure ASGI). Errors become a `Refusal`, which `Access` answers.

    `%2F` in a path is part of an id.
    """

    def __init__(self, router: routing.Router) -> None:
        """Routes with a parameter among the first two parts of their path are tried in turn."""
        self._alike: defaultdict[Shape, list[Any]] = defaultdict(list)
        routes: Sequence[Any] = router.routes
        for route in sorted(routes, key=lambda route: len(route.param_convertors)):
            if "{" not in "".join(map(str, shape := _shape(route.path))):
                self._alike[shape].append(route)
        self._routes = routes
        self._lifespan = router

    def find(self, scope: Scope) -> Needs | None:
        """The access rule of a request's route, which is stored in its scope, or None for an
        unknown route. A path that needs no key needs none for unsupported methods either."""
        if _is_no_path(scope):
            return None
        raw: bytes = scope.get("raw_path") or b""
        if b"%2F" in raw or b"%2f" in raw:
            path = raw.replace(b"%2F", b"%1F").replace(b"%2f", b"%1F")
            scope["path"] = unquote(path.decode("utf-8", "replace"))
        open_needs: Needs | None = None
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
                open_needs = needs
        return open_needs

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
        near = self._near(scope)
        path = next(
            (route.path for route in near if route.matches(scope)[0] is Match.PARTIAL), None
        )
        if path is None or _is_no_path(scope):
            return Problem(404, "Not found", "no such path")
        allowed = {method for route in near if route.path == path for method in route.methods}
        allow = (b"allow", ", ".join(sorted(allowed)).encode())
        detail = "that path takes other methods: see Allow"
        return Problem(405, "Method not allowed", detail, allow)


def _is_no_path(scope: Scope) -> bool:
    """An id never ends with a line feed, which a route's `$` would ignore, and never contains
    `SLASH`."""
    raw: bytes = scope.get("raw_path") or b""
    return scope["path"].endswith("\n") or b"%1f" in raw.lower() or SLASH.encode() in raw


def check_names(request: Request, names: Collection[str]) -> None:
    """Raises Problem for an unknown parameter: a typing error would otherwise be ignored."""
    for name in request.query_params:
        if name not in names:
            close = get_close_matches(name[:NAME_LENGTH], names, 1, 0.6) or _alike(name, names)
            hint = f"; did you mean {close[0]}?" if close else ""
            shown_name = name[:NAME_LENGTH].encode("ascii", "replace").decode()
            takes = f"; it takes {', '.join(sorted(names))}" if names and not close else ""
            detail = f"unknown query parameter {shown_name}{hint}{takes}"
            fault = Fault(shown_name, f"is no parameter here{hint}")
            raise Problem(400, "Unknown parameter", detail, errors=[fault])


def _alike(name: str, names: Collection[str]) -> list[str]:
    """Names that differ only in case and punctuation: `userId`, `session-id`."""
    bare = name.lower().replace("_", "").replace("-", "")
    return [known_name for known_name in names if known_name.replace("_", "") == bare]


def check_accept(scope: Scope, media: str) -> None:
    """Raises Problem if the client accepts none of the available types."""
    for name, value in scope["headers"]:
        if name == b"accept" and value != b"*/*" and not _accepts(value.lower(), media):
            raise Problem(406, "Not acceptable", f"Accept: this endpoint returns {media} only")


@lru_cache(256)
def _accepts(value: bytes, media: str) -> bool:
    """Whether a media range matches; unreadable values match everything."""
    kind = media.partition("/")[0]
    takes = {"*/*", f"{kind}/*", media, "application/problem+json"}
    ranges = [
        media_range.partition(";")
        for media_range in value.decode("latin-1").split(",")
        if media_range.strip()
    ]
    if not ranges or any("/" not in name for name, _, _ in ranges):
        return True
    return any(
        name.strip() in takes and not _REFUSED.search(parameters) for name, _, parameters in ranges
    )


_REFUSED = re.compile(r"\bq\s*=\s*0(\.0*)?\s*(;|$)")


def _check_text(raw: bytes, part: str) -> None:
    """Raises Problem if percent-encoded text is not UTF-8: it would be read as different text."""
    try:
        unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        reason = "what is percent-encoded in it is not UTF-8"
        raise invalid([Fault(part, reason)]) from None


Shape = tuple[int | str, ...]


def _shape(path: str) -> Shape:
    """Number of parts, and the first two."""
    parts = path.split("/")
    return len(parts), *parts[1:3]
