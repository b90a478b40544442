"""The inspector as a whole: routes, signing in, error pages."""

from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute
from starlette.types import Scope, Send

from streams.pipeline.decode import TENANT
from streams.serving.http.auth import OPEN, check_own_page
from streams.serving.http.keys import ALL, Caller, Keys
from streams.serving.http.refusal import Refusal
from streams.serving.http.route import PlainRoute
from streams.serving.inspector import assets, dead_letter, pipeline, session
from streams.serving.inspector.browsers import Browsers, cookie, written
from streams.serving.inspector.page import address_of, refused, render
from streams.serving.inspector.view_routes import routes
from streams.serving.inspector.views import VIEWS

FORM_BYTES = 4_096
"""Maximum bytes of the sign-in form, which is sent without a key."""


class Inspector:
    """Implements `auth.Pages`. A server without keys needs no sign-in."""

    def __init__(self, keys: Keys | None) -> None:
        self._keys = keys
        self._browsers = Browsers()

    def routes(self) -> list[BaseRoute]:
        """The routes of all views and of their files."""
        return [
            *(route for view in VIEWS for route in routes(view)),
            pipeline.EVENTS,
            session.EVENTS,
            dead_letter.REPLAY,
            PlainRoute(assets.PATH + "{name}", assets.asset, OPEN),
            PlainRoute("/sign-in", self._sign_in, OPEN._replace(body_bytes=FORM_BYTES), "POST"),
            PlainRoute("/sign-out", self._sign_out, OPEN, "POST"),
        ]

    def caller(self, scope: Scope) -> Caller | None:
        return self._browsers.caller(scope)

    async def refuse(self, scope: Scope, refusal: Refusal, send: Send) -> None:
        request = Request(scope)
        scope.setdefault("state", {}).setdefault("caller", None)
        if refusal.status == 401:
            response = _to_sign_in(request, address_of(request))
        else:
            response = refused(request, refusal)
        await response(scope, _nothing, send)

    async def _sign_in(self, request: Request) -> Response:
        """Takes a key and, for a key of all tenants, a tenant; redirects to the requested page."""
        check_own_page(request.scope)
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        following = _own_path(form.get("next", [""])[0])
        if self._keys is None:
            return _go(following)
        caller = self._keys.caller(form.get("key", [""])[0].strip().encode())
        if caller is None:
            return _to_sign_in(request, following, "sign_in.unknown")
        if caller.tenant == ALL:
            tenant = form.get("tenant", [""])[0].strip()
            if not TENANT.fullmatch(tenant) or tenant == ALL:
                return _to_sign_in(request, following, "sign_in.which_tenant")
            caller = caller._replace(tenant=tenant)
        self._browsers.end(request.scope)
        return _go(following, written(self._browsers.begin(caller), request.scope))

    async def _sign_out(self, request: Request) -> Response:
        check_own_page(request.scope)
        self._browsers.end(request.scope)
        return _go("/", written("", request.scope))


def _to_sign_in(request: Request, following: str, wrong: str | None = None) -> Response:
    """The page with the key form. After a link from another site a browser sends no cookie
    (SameSite=Strict): an immediate refresh sends it."""
    response = render(request, "sign_in.html", 401, following=following, wrong=wrong)
    if request.method == "GET":
        response.headers["www-authenticate"] = 'Bearer realm="turnfold"'
        if request.headers.get("sec-fetch-site") == "cross-site" and not cookie(request.scope):
            response.headers["refresh"] = "0"
    return response


def _own_path(text: str) -> str:
    """A path of this server; `/` for anything else."""
    parts = urlsplit(text)
    is_own = text.startswith("/") and not text.startswith("//") and "\\" not in text
    return text if is_own and not parts.netloc and text.isprintable() else "/"


def _go(path: str, cookie: str | None = None) -> Response:
    response = RedirectResponse(path, 303)
    if cookie is not None:
        response.headers["set-cookie"] = cookie
    return response


async def _nothing() -> dict[str, str]:  # a rejected request's body is not used
    return {"type": "http.disconnect"}
