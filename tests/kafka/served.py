"""`turnfold serve` over Kafka, as a process, and what it may find in the topics."""

import asyncio
import json
import re
import subprocess
import time
from pathlib import Path

import httpx

from schemas.base import SECOND, format_time
from streams.kafka.agents.routing import route
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from tests.command import PROGRAM, environment

TOO_LONG = 120.0
START = 1_750_000_000 * SECOND  # 2025


class Served:
    """A `serve` process; `url` once it has said it."""

    def __init__(self, log: Path, *at: str, env: dict[str, str] | None = None) -> None:
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", *at, "--port", "0"],
                stdout=file, stderr=file, env=env or environment(),
            )  # fmt: skip
        deadline = time.monotonic() + TOO_LONG
        while not (found := re.search(r"(http://\S+) answers", log.read_text())):
            assert self.process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        self.client = httpx.Client(base_url=found[1], timeout=TOO_LONG + 10)

    def await_ready(self) -> None:
        deadline = time.monotonic() + TOO_LONG
        while self.client.get("/readyz").status_code != 200:
            assert time.monotonic() < deadline, self.client.get("/readyz").text
            time.sleep(0.05)

    def stop(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()


def send_marked(settings: KafkaSettings, session: str) -> None:
    """A turn of a session in a transaction, as of a mapping: the log ends with its mark."""
    line = json.dumps({
        "type": "turn", "event_id": "mapped", "session_id": session, "user_id": "u",
        "occurred_at": format_time(START), "user_input": "hello", "agent_answer": "hi",
    }).encode()  # fmt: skip
    way = route(line)
    assert way is not None

    async def send() -> None:
        async with (
            KafkaProducer(**settings.client(), transactional_id=f"mark-{session}") as producer,
            producer.transaction(),
        ):
            await producer.send_and_wait(way.topic, way.value, key=way.key)

    asyncio.run(send())
