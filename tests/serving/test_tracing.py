"""Spans of memory operations: the client's by the real SDK, the server's in a real collector."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from streams.files import file_runner
from streams.observability.memory_spans import CAPTURE
from streams.serving.http.endpoints import ENDPOINTS
from tests.kafka.collector import Collector, Span, collecting
from tests.planned import CONVERSATIONS
from tests.serving.serving import Server, serving
from turnfold_client import AsyncTurnfold, StateCorrection, Turnfold, tracing
from turnfold_client.calls import Call
from turnfold_client.errors import NotFoundError, UnreachableError

pytestmark = pytest.mark.nightly

SECRET = "Nora's birthday"
ARRIVES_WITHIN = 120.0


class Traced(NamedTuple):
    """A server whose spans go to a collector; one that may send what people said; the client's."""

    server: Server
    open: Server
    collector: Collector
    exported: InMemorySpanExporter


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    exported = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exported))
    trace.set_tracer_provider(provider)  # once a process: no other test sets one
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patched:
        collector = stack.enter_context(collecting())
        patched.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        patched.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        servers = []
        for says in ("false", "true"):
            history = tmp_path_factory.mktemp("traced") / "history"
            file_runner.run([str(CONVERSATIONS)], history)
            patched.setenv(CAPTURE, says)
            servers.append(stack.enter_context(serving("--history", history)))
        patched.delenv(CAPTURE)
        yield Traced(servers[0], servers[1], collector, exported)


def spans(traced: Traced) -> list[ReadableSpan]:
    """The client's since the last time."""
    found = list(traced.exported.get_finished_spans())
    traced.exported.clear()
    return found


def arrived(traced: Traced, client: ReadableSpan) -> Span:
    """The server's span of the operation, within that of the client's request."""
    context = client.get_span_context()
    assert context
    deadline = time.monotonic() + ARRIVES_WITHIN
    while time.monotonic() < deadline:
        of = [s for s in traced.collector.spans if s.trace == f"{context.trace_id:032x}"]
        requests = {s.id for s in of if s.parent == f"{context.span_id:016x}"}
        if own := [s for s in of if s.parent in requests and s.name == client.name]:
            return own[0]
        time.sleep(0.05)
    raise AssertionError(f"no span of the server for {client.name}")


def test_each_operation_has_a_span_in_client_and_server(traced: Traced) -> None:
    with Turnfold(traced.server.url) as memory:
        memory.add([{"role": "user", "content": "Hi."}], user_id="tess", prefer="wait=20")
        pack = memory.context("emma", query=SECRET)
        hits = memory.search(SECRET).hits
        cited = next(item.id for item in pack.items if item.kind == "state")
        revisions = memory.why(cited).revisions
        memory.correct_state(cited, StateCorrection(reason="she wrote", body_text="So."))
        memory.end_state(cited, "over")
        memory.forget_user("tess")
        memory.forget_session("no-such-session", prefer="wait=60")
        memory.forget_turn("no-such-session", "e", prefer="wait=60")
    found = spans(traced)
    named = [(one.name, (one.attributes or {})["turnfold.operation"]) for one in found]
    assert named == [
        ("upsert_memory", "add"), ("search_memory", "context"), ("search_memory", "search"),
        ("search_memory", "why"), ("update_memory", "correct"), ("update_memory", "end"),
        ("delete_memory", "forget"), ("delete_memory", "forget_session"),
        ("delete_memory", "forget_turn"),
    ]  # fmt: skip
    counts = [(one.attributes or {}).get("gen_ai.memory.record.count") for one in found]
    assert counts == [1, len(pack.items), len(hits), len(revisions), *[None] * 5]
    url = traced.server.client.base_url
    for one in found:
        said = dict(one.attributes or {})
        assert one.kind is SpanKind.CLIENT and one.status.status_code is StatusCode.UNSET
        assert said["gen_ai.operation.name"] == one.name
        assert (said["server.address"], said["server.port"]) == (url.host, url.port)
        answered = arrived(traced, one).said
        assert answered["turnfold.operation"] == said["turnfold.operation"]
        assert answered["gen_ai.memory.store.id"] == "default"
        if said["turnfold.operation"] in ("why", "correct", "end"):
            record = "gen_ai.memory.record.id"
            assert answered[record] == said[record] == cited
        if one.name == "search_memory":
            count = "gen_ai.memory.record.count"
            assert answered[count] == said[count]


