"""A user as of any time: what has ended, moments of affect, levels of mastery, sessions."""

from itertools import groupby
from typing import Any

from schemas.time import format_time
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.chronicle.session import steps
from streams.files.manifest import rules_of
from streams.folds import learner
from streams.folds.rows import UserSignal
from streams.pipeline.entity import Entity
from streams.reading import FAR, load_revisions, rows

Json = dict[str, Any]
Newest = tuple[list[Json], int]
"""The newest of a list, and how many there are."""

ENDED, MOMENTS, LESSONS, SESSIONS = 100, 150, 150, 20
"""The newest that are told of each."""
BY_THEN = "user_id = ? AND epoch_us(occurred_at) <= ? AND epoch_us(recorded_at) <= ?"
STATES_ENDED = """
WITH version AS (
    SELECT *, CAST(state.valid_from AS TIMESTAMPTZ) AS begins,
        CAST(state.valid_to AS TIMESTAMPTZ) AS ends
    FROM state_revision WHERE epoch_us(learnt_at) <= ?
    QUALIFY row_number() OVER (PARTITION BY state_id, state.valid_from ORDER BY seq DESC) = 1
), bounded AS (
    SELECT *, lead(begins) OVER (PARTITION BY state_id ORDER BY begins) AS next_begins
    FROM version WHERE NOT gone
)
SELECT state_id, state.kind AS kind, state.body_text AS body_text, begins AS valid_from,
    least(ends, next_begins) AS ended_at,
    coalesce(next_begins <= coalesce(ends, next_begins), false) AS followed,
    count(*) OVER () AS total
FROM bounded
WHERE state.kind <> 'long_mood_state' AND epoch_us(least(ends, next_begins)) <= ?
ORDER BY ended_at DESC, state_id, valid_from DESC LIMIT ?"""
"""A version of a state ends at the latest where the next begins."""


def past(root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None) -> Json:
    """What has ended (`followed`: another version of the same state took its place), moments of
    affect, scores by topic after each lesson, and sessions: the newest of each, and in `counts` how
    many there are. With the times at which something changed.
    """
    known = FAR if known_at is None else known_at
    with Lookup(root, tenant) as about:
        newest = {
            "ended": _ended(about, user_id, as_of, known),
            "moments": _moments(about, user_id, as_of, known),
            "mastery": _mastery(about, user_id, as_of, known),
            "sessions": _sessions(about, user_id, as_of, known),
        }
        return {
            **{name: shown for name, (shown, _) in newest.items()},
            "counts": {name: total for name, (_, total) in newest.items()},
            "steps": steps(about, [user_id]),
        }


def _newest(found: list[Json]) -> Newest:
    totals = [row.pop("total") for row in found]
    return found, totals[0] if totals else 0


def _ended(about: Lookup, user_id: str, as_of: int, known: int) -> Newest:
    load_revisions(about, "owner_id = ? AND entity_type = 'state'", user_id)
    return _newest(rows(about.define("state_revision"), STATES_ENDED, known, as_of, ENDED))


def _moments(about: Lookup, user_id: str, as_of: int, known: int) -> Newest:
    about.load("affects", "user_id = ? AND epoch_us(recorded_at) <= ?", user_id, known)
    sql = (
        "SELECT occurred_at, event_id, session_id, v, a, d, text, count(*) OVER () AS total "
        "FROM affect_current WHERE epoch_us(occurred_at) <= ? "
        "ORDER BY affect_current.occurred_at DESC, event_id LIMIT ?"
    )
    shown, total = _newest(rows(about.define("affect_current"), sql, as_of, MOMENTS))
    return shown[::-1], total


def _sessions(about: Lookup, user_id: str, as_of: int, known: int) -> Newest:
    """The last one first: `turns` are the user's."""
    sql = (
        "SELECT session_id, count(DISTINCT event_id) AS turns, max(occurred_at) AS last_active, "
        "count(*) OVER () AS total FROM events GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT ?"
    )
    columns = ("session_id", "event_id", "occurred_at")
    about.load(
        "events", f"{BY_THEN} AND session_id IS NOT NULL", user_id, as_of, known, columns=columns
    )
    return _newest(rows(about.db, sql, SESSIONS))


IN_TURNS = ("topic", "difficulty", "correct_rate")
IN_SIGNALS = (
    "doc ->> '$.topic'", "doc ->> '$.metadata.difficulty'",
    "TRY_CAST(doc ->> '$.metadata.correct_rate' AS DOUBLE)",
)  # fmt: skip


def _mastery(about: Lookup, user_id: str, as_of: int, known: int) -> Newest:
    """The scores after each lesson with an answer, folded again from what was said: the table
    `profiles` has the newest document of each batch alone."""
    rules, entity = rules_of(about.folder), Entity("users", about.tenant, user_id, {})
    scores: dict[str, float] = {}
    levels: list[Json] = []
    for at, lessons in groupby(_lessons(about, user_id, as_of, known), lambda one: one.occurred_at):
        is_answered = False
        for lesson in lessons:
            learner.fold(entity, lesson, rules)
            topic = entity.get(learner.TOPICS.key(lesson.topic or ""))
            if lesson.correct_rate is None or topic is None:
                continue
            if (score := learner.score(topic.days, rules)) is not None:
                scores[topic.topic] = score
                is_answered = True
        if is_answered:
            kept = set(learner.TOPICS.ids(entity))
            scores = {topic: score for topic, score in scores.items() if topic in kept}
            levels.append({"at": format_time(at), "scores": dict(sorted(scores.items()))})
    return levels[-LESSONS:], len(levels)


def _lessons(about: Lookup, user_id: str, as_of: int, known: int) -> list[UserSignal]:
    """Ended turns, and signals of the user's, with a topic."""
    lessons = [
        UserSignal(id, user_id, None, at, None, topic, None, difficulty, correct_rate, None)
        for table, name, values, condition in (
            ("events", "event_id", IN_TURNS, "status <> 'running'"),
            ("signals", "signal_id", IN_SIGNALS, "scope = 'user'"),
        )
        for id, at, topic, difficulty, correct_rate in about.rows(
            table,
            (name, "epoch_us(occurred_at)", *values),
            f"{condition} AND {values[0]} IS NOT NULL AND {BY_THEN}",
            user_id,
            as_of,
            known,
        )
    ]
    return sorted(lessons, key=lambda lesson: (lesson.occurred_at, lesson.event_id))
