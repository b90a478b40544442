"""Limits per caller: request rate, event streams."""

import time
from collections import Counter
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.quota import BURST_SECONDS
from streams.serving.http.auth import LOCAL, NEEDS, Needs
from streams.serving.http.keys import Caller
from streams.serving.http.refusal import Header, Refusal

AGAIN: Header = (b"retry-after", b"10")
"""Retry-After of a rejected event stream."""


MOST_NAMES = 10_000
"""Maximum names with a rate before idle ones are dropped."""


class RequestLimits(NamedTuple):
    """The limits; rates are requests per second, 0: unlimited."""

    body_bytes: int = 16_000_000
    """Maximum bytes of a body, decompressed."""
    body_seconds: float = 30.0
    """Seconds until a body has arrived, whatever its size."""
    held_bytes: int = 256_000_000
    """Maximum bytes of all bodies in progress."""
    key_rate: int = 2_000
    tenant_rate: int = 10_000
    open_rate: int = 200
    """Per address, at paths that need no key; the same without a valid key at all others."""
    streams: int = 100
    """Maximum open event streams per tenant."""
    all_streams: int = 2_000
    """Maximum open event streams of all tenants."""


class Rate:
    """Token buckets by name, as one number each: when it is full again (GCRA)."""

    def __init__(self, per_second: int) -> None:
        self._interval = 1 / per_second
        self._room = BURST_SECONDS
        self._quota = per_second * BURST_SECONDS
        self._full_at: dict[str, float] = {}

    def take(self, name: str, now: float) -> tuple[int, float]:
        """Takes one token: tokens left, and seconds until the next one (0 if one was taken)."""
        full_at = max(self._full_at.get(name, now), now) + self._interval
        wait = full_at - now - self._room
        if wait > 1e-9:
            return 0, wait
        if len(self._full_at) >= MOST_NAMES:
            self._full_at = {caller: at for caller, at in self._full_at.items() if at > now}
        self._full_at[name] = full_at
        return int((self._room - (full_at - now)) / self._interval + 1e-6), 0.0

    def headers(self, name: bytes, remaining: int, wait: float) -> list[Header]:
        until = max(1, -int(-wait // 1)) if wait else BURST_SECONDS
        return rate_headers(name, self._quota, remaining, until)


def rate_headers(name: bytes, whole: int, remaining: int, until: int) -> list[Header]:
    """`RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10): how much there
    is in `BURST_SECONDS`, how much is left, and in how many seconds there is more."""
    return [
        (b"ratelimit-policy", b'"%s";q=%d;w=%d' % (name, whole, BURST_SECONDS)),
        (b"ratelimit", b'"%s";r=%d;t=%d' % (name, remaining, until)),
    ]


class Strangers:
    """Limits the rate of requests without a key per address; 0: unlimited."""

    def __init__(self, rate: int) -> None:
        self._rate = Rate(rate) if rate else None

    def check(self, scope: Scope) -> None:
        """Takes a token of the address. Raises Refusal if none is left."""
        if self._rate is None:
            return
        address = (scope.get("client") or ("",))[0]
        _, wait = self._rate.take(address, time.monotonic())
        if wait:
            again = (b"retry-after", b"%d" % max(1, -int(-wait // 1)))
            detail = "too many requests without a key; try again later"
            raise Refusal(429, "Too many requests", detail, again)


class Limits:
    """Limits the rates of keys and tenants, and the streams of tenants.

    Raises `Refusal`, which `Access`, the layer around it, answers.
    """

    def __init__(self, app: ASGIApp, bounds: RequestLimits) -> None:
        self._app = app
        self._bounds = bounds
        self._keys = Rate(bounds.key_rate) if bounds.key_rate else None
        self._tenants = Rate(bounds.tenant_rate) if bounds.tenant_rate else None
        self._open = Strangers(bounds.open_rate)
        self._streams: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller: Caller = scope["state"].get("caller", LOCAL)
        if caller.key_id is None and caller is not LOCAL:
            self._open.check(scope)
        headers = self._take(caller) if caller.key_id is not None else []
        needs: Needs | None = scope.get(NEEDS)
        answer = self._stream if needs is not None and needs.is_stream else self._app
        try:
            await answer(scope, receive, _with(headers, send) if headers else send)
        except Refusal as refusal:
            refusal.headers += headers
            raise

    def _take(self, caller: Caller) -> list[Header]:
        """Takes a token of the key and the tenant; returns the headers of the key's limit. Raises
        Refusal."""
        now = time.monotonic()
        headers: list[Header] = []
        # the key first: its rejected requests do not count against the tenant's other keys
        for name, rate, caller_name in (
            (b"key", self._keys, caller.key_id or ""),
            (b"tenant", self._tenants, caller.tenant),
        ):
            if rate is None:
                continue
            remaining, wait = rate.take(caller_name, now)
            rate_limit = rate.headers(name, remaining, wait)
            if wait:
                again = (b"retry-after", b"%d" % max(1, -int(-wait // 1)))
                detail = f"too many requests of this {name.decode()}; try again later"
                raise Refusal(429, "Too many requests", detail, again, *rate_limit)
            headers = headers or rate_limit
        return headers

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        tenant = scope["state"].get("caller", LOCAL).tenant
        if self._streams[tenant] >= self._bounds.streams:
            detail = f"a tenant may have {self._bounds.streams} event streams open"
            raise Refusal(429, "Too many streams", detail, AGAIN)
        if self._streams.total() >= self._bounds.all_streams:
            detail = f"all {self._bounds.all_streams} event streams of this server are in use"
            raise Refusal(503, "Too many streams", detail, AGAIN)
        self._streams[tenant] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._streams[tenant] -= 1
            if not self._streams[tenant]:
                del self._streams[tenant]


def _with(headers: list[Header], send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *headers]}
        await send(message)

    return sent
