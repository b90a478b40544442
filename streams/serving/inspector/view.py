"""A view: a query, its template, and its access rule."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.requests import Request

from schemas.time import format_time
from streams.serving.http.auth import TWIN
from streams.serving.http.keys import Caller, Role

Json = dict[str, Any]
START = "/"


def clocks(as_of: int | None, known_at: int | None) -> Json:
    """The two clocks of a page, as its address has them; None: now."""
    return {"as_of": as_text(as_of), "known_at": as_text(known_at)}


def as_text(at: int | None) -> str | None:
    """A time (microseconds) as RFC 3339 text."""
    return None if at is None else format_time(at)


class View(NamedTuple):
    """`ask` takes the request and, by name, path and query parameters, like an API endpoint; it
    returns JSON-ready values, or raises Problem. `template` shows them. `title` and `about` are
    keys of the catalogue. `menu`: whether the menu lists it. `role`: required role; `of_all`: only
    with a key of all tenants. `act` takes the request and the answer, performs its `will`, and
    returns the next address."""

    path: str
    ask: Callable[..., Awaitable[Json]]
    template: str
    title: str
    about: str
    menu: bool = False
    role: Role = "read"
    of_all: bool = False
    act: Callable[[Request, Json], Awaitable[str]] | None = None

    def open_to(self, caller: Caller) -> bool:
        return caller.may(self.role) and (caller.of_all or not self.of_all)

    @property
    def twin(self) -> str:
        """The path of the same answer as JSON."""
        return f"/index{TWIN}" if self.path == START else self.path + TWIN
