"""A small application behind the layers that guard every request, served over real sockets."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

import uvicorn
from starlette import routing
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp

from streams.serving.http.app import guarded
from streams.serving.http.auth import OPEN, Needs
from streams.serving.http.connection import UVICORN, HttpConnection, raise_file_limit
from streams.serving.http.route import PlainRoute, Router
from streams.serving.http.routes_health import ALL_TENANTS
from streams.serving.inspector.inspector import Inspector
from tests.waiting import WITHIN

LARGE = 30_000_000


async def _who(request: Request) -> Response:
    return JSONResponse(list(request.state.caller))


async def _size(request: Request) -> Response:
    body = await request.body()
    return JSONResponse({"bytes": len(body), "sha256": sha256(body).hexdigest()})


async def _ticks() -> AsyncIterator[bytes]:
    while True:
        yield b": still here\n\n"
        await asyncio.sleep(0.05)


async def _events(_: Request) -> Response:
    return StreamingResponse(_ticks(), media_type="text/event-stream")


async def _broken(request: Request) -> Response:
    raise ValueError((await request.body()).decode())


async def _large(_: Request) -> Response:
    return Response(b"x" * LARGE)


def small_app(pages: Inspector | None = None) -> Router:
    """Paths like those of the HTTP API; each tells what it was given."""
    read, admin = Needs("read"), Needs("admin")
    routes = [
        *(PlainRoute(path, _who, OPEN) for path in ("/healthz", "/readyz", "/openapi.json")),
        PlainRoute("/metrics", _who, ALL_TENANTS),
        PlainRoute("/v1/sessions/{session_id}", _who, read),
        PlainRoute("/v1/sessions/{session_id}", _who, admin, "DELETE"),
        PlainRoute("/v1/sessions/{session_id}/events", _events, Needs("read", is_stream=True)),
        PlainRoute("/v1/dead-letters", _who, admin),
        PlainRoute("/v1/records", _size, Needs("write"), "POST"),
        PlainRoute("/v1/broken/{what}", _broken, Needs("write"), "POST"),
        PlainRoute("/v1/large", _large, read),
    ]
    return Router(routing.Router([*routes, *(pages.routes() if pages else ())]))


class Served(NamedTuple):
    """Where an application listens; its server, where that is in this process."""

    port: int
    server: uvicorn.Server | None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> Collection[object]:
        """Those that are open."""
        assert self.server
        return self.server.server_state.connections

    def connect(self, sent: bytes = b"", seconds: float = 20.0) -> socket.socket:
        """A bare connection on which so many bytes were sent."""
        opened = socket.create_connection(("127.0.0.1", self.port), timeout=seconds)
        opened.sendall(sent)
        return opened

    def ask(self, sent: bytes) -> bytes:
        """What comes back for these bytes, until the server closes the connection."""
        with self.connect(sent) as opened:
            return everything(opened)


def everything(opened: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    pieces = iter(lambda: opened.recv(65536), b"")
    return b"".join(pieces)


def _server(app: ASGIApp) -> uvicorn.Server:
    """With the settings of `turnfold serve`."""
    config = uvicorn.Config(app, http=HttpConnection, timeout_graceful_shutdown=1, **UVICORN)
    return uvicorn.Server(config)


@contextmanager
def served(app: ASGIApp) -> Iterator[Served]:
    """Serves it from a thread."""
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listening:
        server = _server(app)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield Served(listening.getsockname()[1], server)
        finally:
            server.should_exit = True
            thread.join(WITHIN)
            assert not thread.is_alive()


if __name__ == "__main__":
    raise_file_limit()
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as opened:
        print(opened.getsockname()[1], flush=True)
        _server(guarded(small_app(), None)).run([opened])
