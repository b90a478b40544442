"""What a view is, and the two routes that it has: the page, and the same answer as JSON."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from streams.serving.http.access import asks_for_a_page
from streams.serving.http.keys import Caller, Role
from streams.serving.http.problems import Problem
from streams.serving.http.route import JSON, Route, reply
from streams.serving.http.routes_health import index
from streams.serving.inspector.page import HTML, render

Json = dict[str, Any]
START = "/"
TWIN = ".json"


class View(NamedTuple):
    """`ask` takes the request and, by name, parameters of path and query, as an endpoint of the API
    does; it answers JSON-ready values, or raises Problem. `template` shows them. `title` and
    `about` are texts of the catalogue. `menu`: whether the menu lists it. `role`: who may see it.
    """

    path: str
    ask: Callable[..., Awaitable[Json]]
    template: str
    title: str
    about: str
    menu: bool = False
    role: Role = "read"

    @property
    def twin(self) -> str:
        """The path of the same answer as JSON."""
        return f"/index{TWIN}" if self.path == START else self.path + TWIN

    def routes(self) -> tuple[Route, Route]:
        """The twin first: the page's path fits the twin's, too."""
        return _Twin(self), _Page(self)


class _Asked(Route):
    """What both routes of a view have: the question."""

    def __init__(self, view: View, path: str, media: str) -> None:
        super().__init__(path, view.ask, methods=["GET"], response_model=None)
        self._view = view
        self._media = media
        self._call = self._answered

    def _values(self, request: Request) -> Json:
        """A form sends fields that are empty, too: they say nothing. Raises Problem."""
        query: bytes = request.scope["query_string"]
        said = b"&".join(one for one in query.split(b"&") if one.partition(b"=")[2])
        return super()._values(Request({**request.scope, "query_string": said}))

    async def _ask(self, request: Request, values: Json) -> Json:
        caller: Caller = request.scope["state"]["caller"]
        if not caller.may(self._view.role):
            detail = f"the key's role is {caller.role}, and this needs {self._view.role}"
            raise Problem(403, "Forbidden", detail)
        return await self._view.ask(request, **values)

    async def _answered(self, request: Request, **values: Any) -> Response:
        raise NotImplementedError


class _Twin(_Asked):
    """The answer as JSON."""

    def __init__(self, view: View) -> None:
        super().__init__(view, view.twin, JSON)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """An id that ends in `.json` is written `%2Ejson` in the path of its page."""
        raw: bytes = scope.get("raw_path") or b""
        if scope["type"] == "http" and not raw.endswith(TWIN.encode()):
            return Match.NONE, {}
        return super().matches(scope)

    async def _answered(self, request: Request, **values: Any) -> Response:
        return reply(await self._ask(request, values))


class _Page(_Asked):
    """The answer as a page. At `/` programs get what they always had: where the API begins."""

    def __init__(self, view: View) -> None:
        super().__init__(view, view.path, HTML)
        self._tells_nothing = False  # at `/` it does, once somebody has signed in

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._view.path == START and not asks_for_a_page(scope):
            response = await index(Request(scope, receive, send))
            response.headers["vary"] = "Accept"
            await response(scope, receive, send)
        else:
            await super()._answer(scope, receive, send)

    async def _answered(self, request: Request, **values: Any) -> Response:
        answer = await self._ask(request, values)
        return render(request, self._view.template, view=self._view, answer=answer)
