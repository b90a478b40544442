"""The peers, and how a worker process of each is started: the one place where versions are pinned.

Peers in Python that are no dependency of the project get an environment of their own, made by uv in
the user's cache; Kafka Streams is compiled there.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers import kafka_streams
from streams.broker import jars

ROOT = Path(__file__).parents[2]
QUIX = ("quixstreams==3.28.1", "confluent-kafka==2.12.2", "msgspec==0.22.0")
BYTEWAX = ("bytewax[kafka]==0.21.1", "confluent-kafka==2.16.1", "msgspec==0.22.0")
LAST_WORDS = 3_000

Start = Callable[[Path], list[str]]
"""The command up to its arguments, for a process whose temporary folder is the one given."""


class Peer(NamedTuple):
    """`options` follow the arguments that all have. `slow`: gets a twentieth of the turns.
    `compiles`: a JVM, whose first half of the turns is its warm-up and does not count."""

    start: Start
    options: tuple[str, ...] = ()
    slow: bool = False
    compiles: bool = False


def _ours(module: str) -> Start:
    return lambda _: [sys.executable, "-m", f"benchmarks.peers.{module}"]


def _foreign(module: str, requirements: tuple[str, ...]) -> Start:
    return lambda _: [_python(requirements), "-m", f"benchmarks.peers.{module}"]


def _streams(guarantee: str, commit_ms: str = "default", store: str = "memory") -> Peer:
    return Peer(kafka_streams.command, (guarantee, commit_ms, store), compiles=True)


def _quix(*options: str) -> Peer:
    return Peer(_foreign("quix", QUIX), options)


PEERS = {
    "ours": Peer(_ours("ours")),
    "bare": Peer(_ours("bare")),
    "quix": _quix("at-least-once"),
    "quix-exactly-once": _quix("exactly-once"),
    "quix-exactly-once-20ms": _quix("exactly-once", "0.02"),
    "bytewax": Peer(_foreign("bytewax", BYTEWAX)),
    "kafka-streams": _streams("at_least_once"),
    "kafka-streams-exactly-once": _streams("exactly_once_v2"),
    "kafka-streams-exactly-once-10ms": _streams("exactly_once_v2", "10"),
    "kafka-streams-rocksdb": _streams("exactly_once_v2", store="rocksdb"),
    "faust": Peer(_ours("faust_tutorial"), slow=True),
    "faust-exactly-once": Peer(_ours("faust_tutorial"), ("exactly_once",), slow=True),
}


def start(
    peer: str, folder: Path, bootstrap: str, group: str, source: str, output: str, changelog: str
) -> "subprocess.Popen[bytes]":
    """A worker process. What it keeps on disk lies in `folder`, also for the next of the group; its
    log is there as worker.log. `changelog` is for those that name the topic themselves."""
    command, options = PEERS[peer].start(folder), PEERS[peer].options
    with (folder / "worker.log").open("ab") as log:
        return subprocess.Popen(
            [*command, bootstrap, group, source, output, changelog, *options],
            cwd=ROOT, env={**os.environ, "TMPDIR": str(folder)}, stdout=log, stderr=log,
        )  # fmt: skip


def last_words(folder: Path) -> str:
    """The end of the log of `start`'s workers."""
    return (folder / "worker.log").read_text(errors="replace")[-LAST_WORDS:]


def _python(requirements: tuple[str, ...]) -> str:
    """The interpreter of an environment with these packages, made at the first use."""
    name = requirements[0].replace("[kafka]", "").replace("==", "-")
    folder = jars.cache_folder().parent / "peers" / name
    python = folder / "bin" / "python"
    done = folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        install = ["uv", "pip", "install", "-q", "-p", str(python), *requirements]
        for command in (["uv", "venv", "-q", "--clear", "-p", sys.executable, "."], install):
            # not in the project's folder, whose constraints are not the peers'
            subprocess.run(command, check=True, cwd=folder)
        done.touch()
    return str(python)
