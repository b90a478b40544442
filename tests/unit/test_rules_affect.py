"""The mood and its moments, rule by rule (docs/rules.md, Affect).

VAD is valence, arousal, dominance, each -1..+1; half-lives are seconds.
"""

from itertools import permutations
from typing import Any

import pytest

from schemas.base import HOUR, parse_time
from streams.folds import affect, session
from streams.folds.affect import Mood, decay, mood_at
from streams.folds.memory import mood_id
from streams.folds.rows import Effects, Refused
from streams.folds.rules import Rules
from streams.pipeline.entity import Entity
from tests.unit.memory_told import Json, Memory, day, given, plan, says


def moment(v: float, event_id: str, **fields: Any) -> Json:
    """A moment of feeling; confidence 1 where nothing else is said."""
    vad = {"v": v, "a": 0.0, "d": 0.0}
    return {"event_id": event_id, "text": event_id, "vad": vad, "confidence": 1, **fields}


def feel(
    user: Memory, v: float, at: float, event_id: str | None = None, **fields: Any
) -> list[Json]:
    """A plan with one moment; returns the revisions it made."""
    number = len(user.table("plans"))
    felt = moment(v, event_id or f"e{at}", **fields)
    return user.made(plan(f"felt-{number}", at, event_affect=felt))


def feel_turn(user: Memory, v: float, at: float, event_id: str, **fields: Any) -> None:
    """An ended turn with one moment, through the session's fold."""
    felt = {key: one for key, one in moment(v, event_id, **fields).items() if key != "event_id"}
    turn = {
        "type": "turn",
        "event_id": event_id,
        "session_id": "s",
        "user_id": "u",
        "occurred_at": day(at),
        "affect": felt,
    }
    read = given(turn)
    out = Effects("s", ("default", "sessions", "s"), read.record, Rules())
    session.fold(Entity("sessions", "default", "s", {}), read, out)
    (signal,) = out.signals
    user.hear(turn, signal)


def mood(user: Memory) -> Mood:
    """The mood after the latest moment."""
    row = user.rows.get(affect.MOOD)
    return Mood() if row is None else row.felt[-1].mood if row.felt else row.checkpoint


def mood_state(user: Memory) -> Json:
    """The newest version of the one long_mood_state, as the revisions tell it."""
    versions = [one for one in user.table("revisions") if one["kind"] == "long_mood_state"]
    after: Json = max(
        (one["after"] for one in versions if one["after"]),
        key=lambda one: parse_time(one["valid_from"]),
    )
    return after


# --- the formulas -----------------------------------------------------------------------------


def test_the_check_a_good_day_then_a_bad_one(user: Memory) -> None:
    feel(user, 0.5, at=1)
    feel(user, -0.5, at=2)
    now = mood(user)
    assert now.baseline == pytest.approx((0, 0, 0))
    assert now.severity == pytest.approx(0.25)
    assert now.shock == pytest.approx((-0.3375, 0, 0))
    assert now.halflife == pytest.approx(2.4375 * 3600)


def test_decay_halves_in_a_half_life_and_time_never_runs_backwards() -> None:
    assert [decay(seconds, 60.0) for seconds in (0, 60, 120, -60)] == [1, 0.5, 0.25, 1]


def test_the_first_moment_sets_the_baseline_without_a_shock(user: Memory) -> None:
    feel(user, 0.8, at=1, confidence=0.2)
    assert (mood(user).baseline, mood(user).shock) == ((0.8, 0, 0), (0, 0, 0))


def test_a_first_moment_without_confidence_leaves_the_first_place_to_the_next(
    user: Memory,
) -> None:
    feel(user, -1, at=1, confidence=0)
    assert mood(user) == Mood()
    feel(user, 0.8, at=2, confidence=0.5)
    assert (mood(user).baseline, mood(user).shock) == ((0.8, 0, 0), (0, 0, 0))


def test_confidence_0_changes_nothing(user: Memory) -> None:
    feel(user, 0.5, at=1)
    before = mood(user)
    assert feel(user, -1, at=2, confidence=0) == []
    assert mood(user) == before
    assert len(user.table("affects")) == 2
    feel(user, -0.5, at=2.5)
    other = Memory()
    feel(other, 0.5, at=1)
    feel(other, -0.5, at=2.5)
    assert mood(user) == mood(other)


