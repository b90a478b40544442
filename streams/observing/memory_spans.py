"""Spans of memory operations in the server, by OpenTelemetry's conventions for generative AI
(`gen_ai.memory.client`, in development: their names may change), within the span of the request.

`turnfold.operation` tells apart what the conventions call alike. The store is the tenant. No span
has what people said, nor their ids, unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is
`true`.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from opentelemetry.trace import Span

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Operation(NamedTuple):
    """What a request does to memory: `name` as the conventions have it, `own` as Turnfold does."""

    name: str
    own: str


_span: "ContextVar[Span | None]" = ContextVar("memory_span", default=None)


@contextmanager
def span(
    operation: Operation, tenant: str, values: dict[str, Any], failure: Callable[[Exception], str]
) -> Iterator[None]:
    """The span of one request's operation; `values` are its parameters. `failure`: what the span
    calls an error."""
    from opentelemetry import trace

    attributes: dict[str, Any] = {
        "gen_ai.operation.name": operation.name,
        "gen_ai.memory.store.id": tenant,
        "turnfold.operation": operation.own,
    }
    for name in ("state_id", "preference_id"):
        if name in values:
            attributes["gen_ai.memory.record.id"] = values[name]
    if values.get("q") and captures():
        attributes["gen_ai.memory.query.text"] = values["q"]
    with trace.get_tracer("turnfold").start_as_current_span(
        operation.name,
        kind=trace.SpanKind.INTERNAL,
        attributes=attributes,
        record_exception=False,  # its text may quote what somebody said
        set_status_on_exception=False,
    ) as under_way:
        token = _span.set(under_way if under_way.is_recording() else None)
        try:
            yield
        except Exception as error:
            under_way.set_attribute("error.type", failure(error))
            under_way.set_status(trace.StatusCode.ERROR)
            raise
        finally:
            _span.reset(token)


def found(count: int, records: Callable[[], list[dict[str, Any]]]) -> None:
    """How many records the operation under way has found or takes. `records` are asked for only
    where spans may have them: objects with `id` and `content`."""
    under_way = _span.get()
    if under_way is None:
        return
    under_way.set_attribute("gen_ai.memory.record.count", count)
    if captures():
        told = json.dumps(records(), ensure_ascii=False, default=str)
        under_way.set_attribute("gen_ai.memory.records", told)


REDACTED = "REDACTED"
"""As the conventions for HTTP have it."""


def redact(span: Any) -> None:
    """Takes out of a request's span what names people or quotes them: its route stays."""
    for name in ("url.path", "url.query"):
        if name in (span.attributes or {}) and not captures():
            span.set_attribute(name, REDACTED)


def captures() -> bool:
    """Whether spans may have what people said."""
    return os.environ.get(CAPTURE, "").lower() == "true"
