"""What a fold reads and writes: the rows of one entity, and the effects of one record.

A fold is `fold(rows, record) -> effects`: pure, because every row is an immutable value, the
runtime alone decides where rows live, and a fold that raises leaves no trace (the runtime takes
its writes back). An entity (a session, a user) is many small rows, so that a change
writes little.

A row's name is the letter of its kind, which tells its type, and an id, which may have parts:
`c/task-1`, `q/task-1␟trace-1`. Of a kind that has one row the letter is its name: `h`.
"""

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from schemas.dead_letters import Reason
from schemas.events import Record
from schemas.generated.history import CausedRow
from schemas.row import Mutable, Row
from streams.folds.order import FIRST, Place
from streams.folds.rules import Rules

R = TypeVar("R")

SEP = "\x1f"
"""Between the parts of an id."""


class RowKey(str, Generic[R]):
    """The name of a row of type `R`. `RowKind.key` alone makes keys, and makes them as plain
    strings: `R` is for the type checker."""


class RowKind(Generic[R]):
    """The rows whose names begin with a `letter`, and their type."""

    def __init__(self, letter: str, type: type[R]) -> None:
        self.letter = letter
        self.type = type
        self._begin = f"{letter}/"

    def key(self, id: str | None = None, *parts: str) -> RowKey[R]:
        """The name of the row with this id, which may have more parts; without one, of a kind's one
        row."""
        if parts:
            return self._begin + SEP.join((id or "", *parts))  # type: ignore[return-value]
        return self.letter if id is None else self._begin + id  # type: ignore[return-value]

    def scan(self, rows: "Rows", *parts: str) -> Iterator[tuple[RowKey[R], R]]:
        """The rows whose ids begin with these parts, by name."""
        return rows.scan(self.key(*parts, ""))  # type: ignore[return-value]

    def ids(self, rows: "Rows", *parts: str) -> list[str]:
        """What follows these parts in the ids that begin with them, sorted."""
        begin = self.key(*parts, "")
        return [name[len(begin) :] for name in rows.names(begin)]


class Rows(Protocol):
    """The rows of one entity."""

    tenant: str
    key: str
    hashes: set[bytes] | None
    """For `index.find_id`: all ids in the runs, if somebody asked; maybe some that were taken back
    or dropped. Not kept on disk."""

    def get(self, key: RowKey[R]) -> R | None:
        """The row, or None."""

    def __getitem__(self, key: RowKey[R]) -> R:
        """The row. Raises KeyError where there is none."""

    def peek(self, key: RowKey[R]) -> R:
        """The same, for a reader of many rows: the row is not kept at hand."""

    def put(self, key: RowKey[R], row: R) -> None:
        """Replaces the row."""

    def delete(self, key: RowKey[R]) -> None:
        """Removes the row, if it is there."""

    def names(self, prefix: str) -> list[str]:
        """The names of the rows that begin so, sorted. Folds ask `RowKind.ids`."""

    def scan(self, prefix: str) -> Iterator[tuple[str, Any]]:
        """The rows whose names begin so, as a list taken now. Folds ask `RowKind.scan`, which knows
        their type."""


class Input(Row, frozen=True):
    """One validated record with what the runtime knows of it.

    `fingerprint` is 31 bits of the canonical JSON's hash and a zero (docs/rules.md, "One event");
    `doc` that JSON as text, `metadata` and `extra` those parts of it. `recorded_at` is microseconds
    UTC. `plain`: a turn of text, with nothing nested in it.
    """

    record: Record
    fingerprint: bytes
    doc: str
    recorded_at: int
    metadata: str | None = None
    extra: str | None = None
    source: tuple[str, int, int] = ("", 0, 0)
    plain: bool = False


class Refused(Exception):  # noqa: N818 - what happened, not an error of the program
    """The record cannot be applied: a dead letter with this reason. It leaves nothing behind,
    unless it `keeps` what it wrote: then it may still be applied by what comes later."""

    def __init__(self, reason: Reason, detail: str, *, keeps: bool = False) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.keeps = keeps


class UserSignal(Row, frozen=True):
    """What a turn means for its user: the hop from the session's fold to the user's."""

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
    """One moment of feeling (docs/rules.md, Affect).

    An event is an event id in a session. `everywhere`: a plan named no session, so the moment
    stands for the event id in all of the user's; its `session_id` is then of one it replaced.
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
    """A record that was applied and turned out to fit nothing, as another one shows."""

    reason: Reason
    detail: str
    doc: str
    occurred_at: int
    source: tuple[str, int, int]


class Effects(Mutable):
    """What one record causes, as data: history rows, signals, documents to write again.

    `scope` (tenant, table and owner) is, with the record's id, what ids are made of. `rules` are
    the constants to fold under. `seq` is the owner's count of revisions; the fold sets and keeps
    it. `doc` is the record's canonical JSON; the signal of a turn has none.
    """

    owner: str  # the session or user
    scope: tuple[str, str, str]
    record: Record
    rules: Rules
    history: list[CausedRow] = []
    signals: list[UserSignal] = []
    session: bool = False  # the session's document changed
    user: bool = False  # the user's profile changed
    tasks: dict[str, None] = {}  # the tasks whose documents changed, in order
    warnings: list[str] = []
    late: list[Late] = []
    waits: bool = False  # a tool result whose recursion has not ended
    settled: int = 0  # records that waited, or were dead letters, and fit after all
    ordinal: int = 0
    seq: int = 0
    doc: str = ""
    place: Place = FIRST  # of a write plan among its user's
    concerned: dict[str, Any] | None = None  # what a plan's ends may speak of (ends.concerned)
