"""The loop of the model extractor: reads groups of turns from a log and writes plans to it.

A history and Kafka differ in their log (`TurnLog`) alone. The groups of a user are processed one at
a time, in order, so that a request shows the results of earlier plans.
"""

import asyncio
import time
from asyncio import Task
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from schemas.base import JsonObject
from sinks.locations import Location
from streams.errors import Unreachable
from streams.llm.budget import HOUR, Budget, BudgetSpent
from streams.llm.client import Client, Erased, Still
from streams.llm.completion import Reply
from streams.llm.debounce import Group, Owner
from streams.llm.extractor import Extractor
from streams.llm.prompted_memory import Remembered
from streams.llm.settings import LlmSettings
from streams.llm.status import ASKED, AWAY, USELESS

WAVE = 8
"""Groups in progress per concurrent request: a log stores many plans at once."""
TICK = 0.05
PAUSE = 1.0
"""Seconds until an interrupted log is read again."""
FEW = 3
"""Failed requests in a row that change the status."""


class Interrupted(Exception):  # noqa: N818 - what happened
    """The log must be restarted from its stored position; it has logged the cause."""


class TurnLog(Protocol):
    """A source of turns and a destination of plans. `ends`: the run ends instead of waiting for the
    endpoint or the hourly budget."""

    ends: bool

    @property
    def history(self) -> Location | None:
        """The history with the memory to show, if any."""

    async def begin(self, driver: "Driver") -> None:
        """Starts, before the first `read`. Raises Interrupted."""

    async def read(self, waiting: int) -> list[Group] | None:
        """Returns the next groups; None at the end, once all plans are stored. Waits a moment if
        there is nothing to do, and stores finished records. `waiting`: number of groups not stored.
        Raises Interrupted."""

    async def shown(self, group: Group) -> tuple[Group, Remembered] | None:
        """Returns the group with its texts, and the memory that its request shows; None if its
        turns were erased."""

    def still(self, group: Group) -> Still | None:
        """Returns a check that its turns still exist."""

    async def write(self, group: Group, record: JsonObject) -> Awaitable[object] | None:
        """Stores a record; None if its turns were erased. The result completes when `shown` of the
        user's next group includes the record."""

    async def end(self) -> None:
        """Stores finished records if possible, and closes. All groups have ended before."""


