"""The model beside a server or a worker, in a thread with an event loop of its own.

Turns are folded and committed first; then the model is asked about them, as long as it is chosen.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

from sinks.generation import generation_path
from sinks.locations import Location
from sinks.root import HistoryError, find_root
from streams import event_loop
from streams.errors import ConfigurationError, TurnfoldError
from streams.files.extractor_choice import asks_model
from streams.llm.standing import AWAY, WAITS, Standing

if TYPE_CHECKING:
    from streams.kafka.client.settings import KafkaSettings
    from streams.llm.driver import Driver
    from streams.llm.maker import Extractor
    from streams.llm.server import Posts
    from streams.llm.settings import LlmSettings

log = logging.getLogger(__name__)

TICK = 0.05
LOOK_EVERY = 20
"""Ticks between two looks whether the model is still chosen."""
AGAIN = 5.0
"""Seconds until it goes on after a failure."""
REFUSED_AGAIN = 60.0
"""The same, where the endpoint refuses the key or the model."""
END_WITHIN = 15.0
NOT_ASKED = "is not asked"
HELD = (AWAY, WAITS, f"{NOT_ASKED}: ", "is asked no more")

OpenLog = Callable[["LlmSettings"], AbstractAsyncContextManager[Any]]
"""Opens a `driver.TurnLog`. Raises TurnfoldError, HistoryError: it is tried again."""


class Beside:
    """`whose`: the process, in a word. `is_chosen`: whether a model makes memory; None: not known
    now. `settings`: by default those of the environment, once the model is chosen. `first`: how it
    stands before it begins."""

    def __init__(
        self,
        whose: str,
        open_log: OpenLog,
        is_chosen: Callable[[], bool | None],
        settings: "LlmSettings | None" = None,
        first: str = NOT_ASKED,
    ) -> None:
        self._whose = whose
        self._open_log = open_log
        self._is_chosen = is_chosen
        self._settings = settings
        self._driver: Driver | None = None
        self._ending = False
        self._why: str | None = first  # nothing is asked; None: it is
        self._standing = Standing(first)
        self._thread = Thread(target=self._in_thread, name="model", daemon=True)

    @classmethod
    def server(cls, root: Path, settings: "LlmSettings", posts: "Posts") -> Self:
        """What asks about the turns of a served history."""

        def open_log(settings: "LlmSettings") -> AbstractAsyncContextManager[Any]:
            from streams.llm.server import opened  # the SDK is not needed otherwise

            return opened(root, settings, posts)

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
        """What asks about the turns that a group of workers has folded, as a member of the
        extractor's own group: a rebalance of one is none of the other's. `history`: a sink's, to
        show what is remembered. `generation`: whose memory that is; it `maps` where it has a
        mapping of its own."""

        @asynccontextmanager
        async def open_log(settings: "LlmSettings") -> AsyncIterator[Any]:
            from streams.llm.stream import Stream, StreamOptions

            root = None if history is None else generation_path(find_root(history), generation)
            yield Stream(kafka, settings, StreamOptions(
                history=root, worker=group, generation=generation, maps=maps
            ))  # fmt: skip

        return cls("worker", open_log, is_chosen)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Writes what is finished and abandons the rest; a later start asks about it again."""
        self._ending = True
        self._thread.join(END_WITHIN)
        if self._thread.is_alive():
            log.warning("the model's part has not ended after %.0f s: leaves it", END_WITHIN)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Asks while this lasts."""
        self.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self.end)

    # --- what others see ------------------------------------------------------------------------

    @property
    def is_used(self) -> bool:
        """Whether there is anything to say of it."""
        return self._driver is not None or self._words != NOT_ASKED

    @property
    def log(self) -> Any:
        """The `driver.TurnLog`, once it is open."""
        return self._driver.log if self._driver else None

    @property
    def asked(self) -> "Extractor | None":
        """What makes the plans, with its counts, once it is there."""
        return self._driver.asked if self._driver else None

    @property
    def turns(self) -> int:
        return self._driver.turns if self._driver else 0

    @property
    def waiting(self) -> int:
        """Groups that wait for their request."""
        return self._driver.waiting if self._driver else 0

    @property
    def about(self) -> str:
        """How it stands, in a few words."""
        waiting = f", {self.waiting} groups wait" if self.waiting else ""
        return f"the model {self._words}{waiting}"

    @property
    def _words(self) -> str:
        return self._driver.words if self._driver and self._why is None else str(self._why)

    # --- of a server's log ----------------------------------------------------------------------

    def hurry(self) -> None:
        """Turns that are there are asked about without waiting for others."""
        if self._driver is not None:
            self.log.hurry()

    def has_read(self, offset: int) -> bool:
        """Whether every turn of the server's log up to an offset has a plan, or a dead letter."""
        return self._driver is not None and self.log.settled_to >= offset

    @property
    def is_held(self) -> bool:
        """Whether no request is sent now: the endpoint does not answer, or the budget is spent."""
        return self._words.startswith(HELD)

    # --- the thread -------------------------------------------------------------------------------

    def _in_thread(self) -> None:
        event_loop.run(self._run())

    async def _run(self) -> None:
        async with AsyncExitStack() as held:
            while not self._ending:
                pause = AGAIN
                try:
                    if not await self._chosen():
                        pause = TICK * LOOK_EVERY
                    elif await self._watched(held):
                        return None
                    else:
                        pause = TICK
                except ModuleNotFoundError as error:
                    return self._become(f"{NOT_ASKED}: this needs the extra 'llm' ({error})")
                except ConfigurationError as error:
                    self._become(f"{NOT_ASKED}: {error}")
                    pause = AGAIN if self._driver is None else REFUSED_AGAIN
                except (TurnfoldError, HistoryError) as error:
                    self._become(f"waits: {error}")
                except Exception:
                    log.exception("the model is not asked; tries again")
                until = asyncio.get_running_loop().time() + pause
                while not self._ending and asyncio.get_running_loop().time() < until:
                    await asyncio.sleep(TICK)
        return None

    async def _watched(self, held: AsyncExitStack) -> bool:
        """Until the process ends, or memory is made without a model. True: nothing is asked any
        more, for the budget of the run is used up."""
        asking = asyncio.create_task(self._ask(held))
        ticks = 0
        while not asking.done():
            self._standing.tell(self._words)
            ticks += 1
            if self._ending or (ticks % LOOK_EVERY == 0 and await self._chosen() is False):
                self._driver.stop() if self._driver else asking.cancel()
            await asyncio.wait([asking], timeout=TICK)
        if asking.cancelled():
            return True
        spent = asking.result()
        changed = f"{NOT_ASKED}: another extractor was chosen"
        self._become(f"is asked no more by this {self._whose}: {spent}" if spent else changed)
        return bool(spent)

    async def _chosen(self) -> bool | None:
        try:
            return await asyncio.to_thread(self._is_chosen)
        except (TurnfoldError, HistoryError):
            return None

    async def _ask(self, held: AsyncExitStack) -> str | None:
        """What was found out about the endpoint, and the counts, last as long as the process."""
        if self._driver is None:
            from streams.llm.driver import driving  # the SDK is not needed otherwise
            from streams.llm.settings import LlmSettings

            settings = self._settings = self._settings or LlmSettings.load()
            turn_log = await held.enter_async_context(self._open_log(settings))
            driver = driving(turn_log, settings)
            self._driver = await held.enter_async_context(driver)
        self._become(None)
        await self._driver.run()
        return self._driver.spent

    def _become(self, why: str | None) -> None:
        self._why = why
        self._standing.tell(self._words)
