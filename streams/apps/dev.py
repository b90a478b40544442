"""Runs broker, worker, sink and HTTP API on one machine, for development.

A process that exits is reported and restarted: all continue from their positions. All are stopped
if one rejects its configuration or data, or exits repeatedly.
"""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from streams.apps.demo import check_ours
from streams.apps.worker import prepare
from streams.apps.worker_settings import WorkerSettings
from streams.broker import Broker
from streams.broker.ports import free
from streams.broker.process import ending, tie
from streams.extractors.registry import MODEL
from streams.files.extractor_choice import dev_choice
from streams.kafka.client.outage_log import SILENT
from streams.kafka.client.settings import KafkaSettings
from streams.observability.logs import WARNINGS_ONLY
from streams.sample import CONVERSATIONS

PARTITIONS = "TURNFOLD_KAFKA_PARTITIONS"
WATCH_EVERY = 0.2
PROGRAM = ("-m", "streams.cli")
END_WITHIN = 40.0
END_WITHOUT_BROKER = 10.0
"""Seconds: without a broker the processes cannot commit."""
STARTS, WITHIN = 3, 60.0
"""Maximum restarts of a process within so many seconds."""
REFUSED = (2, 3, 4)
"""Exit codes after which a restart would fail again."""
UNREACHABLE = 5

Say = Callable[[str], None]


@dataclass(slots=True)
class DevPart:
    """A process that can be restarted; `starts` are the times of restarts."""

    name: str
    start: "Callable[[], subprocess.Popen[bytes]]"
    process: "subprocess.Popen[bytes]"
    log: str = ""
    starts: deque[float] = field(default_factory=deque)

    def begin_again(self, code: int, say: Say) -> bool:
        """Restarts the process; False if that would fail again."""
        now = time.monotonic()
        while self.starts and now - self.starts[0] > WITHIN:
            self.starts.popleft()
        reason = f"the {self.name} {ending(code)}"
        if code in REFUSED:
            say(f"{reason}: ends all")
            return False
        if len(self.starts) == STARTS:
            say(f"{reason}, {STARTS + 1} times within {WITHIN:.0f} s: ends all{self.log}")
            return False
        say(f"{reason}: starts it again")
        self.starts.append(now)
        self.process = self.start()
        return True


def run(
    history: Path,
    kafka: Path,
    port: int | None,
    partitions: int | None,
    http: int,
    say: Say,
    bootstrap: str | None = None,
    extractor: str | None = None,
    page: str | None = None,
    verbose: bool = False,
) -> int:
    """Runs until SIGINT or SIGTERM, or until a process cannot continue; returns 0, or the exit code
    of that process, 5 for the broker.

    `kafka`: folder of the broker's data, as the sink's history contains offsets of its topics.
    `http`: the API's port; 0 is any free one. `bootstrap`: an external broker. `partitions`: by
    default the environment's, as in other commands. `extractor`: stored in the history; the worker
    calls a model in the background. Raises ConfigurationError if the model is not configured.
    `page`: page of the inspector to name; the sample's records are sent. Raises UsageError if the
    history has other data. `verbose`: the parts also log their info.
    """
    if page is not None:
        check_ours(history)
        http = http or free(1)[0]
    extractor_choice = dev_choice(history, extractor)
    if extractor_choice == MODEL:
        from streams.llm.settings import LlmSettings

        LlmSettings.load()
    broker = None if bootstrap else Broker.start(keep=kafka, port=port, say=say, tied=True)
    with broker or nullcontext():
        settings = KafkaSettings.load(
            bootstrap=broker.bootstrap if broker else bootstrap, partitions=partitions
        )
        environment = {PARTITIONS: str(settings.partitions)}
        environment |= {} if verbose else {WARNINGS_ONLY: "dev"}
        worker = WorkerSettings.load()
        prepare(settings, worker)
        address = settings.bootstrap
        ports = dict(zip(("worker", "sink"), map(str, free(2)), strict=True))
        with _signals() as signals:
            commands = _commands(
                history, settings.partitions, http, worker.group, ports, extractor_choice
            )
            parts = [
                _part(
                    name,
                    [*command, "--bootstrap", address],
                    environment,
                    silent=bool(broker) or name != "worker",
                )
                for name, command in commands.items()
            ]
            say(f"Kafka at {address}; memory goes into {history}; Ctrl-C ends all")
            prefix = settings.topic_prefix and f" --topic-prefix {settings.topic_prefix}"
            usual = settings.partitions == KafkaSettings.model_fields["partitions"].default
            number = "" if usual else f"{PARTITIONS}={settings.partitions} "
            say(f"  {number}turnfold kafka produce FILE.ndjson --bootstrap {address}{prefix}")
            for name in sorted(commands.keys() & ports.keys(), reverse=True):
                metrics_port = ports[name]
                say(f"  metrics of the {name}: http://127.0.0.1:{metrics_port}/metrics")
            if page is not None:
                say(f"  the demo's people: http://127.0.0.1:{http}{page}")
            try:
                with _sending(address, environment) if page is not None else nullcontext():
                    return _Watch(parts, broker, signals, say).run()
            finally:
                _end(parts, broker, signals, say)


