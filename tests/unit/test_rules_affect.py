"""The mood and its moments, rule by rule (docs/rules.md, Affect).

VAD is valence, arousal, dominance, each -1..+1; half-lives are seconds.
"""

from typing import Any

import pytest

from schemas.base import HOUR, parse_time
from streams.folds import affect
from streams.folds.affect import Mood, decay, mood_at
from streams.folds.constants import Rules
from tests.unit.memory_told import Json, Memory, day, plan


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


def test_the_states_payload_has_the_folds_numbers(user: Memory) -> None:
    feel(user, 0.5, at=1)
    feel(user, -0.5, at=2)
    assert mood_state(user)["payload"] == affect.payload(mood(user))
    assert mood_state(user)["payload"]["last_at"] == day(2)
    assert set(mood_state(user)["payload"]) == {
        "baseline_vad", "shock_vad", "shock_halflife_seconds", "shock_severity", "last_at",
    }  # fmt: skip
