"""Runs the model extractor within a server or a worker, in a thread with a separate event loop.

Turns are folded and committed first, then sent to the model while it is the chosen extractor.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

from sinks.generation import generation_path
from sinks.history_root import HistoryError, find_root
from sinks.locations import Location
from streams import event_loop
from streams.errors import ConfigurationError, TurnfoldError
from streams.files.extractor_choice import asks_model
from streams.llm.status import AWAY, WAITS, StatusLog

if TYPE_CHECKING:
    from streams.kafka.client.settings import KafkaSettings
    from streams.llm.driver import Driver
    from streams.llm.history_log import Posts
    from streams.llm.settings import LlmSettings

log = logging.getLogger(__name__)

TICK = 0.05
LOOK_EVERY = 20
"""Ticks between two checks of the chosen extractor."""
AGAIN = 5.0
"""Seconds until it continues after a failure."""
REFUSED_AGAIN = 60.0
"""Seconds until it continues after a rejected key or model."""
END_WITHIN = 15.0
NOT_ASKED = "is not asked"
HELD = (AWAY, WAITS, f"{NOT_ASKED}: ", "is asked no more")

OpenLog = Callable[["LlmSettings"], Awaitable[Any]]
"""Opens a `driver.TurnLog`. Raises TurnfoldError, HistoryError: then it is retried."""


class Beside:
    """`process`: server or worker. `is_chosen`: whether the model is the chosen extractor; None:
    unknown. `settings`: default: from the environment, once the model is chosen. `first`: the
    status before the start."""

    def __init__(
        self,
        process: str,
        open_log: OpenLog,
        is_chosen: Callable[[], bool | None],
        settings: "LlmSettings | None" = None,
        first: str = NOT_ASKED,
    ) -> None:
        self._process = process
        self._open_log = open_log
        self._is_chosen = is_chosen
        self._settings = settings
        self.driver: Driver | None = None
        """The driver, with its counts and log, once the log is open."""
        self._ending = False
        self._inactive: str | None = first  # why no requests are sent; None: they are
        self._status_log = StatusLog(first)
        self._thread = Thread(target=self._in_thread, name="model", daemon=True)

    @classmethod
    def server(cls, root: Path, settings: "LlmSettings", posts: "Posts") -> Self:
        """Processes the turns of a served history."""

        async def open_log(settings: "LlmSettings") -> Any:
            from streams.llm.history_log import opened  # the SDK is not needed otherwise

            return await opened(root, settings, posts)

        chosen = partial(asks_model, root)
        return cls("server", open_log, chosen, settings, "is about to be asked")

    @classmethod
    def worker(
        cls,
        kafka: "KafkaSettings",
        group: str,
        history: Location | None,
        is_chosen: Callable[[], bool | None],
        generation: str | None,
        maps: bool,
    ) -> Self:
        """Processes the turns that a group of workers has folded, as a member of a separate
        consumer group, so that the two groups rebalance independently. `history`: of a sink, with
        the memory to show. `generation`: of the workers; `maps`: it has its own mapping."""

        async def open_log(settings: "LlmSettings") -> Any:
            from streams.llm.kafka_log import Stream, StreamOptions

            root = None if history is None else generation_path(find_root(history), generation)
            return Stream(kafka, settings, StreamOptions(
                history=root, worker=group, generation=generation, maps=maps
            ))  # fmt: skip

        return cls("worker", open_log, is_chosen)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stores finished records and abandons the rest, which a later start repeats."""
        self._ending = True
        self._thread.join(END_WITHIN)
        if self._thread.is_alive():
            log.warning("the model's thread has not ended after %.0f s: leaves it", END_WITHIN)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs within this context."""
        self.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self.end)

    # --- status ---------------------------------------------------------------------------------

    @property
    def is_used(self) -> bool:
        """Whether it has a status to report."""
        return self.driver is not None or self._words != NOT_ASKED

    @property
    def about(self) -> str:
        """The status as text."""
        waiting = self.driver.waiting if self.driver else 0
        return f"the model {self._words}" + (f", {waiting} groups wait" if waiting else "")

    @property
    def _words(self) -> str:
        return self.driver.words if self.driver and self._inactive is None else str(self._inactive)

    # --- a server's log -------------------------------------------------------------------------

    @property
    def _log(self) -> Any:
        return self.driver and self.driver.log

    def hurry(self) -> None:
        """Sends the pending turns without waiting for further ones."""
        if self.driver is not None:
            self._log.hurry()

    def has_read(self, offset: int) -> bool:
        """Whether every turn of the server's log up to an offset has a plan or a dead letter."""
        return self.driver is not None and self._log.settled_to >= offset

    @property
    def is_held(self) -> bool:
        """Whether no requests are sent now: the endpoint does not answer, or the budget is
        spent."""
        return self._words.startswith(HELD)

    # --- the thread -------------------------------------------------------------------------------

    def _in_thread(self) -> None:
        event_loop.run(self._run())

    async def _run(self) -> None:
        async with AsyncExitStack() as stack:
            while not self._ending:
                pause = AGAIN
                try:
                    if not await self._chosen():
                        pause = TICK * LOOK_EVERY
                    elif await self._watch(stack):
                        return None
                    else:
                        pause = TICK
                except ModuleNotFoundError as error:
                    return self._become(f"{NOT_ASKED}: this needs the extra 'llm' ({error})")
                except ConfigurationError as error:
                    self._become(f"{NOT_ASKED}: {error}")
                    pause = AGAIN if self.driver is None else REFUSED_AGAIN
                except (TurnfoldError, HistoryError) as error:
                    self._become(f"waits: {error}")
                except Exception:
                    log.exception("the model is not asked; tries again")
                until = asyncio.get_running_loop().time() + pause
                while not self._ending and asyncio.get_running_loop().time() < until:
                    await asyncio.sleep(TICK)
        return None

    async def _watch(self, stack: AsyncExitStack) -> bool:
        """Runs until the process ends, or another extractor is chosen. Returns True if it must not
        run again: the run's budget is spent, or the process ends."""
        running = asyncio.create_task(self._drive(stack))
        ticks = 0
        while not running.done():
            self._status_log.update(self._words)
            ticks += 1
            if self._ending or (ticks % LOOK_EVERY == 0 and await self._chosen() is False):
                self.driver.stop() if self.driver else running.cancel()
            await asyncio.wait([running], timeout=TICK)
        if running.cancelled():
            return True
        spent = running.result()
        changed = f"{NOT_ASKED}: another extractor was chosen"
        self._become(f"is asked no more by this {self._process}: {spent}" if spent else changed)
        return bool(spent)

    async def _chosen(self) -> bool | None:
        try:
            return await asyncio.to_thread(self._is_chosen)
        except (TurnfoldError, HistoryError):
            return None

    async def _drive(self, stack: AsyncExitStack) -> str | None:
        """Runs the driver, which lives as long as the process: it keeps its counts and the
        endpoint's dialect."""
        if self.driver is None:
            from streams.llm.driver import driving  # the SDK is not needed otherwise
            from streams.llm.settings import LlmSettings

            settings = self._settings = self._settings or LlmSettings.load()
            driver = driving(await self._open_log(settings), settings)
            self.driver = await stack.enter_async_context(driver)
        self._become(None)
        await self.driver.run()
        return self.driver.spent

    def _become(self, inactive: str | None) -> None:
        self._inactive = inactive
        self._status_log.update(self._words)
