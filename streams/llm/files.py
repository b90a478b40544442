"""`turnfold extract --history`: a history's turns to plans, folded into the same history.

In waves: of each user the next group, all asked side by side, then folded. So a group's request
shows what the groups before it have left, whatever the number of requests at a time.
"""

import asyncio
import time
from collections import deque
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
from streams.llm.budget import HOUR, Budget, BudgetSpent
from streams.llm.client import Erased
from streams.llm.groups import Debounce, Group, Owner, Turn
from streams.llm.history import Undone, remembered, spent_since, with_texts
from streams.llm.known import Remembered
from streams.llm.maker import Extractor, extractor
from streams.llm.settings import LlmSettings
from streams.llm.spool import Spool, is_there, spooling
from streams.llm.spool import known as are_there

WAVE = 8
"""Groups of a wave for each request at a time: one slow answer then holds up few."""
LOCKED_AGAIN = 0.05
"""Seconds until it is looked again whether `forget` has ended."""
AHEAD = 4096
"""Groups looked at to fill a wave with different users."""

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
    for spent in spent_since(root, time.time() - HOUR):
        budget.recall(*spent)
    async with extractor(settings, budget, timed=True, patient=False) as asked:
        with closing(Undone(root, asked.author, settings.sources, again=again)) as undone:
            done, stopped = await _in_waves(root, settings, spool, asked, undone, progress)
        return {
            "turns": undone.total,
            "done": done,
            **asked.summary(),
            "stopped": stopped,
            "why_failed": asked.why_failed,
        }


async def _in_waves(
    root: Path,
    settings: LlmSettings,
    spool: Spool,
    asked: Extractor,
    undone: Undone,
    progress: Progress | None,
) -> tuple[int, str | None]:
    """How many turns were settled, and why not all, if the budget does not allow it."""
    done = 0
    for wave in waves(gather(undone.turns(), settings), settings.concurrency * WAVE):
        groups = with_texts(root, wave)
        told = list(zip(groups, remembered(root, groups), strict=True))
        try:
            settled, stopped = await _ask(asked, told, spool, settings.concurrency, root)
        except Unreachable as error:
            answered = asked.counts["groups"]
            raise Unreachable(
                f"{error}; {answered} requests were answered before, which is kept: run it again "
                "to go on"
            ) from None
        finally:
            spool.fold()
        done += settled
        if progress:
            progress("extract", done, undone.total, asked.counts["groups"])
        if stopped:
            return done, stopped
    return done, None


def gather(turns: Iterable[Turn], settings: LlmSettings) -> Iterator[Group]:
    """All groups of a stream that has ended, in the order they close."""
    debounce = Debounce(settings.turns, settings.idle)
    for turn in turns:
        yield from debounce.add(turn)
    yield from debounce.flush()


def waves(groups: Iterable[Group], size: int) -> Iterator[list[Group]]:
    """Groups of different users, so many at most; each user's in their order."""
    source, waiting, held = iter(groups), dict[Owner, deque[Group]](), 0
    while True:
        for group in islice(source, AHEAD - held):
            waiting.setdefault(group.owner, deque()).append(group)
            held += 1
        if not waiting:
            return
        wave = [waiting[owner].popleft() for owner in islice(waiting, size)]
        for group in wave:
            if not waiting[group.owner]:
                del waiting[group.owner]
        held -= len(wave)
        yield wave


async def _spooled(record: JsonObject, spool: Spool, root: Path) -> None:
    """Unless the turns were erased since: `forget` waits for this, or this for it."""
    while True:
        with suppress(ConfigurationError), erasing(root, alone=False):
            if (await asyncio.to_thread(are_there, [record], root))[0]:
                spool.append(record)
            return
        await asyncio.sleep(LOCKED_AGAIN)


async def _ask(
    asked: Extractor,
    wave: list[tuple[Group, Remembered]],
    spool: Spool,
    concurrency: int,
    root: Path,
) -> tuple[int, str | None]:
    """The same of one wave."""
    turn = asyncio.Semaphore(concurrency)
    settled, stopped = 0, None

    async def one(group: Group, known: Remembered) -> None:
        nonlocal settled, stopped
        async with turn:
            if stopped is not None:
                return
            try:
                record = await asked.make(group, known, lambda: is_there(group, root))
                await _spooled(record, spool, root)
            except Erased:
                pass
            except BudgetSpent as error:
                stopped = str(error)
            else:
                settled += len(group.turns)

    tasks = [asyncio.create_task(one(*each)) for each in wave]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    return settled, stopped
