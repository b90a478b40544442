"""Authentication and roles: the outermost layer of the HTTP API (pure ASGI).

It identifies the caller by the key, checks the role, and puts `Caller` into
`scope["state"]["caller"]`: the only source of a request's tenant. It also answers refusals, adds
the security headers to every reply, and writes the access log, which contains no ids, texts or
tokens.
"""

import time
import traceback
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from logging import INFO, getLogger
from pathlib import Path
from typing import NamedTuple, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.pipeline.decode import TENANT
from streams.serving.http.keys import ALL, Caller, Keys, Role
from streams.serving.http.refusal import Header, Refusal

START = "/"
TWIN = ".json"
"""Ends the path of a page's answer as JSON."""
API = ("/v1/", "/memory/", "/mcp", "/metrics", "/healthz", "/readyz", "/openapi.json")
"""Prefixes of the paths for programs; all others are the inspector's."""
BODY_BYTES = "body_bytes"
"""In a request's state: maximum bytes of its body, for a route without a key."""
READING = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_SITE = (b"same-origin", b"none")
"""Values of Sec-Fetch-Site for requests of this server's own pages, and for a person's actions."""
TENANT_HEADER = b"turnfold-tenant"
"""Where a key of all tenants names the one it means; of no use to other keys."""

LOCAL = Caller("default", "admin", None, of_all=True)
"""Everybody, where no keys are set: the server then listens on this machine alone."""

SECURITY_HEADERS: list[Header] = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
NO_STORE: Header = (b"cache-control", b"no-store")

_log = getLogger(__name__)


class Needs(NamedTuple):
    """Access rule of a route. `role`: minimum role, or None if no key is needed.

    `of_all`: only a key of all tenants. `is_of_tenant`: the reply is for one tenant and its
    generation. `body_bytes`: maximum body without a key. `is_stream`: an event stream.
    """

    role: Role | None
    of_all: bool = False
    is_of_tenant: bool = True
    body_bytes: int = 0
    is_stream: bool = False


OPEN = Needs(None, is_of_tenant=False)
"""Rule of routes without a key: their replies contain no user data."""
NEEDS = "needs"
"""Where a request's scope has them, of a route that is there."""


class Pages(Protocol):
    """The inspector, as access control uses it."""

    def caller(self, scope: Scope) -> Caller | None:
        """The caller of a browser's session."""

    async def refuse(self, scope: Scope, refusal: Refusal, send: Send) -> None:
        """Answers a rejected browser with an error page or the sign-in page."""


