"""Interfaces of `RecordProcessor`: the source of rows and the target of effects.

E is the type of entity, S the origin of a record (a position, a Kafka record), O the origin that an
emitter attaches to documents (a row's last columns, a message's headers). There are three pairs of
implementations: files to Delta tables, Kafka topics, and a session or user that is rebuilt.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from schemas.events import Turn
from streams.errors import TurnfoldError
from streams.folds.effects import Effects, Input, Late, UserSignal
from streams.pipeline.decode import Dead
from streams.pipeline.entity import Entity

E = TypeVar("E", bound=Entity)
S = TypeVar("S", contravariant=True)
O = TypeVar("O")  # noqa: E741 - the origin


class StoreError(TurnfoldError):
    """The store of the fold cannot be read or written; no partial write remains."""


class Signalled(NamedTuple):
    """A user's signal as a separate message; `cause` is the turn behind it."""

    tenant: str
    recorded_at: int
    cause: Any
    signal: UserSignal


class RowSource(Protocol[E]):
    """Entities by table, tenant and key, and the record's writes to them."""

    def entity(self, table: str, tenant: str, key: str) -> E:
        """The entity's rows, empty for a new one. Raises StoreError."""

    def keep(self, entity: E) -> None:
        """Adds the writes of an applied record to the next commit."""


class Emitter(Protocol[E, S, O]):
    """Receives the effects of records. `input` is the folded record."""

    def signals(self, out: Effects) -> Sequence[tuple[E, UserSignal]]:
        """Returns the record's signals to fold in the same step, each with its user's rows;
        `emitted` sends the rest as messages. Raises StoreError."""

    def emitted(self, entity: E, out: Effects, input: Input | Signalled, sent: S) -> O:
        """Takes the effects of a folded record, all or none: an exception rejects the record."""

    def plan(self, plan: dict[str, Any], turn: Turn, origin: O) -> bytes | None:
        """Takes a write plan derived from a turn. Returns the bytes to fold after the turn, or None
        if the plan was sent."""

    def refused(
        self, dead: Dead, error: Exception, entity: E, input: Input | Signalled, sent: S
    ) -> None:
        """Takes the dead letter of a record; its fold raised `error`. The entity was rolled back,
        except for writes that the record keeps."""

    def unreadable(self, dead: Dead, sent: S) -> None:
        """Takes the dead letter of unreadable bytes, or of a record in a wrong place."""

    def late(self, dead: Dead, late: Late, entity: E, input: Input | Signalled, sent: S) -> None:
        """Takes the dead letter of a waiting record that matches no call after `input`."""
