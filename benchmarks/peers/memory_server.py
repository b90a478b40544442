"""A session's memory over HTTP, beside a peer's: redis agent-memory-server with its own Redis.

    python -m benchmarks.peers.memory_server --environment peer-venv \
        --redis "redis-server --loadmodule redisearch.so --loadmodule rejson.so"

`--environment` is a virtual one that has agent-memory-server; `--redis` starts a Redis with search
and JSON (8, or Redis Stack). All servers are given the same dialogues of SGD: some at first, then
sessions are asked for, then new ones are written turn by turn, each session's next turn after the
others'. At the end every session written is read back, text by text.

What a write is differs. Ours appends one turn: it is in a log (over a history synced to the disk,
over Kafka as the broker keeps it), folded with the rules that find memory, and committed before
the reply. The peer has no append: the client sends the whole session, which replaces the one in
Redis, so of two writers one loses; Redis syncs its log every second, in `peer-synced` before the
reply. Its memory is found later, by a model that is not here: all but `peer-as-it-comes` leave
that out, log warnings only, and look for no old rows. `peer-as-it-comes` is started by its own
command with its defaults: each write goes to its task queue, too, where no worker takes it.
"""

import argparse
import asyncio
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx

from benchmarks import http_load
from benchmarks.common import note, sgd_records, show
from benchmarks.http_load import HOST, load
from benchmarks.peers.__main__ import cpu_seconds
from benchmarks.peers.latency import percentiles
from benchmarks.serving_load import CONNECTIONS, NDJSON, PROGRAM, Process, encode
from schemas.base import JsonObject
from streams.broker import Broker, ports

READY_WITHIN = 120.0
MANY = 1_000_000
"""Turns of SGD that there are for everybody, taken as they are needed."""
AT_ONCE = 500
"""Records a request where ours is filled."""
KEPT = 40
"""Texts of a session that ours keeps in its document: 20 conversations."""
KEEPS_UP = 0.97
APPLIED = "Prefer: return=minimal, wait=60"
HEAD = ("server", "request", "asked/s", "answered/s", "latency", "CPU µs", "behind it", "status")
"""CPU is a request's: of the server, and of Redis, or of worker and broker."""
SETTINGS = {
    "DISABLE_AUTH": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",  # else it asks the network for prices
}
QUICK_SETTINGS = {
    "LONG_TERM_MEMORY": "false",
    "LOG_LEVEL": "WARNING",
    "USE_DOCKET": "false",
    "WORKING_MEMORY_MIGRATION_COMPLETE": "true",
}
AS_IT_COMES = ("agent-memory", "api", "--host", HOST, "--port")
# as its command does, which cannot leave out the access log
QUICK_PROGRAM = """
import sys, uvicorn
from agent_memory_server.logging import configure_logging
configure_logging()
app, port = "agent_memory_server.main:app", int(sys.argv[1])
uvicorn.run(app, port=port, access_log=False, proxy_headers=False)
"""
QUICK = ("python", "-c", QUICK_PROGRAM)
VERSIONS = """
import platform, sys
from importlib.metadata import distributions
found = [f"{one.name} {one.version}" for one in distributions() if one.name in sys.argv]
print(", ".join([f"Python {platform.python_version()}", *sorted(found)]))
"""
TOLD = ("agent-memory-server", "fastapi", "uvicorn", "uvloop", "httptools", "redis", "hiredis")

Turns = Sequence[JsonObject]
"""A session's, from its first, in order."""


class Api(NamedTuple):
    """How a server is asked. `reads`: paths by what is read, the first holds the `texts` said."""

    reads: dict[str, Callable[[JsonObject], str]]
    fill: Callable[[Iterable[Turns]], Iterator[bytes]]
    write: Callable[[Turns], bytes]
    """Adds a session's last turn; the ones before were written."""
    texts: Callable[[Any], list[str]]


# --- how each is asked ------------------------------------------------------------------------


def _said(turns: Turns) -> list[str]:
    return [text for turn in turns for text in (turn["user_input"], turn["agent_answer"])]


def _named(turn: JsonObject) -> str:
    return quote(turn["session_id"], safe="")


def _records(sessions: Iterable[Turns]) -> Iterator[bytes]:
    lines = [encode(turn) for turns in sessions for turn in turns]
    for at in range(0, len(lines), AT_ONCE):
        body = b"\n".join(lines[at : at + AT_ONCE])
        yield http_load.post("/v1/records", body, NDJSON, APPLIED)


OURS = Api(
    {
        "session": lambda turn: f"/v1/sessions/{_named(turn)}",
        "session context": lambda turn: f"/memory/session/{_named(turn)}",
    },
    _records,
    lambda turns: http_load.post("/v1/records", encode(turns[-1]), "application/json", APPLIED),
    lambda document: [
        text
        for one in document["conversations"]
        for text in (one["user_input"], one["agent_answer"])
    ],
)


