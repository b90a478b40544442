"""What the HTTP API asks of the tier beneath it: rows of one entity, records to apply, readiness.

`embedded` answers from a history's store on this machine, `replica` from the changelogs of a
worker's tables. All else (documents, expiry, problems, tenants) is the API's own and the same for
both.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

from sinks.locations import Location
from streams.apps.erasure_queue import Erasures
from streams.errors import TurnfoldError
from streams.folds.constants import Rules
from streams.folds.effects import Input, Rows
from streams.folds.outcome import Outcome
from streams.observability.readiness import Readiness
from streams.serving.backends.change_waiters import Changes
from streams.serving.backends.live_generation import Live
from streams.serving.backends.stats import Observed

Table = Literal["sessions", "users"]
Subject = tuple[Table, str]
"""A session or user of a tenant: its table and id."""


class Found(NamedTuple):
    """The rows of a session or user, and the rules of the generation that they are of: a document
    is made of both."""

    rows: Rows
    rules: Rules


class NotReady(TurnfoldError):  # noqa: N818 - a state, not a fault
    """Nobody here can answer for that key now: 503 with Retry-After, never an empty answer."""

    exit_code = 5
    retry_after = 1
    """Seconds."""


class Busy(TurnfoldError):  # noqa: N818
    """More waits to be applied than is good: 429 with Retry-After; nothing was taken."""

    exit_code = 1
    retry_after = 1


BEHIND = "records before these are not applied yet; nothing was stored"
"""Why a request cannot be read yet."""

Prepare = Callable[[Live], Awaitable[None]]
"""Makes something ready for a generation before it answers."""


class Work(NamedTuple):
    """What records of a tenant took of the processor to be folded."""

    tenant: str
    records: int
    seconds: float


Charge = Callable[[Work], None]


class Backend(Protocol):
    """One tier's committed memory. Methods are called on the event loop's thread."""

    @property
    def history(self) -> Location | None: ...

    """The history's folder; None: there is no history here."""

    preparing: list[Prepare]
    """Called before another generation answers, where that can be known before."""

    worked: list[Charge]
    """Called with what records took, where this process folds them."""

    @property
    def live(self) -> Live:
        """The generation that answers, rows and history: another object after each switch.

        Raises NotReady while another is about to.
        """

    @property
    def promoted(self) -> str | None:
        """The promoted generation, while it does not answer yet; usually None."""

    erasures: Erasures | None
    """Erases users of the history; None: this server cannot."""

    changes: Changes
    """Who waits for an entity to change."""

    async def rows(self, table: Table, tenant: str, key: str) -> Found:
        """The committed rows of one session or user, for reading; empty where it is unknown.

        Raises NotReady.
        """

    async def catch_up(self, table: Table, tenant: str, key: str, within: float) -> None:
        """Waits until `rows` shows each record of one session or user that is in the log now,
        whichever server has appended it.

        Raises NotReady, also after so many seconds.
        """

    async def submit(
        self,
        records: Sequence[bytes],
        within: float,
        read: Sequence[Input | None] | None = None,
        all_or_none: bool = False,
    ) -> list[Outcome]:
        """Appends input records (one JSON object each) to the log in order, and waits so many
        seconds at most for the transactions that apply them. After it returned no record is lost,
        whatever dies. `read`: what they say, as far as a caller who has decoded
        them to check them has kept it. `all_or_none`: a history's log takes them in one write,
        whole or not at all.

        Raises NotReady, Busy, NoRoom.
        """

    def unwritten(self, tenant: str, *of: Subject) -> bool:
        """Whether `rows` shows something of a tenant that is not in the history's tables yet; `of`:
        only of these sessions and users, turns of these users included."""

    async def written(self, tenant: str, within: float, *of: Subject) -> bool:
        """Waits so many seconds at most until what `rows` shows of a tenant now is there, or only
        what it shows `of` these sessions and users; whether it is."""

    @property
    def extractor(self) -> str | None:
        """What finds memory in turns here; None: workers do, or nothing comes in."""

    async def extract(self, within: float) -> tuple[bool, str] | None:
        """Waits so many seconds at most until the model has read every turn that is in the log now:
        whether it has, and how the asking stands. Returns at once where it cannot be asked now, and
        None where this server asks no model. Raises NotReady."""

    def readiness(self) -> Readiness:
        """The truth, during a restore, too."""

    def observed(self) -> Observed:
        """What has flowed through it so far, of all tenants; costs no more than some look-ups."""

    async def failed(self) -> BaseException:
        """Why the tier cannot go on, once it cannot: what it waits for or tries again is none. A
        new process may; usually this never returns."""


async def ended_of(tasks: Iterable["asyncio.Task[None]"]) -> BaseException:
    """Why one of a tier's tasks has ended, which run for ever."""
    ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return ended.pop().exception() or RuntimeError("it ended")
