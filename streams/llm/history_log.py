"""The turn log of a served history: turns are folded first, then sent to the model.

Pending turns are derived from the history's tables, where plans name their turns, so a crash loses
nothing and no further state is needed. A record is appended to the server's log at once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from schemas.base import JsonObject
from sinks.generation import find_tables
from streams.errors import ConfigurationError
from streams.files.open_generation import erasing
from streams.llm.client import Still
from streams.llm.debounce import Debounce, Group, Turn
from streams.llm.driver import TICK, WAVE, Driver
from streams.llm.history import Key, Reader, key_of, shown, undone, with_texts
from streams.llm.plans import Author
from streams.llm.settings import LlmSettings

AT_ONCE = 5_000
"""Maximum turns per query of the tables: bounds memory."""
LOOK_EVERY = 0.25
"""Minimum seconds between two queries of the tables."""
NO_ROOM_AGAIN = 5.0


class Posts(Protocol):
    """The server's log of records."""

    def post(self, record: JsonObject) -> Awaitable[int | None]:
        """Appends a record; returns its offset, or a greater one, once it is on disk. None if the
        log cannot take it now."""

    @property
    def end(self) -> int | None:
        """The greatest offset in the log; None while the history is not open."""

    @property
    def committed(self) -> int:
        """The greatest offset that the tables include."""


async def opened(
    root: Path, settings: LlmSettings, posts: Posts, *, ends: bool = False, again: bool = False
) -> "ServerLog":
    """Opens the turn log once the tables include the server's log of an earlier process."""
    while (end := posts.end) is None or posts.committed < end:
        await asyncio.sleep(TICK)
    return ServerLog(root, settings, posts, ends=ends, again=again)


class ServerLog:
    """Implements `driver.TurnLog`. `settled_to`: every turn up to this offset of the server's log
    has a plan or a dead letter. `ends`: end when all turns are settled. `again`: retry failed
    groups once."""

    def __init__(
        self, root: Path, settings: LlmSettings, posts: Posts, *, ends: bool, again: bool
    ) -> None:
        self.settled_to = -1
        self.total = 0
        """Number of turns returned by `read`."""
        self.ends = ends
        self.history = root
        self._settings = settings
        self._posts = posts
        self.shown = Reader(partial(shown, root))
        self._author = Author("", "")
        self._refused_since = time.time_ns() // 1000 if again else 0
        self._tables: Path | None = None
        self._since = 0  # recording time of the oldest turn that may be pending
        self._looked = -1  # committed offset at the last query
        self._next_look = 0.0
        self._taken: set[Key] = set()
        self._posted_to = -1
        self._newest: Turn | None = None
        self._gathers_until: float | None = None  # the open groups are idle then
        self._hurries = self._has_more = False
        self.progress: Callable[[], None] = lambda: None
        """Called at each `read`."""

    def hurry(self) -> None:
        """Sends the pending turns without waiting for further ones."""
        self._hurries = True

    async def begin(self, driver: Driver) -> None:
        self._author = driver.extractor.author
        self._looked, self._taken = -1, set()
        while self._posts.committed < self._posted_to and not driver.is_over:
            await asyncio.sleep(TICK)

    async def read(self, waiting: int) -> list[Group] | None:
        """Returns the groups that are closed by now."""
        self.progress()
        committed, now = self._posts.committed, time.monotonic()
        is_idle = self._gathers_until is not None and now >= self._gathers_until
        is_due = committed != self._looked or is_idle or self._hurries or self.ends
        room = 0 if self.ends and not self._has_more else WAVE * self._settings.concurrency
        if waiting > room or not is_due or now < self._next_look:
            await asyncio.sleep(TICK)
            return []
        self._looked, self._next_look = committed, now + LOOK_EVERY
        hurries, self._hurries = self._hurries, False
        turns = await asyncio.to_thread(self._undone)
        self._has_more = len(turns) == AT_ONCE
        if not turns:
            self.settled_to = committed
        groups = self._closed(turns, hurries or is_idle)
        if self.ends and not groups and not waiting:
            return None
        for group in groups:
            self._taken.update(map(key_of, group.turns))
            self.total += len(group.turns)
        return groups

    def _undone(self) -> list[Turn]:
        """Turns without a stored plan; some plans may be in progress."""
        if (tables := find_tables(self.history)) != self._tables:
            self._tables, self._since, self._taken = tables, 0, set()
        return undone(
            self.history, self._author, self._settings.sources,
            refused_since=self._refused_since, since=self._since, most=AT_ONCE,
        )  # fmt: skip

    def _closed(self, turns: list[Turn], closes: bool) -> list[Group]:
        """The closed groups of pending turns. `closes`: including the open groups."""
        keys = set(map(key_of, turns))
        self._taken &= keys
        if turns:
            self._since = turns[0].recorded_at
        settings = self._settings
        debounce = Debounce(settings.turns, settings.idle)
        new = [turn for turn in turns if key_of(turn) not in self._taken]
        groups = [group for turn in new for group in debounce.add(turn)]
        open_groups = debounce.flush()
        if self.ends:  # an open group may be cut off by AT_ONCE
            closes = not self._has_more or not groups
        if closes or (settings.extract_after == "turn" and not self.ends):
            groups, open_groups = groups + open_groups, []
        newest = new[-1] if open_groups else None
        if newest != self._newest:
            self._newest = newest
            self._gathers_until = newest and time.monotonic() + settings.idle_seconds
        return groups

    def still(self, group: Group) -> Still:
        async def is_there() -> bool:
            return (await asyncio.to_thread(with_texts, self.history, [group]))[0] is not None

        return is_there

    async def write(self, group: Group, record: JsonObject) -> Awaitable[None] | None:
        """Posts a record, mutually exclusive with `forget`. While the log is full, `forget` may
        run, because it may free space."""
        is_there = self.still(group)
        while True:
            pause = TICK
            with suppress(ConfigurationError), erasing(self.history, alone=False):
                if not await is_there():
                    return None
                offset = await self._posts.post(record)
                if offset is not None:
                    self._posted_to = max(self._posted_to, offset)
                    return self._in_tables(offset)
                pause = NO_ROOM_AGAIN
            await asyncio.sleep(pause)

    async def _in_tables(self, offset: int) -> None:
        while self._posts.committed < offset:
            await asyncio.sleep(TICK)

    async def end(self) -> None:
        """Nothing to store: records are in the server's log already."""
        self.progress()
