"""A collector of spans, such as every trace backend has one: OTLP over HTTP, protobuf inside."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class Span(NamedTuple):
    """What arrived: ids as hexadecimal text; `links` are ids of traces. `said` are its attributes,
    texts and whole numbers."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    links: frozenset[str]
    said: dict[str, str | int]


class Collector(NamedTuple):
    """Where it listens, and all spans so far."""

    url: str
    spans: list[Span]


def _spans(request: ExportTraceServiceRequest) -> Iterator[Span]:
    for resource in request.resource_spans:
        said = {one.key: one.value.string_value for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for one in scope.spans:
                links = frozenset(link.trace_id.hex() for link in one.links)
                ids = (one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex())
                own = {
                    each.key: each.value.string_value or each.value.int_value
                    for each in one.attributes
                }
                yield Span(said["service.name"], one.name, *ids, links, own)


@contextmanager
def collecting() -> Iterator[Collector]:
    """Listens on a free port of this machine."""
    found: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            found.extend(_spans(ExportTraceServiceRequest.FromString(body)))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.end_headers()
            self.wfile.write(ExportTraceServiceResponse().SerializeToString())

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield Collector(f"http://127.0.0.1:{server.server_port}", found)
        finally:
            server.shutdown()
            thread.join()
