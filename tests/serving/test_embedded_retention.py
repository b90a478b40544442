"""A served history with retention: sessions become cold while it answers as before."""

import asyncio
import json
import time
from pathlib import Path

from schemas.base import DAY, format_time
from streams.files.store import Store
from streams.folds import documents
from streams.serving.backends.embedded import EmbeddedBackend
from tests.command import turn

SESSIONS = 20
WITHIN = 120.0


def old() -> list[bytes]:
    said = [turn(f"{n}-{e}", session_id=f"s{n}", occurred_at=f"2020-10-01T0{e}:00:00Z")
            for n in range(SESSIONS) for e in range(3)]  # fmt: skip
    return [json.dumps(one).encode() for one in said]


def now(event_id: str, session_id: str) -> bytes:
    at = format_time(time.time_ns() // 1000)
    return json.dumps(turn(event_id, session_id=session_id, occurred_at=at)).encode()


async def said(memory: EmbeddedBackend, session_id: str) -> list[str]:
    found = await memory.rows("sessions", "default", session_id)
    return [one["task_id"] for one in documents.session(*found)["conversations"]]


def cold(root: Path) -> int:
    store = Store(root / "_store")
    try:
        found = [store.committed("sessions", *at) for at in store.entities("sessions")]
        return sum(one.cold is not None for one in found)
    finally:
        store.close()


def test_sessions_become_cold_and_answer_as_before(tmp_path: Path) -> None:
    root = tmp_path / "h"

    async def first() -> None:
        async with EmbeddedBackend(root) as memory:
            await memory.submit(old(), WITHIN)

    async def second() -> None:
        async with EmbeddedBackend(root, retention=30 * DAY) as memory:
            await memory.submit([now("live", "new")], WITHIN)
            for n in range(SESSIONS):
                assert await said(memory, f"s{n}") == [f"{n}-{e}" for e in range(3)]
            again = await memory.submit(old(), WITHIN)
            assert {one.ending for one in again} == {"duplicate"}
            assert [one.ending for one in await memory.submit([now("back", "s3")], WITHIN)] == [
                "applied"
            ]
            assert await said(memory, "s3") == ["3-0", "3-1", "3-2", "back"]

    asyncio.run(first())
    assert cold(root) == 0
    asyncio.run(second())
    assert cold(root) == SESSIONS - 1
