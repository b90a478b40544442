"""The learner's fold: mastery, counts and preferences.

Rows of a user: `l` has the counts, `y/{topic}` a topic's answers, summed by day, and its newest
answers. All sums are integers, so the order of answers does not matter. Formulas and check values:
docs/rules.md, Learners.
"""

from typing import Any, NamedTuple

from schemas.base import DAY, format_time
from schemas.row import Row
from streams.folds.constants import Rules
from streams.folds.effects import RowKind, Rows, UserSignal
from streams.folds.expected_mastery import Answer, expectation, newest

QUARTERS = {"easy": 3, "medium": 4, "hard": 5, None: 4}  # difficulty weights 0.75, 1, 1.25
QUIZ_INTENTS = frozenset({"quiz", "quiz_session", "take_quiz"})
HOMEWORK_INTENTS = frozenset({"homework", "homework_help"})
ARTIFACT_KINDS = {
    "quiz": "quiz",
    "quiz_set": "quiz",
    "explanation": "explanation",
    "explanation_text": "explanation",
    "notes": "notes",
    "notes_document": "notes",
    "flashcards": "flashcards",
    "flashcard_set": "flashcards",
}
NEVER = -(2**62)


Lesson = tuple[int, str, str | None, str | None]  # occurred_at, id, intent, topic
NO_LESSON: Lesson = (NEVER, "", None, None)


class Use(NamedTuple):
    """Number of uses, and the latest one."""

    times: int = 0
    latest: tuple[int, str] = (NEVER, "")


class Learner(Row, frozen=True):
    """A user's counts. `artifacts` and `difficulties` are sorted by name."""

    updated_at: int
    quiz_sessions: int = 0
    homework_help_count: int = 0
    topics: int = 0
    artifacts: tuple[tuple[str, Use], ...] = ()
    difficulties: tuple[tuple[str, Use], ...] = ()
    latest: Lesson | None = None


class Answers(NamedTuple):
    """A day's answers in a topic: Σ weight·rate and Σ weight, in quarters and millionths."""

    day: int
    weighted: int
    weight: int


class Topic(Row, frozen=True):
    """A topic's first visit, its answers by day, and its newest answers, oldest first."""

    topic: str
    first: tuple[int, str]
    days: tuple[Answers, ...] = ()
    answers: tuple[Answer, ...] = ()


LEARNERS = RowKind("l", Learner)
LEARNER = LEARNERS.key()
TOPICS = RowKind("y", Topic)


def fold(rows: Rows, lesson: UserSignal, rules: Rules) -> None:
    """Folds one lesson into the user's counts and topic."""
    learner = rows.get(LEARNER) or Learner(NEVER)
    key = lesson.occurred_at, lesson.event_id
    topics = learner.topics
    if lesson.topic:
        topics = _visit(rows, topics, lesson.topic, key, lesson, rules)
    latest = learner.latest
    if lesson.intent:  # of two with equal time and id, in two sessions, the greater counts
        latest = max(latest or NO_LESSON, (*key, lesson.intent, lesson.topic), key=_lesson_order)
    kind = ARTIFACT_KINDS.get(lesson.artifact) if lesson.artifact else None
    artifacts, difficulties = learner.artifacts, learner.difficulties
    if kind:
        artifacts = _used(artifacts, kind, key)
    if lesson.difficulty:
        difficulties = _used(difficulties, lesson.difficulty, key)
    updated = Learner(
        max(learner.updated_at, lesson.occurred_at),
        learner.quiz_sessions + (lesson.intent in QUIZ_INTENTS),
        learner.homework_help_count + (lesson.intent in HOMEWORK_INTENTS),
        topics,
        artifacts,
        difficulties,
        latest,
    )
    if updated != learner:
        rows.put(LEARNER, updated)


def _lesson_order(lesson: Lesson) -> tuple[int, str, str, str]:
    at, said_by, intent, topic = lesson
    return at, said_by, intent or "", topic or ""


