"""Pages: templates filled with an answer, in the reader's language.

Texts of people, agents and tools are untrusted: templates escape them, `bdi` and `dir="auto"`
isolate their direction, and the page's policy runs only our own files.
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
"""Parts of a page that scripts request separately; they exclude the clocks, with all times of
change."""
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",  # with none at all a form's Origin would be `null`
    "cache-control": "no-store",
    "vary": "Accept, Accept-Language, Cookie",
}


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {
        "asset": assets.address,
        "anchor": anchor,
        "wide": graph.wide,
        "narrow": graph.narrow,
        "tour_begins": tour.FIRST,
        "is_told": tour.is_told,
    }
    environment.filters |= filters.FILTERS
    return environment


@cache
def _compile_the_others() -> Thread:
    """Compiles all templates in advance, because each takes a tenth of a second."""

    def compiled() -> None:
        for name in _templates().list_templates():
            _templates().get_template(name)

    thread = Thread(target=compiled, name="templates", daemon=True)
    thread.start()
    return thread


def render(request: Request, template: str, status: int = HTTPStatus.OK, **values: Any) -> Response:
    """A page with its answer's two clocks. A form can do the act that `will` describes. `refusal`:
    key of the text that explains why the act was not done."""
    answer = values.get("answer") or {}
    will = answer.get("will")
    spoken = language(request) or "en"
    html = (
        _templates()
        .get_template(template)
        .render(
            t=Texts(spoken),
            language=spoken,
            link=Links(answer.get("as_of"), answer.get("known_at")),
            menu=MENU,
            twin=_twin(request, values.get("view")),
            kept=[
                parameter
                for parameter in request.query_params.multi_items()
                if parameter[0] not in CLOCKS and parameter[1]
            ],
            here=address_of(request).partition("?")[0],
            address=address_of(request),
            consent=None if will is None else csrf_token.token(request, will),
            tour=tour.step(request.query_params.get(tour.TOUR)),
            origin=f"{request.url.scheme}://{request.url.netloc}",
            caller=request.scope["state"].get("caller"),
            is_part=request.headers.get("hx-target") in PARTS,
            **{"view": None, "answer": answer, "refusal": None, **values},
        )
    )
    _compile_the_others()
    return Response(html, status, HEADERS, HTML)


def _twin(request: Request, view: Any) -> str:
    """The address of the same answer as JSON."""
    path, _, query = address_of(request).partition("?")
    twin = view.twin if view and path == view.path else f"{path}.json"
    return f"{twin}?{query}" if query else twin


def address_of(request: Request) -> str:
    """The requested path and query, as sent."""
    raw: bytes = request.scope.get("raw_path") or b"/"
    query: bytes = request.scope["query_string"]
    return (raw + (b"?" + query if query else b"")).decode("ascii", "replace")


def refused(request: Request, refusal: Refusal) -> Response:
    """An error page with the contents of the problem document."""
    response = render(request, "problem.html", refusal.status, problem=refusal)
    response.raw_headers += refusal.headers
    return response
