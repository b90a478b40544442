"""`turnfold extract --history`: a history's turns to plans, folded into the same history.

Plans are in the spool as soon as they are made, and are folded many at once: when no answer is
awaited that could come first.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from schemas.base import JsonObject
from sinks.locations import Location
from sinks.root import find_root, is_shared
from streams import event_loop
from streams.errors import ConfigurationError, Unreachable
from streams.files.access import erasing
from streams.llm.budget import Budget, recall_hour
from streams.llm.client import Still
from streams.llm.driver import TICK, Driver, Job
from streams.llm.groups import Debounce, Group, Turn
from streams.llm.history import Shown, Undone, as_stored
from streams.llm.maker import extractor
from streams.llm.settings import LlmSettings
from streams.llm.spool import Spool, is_there, spooling
from streams.llm.spool import known as are_there

AHEAD = 4096
"""Groups read ahead, without their texts, to find those of different users."""
FOLD_WITHIN = 5.0
"""Seconds that a plan waits at most for others to be folded with it."""

Progress = Callable[[str, int, int, int], None]


def extract(
    history: Location,
    settings: LlmSettings,
    *,
    again: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Asks the model about all turns it has not been asked about; the counts.

    Killed at any time, the next call continues: what was paid for is there. `again`: also what
    failed. `stopped` says why it ended before all was done. Raises ConfigurationError, Unreachable.
    """
    root = find_root(history)
    if is_shared(root) or not isinstance(root, Path):
        raise ConfigurationError(
            f"{root}: a sink writes this history; `turnfold extract --bootstrap ADDRESS --history "
            f"{root}` sends plans through Kafka"
        )
    began = time.monotonic()
    with spooling(root) as spool:
        counts = event_loop.run(_extract(root, settings, spool, again, progress))
    return {**counts, "seconds": round(time.monotonic() - began, 3)}


async def _extract(
    root: Path, settings: LlmSettings, spool: Spool, again: bool, progress: Progress | None
) -> dict[str, Any]:
    budget = Budget(settings)
    recall_hour(budget, root)
    async with extractor(settings, budget, timed=True, patient=False) as asked:
        with closing(Undone(root, asked.author, settings.sources, again=again)) as undone:
            log = FilesLog(root, spool, gather(undone.turns(), settings))
            driver = Driver(asked, log, settings)
            if progress:
                log.folded = lambda: progress(
                    "extract", driver.turns, undone.total, asked.counts["groups"]
                )
            try:
                await driver.run()
            except Unreachable as error:
                raise Unreachable(
                    f"{error}; {asked.counts['groups']} requests were answered before, which is "
                    "kept: run it again to go on"
                ) from None
        return {
            "turns": undone.total,
            "done": driver.turns - driver.failed,
            **asked.summary(),
            "stopped": driver.spent,
            "why_failed": asked.why_failed,
        }


class FilesLog:
    """Implements `driver.TurnLog`. `folded` is called after plans were folded."""

    ends = True

    def __init__(self, root: Path, spool: Spool, groups: Iterator[Group]) -> None:
        self.folded: Callable[[], None] = lambda: None
        self._root = root
        self._spool = spool
        self._groups = groups
        self._show = as_stored(root)
        self._spooled: list[asyncio.Future[None]] = []
        self._since = 0.0

    async def begin(self, driver: Driver) -> None:
        """Nothing: it was opened with the spool."""

    async def read(self, waiting: int, running: int) -> list[Job] | None:
        if self._spooled and (not running or time.monotonic() - self._since > FOLD_WITHIN):
            self._fold()
        jobs = [Job(group) for group in islice(self._groups, max(0, AHEAD - waiting))]
        if not jobs and not waiting:
            return None
        await asyncio.sleep(0 if jobs else TICK)
        return jobs

    async def shown(self, job: Job) -> Shown:
        return await self._show(job.group)

    def still(self, job: Job) -> Still:
        return lambda: is_there(job.group, self._root)

    async def write(self, job: Job, record: JsonObject) -> asyncio.Future[None] | None:
        if not await self._stored(record):
            return None
        if not self._spooled:
            self._since = time.monotonic()
        folded = asyncio.get_running_loop().create_future()
        self._spooled.append(folded)
        return folded

    async def _stored(self, record: JsonObject) -> bool:
        """False where the turns were erased since: `forget` waits for this, or this for it."""
        while True:
            with suppress(ConfigurationError), erasing(self._root, alone=False):
                there = (await asyncio.to_thread(are_there, [record], self._root))[0]
                if there:
                    self._spool.append(record)
                return there
            await asyncio.sleep(TICK)

    def _fold(self) -> None:
        spooled, self._spooled = self._spooled, []
        self._spool.fold()
        for folded in spooled:
            if not folded.done():
                folded.set_result(None)
        self.folded()

    async def end(self) -> None:
        self._fold()


def gather(turns: Iterable[Turn], settings: LlmSettings) -> Iterator[Group]:
    """All groups of a stream that has ended, in the order they close."""
    debounce = Debounce(settings.turns, settings.idle)
    for turn in turns:
        yield from debounce.add(turn)
    yield from debounce.flush()
