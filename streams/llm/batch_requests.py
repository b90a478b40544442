"""Requests side by side, each user's one after another: so their plans are in order."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from _duckdb import IOException

from schemas.base import JsonObject
from sinks.locations import Location
from streams.errors import Unreachable
from streams.llm.budget import BudgetSpent
from streams.llm.found_by_rules import with_rules
from streams.llm.groups import Group, Owner
from streams.llm.history import remembered, with_results
from streams.llm.known import Remembered
from streams.llm.maker import NOTHING, Extractor
from streams.llm.part import Part

READ_AGAIN = 3


class Job(NamedTuple):
    """A group, and the partition that its turns are of."""

    part: Part
    group: Group


class Asking:
    """What is asked and what came of it. `waiting` counts groups; `failure` ends the extractor,
    `spent` says that the run's budget is used up. `patient`: waits for an endpoint that is away.
    `waits`: why it waits for the hour's budget, until a request goes without or none is left.
    `rules_first`: rules have found memory in these turns, and a plan takes its place."""

    def __init__(
        self,
        asked: Extractor,
        concurrency: int,
        history: Location | None,
        is_ours: Callable[[Part], bool],
        patient: bool = True,
        rules_first: bool = False,
    ) -> None:
        self.waiting = 0
        self.failure: Exception | None = None
        self.spent: str | None = None
        self.waits: str | None = None
        self._asked = asked
        self._limit = asyncio.Semaphore(concurrency)
        self._history = history
        self._is_ours = is_ours
        self._patient = patient
        self._rules_first = rules_first
        self._queues: dict[Owner, deque[Job]] = {}
        self._tasks: dict[Owner, asyncio.Task[None]] = {}
        self._finished: list[tuple[Job, JsonObject]] = []

    def put(self, part: Part, groups: Iterable[Group]) -> None:
        """Groups to ask about."""
        for group in groups:
            self.waiting += 1
            job = Job(part, group)
            if (queue := self._queues.get(group.owner)) is not None:
                queue.append(job)
                continue
            self._queues[group.owner] = queue = deque([job])
            self._tasks[group.owner] = asyncio.create_task(self._work(group.owner, queue))

    def take(self) -> list[tuple[Job, JsonObject]]:
        """What is finished and ours. What is not may be again: `leave` drops it."""
        ours = [one for one in self._finished if self._is_ours(one[0].part)]
        self._finished = [one for one in self._finished if not self._is_ours(one[0].part)]
        return ours

    def leave(self) -> None:
        """Abandons what is no longer ours: another one asks about it, and pays for it."""
        self._finished = [one for one in self._finished if self._is_ours(one[0].part)]
        for owner, queue in list(self._queues.items()):
            ours = [job for job in queue if self._is_ours(job.part)]
            if len(ours) == len(queue):
                continue
            self._tasks.pop(owner).cancel()
            del self._queues[owner]
            self.waiting -= len(queue)
            for job in ours:
                self.put(job.part, [job.group])

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way or to be taken."""
        return not self._tasks and not self._finished

    async def end(self, patience: float) -> None:
        """Abandons what is under way, after so many seconds."""
        tasks = list(self._tasks.values())
        if patience and tasks:
            await asyncio.wait(tasks, timeout=patience)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, owner: Owner, queue: deque[Job]) -> None:
        try:
            while queue:
                job = queue[0]
                async with self._limit:
                    record = await self._made(job.group)
                self._finished.append((job, record))
                queue.popleft()
                self.waiting -= 1
            del self._queues[owner], self._tasks[owner]
            if not self._tasks:
                self.waits = None
        except BudgetSpent as spent:
            self.spent = str(spent)
        except Exception as error:
            self.failure = self.failure or error

    async def _made(self, group: Group) -> JsonObject:
        """Waits for the hour's budget, and if patient for the endpoint, as long as it takes."""
        waited = False
        while True:
            try:
                made = await self._asked.make(*await self._told(group))
            except Unreachable:  # `asked` says why
                if not self._patient:
                    raise
            except BudgetSpent as spent:
                if spent.seconds is None:
                    raise
                self.waits, waited = str(spent), True
                await asyncio.sleep(spent.seconds)
            else:
                if not waited:
                    self.waits = None
                return made

    async def _told(self, group: Group) -> tuple[Group, Remembered]:
        """The group with what the history has of its tools, and what is remembered."""
        group, found = await asyncio.to_thread(self._read, group)
        return group, with_rules(found, group) if self._rules_first else found

    def _read(self, group: Group) -> tuple[Group, Remembered]:
        if self._history is None:
            return group, NOTHING
        for left in reversed(range(READ_AGAIN)):
            try:
                (found,) = remembered(self._history, [group])
                return with_results(self._history, group), found
            except IOException:  # a file was merged into another meanwhile
                if not left:
                    raise
        return group, NOTHING
