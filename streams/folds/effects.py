"""Input and output of a fold: the rows of one entity, and the effects of one record.

A fold is `fold(rows, record) -> effects`. It is pure: rows are immutable values, the runtime
decides where they are stored, and rolls back the writes of a fold that raises. An entity (a
session, a user) has many small rows, so that a change writes little.

A row's name is the letter of its kind, which determines its type, and an id, which may have parts:
`c/task-1`, `q/task-1␟trace-1`. The name is the letter alone for a kind with one row: `h`.
"""

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from schemas.dead_letters import Reason
from schemas.events import Record
from schemas.generated.history import CausedRow
from schemas.row import Mutable, Row
from streams.folds.constants import Rules
from streams.folds.plan_order import FIRST, Place

R = TypeVar("R")

SEP = "\x1f"
"""Between the parts of an id."""


class RowKey(str, Generic[R]):
    """The name of a row of type `R`. Only `RowKind.key` creates keys, as plain strings: `R` is for
    the type checker."""


class RowKind(Generic[R]):
    """Rows with names that start with `letter`, and their type."""

    def __init__(self, letter: str, type: type[R]) -> None:
        self.letter = letter
        self.type = type
        self._begin = f"{letter}/"

    def key(self, id: str | None = None, *parts: str) -> RowKey[R]:
        """Returns the name of the row with this id, which may have more parts; without an id, the
        name of the kind's only row."""
        if parts:
            return self._begin + SEP.join((id or "", *parts))  # type: ignore[return-value]
        return self.letter if id is None else self._begin + id  # type: ignore[return-value]

    def scan(self, rows: "Rows", *parts: str) -> Iterator[tuple[RowKey[R], R]]:
        """Iterates over the rows with ids that start with these parts, by name."""
        return rows.scan(self.key(*parts, ""))  # type: ignore[return-value]

    def ids(self, rows: "Rows", *parts: str) -> list[str]:
        """Returns the remainders of the ids that start with these parts, sorted."""
        begin = self.key(*parts, "")
        return [name[len(begin) :] for name in rows.names(begin)]


class Rows(Protocol):
    """The rows of one entity."""

    tenant: str
    key: str
    hashes: set[bytes] | None
    """Cache of `index.find_id`: the hashes of all ids in the runs, once requested; it may contain
    some that were rolled back or dropped. Kept in memory only."""

    def get(self, key: RowKey[R]) -> R | None:
        """The row, or None."""

    def __getitem__(self, key: RowKey[R]) -> R:
        """The row. Raises KeyError if it does not exist."""

    def peek(self, key: RowKey[R]) -> R:
        """The row, without caching it: for readers of many rows."""

    def put(self, key: RowKey[R], row: R) -> None:
        """Replaces the row."""

    def delete(self, key: RowKey[R]) -> None:
        """Removes the row, if it exists."""

    def names(self, prefix: str) -> list[str]:
        """Sorted names of the rows with this prefix. Folds use `RowKind.ids`."""

    def scan(self, prefix: str) -> Iterator[tuple[str, Any]]:
        """Snapshot of the rows with this prefix. Folds use `RowKind.scan`, which has their type."""


class Input(Row, frozen=True):
    """One validated record with its origin.

    `fingerprint` is 31 bits of the canonical JSON's hash and a zero (docs/rules.md, "One event").
    `doc` is that JSON as text, `metadata` and `extra` are parts of it. `recorded_at` is
    microseconds UTC. `plain`: a turn of text without nested fields.
    """

    record: Record
    fingerprint: bytes
    doc: str
    recorded_at: int
    metadata: str | None = None
    extra: str | None = None
    source: tuple[str, int, int] = ("", 0, 0)
    plain: bool = False


MAX_WORK = 20_000
"""Limit of what a plan's ends and merges do, each of which may concern all entries of a user: one
for an entry that is compared, and `CHANGE` for one that is changed."""
CHANGE = 4


class Refused(Exception):  # noqa: N818 - an outcome, not an error of the program
    """The record cannot be applied and becomes a dead letter. Its writes are rolled back unless
    `keeps` is set: then a later record may still apply it."""

    def __init__(self, reason: Reason, detail: str, *, keeps: bool = False) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.keeps = keeps


class UserSignal(Row, frozen=True):
    """A turn's contribution to its user: the hop from the session's fold to the user's."""

    event_id: str
    user_id: str
    session_id: str | None
    occurred_at: int
    intent: str | None
    topic: str | None
    artifact: str | None
    difficulty: str | None
    correct_rate: float | None
    affect: "Moment | None"


class Moment(NamedTuple):
    """One moment of affect (docs/rules.md, Affect).

    An event is an event id in a session. `everywhere`: the plan has no session, so the moment
    applies to the event id in all of the user's sessions; its `session_id` is then the session of
    a moment that it replaced.
    """

    occurred_at: int
    event_id: str
    v: float
    a: float
    d: float
    confidence: float
    text: str
    labels: tuple[str, ...]
    from_plan: bool
    session_id: str | None = None
    everywhere: bool = False


class Late(NamedTuple):
    """An applied record that matches no call, as a later record shows."""

    reason: Reason
    detail: str
    doc: str
    occurred_at: int
    source: tuple[str, int, int]


class Effects(Mutable):
    """Effects of one record as data: history rows, signals, changed documents.

    Ids are derived from `scope` (tenant, table and owner) and the record's id. `rules` are the
    constants of the fold. `seq` is the owner's number of revisions; the fold sets and stores it.
    `doc` is the record's canonical JSON, empty for the signal of a turn.
    """

    owner: str  # the session or user
    scope: tuple[str, str, str]
    record: Record
    rules: Rules
    history: list[CausedRow] = []
    signals: list[UserSignal] = []
    session: bool = False  # the session's document changed
    user: bool = False  # the user's profile changed
    tasks: dict[str, None] = {}  # the tasks with changed documents, in order
    warnings: list[str] = []
    late: list[Late] = []
    waits: bool = False  # a tool result before the end of its recursion
    settled: int = 0  # records that waited, or were dead letters, and fit after all
    ordinal: int = 0
    seq: int = 0
    doc: str = ""
    place: Place = FIRST  # of a write plan among its user's
    concerned: dict[str, Any] | None = None  # what a plan's ends may speak of (ends.concerned)
    work: int = 0

    def spend(self, work: int) -> None:
        """Counts work of a plan. Raises Refused beyond `MAX_WORK`."""
        self.work += work
        if self.work > MAX_WORK:
            raise Refused(
                "too_large",
                "its ends and merges concern too many entries of memory; send several plans",
            )
