"""The HTTP API over a history, without Kafka: one `turnfold serve`, a client beside it.

    python -m benchmarks.serving_embedded --seconds 20

As `benchmarks.serving_load` does over Kafka: records poured in, sessions and summaries asked for at
a steady rate, updates that wait until they can be read, beside a uvicorn that does nothing. CPU is
that of the server process, which other work on the machine bends less than its latencies.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

from benchmarks import http_load
from benchmarks.common import folder_size, machine, sgd_records
from benchmarks.http_load import load
from benchmarks.serving_load import (
    CONNECTIONS,
    NDJSON,
    PROGRAM,
    WAIT,
    Process,
    encode,
    fastest,
    gets,
    say,
    updates,
)
from streams.broker import ports

ANSWERS_WITHIN = 60.0


class Servers:
    """`serve` over a history that is not there yet, and the bare uvicorn."""

    def __init__(self, folder: Path) -> None:
        self.history = folder / "history"
        self.port, self.bare_port = ports.free(2)
        bare = [sys.executable, "-m", "uvicorn", "benchmarks.serving_load:bare",
                "--no-access-log", "--log-level=error", f"--port={self.bare_port}"]  # fmt: skip
        told = ["--history", str(self.history), "--port", str(self.port)]
        self.serve = Process(folder, "serve", [PROGRAM, "serve", *told, "--extractor", "none"])
        self.seconds = self._until_it_answers(self.port)
        self.bare = Process(folder, "bare", bare)
        self._until_it_answers(self.bare_port)

    @staticmethod
    def _until_it_answers(port: int) -> float:
        """Seconds that took."""
        began = time.perf_counter()
        while time.perf_counter() - began < ANSWERS_WITHIN:
            try:
                asyncio.run(load(port, iter([http_load.get("/readyz")]), connections=1))
            except OSError:
                time.sleep(0.01)
            else:
                return time.perf_counter() - began
        sys.exit(f"nothing answers at port {port}")

    def end(self) -> float:
        """Ends the server; seconds until all was committed."""
        began = time.perf_counter()
        self.serve.running.terminate()
        self.serve.running.wait()
        return time.perf_counter() - began


@contextmanager
def servers() -> Iterator[Servers]:
    """Both, with nothing in memory."""
    with tempfile.TemporaryDirectory() as folder:
        made = Servers(Path(folder))
        try:
            yield made
        finally:
            made.serve.stop()
            made.bare.stop()


def pour(here: Servers, turns: int, at_once: int) -> list[str]:
    """Turns as NDJSON, each request answered when its records are applied. Their sessions."""
    every = list(sgd_records(turns))
    lines = [encode(turn) for turn in every]
    bodies = (b"\n".join(lines[at : at + at_once]) for at in range(0, turns, at_once))
    prefer = f"Prefer: return=minimal, wait={WAIT}"
    requests = [http_load.post("/v1/records", body, NDJSON, prefer) for body in bodies]
    before, began = here.serve.cpu(), time.perf_counter()
    found = asyncio.run(load(here.port, iter(requests), connections=4))
    took, spent = time.perf_counter() - began, here.serve.cpu() - before
    print(
        f"/v1/records, {turns:,} of them, {at_once} a request: {turns / took:,.0f} records/s, "
        f"{turns / spent:,.0f} a CPU second, {dict(found.statuses)}",
        flush=True,
    )
    return sorted({turn["session_id"] for turn in every})


def steady(
    process: Process, port: int, name: str, requests: Iterator[bytes], rate: int,
    given: argparse.Namespace,
) -> None:  # fmt: skip
    """One kind of request at a rate."""
    for seconds in (given.warm, given.seconds):
        before = {"server": process.cpu()}
        found = asyncio.run(
            load(port, requests, seconds=seconds, rate=rate, connections=CONNECTIONS)
        )
    say(name, found, {"server": process.cpu}, before)


def measure(here: Servers, given: argparse.Namespace, sessions: Sequence[str]) -> None:
    """Reads and writes at their rates, each beside the bare uvicorn."""
    idle = (http_load.get("/") for _ in count())
    steady(here.bare, here.bare_port, "bare uvicorn", idle, given.get_rate, given)
    for name, requests in gets(sessions):
        steady(here.serve, here.port, name, requests, given.get_rate, given)
    for name, requests in updates(sessions):
        steady(here.serve, here.port, name, requests, given.post_rate, given)
    steady(here.bare, here.bare_port, "bare uvicorn", idle, given.post_rate, given)
    fastest(here.bare_port, "bare uvicorn", "/", given.seconds)
    path = f"/memory/session/{quote(sessions[0], safe='')}"
    fastest(here.port, "GET session context", path, given.seconds)


def peak_memory(pid: int) -> float:
    """MB that were resident at most."""
    told = Path(f"/proc/{pid}/status").read_text().split()
    return int(told[told.index("VmHWM:") + 1]) / 1000


def main() -> None:
    """Everything, once."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=40_000)
    parser.add_argument("--at-once", type=int, default=1_000, help="records a request")
    parser.add_argument("--get-rate", type=int, default=2_000)
    parser.add_argument("--post-rate", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm", type=float, default=2)
    given = parser.parse_args()
    with servers() as here:
        print(f"answers {here.seconds:.2f} s after its start, a new history", flush=True)
        sessions = pour(here, given.turns, given.at_once)
        measure(here, given, sessions)
        peak = peak_memory(here.serve.running.pid)
        ended = here.end()
        files = sum(1 for _ in here.history.rglob("*.parquet"))
        size = folder_size(here.history)
        print(
            f"{peak:.0f} MB resident at most; ended in {ended:.1f} s; {files} files, {size:.0f} MB"
        )
    print(machine())


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error.cmd[0]}: {error.stderr}")
