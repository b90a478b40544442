"""The model beside a worker: turns are folded and committed first, then it is asked about them.

It is a member of the extractor's own group, in a thread with a loop of its own: no lane waits for
it, and a rebalance of one group is none of the other's. It stays as long as a model makes the
memory of the worker's lanes; what nobody has asked about stays in Kafka.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Thread
from typing import TYPE_CHECKING

from sinks.generation import named
from sinks.locations import Location
from sinks.root import HistoryError, find_root
from streams import event_loop
from streams.errors import ConfigurationError, TurnfoldError
from streams.kafka.client.settings import KafkaSettings
from streams.llm.budget import HOUR, Budget
from streams.llm.settings import LlmSettings
from streams.llm.standing import ASKED, Standing, going

if TYPE_CHECKING:
    from streams.llm.maker import Extractor
    from streams.llm.stream import Stream

log = logging.getLogger(__name__)

TICK = 0.2
AGAIN = 5.0
"""Seconds until it goes on after a failure."""
REFUSED_AGAIN = 60.0
"""The same, where the endpoint refuses the key or the model."""
END_WITHIN = 15.0
NOT_ASKED = "is not asked"


def _budget(settings: LlmSettings, root: Location | None) -> Budget:
    """What the history tells of the last hour counts, so that a worker that is started again and
    again does not spend an hour's budget each time."""
    from streams.llm.history import spent_since

    budget = Budget(settings)
    if root is not None and (settings.hourly_tokens or settings.hourly_cost):
        for spent in spent_since(root, time.time() - HOUR):
            budget.recall(*spent)
    return budget


class BesideWorker:
    """`worker`: the group whose lanes fold the turns. `is_chosen` says whether a model makes their
    memory; None: not known now. `history`: a sink's, to show what is remembered. `generation`:
    whose memory that is; it `maps` where it has a mapping of its own."""

    def __init__(
        self,
        kafka: KafkaSettings,
        worker: str,
        history: Location | None,
        is_chosen: Callable[[], bool | None],
        generation: str | None = None,
        maps: bool = False,
    ) -> None:
        self._kafka = kafka
        self._worker = worker
        self._history = history
        self._is_chosen = is_chosen
        self._generation, self._maps = generation, maps
        self._settings: LlmSettings | None = None
        self._budget: Budget | None = None
        self._stream: Stream | None = None  # that asks now, or asked last
        self._turns = 0  # of those before
        self._standing = Standing(NOT_ASKED, self._going)
        self._ending = False
        self._thread = Thread(target=self._in_thread, name="model", daemon=True)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Asks while this lasts. Afterwards what is finished is written, and the group is left."""
        self._thread.start()
        try:
            yield
        finally:
            self._ending = True
            await asyncio.to_thread(self._thread.join, END_WITHIN)
            if self._thread.is_alive():
                log.warning("the model's part has not ended after %.0f s: leaves it", END_WITHIN)

    # --- what others see ------------------------------------------------------------------------

    @property
    def is_used(self) -> bool:
        """Whether there is anything to say of it."""
        return self._standing.words != NOT_ASKED or self._stream is not None

    @property
    def turns(self) -> int:
        return self._turns + (self._stream.turns if self._stream else 0)

    @property
    def waiting(self) -> int:
        """Groups that wait for their request."""
        return self._stream.waiting if self._stream else 0

    @property
    def lag(self) -> int:
        """Offsets of turns, in its partitions, that are not settled."""
        return self._stream.lag if self._stream else 0

    @property
    def asked(self) -> "Extractor | None":
        return self._stream.asked if self._stream else None

    @property
    def budget(self) -> Budget:
        assert self._budget is not None, "made before anything is asked"
        return self._budget

    @property
    def about(self) -> str:
        """How it stands, in a few words."""
        waiting = f", {self.waiting} groups wait" if self.waiting else ""
        return f"the model {self._standing.words}{waiting}"

    def _going(self) -> str:
        return going(self.asked, self._stream.waits if self._stream else None)

    # --- the thread -------------------------------------------------------------------------------

    def _in_thread(self) -> None:
        event_loop.run(self._run())

    async def _run(self) -> None:
        while not self._ending:
            if not self._is_chosen():
                await asyncio.sleep(TICK)
                continue
            pause = AGAIN
            try:
                if await self._ask():
                    return
            except ModuleNotFoundError as error:
                self._standing.become(f"is not asked: this needs the extra 'llm' ({error})")
                return
            except ConfigurationError as error:
                self._standing.become(f"is not asked: {error}")
                pause = REFUSED_AGAIN
            except (TurnfoldError, HistoryError) as error:
                self._standing.become(f"waits: {error}")
            except Exception:
                log.exception("the model is not asked; tries again")
            await self._sleep(pause)

    async def _ask(self) -> bool:
        """Until the worker ends, or memory is made without a model. True: this worker asks no more,
        for its budget is used up."""
        from streams.llm.stream import Stream, StreamOptions  # httpx is not needed otherwise

        settings = self._settings = self._settings or LlmSettings.load()
        root = None if self._history is None else self._root(self._history)
        self._budget = self._budget or await asyncio.to_thread(_budget, settings, root)
        options = StreamOptions(
            history=root, worker=self._worker, generation=self._generation, maps=self._maps
        )
        self._turns = self.turns
        self._stream = stream = Stream(self._kafka, settings, options, self._budget)
        asking = asyncio.create_task(stream.run())
        self._standing.become(ASKED)
        while not asking.done():
            self._standing.tell()
            if self._ending or self._is_chosen() is False:
                stream.stop()
            await asyncio.sleep(TICK)
        spent = (await asking)["stopped"]
        self._standing.become(f"is asked no more by this worker: {spent}" if spent else NOT_ASKED)
        return bool(spent)

    def _root(self, history: Location) -> Location:
        """Whose memory is shown. Raises HistoryError where no sink has begun it."""
        return named(find_root(history), self._generation)

    async def _sleep(self, seconds: float) -> None:
        while not self._ending and seconds > 0:
            await asyncio.sleep(TICK)
            seconds -= TICK