def test_confidence_scales_both_baseline_and_shock(user: Memory) -> None:
    feel(user, 0.5, at=1)
    feel(user, -0.5, at=2, confidence=0.5)
    now = mood(user)
    assert now.baseline[0] == pytest.approx(0.25)  # half of a half-life's way
    assert now.severity == pytest.approx(0.375)
    assert now.shock[0] == pytest.approx(-0.75 * (0.6 + 0.3 * 0.375) * 0.5)


def test_the_worst_axis_makes_the_severity(user: Memory) -> None:
    feel(user, 0, at=1)
    feel(user, 0, at=1, event_id="z", vad={"v": 0.1, "a": -0.8, "d": 0.2})
    assert mood(user).severity == pytest.approx(0.4)
    assert mood(user).halflife == pytest.approx(3600 + 23 * 3600 * 0.16)


def test_an_old_shock_fades_at_its_own_half_life_before_the_next(user: Memory) -> None:
    feel(user, 0.5, at=1)
    feel(user, -0.5, at=2)
    feel(user, 0.0, at=2 + 2.4375 / 24)
    now = mood(user)
    left = -0.3375 / 2
    pull = (0.6 + 0.3 * now.severity) * 1
    assert now.shock[0] == pytest.approx(left + (0 - now.baseline[0] - left) * pull)


def test_vad_and_confidence_are_clamped(user: Memory) -> None:
    feel(user, 7, at=1, confidence=3, vad={"v": 7, "a": -7, "d": 0.5})
    (row,) = user.table("affects")
    assert (row["v"], row["a"], row["d"], row["confidence"]) == (1, -1, 0.5, 1)
    assert mood(user).baseline == (1, -1, 0.5)


def test_a_mood_is_clamped_when_read() -> None:
    strained = Mood(last_at=0, baseline=(0.9, -0.9, 0), shock=(0.4, -0.4, 0), halflife=3600)
    assert mood_at(strained, 0) == (1, -1, 0)


def test_a_mood_decays_when_it_is_read(user: Memory) -> None:
    feel(user, 0.5, at=1)
    feel(user, -0.5, at=2)
    now, at = mood(user), parse_time(day(2))
    halflife = round(2.4375 * HOUR)
    for passed, left in ((0, 1), (halflife, 0.5), (2 * halflife, 0.25)):
        assert mood_at(now, at + passed)[0] == pytest.approx(-0.3375 * left)
    assert mood(user) == now


def test_a_mood_of_1970_decays_too() -> None:
    old = Mood(last_at=0, shock=(0.5, 0, 0), halflife=3600)
    assert mood_at(old, HOUR) == (0.25, 0, 0)


# --- moments of one event ---------------------------------------------------------------------


def test_a_moment_is_a_row_of_affects(user: Memory) -> None:
    feel(user, 0.5, at=1, event_id="e1", text="glad", labels=["joy", "relief"])
    (row,) = user.table("affects")
    assert row == {
        "event_id": "e1",
        "user_id": "u",
        "session_id": None,
        "v": 0.5,
        "a": 0,
        "d": 0,
        "text": "glad",
        "labels": ["joy", "relief"],
        "confidence": 1,
        "from_plan": True,
        "occurred_at": parse_time(day(1)),
    }


def test_a_turns_moment_moves_its_users_mood(user: Memory) -> None:
    feel_turn(user, 0.5, 1, "e1")
    assert mood(user).baseline == (0.5, 0, 0)
    (row,) = user.table("affects")
    assert (row["session_id"], row["from_plan"]) == ("s", False)


@pytest.mark.parametrize("plan_first", [True, False])
@pytest.mark.parametrize("plan_at", [1, 2, 3])
def test_a_plans_moment_beats_a_turns(user: Memory, plan_first: bool, plan_at: float) -> None:
    if plan_first:
        feel(user, -0.5, plan_at, "e1")
    feel_turn(user, 0.5, 2, "e1")
    if not plan_first:
        feel(user, -0.5, plan_at, "e1")
    assert mood(user).baseline == (-0.5, 0, 0)
    assert len(user.table("affects")) == 2


def test_of_a_plans_moments_of_one_event_the_latest_stands(user: Memory) -> None:
    feel(user, 0.1, 3, "e1")
    feel(user, 0.9, 2, "e1")
    assert mood(user).baseline == (0.1, 0, 0)
    feel(user, 0.5, 4, "e1")
    assert mood(user).baseline == (0.5, 0, 0)
    assert len(user.table("affects")) == 3


