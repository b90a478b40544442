"""What is held true, rule by rule (docs/rules.md, "Long-term memory")."""

from pathlib import Path
from typing import Any

import pytest

from schemas.base import parse_time
from streams import history_documents
from streams.files import file_runner
from streams.folds.affect import MOOD
from streams.folds.effects import Refused
from streams.folds.ids import make_id
from tests.command import ndjson
from tests.unit.memory_told import Json, Memory, day, link, plan, prefers, says

# --- upsert -----------------------------------------------------------------------------------


def test_an_upsert_without_id_makes_a_state_whose_id_comes_of_plan_and_ordinal(
    user: Memory,
) -> None:
    revisions = user.tell(says("one"), says("two"))
    ids = [make_id("state", "default", "u", "p1", ordinal) for ordinal in (0, 1)]
    assert [one["entity_id"] for one in revisions] == ids
    assert [(one["op"], one["before"]) for one in revisions] == [("insert", None)] * 2
    assert {key: one["body_text"] for key, one in user.states().items()} == dict(
        zip(ids, ("one", "two"), strict=True)
    )


def test_an_upsert_with_an_unknown_id_and_no_text_is_refused(user: Memory) -> None:
    with pytest.raises(Refused, match="body_text"):
        user.tell(says("", state_id="home"))
    assert user.states() == {}


def test_the_history_tells_what_held_when_and_what_was_known_when(tmp_path: Path) -> None:
    past = says("Kyoto", state_id="home", valid_from=day(1), valid_to=day(10))
    told = [
        plan("p1", 10, state_updates=[says("Nara", state_id="home", valid_from=day(10))]),
        plan("p2", 12, state_updates=[past]),
        plan("p3", 20, state_updates=[says("Osaka", state_id="home", valid_from=day(20))]),
        plan("p4", 25, state_updates=[says("Nara city", state_id="home", valid_from=day(10))]),
    ]
    file_runner.run([str(ndjson(tmp_path / "records.ndjson", told))], tmp_path / "history")

    def held(valid_at: float, known_at: float | None = None) -> list[str]:
        known = None if known_at is None else parse_time(day(known_at))
        moment = parse_time(day(valid_at))
        found = history_documents.states(tmp_path / "history", "default", "u", moment, known)
        return [one["body_text"] for one in found]

    assert held(5) == ["Kyoto"]
    assert held(5, known_at=11) == []
    assert held(15) == ["Nara city"]
    assert held(15, known_at=24) == ["Nara"]
    assert held(20) == held(31) == ["Osaka"]


def test_an_upsert_whose_made_id_exists_changes_nothing(user: Memory) -> None:
    made = make_id("state", "default", "u", "p2", 0)
    user.tell(says("Kyoto", state_id=made))
    assert user.tell(says("Nara"), plan_id="p2") == []
    assert user.state()["body_text"] == "Kyoto"


# --- close and mark_done ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "notes", "until"),
    [
        ({"valid_to": day(4)}, {"about_end": day(6)}, 4),
        ({}, {"about_end": day(6)}, 6),
        ({}, {}, 9),
    ],
    ids=["given", "about_end", "event's time"],
)
def test_close_ends_a_state(user: Memory, said: Json, notes: Json, until: float) -> None:
    user.tell(says(state_id="home"))
    close = {"op": "close", "state_id": "home", **said}
    (revision,) = user.tell(close, plan_id="p2", at=9, event_annotations=notes)
    assert revision["op"] == "close"
    assert revision["before"]["valid_to"] is None
    closed = user.state()
    assert (closed["valid_to"], closed["status"]) == (day(until), "closed")
    assert closed["last_confirmed_at"] == day(9)


# --- evidence ---------------------------------------------------------------------------------


def test_every_change_of_a_plan_has_its_event_as_evidence(user: Memory) -> None:
    revisions = user.tell(
        says(),
        event_id="e1",
        preference_updates=[prefers("confirm")],
        context_updates={
            "threads": [{"thread_key": "trip", "event_id": "e0"}],
            "links": [link()],
        },
        event_affect={"vad": {"v": 0.5, "a": 0, "d": 0}},
    )
    kinds = {"state", "preference", "thread", "link"}
    assert {one["entity_type"] for one in revisions} == kinds
    assert all("e1" in one["evidence_event_ids"] for one in revisions)


