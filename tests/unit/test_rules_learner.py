"""The learner's profile, rule by rule (docs/rules.md, Learners)."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.base import parse_time
from schemas.http import UserUpdate
from schemas.learner import UserLearningProfile
from streams.files.fold_batch import Applier
from streams.files.store import Store
from streams.folds import learner
from streams.folds.constants import Rules
from streams.folds.effects import Refused
from tests.unit.memory_told import SOURCE, Json, Memory, day

LIMITS = "微积分-极限"
PUBLISHED_UPDATE = """{
  "user_id": "u123",
  "event": {
    "intent": "quiz",
    "topic": "微积分-极限",
    "artifact": "quiz_set",
    "metadata": {
      "difficulty": "easy",
      "correct_rate": 0.4
    }
  }
}"""


def signal(signal_id: str, at: float = 1, **fields: Any) -> Json:
    """What `POST /memory/user/update` says, as a record."""
    return {
        "type": "signal", "signal_id": signal_id, "scope": "user", "user_id": "u",
        "occurred_at": day(at), **fields,
    }  # fmt: skip


def learn(user: Memory, at: float = 1, **fields: Any) -> None:
    """A signal of its own id."""
    number = len(user.table("signals"))
    assert user.give(signal(f"g{number:04}", at, **fields)) == "applied"


def answer(
    user: Memory, rate: float, difficulty: str | None = None, at: float = 1, topic: str = LIMITS
) -> None:
    known = {"difficulty": difficulty} if difficulty else {}
    learn(user, at, topic=topic, metadata={"correct_rate": rate, **known})


def profile(user: Memory) -> Json:
    found = learner.document(user.rows, Rules(), "u")
    assert found is not None
    UserLearningProfile.model_validate_json(json.dumps(found))
    return found


def mastered(user: Memory, topic: str = LIMITS) -> tuple[float, str]:
    found = profile(user)
    return found["mastery_score"][topic], found["mastery"][topic]


def test_the_check_weak_then_medium_then_strong(user: Memory) -> None:
    answer(user, 0.4, "easy")
    assert mastered(user) == (0.457142857, "weak")
    answer(user, 0.8, "easy")
    assert mastered(user) == (0.56, "medium")
    for _ in range(3):
        answer(user, 1.0, "hard")
    assert mastered(user) == (0.824, "strong")


@pytest.mark.parametrize(
    ("p", "word"),
    [(0.499999999, "weak"), (0.5, "medium"), (0.799999999, "medium"), (0.8, "strong")],
)
def test_weak_ends_at_a_half_and_strong_begins_at_four_fifths(p: float, word: str) -> None:
    assert learner.mastery(p, Rules()) == word


def test_an_answer_halves_every_30_days_counted_from_the_topics_latest(user: Memory) -> None:
    answer(user, 1.0, at=1)
    answer(user, 0.0, at=31)
    assert mastered(user)[0] == round((0.5 + 0.5) / (1 + 1 + 0.5), 9)


def test_age_is_counted_in_utc_dates(user: Memory) -> None:
    answer(user, 1.0, at=1.99)
    answer(user, 0.0, at=2.01)
    left = 0.5 ** (1 / 30)
    assert mastered(user)[0] == round((0.5 + left) / (1 + 1 + left), 9)
    other = Memory()
    answer(other, 1.0, at=1.01)
    answer(other, 0.0, at=1.99)
    assert mastered(other)[0] == 0.5


@pytest.mark.parametrize("late", [True, False])
def test_nothing_counts_beyond_360_days(user: Memory, late: bool) -> None:
    answers = [(0.0, 1.0), (1.0, 2.0), (0.5, 362.0)]  # 361 and 360 days before the latest
    for rate, at in reversed(answers) if late else answers:
        answer(user, rate, at=at)
    left = 0.5 ** (360 / 30)
    assert mastered(user)[0] == round((0.5 + left + 0.5) / (1 + left + 1), 9)


def expected(user: Memory, topic: str = LIMITS) -> tuple[float, float]:
    """In a topic and elsewhere."""
    found = profile(user)
    return found["expected_correct"][topic], found["expected_correct_elsewhere"]


def test_the_check_of_what_is_expected(user: Memory) -> None:
    answer(user, 0.4, "hard", at=1)
    assert expected(user) == (0.58, 0.595)
    answer(user, 1.0, "easy", at=2)
    assert expected(user) == (0.696459193, 0.693173719)


def test_of_a_topic_the_newest_32_answers_count_in_any_order() -> None:
    told = [(number, (number * 7 % 10) / 10) for number in range(40)]
    orders = told, told[::-1], told[20:] + told[:20], told[::2] + told[1::2]
    users = [answered(order) for order in orders]
    assert len({json.dumps(profile(user)) for user in users}) == 1
    newest = answered(told[-32:])
    assert expected(newest) == expected(users[0])
    assert mastered(newest) != mastered(users[0])


def answered(told: list[tuple[int, float]]) -> Memory:
    """Answers of one time, told apart by their ids only."""
    user = Memory()
    for number, rate in told:
        said = signal(f"g{number:02}", 1, topic=LIMITS, metadata={"correct_rate": rate})
        assert user.give(said) == "applied"
    return user


def test_what_is_expected_follows_the_constants(user: Memory) -> None:
    answer(user, 0.0, at=1)
    answer(user, 1.0, at=2)
    rules = Rules.of({
        "expected_prior": 0.5, "expected_prior_answers": 1, "expected_learner_halflife": 1,
        "expected_learner_answers": 2, "expected_topic_halflife": 1,
    })  # fmt: skip
    found = learner.document(user.rows, rules, "u")
    assert found is not None
    level = (0.5 + 1) / (1 + 1.5)
    assert found["expected_correct_elsewhere"] == level
    assert found["expected_correct"][LIMITS] == round((2 * level + 1) / 3.5, 9)


@pytest.mark.beyond_reference
def test_a_topic_whose_answers_an_older_version_did_not_keep_is_expected_as_elsewhere() -> None:
    user = Memory()
    answer(user, 1.0)
    key = learner.TOPICS.key(LIMITS)
    row = user.rows.get(key)
    assert row is not None
    user.rows.put(key, learner.Topic(row.topic, row.first, row.days))
    assert mastered(user)[1] == "medium"
    assert expected(user) == (0.66, 0.66)


@pytest.fixture
def travelled() -> Memory:
    """A learner who visited 500 topics, one every hour from day 2 on."""
    user = Memory()
    for number in range(Rules().max_topics):
        learn(user, 2 + number / 24, topic=f"t{number:03}")
    return user


@pytest.mark.beyond_reference
def test_the_500_newest_topics_are_kept(travelled: Memory) -> None:
    learn(travelled, 30, topic="newest")
    visited = profile(travelled)["history"]["topics_visited"]
    assert visited == [*(f"t{number:03}" for number in range(1, 500)), "newest"]


@pytest.mark.beyond_reference
def test_a_late_visit_older_than_500_topics_drops_none_of_them(travelled: Memory) -> None:
    before = profile(travelled)["history"]["topics_visited"]
    learn(travelled, 1, topic="late")
    assert profile(travelled)["history"]["topics_visited"] == before


def test_nobody_known_has_no_profile(user: Memory) -> None:
    assert learner.document(user.rows, Rules(), "u") is None


def artifacts(user: Memory, *names: str) -> tuple[str | None, str | None]:
    """Uses in the order of time; the favourite and its strength."""
    for number, name in enumerate(names):
        learn(user, 1 + number / 24, artifact=name)
    found = profile(user)["preferences"]
    return found["preferred_artifact"], found["preferred_artifact_strength"]


@pytest.mark.parametrize(
    ("others", "strength"),
    [(0, "strong"), (1, "strong"), (2, "medium"), (3, "weak"), (4, None)],
    ids=["100 %", "75 %", "60 %", "50 %", "43 %"],
)
def test_three_uses_and_half_of_all_make_a_favourite(
    user: Memory, others: int, strength: str | None
) -> None:
    rest = ["quiz", "explanation", "flashcards", "quiz"][:others]
    favourite = "notes" if strength else None
    assert artifacts(user, *rest, "notes", "notes", "notes") == (favourite, strength)


def test_just_below_a_threshold_is_the_weaker_strength(user: Memory) -> None:
    made = artifacts(user, *["notes"] * 11, *["quiz"] * 4)  # 73 %
    assert made == ("notes", "medium")


def test_a_tie_goes_to_the_latest_used(user: Memory) -> None:
    pair = ["notes", "quiz"]
    assert artifacts(Memory(), *pair * 3) == ("quiz", "weak")
    assert artifacts(user, *pair[::-1] * 3) == ("notes", "weak")


def test_latest_is_by_time_not_by_arrival(user: Memory) -> None:
    for at, name in ((6, "quiz"), (1, "notes"), (2, "quiz"), (3, "notes"), (4, "quiz")):
        learn(user, at, artifact=name)
    learn(user, 5, artifact="notes")
    assert profile(user)["preferences"]["preferred_artifact"] == "quiz"


@pytest.mark.parametrize(
    ("artifact", "kind"),
    [("quiz_set", "quiz"), ("notes_document", "notes"), ("flashcards", "flashcards")],
)
def test_artifacts_are_mapped_to_their_kinds(user: Memory, artifact: str, kind: str) -> None:
    assert artifacts(user, *[artifact] * 3) == (kind, "strong")


def test_an_artifact_of_no_kind_is_no_use(user: Memory) -> None:
    assert artifacts(user, "video", "video", "video", "notes", "notes", "notes") == (
        "notes",
        "strong",
    )


def test_the_difficulty_goes_by_the_same_rule(user: Memory) -> None:
    for number, difficulty in enumerate(["easy", "hard", "hard"]):
        learn(user, 1 + number / 24, metadata={"difficulty": difficulty})
    assert profile(user)["preferences"]["difficulty_preference"] is None
    learn(user, 2, metadata={"difficulty": "hard"})
    found = profile(user)["preferences"]
    assert found["difficulty_preference"] == "hard"
    assert found["difficulty_preference_strength"] == "strong"


def test_the_published_example_makes_the_published_profile(tmp_path: Path) -> None:
    update = UserUpdate.model_validate_json(PUBLISHED_UPDATE)
    said = update.event.model_dump(exclude_none=True)
    record = signal("post-1", **said) | {"user_id": update.user_id}
    store = Store(tmp_path / "tables")
    applier = Applier(store, Rules())
    applier.apply([(json.dumps(record).encode(), SOURCE)])
    (rows,) = applier.take_documents()
    user_id, updated_at, _, doc, *_ = rows["profiles"][0]
    assert (user_id, updated_at) == ("u123", parse_time(day(1)))
    assert json.loads(doc) == {
        "user_id": "u123",
        "mastery": {LIMITS: "weak"},
        "mastery_score": {LIMITS: 0.457142857},
        "expected_correct": {LIMITS: 0.58},
        "expected_correct_elsewhere": 0.595,
        "preferences": {
            "preferred_artifact": None,
            "preferred_artifact_strength": None,
            "difficulty_preference": None,
            "difficulty_preference_strength": None,
        },
        "history": {"quiz_sessions": 1, "homework_help_count": 0, "topics_visited": [LIMITS]},
        "updated_at": day(1),
    }
    assert set(rows) == {"profiles", "signals"}  # no conversation, link or memory
    store.close()


def test_a_signal_given_twice_is_a_duplicate(user: Memory) -> None:
    said = signal("post-1", intent="quiz", topic=LIMITS, metadata={"correct_rate": 0.4})
    assert user.give(said) == "applied"
    before = profile(user)
    assert user.give(said) == "duplicate"
    assert profile(user) == before
    assert len(user.table("signals")) == 1


def test_other_content_under_a_signals_id_is_refused(user: Memory) -> None:
    user.give(signal("post-1", intent="quiz"))
    before = profile(user)
    with pytest.raises(Refused) as refused:
        user.give(signal("post-1", intent="homework"))
    assert refused.value.reason == "conflicting_duplicate"
    assert profile(user) == before


def test_a_signal_and_a_plan_may_bear_the_same_id(user: Memory) -> None:
    user.tell(plan_id="same")
    assert user.give(signal("same", intent="quiz")) == "applied"


def test_a_signal_makes_no_revision(user: Memory) -> None:
    learn(user, intent="quiz", topic=LIMITS, metadata={"correct_rate": 0.4})
    assert user.table("revisions") == []
