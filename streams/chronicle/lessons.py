"""A user's levels of mastery after each lesson, as they were known at any time.

They are folded again from what was said: the table `profiles` has the newest document of each
batch alone, so what it tells of the past depends on how the history was written.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from schemas.time import format_time
from sinks.kept import Source
from sinks.lookup import Lookup
from streams.chronicle.series import CLOCKS_KEPT, Newest
from streams.files.manifest import rules_of
from streams.folds import learner
from streams.folds.rows import UserSignal
from streams.folds.rules import Rules
from streams.pipeline.entity import Entity
from streams.reading import FAR

Json = dict[str, Any]


class Lesson(NamedTuple):
    """An ended turn, or a signal of the user's, with a topic."""

    occurred_at: int
    said_by: str
    recorded_at: int
    topic: str
    difficulty: str | None
    correct_rate: float | None


class Step(NamedTuple):
    """A topic's new score; None: it is not kept any more."""

    at: int
    topic: str
    score: float | None


class Scores(NamedTuple):
    """Of each topic, after the lessons of a time."""

    at: int
    scores: dict[str, float]


class Lessons:
    """A user's lessons, and what they say of any time."""

    def __init__(self, where: tuple[str, str], rules: Rules, rows: Iterable[Lesson]) -> None:
        self._where, self._rules = where, rules
        self._rows = sorted(rows, key=attrgetter("occurred_at", "said_by"))
        self._known = lru_cache(CLOCKS_KEPT)(self._known_by)

    def newest(self, as_of: int, known_at: int | None, limit: int) -> Newest[Scores]:
        """The scores after each of the newest lessons with an answer."""
        steps = self._known(FAR if known_at is None else known_at)
        steps = steps[: bisect_right(steps, as_of, key=attrgetter("at"))]
        total = len({one.at for one in steps})
        scores: dict[str, float] = {}
        shown = []
        for number, (at, some) in enumerate(groupby(steps, attrgetter("at"))):
            for step in some:
                if step.score is None:
                    scores.pop(step.topic, None)
                else:
                    scores[step.topic] = step.score
            if number >= total - limit:
                shown.append(Scores(at, dict(sorted(scores.items()))))
        return Newest(shown, total)

    def _known_by(self, known_at: int) -> Sequence[Step]:
        rows = Entity("users", *self._where, {})
        held: set[str] = set()
        steps = []
        for one in self._rows:
            if one.recorded_at > known_at:
                continue
            learner.fold(rows, _signal(self._where[1], one), self._rules)
            topic = rows.get(learner.TOPICS.key(one.topic))
            held.add(one.topic)
            if one.correct_rate is not None and topic is not None:
                score = learner.score(topic.days, self._rules)
                steps.append(Step(one.occurred_at, one.topic, score))
            if len(held) > self._rules.max_topics:
                kept = set(learner.TOPICS.ids(rows))
                steps += [Step(one.occurred_at, gone, None) for gone in sorted(held - kept)]
                held = kept
        return steps


def _signal(user_id: str, one: Lesson) -> UserSignal:
    return UserSignal(
        one.said_by, user_id, None, one.occurred_at, None, one.topic, None, one.difficulty,
        one.correct_rate, None,
    )  # fmt: skip


def told(one: Scores) -> Json:
    """As a page shows it."""
    return {"at": format_time(one.at), "scores": one.scores}


IN_TURNS = ("topic", "difficulty", "correct_rate")
IN_SIGNALS = (
    "doc ->> '$.topic'", "doc ->> '$.metadata.difficulty'",
    "TRY_CAST(doc ->> '$.metadata.correct_rate' AS DOUBLE)",
)  # fmt: skip


def _learnt(about: Lookup, owner: str) -> list[Lesson]:
    return [
        Lesson(*row)
        for table, said_by, shown, ended in (
            ("events", "event_id", IN_TURNS, "status <> 'running'"),
            ("signals", "signal_id", IN_SIGNALS, "scope = 'user'"),
        )
        for row in about.rows(
            table, ("epoch_us(occurred_at)", said_by, "epoch_us(recorded_at)", *shown),
            f"user_id = ? AND {ended} AND {shown[0]} IS NOT NULL", owner,
        )
    ]  # fmt: skip


def _made(owner: str, about: Lookup, rows: list[Lesson]) -> Lessons:
    return Lessons((about.tenant, owner), rules_of(about.folder), rows)


LESSONS: Source[Lessons] = Source("lessons", ("events", "signals"), _learnt, _made)
