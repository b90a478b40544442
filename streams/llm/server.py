"""The log of a served history: its turns are folded and answered first, then a model is asked.

What is still to be asked about is read from the history's tables, where plans name their turns: so
a kill loses nothing, and nothing else has to be noted. A record is in the server's log as soon as
it is made.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Protocol

from schemas.base import JsonObject
from sinks.generation import find_tables
from streams.errors import ConfigurationError
from streams.files.access import erasing
from streams.llm.client import Still
from streams.llm.driver import TICK, WAVE, Driver, Job
from streams.llm.groups import Debounce, Group, Turn
from streams.llm.history import Key, Shown, Undone, as_stored, key_of
from streams.llm.log_time import LogTime
from streams.llm.plans import Author
from streams.llm.settings import LlmSettings
from streams.llm.spool import alone, fold_left, is_there, known

AT_ONCE = 5_000
"""Turns that one look into the tables takes up: what waits in memory is bounded."""
LOOK_EVERY = 0.25
"""Seconds between two looks, where something was committed or a group may be idle by now."""
NO_ROOM_AGAIN = 5.0
NEVER = (-1, 0.0)


class Posts(Protocol):
    """Where records go, and how far the tables have them."""

    def post(self, record: JsonObject) -> Awaitable[int | None]:
        """Appends it to the log; its offset, or a greater one, once it is on disk. None where the
        log cannot take it now."""

    @property
    def end(self) -> int | None:
        """The greatest offset in the log; None while the history is not open."""

    @property
    def committed(self) -> int:
        """The offset up to which the tables have it."""


@asynccontextmanager
async def opened(root: Path, settings: LlmSettings, posts: Posts) -> AsyncIterator["ServerLog"]:
    """The log, once the tables have what a killed server left in its log, and a killed `extract` in
    its spool. Raises ConfigurationError while another one asks about this history's turns."""
    with alone(root):
        await asyncio.to_thread(fold_left, root)
        while (end := posts.end) is None or posts.committed < end:
            await asyncio.sleep(TICK)
        yield ServerLog(root, settings, posts)


class ServerLog:
    """Implements `driver.TurnLog`. `settled_to`: every turn up to this offset of the server's log
    has a plan, or a dead letter."""

    ends = False

    def __init__(self, root: Path, settings: LlmSettings, posts: Posts) -> None:
        self.settled_to = -1
        self.history = root
        self._root = root
        self._settings = settings
        self._posts = posts
        self._show = as_stored(root)
        self._author = Author("", "", False)
        self._tables: Path | None = None
        self._since = 0  # when the oldest turn was recorded that may be undone
        self._looked = NEVER  # where the tables stood, and when
        self._taken: set[Key] = set()
        self._posted: set[Key] = set()
        self._open: float | None = None  # when the oldest group that gathers is idle (monotonic)
        self._hurries = False
        self._time = LogTime()

    def hurry(self) -> None:
        """Asks about the turns that are there, without waiting for others."""
        self._hurries = True

    async def begin(self, driver: Driver) -> None:
        self._author = driver.asked.author
        self._looked, self._taken = NEVER, set(self._posted)

    async def read(self, waiting: int, running: int) -> list[Job] | None:
        """The groups that are closed by now."""
        stands, now = self._posts.committed, time.monotonic()
        is_idle = self._open is not None and now >= self._open
        is_due = stands != self._looked[0] or is_idle or self._hurries
        full = waiting > WAVE * self._settings.concurrency
        if full or not is_due or now < self._looked[1] + LOOK_EVERY:
            await asyncio.sleep(TICK)
            return []
        self._looked = stands, now
        hurries, self._hurries = self._hurries, False
        turns = await asyncio.to_thread(self._undone)
        if not turns:
            self.settled_to = stands
        jobs = [Job(group) for group in self._closed(turns, hurries)]
        self._taken.update(key_of(turn) for job in jobs for turn in job.group.turns)
        return jobs

    def _undone(self) -> list[Turn]:
        """Turns without a plan; of some it may be on its way."""
        if (tables := find_tables(self._root)) != self._tables:
            self._tables, self._since = tables, 0
            self._taken, self._posted = set(), set()
        with closing(
            Undone(self._root, self._author, self._settings.sources, again=False,
                   since=self._since, most=AT_ONCE)
        ) as undone:  # fmt: skip
            return list(undone.turns())

    def _closed(self, turns: list[Turn], hurries: bool) -> list[Group]:
        names = set(map(key_of, turns))
        self._taken &= names
        self._posted &= names
        if turns:
            self._since = turns[0].recorded_at
        settings = self._settings
        debounce = Debounce(settings.turns, settings.idle)
        left = [turn for turn in turns if key_of(turn) not in self._taken]
        groups = [group for turn in left for group in debounce.add(turn)]
        self._open = None
        if hurries or settings.extract_after == "turn":
            return groups + debounce.flush()
        now = self._time.now(turns[-1].recorded_at if turns else 0)
        groups += debounce.advance(now)
        gathering = [group.turns[-1].recorded_at for group in debounce.flush()]
        if gathering:
            self._open = time.monotonic() + (min(gathering) + settings.idle - now) / 1e6
        return groups

    async def shown(self, job: Job) -> Shown:
        return await self._show(job.group)

    def still(self, job: Job) -> Still:
        return lambda: is_there(job.group, self._root)

    async def write(self, job: Job, record: JsonObject) -> Awaitable[None] | None:
        offset = await self._post(record)
        if offset is None:
            return None
        self._posted.update(map(key_of, job.group.turns))
        return self._in_tables(offset)

    async def _in_tables(self, offset: int) -> None:
        while self._posts.committed < offset:
            await asyncio.sleep(TICK)

    async def _post(self, record: JsonObject) -> int | None:
        """None where the turns were erased: `forget` waits for this, or this for it. While the log
        has no room `forget` is let through, which may make some."""
        while True:
            pause = TICK
            with suppress(ConfigurationError), erasing(self._root, alone=False):
                if not (await asyncio.to_thread(known, [record], self._root))[0]:
                    return None
                offset = await self._posts.post(record)
                if offset is not None:
                    return offset
                pause = NO_ROOM_AGAIN
            await asyncio.sleep(pause)

    async def end(self) -> None:
        """Nothing: what was written is in the server's log."""
