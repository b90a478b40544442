"""The model beside a server: turns are folded and answered first, then it is asked about them.

What is still to be asked about is read from the history's tables, where plans name their turns: so
a kill loses nothing, and nothing else has to be noted. A record is in the server's log as soon as
it is made; the next ones of the same users are asked when the tables have it.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path
from threading import Thread
from typing import Protocol, TypeVar

from schemas.base import JsonObject
from sinks.generation import find_tables
from sinks.root import HistoryError
from streams import event_loop
from streams.errors import ConfigurationError, TurnfoldError, Unreachable
from streams.files.access import erasing
from streams.files.extractor_choice import asks_model
from streams.llm.budget import HOUR, Budget, BudgetSpent
from streams.llm.client import Erased
from streams.llm.files import WAVE, waves
from streams.llm.groups import Debounce, Group, Turn
from streams.llm.history import Undone, remembered, spent_since, with_texts
from streams.llm.known import Remembered
from streams.llm.log_time import LogTime
from streams.llm.maker import Extractor, extractor
from streams.llm.settings import LlmSettings
from streams.llm.spool import alone, fold_left, is_there, known
from streams.llm.standing import ASKED, Standing, going

log = logging.getLogger(__name__)

AT_ONCE = 5_000
"""Turns that one look into the tables takes up: what waits in memory is bounded."""
LOOK_EVERY = 1.0
"""Seconds between two looks, where something was committed or a group may be idle by now."""
AGAIN = 5.0
"""Seconds until it goes on after a failure."""
REFUSED_AGAIN = 60.0
"""The same, where the endpoint refuses the key or the model."""
TICK = 0.05

NEVER = (-1, 0.0)

Key = tuple[str, str, str]
T = TypeVar("T")


class Log(Protocol):
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


class Background:
    """Asks the model about a served history's turns, in a thread of its own. `turns` were settled,
    groups are `waiting`; `asked` and `budget` count what was asked and spent."""

    def __init__(self, root: Path, settings: LlmSettings, log_of_server: Log) -> None:
        self.turns = 0
        self.waiting = 0
        self.asked: Extractor | None = None
        self.budget = Budget(settings)
        self._root = root
        self._settings = settings
        self._log = log_of_server
        self._waits: str | None = None  # why, while it waits for the hour's budget
        self._standing = Standing("is about to be asked", lambda: going(self.asked, self._waits))
        self._tables: Path | None = None
        self._since = 0
        self._looked = NEVER  # where the tables stood, and when
        self._done: set[Key] = set()
        self._open: float | None = None  # when the oldest group that gathers is idle (monotonic)
        self._log_time = LogTime()
        self._ending = False
        self._thread = Thread(target=self._in_thread, name="model", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Abandons what is under way; a later start asks about it again."""
        self._ending = True
        self._thread.join()

    @property
    def about(self) -> str:
        """How it stands, in a few words."""
        waiting = f", {self.waiting} groups wait" if self.waiting else ""
        return f"the model {self._standing.words}{waiting}"

    # --- the thread -------------------------------------------------------------------------------

    def _in_thread(self) -> None:
        event_loop.run(self._run())

    async def _run(self) -> None:
        work = asyncio.create_task(self._work())
        while not self._ending and not work.done():
            self._standing.tell()
            await asyncio.sleep(TICK)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work

    async def _work(self) -> None:
        """Until the run's budget is used up. What was found out about the endpoint, and the counts,
        last as long as the server."""
        async with AsyncExitStack() as held:
            await self._patiently(lambda: self._claim(held))
            await self._patiently(self._begin)
            opened = extractor(self._settings, self.budget, timed=False, patient=True)
            asked = self.asked = await held.enter_async_context(opened)
            try:
                while True:
                    await self._patiently(lambda: self._look(asked), REFUSED_AGAIN)
            except BudgetSpent as spent:
                self._standing.become(f"is asked no more by this server: {spent}")

    async def _patiently(self, step: Callable[[], Awaitable[T]], refused: float = AGAIN) -> T:
        """What a step comes to, tried until it does; what has to be asked about is then looked for
        again, whether something new came or not. Raises BudgetSpent."""
        while True:
            try:
                return await step()
            except ConfigurationError as error:
                self._standing.become(f"is not asked: {error}")
                pause = refused
            except (TurnfoldError, HistoryError) as error:
                self._standing.become(f"waits: {error}")
                pause = AGAIN
            except BudgetSpent:
                raise
            except Exception:
                log.exception("the model is not asked; tries again")
                pause = AGAIN
            self._looked = NEVER
            await asyncio.sleep(pause)

    async def _claim(self, held: AsyncExitStack) -> None:
        held.enter_context(alone(self._root))

    async def _begin(self) -> None:
        """What a killed server left in its log, and a killed `extract` in its spool, is in the
        tables before the model is asked, and what the hour has cost is known, once."""
        await asyncio.to_thread(fold_left, self._root)
        while self._log.end is None:
            await asyncio.sleep(TICK)
        await self._in_tables(self._log.end)
        for spent in await asyncio.to_thread(spent_since, self._root, time.time() - HOUR):
            self.budget.recall(*spent)

    async def _in_tables(self, offset: int) -> None:
        while self._log.committed < offset:
            await asyncio.sleep(TICK)

    async def _look(self, asked: Extractor) -> None:
        """Asks about what is there, then waits until there may be more."""
        stands = self._log.committed
        if stands == self._looked[0] and (self._open is None or time.monotonic() < self._open):
            await asyncio.sleep(TICK)
            return
        await asyncio.sleep(max(0.0, self._looked[1] + LOOK_EVERY - time.monotonic()))
        self._looked = stands, time.monotonic()
        if not await asyncio.to_thread(asks_model, self._root):
            self._standing.become("is not asked: another extractor was chosen")
            self._open = None
            return
        groups, since, more = await asyncio.to_thread(self._found, asked)
        self.waiting = len(groups)
        self._standing.become(ASKED)
        for wave in waves(groups, self._settings.concurrency * WAVE):
            await self._ask(asked, wave)
        self.waiting, self._since = 0, since  # not before all of them are settled
        self._waits = None
        if more:
            self._looked = -1, self._looked[1]

    def _found(self, asked: Extractor) -> tuple[list[Group], int, bool]:
        """The groups that are closed by now; from when on to look once these are settled; whether
        there are more turns than were looked at."""
        if (tables := find_tables(self._root)) != self._tables:
            self._tables, self._since, self._done = tables, 0, set()
        told = self._settings
        with closing(
            Undone(self._root, asked.author, told.sources, again=False, since=self._since,
                   most=AT_ONCE)
        ) as undone:  # fmt: skip
            found = list(undone.turns())
        self._done &= set(map(_key, found))
        left = [turn for turn in found if _key(turn) not in self._done]
        debounce = Debounce(told.turns, told.idle)
        groups = [group for turn in left for group in debounce.add(turn)]
        now = self._log_time.now(found[-1].recorded_at if found else 0)
        groups += debounce.advance(now)
        gathering = [turn for group in debounce.flush() for turn in group.turns]
        first = (turn.recorded_at for turn in gathering or found[-1:])
        last = {(turn.tenant, turn.session_id, turn.user_id): turn for turn in gathering}
        idle = min((turn.recorded_at for turn in last.values()), default=None)
        self._open = None
        if idle is not None:
            self._open = time.monotonic() + (idle + told.idle - now) / 1e6
        return groups, min(first, default=self._since), len(found) == AT_ONCE and bool(groups)

    async def _ask(self, asked: Extractor, wave: Sequence[Group]) -> None:
        """Of each user one group; the tables have what came of them when it returns."""
        groups = await asyncio.to_thread(with_texts, self._root, wave)
        told = await asyncio.to_thread(remembered, self._root, groups)
        limit = asyncio.Semaphore(self._settings.concurrency)
        ends: list[int] = []

        spent: list[BudgetSpent] = []

        async def one(group: Group, shown: Remembered) -> None:
            async with limit:
                if spent:
                    return
                try:
                    record = await self._made(asked, group, shown)
                except BudgetSpent as error:
                    spent.append(error)
                    return
            if record is None:
                return
            ends.append(await self._post(record))
            self._done.update(map(_key, group.turns))
            self.turns += len(group.turns)
            self.waiting -= 1

        tasks = [asyncio.create_task(one(*both)) for both in zip(groups, told, strict=True)]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        self.waiting -= len(wave) - len(groups)
        await self._in_tables(max(ends, default=0))
        if spent:
            raise spent[0]

    async def _made(self, asked: Extractor, group: Group, shown: Remembered) -> JsonObject | None:
        """Waits for the endpoint, and for the hour's budget, as long as it takes. None, and the
        model is told nothing, where the turns were erased since they were read."""
        waited = False
        while True:
            try:
                if not await is_there(group, self._root):
                    raise Erased
                record = await asked.make(group, shown, lambda: is_there(group, self._root))
            except Erased:
                self.waiting -= 1
                return None
            except Unreachable:
                pass  # `asked` says why
            except BudgetSpent as spent:
                if spent.seconds is None:
                    raise
                self._waits, waited = str(spent), True
                await asyncio.sleep(spent.seconds)
            else:
                if not waited:
                    self._waits = None
                return record

    async def _post(self, record: JsonObject) -> int:
        """Not of somebody who was forgotten meanwhile: `forget` waits for this, or this for it.
        While the log has no room `forget` is let through, which may make some."""
        while True:
            pause = TICK
            with suppress(ConfigurationError), erasing(self._root, alone=False):
                if not (await asyncio.to_thread(known, [record], self._root))[0]:
                    return 0
                offset = await self._log.post(record)
                if offset is not None:
                    return offset
                pause = AGAIN
            await asyncio.sleep(pause)


def _key(turn: Turn) -> Key:
    return turn.tenant, turn.session_id, turn.event_id
