"""A learner's profile: what a user knows, does and prefers.

A lesson is an ended turn of the user, or a signal of scope user.
"""

from collections.abc import Sequence

from schemas.events import Signal, Turn, first_intent
from schemas.time import DAY, format_time
from tests.reference.wording import Document

Lesson = Turn | Signal
QUIZ = ("quiz", "quiz_session", "take_quiz")
HOMEWORK = ("homework", "homework_help")
ARTIFACTS = {
    **dict.fromkeys(("quiz", "quiz_set"), "quiz"),
    **dict.fromkeys(("explanation", "explanation_text"), "explanation"),
    **dict.fromkeys(("notes", "notes_document"), "notes"),
    **dict.fromkeys(("flashcards", "flashcard_set"), "flashcards"),
}
WEIGHTS = {"easy": 0.75, "medium": 1.0, "hard": 1.25, None: 1.0}


def profile(user_id: str, lessons: Sequence[Lesson]) -> Document | None:
    """The UserLearningProfile; None without a lesson."""
    if not lessons:
        return None
    said = sorted(lessons, key=order)
    answers: dict[str, list[Lesson]] = {}
    for one in said:
        if one.topic and one.metadata and one.metadata.correct_rate is not None:
            answers.setdefault(one.topic, []).append(one)
    scores = {topic: score(of_topic) for topic, of_topic in answers.items()}
    # the newest 32 of each topic, and of those the newest 32 of all
    kept = {topic: sorted(of_topic, key=by_time)[-32:] for topic, of_topic in answers.items()}
    everywhere = sorted((one for of_topic in kept.values() for one in of_topic), key=by_time)[-32:]
    level = likely(everywhere, halves=2, start=0.66, counts_as=3)
    intents = [first_intent(one.intent) for one in said]
    # only artifacts of the four kinds are uses
    artifacts = [ARTIFACTS[one.artifact] for one in said if one.artifact in ARTIFACTS]
    difficulties = [str(difficulty(one)) for one in said if difficulty(one)]
    artifact, artifact_strength = favourite(artifacts)
    hard, hard_strength = favourite(difficulties)
    return {
        "user_id": user_id,
        "mastery": {topic: word(known) for topic, known in scores.items()},
        "mastery_score": scores,
        "expected_correct": {
            topic: round(likely(of_topic, halves=6, start=level, counts_as=12), 9)
            for topic, of_topic in kept.items()
        },
        "expected_correct_elsewhere": round(level, 9),
        "preferences": {
            "preferred_artifact": artifact,
            "preferred_artifact_strength": artifact_strength,
            "difficulty_preference": hard,
            "difficulty_preference_strength": hard_strength,
        },
        "history": {
            "quiz_sessions": sum(intent in QUIZ for intent in intents),
            "homework_help_count": sum(intent in HOMEWORK for intent in intents),
            "topics_visited": list(dict.fromkeys(one.topic for one in said if one.topic)),
        },
        "updated_at": format_time(said[-1].occurred_at),
    }


def order(one: Lesson) -> tuple[int, str, str, str, str]:
    """By time and id. then by topic, artifact and difficulty."""
    lesson_id = one.signal_id if isinstance(one, Signal) else one.event_id
    kind = ARTIFACTS.get(one.artifact or "", "")
    return one.occurred_at, lesson_id, one.topic or "", kind, difficulty(one) or ""


def difficulty(one: Lesson) -> str | None:
    return one.metadata.difficulty if one.metadata else None


def score(answers: Sequence[Lesson]) -> float:
    """What is known of a topic, 0 to 1: it begins at one half; recent answers weigh most."""
    latest = max(one.occurred_at // DAY for one in answers)
    right, weight = 0.5, 1.0
    for one in answers:
        age = latest - one.occurred_at // DAY
        if age <= 360 and one.metadata and one.metadata.correct_rate is not None:
            counts = WEIGHTS[difficulty(one)] * 0.5 ** (age / 30)
            right += counts * round(one.metadata.correct_rate * 1_000_000) / 1_000_000
            weight += counts
    return round(right / weight, 9)


def likely(answers: Sequence[Lesson], halves: float, start: float, counts_as: float) -> float:
    """How likely the next answer is right. Answers are oldest first; `halves` answers later an
    answer counts half; `start` is what is expected without any."""
    right, weight = start * counts_as, counts_as
    for later, one in enumerate(reversed(answers)):
        right += 0.5 ** (later / halves) * rate(one) / 1_000_000
        weight += 0.5 ** (later / halves)
    return right / weight


def rate(one: Lesson) -> int:
    """In millionths."""
    assert one.metadata is not None
    assert one.metadata.correct_rate is not None
    return round(one.metadata.correct_rate * 1_000_000)


def by_time(one: Lesson) -> tuple[int, str, int]:
    """Of two answers of one time and id, in two sessions, the better one is the later."""
    lesson_id = one.signal_id if isinstance(one, Signal) else one.event_id
    return one.occurred_at, lesson_id, rate(one)


def word(known: float) -> str:
    """by the rounded score."""
    return "weak" if known < 0.5 else "medium" if known < 0.8 else "strong"


def favourite(uses: Sequence[str]) -> tuple[str | None, str | None]:
    """What is used most, and how clearly; of two the one used last. Uses are oldest first."""
    if not uses:
        return None, None
    times, last = max((uses.count(name), place) for place, name in enumerate(uses))
    percent = 100 * times / len(uses)
    if times < 3 or percent < 50:
        return None, None
    return uses[last], "strong" if percent >= 75 else "medium" if percent >= 60 else "weak"
