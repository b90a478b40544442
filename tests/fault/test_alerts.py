"""Every way to lose a process raises an alert in a real Prometheus: killed, frozen, cut off from
its broker or its disk; so does the first event of its kind. The rules are the shipped ones, with
shorter durations."""

import json
import re
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
import yaml

from schemas.dead_letters import REASONS
from streams.broker import Broker, Security
from tests.command import turn
from tests.fault.part import API, Part
from tests.fault.prometheus import RULES, TOO_LONG, Prometheus
from tests.fault.proxy import Proxy
from tests.kafka.working import message, produced
from tests.llm.endpoint import Endpoint

pytestmark = [pytest.mark.nightly, pytest.mark.needs("prometheus")]

SCALE = 30
COUNTER = re.compile(r"\bturnfold_\w+_total\b")
BUDGETS = ("TurnfoldErrorBudgetBurns", "TurnfoldWritesBurn", "TurnfoldFreshnessBurns")
"""Fire on after an outage, for as long as its share of the error budget stands in their windows."""


class Installation:
    """A broker, a worker, a sink, a server, and a Prometheus that scrapes them. The worker reaches
    the broker through a proxy."""

    def __init__(self, broker: Broker, proxy: Proxy, folder: Path, prometheus: Prometheus) -> None:
        self.broker, self.proxy, self.prometheus = broker, proxy, prometheus
        at = ("--bootstrap", broker.bootstrap)
        history = ("--history", str(folder / "memory"))
        self.worker = Part("worker", folder, "--bootstrap", f"127.0.0.1:{proxy.port}")
        self.worker.until_ready(True)
        self.sink = Part("sink", folder, *at, *history, "--roll-seconds", "1")
        self.server = Part("serve", folder, *at, "--port", "0", TURNFOLD_SERVE_QUOTA_RECORDS="1")
        self.parts = (self.worker, self.sink, self.server)
        self._number = 0
        self.scrape()

    def scrape(self) -> None:
        """From now on, where the parts listen now."""
        self.prometheus.targets({part.job: [f"127.0.0.1:{part.port()}"] for part in self.parts})

    def send(self, count: int = 20) -> None:
        """Turns that nobody has sent before."""
        first, self._number = self._number, self._number + count
        records = [
            turn(f"e{number}", session_id=f"s{number % 7}")
            for number in range(first, first + count)
        ]
        lines = [message(json.dumps(record).encode()) for record in records]
        produced(self.broker.bootstrap, lines)

    def until_quiet(self) -> None:
        for part in self.parts:
            part.until_ready(True)
        self.prometheus.until_quiet(*BUDGETS)

    def broken(self) -> None:
        """A request that a server without a broker cannot answer."""
        port = self.server.port(API)
        self.server.get("/memory/session/s1", port)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("alerts")
    with (
        Proxy() as proxy,
        Broker.start(
            security=Security(advertised=[proxy.port]), short_lived=True, keep=folder / "kafka"
        ) as broker,
        Prometheus.start(folder / "prometheus", SCALE) as prometheus,
    ):
        proxy.target = broker.nodes[0].ports["PROXIED"]
        made = Installation(broker, proxy, folder, prometheus)
        try:
            yield made
        finally:
            for part in made.parts:
                part.process.send_signal(signal.SIGCONT)
                part.kill()


@contextmanager
def frozen(send: Callable[[signal.Signals], None]) -> Iterator[None]:
    send(signal.SIGSTOP)
    try:
        yield
    finally:
        send(signal.SIGCONT)


def fires(name: str, **labels: str) -> dict[str, str]:
    return {"alertname": name, **labels}


def test_counters_of_the_rules_are_there_before_anything_has_happened(
    installation: Installation,
) -> None:
    for part in installation.parts:
        part.until_ready(True)
    exported = [part.counters() for part in installation.parts]
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    rules = group["rules"]
    used = {name for rule in rules for name in COUNTER.findall(rule["expr"])}
    used -= {"turnfold_model_groups_total", "turnfold_http_requests_total"}
    for name in used:
        samples = [one for counters in exported for one in counters.get(name, {}).items()]
        assert {value for _, value in samples} == {0.0}, name
        reasons = {dict(labels)["reason"] for labels, _ in samples if "reason" in dict(labels)}
        assert reasons in (set(), set(REASONS)), name


def test_a_healthy_installation_raises_nothing(installation: Installation) -> None:
    installation.send()
    installation.prometheus.until_quiet()


def test_the_first_dead_letter_and_the_first_misfit(installation: Installation) -> None:
    bad = ("turns", b"default/s1", b"{no json", ())
    row = ("history", b"x", b"{no row", [("table", b"events")])
    produced(installation.broker.bootstrap, [bad, row])
    installation.prometheus.until(
        fires("TurnfoldDeadLetters", reason="bad_json"), fires("TurnfoldSinkMisfits")
    )
    installation.until_quiet()


@pytest.mark.parametrize("name", ["worker", "sink"])
def test_a_frozen_process(name: str, installation: Installation) -> None:
    """Its few records wait: the lag is constant and small."""
    part = getattr(installation, name)
    group = "turnfold" if name == "worker" else "sink"
    with frozen(part.process.send_signal):
        installation.send(3)
        installation.prometheus.until(
            fires("TurnfoldDown", job=part.job),
            fires("TurnfoldAbsent", component=name),
            fires("TurnfoldLagStands", group=group),
        )
    installation.until_quiet()