def _commands(
    history: Path,
    partitions: int,
    http: int,
    group: str,
    ports: dict[str, str],
    extractor: str | None,
) -> dict[str, list[str]]:
    """Commands by process, in the order of stopping: the sink after the worker."""
    history_option = ["--history", str(history)]
    extractor_option = [] if extractor is None else ["--extractor", extractor]
    worker = [
        "kafka",
        "worker",
        *history_option,
        "--partitions",
        str(partitions),
        "--metrics-port",
        ports["worker"],
    ]
    return {
        "worker": [*worker, *extractor_option],
        "serve": [
            "serve",
            *history_option,
            "--port",
            str(http),
            "--app-id",
            group,
            "--metrics-from",
            f"127.0.0.1:{ports['worker']},127.0.0.1:{ports['sink']}",
        ],
        "sink": [
            "kafka",
            "sink",
            *history_option,
            "--roll-seconds",
            "1",
            "--metrics-port",
            ports["sink"],
        ],
    }


def _part(name: str, command: list[str], environment: dict[str, str], silent: bool) -> DevPart:
    """Starts a command in a new session, so that Ctrl-C does not reach it. `silent`: another
    process reports outages of the broker."""
    env = {**os.environ, **environment}
    env |= {SILENT: "dev"} if silent else {}

    def start() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, *PROGRAM, *command],
            start_new_session=True,
            preexec_fn=tie,
            stdout=subprocess.DEVNULL,
            env=env,
        )

    return DevPart(name, start, start())


@contextmanager
def _sending(bootstrap: str, environment: dict[str, str]) -> Iterator[None]:
    """Sends the sample's records in the background; repeated ones are duplicates."""
    with as_file(CONVERSATIONS) as sample:
        command = [sys.executable, *PROGRAM, "kafka", "produce", str(sample)]
        sending = subprocess.Popen(
            [*command, "--bootstrap", bootstrap],
            start_new_session=True,
            preexec_fn=tie,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        try:
            yield
        finally:
            sending.terminate()
            sending.wait()


class _Watch:
    """Watches all processes until a signal arrives, or one cannot continue."""

    def __init__(
        self, parts: Sequence[DevPart], broker: Broker | None, signals: list[int], say: Say
    ) -> None:
        self._parts, self._own, self._came, self._say = parts, broker, signals, say
        self._lost_at: float | None = None
        if broker is not None:
            (node,) = broker.nodes

            def start() -> "subprocess.Popen[bytes]":
                node.start()
                return node.started

            self._broker = DevPart("broker", start, node.started, f"; its log: {node.log}")

    def run(self) -> int:
        """0, or the exit code of the process that cannot continue."""
        while not self._came:
            time.sleep(WATCH_EVERY)
            if self._own is not None and not self._look_at_broker(self._own):
                return UNREACHABLE
            if self._lost_at is None and (code := self._look_at_parts()):
                return code
        return 0

    def _look_at_broker(self, broker: Broker) -> bool:
        code = self._broker.process.poll()
        if code is not None:
            self._lost_at = self._lost_at or time.monotonic()
            return self._broker.begin_again(code, self._say)
        if self._lost_at is not None and broker.nodes_answering():
            self._say(f"the broker is back after {time.monotonic() - self._lost_at:.0f} s")
            self._lost_at = None
        return True

    def _look_at_parts(self) -> int:
        for part in self._parts:
            code = part.process.poll()
            if code is not None and not part.begin_again(code, self._say):
                return code if code > 0 else 1
        return 0


def _end(parts: Sequence[DevPart], broker: Broker | None, signals: list[int], say: Say) -> None:
    """Stops the processes in sequence; all at once without a broker."""
    is_broker_down = broker is not None and not broker.is_running()
    if is_broker_down:
        for part in parts:
            part.process.terminate()
    for part in parts:
        _end_one(part, END_WITHOUT_BROKER if is_broker_down else END_WITHIN, signals, say)


def _end_one(part: DevPart, within: float, signals: list[int], say: Say) -> None:
    """Stops one process; a second Ctrl-C does not wait."""
    part.process.terminate()
    deadline, limit = time.monotonic() + within, max(1, len(signals))
    while part.process.poll() is None and time.monotonic() < deadline and len(signals) <= limit:
        time.sleep(WATCH_EVERY / 4)
    if part.process.poll() is None:
        say(f"the {part.name} does not end: killed; what it committed stands")
        part.process.kill()
    part.process.wait()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Received SIGINTs and SIGTERMs. A list rather than an Event: the lock of an Event would
    deadlock if the handler interrupts the thread that has it."""
    signals: list[int] = []
    before: dict[signal.Signals, Any] = {
        kind: signal.signal(kind, lambda number, _: signals.append(number))
        for kind in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield signals
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
