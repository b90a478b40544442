"""Broker, worker, sink and HTTP API on one machine, for a developer: one start, one end."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streams.broker import Broker
from streams.broker.ports import free
from streams.kafka.settings import KafkaSettings
from streams.runtime.worker import WorkerSettings, prepare

WATCH_EVERY = 0.2
END_WITHIN = 40.0


def run(
    history: Path,
    kafka: Path,
    port: int | None,
    partitions: int,
    http: int,
    say: Callable[[str], None],
) -> int:
    """Until SIGINT or SIGTERM, or until a part ends by itself; 0, or that part's exit code.

    `kafka` keeps the broker's data: the sink's history knows offsets of its topics. `http` is the
    API's port; it says its URL itself, for 0 is any.
    """
    with _signals() as came, Broker.start(keep=kafka, port=port, say=say) as broker:
        settings = KafkaSettings.load(bootstrap=broker.bootstrap, partitions=partitions)
        worker = WorkerSettings.load()
        prepare(settings, worker)
        served = ["--history", str(history), "--port", str(http), "--app-id", worker.group]
        parts = {
            "worker": ["worker", "--partitions", str(partitions)],
            "serve": ["serve", *served],
            "sink": ["sink", "--history", str(history), "--roll-seconds", "1"],
        }
        ports = dict(zip(("worker", "sink"), map(str, free(2)), strict=True))
        for name, at in ports.items():
            parts[name] += ["--metrics-port", at]
        running = {
            name: _start([*command, "--bootstrap", broker.bootstrap])
            for name, command in parts.items()
        }
        say(f"Kafka at {broker.bootstrap}; memory goes into {history}; Ctrl-C ends all")
        say(f"  turnstone produce FILE.ndjson --bootstrap {broker.bootstrap}")
        for name, at in ports.items():
            say(f"  metrics of the {name}: http://127.0.0.1:{at}/metrics")
        try:
            return _watch(running, came, say)
        finally:
            for name, part in running.items():  # the sink last: it writes what the worker said
                _end(name, part, say)


def _start(command: list[str]) -> "subprocess.Popen[bytes]":
    """A command of ours. In a session of its own: Ctrl-C in a terminal goes to all of one."""
    return subprocess.Popen([sys.executable, "-m", "streams.cli", *command], start_new_session=True)


def _watch(
    running: dict[str, "subprocess.Popen[bytes]"], came: list[int], say: Callable[[str], None]
) -> int:
    while not came:
        time.sleep(WATCH_EVERY)
        for name, part in running.items():
            code = part.poll()
            if code is not None:
                say(f"the {name} has ended with {code}: ends all")
                return code if code > 0 else 1
    return 0


def _end(name: str, part: "subprocess.Popen[bytes]", say: Callable[[str], None]) -> None:
    part.terminate()
    try:
        part.wait(END_WITHIN)
    except subprocess.TimeoutExpired:
        say(f"the {name} does not end: killed; what it committed stands")
        part.kill()
        part.wait()


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
