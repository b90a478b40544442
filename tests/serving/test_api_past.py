"""Questions to the history: bounded in time and number, always of the generation that is live."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sinks.generation import FOLDER, Pointer, switch
from sinks.history import connect
from streams import reading
from streams.runtime import local
from streams.serving.memory import Busy
from streams.serving.past import THREADS, WAITING, Past
from streams.serving.problems import Problem
from tests.command import ndjson, turn


def history(root: Path, *records: Any) -> Path:
    """One with these records."""
    file = ndjson(root.with_suffix(".ndjson"), list(records))
    local.run([str(file)], root)
    return root


def asking(past: Past, ask: Callable[[Past], Awaitable[Any]]) -> Any:
    """What comes of it."""

    async def asked() -> Any:
        try:
            return await ask(past)
        finally:
            past.close()

    return asyncio.run(asked())


def endless(root: Path) -> Any:
    """A question that nobody waits for."""
    with connect(root, views=["events"]) as db:
        return db.execute("SELECT count(*) FROM range(10_000_000_000_000)").fetchall()


def quick(root: Path) -> Any:
    return reading.session(root, "default", "s", None, 0)["conversation_count"]


def test_a_question_without_end_is_interrupted(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1"))

    async def ask(past: Past) -> None:
        began = time.monotonic()
        slow = [past.ask("session", endless) for _ in range(THREADS)]
        found = await asyncio.gather(*slow, return_exceptions=True)
        assert [one.status for one in found if isinstance(one, Problem)] == [503] * THREADS
        assert time.monotonic() - began < 10
        assert await past.ask("session", quick) == 1, "the threads are free again"

    asking(Past(root, 1.0), ask)


def test_too_many_questions_are_sent_away(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1"))

    async def ask(past: Past) -> list[Any]:
        asked = [past.ask("session", endless) for _ in range(THREADS + WAITING + 3)]
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asking(Past(root, 0.5), ask)
    assert sum(isinstance(one, Busy) for one in found) == 3


def test_without_a_history_the_answer_says_what_to_start() -> None:
    with pytest.raises(Problem) as told:
        asking(Past(None, 1.0), lambda past: past.ask("session", quick))
    assert told.value.status == 501 and b"--history" in told.value.body


def test_a_generation_that_goes_live_is_asked_next(tmp_path: Path) -> None:
    root = history(tmp_path / "h", turn("e1"))
    (root / FOLDER).mkdir()
    history(root / FOLDER / "other", turn("e1"), turn("e2"))

    async def ask(past: Past) -> tuple[int, int]:
        before = await past.ask("session", quick)
        switch(root, Pointer("other", "root"))
        return before, await past.ask("session", quick)

    assert asking(Past(root, 5.0), ask) == (1, 2)


def test_a_history_that_is_gone_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(Problem) as told:
        asking(Past(tmp_path / "none", 1.0), lambda past: past.ask("session", quick))
    assert told.value.status == 503 and str(tmp_path).encode() not in told.value.body