def _working_memory(turn: JsonObject) -> str:
    return f"/v1/working-memory/{_named(turn)}?user_id={turn['user_id']}"


def _put(turns: Turns) -> bytes:
    roles = (("user", "user_input"), ("assistant", "agent_answer"))
    messages = [
        {
            "id": f"{turn['event_id']}-{role}",
            "role": role,
            "content": turn[field],
            "created_at": turn["occurred_at"],
        }
        for turn in turns
        for role, field in roles
    ]
    body = encode({"messages": messages, "user_id": turns[0]["user_id"]})
    return b"PUT" + http_load.post(_working_memory(turns[0]), body).removeprefix(b"POST")


PEER = Api(
    {"session": _working_memory},
    lambda sessions: map(_put, sessions),
    _put,
    lambda document: [message["content"] for message in document["messages"]],
)


# --- the servers ------------------------------------------------------------------------------


class Server(ExitStack):
    """One server and what it keeps its memory in: processes with a folder, which end with it."""

    def __init__(self, api: Api, folder: Path) -> None:
        super().__init__()
        self.api, self.folder = api, folder
        self.port, self.spare_port = ports.free(2)
        self.behind: list[int] = []
        """Process ids, as `front`."""

    def start(self, name: str, command: Sequence[str]) -> int:
        """Its process id; its log is `name`.log in the folder."""
        process = Process(self.folder, name, command)
        self.callback(process.stop)
        return process.running.pid

    def answer(self, command: Sequence[str], path: str) -> None:
        """Starts the one that answers, given its port as the last argument, and waits until it
        does with 200."""
        self.front = self.start("front", [*command, str(self.port)])
        url = f"http://{HOST}:{self.port}{path}"
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            try:
                if httpx.get(url).status_code == httpx.codes.OK:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.2)
        logs = [path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log")]
        sys.exit("\n".join([f"nothing answers at {url}; what was said:", *logs]))

    def cpu(self) -> tuple[float, float]:
        """Seconds so far: of the front, of all behind."""
        return cpu_seconds(self.front), sum(map(cpu_seconds, self.behind))


def over_a_history(here: Server, _: argparse.Namespace) -> None:
    """`serve` alone."""
    history = str(here.folder / "history")
    here.answer(
        [PROGRAM, "serve", "--history", history, "--extractor", "none", "--port"], "/readyz"
    )


def over_kafka(here: Server, _: argparse.Namespace) -> None:
    """Broker, worker and `serve`."""
    broker = here.enter_context(Broker.start())
    told = ["--bootstrap", broker.bootstrap]
    here.behind = [node.pid for node in broker.nodes if node.pid is not None]
    here.behind.append(
        here.start("worker", [PROGRAM, "kafka", "worker", *told, "--extractor", "none"])
    )
    here.answer([PROGRAM, "serve", *told, "--port"], "/readyz")


def peer(
    here: Server,
    given: argparse.Namespace,
    sync: str = "everysec",
    command: Sequence[str] = QUICK,
    settings: Mapping[str, str] = QUICK_SETTINGS,
) -> None:
    """Redis and the peer. `sync`: when Redis syncs its log to the disk."""
    listens = f"--port {here.spare_port} --bind {HOST} --dir {here.folder}"
    kept = f"--appendonly yes --appendfsync {sync}"
    redis = here.start("redis", shlex.split(f"{given.redis} {listens} {kept}"))
    here.behind = [redis]
    url = {"REDIS_URL": f"redis://{HOST}:{here.spare_port}"}
    told = [f"{name}={value}" for name, value in {**SETTINGS, **settings, **url}.items()]
    program = str(given.environment / "bin" / command[0])
    here.answer(["env", *told, program, *command[1:]], "/v1/health")
    note("".join(re.findall("Redis version=[0-9.]+", (here.folder / "redis.log").read_text())))


SERVERS: dict[str, tuple[Api, Callable[[Server, argparse.Namespace], None]]] = {
    "history": (OURS, over_a_history),
    "kafka": (OURS, over_kafka),
    "peer": (PEER, peer),
    "peer-synced": (PEER, partial(peer, sync="always")),
    "peer-as-it-comes": (PEER, partial(peer, command=AS_IT_COMES, settings={})),
}


# --- the measurements -------------------------------------------------------------------------


def _take(sessions: Iterator[Turns], turns: float) -> list[Turns]:
    """Whole sessions with so many turns at least."""
    taken: list[Turns] = []
    while turns > 0:
        taken.append(next(sessions))
        turns -= len(taken[-1])
    return taken


def _in_turn(sessions: Sequence[Turns]) -> Iterator[Turns]:
    """Everybody's first turn, then everybody's first two, …: a session's writes are far apart."""
    for number in range(1, 1 + max(map(len, sessions))):
        yield from (turns[:number] for turns in sessions if len(turns) >= number)


def _any(requests: Sequence[bytes]) -> Iterator[bytes]:
    """Without end."""
    chance = Random(7)
    while True:
        yield chance.choice(requests)


def _until(ends: float, requests: Iterator[bytes]) -> Iterator[bytes]:
    while time.monotonic() < ends and (request := next(requests, None)) is not None:
        yield request


class Measurement:
    """One server's rows."""

    def __init__(self, name: str, here: Server, given: argparse.Namespace) -> None:
        self.name, self.here, self.given = name, here, given
        every = groupby(sgd_records(MANY), lambda turn: turn["session_id"])
        self.sessions: Iterator[Turns] = (list(turns) for _, turns in every)
        self.written: dict[str, Turns] = {}

    def rows(self) -> Iterator[list[str]]:
        filled = _take(self.sessions, self.given.turns)
        done = asyncio.run(load(self.here.port, self.here.api.fill(filled), connections=4))
        note(f"{self.name}: filled, {dict(done.statuses)}")
        for what, path in self.here.api.reads.items():
            asked = _any([http_load.get(path(turns[0])) for turns in filled])
            for rate in self.given.get_rates:
                yield self._row(f"GET {what}", rate, asked)
        for rate in self.given.write_rates:
            some = _take(self.sessions, rate * (self.given.warm + self.given.seconds))
            yield self._row("write a turn", rate, self._writes(_in_turn(some)))
        self._check()

    def _writes(self, every: Iterator[Turns]) -> Iterator[bytes]:
        for turns in every:
            self.written[turns[0]["session_id"]] = turns
            yield self.here.api.write(turns)

    def _row(self, what: str, rate: int, requests: Iterator[bytes]) -> list[str]:
        """Rate 0 is as fast as it is answered. Who falls behind may ask for three times as long as
        it should have taken."""
        for seconds in (self.given.warm, self.given.seconds):
            before = self.here.cpu()
            found = asyncio.run(
                load(
                    self.here.port,
                    _until(time.monotonic() + 3 * seconds, requests),
                    seconds=seconds,
                    rate=rate or None,
                    connections=CONNECTIONS,
                )
            )
        asked = sum(found.statuses.values())
        spent = zip(self.here.cpu(), before, strict=True)
        front, behind = (f"{(now - then) / asked * 1e6:,.0f}" for now, then in spent)
        keeps_up = found.rate >= KEEPS_UP * rate
        return [
            self.name,
            what,
            f"{rate:,}" if rate else "as fast as it can",
            f"{found.rate:,.0f}",
            percentiles(found.latencies if keeps_up else []),
            front,
            behind,
            " ".join(f"{status}: {times:,}" for status, times in sorted(found.statuses.items())),
        ]

    def _check(self) -> None:
        """Every session written holds the texts of its turns, the newest where not all are kept."""
        path = next(iter(self.here.api.reads.values()))
        wrong = 0
        with httpx.Client(base_url=f"http://{HOST}:{self.here.port}") as client:
            for turns in self.written.values():
                found = self.here.api.texts(client.get(path(turns[0])).json())
                wrong += found[-KEPT:] != _said(turns)[-KEPT:]
        note(f"{self.name}: {len(self.written):,} sessions written, {wrong} read back otherwise")


def main() -> None:
    """Every server in turn, one table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--environment", type=Path, required=True, help="of agent-memory-server")
    parser.add_argument("--redis", required=True, help="command that starts a Redis with modules")
    parser.add_argument("--turns", type=int, default=10_000, help="filled before anything is asked")
    parser.add_argument("--get-rates", type=int, nargs="+", default=[200, 2_000, 0])
    parser.add_argument("--write-rates", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--warm", type=float, default=2)
    parser.add_argument("--only", nargs="+", choices=SERVERS, default=list(SERVERS))
    given = parser.parse_args()
    versions = subprocess.check_output(
        [given.environment / "bin" / "python", "-c", VERSIONS, *TOLD], text=True
    )
    rows: list[list[str]] = []
    for name in given.only:
        api, start = SERVERS[name]
        with tempfile.TemporaryDirectory() as folder, Server(api, Path(folder)) as here:
            start(here, given)
            for row in Measurement(name, here, given).rows():
                note(" | ".join(row))
                rows.append(row)
    show(f"A session's memory over HTTP. Peer: {versions.strip()}", HEAD, rows)


if __name__ == "__main__":
    main()
