"""What a person's turns told of others is erased with the person: the others' memory is that of a
history which never had them."""

from collections import defaultdict
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.record_kinds import OWNED_RECORDS
from sinks.digest import SOURCE
from streams.apps.compact_and_forget import forget
from streams.files.manifest import Settings
from streams.files.open_generation import opened
from streams.files.refold import refold_user
from streams.folds.constants import Rules
from streams.generations.rebuild import backfill
from tests.command import rows
from tests.property.strategies import SESSIONS, events, write_plans
from tests.property.test_folded_again import FEW, content, history_of
from tests.property.test_session_erased import both, made_of
from tests.property.world import Json

pytestmark = pytest.mark.nightly  # an example takes 3 s: histories folded thrice
USERS = ("u1", "u2")
OWNERS = {(one.type, one.scope): one.owner for one in OWNED_RECORDS}
OF_USERS = {
    "plans": "user_id", "signals": "user_id", "affects": "user_id", "state_current": "owner_id",
    "preference_current": "owner_id", "mood_current": "owner_id", "affect_current": "user_id",
    "link_current": "owner_id", "thread_current": "owner_id", "profile_current": "user_id",
}  # fmt: skip
"""Tables and views of what memory holds of a user. Its revisions count in the order of
`recorded_at`, and not in that of the file."""


@st.composite
def told(draw: st.DrawFn) -> list[Json]:
    """Plans of either user, from whosever turn. They mention a session of anybody, as signals do
    that update a user."""
    plans = draw(write_plans(most=5))
    records = draw(events()) + [one | {"user_id": draw(st.sampled_from(USERS))} for one in plans]
    for record in records:
        if OWNERS[record["type"], record.get("scope")] == "user_id" and draw(st.booleans()):
            record["session_id"] = draw(st.sampled_from(SESSIONS))
            record["user_id"] = draw(st.sampled_from(USERS))
    return records


def of_person(gone: str, records: list[Json]) -> set[int]:
    """Which records are the person's: what they said or was said in a session of theirs alone, and
    plans of theirs, or made of an event that only they have."""
    spoke: defaultdict[str, set[str]] = defaultdict(set)
    of_sessions = [
        one for one in records if OWNERS[one["type"], one.get("scope")] == "session_id"
    ]  # fmt: skip
    for one in of_sessions:
        if one.get("user_id"):
            spoke[one["session_id"]].add(one["user_id"])
    alone = {session for session, users in spoke.items() if users == {gone}}
    theirs = {id(one) for one in records if one.get("user_id") == gone}
    theirs |= {id(one) for one in of_sessions if one["session_id"] in alone}
    turns = [one for one in records if one["type"] == "turn"]
    events_of, others = (
        {(one["session_id"], one["event_id"]) for one in turns if (id(one) in theirs) is is_theirs}
        for is_theirs in (True, False)
    )
    clear = {event for _, event in events_of} - {event for _, event in others}

    def is_of_them(plan: Json) -> bool:
        session = plan.get("session_id")
        made = made_of(plan)
        if session is None:
            return bool(made & clear)
        return any((session, event) in events_of for event in made)

    plans = (one for one in records if one["type"] == "write_plan")
    return theirs.union(id(one) for one in plans if is_of_them(one))


def memory_of(history: Path, user: str) -> dict[str, list[tuple[Any, ...]]]:
    select = f"SELECT COLUMNS(lambda c: c NOT IN {(*SOURCE, 'seq')}) FROM"
    return {
        table: sorted(rows(history, f"{select} {table} WHERE {owner} = ?", user), key=str)
        for table, owner in OF_USERS.items()
    }


@FEW
@given(told(), st.sampled_from(USERS))
def test_memory_of_others_is_that_of_a_history_which_never_had_the_person(
    records: list[Json], gone: str
) -> None:
    every, without = both(records, partial(of_person, gone))
    (other,) = set(USERS) - {gone}
    with history_of(every) as history, history_of(without) as never:
        forget(history, "default", gone)
        with opened(history) as (store, _), opened(never) as (expected, _):
            mine = content(store.entity("users", "default", other))
            assert mine == content(expected.entity("users", "default", other))
            assert mine == content(refold_user(history, "default", other, Rules()))
        assert memory_of(history, other) == memory_of(never, other)
        again = forget(history, "default", gone)
        assert all(one["erased"] == 0 for one in again["tables"].values())
        assert memory_of(history, other) == memory_of(never, other)


@FEW
@given(told(), st.sampled_from(USERS), st.integers(0, 3))
def test_a_generation_of_some_days_is_what_these_days_make_without_the_person(
    records: list[Json], gone: str, day: int
) -> None:
    """Also where the turn that a plan was made of lies in a day before."""
    every, _ = both(records, partial(of_person, gone))
    days = Settings(first=date(2026, 1, 1 + day))
    with history_of(every) as history:
        backfill(history, "days", days)
        forget(history, "default", gone)
        backfill(history, "again", days)
        mine, never = (history / "generations" / name for name in ("days", "again"))
        for user in USERS:
            assert memory_of(mine, user) == memory_of(never, user)
            with opened(mine) as (store, _), opened(never) as (expected, _):
                left, made = (one.entity("users", "default", user) for one in (store, expected))
                assert content(left) == content(made)
