"""Requests side by side, each user's one after another: so their plans are in order."""

import asyncio
import logging
from collections import defaultdict, deque
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

log = logging.getLogger(__name__)

READ_AGAIN = 3


class Job(NamedTuple):
    """A group, and the partition that its turns are of."""

    part: Part
    group: Group


class Asking:
    """What is asked and what came of it. `waiting` counts groups; `failure` ends the extractor,
    `spent` says that the run's budget is used up. `patient`: waits for an endpoint that is away.
    `waits`: why it waits for the hour's budget, while it does.
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
        self._queues: defaultdict[Owner, deque[Job]] = defaultdict(deque)
        self._tasks: set[asyncio.Task[None]] = set()
        self._finished: list[tuple[Job, JsonObject]] = []

    def put(self, part: Part, groups: Iterable[Group]) -> None:
        """Groups to ask about."""
        for group in groups:
            queue = self._queues[group.owner]
            queue.append(Job(part, group))
            self.waiting += 1
            if len(queue) == 1:
                task = asyncio.create_task(self._work(group.owner, queue))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def take(self) -> list[tuple[Job, JsonObject]]:
        """What is finished, less what is no longer ours."""
        finished, self._finished = self._finished, []
        return [one for one in finished if self._is_ours(one[0].part)]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way or to be taken."""
        return not self._tasks and not self._finished

    async def end(self, patience: float) -> None:
        """Abandons what is under way, after so many seconds."""
        if patience and self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, owner: Owner, queue: deque[Job]) -> None:
        try:
            while queue:
                job = queue[0]
                async with self._limit:
                    if self._is_ours(job.part):
                        record = await self._made(job.group)
                        self._finished.append((job, record))
                queue.popleft()
                self.waiting -= 1
            del self._queues[owner]
        except BudgetSpent as spent:
            self.spent = str(spent)
        except Exception as error:
            self.failure = self.failure or error

    async def _made(self, group: Group) -> JsonObject:
        """Waits for the hour's budget, and if patient for the endpoint, as long as it takes."""
        while True:
            try:
                return await self._asked.make(*await self._told(group))
            except Unreachable as error:
                if not self._patient:
                    raise
                log.warning("%s; asks again", error)
            except BudgetSpent as spent:
                if spent.seconds is None:
                    raise
                log.warning("%s; goes on in %.0f s", spent, spent.seconds)
                self.waits = str(spent)
                await asyncio.sleep(spent.seconds)
                self.waits = None

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