def _visit(
    rows: Rows,
    topics: int,
    name: str,
    key: tuple[int, str],
    lesson: UserSignal,
    rules: Rules,
) -> int:
    topic = rows.get(TOPICS.key(name))
    if topic is None:
        topics += 1
        if topics > rules.max_topics:
            topics -= 1
            oldest = min((row for _, row in TOPICS.scan(rows)), key=lambda row: row.first)
            if key < oldest.first:
                return topics  # the newest are kept
            rows.delete(TOPICS.key(oldest.topic))
    first = key if topic is None else min(topic.first, key)
    days, answers = (topic.days, topic.answers) if topic else ((), ())
    if lesson.correct_rate is not None:
        rate = round(lesson.correct_rate * 1_000_000)
        days = _answered(days, lesson.occurred_at // DAY, QUARTERS[lesson.difficulty], rate, rules)
        answers = newest((*answers, Answer(*key, rate)), rules)
    elif topic is not None and topic.first == first:
        return topics
    rows.put(TOPICS.key(name), Topic(name, first, days, answers))
    return topics


def _answered(
    days: tuple[Answers, ...], day: int, weight: int, rate: int, rules: Rules
) -> tuple[Answers, ...]:
    by_day = {answers.day: answers for answers in days}
    old = by_day.get(day, Answers(day, 0, 0))
    by_day[day] = Answers(day, old.weighted + weight * rate, old.weight + weight)
    latest = max(by_day)
    return tuple(by_day[day] for day in sorted(by_day) if latest - day <= rules.mastery_days)


def _used(
    uses: tuple[tuple[str, Use], ...], name: str, key: tuple[int, str]
) -> tuple[tuple[str, Use], ...]:
    counted = dict(uses)
    old = counted.get(name, Use())
    counted[name] = Use(old.times + 1, max(old.latest, key))
    return tuple(sorted(counted.items()))


# --- the document -----------------------------------------------------------------------------


def score(days: tuple[Answers, ...], rules: Rules) -> float | None:
    """p = (0.5 + Σ w·r) / (1 + Σ w), or None without answers. w halves every 30 days."""
    if not days:
        return None
    latest = days[-1].day
    top, bottom = 0.5, 1.0
    for answers in days:
        fading = 0.5 ** ((latest - answers.day) / rules.mastery_halflife_days) / 4
        top += answers.weighted * fading / 1_000_000
        bottom += answers.weight * fading
    return round(top / bottom, 9)


def mastery(p: float, rules: Rules) -> str:
    """weak < 0.5 <= medium < 0.8 <= strong."""
    if p < rules.weak_below:
        return "weak"
    return "medium" if p < rules.strong_from else "strong"


def favourite(uses: tuple[tuple[str, Use], ...], rules: Rules) -> tuple[str | None, str | None]:
    """The most used, if used ≥ 3 times and in ≥ 50 % of all; its strength at 50, 60, 75 %."""
    if not uses:
        return None, None
    name, use = max(uses, key=lambda entry: (entry[1].times, entry[1].latest))
    share = use.times / sum(count.times for _, count in uses)
    if use.times < rules.uses_needed or share < rules.uses_share:
        return None, None
    return name, "strong" if share >= 0.75 else "medium" if share >= 0.6 else "weak"


def document(rows: Rows, rules: Rules, user_id: str) -> dict[str, Any] | None:
    """The profile (schemas.learner.UserLearningProfile)."""
    learner = rows.get(LEARNER)
    if learner is None:
        return None
    topics = [rows.peek(TOPICS.key(name)) for name in TOPICS.ids(rows)]
    scores = {row.topic: p for row in topics if (p := score(row.days, rules)) is not None}
    expected = expectation({row.topic: row.answers for row in topics if row.days}, rules)
    artifact, artifact_strength = favourite(learner.artifacts, rules)
    difficulty, difficulty_strength = favourite(learner.difficulties, rules)
    return {
        "user_id": user_id,
        "mastery": {topic: mastery(p, rules) for topic, p in scores.items()},
        "mastery_score": scores,
        "expected_correct": expected.topics,
        "expected_correct_elsewhere": expected.elsewhere,
        "preferences": {
            "preferred_artifact": artifact,
            "preferred_artifact_strength": artifact_strength,
            "difficulty_preference": difficulty,
            "difficulty_preference_strength": difficulty_strength,
        },
        "history": {
            "quiz_sessions": learner.quiz_sessions,
            "homework_help_count": learner.homework_help_count,
            "topics_visited": [row.topic for row in sorted(topics, key=lambda row: row.first)],
        },
        "updated_at": format_time(learner.updated_at),
    }
