"""The lists of users and sessions: what they count is what the history's views say."""

import random
from pathlib import Path
from typing import Any

import pytest

from schemas.base import format_time, parse_time
from streams.apps import compact_and_forget
from streams.search import (
    ActiveQuery,
    Listing,
    Session,
    User,
    active_as_of,
    sessions,
    update,
    users,
)
from tests.command import rows, turn
from tests.unit.test_search import run, state

pytestmark = pytest.mark.nightly

NOW = parse_time("2026-04-01T00:00:00Z")
ALL = Listing(now=NOW, limit=10_000)

PEOPLE = """
SELECT user_id, epoch_us(max(occurred_at)), count(*), count(DISTINCT session_id)
FROM event_current WHERE user_id IS NOT NULL GROUP BY ALL"""
SPOKEN = """
SELECT session_id, count(DISTINCT user_id), epoch_us(min(occurred_at)),
    epoch_us(max(occurred_at)), count(*) FROM event_current GROUP BY ALL"""
HELD = """
SELECT owner_id, count(*) FROM state_as_of(to_timestamp(?)) WHERE kind <> 'long_mood_state'
GROUP BY ALL"""


def told_of_users(found: list[User]) -> set[tuple[Any, ...]]:
    return {(one.user_id, one.active, one.turns, one.sessions) for one in found if one.turns}


def told_of_sessions(found: list[Session]) -> set[tuple[Any, ...]]:
    return {(one.session_id, one.users, one.begun, one.active, one.turns) for one in found}


