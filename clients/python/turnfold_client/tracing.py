"""Spans of memory operations, by OpenTelemetry's conventions for generative AI
(`gen_ai.memory.client`, in development: their names may change).

They are created if `opentelemetry-api` is installed (the extra `tracing`), and recorded if the
program has set up its SDK. Every request then carries the trace. Spans contain the words and ids of
users only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is `true`.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import httpx
from pydantic_core import to_json

from turnfold_client.calls import Call
from turnfold_client.errors import StatusError
from turnfold_client.version import __version__

try:
    from opentelemetry import propagate, trace
except ImportError:
    INSTALLED = False
else:
    INSTALLED = True

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

R = TypeVar("R")


class Operation(NamedTuple):
    """What a call does to memory: `name` as the conventions have it, `own` as Turnfold does."""

    name: str
    own: str


_STATE = re.compile("/v1/states/([^/]+)")
_PREFERENCE = re.compile("/v1/preferences/([^/]+)")
_OPERATIONS = [
    ("GET", re.compile("/v1/users/[^/]+/context"), Operation("search_memory", "context")),
    ("GET", re.compile("/v1/search"), Operation("search_memory", "search")),
    ("GET", re.compile("/v1/states/([^/]+)/why"), Operation("search_memory", "why")),
    ("POST", re.compile("/v1/messages"), Operation("upsert_memory", "add")),
    ("DELETE", re.compile("/v1/messages/[^/]+"), Operation("update_memory", "retract")),
    ("POST", re.compile("/v1/records"), Operation("upsert_memory", "records")),
    ("PATCH", _STATE, Operation("update_memory", "correct")),
    ("DELETE", _STATE, Operation("update_memory", "end")),
    ("PATCH", _PREFERENCE, Operation("update_memory", "correct")),
    ("DELETE", _PREFERENCE, Operation("update_memory", "end")),
    ("DELETE", re.compile("/v1/users/[^/]+"), Operation("delete_memory", "forget")),
    ("DELETE", re.compile("/v1/sessions/[^/]+"), Operation("delete_memory", "forget_session")),
    (
        "DELETE",
        re.compile("/v1/sessions/[^/]+/turns/[^/]+"),
        Operation("delete_memory", "forget_turn"),
    ),
]
"""By method and path; a group is the id of the record that it is about."""
_LISTS = ("items", "hits", "revisions", "turns", "results")
"""Names of the lists of records in replies."""


class Sending:
    """One call in progress, which reports to its span."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def carry(self, headers: httpx.Headers) -> None:
        """The request takes the trace along."""
        if INSTALLED:
            propagate.inject(headers)

    def replied(self, reply: R) -> R:
        """The same, counted."""
        if self._span is not None and self._span.is_recording():
            for name in _LISTS:
                records = getattr(reply, name, None)
                if isinstance(records, list):
                    self._span.set_attribute("gen_ai.memory.record.count", len(records))
                    if captures():
                        told = to_json(list(map(_record, records))).decode()
                        self._span.set_attribute("gen_ai.memory.records", told)
        return reply


_UNTRACED = Sending()


@contextmanager
def sending(call: Call[Any], server: httpx.URL, tenant: str | None) -> Iterator[Sending]:
    """The span of a call, with all its attempts, if it is an operation on memory."""
    known = _operation(call) if INSTALLED else None
    if known is None:
        yield _UNTRACED
        return
    operation, record = known
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": operation.name,
        "turnfold.operation": operation.own,
        "server.address": server.host,
        "server.port": server.port or {"https": 443}.get(server.scheme, 80),
    }
    if tenant is not None:
        attributes["gen_ai.memory.store.id"] = tenant
    if record is not None:
        attributes["gen_ai.memory.record.id"] = record
    query = call.query.get("q")
    if query is not None and captures():
        attributes["gen_ai.memory.query.text"] = query
    with trace.get_tracer("turnfold-client", __version__).start_as_current_span(
        operation.name,
        kind=trace.SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,  # its text may quote a user
        set_status_on_exception=False,
    ) as span:
        try:
            yield Sending(span)
        except BaseException as error:
            span.set_attribute("error.type", _type(error))
            span.set_status(trace.StatusCode.ERROR)
            raise


def captures() -> bool:
    """Whether spans may contain users' words."""
    return os.environ.get(CAPTURE, "").lower() == "true"


def _operation(call: Call[Any]) -> tuple[Operation, str | None] | None:
    for method, path, operation in _OPERATIONS:
        if method == call.method and (found := path.fullmatch(call.path)):
            return operation, unquote(found[1]) if found.groups() else None
    return None


def _record(record: Any) -> dict[str, Any]:
    """As the conventions' JSON Schema of memory records has it."""
    told = record.model_dump(mode="json")
    ids = (told.get(name) for name in ("id", "event_id", "revision_id"))
    return {"id": next((one for one in ids if one), None), "content": told}


def _type(error: BaseException) -> str:
    if isinstance(error, StatusError):
        return str(error.problem.status)
    return type(error).__qualname__
