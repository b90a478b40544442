"""ASGI middleware that counts and times HTTP requests by route template."""

from collections.abc import Awaitable, Callable, MutableMapping
from functools import lru_cache
from time import perf_counter
from typing import Any

from prometheus_client import Counter, Histogram

from streams.apps.metrics_registry import (
    HTTP_FAILURES,
    HTTP_IN_FLIGHT,
    HTTP_REQUESTS,
    HTTP_SECONDS,
    HTTP_STREAMS,
)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNMATCHED = "unmatched"
FAILED = 500
GONE = 499
"""Status of a request if the client disconnected before the reply, as in nginx."""


class Requests:
    """Observes an application. The number of labels is bounded: templates, known methods,
    statuses."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, streams = GONE, False

        async def told(message: Message) -> None:
            nonlocal status, streams
            if message["type"] == "http.response.start":
                status = message["status"]
                if _is_stream(message):
                    streams = True
                    HTTP_STREAMS.inc()
            await send(message)

        start = perf_counter()
        HTTP_IN_FLIGHT.inc()
        try:
            await self._app(scope, receive, told)
        except Exception:
            if status == GONE:
                status = 500
            raise
        finally:
            HTTP_IN_FLIGHT.dec()
            count, seconds = _of(_method(scope), _route(scope), status)
            count.inc()
            if status >= FAILED:
                HTTP_FAILURES.inc()
            if streams:
                HTTP_STREAMS.dec()
            else:
                seconds.observe(perf_counter() - start)


@lru_cache(10_000)
def _of(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    return HTTP_REQUESTS.labels(method, route, str(status)), HTTP_SECONDS.labels(method, route)


def _method(scope: Message) -> str:
    method: str = scope["method"]
    return method if method in METHODS else "other"


def _route(scope: Message) -> str:
    """Template of the route, such as /v1/sessions/{id}."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else UNMATCHED


def _is_stream(start: Message) -> bool:
    for name, value in start["headers"]:
        if name == b"content-type":
            return bool(value.startswith(b"text/event-stream"))
    return False
