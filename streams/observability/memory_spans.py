"""Spans of memory operations in the server, by OpenTelemetry's conventions for generative AI
(`gen_ai.memory.client`, in development: names may change), within the span of the request.

`turnfold.operation` distinguishes operations of one conventional name. The store is the tenant.
Spans have no users' words or ids, unless OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is
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
    """An operation on memory: `name` by the conventions, `own` by Turnfold."""

    name: str
    own: str


_span: "ContextVar[Span | None]" = ContextVar("memory_span", default=None)


@contextmanager
def span(
    operation: Operation, tenant: str, values: dict[str, Any], failure: Callable[[Exception], str]
) -> Iterator[None]:
    """Opens the span of a request's operation. `values`: its parameters. `failure`: returns the
    `error.type` of an exception."""
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
        record_exception=False,  # its text may quote a user
        set_status_on_exception=False,
    ) as current:
        token = _span.set(current if current.is_recording() else None)
        try:
            yield
        except Exception as error:
            current.set_attribute("error.type", failure(error))
            current.set_status(trace.StatusCode.ERROR)
            raise
        finally:
            _span.reset(token)


def found(count: int, records: Callable[[], list[dict[str, Any]]]) -> None:
    """Sets the number of records that the current operation returns or stores. `records`: returns
    objects with `id` and `content`; called only if spans may have content."""
    current = _span.get()
    if current is None:
        return
    current.set_attribute("gen_ai.memory.record.count", count)
    if captures():
        content = json.dumps(records(), ensure_ascii=False, default=str)
        current.set_attribute("gen_ai.memory.records", content)


REDACTED = "REDACTED"
"""By the conventions for HTTP."""


def redact(span: Any) -> None:
    """Redacts the path and query of a request's span, which may have ids and text; the route
    stays."""
    for name in ("url.path", "url.query"):
        if name in (span.attributes or {}) and not captures():
            span.set_attribute(name, REDACTED)


def captures() -> bool:
    """Whether spans may have users' words."""
    return os.environ.get(CAPTURE, "").lower() == "true"
