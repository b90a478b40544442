"""Rows in the order of time, as they were known at any time."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from schemas.time import format_time
from sinks.kept import Source
from sinks.lookup import Lookup
from streams.reading import FAR

Json = dict[str, Any]
R = TypeVar("R")
CLOCKS_KEPT = 4
"""Times of knowledge whose series are kept: who moves the other clock stays at one of them."""


class Newest(NamedTuple, Generic[R]):
    """The newest of a series up to a time, oldest first, and how many there are by then."""

    shown: list[R]
    total: int


class Series(Generic[R]):
    """`standing` tells what counts of the rows that were recorded by a time, with its times in
    order."""

    def __init__(
        self, rows: Iterable[Any], standing: Callable[[list[Any]], list[tuple[int, R]]]
    ) -> None:
        self._rows = sorted(rows, key=attrgetter("recorded_at"))
        self._recorded = [row.recorded_at for row in self._rows]
        self._standing = standing
        self._known = lru_cache(CLOCKS_KEPT)(self._known_by)

    def _known_by(self, number: int) -> tuple[list[int], list[R]]:
        found = self._standing(self._rows[:number])
        return [at for at, _ in found], [one for _, one in found]

    def newest(self, as_of: int, known_at: int | None, limit: int) -> Newest[R]:
        """What counted at a time."""
        number = len(self._rows) if known_at is None else bisect_right(self._recorded, known_at)
        times, found = self._known(number)
        count = bisect_right(times, as_of)
        return Newest(found[max(0, count - limit) : count], count)


# --- moments of affect --------------------------------------------------------------------------


class _Felt(NamedTuple):
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


def _felt(about: Lookup, owner: str) -> list[_Felt]:
    shown = (
        *_Felt._fields[:9], "epoch_us(occurred_at)", "epoch_us(recorded_at)", *_Felt._fields[11:],
    )  # fmt: skip
    return list(map(_Felt._make, about.rows("affects", shown, "user_id = ?", owner)))


def _moments(rows: list[_Felt]) -> list[tuple[int, Json]]:
    by_event = defaultdict[str, list[_Felt]](list)
    for row in rows:
        by_event[row.event_id].append(row)
    found: list[_Felt] = []
    for some in by_event.values():
        everywhere = any(one.from_plan and one.session_id is None for one in some)
        found += _greatest(some, lambda one: None if everywhere else one.session_id)  # noqa: B023
    found.sort(key=attrgetter("event_id"), reverse=True)
    found.sort(key=attrgetter("occurred_at"))
    return [(one.occurred_at, _moment(one)) for one in found]


def _greatest(some: Sequence[_Felt], group: Callable[[_Felt], Hashable]) -> Iterable[_Felt]:
    if len(some) == 1:
        return some
    best: dict[Hashable, _Felt] = {}
    for one in some:
        known = best.get(group(one))
        if known is None or known.standing < one.standing:
            best[group(one)] = one
    return best.values()


def _moment(one: _Felt) -> Json:
    return {
        "occurred_at": format_time(one.occurred_at), "event_id": one.event_id,
        "session_id": one.session_id, "v": one.v, "a": one.a, "d": one.d, "text": one.text,
    }  # fmt: skip


MOMENTS: Source[Series[Json]] = Source(
    "moments", ("affects",), _felt, lambda _owner, _about, rows: Series(rows, _moments)
)


# --- levels of mastery --------------------------------------------------------------------------


class _Scores(msgspec.Struct):
    mastery_score: dict[str, float] = {}


class _Lesson(NamedTuple):
    updated_at: int
    recorded_at: int
    src_offset: int
    scores: dict[str, float]


_scores = msgspec.json.Decoder(_Scores).decode


def _learnt(about: Lookup, owner: str) -> list[_Lesson]:
    shown = ("epoch_us(updated_at)", "epoch_us(recorded_at)", "src_offset", "doc")
    return [
        _Lesson(at, recorded, offset, _scores(doc).mastery_score)
        for at, recorded, offset, doc in about.rows("profiles", shown, "user_id = ?", owner)
    ]


def _lessons(rows: list[_Lesson]) -> list[tuple[int, Json]]:
    last = {row.updated_at: row for row in sorted(rows, key=lambda one: one[:3])}
    return [
        (at, {"at": format_time(at), "scores": last[at].scores})
        for at in sorted(last)
        if last[at].scores
    ]


LESSONS: Source[Series[Json]] = Source(
    "lessons", ("profiles",), _learnt, lambda _owner, _about, rows: Series(rows, _lessons)
)


# --- sessions -----------------------------------------------------------------------------------


class _Spoken(NamedTuple):
    session_id: str
    event_id: str
    occurred_at: int
    recorded_at: int


class Talk:
    """In which sessions a user spoke."""

    def __init__(self, rows: list[_Spoken]) -> None:
        by_session = defaultdict[str, list[_Spoken]](list)
        for row in rows:
            by_session[row.session_id].append(row)
        self._turns = {name: Series(some, _spoken) for name, some in by_session.items()}
        self._ends = {name: Series(some, _ended) for name, some in by_session.items()}

    def sessions(self, as_of: int, known_at: int | None, limit: int) -> Newest[Json]:
        """The last one first: `turns` are the user's."""
        found = []
        for name, turns in self._turns.items():
            count = turns.newest(as_of, known_at, 0).total
            if count:
                last = self._ends[name].newest(as_of, known_at, 1).shown[0]
                found.append((-last, name, count))
        found.sort()
        return Newest(
            [
                {"session_id": name, "turns": turns, "last_active": format_time(-last)}
                for last, name, turns in found[:limit]
            ],
            len(found),
        )


def _spoken(rows: list[_Spoken]) -> list[tuple[int, str]]:
    first: dict[str, int] = {}
    for row in rows:
        first[row.event_id] = min(row.occurred_at, first.get(row.event_id, FAR))
    return sorted((at, name) for name, at in first.items())


def _ended(rows: list[_Spoken]) -> list[tuple[int, int]]:
    return sorted((row.occurred_at, row.occurred_at) for row in rows)


def _talked(about: Lookup, owner: str) -> list[_Spoken]:
    shown = ("session_id", "event_id", "epoch_us(occurred_at)", "epoch_us(recorded_at)")
    found = about.rows("events", shown, "user_id = ? AND session_id IS NOT NULL", owner)
    return list(map(_Spoken._make, found))


TALK: Source[Talk] = Source("talk", ("events",), _talked, lambda _owner, _about, rows: Talk(rows))
