"""Broker, worker, sink and HTTP API on one machine, for a developer: one start, one end.

A part that ends by itself is reported and started again: all continue where they were.
Where that is of no use, all are ended: a part that refuses its configuration or its data, or one
that ends again and again.
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
from streams.extractors.naming import MODEL
from streams.files.extractor_choice import remembered
from streams.kafka.client.outages import SILENT
from streams.kafka.client.settings import KafkaSettings
from streams.sample import CONVERSATIONS

PARTITIONS = "TURNFOLD_KAFKA_PARTITIONS"
WATCH_EVERY = 0.2
PROGRAM = ("-m", "streams.cli")
END_WITHIN = 40.0
END_WITHOUT_BROKER = 10.0
"""Seconds: without a broker nothing that parts have read can be committed any more."""
STARTS, WITHIN = 3, 60.0
"""How often a part may be started again within so many seconds."""
REFUSED = (2, 3, 4)
"""Exit codes of who would end in the same way again."""
UNREACHABLE = 5

Say = Callable[[str], None]


@dataclass(slots=True)
class Part:
    """A process and how to start it again; `starts` says when that was done."""

    name: str
    start: "Callable[[], subprocess.Popen[bytes]]"
    process: "subprocess.Popen[bytes]"
    log: str = ""
    starts: deque[float] = field(default_factory=deque)

    def begin_again(self, code: int, say: Say) -> bool:
        """Starts it again; False where that is of no use."""
        now = time.monotonic()
        while self.starts and now - self.starts[0] > WITHIN:
            self.starts.popleft()
        how = f"the {self.name} {ending(code)}"
        if code in REFUSED:
            say(f"{how}: ends all")
            return False
        if len(self.starts) == STARTS:
            say(f"{how}, {STARTS + 1} times within {WITHIN:.0f} s: ends all{self.log}")
            return False
        say(f"{how}: starts it again")
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
) -> int:
    """Until SIGINT or SIGTERM, or until a part cannot go on; 0, or the exit code: that of the part,
    5 where it is the broker.

    `kafka` keeps the broker's data: the sink's history knows offsets of its topics. `http` is the
    API's port; it says its URL itself, for 0 is any. `bootstrap`: a broker that somebody else runs.
    `partitions`: by default what the environment says, as in every other command.
    `extractor`: how memory is found in turns; the history remembers it. A model is asked by the
    worker, in the background. Raises ConfigurationError where it is not set.
    `page`: of the inspector; the sample's records are sent, which it shows, and it is named. Raises
    UsageError where the history is somebody's own.
    """
    if page is not None:
        check_ours(history)
        http = http or free(1)[0]
    chosen = remembered(history, extractor)
    if chosen == MODEL:
        from streams.llm.settings import LlmSettings

        LlmSettings.load()
    own = None if bootstrap else Broker.start(keep=kafka, port=port, say=say, tied=True)
    with own or nullcontext():
        settings = KafkaSettings.load(
            bootstrap=own.bootstrap if own else bootstrap, partitions=partitions
        )
        counted = {PARTITIONS: str(settings.partitions)}
        worker = WorkerSettings.load()
        prepare(settings, worker)
        at = settings.bootstrap
        ports = dict(zip(("worker", "sink"), map(str, free(2)), strict=True))
        with _signals() as came:
            commands = _commands(history, settings.partitions, http, worker.group, ports, chosen)
            parts = [
                _part(
                    name,
                    [*command, "--bootstrap", at],
                    counted,
                    silent=bool(own) or name != "worker",
                )
                for name, command in commands.items()
            ]
            say(f"Kafka at {at}; memory goes into {history}; Ctrl-C ends all")
            prefix = settings.topic_prefix and f" --topic-prefix {settings.topic_prefix}"
            usual = settings.partitions == KafkaSettings.model_fields["partitions"].default
            number = "" if usual else f"{PARTITIONS}={settings.partitions} "
            say(f"  {number}turnfold kafka produce FILE.ndjson --bootstrap {at}{prefix}")
            for name in sorted(commands.keys() & ports.keys(), reverse=True):
                where = ports[name]
                say(f"  metrics of the {name}: http://127.0.0.1:{where}/metrics")
            if page is not None:
                say(f"  the demo's people: http://127.0.0.1:{http}{page}")
            try:
                with _sending(at, counted) if page is not None else nullcontext():
                    return _Watch(parts, own, came, say).run()
            finally:
                _end(parts, own, came, say)


def _commands(
    history: Path,
    partitions: int,
    http: int,
    group: str,
    ports: dict[str, str],
    extractor: str | None,
) -> dict[str, list[str]]:
    """The commands by part, in the order in which they end: the sink after the worker."""
    into = ["--history", str(history)]
    found_by = [] if extractor is None else ["--extractor", extractor]
    worker = [
        "kafka",
        "worker",
        *into,
        "--partitions",
        str(partitions),
        "--metrics-port",
        ports["worker"],
    ]
    return {
        "worker": [*worker, *found_by],
        "serve": [
            "serve",
            *into,
            "--port",
            str(http),
            "--app-id",
            group,
            "--metrics-from",
            f"127.0.0.1:{ports['worker']},127.0.0.1:{ports['sink']}",
        ],
        "sink": ["kafka", "sink", *into, "--roll-seconds", "1", "--metrics-port", ports["sink"]],
    }


def _part(name: str, command: list[str], counted: dict[str, str], silent: bool) -> Part:
    """A command of ours, started. In a session of its own: Ctrl-C in a terminal goes to all of one.
    `silent`: another one says when the broker is lost."""
    env = {**os.environ, **counted}
    env |= {SILENT: "dev"} if silent else {}

    def start() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, *PROGRAM, *command],
            start_new_session=True,
            preexec_fn=tie,
            env=env,
        )

    return Part(name, start, start())


@contextmanager
def _sending(bootstrap: str, counted: dict[str, str]) -> Iterator[None]:
    """The sample's records are sent meanwhile; sent again they change nothing."""
    with as_file(CONVERSATIONS) as sample:
        command = [sys.executable, *PROGRAM, "kafka", "produce", str(sample)]
        sending = subprocess.Popen(
            [*command, "--bootstrap", bootstrap],
            start_new_session=True,
            preexec_fn=tie,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **counted},
        )
        try:
            yield
        finally:
            sending.terminate()
            sending.wait()


