"""`turnfold admin extract`: runs the model over a history's turns, then ends."""

import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from sinks.history_root import find_root, is_shared
from sinks.locations import Location
from streams import event_loop
from streams.errors import ConfigurationError, Unreachable
from streams.llm.driver import driving
from streams.llm.history_log import opened
from streams.llm.settings import LlmSettings
from streams.serving.backends.embedded import EmbeddedBackend

Progress = Callable[[str, int, int, int], None]


def extract(
    history: Location,
    settings: LlmSettings,
    *,
    again: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Runs the model over all turns that it has not read; returns the counts.

    After a kill, the next call continues; paid replies are kept. `again`: also failed turns.
    `stopped`: reason for an early end. Raises ConfigurationError, Unreachable.
    """
    root = find_root(history)
    if is_shared(root) or not isinstance(root, Path):
        raise ConfigurationError(
            f"{root}: a sink writes this history; `turnfold kafka extract --bootstrap ADDRESS "
            f"--history {root}` sends plans through Kafka"
        )
    began = time.monotonic()
    counts = event_loop.run(_extract(root, settings, again, progress))
    return {**counts, "seconds": round(time.monotonic() - began, 3)}


async def _extract(
    root: Path, settings: LlmSettings, again: bool, progress: Progress | None
) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        embedded = EmbeddedBackend(root, model=settings, beside=False)
        posts = (await stack.enter_async_context(embedded)).posts_by_model()
        log = await opened(root, settings, posts, ends=True, again=again)
        driver = await stack.enter_async_context(driving(log, settings))
        groups = driver.extractor.counts
        if progress:
            log.progress = lambda: progress("extract", driver.turns, log.total, groups["groups"])
        try:
            await driver.run()
        except Unreachable as error:
            raise Unreachable(
                f"{error}; {groups['groups']} requests were answered before, which is kept: run it "
                "again to go on"
            ) from None
        return {
            "turns": log.total,
            "done": driver.turns - driver.failed,
            **driver.extractor.summary(),
            "stopped": driver.spent,
        }