@pytest.mark.parametrize("name", ["worker", "sink", "serve"])
def test_a_killed_process(name: str, installation: Installation) -> None:
    part = {one.name: one for one in installation.parts}[name]
    part.kill()
    installation.send(3)
    wanted = [fires("TurnfoldDown", job=part.job), fires("TurnfoldAbsent", component=name)]
    if name != "serve":
        wanted.append(fires("TurnfoldLagStands"))
    installation.prometheus.until(*wanted)
    installation.prometheus.targets({part.job: []})  # as service discovery forgets it
    installation.prometheus.until(fires("TurnfoldAbsent", component=name))
    part.start()
    installation.scrape()
    installation.until_quiet()


@pytest.mark.parametrize("way", ["frozen", "killed"])
def test_a_broker_that_is_away(way: str, installation: Installation) -> None:
    """Workers, sinks and servers answer, and say that they are not ready."""
    node = installation.broker.nodes[0]
    if way == "frozen":
        node.signal(signal.SIGSTOP)
    else:
        node.kill()
    try:
        told = [part.until_ready(False) for part in installation.parts]
        assert "no fetch was answered for" in told[0]["about"] + told[1]["about"], told
        progress = [
            fires("TurnfoldNoProgress", job=part.job, act="fetch") for part in installation.parts
        ]
        named = ("TurnfoldNotReady", "TurnfoldServerErrors", "TurnfoldErrorBudgetBurns")
        expected = [*progress, *map(fires, named)]
        deadline = time.monotonic() + TOO_LONG
        while missing := installation.prometheus.missing(expected):
            installation.broken()
            assert time.monotonic() < deadline, missing
            time.sleep(0.2)
    finally:
        if way == "frozen":
            node.signal(signal.SIGCONT)
        else:
            node.start()
        installation.broker.await_ready()
    installation.until_quiet()


def test_a_worker_that_is_cut_off_from_the_broker(installation: Installation) -> None:
    """It answers Prometheus; its lag is known by what the broker says to others."""
    worker = installation.worker
    installation.proxy.stall()
    try:
        installation.send(3)
        assert " for " in worker.until_ready(False)["about"]
        installation.prometheus.until(
            fires("TurnfoldNoProgress", job=worker.job),
            fires("TurnfoldLagStands", group="turnfold"),
        )
    finally:
        installation.proxy.flow()
    installation.until_quiet()


def test_a_sink_whose_disk_is_full(installation: Installation) -> None:
    """Its log is on that disk, too."""
    sink = installation.sink
    limits = resource.prlimit(sink.process.pid, resource.RLIMIT_FSIZE)
    most = sink.file.stat().st_size + 60
    resource.prlimit(sink.process.pid, resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        installation.send()
        assert "no write succeeded for" in sink.until_ready(False)["about"]
        installation.prometheus.until(fires("TurnfoldNoProgress", job=sink.job, act="write"))
    finally:
        resource.prlimit(sink.process.pid, resource.RLIMIT_FSIZE, limits)
    installation.until_quiet()


def test_a_tenant_beyond_its_quota(installation: Installation) -> None:
    url = f"http://127.0.0.1:{installation.server.port(API)}/v1/records"
    lines = [json.dumps(turn(f"quota-{number}", session_id="s1")) for number in range(500)]
    post = partial(httpx.post, url, headers={"Content-Type": "application/x-ndjson"})
    assert post(content="\n".join(lines)).status_code == 200  # its deficit delays the next ones
    for _ in range(110):
        assert post(content=lines[0]).status_code == 429
    installation.prometheus.until(fires("TurnfoldQuotaRefuses", limit="records"))


@pytest.fixture
def no_extractor(installation: Installation) -> Iterator[None]:
    """Prometheus would miss the extractor of a test for hours: its own port takes that place."""
    yield
    prometheus = installation.prometheus
    prometheus.targets({"turnfold-extract": [prometheus.url.removeprefix("http://")]})


@pytest.mark.usefixtures("no_extractor")
def test_a_model_that_is_down_one_without_budget_and_an_extractor_that_is_killed(
    installation: Installation, tmp_path: Path
) -> None:
    at = ("--bootstrap", installation.broker.bootstrap, "--model", "test", "--turns", "1",
          "--idle-seconds", "1")  # fmt: skip

    @contextmanager
    def extracting(url: str, *options: str) -> Iterator[None]:
        small = {"TURNFOLD_LLM_MAX_OUTPUT_TOKENS": "100"}
        part = Part("extract", tmp_path, *at, "--base-url", url, *options, **small)
        try:
            installation.prometheus.targets({part.job: [f"127.0.0.1:{part.port()}"]})
            yield
        finally:
            part.kill()

    installation.send()
    with Endpoint() as asked, extracting(asked.url, "--hourly-tokens", "9000"):
        installation.prometheus.until(fires("TurnfoldModelBudget", budget="hour", unit="tokens"))
    with extracting(asked.url, "--group", "another"):
        installation.prometheus.until(fires("TurnfoldModelDown"))
    installation.prometheus.until(fires("TurnfoldAbsent", component="extract"))