class Access:
    """Authenticates by API key; without keys, loopback only.

    Pages take a browser's session in place of a key; the API never does.
    """

    def __init__(
        self,
        app: ASGIApp,
        find: Callable[[Scope], Needs | None],
        keys: Keys | None,
        pages: Pages | None = None,
        strangers: Callable[[Scope], None] | None = None,
    ) -> None:
        """`find`: the access rule of a request's route, or None for an unknown route. `strangers`:
        called for each request without a valid key; raises Refusal if the address has sent too
        many."""
        self._app = app
        self._find = find
        self._keys = keys
        self._pages = pages
        self._strangers = strangers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # a websocket: there are none here
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = _Reply(send, self._keys)
        try:
            caller = reply.caller = self._admit(scope, reply)
            scope.setdefault("state", {})["caller"] = caller
            await self._app(scope, receive, reply.send)
        except Refusal as refusal:
            await self._refuse(scope, refusal, reply)
        except Exception as error:
            # without the error's text and uvicorn's log of it: both may quote a record
            _log.error(
                "%s %s: %s at %s",
                scope["method"],
                _route(scope),
                type(error).__name__,
                where_raised(error),
            )
            internal = Refusal(500, "Internal error", "look into the server's log")
            await self._refuse(scope, internal, reply)
        finally:
            reply.log(scope)

    async def _refuse(self, scope: Scope, refusal: Refusal, reply: "_Reply") -> None:
        scope.setdefault("state", {})["caller"] = reply.caller  # a page names the rejected caller
        if self._pages is not None and not reply.has_begun and asks_for_a_page(scope):
            try:
                await self._pages.refuse(scope, refusal, reply.send)
                return
            except Exception as error:  # the reply must not depend on the page
                _log.error(
                    "a page of problems: %s at %s", type(error).__name__, where_raised(error)
                )
        await reply.refuse(refusal)

    def _admit(self, scope: Scope, reply: "_Reply") -> Caller:
        """The caller; a rejected caller is logged as well. Raises Refusal."""
        hosts = _values(scope, b"host")
        if len(hosts) > 1 or not (hosts or scope["http_version"] == "1.0"):
            raise Refusal(400, "No host", "an HTTP/1.1 request has one Host header")
        needs = scope[NEEDS] = self._find(scope)
        is_open = self._is_open(scope, needs)
        if is_open:
            scope.setdefault("state", {})[BODY_BYTES] = needs.body_bytes if needs else 0
        if self._keys is None:
            _check_same_machine(scope, hosts)
            return LOCAL
        if is_open:
            return LOCAL._replace(role="read", of_all=False)
        try:
            caller = reply.caller = self._known(scope, self._keys)
        except Refusal as refusal:
            if refusal.status == 401 and self._strangers is not None:
                self._strangers(scope)
            raise
        if needs is not None:
            check_role(caller, needs)
            if not needs.is_of_tenant:
                return caller
        return _of_one_tenant(caller, scope) if caller.tenant == ALL else caller

    def _is_open(self, scope: Scope, needs: Needs | None) -> bool:
        """Whether no key is needed. `/` returns the API's entry points to programs, and the start
        page, which needs a key, to browsers."""
        if scope["path"] == START and self._pages is not None:
            return not asks_for_a_page(scope)
        return needs is not None and needs.role is None

    def _signed_in(self, scope: Scope, keys: Keys) -> Caller | None:
        """The caller of a browser's session; only for pages. Raises Refusal for a write from
        another site's page."""
        if self._pages is None or scope["path"].startswith(API):
            return None
        caller = self._pages.caller(scope)
        if caller is None or not keys.stands(caller):
            return None
        if scope["method"] not in READING:
            check_own_page(scope)
        return caller

    def _known(self, scope: Scope, keys: Keys) -> Caller:
        authorizations = _values(scope, b"authorization")
        if not authorizations and (caller := self._signed_in(scope, keys)):
            return caller
        if not authorizations:
            raise _unauthorized("send a key: Authorization: Bearer ts_...", b"")
        scheme, _, token = authorizations[0].partition(b" ")
        caller = keys.caller(token.strip()) if scheme.lower() == b"bearer" else None
        if caller is None or len(authorizations) > 1:
            raise _unauthorized(
                "the key is unknown, revoked or expired", b', error="invalid_token"'
            )
        return caller


class _Reply:
    """The reply that was sent, with the headers that every reply has."""

    def __init__(self, send: Send, keys: Keys | None) -> None:
        self._send = send
        self._keys = keys
        self._began = time.perf_counter()
        self._status = 0
        self._ended = False
        self.caller: Caller | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a part of the reply was sent."""
        return bool(self._status)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message = {**message, "headers": _secured(message.get("headers", ()))}
        elif self._ended:
            return
        elif not message.get("more_body"):
            self._ended = True
        elif not self._may_go_on():
            # an event stream with a revoked key: for the application the client has gone
            self._ended = True
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    def _may_go_on(self) -> bool:
        if self._keys is None or self.caller is None or self.caller.key_id is None:
            return True
        return self._keys.stands(self.caller)

    async def refuse(self, refusal: Refusal) -> None:
        if not self._status:
            await refusal.answer(self.send)
        elif not self._ended:
            raise ConnectionAbortedError("a reply was broken off") from None

    def log(self, scope: Scope) -> None:
        """Writes one line, with the route's template: a path contains ids."""
        if not _log.isEnabledFor(INFO):
            return
        caller = self.caller or LOCAL._replace(tenant="-")
        milliseconds = 1000 * (time.perf_counter() - self._began)
        fields = {
            "method": scope["method"],
            "route": _route(scope),
            "status": self._status,
            "ms": round(milliseconds, 3),
            "tenant": caller.tenant,
            "key": caller.key_id or "-",
        }
        _log.info(
            "%(method)s %(route)s %(status)d %(ms).1f ms %(tenant)s %(key)s", fields, extra=fields
        )


