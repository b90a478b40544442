"""The routes of a view: the page, the same answer as JSON, and, for a view with an act, the act.

An act needs a confirmation. The page shows the effect in `will`; its form carries the consent to
exactly that (`consent`). If they do not match, only the page is shown again. An answer with `typed`
needs this text in the form as well.
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

TYPED = "typed"
"""Field of a form, and of the answer with the text that has to be typed into it."""
FOR_PAGES = frozenset({*CLOCKS, TOUR})
"""Parameters that any page may have; a view that has no use for one does without."""


def routes(view: View) -> list[Route]:
    """The twin first, because the page's path also matches the twin's."""
    return [_Twin(view), _Page(view), *([_Act(view)] if view.act else [])]


class _Asked(Route, ABC):
    """Shared by all routes of a view: the query."""

    def __init__(self, view: View, path: str, media: str, method: str = "GET") -> None:
        super().__init__(path, view.ask, Needs(view.role, view.of_all), method, media=media)
        self._view = view
        self._call = self._answered

    def _values(self, request: Request) -> Json:
        """Ignores empty form fields. Raises Problem."""
        query: bytes = request.scope["query_string"]
        useless = {name.encode() for name in FOR_PAGES - self._names}
        fields = (field.partition(b"=") for field in query.split(b"&"))
        query_string = b"&".join(
            b"=".join((name, value)) for name, _, value in fields if value and name not in useless
        )
        return super()._values(Request({**request.scope, "query_string": query_string}))

    @abstractmethod
    async def _answered(self, request: Request, **values: Any) -> Response: ...


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
    """The answer as a page. `/` returns the API's entry points to programs."""

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
    """Performs the act if the form's consent matches; otherwise shows the page again."""

    def __init__(self, view: View) -> None:
        super().__init__(view, view.path, HTML, "POST")

    async def _answered(self, request: Request, **values: Any) -> Response:
        check_own_page(request.scope)
        answer = await self._view.ask(request, **values)
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        consent, typed = (form.get(name, [""])[0] for name in (csrf_token.FIELD, TYPED))
        is_current = csrf_token.is_given(request, answer["will"], consent)
        if not is_current or typed.strip() != answer.get(TYPED, ""):
            return render(
                request, self._view.template, HTTPStatus.CONFLICT, view=self._view, answer=answer,
                refusal="act.otherwise" if not is_current else "act.mistyped",
            )  # fmt: skip
        assert self._view.act is not None
        return RedirectResponse(await self._view.act(request, answer), HTTPStatus.SEE_OTHER)
