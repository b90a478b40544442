"""The interface between the HTTP API and a memory tier: rows of one entity, records to apply,
readiness.

`embedded` answers from a history's store on this machine, `replica` from the changelogs of a
worker's tables. Documents, expiry, problems and tenants belong to the API and are the same for
both.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from sinks.locations import Location
from streams.apps.erasure_queue import Erasures
from streams.errors import TurnfoldError
from streams.folds.constants import Rules
from streams.folds.effects import Input, Rows
from streams.folds.outcome import Outcome
from streams.observability.readiness import Readiness
from streams.quota import Work
from streams.serving.backends.change_waiters import Changes
from streams.serving.backends.live_generation import Live
from streams.serving.backends.stats import Observed

if TYPE_CHECKING:
    from streams.kafka.client.settings import KafkaSettings
    from streams.llm.background import Beside

Table = Literal["sessions", "users"]
Subject = tuple[Table, str]
"""A session or user of a tenant: its table and id."""


class EntityRows(NamedTuple):
    """The rows of a session or user, and the rules of their generation: documents depend on
    both."""

    rows: Rows
    rules: Rules


class NotReady(TurnfoldError):  # noqa: N818 - a state, not a fault
    """This server cannot answer for that key now: 503 with Retry-After, never an empty answer."""

    exit_code = 5
    retry_after = 1
    """Seconds."""


class Busy(TurnfoldError):  # noqa: N818
    """Too many records wait to be applied: 429 with Retry-After; the request was not stored."""

    exit_code = 1
    retry_after = 1


BEHIND = "records before these are not applied yet; nothing was stored"
"""Why a request cannot be read yet."""

Prepare = Callable[[Live], Awaitable[None]]
"""Prepares a generation before it answers."""


Charge = Callable[[Work], None]


class Backend(ABC):
    """One tier's committed memory. Methods are called on the event loop's thread."""

    def __init__(self, history: Location | None) -> None:
        """`history`: its folder, or None without a history."""
        self.history = history
        self.preparing: list[Prepare] = []
        """Called before another generation answers, where that can be known before."""
        self.worked: list[Charge] = []
        """Called with what records took, where this process folds them."""
        self.changes = Changes()
        """Who waits for an entity to change."""
        self.erasures: Erasures | None = None
        """Erases users of the history, or None if this server cannot."""
        self.model: Beside | None = None
        """Calls the model while it is running."""
        self.kafka: KafkaSettings | None = None
        """The broker, if this server writes to one."""
        self.history_until: tuple[Live, int | None] | None = None
        """Over Kafka: a generation, and the time (µs) up to which its history has what workers
        committed, as far as it is known."""

    @property
    @abstractmethod
    def live(self) -> Live:
        """The generation that answers, rows and history: another object after each switch.

        Raises NotReady while another is about to.
        """

    @property
    def promoted(self) -> str | None:
        """The promoted generation, while it does not answer yet; usually None."""
        return None

    @abstractmethod
    async def rows(self, table: Table, tenant: str, key: str) -> EntityRows:
        """The committed rows of one session or user, read-only; empty if it is unknown. Raises
        NotReady."""

    @abstractmethod
    async def catch_up(self, table: Table, tenant: str, key: str, within: float) -> None:
        """Waits until `rows` shows each record of a session or user that is in the log now, from
        any server. Raises NotReady, at the latest after `within` seconds."""

    @abstractmethod
    async def submit(
        self,
        records: Sequence[bytes],
        within: float,
        decoded: Sequence[Input | None] | None = None,
        all_or_none: bool = False,
    ) -> list[Outcome]:
        """Appends input records (one JSON object each) to the log in order, and waits up to
        `within` seconds for the transactions that apply them. Once it returns, no record is lost,
        whatever is killed. `decoded`: the decoded records, as far as the caller has kept them.
        `all_or_none`: the log stores all records in one write, or none.

        Raises NotReady, Busy, NoRoom.
        """

    def unwritten(self, tenant: str, *of: Subject) -> bool:
        """Whether `rows` shows changes of a tenant that the history's tables lack; `of`: only of
        these sessions and users, including turns of these users. Never where others write them."""
        return False

    async def written(self, tenant: str, within: float, *of: Subject) -> bool:
        """Waits up to `within` seconds until the tables have what `rows` shows now (`of`: as in
        `unwritten`); returns whether they have it."""
        return True

    @property
    def extractor(self) -> str | None:
        """The extractor of this server, or None if workers extract or the server is read-only."""
        return None

    async def extract(self, within: float) -> tuple[bool, str] | None:
        """Waits up to `within` seconds until the model has read every turn that is in the log now:
        whether it has, and its status. Returns at once if the model is unavailable, and None if
        this server has no model. Raises NotReady."""
        return None

    @abstractmethod
    def readiness(self) -> Readiness:
        """Current readiness, including progress of a restore."""

    @abstractmethod
    def observed(self) -> Observed:
        """Counters of the data flow so far, of all tenants; cheap to call."""

    @abstractmethod
    async def failed(self) -> BaseException:
        """The error that ends the tier, once it has failed; retried errors are not included. A new
        process may recover. Usually it never returns."""
