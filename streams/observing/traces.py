"""Traces by OpenTelemetry, off unless asked for: from a request to the row in the history.

A record's `traceparent` header (W3C) is passed on to all it causes: to the user signal and to the
history. Each batch with a traced record has one span, child of the first of its traces and
linked to the others: a span a record would cost more than the folding. FastAPI makes the spans of
requests by itself, once `begin` has set the provider.

Settings are OpenTelemetry's own: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, ….
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from streams.errors import ConfigurationError
from streams.observing.memory_spans import redact

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import SpanContext, Tracer

TRACEPARENT = "traceparent"
CARRIERS = frozenset({TRACEPARENT, "tracestate"})
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
LINKS = 128
"""Traces that a batch names at most: the SDK's own limit."""

_tracer: "Tracer | None" = None


Headers = list[tuple[str, bytes]]


class HasHeaders(Protocol):
    """A Kafka record."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


def begin(part: str, wanted: bool) -> bool:
    """Sends spans from now on, if they are `wanted` or OpenTelemetry's environment names a
    collector; whether it does.

    Raises:
        ConfigurationError: they are wanted, and the extra is not installed.
    """
    global _tracer
    named = any(os.environ.get(name) for name in ENDPOINTS)
    if not wanted and not named:
        return False
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        if not wanted:  # such variables are often set for every container of a cluster
            return False
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
    return True


def _redacting() -> "SpanProcessor":
    """FastAPI's span of a request has its path and query, and so ids and questions."""
    from opentelemetry.sdk.trace import SpanProcessor

    class Redacting(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            redact(span)

    return Redacting()


def are_sent() -> bool:
    """Whether `begin` was told to."""
    return _tracer is not None


def name_request(method: str, route: str) -> None:
    """Names the request's span by its route, as FastAPI does for routes that its own router finds."""
    from opentelemetry.trace import get_current_span

    request_span = get_current_span()
    request_span.set_attribute("http.route", route)
    request_span.update_name(f"{method} {route}")


def outgoing() -> Headers:
    """The header that a record carries which the work under way sends; none without a trace."""
    return [] if _tracer is None else _headers()


def _headers() -> Headers:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return [(name, value.encode()) for name, value in carrier.items()]


# --- batches --------------------------------------------------------------------------------------


def span(name: str, records: Iterable[HasHeaders]) -> AbstractContextManager[object]:
    """A span as long as what is done with these records; none where no record is traced."""
    assert _tracer is not None, "begin comes first"
    return _span(_tracer, name, records)


@contextmanager
def _span(tracer: "Tracer", name: str, records: Iterable[HasHeaders]) -> Iterator[None]:
    from opentelemetry.trace import Link, NonRecordingSpan, SpanKind, set_span_in_context

    records = list(records)
    traces = _traces(records)
    if not traces:
        yield
        return
    parent = next((one for one in traces if one.trace_flags.sampled), traces[0])
    with tracer.start_as_current_span(
        f"process {name}",
        context=set_span_in_context(NonRecordingSpan(parent)),
        kind=SpanKind.CONSUMER,
        links=[Link(one) for one in traces],
        attributes={
            "messaging.system": "kafka",
            "messaging.operation.type": "process",
            "messaging.batch.message_count": len(records),
        },
    ):
        yield


def _traces(records: Iterable[HasHeaders]) -> "list[SpanContext]":
    """The spans that sent the records, each once; `LINKS` of them at most."""
    from opentelemetry.context import Context
    from opentelemetry.trace import get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    extract = TraceContextTextMapPropagator().extract
    found: list[SpanContext] = []
    for carried in islice(dict.fromkeys(filter(None, map(carried_by, records))), LINKS):
        carrier = {name: value.decode("ascii", "replace") for name, value in carried}
        sent_by = get_current_span(extract(carrier, Context())).get_span_context()
        if sent_by.is_valid:
            found.append(sent_by)
    return found


def carried_by(record: HasHeaders) -> tuple[tuple[str, bytes], ...]:
    """The headers that name a record's trace."""
    if not record.headers:
        return ()
    return tuple(one for one in record.headers if one[0] in CARRIERS and one[1])


def trace_id(headers: Mapping[str, bytes]) -> bytes:
    """The trace's id, hexadecimal, as its header has it; empty without one."""
    return headers.get(TRACEPARENT, b"")[3:35]
