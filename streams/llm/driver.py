"""The one loop that asks a model: turns come out of a log in groups, plans go into it.

A history and Kafka differ in their log (`TurnLog`) alone. One group of each user is worked on at a
time, in order: its request shows what the plans before it have left.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, Protocol

from schemas.base import JsonObject
from sinks.locations import Location
from streams.errors import Unreachable
from streams.llm.budget import Budget, BudgetSpent, recall_hour
from streams.llm.client import Client, Erased, Still
from streams.llm.completion import Reply
from streams.llm.groups import Group, Owner
from streams.llm.known import Remembered
from streams.llm.maker import Extractor
from streams.llm.settings import LlmSettings
from streams.llm.standing import ASKED, AWAY, USELESS

WAVE = 8
"""Groups in work for each concurrent request: a log stores the plans of many at once."""
TICK = 0.05
PAUSE = 1.0
"""Seconds until a log that was interrupted is read again."""
FEW = 3
"""So many requests in a row that failed are reported."""


class Job(NamedTuple):
    """A group, and the part of the log that its turns are in, if it has parts."""

    group: Group
    part: Any = None


class Interrupted(Exception):  # noqa: N818 - what happened
    """The log has to be started again, from what is stored; it has logged why."""


class TurnLog(Protocol):
    """Where turns come from and plans go. `ends`: where it would have to wait for the endpoint or
    for the budget of an hour, the run ends instead."""

    ends: bool

    @property
    def history(self) -> Location | None:
        """Where memory is read; None: nowhere."""

    async def begin(self, driver: "Driver") -> None:
        """Before the first `read`. Raises Interrupted."""

    async def read(self, waiting: int) -> list[Job] | None:
        """The next groups; None where no more come and all are stored. Called again and again: it
        waits a moment where there is nothing to do, and it stores what was written. `waiting`:
        groups that are not stored. Raises Interrupted."""

    async def shown(self, job: Job) -> tuple[Group, Remembered] | None:
        """The group with its texts, and the memory that its request shows; None where its turns
        were erased."""

    def still(self, job: Job) -> Still | None:
        """What tells whether its turns are still there."""

    async def write(self, job: Job, record: JsonObject) -> Awaitable[object] | None:
        """Stores a record; None where its turns were erased. What it returns ends when `shown` of
        the next group of this user shows it."""

    async def end(self) -> None:
        """Stores what was written, if it can be, and lets go. No job is worked on any more."""


class Driver:
    """`turns` were settled, of which `failed` have no plan; groups are `waiting`. `waits`: why, as
    long as it waits for the budget of an hour. `spent`: the run's budget is used up."""

    def __init__(self, asked: Extractor, log: TurnLog, settings: LlmSettings) -> None:
        self.asked = asked
        self.log = log
        self.turns = self.failed = self.waiting = 0
        self.waits: str | None = None
        self.spent: str | None = None
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.concurrency * WAVE)
        self._requests = asyncio.Semaphore(settings.concurrency)
        self._running = 0
        self._stopping = self._ending = False
        self._writing: set[Owner] = set()  # whose record is being stored
        self._failure: Exception | None = None
        self._queues: dict[Owner, deque[Job]] = {}
        self._tasks: dict[Owner, asyncio.Task[None]] = {}

    def stop(self) -> None:
        """Abandon what is under way, store what is finished, return."""
        self._stopping = True

    @property
    def is_over(self) -> bool:
        return bool(self._stopping or self._ending or self.spent or self._failure)

    @property
    def words(self) -> str:
        """How the asking goes: the newest cause first."""
        if self.asked.away is not None:
            return f"{AWAY}{self.asked.away}"
        if self.waits is not None:
            return f"waits: {self.waits}"
        if self.asked.failed_in_row >= FEW:
            return f"{USELESS}: {self.asked.last_failure}"
        return ASKED

    async def run(self) -> None:
        """Until the log has no more turns, `stop`, or the run's budget is used up. Raises
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
            jobs = await self.log.read(self.waiting)
            if jobs is None:
                return
            self._put(jobs)
        if self.spent:  # what is under way is paid for
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.total_seconds):
                    while self._running and not self._stopping:
                        await asyncio.sleep(TICK)

    def _put(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            self.waiting += 1
            owner = job.group.owner
            if (queue := self._queues.get(owner)) is not None:
                queue.append(job)
                continue
            self._queues[owner] = queue = deque([job])
            self._tasks[owner] = asyncio.create_task(self._work(owner, queue))

    def drop(self, is_ours: Callable[[Job], bool]) -> None:
        """Abandons jobs that are no longer ours."""
        for owner, queue in list(self._queues.items()):
            ours = [job for job in queue if is_ours(job)]
            self.waiting -= len(queue) - len(ours)
            if ours and ours[0] is queue[0]:  # in work
                queue.clear()
                queue.extend(ours)
            else:
                self._tasks.pop(owner).cancel()
                del self._queues[owner]
                self.waiting -= len(ours)
                self._put(ours)

    async def _end(self) -> None:
        """Abandons what has no answer yet; what has one is stored."""
        self._ending = True
        for owner, task in self._tasks.items():
            if owner not in self._writing:
                task.cancel()
        try:
            await self.log.end()
        finally:
            await asyncio.sleep(0)  # for those whose record was stored
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._queues, self._tasks, self.waiting, self.waits = {}, {}, 0, None

    async def _work(self, owner: Owner, queue: deque[Job]) -> None:
        try:
            while queue:
                async with self._slots:
                    if self.is_over:
                        return
                    await self._settle(queue[0])
                queue.popleft()
                self.waiting -= 1
            del self._queues[owner], self._tasks[owner]
            if not self._tasks:
                self.waits = None
        except BudgetSpent as spent:
            self.spent = str(spent)
        except Exception as error:
            self._failure = self._failure or error

    async def _settle(self, job: Job) -> None:
        self._running += 1
        record = applied = None
        try:
            shown = await self.log.shown(job)
            waits = self._requests.locked()
            async with self._requests:  # until it is stored: a kill costs no more than these
                if shown is not None and not self.is_over:
                    record = await self._made(job, shown, waits)
                if record is not None:
                    applied = await self.log.write(job, record)
        finally:
            self._running -= 1
        if record is None or applied is None:
            return
        self._writing.add(job.group.owner)
        try:
            await applied
        finally:
            self._writing.discard(job.group.owner)
        extraction = record["extraction"]
        self.turns += len(extraction["event_ids"])
        self.failed += len(extraction["event_ids"]) if "error" in extraction else 0

    async def _made(
        self, job: Job, shown: tuple[Group, Remembered], waited: bool
    ) -> JsonObject | None:
        """The record of a group; None where its turns were erased. `waited`: since it was read."""
        still = self.log.still(job)
        replies: list[Reply] = []  # what was paid for it
        for_budget = False
        while True:
            try:
                if waited and still is not None and not await still():
                    return None
                record = await self.asked.make(*shown, replies, still)
            except Erased:
                return None
            except Unreachable:  # `asked` tells why
                if self.log.ends:
                    raise
            except BudgetSpent as spent:
                if spent.seconds is None or self.log.ends:
                    raise
                self.waits, for_budget = str(spent), True
                await asyncio.sleep(spent.seconds)
            else:
                if not for_budget:
                    self.waits = None
                return record
            waited = True


@asynccontextmanager
async def driving(turn_log: TurnLog, settings: LlmSettings) -> AsyncIterator[Driver]:
    """A driver with an open connection. What the log's history tells of the last hour counts for
    its budget."""
    budget = Budget(settings)
    if turn_log.history is not None and (settings.hourly_tokens or settings.hourly_cost):
        await asyncio.to_thread(recall_hour, budget, turn_log.history)
    async with Client(settings, budget, patient=not turn_log.ends) as client:
        yield Driver(Extractor(settings, client, budget), turn_log, settings)