def test_a_state_keeps_the_20_newest_events_as_evidence(user: Memory) -> None:
    for number in range(25):
        user.tell(says(state_id="home"), plan_id=f"p{number}", event_id=f"e{number}")
    assert user.state()["evidence_event_ids"] == [f"e{number}" for number in range(5, 25)]


def test_a_revision_has_the_updates_reason_else_the_extractors_name(user: Memory) -> None:
    told, silent = user.tell(says("one", reason="the user said so"), says("two"))
    assert (told["reason"], silent["reason"]) == ("the user said so", "extractor")
    assert (told["plan_id"], told["occurred_at"]) == ("p1", parse_time(day(1)))


# --- tidying ----------------------------------------------------------------------------------


def plans(user: Memory, upto: int) -> None:
    """Plans that say nothing, until the user has had that many."""
    for number in range(len(user.table("plans")), upto):
        user.made(plan(f"empty-{number}"))


def repeated(times: int, **fields: Any) -> list[Json]:
    return [says(valid_from=day(1), **fields) for _ in range(times)]


def tidied(user: Memory) -> list[Json]:
    return [one for one in user.table("revisions") if one["reason"] == "tidy_memory"]


def open_states(user: Memory) -> list[Json]:
    return [one for one in user.states().values() if one["valid_to"] is None]


def test_of_states_that_say_the_same_the_oldest_stays_confirmed_as_late_as_any(
    user: Memory,
) -> None:
    user.tell(says(valid_from=day(1), state_id="z-oldest"), at=2)
    user.tell(says(valid_from=day(1), state_id="a-newest"), plan_id="p2", at=8)
    user.tell(says(valid_from=day(1), state_id="between"), plan_id="p3", at=4)
    plans(user, 9)
    assert tidied(user) == []
    user.made(plan("tenth", 20))
    kept, *closed = sorted(user.states().values(), key=lambda one: one["status"])
    assert (kept["state_id"], kept["last_confirmed_at"]) == ("z-oldest", day(8))
    assert {one["state_id"]: one["valid_to"] for one in closed} == {
        "a-newest": day(20),
        "between": day(20),
    }
    assert sorted(one["op"] for one in tidied(user)) == ["close", "close", "update"]


def test_tidying_has_its_reason_and_no_evidence(user: Memory) -> None:
    user.tell(*repeated(2))
    plans(user, 9)
    (revision,) = user.made(plan("tenth", 20, event_id="e1"))
    assert (revision["reason"], revision["evidence_event_ids"]) == ("tidy_memory", [])
    assert (revision["plan_id"], revision["occurred_at"]) == ("tenth", parse_time(day(20)))


def test_tidying_comes_at_the_10th_then_every_200th_plan(user: Memory) -> None:
    came = []
    for number in range(1, 402):
        made = user.made(plan(f"p{number}", state_updates=repeated(1)))
        came.extend([number] if any(one["reason"] == "tidy_memory" for one in made) else [])
    assert came == [10, 200, 400]


def test_only_plans_that_applied_are_counted(user: Memory) -> None:
    user.tell(*repeated(2))
    plans(user, 9)
    assert user.give(plan(state_updates=repeated(2))) == "duplicate"
    with pytest.raises(Refused):
        user.tell({"op": "close", "state_id": "nowhere"}, plan_id="refused")
    assert len(open_states(user)) == 2
    user.made(plan("tenth"))
    assert len(open_states(user)) == 1


def test_a_run_closes_at_most_200_states(user: Memory) -> None:
    user.tell(*repeated(150))
    user.tell(*repeated(150), plan_id="p2")
    plans(user, 10)
    assert len(open_states(user)) == 100
    plans(user, 200)
    assert len(open_states(user)) == 1


def test_tidying_never_touches_the_mood(user: Memory) -> None:
    vad = {"v": 0.5, "a": 0, "d": 0}
    user.made(plan("felt", event_id="e1", event_affect={"text": "glad", "vad": vad}))
    user.tell(says("glad", "long_mood_state"))
    mood = user.rows.get(MOOD)
    plans(user, 10)
    assert tidied(user) == []
    assert user.rows.get(MOOD) == mood
