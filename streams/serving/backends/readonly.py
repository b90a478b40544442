"""Serves a history for reading that sinks write, or `run` in an object store.

An entity is folded again from its history records on each request, which takes about 100 ms; `serve
--bootstrap` follows the tables instead.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import _duckdb

from sinks.generation import find_tables, stamp
from sinks.history import table_names
from sinks.history_root import HistoryError, find_root, is_shared
from sinks.locations import Location
from streams.errors import TurnfoldError
from streams.files.refold import refold, refold_user
from streams.folds.effects import Input
from streams.folds.outcome import Outcome
from streams.observability.readiness import Readiness
from streams.serving.backends.backend import Backend, Busy, EntityRows, NotReady, Table
from streams.serving.backends.live_generation import Live, PointerFollower
from streams.serving.backends.stats import Observed
from streams.serving.backends.tenant_threads import TenantThreads

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
FOLLOW_SECONDS = 2.0
"""In an object store, where each check of the pointer is a request."""
AT_ONCE = 3
WAITING = 32
"""Questions of a tenant that may wait for one of those under way to end."""


class HistoryBackend(Backend):
    """Takes no records."""

    def __init__(self, root: Location) -> None:
        """Raises HistoryError, ConfigurationError if the history cannot be read."""
        self._root = find_root(root)
        super().__init__(self._root)
        self._pointer = PointerFollower(self._root)
        self._threads = TenantThreads("fold", AT_ONCE, WAITING)

    async def __aenter__(self) -> Self:
        parts = [self._watch()]
        if not isinstance(self._root, Path):  # in a folder each question looks by itself
            parts.append(self._follow())
        self._tasks = [asyncio.create_task(part) for part in parts]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        self._threads.close()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            with suppress(HistoryError):  # the store: what is asked of it now is told that
                await asyncio.to_thread(self._pointer.follow)

    @property
    def live(self) -> Live:
        """The promoted generation, at once: it has no tables that would have to be restored."""
        return self._pointer.look()

    async def _watch(self) -> None:
        """A commit does not name the changed rows, so all waiters are woken."""
        commits: list[int] = []
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if not self.changes.awaited():
                continue
            with suppress(HistoryError, OSError):  # reported to the caller
                before, commits = commits, await asyncio.to_thread(self._commits)
                if before != commits:
                    self.changes.tell(self.changes.awaited())

    def _commits(self) -> list[int]:
        """Changes when the live generation does, or one of its tables."""
        folder = find_tables(self.live.tables or self._root)
        if not isinstance(folder, Path):
            return [len((folder / name / "_delta_log").sizes()) for name in table_names()]
        logs = folder.glob("*/_delta_log")
        return [*stamp(self._root), *sorted(log.stat().st_mtime_ns for log in logs)]

    async def rows(self, table: Table, tenant: str, key: str) -> EntityRows:
        ask = refold if table == "sessions" else refold_user

        def folded(live: Live) -> EntityRows:
            rows = ask(live.tables or self._root, tenant, key, live.rules)
            return EntityRows(rows, live.rules)

        try:
            return await self._threads.ask(tenant, folded, lambda: self.live)
        except Busy:
            raise
        except (HistoryError, TurnfoldError, OSError, _duckdb.Error) as error:
            log.warning("the history cannot be read: %s", error)
            raise NotReady("the history cannot be read now; the server's log says why") from None

    async def catch_up(self, table: Table, tenant: str, key: str, within: float) -> None:
        return  # others write

    async def submit(
        self,
        records: Sequence[bytes],
        within: float,
        decoded: Sequence[Input | None] | None = None,
        all_or_none: bool = False,
    ) -> list[Outcome]:
        way = (
            "produce to Kafka, or start `turnfold serve` with --bootstrap as well"
            if is_shared(self._root)
            else "write in the folder that it was copied from"
        )
        raise NotReady(f"{self._kind}, so it can only be read here: {way}")

    @property
    def _kind(self) -> str:
        shared = is_shared(self._root)
        return "sinks write this history" if shared else "this history is a copy of a folder"

    def observed(self) -> Observed:
        return Observed("history")

    async def failed(self) -> BaseException:
        ended, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        return ended.pop().exception() or RuntimeError("it ended")

    def readiness(self) -> Readiness:
        about = f"ready to read; {self._kind}"
        if self._pointer.why:
            about += "; the promoted generation cannot be read; the server's log says why"
        return Readiness(True, about)
