"""A user's levels of mastery, as they were known at any time."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from schemas.time import format_time
from sinks.kept import Source
from sinks.lookup import Lookup
from streams.chronicle.series import Series

Json = dict[str, Any]


class _Scores(msgspec.Struct):
    mastery_score: dict[str, float] = {}


class Lesson(NamedTuple):
    """A row of the table `profiles`; `occurred_at`: when the profile was updated."""

    occurred_at: int
    recorded_at: int
    src_offset: int
    scores: dict[str, float]


_scores = msgspec.json.Decoder(_Scores).decode


class Lessons(Series[Lesson]):
    """Of each time the last row, if it has scores."""

    @staticmethod
    def key(row: Lesson) -> int:
        return row.occurred_at

    @staticmethod
    def standing(rows: Sequence[Lesson]) -> Iterable[Lesson]:
        last = max(rows, key=attrgetter("recorded_at", "src_offset"))
        return [last] if last.scores else []


def lesson(row: Lesson) -> Json:
    """As a page shows it."""
    return {"at": format_time(row.occurred_at), "scores": row.scores}


def _learnt(about: Lookup, owner: str) -> list[Lesson]:
    shown = ("epoch_us(updated_at)", "epoch_us(recorded_at)", "src_offset", "doc")
    return [
        Lesson(at, recorded, offset, _scores(doc).mastery_score)
        for at, recorded, offset, doc in about.rows("profiles", shown, "user_id = ?", owner)
    ]


LESSONS: Source[Lessons] = Source(
    "lessons", ("profiles",), _learnt, lambda _owner, _about, rows: Lessons(rows)
)