def test_a_second_moment_of_an_event_is_a_revision_of_the_first(user: Memory) -> None:
    feel_turn(user, 0.5, 1, "e1")
    assert [one for one in user.table("revisions") if one["entity_type"] == "affect"] == []
    revisions = feel(user, -0.5, 1, "e1")
    (changed,) = [one for one in revisions if one["entity_type"] == "affect"]
    assert (changed["entity_id"], changed["op"]) == ("e1", "update")
    assert (changed["before"]["vad"]["v"], changed["after"]["vad"]["v"]) == (0.5, -0.5)
    assert changed["evidence_event_ids"] == ["e1"]


# --- order ------------------------------------------------------------------------------------


def test_any_order_of_moments_gives_exactly_the_same_mood() -> None:
    moments = [(0.5, 1.0), (-0.5, 1.3), (0.9, 2.7), (-0.1, 5.2)]
    moods = set()
    for order in permutations(moments):
        user = Memory()
        for v, at in order:
            feel(user, v, at)
        moods.add(mood(user))
    assert len(moods) == 1


def test_moments_of_one_instant_are_ordered_by_their_event_id() -> None:
    moods = set()
    for order in permutations([(0.9, "a"), (-0.9, "b"), (0.1, "c")]):
        user = Memory()
        for v, event_id in order:
            feel(user, v, 1, event_id)
        moods.add(mood(user))
    assert len(moods) == 1
    assert moods.pop().event_id == "c"


def test_a_late_moment_changes_what_was_said_of_the_mood_since(user: Memory) -> None:
    feel(user, 0.5, at=1)
    feel(user, -0.5, at=3)
    revisions = feel(user, 0.9, at=2)
    told = [(one["before"]["valid_from"], one["after"]["valid_from"]) for one in revisions]
    assert told == [(day(1), day(2)), (day(3), day(3))]
    assert revisions[1]["before"]["payload"] != revisions[1]["after"]["payload"]


def fill(user: Memory, count: int) -> None:
    """Moments an hour apart from day 2 on."""
    for number in range(count):
        feel(user, (-1) ** number * 0.5, 2 + number / 24, f"e{number:03}")


@pytest.mark.beyond_reference
def test_the_newest_64_moments_are_kept_before_them_a_checkpoint(user: Memory) -> None:
    fill(user, Rules().max_moments + 6)
    row = user.rows[affect.MOOD]
    assert [one.moment.event_id for one in row.felt] == [f"e{n:03}" for n in range(6, 70)]
    other = Memory()
    fill(other, 6)
    assert row.checkpoint == mood(other)


@pytest.mark.beyond_reference
def test_a_moment_older_than_the_checkpoint_is_kept_and_counted_and_moves_nothing(
    user: Memory,
) -> None:
    fill(user, Rules().max_moments + 1)
    before = user.rows.get(affect.MOOD)
    assert user.warnings == []
    assert feel(user, -1, at=1, event_id="old") == []
    assert user.rows.get(affect.MOOD) == before
    assert user.table("affects")[-1]["event_id"] == "old"
    assert user.warnings == ["moment_leaves_mood"]


@pytest.mark.beyond_reference
def test_a_late_moment_after_the_checkpoint_is_put_in_its_place() -> None:
    late, in_order = Memory(), Memory()
    fill(late, Rules().max_moments + 6)
    feel(late, 0.9, 2 + 20.5 / 24, "late")
    for number in range(Rules().max_moments + 6):
        feel(in_order, (-1) ** number * 0.5, 2 + number / 24, f"e{number:03}")
        if number == 20:
            feel(in_order, 0.9, 2 + 20.5 / 24, "late")
    assert late.rows.get(affect.MOOD) == in_order.rows.get(affect.MOOD)


# --- the one long_mood_state ------------------------------------------------------------------


def test_every_moment_makes_one_revision_of_one_and_the_same_state(user: Memory) -> None:
    for number in range(4):
        (revision,) = feel(user, 0.1 * number, 1 + number)
        assert (revision["entity_type"], revision["kind"]) == ("state", "long_mood_state")
        assert revision["entity_id"] == mood_id(user.rows)
        assert (revision["before"] is None) == (number == 0)
        assert revision["evidence_event_ids"] == [f"e{1 + number}"]
    assert user.states() == {}


