"""A user's moments of affect, as they were known at any time."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from schemas.time import format_time
from sinks.kept import Source
from sinks.lookup import Lookup
from streams.chronicle.series import Series

Json = dict[str, Any]


class Felt(NamedTuple):
    """A row of the table `affects`."""

    event_id: str
    session_id: str | None
    v: float
    a: float
    d: float
    confidence: float
    text: str
    labels: list[str]
    from_plan: bool
    occurred_at: int
    recorded_at: int
    src_topic: str
    src_partition: int
    src_offset: int

    @property
    def standing(self) -> tuple[Any, ...]:
        """The greatest of an event's stands, as in the view `affect_current`."""
        return (
            self.from_plan, self.occurred_at, self.v, self.a, self.d, self.confidence, self.text,
            self.labels, self.recorded_at, self.src_topic, self.src_partition, self.src_offset,
        )  # fmt: skip


class Moments(Series[Felt]):
    """Of each event the greatest row of a session; of all, where a plan speaks of it without
    one."""

    @staticmethod
    def key(row: Felt) -> str:
        return row.event_id

    @staticmethod
    def standing(rows: Sequence[Felt]) -> Iterable[Felt]:
        if len(rows) == 1:
            return rows
        everywhere = any(row.from_plan and row.session_id is None for row in rows)
        best: dict[str | None, Felt] = {}
        for row in rows:
            group = None if everywhere else row.session_id
            if group not in best or best[group].standing < row.standing:
                best[group] = row
        return best.values()

    @staticmethod
    def in_order(rows: Iterable[Felt]) -> list[Felt]:
        found = sorted(rows, key=attrgetter("event_id"), reverse=True)
        return sorted(found, key=attrgetter("occurred_at"))


def moment(row: Felt) -> Json:
    """As a page shows it."""
    return {
        "occurred_at": format_time(row.occurred_at), "event_id": row.event_id,
        "session_id": row.session_id, "v": row.v, "a": row.a, "d": row.d, "text": row.text,
    }  # fmt: skip


def _felt(about: Lookup, owner: str) -> list[Felt]:
    shown = (
        *Felt._fields[:9], "epoch_us(occurred_at)", "epoch_us(recorded_at)", *Felt._fields[11:],
    )  # fmt: skip
    return list(map(Felt._make, about.rows("affects", shown, "user_id = ?", owner)))


MOMENTS: Source[Moments] = Source(
    "moments", ("affects",), _felt, lambda _owner, _about, rows: Moments(rows)
)
