"""The routes of a view: the page, the same answer as JSON, and of a view that changes something the
act itself.

An act is asked for twice. The page says in `will` what would happen; the form on it carries the
consent to exactly that (`consent`). What happens is what was said, or nothing.
"""

from abc import ABC, abstractmethod
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from streams.serving.http.auth import TWIN, Needs, asks_for_a_page, check_own_page
from streams.serving.http.route import JSON, Route, reply
from streams.serving.http.routes_health import INDEX
from streams.serving.inspector import csrf_token
from streams.serving.inspector.links import CLOCKS
from streams.serving.inspector.page import HTML, render
from streams.serving.inspector.tour import TOUR
from streams.serving.inspector.view import START, Json, View

FOR_PAGES = frozenset({*CLOCKS, TOUR})
"""Parameters that any page may have; a view that has no use for one does without."""


def routes(view: View) -> list[Route]:
    """The twin first: the page's path fits the twin's, too."""
    return [_Twin(view), _Page(view), *([_Act(view)] if view.act else [])]


class _Asked(Route, ABC):
    """What all routes of a view have: the question."""

    def __init__(self, view: View, path: str, media: str, method: str = "GET") -> None:
        super().__init__(path, view.ask, Needs(view.role, view.of_all), method, media=media)
        self._view = view
        self._call = self._answered

    def _values(self, request: Request) -> Json:
        """A form sends fields that are empty, too: they say nothing. Raises Problem."""
        query: bytes = request.scope["query_string"]
        useless = {name.encode() for name in FOR_PAGES - self._names}
        told = (one.partition(b"=") for one in query.split(b"&"))
        said = b"&".join(
            b"=".join((name, value)) for name, _, value in told if value and name not in useless
        )
        return super()._values(Request({**request.scope, "query_string": said}))

    @abstractmethod
    async def _answered(self, request: Request, **values: Any) -> Response:
        """The answer as this route gives it."""


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
        return reply(await self._view.ask(request, **values))


class _Page(_Asked):
    """The answer as a page. At `/` programs get what they always had: where the API begins."""

    def __init__(self, view: View) -> None:
        super().__init__(view, view.path, HTML)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._view.path == START and not asks_for_a_page(scope):
            await INDEX.handle(scope, receive, send)
        else:
            await super()._answer(scope, receive, send)

    async def _answered(self, request: Request, **values: Any) -> Response:
        answer = await self._view.ask(request, **values)
        return render(request, self._view.template, view=self._view, answer=answer)


class _Act(_Asked):
    """Does what the page has said, if the one who asks for it has read that: else says it again."""

    def __init__(self, view: View) -> None:
        super().__init__(view, view.path, HTML, "POST")

    async def _answered(self, request: Request, **values: Any) -> Response:
        check_own_page(request.scope)
        answer = await self._view.ask(request, **values)
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        if not csrf_token.is_given(request, answer["will"], form.get(csrf_token.FIELD, [""])[0]):
            return render(
                request, self._view.template, HTTPStatus.CONFLICT, view=self._view, answer=answer,
                otherwise=True,
            )  # fmt: skip
        assert self._view.act is not None
        return RedirectResponse(await self._view.act(request, answer), HTTPStatus.SEE_OTHER)