class Driver:
    """`turns`: number of settled turns, of which `failed` have no plan. `spent`: set when the run's
    budget is spent."""

    def __init__(self, extractor: Extractor, log: TurnLog, settings: LlmSettings) -> None:
        self.extractor = extractor
        self.log = log
        self.turns = self.failed = 0
        self.spent: str | None = None
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.concurrency * WAVE)
        self._requests = asyncio.Semaphore(settings.concurrency)
        self._stopping = self._ending = False
        self._out_of_budget: list[str] = []  # a reason for each group that waits for the next hour
        self._writing: set[Owner] = set()  # owners with a record being stored
        self._failure: Exception | None = None
        self._queues: dict[Owner, deque[Group]] = {}
        self._tasks: dict[Owner, Task[None]] = {}

    def stop(self) -> None:
        """Ends the run: abandons requests in progress, stores finished records."""
        self._stopping = True

    @property
    def waiting(self) -> int:
        """Number of groups without a stored record."""
        return sum(map(len, list(self._queues.values())))

    @property
    def is_over(self) -> bool:
        return bool(self._stopping or self._ending or self.spent or self._failure)

    @property
    def words(self) -> str:
        """The status, most recent cause first."""
        if self.extractor.client.away is not None:
            return f"{AWAY}{self.extractor.client.away}"
        if waits := self._out_of_budget[-1:]:  # it changes in another thread
            return f"waits: {waits[0]}"
        if self.extractor.failed_in_row >= FEW:
            return f"{USELESS}: {self.extractor.last_failure}"
        return ASKED

    async def run(self) -> None:
        """Runs until the end of the log, `stop`, or the end of the run's budget. Raises
        TurnfoldError, HistoryError."""
        while True:
            self._ending = False
            with suppress(Interrupted):
                try:
                    await self.log.begin(self)
                    await self._loop()
                finally:
                    await self._end()
                break
            if self._stopping:
                break
            await asyncio.sleep(PAUSE)
        self._stopping = False  # a stop before the next run is meant for that
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    async def _loop(self) -> None:
        while not self.is_over:
            groups = await self.log.read(self.waiting)
            if groups is None:
                return
            self._put(groups)
        if self.spent:  # requests in progress are paid for
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.total_seconds):
                    while not self._stopping and self._has_requests():
                        await asyncio.sleep(TICK)

    def _has_requests(self) -> bool:
        tasks = self._tasks.items()
        return any(not task.done() for owner, task in tasks if owner not in self._writing)

    def _put(self, groups: Iterable[Group]) -> None:
        for group in groups:
            owner = group.owner
            if (queue := self._queues.get(owner)) is not None:
                queue.append(group)
                continue
            self._queues[owner] = queue = deque([group])
            self._tasks[owner] = asyncio.create_task(self._work(owner, queue))

    def drop(self, is_assigned: Callable[[Group], bool]) -> None:
        """Abandons the groups of revoked partitions."""
        for owner, queue in list(self._queues.items()):
            groups = [group for group in queue if is_assigned(group)]
            if groups and groups[0] is queue[0]:  # in progress
                queue.clear()
                queue.extend(groups)
            else:
                self._tasks.pop(owner).cancel()
                del self._queues[owner]
                self._put(groups)

    async def _end(self) -> None:
        """Abandons requests without an answer; stores finished records."""
        self._ending = True
        for owner, task in self._tasks.items():
            if owner not in self._writing:
                task.cancel()
        try:
            await self.log.end()
        finally:
            await asyncio.sleep(0)  # lets the tasks with a stored record finish
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._queues, self._tasks = {}, {}

    async def _work(self, owner: Owner, queue: deque[Group]) -> None:
        try:
            while queue:
                async with self._slots:
                    if self.is_over:
                        return
                    await self._settle(queue[0])
                queue.popleft()
            del self._queues[owner], self._tasks[owner]
        except BudgetSpent as spent:
            self.spent = str(spent)
        except Exception as error:
            self._failure = self._failure or error

    async def _settle(self, group: Group) -> None:
        record = applied = None
        memory = await self.log.shown(group)
        waits = self._requests.locked()
        async with self._requests:  # until it is stored: a crash repeats only these requests
            if memory is not None and not self.is_over:
                record = await self._make(group, memory, waits)
            if record is not None:
                applied = await self.log.write(group, record)
        if record is None or applied is None:
            return
        self._writing.add(group.owner)
        try:
            await applied
        finally:
            self._writing.discard(group.owner)
        extraction = record["extraction"]
        self.turns += len(extraction["event_ids"])
        self.failed += len(extraction["event_ids"]) if "error" in extraction else 0

    async def _make(
        self, group: Group, memory: tuple[Group, Remembered], waited: bool
    ) -> JsonObject | None:
        """Creates the record of a group; None if its turns were erased. `waited`: since `memory`
        was read."""
        still = self.log.still(group)
        replies: list[Reply] = []  # kept over retries, because they are paid for
        while True:
            try:
                if waited and still is not None and not await still():
                    return None
                return await self.extractor.make(*memory, replies, still)
            except Erased:
                return None
            except Unreachable:  # `client.away` has the reason
                if self.log.ends:
                    raise
            except BudgetSpent as spent:
                if spent.seconds is None or self.log.ends:
                    raise
                self._out_of_budget.append(str(spent))
                try:
                    await asyncio.sleep(spent.seconds)
                finally:
                    self._out_of_budget.remove(str(spent))
            waited = True


@asynccontextmanager
async def driving(turn_log: TurnLog, settings: LlmSettings) -> AsyncIterator[Driver]:
    """Opens a driver with a connection. The last hour's amounts in the log's history count for its
    budget."""
    budget = Budget(settings)
    if turn_log.history is not None and (settings.hourly_tokens or settings.hourly_cost):
        from streams.llm.history import spent_since  # DuckDB is not needed otherwise

        for spent in await asyncio.to_thread(spent_since, turn_log.history, time.time() - HOUR):
            budget.recall(*spent)
    async with Client(settings, budget, patient=not turn_log.ends) as client:
        yield Driver(Extractor(settings, client, budget), turn_log, settings)
