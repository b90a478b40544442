"""What an operator sees of a real worker and sink: metrics, readiness, logs, traces."""

import json
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pytest import approx

from schemas.dead_letters import REASONS
from streams.observability.metrics import METRICS
from tests.command import PROGRAM, environment, rows, turn
from tests.kafka.collector import Collector, collecting
from tests.kafka.working import TOO_LONG, Working, alone, message
from tests.llm.endpoint import RECEIVED, SENT, Endpoint, error, in_turn
from tests.waiting import until

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
OTHER = "0af7651916cd43dd8448eb211c80319c"
POSTED = "80e1afed08e019fc1110464cfa66635c"
encode = msgspec.json.Encoder().encode

RECORDS = [
    *(turn(f"e{number}", session_id=f"s{number % 7}") for number in range(50)),
    turn("e0", session_id="s0"),  # a duplicate
    turn("secret", session_id="s1", source="meta_request", user_input="violet-giraffe"),
]


def traceparent(trace: str) -> tuple[str, bytes]:
    return "traceparent", f"00-{trace}-{PARENT}-01".encode()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        port: int = opened.getsockname()[1]
        return port


@dataclass
class Observed:
    """A worker, a sink and a server with their metrics ports; `early` is what /readyz said before
    one was ready. `api` is where the server answers."""

    working: Working
    collector: Collector
    history: Path
    ports: dict[str, int]
    parts: dict[str, "subprocess.Popen[bytes]"]
    early: list[tuple[int, dict[str, Any]]]
    api: str

    def start(self, part: str, env: dict[str, str], *options: str) -> None:
        """Another part than the worker; its log is a file of its name."""
        with (self.working.folder / part).open("wb") as log:
            tier = () if part == "serve" else ("kafka",)
            command = [PROGRAM, *tier, part, "--history", str(self.history), *options]
            command += ["--metrics-port", str(self.ports[part])]
            self.parts[part] = subprocess.Popen(command, env=env, stderr=log, stdout=log)

    def ask(self, part: str, path: str) -> tuple[int, str]:
        """Status and body; 0 where nobody listens."""
        try:
            with urlopen(f"http://127.0.0.1:{self.ports[part]}{path}", timeout=120) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            return refused.code, refused.read().decode()
        except URLError:
            return 0, ""

    def metrics(self, part: str) -> dict[str, dict[tuple[str, ...], float]]:
        """Family -> the values of its labels, sorted by their names, -> value."""
        status, text = self.ask(part, "/metrics")
        assert status == 200
        found: dict[str, dict[tuple[str, ...], float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = tuple(sample.labels[name] for name in sorted(sample.labels))
                values = found.setdefault(sample.name, {})
                values[labels] = values.get(labels, 0.0) + sample.value
        return found

    def until_ready(self, part: str) -> None:
        deadline = time.monotonic() + TOO_LONG
        while True:
            status, body = self.ask(part, "/readyz")
            if status == 200:
                return
            if status:
                self.early.append((status, json.loads(body)))
            assert self.parts[part].poll() is None, self.working.log()[-3000:]
            assert time.monotonic() < deadline, self.working.log()[-3000:]
            time.sleep(0.02)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """All records applied and written."""
    folder = tmp_path_factory.mktemp("observed")
    with alone(folder) as working, collecting() as collector:
        ports = {part: free_port() for part in ("worker", "sink", "serve")}
        api = free_port()
        env = environment(
            **working.kafka,
            TURNFOLD_LOG_FORMAT="json",
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_BSP_SCHEDULE_DELAY="200",
        )
        told = ["--metrics-port", str(ports["worker"]), "--extractor", "rules"]
        url = f"http://127.0.0.1:{api}"
        made = Observed(working, collector, folder / "memory", ports, {}, [], url)
        try:
            made.parts["worker"] = working.start(*told, env=env)
            made.until_ready("worker")
            fill(working)
            working.await_done()
            made.start("sink", env, "--roll-seconds", "0.5")
            await_rows(made)
            made.start("serve", env, "--port", str(api))
            made.until_ready("sink")
            made.until_ready("serve")
            yield made
        finally:
            for part in made.parts.values():
                part.terminate()
                part.wait(TOO_LONG)


def fill(working: Working) -> None:
    plain = [message(encode(record)) for record in RECORDS]
    traced = turn("traced", session_id="s9", user_input="I live in Lisbon.")
    other = turn("other", session_id="s9", user_input="My name is Ann.")
    working.send(
        [
            *plain,
            message(encode(traced), traceparent(TRACE)),
            message(encode(other), traceparent(OTHER)),
            ("turns", b"default/s1", b"{no json", ()),
        ]
    )


def await_rows(made: Observed) -> None:
    deadline = time.monotonic() + TOO_LONG
    while not (made.history / "events").exists() or len(events(made.history)) < 52:
        assert time.monotonic() < deadline, (made.working.folder / "sink").read_text()[-3000:]
        time.sleep(0.2)


def events(history: Path) -> list[tuple[Any, ...]]:
    return rows(history, "SELECT event_id FROM event_current")


def test_a_worker_is_not_ready_before_all_its_lanes_run(observed: Observed) -> None:
    statuses = {status for status, _ in observed.early}
    assert statuses == {503}, observed.early
    assert all(not said["ready"] and said["about"] for _, said in observed.early)
    status, body = observed.ask("worker", "/readyz")
    assert status == 200
    assert json.loads(body)["about"] == "8 lanes run"
    assert observed.ask("worker", "/healthz") == (200, '{"healthy": true}')


def test_guarantee_3_the_metrics_are_the_counters_of_committed_transactions(
    observed: Observed,
) -> None:
    metrics, counts = observed.metrics("worker"), observed.working.counts()
    assert sum(metrics["turnfold_records_read_total"].values()) == counts["read"]
    endings: Counter[str] = Counter()
    for (_, ending, _), value in metrics["turnfold_records_total"].items():
        endings[ending] += int(value)
    assert endings == Counter(
        {name: counts[name] for name in ("applied", "duplicate", "dead", "withheld")}
    )
    assert endings["duplicate"] == endings["dead"] == endings["withheld"] == 1
    letters = metrics["turnfold_dead_letters_total"]
    assert {key[2]: value for key, value in letters.items() if value} == {"bad_json": 1}
    assert {key[2] for key in letters} == set(REASONS)
    assert sum(metrics["turnfold_plans_extracted_total"].values()) == counts["extracted"] > 0
    hops = {key[1]: 0.0 for key in metrics["turnfold_hops_total"]}
    for (_, ending, _), value in metrics["turnfold_hops_total"].items():
        hops[ending] += value
    assert hops == {"folded": counts["hops"]}


def test_a_worker_says_what_it_does(observed: Observed) -> None:
    metrics = observed.metrics("worker")
    assert sum(metrics["turnfold_lanes"].values()) == 8
    assert set(metrics["turnfold_lag_offsets"].values()) == {0.0}
    assert set(metrics["turnfold_restore_progress_ratio"].values()) == {1.0}
    transactions = sum(metrics["turnfold_transactions_total"].values())
    assert sum(metrics["turnfold_transaction_seconds_count"].values()) == transactions > 0
    assert (
        0
        < sum(metrics["turnfold_changelog_bytes_total"].values())
        < sum(metrics["turnfold_written_bytes_total"].values())
    )
    assert metrics["turnfold_ready"] == {(): 1.0}
    assert sum(metrics["faust_topic_partition_offset_commited"].values()) > 52
    assert metrics["process_cpu_seconds_total"][()] > 0


def test_a_sink_says_what_it_has_written(observed: Observed) -> None:
    metrics = observed.metrics("sink")
    written = metrics["turnfold_sink_rows_total"][()]
    assert written >= 52
    assert metrics["turnfold_sink_messages_total"][()] >= written
    assert metrics["turnfold_sink_commit_seconds_count"] == metrics["turnfold_sink_commits_total"]
    assert metrics["turnfold_sink_oldest_seconds"][()] < 5.0


def check_all_are_there(observed: Observed, part: str, quiet: set[str]) -> None:
    """Every metric that is defined for a part, with its labels; but what has not happened."""
    _, text = observed.ask(part, "/metrics")
    found = {
        sample.name: set(sample.labels) - {"le"}
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    for metric in METRICS:
        if metric.part in (part, "process") and metric.name not in quiet:
            name = f"{metric.name}_count" if metric.kind == "histogram" else metric.name
            assert found.get(name) == set(metric.labels), metric.name


@pytest.mark.parametrize("part", ["worker", "sink", "serve"])
def test_every_metric_that_is_defined_is_there_with_its_labels(
    observed: Observed, part: str
) -> None:
    requests = {"turnfold_http_requests_total", "turnfold_http_request_seconds"}
    if part == "serve":  # it has asked the broker, which takes a moment
        until(lambda: "turnfold_group_lag_offsets{" in observed.ask(part, "/metrics")[1])
    check_all_are_there(observed, part, quiet={"turnfold_warnings_total", *requests})


def test_a_model_extractor_says_what_it_does_and_spends(observed: Observed) -> None:
    observed.ports["extract"] = free_port()
    with Endpoint(in_turn(error(503))) as asked:
        env = environment(
            TURNFOLD_LLM_BASE_URL=asked.url, TURNFOLD_LLM_MODEL="test",
            TURNFOLD_LLM_RETRY_SECONDS="0.2", TURNFOLD_LLM_IDLE_SECONDS="1",
            TURNFOLD_LLM_PRICE_INPUT="1", TURNFOLD_LLM_PRICE_OUTPUT="10",
        )  # fmt: skip
        told = [*observed.working.at, "--budget-tokens", "1000000"]
        observed.start("extract", env, *told)
        observed.until_ready("extract")
        deadline = time.monotonic() + TOO_LONG
        metrics = observed.metrics("extract")
        while (calls := metrics.get("turnfold_model_calls_total", {}).get((), 0)) == 0 or (
            metrics["turnfold_model_waiting_groups"][()] > 0
        ):
            assert time.monotonic() < deadline, (observed.working.folder / "extract").read_text()
            time.sleep(0.1)
            metrics = observed.metrics("extract")
    check_all_are_there(observed, "extract", quiet=set())
    assert metrics["turnfold_model_retries_total"] == {(): 1.0}
    assert metrics["turnfold_model_tokens_total"] == {
        ("prompt",): calls * SENT, ("completion",): calls * RECEIVED
    }  # fmt: skip
    spent = calls * (SENT + RECEIVED) / 1e6
    assert metrics["turnfold_model_budget_used_ratio"] == {("run", "tokens"): approx(spent)}
    assert metrics["turnfold_model_cost_total"][()] > 0
    assert metrics["turnfold_model_groups_total"]["planned",] == calls
    assert metrics["turnfold_model_breaker_state"]["closed",] == 1.0


@pytest.mark.parametrize("log", ["log-0", "sink"])
def test_logs_are_json_with_places_and_without_what_people_said(
    observed: Observed, log: str
) -> None:
    text = (observed.working.folder / log).read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines
    for line in lines:
        assert line["time"].endswith("Z") and line["level"] and line["logger"] and line["message"]
    if log == "log-0":
        restored = [line for line in lines if ": restored " in line["message"]]
        assert {(line["topic"], line["partition"]) for line in restored} == {
            (f"turnfold-{table}-changelog", partition)
            for table in ("session-rows", "memory-rows")
            for partition in range(4)
        }
    for said in ("violet-giraffe", "Lisbon", "no json", "say e1"):
        assert said not in text


def arrived(collector: Collector, trace: str) -> set[tuple[str, str]]:
    """Service and name of the spans that are of a trace, or linked to it."""
    spans = collector.spans
    return {(one.service, one.name) for one in spans if trace in {one.trace, *one.links}}


def await_spans(collector: Collector, trace: str, wanted: set[tuple[str, str]]) -> None:
    deadline = time.monotonic() + TOO_LONG
    while not wanted <= arrived(collector, trace):
        assert time.monotonic() < deadline, arrived(collector, trace)
        time.sleep(0.2)


THROUGH = {
    ("turnfold-worker", "process session"),
    ("turnfold-worker", "process memory"),
    ("turnfold-sink", "process sink"),
}


def test_one_trace_goes_from_the_producer_through_both_agents_to_the_history(
    observed: Observed,
) -> None:
    await_spans(observed.collector, TRACE, THROUGH)
    spans = observed.collector.spans
    first = [one for one in spans if one.name == "process session" and TRACE in one.links]
    assert {one.parent for one in first if one.trace == TRACE} <= {PARENT}
    assert {TRACE, OTHER} <= {link for one in spans for link in one.links}
    # batches without a traced record have no span
    assert all(one.links for one in spans if one.service != "turnfold-serve")


def test_one_trace_goes_from_a_request_to_the_history(observed: Observed) -> None:
    posted = turn("posted", session_id="s3", user_input="I live in Lisbon.")
    sent = {"Content-Type": "application/json", "traceparent": traceparent(POSTED)[1].decode()}
    request = Request(f"{observed.api}/v1/records", encode(posted), sent, method="POST")
    with urlopen(request, timeout=120) as answer:
        (result,) = json.load(answer)["results"]
    assert result["ending"] == "applied"
    served = ("turnfold-serve", "POST /v1/records")
    operation = ("turnfold-serve", "upsert_memory")
    await_spans(observed.collector, POSTED, {served, operation, *THROUGH})
    (request_span,) = [one for one in observed.collector.spans if one[:2] == served]
    assert (request_span.trace, request_span.parent) == (POSTED, PARENT)
    followed = [one for one in observed.collector.spans if one.trace == POSTED]
    (operated,) = [one for one in followed if one[:2] == operation]
    assert operated.parent == request_span.id
    assert operated.id in {one.parent for one in followed if one.name == "process session"}
    metrics = observed.metrics("serve")
    assert metrics["turnfold_http_requests_total"]["POST", "/v1/records", "200"] == 1.0
    assert metrics["turnfold_http_request_seconds_count"]["POST", "/v1/records"] == 1.0
    assert metrics["turnfold_write_wait_seconds_count"] == {(): 1.0}
    assert metrics["turnfold_http_in_flight_requests"] == {(): 0.0}


def test_a_port_that_is_taken_ends_the_worker_with_a_reason(observed: Observed) -> None:
    taken = observed.ports["worker"]
    second = observed.working.start(
        "--metrics-port", str(taken), env=environment(**observed.working.kafka)
    )  # fmt: skip
    assert second.wait(TOO_LONG) == 3
    assert f"metrics port: 127.0.0.1:{taken}:" in observed.working.log()
