"""What is over, rule by rule (docs/rules.md, "Long-term memory")."""

from itertools import permutations

import pytest

from schemas.time import parse_time
from streams.folds.end_facts import ENDS, MAX_ENDS, holds, stem
from streams.folds.states import STATES
from tests.unit.memory_told import Json, Memory, day, plan, prefers, says


def has(value: str, family: str = "pet", state_id: str | None = None, **fields: str) -> Json:
    """An upsert of a fact of a family."""
    payload = {"family": family, "value": value} | fields
    return says(f"Has {value}.", state_id=state_id or value, payload=payload)


def over(value: str = "", *families: str, **fields: object) -> Json:
    return {"families": list(families) or ["pet"], "value": value, **fields}


def told(user: Memory, number: int, *ends: Json, **fields: object) -> list[Json]:
    """A plan with ends, on that day of January."""
    return user.made(plan(f"p{number}", number, ends=list(ends), **fields))


def statuses(user: Memory) -> dict[str, str]:
    return {name: state["status"] for name, state in user.states().items()}


def test_an_end_closes_what_it_names_by_family_and_words(user: Memory) -> None:
    user.tell(has("a dog named Rex"), has("two cats"), has("dog", "work"))
    told(user, 2, over("dogs"))
    assert statuses(user) == {"a dog named Rex": "closed", "two cats": "active", "dog": "active"}
    assert user.states()["a dog named Rex"]["valid_to"] == day(2)


def test_an_end_without_words_closes_the_family_and_a_slot_is_one_too(user: Memory) -> None:
    user.tell(has("Acme", "job", slot="employer"), has("nurse", "job"), has("Oslo", "home"))
    told(user, 2, over("", "employer", "home"))
    assert statuses(user) == {"Acme": "closed", "nurse": "active", "Oslo": "closed"}


def test_without_a_family_a_state_is_of_its_category(user: Memory) -> None:
    user.tell(says(state_id="s", payload={"category": "background"}))
    told(user, 2, over("kyoto", "background"))
    assert statuses(user) == {"s": "closed"}, "and without a value its text counts"


def test_an_end_has_a_revision_with_its_reason_and_evidence(user: Memory) -> None:
    user.tell(has("dog"), event_id="e1")
    (revision,) = told(user, 2, over("dog", reason="said so"), event_id="e2")
    assert (revision["op"], revision["reason"]) == ("close", "said so")
    assert (revision["evidence_event_ids"], revision["after"]["status"]) == (["e2"], "closed")
    assert user.state()["evidence_event_ids"] == ["e1", "e2"]
    assert user.state()["last_confirmed_at"] == day(1)
    assert told(user, 3, over("dog")) == [], "it is over already"


def test_the_earliest_end_stands_whatever_the_order() -> None:
    plans = [
        plan("p1", 1, state_updates=[has("dog") | {"valid_from": day(1)}]),
        plan("p2", 2, ends=[over("dog")]),
        plan("p3", 3, ends=[over("", "pet", "home")]),
        plan("p4", 4, state_updates=[has("dog") | {"valid_from": day(4)}]),
        plan("p5", 5, ends=[over("dog", at=day(6))]),
    ]
    for order in permutations(plans):
        user = Memory()
        for record in order:
            user.give(record)
        versions = user.rows[STATES.key("dog")].versions
        held = [(one.valid_from, one.valid_to) for one in versions]
        assert held == [tuple(parse_time(day(at)) for at in span) for span in ((1, 2), (4, 6))]


@pytest.mark.parametrize(
    ("told_on", "at", "until"), [(10, 10, None), (10, 20, 20), (11, 5, 5), (12, 5, 5)]
)
def test_an_end_of_an_earlier_plan_yields_to_a_statement_that_goes_on_after_it(
    told_on: float, at: float, until: float | None
) -> None:
    """Stated on day 11, since day 3. An end that is still to come stays."""
    stated = plan("p1", 11, state_updates=[has("dog") | {"valid_from": day(3)}])
    ended = plan("p2", told_on, ends=[over("dog", at=day(at))])
    corrected = plan("p3", 30, state_updates=[has("dog") | {"confidence": 0.7}])
    for order in permutations((stated, ended)):
        user = Memory()
        for record in (*order, corrected):
            user.give(record)
        assert user.state()["valid_to"] == (until and day(until))


def test_an_end_revokes_likes_that_were_said_before_it(user: Memory) -> None:
    likes = [prefers("confirm", "black coffee"), prefers("confirm", "tea")]
    user.made(plan("p1", 1, preference_updates=[*likes, prefers("confirm", "ice", "dislike")]))
    (revision,) = told(user, 2, over("coffee", "like", reason="gave it up"))
    assert (revision["op"], revision["reason"]) == ("revoke", "gave it up")
    assert user.preferences() == {
        ("like", "black coffee"): "revoked",
        ("like", "tea"): "confirmed",
        ("dislike", "ice"): "confirmed",
    }
    user.made(plan("p3", 3, preference_updates=likes[:1]))
    assert user.preferences()["like", "black coffee"] == "confirmed", "said again"


def test_the_mood_has_no_end(user: Memory) -> None:
    user.tell({"op": "upsert", "kind": "long_mood_state", "body_text": "calm"})
    assert told(user, 2, over("", "fact", "long_mood_state")) == []


def test_the_latest_ends_are_remembered(user: Memory) -> None:
    for number in range(2, MAX_ENDS + 4):
        told(user, number, over(f"x{number}"))
    kept = user.rows[ENDS.key("pet")].ends
    assert (len(kept), kept[0].value) == (MAX_ENDS, "x4")


@pytest.mark.parametrize(
    ("text", "words", "held"),
    [
        ("a dog named Rex", "dog", True), ("dogs", "the dog", False),
        ("running in the park", "run", True), ("runs", "running", True), ("smoking", "smoke", True),
        ("studies", "studying", True), ("carpets", "car", False), ("cat", "category", False),
        ("black coffee", "coffee black", True), ("coffee", "black coffee", False),
        ("anything", "", True), ("特别喜欢咖啡", "咖啡", True),
        ("緑茶", "茶", True), ("茶", "緑茶", False), ("Ｔｅａ", "tea", True),
    ],
)  # fmt: skip
def test_words_meet_whatever_their_usual_endings(text: str, words: str, held: bool) -> None:
    assert holds(text, words) is held


def test_stems_are_made_in_linear_time() -> None:
    assert stem("s" * 100_000)
    assert not holds("word " * 20_000, "absent")