_GUARDS = (*SECURITY_HEADERS, NO_STORE)
_GUARDING = frozenset(name for name, _ in _GUARDS)


def _secured(headers: list[Header]) -> list[Header]:
    """Adds the security headers that a reply does not set itself (as pages do)."""
    for name, _ in headers:
        if name in _GUARDING:
            names = {name for name, _ in headers}
            return [*headers, *(header for header in _GUARDS if header[0] not in names)]
    return [*headers, *_GUARDS]


def asks_for_a_page(scope: Scope) -> bool:
    """Whether a browser requests a page of the inspector or a part of one. A JSON address always
    gets JSON, errors included."""
    if scope["path"].startswith(API) or (scope.get("raw_path") or b"").endswith(TWIN.encode()):
        return False
    takes = b",".join(_values(scope, b"accept"))
    return b"text/html" in takes or bool(_values(scope, b"hx-request"))


def check_own_page(scope: Scope) -> None:
    """Raises Refusal for a write from another site's page (CSRF). Browsers send `Sec-Fetch-Site`;
    old ones only `Origin`."""
    site = _values(scope, b"sec-fetch-site")
    origin, host = _values(scope, b"origin"), _values(scope, b"host")
    sent_here = bool(host) and origin[:1] == [b"http://" + host[0]]  # HTTP/1.0 needs no Host
    is_own = site == [b"same-origin"] if site else sent_here
    if not is_own:
        raise Refusal(403, "Not this site", "a write has to come from a page of this server")


def check_role(caller: Caller, needs: Needs) -> None:
    """Raises Refusal if the caller's role does not satisfy the route."""
    if needs.role is not None and not caller.may(needs.role):
        raise _forbidden(f"the key's role is {caller.role}, and this needs {needs.role}")
    if needs.of_all and not caller.of_all:
        raise _forbidden("this is about all tenants, and the key is of one")


def _of_one_tenant(caller: Caller, scope: Scope) -> Caller:
    """The caller for the one tenant that the request names. Raises Refusal."""
    named = [value.decode("utf-8", "replace") for value in _values(scope, TENANT_HEADER)]
    if len(named) != 1 or not TENANT.fullmatch(named[0]) or named[0] == ALL:
        detail = "a key of all tenants names one in each request: Turnfold-Tenant: NAME"
        raise Refusal(400, "No tenant", detail)
    return caller._replace(tenant=named[0])


# --- without keys -------------------------------------------------------------------------------


def _check_same_machine(scope: Scope, hosts: list[bytes]) -> None:
    """Rejects requests that a web page elsewhere makes a local browser send: through a name that
    resolves to this address (DNS rebinding), or across origins and sites. Raises Refusal."""
    if not hosts or not _is_loopback(hosts[0].decode("latin-1")):
        detail = "without keys this server answers to localhost alone; make keys for other names"
        raise Refusal(403, "Not this machine", detail)
    is_link = scope["method"] in READING and _values(scope, b"sec-fetch-mode") == [b"navigate"]
    for name, value in scope["headers"]:
        if name == b"origin" and value.partition(b"://")[2] != hosts[0]:
            raise Refusal(403, "Not this machine", "requests from pages of other sites are refused")
        if name == b"sec-fetch-site" and value not in OWN_SITE and not is_link:
            detail = (
                "pages of other sites or origins may link here, but neither write nor load "
                "anything; create a key"
            )
            raise Refusal(403, "Not this machine", detail)


@lru_cache(100)
def _is_loopback(host: str) -> bool:
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    if not name or not (port.isdigit() or not port):
        name = host
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


# --- small things -------------------------------------------------------------------------------


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for field, value in scope["headers"] if field == name]


def _unauthorized(detail: str, error: bytes) -> Refusal:
    return Refusal(
        401, "Unauthorized", detail, (b"www-authenticate", b'Bearer realm="turnfold"' + error)
    )


def _forbidden(detail: str) -> Refusal:
    challenge = b'Bearer realm="turnfold", error="insufficient_scope"'
    return Refusal(403, "Forbidden", detail, (b"www-authenticate", challenge))


def _route(scope: Scope) -> str:
    return getattr(scope.get("route"), "path", "-")


def where_raised(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
