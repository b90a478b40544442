"""The HTTP API over Kafka: real broker, one worker, one `turnfold serve`, a client beside them.

    python -m benchmarks.serving_load --seconds 20
    python -m benchmarks.serving_load --only posts --post-rate 200

Records are poured in (`/v1/records`), then sessions and summaries are asked for at a steady rate,
then updates that wait until they can be read. A uvicorn with an application that does nothing is
the yardstick: what it cannot do here, no server in Python can. First come a minute's posts that
nobody counts: a broker's JVM compiles for so long, on the cores that all of them share. CPU is that
of the server, the worker, the broker and client, which other work on the machine bends less than
its latencies.
"""

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import quote

import msgspec

from benchmarks import http_load
from benchmarks.common import machine, note, sgd_records
from benchmarks.http_load import HOST, Load, load
from benchmarks.peers.__main__ import broker_cpu, cpu_seconds
from benchmarks.peers.latency import percentiles
from streams.broker import Broker, ports

PROGRAM = str(Path(sys.executable).with_name("turnfold"))
NDJSON = "application/x-ndjson"
READY_WITHIN = 300.0
PARTS = ("gets", "posts")
CONNECTIONS = 64
WAIT = 60
"""Seconds."""

Cpus = Mapping[str, Callable[[], float]]
"""Whose CPU is counted: what tells its seconds."""

encode = msgspec.json.Encoder().encode


async def bare(scope: dict[str, object], receive: object, send: object) -> None:
    """The application that does nothing, as large as a session's context."""
    assert callable(send)
    if scope["type"] != "http":
        return
    headers = [(b"content-type", b"application/json"), (b"content-length", b"400")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"x" * 400})


class Process:
    """A part of what is measured."""

    def __init__(self, folder: Path, name: str, command: Sequence[str]) -> None:
        with (folder / f"{name}.log").open("wb") as log:
            env = {
                **os.environ,
                "TURNFOLD_SERVE_KEY_RATE": "0",
                "TURNFOLD_SERVE_TENANT_RATE": "0",
            }
            self.running = subprocess.Popen(command, stdout=log, stderr=log, env=env)

    def cpu(self) -> float:
        """Seconds, user and system."""
        return cpu_seconds(self.running.pid)

    def stop(self) -> None:
        self.running.kill()
        self.running.wait()


class Servers:
    """Broker, worker, `serve` and the bare uvicorn."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.port, self.bare_port = ports.free(2)
        uvicorn = [sys.executable, "-m", "uvicorn", "benchmarks.serving_load:bare",
                   "--no-access-log", "--log-level=error", f"--port={self.bare_port}"]  # fmt: skip
        told = ["--bootstrap", broker.bootstrap]
        self.worker = Process(
            folder, "worker", [PROGRAM, "kafka", "worker", *told, "--extractor", "none"]
        )
        self.serve = Process(folder, "serve", [PROGRAM, "serve", *told, "--port", str(self.port)])
        self.bare = Process(folder, "bare", uvicorn)
        self.cpus: Cpus = {
            "serve": self.serve.cpu,
            "worker": self.worker.cpu,
            "broker": partial(broker_cpu, broker),
            "client": time.process_time,
        }

    async def ready(self) -> None:
        """Until both answer."""
        deadline = time.monotonic() + READY_WITHIN
        for port in (self.port, self.bare_port):
            while True:
                try:
                    once = iter([http_load.get("/readyz")])
                    asked = await load(port, once, connections=1)
                    if set(asked.statuses) == {200}:
                        break
                except OSError:
                    pass
                if time.monotonic() > deadline:
                    sys.exit(f"nothing answers at port {port} within {READY_WITHIN:.0f} s")
                await asyncio.sleep(0.2)

    def stop(self) -> None:
        for one in (self.serve, self.worker, self.bare):
            one.stop()


@contextmanager
def servers() -> Iterator[Servers]:
    """All of them, with nothing in memory."""
    with Broker.start() as broker, tempfile.TemporaryDirectory() as folder:
        made = Servers(broker, Path(folder))
        try:
            yield made
        finally:
            made.stop()


def say(name: str, found: Load, cpus: Cpus, before: Mapping[str, float]) -> None:
    """One line of a measurement. `before`: CPU seconds of each before it."""
    asked = sum(found.statuses.values())
    told = ", ".join(
        f"{who} {(cpu() - before[who]) / asked * 1e6:,.0f}" for who, cpu in cpus.items()
    )
    sys.stdout.write(
        f"{name:<22} {found.rate:>8,.0f}/s  {percentiles(found.latencies)}  {_statuses(found)}"
        f"  CPU µs each: {told}\n"
    )
    sys.stdout.flush()


def _statuses(found: Load) -> str:
    return " ".join(f"{status}: {times:,}" for status, times in sorted(found.statuses.items()))


# --- the measurements -----------------------------------------------------------------------------


async def records(here: Servers, turns: int, at_once: int) -> list[str]:
    """Turns as NDJSON: first answered when they are in the log, then when all are applied. The ids
    of their sessions."""
    every = list(sgd_records(2 * turns))
    for wait, some in ((0, every[:turns]), (WAIT, every[turns:])):
        lines = [encode(turn) for turn in some]
        bodies = (b"\n".join(lines[at : at + at_once]) for at in range(0, turns, at_once))
        prefer = f"Prefer: return=minimal, wait={wait}"
        requests = [http_load.post("/v1/records", body, NDJSON, prefer) for body in bodies]
        before, worker, began = here.serve.cpu(), here.worker.cpu(), time.perf_counter()
        found = await load(here.port, iter(requests), connections=4)
        took = time.perf_counter() - began
        serve, worker = here.serve.cpu() - before, here.worker.cpu() - worker
        until = "applied" if wait else "in the log"
        sys.stdout.write(
            f"/v1/records, {until:<10} {turns / took:>7,.0f} records/s"
            f", {at_once} a request  {_statuses(found)}  CPU µs a record: "
            f"serve {serve / turns * 1e6:.0f}, worker {worker / turns * 1e6:.0f}\n"
        )
        sys.stdout.flush()
    return sorted({turn["session_id"] for turn in every})


def gets(sessions: Sequence[str]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """What is asked for, without end: a session's context, its document, the summary."""
    chance = random.Random(7)
    for name, path in (
        ("GET session context", "/memory/session/{session}"),
        ("GET session document", "/v1/sessions/{session}"),
        ("GET summary", "/memory/summary?session_id={session}"),
    ):
        known = [http_load.get(path.format(session=quote(one, safe=""))) for one in sessions]
        yield name, (chance.choice(known) for _ in count())


