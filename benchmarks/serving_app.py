"""CPU time of a GET in the application alone, without sockets: the least of many rounds.

    python -m benchmarks.serving_app

`serving_load` measures the whole server, whose figures differ by 20 % from run to run; a change of
a microsecond shows only here.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.common import machine, sgd_records
from streams.serving.backends.embedded import EmbeddedBackend
from streams.serving.http.app import create_app

HEADERS = [(b"host", b"127.0.0.1:8400")]
encode = msgspec.json.Encoder().encode


def scope_of(address: str) -> dict[str, Any]:
    """A GET from this machine, as ASGI has it."""
    path, _, query = address.partition("?")
    here = ("127.0.0.1", 8400)
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "root_path": "", "headers": HEADERS, "client": here, "server": here, "state": {},
    }  # fmt: skip


async def receive() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def run(turns: int, rounds: int, requests: int) -> None:
    """A line for each kind of GET, of a session of the data."""
    records = list(sgd_records(turns))
    session = sorted({one["session_id"] for one in records})[3]
    with tempfile.TemporaryDirectory() as folder:
        async with EmbeddedBackend(Path(folder) / "history") as backend:
            app = create_app(backend)
            await backend.submit([encode(one) for one in records], 30.0)
            for name, address in (
                ("session context", f"/memory/session/{session}"),
                ("session document", f"/v1/sessions/{session}"),
                ("summary", f"/memory/summary?session_id={session}"),
            ):
                sent: list[Any] = []

                async def send(message: Any, sent: list[Any] = sent) -> None:
                    sent.append(message)

                least = float("inf")
                for _ in range(rounds):
                    began = time.process_time()
                    for _ in range(requests):
                        await app(scope_of(address), receive, send)
                    least = min(least, time.process_time() - began)
                assert {one.get("status", 200) for one in sent} == {200}, sent[0]
                sys.stdout.write(f"GET {name:<18} {least / requests * 1e6:6.1f} CPU µs\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--requests", type=int, default=200, help="of a round")
    given = parser.parse_args()
    asyncio.run(run(given.turns, given.rounds, given.requests))
    sys.stdout.write(machine() + "\n")


if __name__ == "__main__":
    main()
