"""Pages: templates filled with an answer, in the reader's language.

Whatever people, agents and tools have said is data: templates escape it, `bdi` and `dir="auto"`
keep its direction to itself, and the policy of the page runs nothing that is not a file of ours.
"""

from functools import cache
from http import HTTPStatus
from threading import Thread
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from streams.serving.flow import graph
from streams.serving.http.refusal import Refusal
from streams.serving.http.request_headers import language
from streams.serving.inspector import assets, csrf_token, filters, tour
from streams.serving.inspector.catalogue import Texts
from streams.serving.inspector.links import CLOCKS, Links, anchor
from streams.serving.inspector.views import MENU

HTML = "text/html"
POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
        "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    )
)  # fmt: skip
PARTS = frozenset({"main", "pack", "found", "turns"})
"""Parts of a page that scripts ask for alone; the clocks, with all times of change, are in none."""
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",  # with none at all a form's Origin would be `null`
    "cache-control": "no-store",
    "vary": "Accept, Accept-Language, Cookie",
}


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {
        "asset": assets.address,
        "anchor": anchor,
        "wide": graph.wide,
        "narrow": graph.narrow,
        "tour_begins": tour.FIRST,
        "is_told": tour.is_told,
    }
    made.filters |= filters.FILTERS
    return made


@cache
def _compile_the_others() -> Thread:
    """Who sees one page goes on to another, and to compile a template takes a tenth of a second."""

    def compiled() -> None:
        for name in _templates().list_templates():
            _templates().get_template(name)

    made = Thread(target=compiled, name="templates", daemon=True)
    made.start()
    return made


def render(request: Request, template: str, status: int = HTTPStatus.OK, **given: Any) -> Response:
    """A page; the two clocks are those of its answer. A form on it can do what `will` says there;
    `otherwise`: it asked for something else than was said."""
    answer = given.get("answer") or {}
    will = answer.get("will")
    spoken = language(request) or "en"
    shown = (
        _templates()
        .get_template(template)
        .render(
            t=Texts(spoken),
            language=spoken,
            link=Links(answer.get("as_of"), answer.get("known_at")),
            menu=MENU,
            twin=_twin(request, given.get("view")),
            kept=[
                one for one in request.query_params.multi_items() if one[0] not in CLOCKS and one[1]
            ],
            here=address_of(request).partition("?")[0],
            address=address_of(request),
            consent=None if will is None else csrf_token.token(request, will),
            tour=tour.step(request.query_params.get(tour.TOUR)),
            origin=f"{request.url.scheme}://{request.url.netloc}",
            caller=request.scope["state"].get("caller"),
            is_part=request.headers.get("hx-target") in PARTS,
            **{"view": None, "answer": answer, "otherwise": False, **given},
        )
    )
    _compile_the_others()
    return Response(shown, status, HEADERS, HTML)


def _twin(request: Request, view: Any) -> str:
    """The address of the same answer as JSON."""
    path, _, query = address_of(request).partition("?")
    twin = view.twin if view and path == view.path else f"{path}.json"
    return f"{twin}?{query}" if query else twin


def address_of(request: Request) -> str:
    """The path and query that were asked for, as they were sent."""
    raw: bytes = request.scope.get("raw_path") or b"/"
    query: bytes = request.scope["query_string"]
    return (raw + (b"?" + query if query else b"")).decode("ascii", "replace")


def refused(request: Request, refusal: Refusal) -> Response:
    """A page that says what is wrong, as the API's problem document does."""
    made = render(request, "problem.html", refusal.status, problem=refusal)
    made.raw_headers += refusal.headers
    return made