def updates(sessions: Sequence[str]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Session and user updates, without end."""
    numbers = count()
    bodies = (
        {"session_id": f"{sessions[number % len(sessions)]}", "intent": "ask", "topic": "lunch"}
        for number in numbers
    )
    yield (
        "POST session update",
        (http_load.post("/memory/session/update", encode(body)) for body in bodies),
    )
    events = (
        {"user_id": f"user-{number % 500}", "event": {"intent": "ask", "topic": "fractions"}}
        for number in count()
    )
    yield (
        "POST user update",
        (http_load.post("/memory/user/update", encode(body)) for body in events),
    )


async def steady(
    here: Servers, name: str, requests: Iterator[bytes], rate: int, given: argparse.Namespace
) -> None:
    """One kind of request at a rate."""
    await load(here.port, requests, seconds=given.warm, rate=rate, connections=CONNECTIONS)
    before = {who: cpu() for who, cpu in here.cpus.items()}
    found = await load(
        here.port, requests, seconds=given.seconds, rate=rate, connections=CONNECTIONS
    )
    say(name, found, here.cpus, before)


def fastest(port: int, name: str, path: str, seconds: float) -> None:
    """As fast as it can: wrk's own line."""
    if shutil.which("wrk") is None:
        note(f"{name}: there is no wrk here; `apt install wrk` to see how many a second it bears")
        return
    url = f"http://{HOST}:{port}{path}"
    command = ["wrk", "-t1", "-c32", f"-d{seconds:.0f}s", "--latency", url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [" ".join(line.split()) for line in done.stdout.splitlines()]
    kept = [line for line in told if line.startswith(("50%", "99%", "Requests/sec", "Non-2xx"))]
    sys.stdout.write(f"wrk, {name}: {', '.join(kept)}\n")
    sys.stdout.flush()


async def run(here: Servers, given: argparse.Namespace) -> None:
    await here.ready()
    sessions = await records(here, given.turns, given.at_once)
    for _, requests in updates(sessions):
        await load(
            here.port, requests, seconds=given.compiled / 2, rate=given.post_rate,
            connections=CONNECTIONS,
        )  # fmt: skip
    idle = (http_load.get("/") for _ in count())
    if "gets" in given.only:
        bare = {"bare": here.bare.cpu}
        before = {"bare": here.bare.cpu()}
        found = await load(
            here.bare_port,
            idle,
            seconds=given.seconds,
            rate=given.get_rate,
            connections=CONNECTIONS,
        )
        say("bare uvicorn", found, bare, before)
        for name, requests in gets(sessions):
            await steady(here, name, requests, given.get_rate, given)
        context = f"/memory/session/{quote(sessions[0], safe='')}"
        fastest(here.bare_port, "bare uvicorn", "/", given.seconds)
        fastest(here.port, "GET session context", context, given.seconds)
    if "posts" in given.only:
        for name, requests in updates(sessions):
            await steady(here, name, requests, given.post_rate, given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=20_000, help="poured in twice")
    parser.add_argument("--at-once", type=int, default=1_000, help="records a request")
    parser.add_argument("--get-rate", type=int, default=2_000)
    parser.add_argument("--post-rate", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm", type=float, default=3, help="seconds before each measurement")
    parser.add_argument(
        "--compiled", type=float, default=60, help="seconds of posts before all, for the JVM"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    with servers() as here:
        asyncio.run(run(here, given))
    sys.stdout.write(machine() + "\n")


if __name__ == "__main__":
    main()