def test_nothing_that_people_said_is_in_a_span_unless_it_is_asked_for(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Turnfold(traced.server.url) as memory:
        pack = memory.context("emma", query=SECRET)
        (client,) = spans(traced)
        server = arrived(traced, client)
    requests = [one.said for one in traced.collector.spans if one.id == server.parent]
    told = json.dumps([dict(client.attributes or {}), server.said, *requests])
    assert requests
    for text in (SECRET, "emma", *(item.text for item in pack.items if item.text)):
        assert json.dumps(text)[1:-1] not in told
    monkeypatch.setenv(CAPTURE, "true")
    with Turnfold(traced.open.url) as memory:
        pack = memory.context("emma", query=SECRET)
        (client,) = spans(traced)
        server = arrived(traced, client)
    for said in (dict(client.attributes or {}), server.said):
        assert said["gen_ai.memory.query.text"] == SECRET
        records = json.loads(str(said["gen_ai.memory.records"]))
        assert [one["id"] for one in records] == [item.id for item in pack.items]
        assert all("content" in one for one in records)


def test_the_span_of_a_failure_has_its_class_and_not_its_words(traced: Traced) -> None:
    with Turnfold(traced.server.url) as memory, pytest.raises(NotFoundError):
        memory.why("no such state")
    (client,) = spans(traced)
    assert client.status.status_code is StatusCode.ERROR and not client.status.description
    assert (client.attributes or {})["error.type"] == "404" and not client.events
    assert arrived(traced, client).said["error.type"] == "404"
    with Turnfold("http://127.0.0.1:1", retries=0) as away, pytest.raises(UnreachableError):
        away.context("emma")
    (client,) = spans(traced)
    assert (client.attributes or {})["error.type"] == "UnreachableError"


async def test_the_async_client_carries_the_trace_of_its_task(traced: Traced) -> None:
    async with AsyncTurnfold(traced.server.url, tenant="default") as memory:
        with trace.get_tracer("app").start_as_current_span("answer"):
            await asyncio.gather(memory.context("emma"), memory.context("li"))
    *own, answer = spans(traced)
    assert [one.name for one in own] == ["search_memory"] * 2
    for one in own:
        assert one.parent and one.parent.span_id == answer.get_span_context().span_id  # type: ignore[union-attr]
        assert (one.attributes or {})["gen_ai.memory.store.id"] == "default"
        arrived(traced, one)


def test_what_is_no_operation_on_memory_has_no_span(traced: Traced) -> None:
    with Turnfold(traced.server.url) as memory:
        memory.user("emma")
    assert spans(traced) == []


def test_client_and_server_call_the_same_requests_the_same() -> None:
    operations = {
        (route.method, route.path): route.operation for route in ENDPOINTS if route.operation
    }
    for (method, path), operation in operations.items():
        formatted = re.sub(r"\{\w+\}", "s%2F1", path)
        known = tracing._operation(Call(method, formatted, {}))
        assert known is not None and known[0] == tuple(operation), (method, path)
        is_of_one = "{state_id}" in path or "{preference_id}" in path
        assert known[1] == ("s/1" if is_of_one else None)
    assert len(operations) == len(tracing._OPERATIONS)


def test_without_opentelemetry_the_client_works_as_ever(traced: Traced, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "from turnfold_client import Turnfold, tracing\n"
        "assert not tracing.INSTALLED\n"
        "print(Turnfold(sys.argv[1]).context('emma').known)\n"
    )
    done = subprocess.run(
        [sys.executable, program, traced.server.url], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