class _Watch:
    """Looks after all parts until a signal came, or one cannot go on."""

    def __init__(
        self, parts: Sequence[Part], own: Broker | None, came: list[int], say: Say
    ) -> None:
        self._parts, self._own, self._came, self._say = parts, own, came, say
        self._lost_at: float | None = None
        if own is not None:
            (node,) = own.nodes

            def start() -> "subprocess.Popen[bytes]":
                node.start()
                return node.started

            self._broker = Part("broker", start, node.started, f"; its log: {node.log}")

    def run(self) -> int:
        """0, or the exit code of what cannot go on."""
        while not self._came:
            time.sleep(WATCH_EVERY)
            if self._own is not None and not self._look_at_broker(self._own):
                return UNREACHABLE
            if self._lost_at is None and (code := self._look_at_parts()):
                return code
        return 0

    def _look_at_broker(self, own: Broker) -> bool:
        code = self._broker.process.poll()
        if code is not None:
            self._lost_at = self._lost_at or time.monotonic()
            return self._broker.begin_again(code, self._say)
        if self._lost_at is not None and own.nodes_answering():
            self._say(f"the broker is back after {time.monotonic() - self._lost_at:.0f} s")
            self._lost_at = None
        return True

    def _look_at_parts(self) -> int:
        for part in self._parts:
            code = part.process.poll()
            if code is not None and not part.begin_again(code, self._say):
                return code if code > 0 else 1
        return 0


def _end(parts: Sequence[Part], own: Broker | None, came: list[int], say: Say) -> None:
    """Ends the parts one after the other; all at once where no broker takes what they say."""
    away = own is not None and not own.is_running()
    if away:
        for part in parts:
            part.process.terminate()
    for part in parts:
        _end_one(part, END_WITHOUT_BROKER if away else END_WITHIN, came, say)


def _end_one(part: Part, within: float, came: list[int], say: Say) -> None:
    """A second Ctrl-C does not wait."""
    part.process.terminate()
    deadline, before = time.monotonic() + within, max(1, len(came))
    while part.process.poll() is None and time.monotonic() < deadline and len(came) <= before:
        time.sleep(WATCH_EVERY / 4)
    if part.process.poll() is None:
        say(f"the {part.name} does not end: killed; what it committed stands")
        part.process.kill()
    part.process.wait()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """The SIGINTs and SIGTERMs that came. No Event: it has a lock, and a handler that asks for it
    while the thread it has interrupted holds it waits for ever."""
    came: list[int] = []
    before: dict[signal.Signals, Any] = {
        one: signal.signal(one, lambda number, _: came.append(number))
        for one in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield came
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
