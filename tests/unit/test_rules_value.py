"""The caps and constants of the memory rules: named, bounded, a value that travels with a fold."""

from typing import Any

import pytest

from schemas.base import HOUR
from schemas.row import replace
from streams.folds.affect import Mood, decay, feel, mood_at
from streams.folds.constants import CONSTANTS, Rules
from streams.folds.effects import Moment
from streams.folds.learner import Use, favourite, mastery
from tests.property.world import Json, World, recursion, turn


def folded(rules: Rules, *records: Json) -> World:
    made = World(rules=rules)
    made.say(*records)
    return made


def test_what_is_set_is_known_and_the_rest_are_defaults() -> None:
    rules = Rules.of({"max_intents": "3", "weak_below": 0.4})
    assert rules.changed() == {"max_intents": 3, "weak_below": 0.4}
    assert Rules.of(rules.changed()) == rules
    assert Rules.of({"max_topics": 7}).changed() == {"max_topics": 7}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("max_intent", 3, "max_intent: no such constant; there are baseline_halflife_hours, "),
        ("session_expiry", 3, "session_expiry: no such constant; there are "),
        ("max_intents", "x", "max_intents: expected a whole number from 1 to 100000, not 'x'"),
        ("max_intents", 2.5, "max_intents: expected a whole number from 1 to 100000, not 2.5"),
        ("max_intents", 0, "max_intents: expected a whole number from 1 to 100000, not 0"),
        ("max_intents", True, "max_intents: expected a whole number from 1 to 100000, not True"),
        ("weak_below", "nan", "weak_below: expected a number from 0 to 1, not 'nan'"),
        ("weak_below", None, "weak_below: expected a number from 0 to 1, not None"),
    ],
)
def test_a_wrong_one_is_refused(name: str, value: Any, said: str) -> None:
    with pytest.raises(ValueError) as error:
        Rules.of({"max_topics": 7, name: value})
    assert str(error.value).startswith(said)


def test_nobody_changes_them() -> None:
    rules = Rules()
    for name in CONSTANTS:
        with pytest.raises(AttributeError):
            setattr(rules, name, 1)
    assert rules == Rules() and hash(rules) == hash(Rules())


def test_sessions_fold_under_them() -> None:
    rules = Rules.of({"max_intents": 2, "max_conversations": 3, "session_expiry_hours": 1})
    said = [turn(f"e{n}", n * 30, intent=f"i{n}", task_id=f"t{n}") for n in (*range(6), 20)]
    made = folded(rules, *said)
    document = made.session()
    assert document["context"]["recent_intents"] == ["i5", "i20"]
    assert [one["task_id"] for one in document["conversations"]] == ["t4", "t5", "t20"]
    expired = [one for one in made.revisions("session") if one["op"] == "expire"]
    assert [one["reason"] for one in expired] == ["no turn for 1 h"]


def test_tasks_fold_under_them() -> None:
    steps = (recursion(f"r{n}", n, n, status="done") for n in range(4))
    machine = folded(Rules.of({"max_iteration": 2}), *steps).task()["global"]
    assert (machine["max_iteration"], machine["iteration"], machine["status"]) == (2, 2, "failed")


def test_moods_fold_under_them() -> None:
    day = 24 * HOUR
    rules = Rules.of({"baseline_halflife_hours": 48, "shock_weight": 0, "shock_weight_range": 0})
    mood = Mood()
    for at, v in ((0, 0.5), (day, -0.5)):
        mood = feel(mood, Moment(at, f"e{at}", v, 0.0, 0.0, 1.0, "", (), False), rules)
    assert mood_at(mood, day)[0] == pytest.approx(0.5 - (1 - decay(24, 48)))


def test_learners_fold_under_them() -> None:
    rules = Rules.of({"weak_below": 0.2, "strong_from": 0.4, "uses_needed": 1})
    assert [mastery(p, rules) for p in (0.1, 0.3, 0.5)] == ["weak", "medium", "strong"]
    assert favourite((("quiz", Use(1, (0, "e"))),), rules) == ("quiz", "strong")


def test_two_histories_folded_by_turns_in_one_process_have_their_own() -> None:
    short = Rules.of({"max_intents": 2, "max_conversations": 1, "session_expiry_hours": 1})
    one, other = World(rules=short), World()
    said = [turn(f"e{n}", n * 90, intent=f"i{n}", task_id=f"t{n}") for n in range(5)]
    for record in said:
        one.say(record)
        other.say(record)
    assert one.session() == folded(short, *said).session()
    assert other.session() == folded(Rules(), *said).session()
    assert len(one.session()["conversations"]) == 1 < len(other.session()["conversations"])
    assert [len(world.revisions("session")) for world in (one, other)] == [8, 0]
    assert one.asked_at(5 * 90)["status"] == "closed"
    assert other.asked_at(5 * 90)["status"] == "active"


def test_the_expiry_in_microseconds_is_made_of_the_hours() -> None:
    assert Rules().session_expiry == 24 * HOUR
    assert Rules.of({"session_expiry_hours": 0.5}).session_expiry == HOUR // 2
    assert replace(Rules(), session_expiry_hours=2.0).session_expiry == 2 * HOUR


def test_the_defaults_are_those_of_the_design() -> None:
    assert Rules().changed() == {}
    assert (Rules().weak_below, Rules().strong_from) == (0.5, 0.8)
