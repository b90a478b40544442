"""What `RecordProcessor` asks of those who run it: where rows come from, and where effects go.

E is the kind of entity, S what says where a record came from (a place, a Kafka record), O what an
emitter remembers of the record that it emitted effects of (a row's last columns, a message's
headers). Three pairs are run: files into Delta tables, Kafka's topics, and a session or user
folded again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from schemas.events import Turn
from streams.errors import TurnfoldError
from streams.folds.rows import Effects, Input, Late, UserSignal
from streams.pipeline.decode import Dead
from streams.pipeline.entity import Entity

E = TypeVar("E", bound=Entity)
S = TypeVar("S", contravariant=True)
O = TypeVar("O")  # noqa: E741 - the origin


class StoreError(TurnfoldError):
    """The fold's tables cannot be written (nothing is half-written), or not be read."""


class Signalled(NamedTuple):
    """A user's signal that comes by itself, as a message; `cause` is the turn behind it."""

    tenant: str
    recorded_at: int
    cause: Any
    signal: UserSignal


class RowSource(Protocol[E]):
    """Entities by table, tenant and key, and the record's writes to them."""

    def entity(self, table: str, tenant: str, key: str) -> E:
        """The entity's rows, empty for a new one. Raises StoreError."""

    def keep(self, entity: E) -> None:
        """A record was applied: what it wrote goes into the next commit."""


class Emitter(Protocol[E, S, O]):
    """Takes what records cause. `said` is the record as it was folded."""

    def signals(self, out: Effects) -> Sequence[tuple[E, UserSignal]]:
        """The record's signals that are folded into their users together with it, each with its
        user's rows; the others are messages, which `emitted` sends. Raises StoreError."""

    def emitted(self, entity: E, out: Effects, said: Input | Signalled, sent: S) -> O:
        """Takes the effects of a record that was folded. All that can fail comes before the first
        of them is taken: whatever is raised refuses the record."""

    def plan(self, plan: dict[str, Any], turn: Turn, origin: O) -> bytes | None:
        """A write plan that was made of a turn: the bytes to fold behind the turn, or None where
        it was sent."""

    def refused(
        self, dead: Dead, error: Exception, entity: E, said: Input | Signalled, sent: S
    ) -> None:
        """The dead letter of a record whose fold raised `error`. The entity is as it was, or has
        what the record keeps all the same."""

    def unreadable(self, dead: Dead, sent: S) -> None:
        """The dead letter of bytes that are no record, or of one in a wrong place."""

    def late(self, dead: Dead, late: Late, entity: E, said: Input | Signalled, sent: S) -> None:
        """The dead letter of a record that waited and fits nothing, as `said` has shown."""
