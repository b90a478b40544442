"""A user as of any time: ended facts, moments of affect, levels of mastery, sessions."""

from itertools import groupby
from operator import itemgetter
from typing import Any

from schemas.memory_kinds import PREFERENCE
from schemas.time import format_time
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.extractors.do_not_store import is_private
from streams.files.manifest import rules_of
from streams.folds import learner
from streams.folds.effects import UserSignal
from streams.history_documents import FAR, rows
from streams.pipeline.entity import Entity
from streams.point_in_time.facts import load_facts
from streams.point_in_time.session import steps

Json = dict[str, Any]
Newest = tuple[list[Json], int]
"""The newest rows of a list, and the total."""

ENDED, MOMENTS, LESSONS, SESSIONS = 10, 150, 150, 20
"""Maximum number of rows in each list, the newest."""
LINE = 120
"""Characters of a session's first line."""
BY_THEN = "user_id = ? AND epoch_us(occurred_at) <= ? AND epoch_us(recorded_at) <= ?"


def past(root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None) -> Json:
    """Ended facts (`followed`: by another version of the same state), moments of affect, scores by
    topic after each lesson, and sessions: the newest of each, with totals in `counts` and the times
    of changes in `steps`.
    """
    latest = FAR if known_at is None else known_at
    with Lookup(root, tenant) as lookup:
        newest = {
            "ended": _ended(lookup, user_id, as_of, latest),
            "moments": _moments(lookup, user_id, as_of, latest),
            "mastery": _mastery(lookup, user_id, as_of, latest),
            "sessions": _sessions(lookup, user_id, as_of, latest),
        }
        return {
            **{name: newest_rows for name, (newest_rows, _) in newest.items()},
            "counts": {name: total for name, (_, total) in newest.items()},
            "steps": steps(lookup, [user_id]),
        }


def _newest(records: list[Json]) -> Newest:
    totals = [row.pop("total") for row in records]
    return records, totals[0] if totals else 0


def _ended(lookup: Lookup, user_id: str, as_of: int, known_at: int) -> Newest:
    facts = load_facts(lookup, user_id, as_of, known_at)
    ended = [fact for fact in facts if fact["ended_at"] and fact["kind"] != PREFERENCE.name]
    ended.sort(key=itemgetter("ended_at"), reverse=True)
    return ended[:ENDED], len(ended)


def _moments(lookup: Lookup, user_id: str, as_of: int, known_at: int) -> Newest:
    lookup.load("affects", "user_id = ? AND epoch_us(recorded_at) <= ?", user_id, known_at)
    sql = (
        "SELECT occurred_at, event_id, session_id, v, a, d, text, count(*) OVER () AS total "
        "FROM affect_current WHERE epoch_us(occurred_at) <= ? "
        "ORDER BY affect_current.occurred_at DESC, event_id LIMIT ?"
    )
    moments, total = _newest(rows(lookup.define("affect_current"), sql, as_of, MOMENTS))
    return moments[::-1], total


def _sessions(lookup: Lookup, user_id: str, as_of: int, known_at: int) -> Newest:
    """Sessions, the latest first; `turns` counts the user's. `first_line`: the start of the first
    one, or None if its words ask not to be kept."""
    sql = (
        "SELECT session_id, count(DISTINCT event_id) AS turns, max(occurred_at) AS last_active, "
        "trim(arg_min(user_input, occurred_at)) AS first_line, "
        "count(*) OVER () AS total FROM events GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT ?"
    )
    columns = ("session_id", "event_id", "occurred_at", "user_input")
    lookup.load(
        "events", f"{BY_THEN} AND session_id IS NOT NULL", user_id, as_of, known_at, columns=columns
    )
    sessions, total = _newest(rows(lookup.db, sql, SESSIONS))
    for session in sessions:
        text = session["first_line"] or ""
        session["first_line"] = None if is_private(text) else text[:LINE]
    return sessions, total


IN_TURNS = ("topic", "difficulty", "correct_rate")
IN_SIGNALS = (
    "doc ->> '$.topic'", "doc ->> '$.metadata.difficulty'",
    "TRY_CAST(doc ->> '$.metadata.correct_rate' AS DOUBLE)",
)  # fmt: skip


def _mastery(lookup: Lookup, user_id: str, as_of: int, known_at: int) -> Newest:
    """Scores after each answered lesson, folded again from the records: the table `profiles` only
    has the newest document of each batch."""
    rules, entity = rules_of(lookup.folder), Entity("users", lookup.tenant, user_id, {})
    scores: dict[str, float] = {}
    levels: list[Json] = []
    for occurred_at, lessons in groupby(
        _lessons(lookup, user_id, as_of, known_at), lambda lesson: lesson.occurred_at
    ):
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
            current_topics = set(learner.TOPICS.ids(entity))
            scores = {topic: score for topic, score in scores.items() if topic in current_topics}
            levels.append({"at": format_time(occurred_at), "scores": dict(sorted(scores.items()))})
    return levels[-LESSONS:], len(levels)


def _lessons(lookup: Lookup, user_id: str, as_of: int, known_at: int) -> list[UserSignal]:
    """Ended turns and user signals with a topic."""
    lessons = [
        UserSignal(
            id, user_id, None, occurred_at, None, topic, None, difficulty, correct_rate, None
        )
        for table, name, values, condition in (
            ("events", "event_id", IN_TURNS, "status <> 'running'"),
            ("signals", "signal_id", IN_SIGNALS, "scope = 'user'"),
        )
        for id, occurred_at, topic, difficulty, correct_rate in lookup.rows(
            table,
            (name, "epoch_us(occurred_at)", *values),
            f"{condition} AND {values[0]} IS NOT NULL AND {BY_THEN}",
            user_id,
            as_of,
            known_at,
        )
    ]
    return sorted(lessons, key=lambda lesson: (lesson.occurred_at, lesson.event_id))