def test_the_states_payload_has_the_folds_numbers(user: Memory) -> None:
    feel(user, 0.5, at=1)
    feel(user, -0.5, at=2)
    assert mood_state(user)["payload"] == affect.payload(mood(user))
    assert mood_state(user)["payload"]["last_at"] == day(2)
    assert set(mood_state(user)["payload"]) == {
        "baseline_vad",
        "shock_vad",
        "shock_halflife_seconds",
        "shock_severity",
        "last_at",
    }


def test_an_upsert_changes_text_and_confidence_only(user: Memory) -> None:
    feel(user, 0.5, at=1)
    before, numbers = mood_state(user), mood(user)
    wrote = says("calm for weeks", "long_mood_state", confidence=0.9, payload={"v": 1})
    (revision,) = user.tell(wrote, plan_id="words", at=2, event_id="e9")
    assert revision["entity_id"] == mood_id(user.rows)
    after = mood_state(user)
    assert (after["body_text"], after["confidence"]) == ("calm for weeks", 0.9)
    assert after["payload"] == before["payload"]
    assert mood(user) == numbers
    assert "e9" in revision["evidence_event_ids"]


def test_before_any_upsert_the_latest_moments_text_is_the_moods(user: Memory) -> None:
    feel(user, 0.5, at=1, text="glad")
    feel(user, 0.4, at=3, text="content")
    feel(user, 0.4, at=2, text="late")
    assert mood_state(user)["body_text"] == "content"


def test_a_plans_text_stands_over_later_moments(user: Memory) -> None:
    feel(user, 0.5, at=1, text="glad")
    user.tell(says("calm for weeks", "long_mood_state"), plan_id="words", at=2)
    feel(user, -0.5, at=3, text="sad")
    assert mood_state(user)["body_text"] == "calm for weeks"
    assert mood_state(user)["payload"]["last_at"] == day(3)


def test_an_upsert_without_text_keeps_the_one_there_is(user: Memory) -> None:
    feel(user, 0.5, at=1, text="glad")
    user.tell(says("", "long_mood_state", confidence=0.3), plan_id="words", at=2)
    assert (mood_state(user)["body_text"], mood_state(user)["confidence"]) == ("glad", 0.3)


def test_an_upsert_before_any_moment_has_a_mood_without_feeling(user: Memory) -> None:
    user.tell(says("calm", "long_mood_state"))
    assert mood_state(user)["payload"] == affect.payload(Mood())
    feel(user, 0.5, at=2)
    assert mood_state(user)["body_text"] == "calm"
    assert mood(user).baseline == (0.5, 0, 0)


def test_there_is_one_mood_whatever_id_an_upsert_names(user: Memory) -> None:
    for number, state_id in enumerate(("mine", "yours", None)):
        named = {"state_id": state_id} if state_id else {}
        wrote = says(f"text {number}", "long_mood_state", **named)
        user.tell(wrote, plan_id=f"w{number}", at=1 + number)
    kinds = {one["entity_id"] for one in user.table("revisions")}
    assert kinds == {mood_id(user.rows)}
    assert user.states() == {}


def test_the_same_words_again_make_no_revision(user: Memory) -> None:
    user.tell(says("calm", "long_mood_state", valid_from=day(1)))
    again = says("calm", "long_mood_state", valid_from=day(1))
    assert user.tell(again, plan_id="again") == []


@pytest.mark.parametrize("felt", [True, False])
@pytest.mark.parametrize("op", ["close", "mark_done"])
def test_nothing_ends_the_mood(user: Memory, op: str, felt: bool) -> None:
    if felt:
        feel(user, 0.5, at=1)
    before = dict(user.rows.scan(""))
    with pytest.raises(Refused) as refused:
        user.tell({"op": op, "state_id": mood_id(user.rows)}, plan_id="end")
    assert refused.value.reason == "mood_cannot_close"
    assert dict(user.rows.scan("")) == before


def test_no_state_of_another_kind_lands_on_the_mood(user: Memory) -> None:
    feel(user, 0.5, at=1)
    with pytest.raises(Refused) as refused:
        user.tell(says(state_id=mood_id(user.rows)), plan_id="other")
    assert refused.value.reason == "kind_differs"
