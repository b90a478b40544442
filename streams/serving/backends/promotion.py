"""Switches to the generation that `promote` or `rollback` makes live, without a restart.

Its tables are built while the old ones answer. Tables and history are switched together when it has
everything that readers have seen:

    promoted -> restore its changelogs -> index its texts -> its history reaches the old one's
    -> close behind -> pause the old tables -> complete -> switch -> drop the old tables
"""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import _duckdb

from schemas.base import SECOND
from sinks.freshness import unread
from sinks.generation import Stamp, find_tables, stamp
from sinks.history_root import HistoryError
from sinks.locations import Location
from streams.files.stored_records import INPUT_TABLES
from streams.serving.backends.live_generation import AGAIN, UNREADABLE, Live, promoted
from streams.serving.backends.replica_tables import ReplicaTables

if TYPE_CHECKING:
    from streams.serving.backends.replica import ReplicaBackend

log = logging.getLogger(__name__)
T = TypeVar("T")

LOOK_SECONDS = 0.1
IN_STORE_SECONDS = 2.0
"""In an object store, where each look is a request."""
CLOSE_SECONDS = 2.0
"""A generation is close enough to wait for if it lags by at most so many seconds."""
STILL_SECONDS = 4.0
"""Maximum pause of the old tables; then they continue, and the switch is retried."""
SIGNALS_SECONDS = 1.0
"""Maximum wait for the user signals of turns. They may never arrive: the turns may have left their
topic before the new generation was started."""
HISTORY_SECONDS = 30.0
"""For so long the new history must have all rows that the old one has now; after that, the rows
that the old one had at the promotion: sinks that write alternately may never be level."""
HISTORY_EVERY = 1.0
TELL_SECONDS = 30.0


class Promotion:
    """Follows a history's pointer. `about`: the step that it waits for, without paths."""

    def __init__(self, root: Location, answering: "ReplicaBackend") -> None:
        self._root = root
        self._answering = answering
        self._wanted = answering.tables.live
        self._unreadable = False
        self._step = ""
        self._told = self._stamped = float("-inf")

    @property
    def awaited(self) -> str | None:
        """The promoted generation while it does not answer yet."""
        live = self._answering.tables.live
        return self._wanted.name if self._wanted.name != live.name else None

    @property
    def about(self) -> str:
        if self._unreadable:
            return "the promoted generation cannot be read; the server's log says why"
        return f"generation {self._wanted.name} is promoted: {self._step}" if self.awaited else ""

    async def run(self) -> None:
        going: asyncio.Task[None] | None = None
        last_stamp: Stamp | None = None
        looked = float("-inf")
        try:
            while True:
                current = await self._stamp(last_stamp)
                if current != last_stamp or (self._unreadable and monotonic() - looked > AGAIN):
                    last_stamp, looked = current, monotonic()
                    before = self._wanted.name
                    await self._asked(self._look)
                    if self._wanted.name != before:
                        await _ended(going)
                        going = None
                if going is None and self.awaited:
                    going = asyncio.create_task(self._go_over())
                if going is not None and going.done():
                    going.result()
                    going = None
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            await _ended(going)

    async def _stamp(self, last_stamp: Stamp | None) -> Stamp | None:
        """The pointer's stamp; the last one if the store does not answer."""
        if not isinstance(self._root, Path) and monotonic() - self._stamped < IN_STORE_SECONDS:
            return last_stamp
        self._stamped = monotonic()
        try:
            return await self._asked(lambda: stamp(self._root))
        except HistoryError:
            return last_stamp

    async def _asked(self, ask: Callable[[], T]) -> T:
        """Runs a request to a store in a thread, because it may be slow."""
        return ask() if isinstance(self._root, Path) else await asyncio.to_thread(ask)

    def _look(self) -> None:
        """Reads the pointer. An unreadable or invalid one is ignored."""
        try:
            self._wanted = promoted(self._root)
        except UNREADABLE as error:
            if not self._unreadable:
                log.error(
                    "the promoted generation cannot be read, so %s goes on answering: %s",
                    self._answering.tables.live.name, error,
                )  # fmt: skip
            self._unreadable = True
            return
        self._unreadable = False

    async def _go_over(self) -> None:
        live = self._wanted
        log.warning(
            "generation %s is promoted: its tables are restored beside those of %s",
            live.name, self._answering.tables.live.name,
        )  # fmt: skip
        tables = self._answering.tables_of(live)
        tables.start(self._answering.ended)
        try:
            await self._until(lambda: tables.readiness().ready, lambda: tables.readiness().about)
            self._step = "its texts are indexed"
            await asyncio.gather(*(prepare(live) for prepare in self._answering.preparing))
            began = time.time()
            while not await self._switched(tables, began):
                await asyncio.sleep(HISTORY_EVERY)
        except BaseException:
            if self._answering.tables is not tables:
                await tables.close()
            raise

    async def _switched(self, tables: ReplicaTables, began: float) -> bool:
        """Whether it answers now."""
        old = self._answering.tables
        if self._wanted.at_any_rate:
            return await self._switch(old, tables)
        if not await self._history_reaches(old.live, tables.live, began):
            self._say("its history lacks records that the old one has: is its sink running?")
            return False
        positions = old.shown()
        if not await tables.reaches(positions, CLOSE_SECONDS):
            missing = tables.lacks(positions)
            self._say(f"its tables lack {missing} offsets of the inputs: do its workers run?")
            return False
        halted = old.halt()
        try:
            positions = old.shown()
            if await tables.reaches(positions, STILL_SECONDS) and tables.readiness().ready:
                await tables.reaches_signals(positions, SIGNALS_SECONDS)
                return await self._switch(old, tables)
            self._say("its tables come no closer to the old ones")
            return False
        finally:
            await halted
            if self._answering.tables is old:
                old.start(self._answering.ended)

    async def _switch(self, old: ReplicaTables, tables: ReplicaTables) -> bool:
        try:
            self._answering.go_over(tables)
        except UNREADABLE as error:
            self._say(f"it cannot be read: {error}")
            return False
        log.warning("generation %s answers now; before: %s", tables.live.name, old.live.name)
        await asyncio.shield(asyncio.ensure_future(old.close()))  # whatever is promoted next
        return True

    async def _history_reaches(self, old: Live, new: Live, began: float) -> bool:
        """Whether the new history has the records that the old one has."""
        assert old.tables is not None and new.tables is not None
        if not self._is_written(old.tables):
            return True
        now = time.time()
        before = int((now if now - began < HISTORY_SECONDS else began) * SECOND)
        try:
            lacks = await asyncio.to_thread(
                unread, find_tables(old.tables), find_tables(new.tables), INPUT_TABLES, before
            )
        except (*UNREADABLE, _duckdb.Error) as error:
            self._say(f"its history cannot be compared with the old one: {error}")
            return False
        return not lacks

    def _is_written(self, tables: Location) -> bool:
        try:
            find_tables(tables)
        except UNREADABLE:
            return False  # readers were not shown any rows
        return True

    async def _until(self, condition: Callable[[], bool], about: Callable[[], str]) -> None:
        while not condition():
            self._say(about())
            await asyncio.sleep(LOOK_SECONDS)

    def _say(self, step: str) -> None:
        """Reports a step: in `/readyz` at once, in the log now and then."""
        self._step = step
        if monotonic() - self._told > TELL_SECONDS:
            self._told = monotonic()
            log.warning("%s; %s goes on answering", self.about, self._answering.tables.live.name)


async def _ended(task: "asyncio.Task[None] | None") -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