def some_turns(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Some of them running, and ended later by another user or at another time; copies."""
    return [
        turn(
            f"e{chance.randrange(40)}",
            session_id=f"s{chance.randrange(6)}",
            user_id=chance.choice(["ada", "adam", "bo", None]),
            occurred_at=f"2026-03-{chance.randrange(1, 28):02}T10:00:00Z",
            status=chance.choice(["running", "done"]),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_counts_follow_the_history_batch_by_batch_and_built_anew(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(4):
        plan = state(
            f"p{number}", f"st{number % 3}", f"text {number}", "2026-03-01T00:00:00Z",
            **({"valid_to": "2026-03-20T00:00:00Z"} if number == 1 else {}),
        )  # fmt: skip
        history = run(tmp_path, str(number), [*some_turns(chance, 30), plan])
        kept = users(history, "default", ALL), sessions(history, "default", ALL)
        assert told_of_users(kept[0]) == set(rows(history, PEOPLE))
        assert told_of_sessions(kept[1]) == set(rows(history, SPOKEN))
        held = {one.user_id: one.states for one in kept[0] if one.states}
        assert held == dict(rows(history, HELD, NOW / 1e6))
        update(history, "default", rebuild=True)
        assert (users(history, "default", ALL), sessions(history, "default", ALL)) == kept


def test_pages_hold_everybody_once_in_the_order_asked_for(tmp_path: Path) -> None:
    history = run(tmp_path, "a", some_turns(random.Random(7), 200))
    for order in ("last_active", "id"):
        whole = sessions(history, "default", Listing(now=NOW, limit=100, order=order))
        paged: list[Session] = []
        after = None
        while True:
            asked = Listing(now=NOW, limit=2, order=order, after=after)
            page = sessions(history, "default", asked)
            if not page:
                break
            paged += page
            after = page[-1].active, page[-1].session_id
        assert paged == whole
        ids = [one.session_id for one in whole]
        assert len(set(ids)) == len(ids) == 6
        by = [(-one.active, one.session_id) for one in whole]
        assert (
            ids == sorted(ids)
            if order == "id"
            else [at for at, _ in by] == sorted(at for at, _ in by)
        )


def test_lists_are_narrowed_by_prefix_time_and_user(tmp_path: Path) -> None:
    history = run(
        tmp_path,
        "a",
        [
            turn("1", session_id="x", user_id="ada", occurred_at="2026-01-01T00:00:00Z"),
            turn("2", session_id="y", user_id="adam", occurred_at="2026-01-02T00:00:00Z"),
            turn("3", session_id="y", user_id="ada%", occurred_at="2026-01-03T00:00:00Z"),
            turn("4", session_id="z", user_id="a\U0010ffff", occurred_at="2026-01-04T00:00:00Z"),
        ],
    )

    def ids(**given: Any) -> list[str]:
        return [
            one.user_id for one in users(history, "default", Listing(now=NOW, limit=9, **given))
        ]

    assert ids(prefix="ada") == ["ada%", "adam", "ada"]
    assert ids(prefix="ada%") == ["ada%"]
    assert ids(prefix="a\U0010ffff") == ["a\U0010ffff"]
    assert ids(prefix="b") == []
    assert ids(since=parse_time("2026-01-03T00:00:00Z")) == ["a\U0010ffff", "ada%"]
    assert ids(until=parse_time("2026-01-02T00:00:00Z")) == ["adam", "ada"]
    assert [one.session_id for one in sessions(history, "default", ALL)] == ["z", "y", "x"]
    of = Listing(now=NOW, limit=9, user_id="adam")
    (only,) = sessions(history, "default", of)
    assert (only.session_id, only.users, only.user_id, only.turns) == ("y", 2, "adam", 2)


def test_who_only_has_states_or_signals_is_listed_too(tmp_path: Path) -> None:
    signal = {
        "type": "signal", "signal_id": "g", "scope": "user", "user_id": "quiet",
        "occurred_at": "2026-01-05T00:00:00Z", "intent": "quiz", "topic": "t",
    }  # fmt: skip
    context = {**signal, "scope": "session", "session_id": "waiting", "user_id": None}
    history = run(
        tmp_path, "a", [state("p", "st", "text", "2026-01-01T00:00:00Z"), signal, context]
    )
    found = {one.user_id: one for one in users(history, "default", ALL)}
    assert found.keys() == {"u", "quiet"}
    assert found["u"] == User("u", parse_time("2026-01-01T00:00:00Z"), 0, 0, 1, 0)
    assert found["quiet"].active == parse_time("2026-01-05T00:00:00Z")
    (only,) = sessions(history, "default", ALL)
    assert (only.session_id, only.begun, only.turns) == ("waiting", None, 0)


def test_a_tenant_lists_its_own(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [turn("1"), turn("2", tenant="other", user_id="them")])
    assert [one.user_id for one in users(history, "other", ALL)] == ["them"]
    assert [one.user_id for one in users(history, "default", ALL)] == ["u"]


def test_who_was_forgotten_is_not_listed(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [turn("1"), turn("2", session_id="s2", user_id="v")])
    assert len(users(history, "default", ALL)) == 2
    compact_and_forget.forget(history, "default", "u")
    assert [one.user_id for one in users(history, "default", ALL)] == ["v"]
    assert [one.session_id for one in sessions(history, "default", ALL)] == ["s2"]


def at(day: int) -> int:
    return parse_time(f"2026-03-{day:02}T10:00:00Z")


def recorded(record: dict[str, Any], occurred: int, came: int) -> dict[str, Any]:
    times = {"occurred_at": format_time(at(occurred)), "recorded_at": format_time(at(came))}
    return {**record, **times}


def test_who_had_no_turn_by_then_that_was_known_is_listed_by_a_plan(tmp_path: Path) -> None:
    """One turn was recorded later, another was said later: neither counts, and both clocks are past
    something of the two."""
    turns = [turn(f"e{number}", session_id="s", user_id="u") for number in (1, 2)]
    plan = state("p", "st", "a text", "2026-03-01T00:00:00Z")
    records = [
        recorded(turns[0], 1, 20), recorded(turns[1], 15, 2), recorded(plan, 3, 3),
    ]  # fmt: skip
    history = run(tmp_path, "a", records)
    asked = ActiveQuery(kind="user", at=at(5), known_at=at(5), limit=9)
    assert active_as_of(history, "default", asked) == {"u": at(3)}
    later = ActiveQuery(kind="user", at=at(5), known_at=at(21), limit=9)
    assert active_as_of(history, "default", later) == {"u": at(1)}


def test_a_plan_that_was_recorded_earlier_may_be_indexed_later(tmp_path: Path) -> None:
    asked = ActiveQuery(kind="user", at=at(5), known_at=at(5), limit=9)
    for number, came in enumerate((9, 4)):
        plan = state(f"p{number}", f"st{number}", "a text", "2026-03-01T00:00:00Z")
        history = run(tmp_path, str(number), [recorded(plan, 3, came)])
        found = active_as_of(history, "default", asked)
        assert found == ({"u": at(3)} if came < 5 else {})
