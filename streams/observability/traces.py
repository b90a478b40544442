"""OpenTelemetry traces from a request to the row in the history; off by default.

A record's `traceparent` header (W3C) is propagated to the user signal and to the history. Each
batch with a traced record has one span, a child of the first of its traces and linked to the
others: a span per record would cost more than the fold. FastAPI creates the spans of requests once
`begin` has set the provider.

Settings are OpenTelemetry's own: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, ….
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from streams.errors import ConfigurationError
from streams.observability.memory_spans import redact

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import SpanContext, Tracer

TRACEPARENT = "traceparent"
CARRIERS = frozenset({TRACEPARENT, "tracestate"})
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
LINKS = 128
"""Maximum traces linked by a batch: the SDK's limit."""

_tracer: "Tracer | None" = None


Headers = list[tuple[str, bytes]]


class HasHeaders(Protocol):
    """A Kafka record."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


def begin(part: str, enabled: bool) -> None:
    """Starts to send spans, if `enabled` or OpenTelemetry's environment has an endpoint.

    Raises:
        ConfigurationError: `enabled`, and the extra is not installed.
    """
    global _tracer
    has_endpoint = any(os.environ.get(name) for name in ENDPOINTS)
    if not enabled and not has_endpoint:
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        if not enabled:  # such variables are often set for every container of a cluster
            return
        raise ConfigurationError("traces need the extra 'tracing': pip install 'turnfold[tracing]'")
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = os.environ.get("OTEL_SERVICE_NAME") or f"turnfold-{part}"
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: name}))
    provider.add_span_processor(_redacting())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    _tracer = trace.get_tracer("turnfold")


def _redacting() -> "SpanProcessor":
    """A processor that redacts the path and query of FastAPI's request spans: they have ids and
    text."""
    from opentelemetry.sdk.trace import SpanProcessor

    class Redacting(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            redact(span)

    return Redacting()


def are_sent() -> bool:
    """Whether spans are sent."""
    return _tracer is not None


def name_request(method: str, route: str) -> None:
    """Names the request's span by its route, as FastAPI does if its own router finds it."""
    from opentelemetry.trace import get_current_span

    request_span = get_current_span()
    request_span.set_attribute("http.route", route)
    request_span.update_name(f"{method} {route}")


def outgoing() -> Headers:
    """The headers with the current trace for a record to send; empty without a trace."""
    return [] if _tracer is None else _headers()


def _headers() -> Headers:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return [(name, value.encode()) for name, value in carrier.items()]


# --- batches --------------------------------------------------------------------------------------


def span(name: str, records: Iterable[HasHeaders]) -> AbstractContextManager[object]:
    """A span for the processing of these records; none without a traced record, or if no spans are
    sent."""
    return nullcontext() if _tracer is None else _span(_tracer, name, records)


@contextmanager
def _span(tracer: "Tracer", name: str, records: Iterable[HasHeaders]) -> Iterator[None]:
    from opentelemetry.trace import Link, NonRecordingSpan, SpanKind, set_span_in_context

    records = list(records)
    traces = _traces(records)
    if not traces:
        yield
        return
    parent = next((context for context in traces if context.trace_flags.sampled), traces[0])
    with tracer.start_as_current_span(
        f"process {name}",
        context=set_span_in_context(NonRecordingSpan(parent)),
        kind=SpanKind.CONSUMER,
        links=[Link(context) for context in traces],
        attributes={
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.batch.message_count": len(records),
        },
    ):
        yield


def _traces(records: Iterable[HasHeaders]) -> "list[SpanContext]":
    """The distinct spans that sent the records, at most `LINKS`."""
    from opentelemetry.context import Context
    from opentelemetry.trace import get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    extract = TraceContextTextMapPropagator().extract
    contexts: list[SpanContext] = []
    for headers in islice(dict.fromkeys(filter(None, map(carried_by, records))), LINKS):
        carrier = {name: value.decode("ascii", "replace") for name, value in headers}
        context = get_current_span(extract(carrier, Context())).get_span_context()
        if context.is_valid:
            contexts.append(context)
    return contexts


def carried_by(record: HasHeaders) -> tuple[tuple[str, bytes], ...]:
    """The trace headers of a record."""
    if not record.headers:
        return ()
    return tuple(header for header in record.headers if header[0] in CARRIERS and header[1])


def trace_id(headers: Mapping[str, bytes]) -> bytes:
    """The trace's id, hexadecimal, from the header; empty without one."""
    return headers.get(TRACEPARENT, b"")[3:35]
