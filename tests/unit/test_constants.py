"""Caps and constants of the memory rules: named, bounded, one set a process."""

from collections.abc import Iterator
from typing import Any

import pytest

from schemas.base import HOUR
from streams.folds import constants
from streams.folds.affect import Mood, decay, feel, mood_at
from streams.folds.constants import CONSTANTS
from streams.folds.learner import Use, favourite, mastery
from streams.folds.rows import Moment
from tests.property.world import recursion, turn, world


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    yield
    constants.use({})


def test_what_is_set_is_known_and_the_rest_are_defaults() -> None:
    constants.use({"max_intents": "3", "weak_below": 0.4})
    assert constants.changed() == {"max_intents": 3, "weak_below": 0.4}
    constants.use({"max_topics": 7})
    assert constants.changed() == {"max_topics": 7}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("max_intent", 3, "max_intent: no such constant; there are baseline_halflife_hours, "),
        ("max_intents", "x", "max_intents: expected a whole number from 1 to 100000, not 'x'"),
        ("max_intents", 2.5, "max_intents: expected a whole number from 1 to 100000, not 2.5"),
        ("max_intents", 0, "max_intents: expected a whole number from 1 to 100000, not 0"),
        ("max_intents", True, "max_intents: expected a whole number from 1 to 100000, not True"),
        ("weak_below", "nan", "weak_below: expected a number from 0 to 1, not 'nan'"),
        ("weak_below", None, "weak_below: expected a number from 0 to 1, not None"),
    ],
)
def test_a_wrong_one_is_refused_and_sets_nothing(name: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError) as error:
        constants.use({"max_topics": 7, name: value})
    assert str(error.value).startswith(said)
    assert constants.changed() == {}


def test_sessions_fold_under_them() -> None:
    constants.use({"max_intents": 2, "max_conversations": 3, "session_expiry_hours": 1})
    said = [turn(f"e{n}", n * 30, intent=f"i{n}", task_id=f"t{n}") for n in (*range(6), 20)]
    made = world(*said)
    document = made.session()
    assert document["context"]["recent_intents"] == ["i5", "i20"]
    assert [one["task_id"] for one in document["conversations"]] == ["t4", "t5", "t20"]
    expired = [one for one in made.revisions("session") if one["op"] == "expire"]
    assert [one["reason"] for one in expired] == ["no turn for 1 h"]


def test_tasks_fold_under_them() -> None:
    constants.use({"max_iteration": 2})
    made = world(*(recursion(f"r{n}", n, n, status="done") for n in range(4)))
    machine = made.task()["global"]
    assert (machine["max_iteration"], machine["iteration"], machine["status"]) == (2, 2, "failed")


def test_moods_fold_under_them() -> None:
    day = 24 * HOUR
    constants.use({"baseline_halflife_hours": 48, "shock_weight": 0, "shock_weight_range": 0})
    mood = Mood()
    for at, v in ((0, 0.5), (day, -0.5)):
        mood = feel(mood, Moment(at, f"e{at}", v, 0.0, 0.0, 1.0, "", (), False))
    assert mood_at(mood, day)[0] == pytest.approx(0.5 - (1 - decay(24, 48)))


def test_learners_fold_under_them() -> None:
    constants.use({"weak_below": 0.2, "strong_from": 0.4, "uses_needed": 1})
    assert [mastery(p) for p in (0.1, 0.3, 0.5)] == ["weak", "medium", "strong"]
    assert favourite((("quiz", Use(1, (0, "e"))),)) == ("quiz", "strong")


def test_the_defaults_are_those_of_the_design() -> None:
    assert constants.changed() == {}
    assert CONSTANTS.session_expiry == 24 * HOUR
    assert (CONSTANTS.weak_below, CONSTANTS.strong_from) == (0.5, 0.8)
