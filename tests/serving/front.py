"""A server before the real one that fails as told, then passes on."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx


class Front(ThreadingHTTPServer):
    """`faults` are what the next requests meet: a status, 0 for a connection that breaks after
    the request was passed on, or None. `seen`: headers of all requests."""

    daemon_threads = True

    def __init__(self, behind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.behind = httpx.Client(base_url=behind, timeout=120)
        self.faults: list[int | None] = []
        self.seen: list[Mapping[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Passing(BaseHTTPRequestHandler):
    server: Front
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        front = self.server
        front.seen.append({name.lower(): value for name, value in self.headers.items()})
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        fault = front.faults.pop(0) if front.faults else None
        if fault:
            self._answer(fault, "text/plain", b"busy")
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        reply = front.behind.request(self.command, self.path, content=body, headers=headers)
        if fault is None:
            self._answer(reply.status_code, reply.headers["content-type"], reply.content)
        else:
            self.close_connection = True

    do_POST = do_GET  # noqa: N815

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("retry-after", "0")
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Not on stderr."""


@contextmanager
def fronting(url: str) -> Iterator[Front]:
    """One before the server at `url`."""
    with Front(url) as made, made.behind:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@contextmanager
def breaking_off(length: int | None = None) -> Iterator[str]:
    """The address of a server whose export ends after its first line; with `length` bytes promised,
    as if the server had gone away, else as if that were all."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(b'{"kind":"header"}\n')

        def log_message(self, *_: Any) -> None:
            """Not on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
