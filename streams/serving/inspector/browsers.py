"""Signed-in browsers: a random cookie represents a key, for this server's lifetime.

The cookie is unrelated to the key. The server stores its SHA-256 for `LASTS` seconds, and checks
the key on each request: revoking it ends its sessions.
"""

import secrets
import time
from collections import OrderedDict
from hashlib import sha256
from typing import NamedTuple

from starlette.types import Scope

from streams.serving.http.keys import Caller

COOKIE = "turnfold_session"
LASTS = 12 * 3600
"""Seconds that a session lasts, whatever is done in it."""
MOST = 10_000
"""Sessions at one time; the oldest gives way."""


class _Session(NamedTuple):
    caller: Caller
    ends: float


class Browsers:
    """The sessions of one server process."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[bytes, _Session] = OrderedDict()

    def begin(self, caller: Caller) -> str:
        """Starts a session; returns the cookie's value."""
        value = secrets.token_urlsafe(32)
        while len(self._sessions) >= MOST:
            self._sessions.popitem(last=False)
        self._sessions[_digest(value)] = _Session(caller, time.monotonic() + LASTS)
        return value

    def caller(self, scope: Scope) -> Caller | None:
        """The caller of a request's session, or None without one."""
        session = self._sessions.get(_digest(cookie(scope)))
        return session.caller if session and time.monotonic() < session.ends else None

    def end(self, scope: Scope) -> None:
        """Ends the session that a request's cookie names."""
        self._sessions.pop(_digest(cookie(scope)), None)


def cookie(scope: Scope) -> str:
    """The session's cookie in a request; "" without exactly one."""
    cookies = [
        value.strip()
        for name, line in scope["headers"]
        if name == b"cookie"
        for part in line.decode("latin-1").split(";")
        for key, _, value in [part.partition("=")]
        if key.strip() == COOKIE
    ]
    return cookies[0] if len(cookies) == 1 else ""


def written(value: str, scope: Scope) -> str:
    """`Set-Cookie` for a session, or with "" for its end. `Secure` behind a proxy that speaks TLS;
    this server itself speaks plain HTTP."""
    lasts = LASTS if value else 0
    proxied = any(
        name == b"x-forwarded-proto" and content.strip().lower() == b"https"
        for name, content in scope["headers"]
    )
    secure = "; Secure" if proxied or scope.get("scheme") == "https" else ""
    return f"{COOKIE}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict{secure}"


def _digest(value: str) -> bytes:
    return sha256(value.encode()).digest()
