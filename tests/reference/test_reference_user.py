"""The reference model of a user's memory, against figures worked out by hand from the rules."""

import json
from itertools import count, permutations
from typing import Any

import pytest

from schemas.events import RECORD_TYPES
from schemas.learner import UserLearningProfile
from schemas.memory import Preference, State
from schemas.time import parse_time
from tests.reference.records import Given
from tests.reference.user import UserMemory, state_as_of, users
from tests.reference.wording import made_id

ANN = ("default", "ann")
MOOD = made_id("long_mood_state", *ANN)
HOME = made_id("state", *ANN, "p1", "0")
numbers = count(1)


def at(day: int, hour: int = 0) -> str:
    return f"2026-01-{day:02}T{hour:02}:00:00Z"


def given(record: dict[str, Any]) -> Given:
    model = RECORD_TYPES[record["type"]].model_validate(record)
    return Given(model, json.dumps(record, sort_keys=True))


def turn(event_id: str, when: str = at(1), session_id: str = "s1", **fields: Any) -> Given:
    said = {"event_id": event_id, "session_id": session_id, "user_id": "ann", "occurred_at": when}
    return given({"type": "turn"} | said | fields)


def signal(signal_id: str, when: str = at(1), scope: str = "user", **fields: Any) -> Given:
    said = {"signal_id": signal_id, "scope": scope, "user_id": "ann", "occurred_at": when}
    return given({"type": "signal"} | said | fields)


def plan(plan_id: str, when: str = at(1), **fields: Any) -> Given:
    said = {"plan_id": plan_id, "user_id": "ann", "occurred_at": when, "extractor": {"name": "x"}}
    return given({"type": "write_plan"} | said | fields)


def states_plan(plan_id: str, when: str, *updates: dict[str, Any], **fields: Any) -> Given:
    return plan(plan_id, when, state_updates=list(updates), **fields)


def fact(body_text: str = "lives in Kyoto", **fields: Any) -> dict[str, Any]:
    return {"op": "upsert", "kind": "fact", "body_text": body_text} | fields


def words(body_text: str = "", **fields: Any) -> dict[str, Any]:
    return {"op": "upsert", "kind": "long_mood_state", "body_text": body_text} | fields


def likes_plan(plan_id: str, when: str, op: str, subject: str = "tea", **fields: Any) -> Given:
    update = {"op": op, "domain": "drink", "polarity": "like", "subject": subject} | fields
    return plan(plan_id, when, preference_updates=[update])


def thread_plan(session_id: str | None, **update: Any) -> Given:
    graph = {"threads": [{"thread_key": "t"} | update]}
    place = {"session_id": session_id} if session_id else {}
    return plan(f"p{next(numbers)}", context_updates=graph, **place)


def link_plan(session_id: str | None, **update: Any) -> Given:
    ends = {"from_event_id": "e2", "to_event_id": "e1", "label": "reply_to"}
    place = {"session_id": session_id} if session_id else {}
    return plan(f"p{next(numbers)}", context_updates={"links": [ends | update]}, **place)


def feeling(v: float, confidence: float = 1.0, **fields: Any) -> dict[str, Any]:
    return {"vad": {"v": v, "a": 0, "d": 0}, "confidence": confidence} | fields


def answer(
    event_id: str, rate: float, difficulty: str | None, when: str = at(1), topic: str = "limits"
) -> Given:
    metadata = {"correct_rate": rate} | ({"difficulty": difficulty} if difficulty else {})
    return turn(event_id, when, topic=topic, metadata=metadata)


def ann(*records: Given) -> UserMemory:
    return users(records)[ANN]


# --- who is there ---------------------------------------------------------------------------------


def test_who_only_runs_is_refused_or_posts_about_a_session_has_no_memory() -> None:
    records = [
        turn("e1", status="running", user_id="bob"),
        turn("e2", user_id="carl", source="meta_request"),
        signal("g2", source="meta_request"),
        plan("p2", source="meta_request"),
        signal("g1", scope="session", session_id="s1", user_id="dora"),
        given({"type": "turn", "event_id": "e3", "session_id": "s1", "occurred_at": at(1)}),
        states_plan("p1", at(1), {"op": "close", "state_id": "none"}),
    ]
    assert users(records) == {}


def test_users_of_two_tenants_are_two() -> None:
    assert set(users([turn("e1"), turn("e1", tenant="other")])) == {ANN, ("other", "ann")}


def test_who_is_known_by_plans_alone_has_no_profile() -> None:
    assert ann(plan("p1")).profile is None


def test_against_turns_no_order_of_plans_shows() -> None:
    turns = [
        turn("e1", at(2), affect=feeling(0.5), topic="limits"),
        turn("e1", at(3), session_id="s2", affect=feeling(-0.5)),
        turn("e2", at(3), status="error", affect=feeling(0.25, 0.5, text="well")),
    ]
    plans = [
        states_plan("p1", at(3), words("glad"), fact(), event_affect=feeling(1, event_id="e1")),
        states_plan("p2", at(1), words("low", confidence=0.25), fact(state_id=HOME)),
    ]
    whole = ann(*turns, *plans)
    assert len(whole.states[MOOD]) == 2
    for order in permutations([*turns, *plans]):
        if order.index(plans[0]) < order.index(plans[1]):
            assert ann(*order) == whole


def test_documents_have_the_fields_of_the_schemas() -> None:
    user = ann(
        turn("e1", affect=feeling(0.5), topic="limits", metadata={"correct_rate": 1}),
        states_plan("p1", at(1), fact(), words("glad")),
        likes_plan("p2", at(1), "confirm"),
    )
    versions = [version for versions in user.states.values() for version in versions]
    for model, documents in (
        (State, versions),
        (Preference, user.preferences.values()),
        (UserLearningProfile, [user.profile or {}]),
    ):
        for document in documents:
            assert set(document) == set(model.model_fields)
            model.model_validate(document)


# --- plans ----------------------------------------------------------------------------------------


def test_a_plan_applies_whole_or_not_at_all_and_may_come_again() -> None:
    broken = states_plan(
        "p2",
        at(2),
        fact("new"),
        words("sad"),
        {"op": "close", "state_id": "home"},
        preference_updates=[{"op": "confirm", "domain": "d", "polarity": "like", "subject": "x"}],
        event_affect=feeling(1, event_id="e1"),
    )
    home = states_plan("p1", at(1), fact(state_id="home"))
    other = ann(plan("p0"), broken)
    assert other.refused == {"p2"}
    assert (other.states, other.preferences, other.affects) == ({}, {}, {})
    again = ann(broken, home, broken)
    assert again.refused == set()
    assert again.states["home"][0]["status"] == "closed"


def test_a_plan_id_that_has_applied_is_nothing() -> None:
    first = states_plan("p1", at(1), fact())
    assert ann(first, first) == ann(first)
    assert ann(first, states_plan("p1", at(2), {"op": "close", "state_id": "none"})) == ann(first)


def test_what_an_extractor_failed_at_is_no_plan() -> None:
    assert ann(turn("e1"), plan("p1", extraction={"error": "cut off"})).refused == {"p1"}


# --- states ---------------------------------------------------------------------------------------


def test_a_new_state_has_the_defaults_of_the_rules() -> None:
    about = {"about_start": at(1), "entities": ["Ann"]}
    plan_ = states_plan("p1", at(3), fact(), event_id="e1", event_annotations=about)
    assert ann(plan_).states == {
        HOME: [
            {
                "state_id": HOME,
                "kind": "fact",
                "body_text": "lives in Kyoto",
                "payload": {},
                "confidence": 0.5,
                "entities": ["Ann"],
                "valid_from": at(1),
                "valid_to": None,
                "last_confirmed_at": at(3),
                "status": "active",
                "evidence_event_ids": ["e1"],
                "updated_at": at(3),
            }
        ]
    }


def test_a_later_time_begins_a_version_and_an_earlier_one_inserts_what_was_before() -> None:
    kyoto = fact("Kyoto", state_id="home", valid_from=at(10), payload={"city": 1})
    oslo = fact("Oslo", state_id="home", valid_from=at(20), confidence=0.75)
    bonn = fact("Bonn", state_id="home", valid_from=at(5))
    paris = fact("Paris", state_id="home", valid_from=at(15), valid_to=at(16))
    user = ann(*(states_plan(f"p{n}", at(25), one) for n, one in enumerate([kyoto, oslo, bonn])))
    texts = [one["body_text"] for one in user.states["home"]]
    assert texts == ["Bonn", "Kyoto", "Oslo"]
    assert [one["confidence"] for one in user.states["home"]] == [0.75, 0.5, 0.75]
    assert all(one["payload"] == {"city": 1} for one in user.states["home"])
    user = ann(*(states_plan(f"p{n}", at(25), one) for n, one in enumerate([kyoto, oslo, paris])))

    def home(day: int, hour: int = 0) -> str | None:
        holding = state_as_of(user, parse_time(at(day, hour)))
        return holding["home"]["body_text"] if holding else None

    held = [home(9), home(10), home(14, 23), home(15), home(16), home(19), home(20)]
    assert held == [None, "Kyoto", "Kyoto", "Paris", None, None, "Oslo"]


def test_without_a_time_or_with_a_known_one_an_upsert_corrects() -> None:
    first = states_plan(
        "p1", at(1), fact("Kyoto", state_id="home", valid_from=at(1)), event_id="e1"
    )
    second = states_plan("p2", at(2), fact("Oslo", state_id="home", valid_from=at(2)))
    third = states_plan(
        "p3",
        at(4),
        fact("", state_id="home", confidence=0.9),
        event_annotations={"about_start": at(3)},
    )
    fourth = states_plan("p4", at(3), fact("Kyōto", state_id="home", valid_from=at(1)))
    kyoto, oslo = ann(first, second, third, fourth).states["home"]
    assert (kyoto["body_text"], kyoto["updated_at"]) == ("Kyōto", at(3))
    assert (oslo["body_text"], oslo["confidence"], oslo["updated_at"]) == ("Oslo", 0.9, at(4))
    assert (kyoto["evidence_event_ids"], oslo["evidence_event_ids"]) == (["e1"], [])


def test_entities_stay_unless_they_are_said_again() -> None:
    first = states_plan("p1", at(1), fact(entities=["Ann", "Bob"]))
    again = states_plan("p2", at(2), fact("", state_id=HOME))
    anew = states_plan("p3", at(3), fact("", state_id=HOME, entities=["Carl"]))
    (version,) = ann(first, again).states[HOME]
    assert (version["kind"], version["entities"]) == ("fact", ["Ann", "Bob"])
    assert ann(first, again, anew).states[HOME][0]["entities"] == ["Carl"]


def test_a_new_state_whose_made_id_is_taken_changes_nothing() -> None:
    taken = states_plan("p0", at(1), fact("taken", state_id=HOME))
    assert ann(taken, states_plan("p1", at(2), fact("new"))).states == ann(taken).states


def test_a_state_ends_when_it_is_closed_and_never_before_it_began() -> None:
    home = states_plan("p1", at(5), fact())
    closed = states_plan("p2", at(7), {"op": "close", "state_id": HOME})
    early = states_plan("p2", at(7), {"op": "close", "state_id": HOME, "valid_to": at(1)})
    (version,) = ann(home, closed).states[HOME]
    assert (version["status"], version["valid_to"]) == ("closed", at(7))
    (version,) = ann(home, early).states[HOME]
    assert (version["valid_to"], version["last_confirmed_at"]) == (at(5), at(7))
    assert state_as_of(ann(home, early), parse_time(at(5))) == {}
    about = states_plan(
        "p2", at(7), {"op": "close", "state_id": HOME}, event_annotations={"about_end": at(6)}
    )
    assert ann(home, about).states[HOME][0]["valid_to"] == at(6)


def test_a_closed_state_holds_again_from_a_later_time_on() -> None:
    home = states_plan("p1", at(5), fact())
    closed = states_plan("p2", at(7), {"op": "close", "state_id": HOME})
    again = states_plan("p3", at(9), fact("", state_id=HOME, valid_from=at(8)))
    assert [one["status"] for one in ann(home, closed, again).states[HOME]] == ["closed", "active"]


def test_a_task_is_open_until_it_is_done_and_a_new_payload_keeps_that() -> None:
    task = {"op": "upsert", "kind": "task", "body_text": "call mum"}
    made = states_plan("p1", at(1), task | {"payload": {"urgent": True}})
    done = states_plan("p2", at(2), {"op": "mark_done", "state_id": HOME})
    other = states_plan("p3", at(3), task | {"state_id": HOME, "payload": {"urgent": 1}})
    assert ann(made).states[HOME][0]["payload"] == {"status": "open", "urgent": True}
    (version,) = ann(made, done, other).states[HOME]
    assert (version["status"], version["valid_to"]) == ("done", None)
    assert version["payload"] == {"status": "done", "urgent": 1}
    reopened = states_plan(
        "p4", at(4), task | {"body_text": "", "state_id": HOME, "payload": {"status": "open"}}
    )
    assert ann(made, done, reopened).states[HOME][0]["status"] == "active"


@pytest.mark.parametrize(
    "update",
    [
        {"op": "close", "state_id": "unknown"},
        {"op": "mark_done", "state_id": "unknown"},
        {"op": "mark_done", "state_id": "home"},
        {"op": "close", "state_id": MOOD},
        {"op": "mark_done", "state_id": MOOD},
        {"op": "upsert", "kind": "fact", "state_id": MOOD, "body_text": "x"},
        {"op": "upsert", "kind": "fact", "state_id": "new"},
        {"op": "upsert", "kind": "summary", "state_id": "home", "body_text": "x"},
    ],
)
def test_a_plan_is_refused_that_names_what_is_not_there_or_harms_the_mood(
    update: dict[str, Any],
) -> None:
    home = states_plan("p1", at(1), fact(state_id="home"), words("glad"))
    user = ann(home, states_plan("p2", at(2), update))
    assert user.refused == {"p2"}
    assert user.states == ann(home).states


def test_evidence_has_each_id_once_the_newest_twenty_and_the_plans_event() -> None:
    first = states_plan("p1", at(1), fact(evidence_event_ids=["a", "b", "a"]), event_id="e1")
    assert ann(first).states[HOME][0]["evidence_event_ids"] == ["a", "b", "e1"]
    many = fact("", state_id=HOME, evidence_event_ids=[f"n{n}" for n in range(18)])
    (version,) = ann(first, states_plan("p2", at(2), many)).states[HOME]
    assert version["evidence_event_ids"] == ["b", "e1", *(f"n{n}" for n in range(18))]


def test_the_tenth_plan_closes_equal_states_but_the_oldest() -> None:
    same = fact(valid_from=at(1), payload={"n": 1, "m": 2})
    swapped = fact(valid_from=at(1), payload={"m": 2, "n": 1})
    other = fact(valid_from=at(1), payload={"n": True, "m": 2})
    plans = [
        states_plan("p0", at(3), same | {"state_id": "a"}),
        states_plan("p1", at(2), swapped | {"state_id": "c"}),
        states_plan("p2", at(2), same | {"state_id": "b"}, other | {"state_id": "x"}),
        *(plan(f"p{n}", at(4)) for n in range(3, 9)),
    ]
    before = ann(*plans)
    assert all(one["status"] == "active" for (one,) in before.states.values())
    after = ann(
        *plans, states_plan("p9", at(9), {"op": "close", "state_id": "none"}), plan("p10", at(5))
    )
    a, b, c, x = (after.states[name][0] for name in "abcx")
    assert (b["status"], b["last_confirmed_at"], b["updated_at"]) == ("active", at(3), at(5))
    assert (a["status"], a["valid_to"], a["last_confirmed_at"]) == ("closed", at(5), at(3))
    assert (c["status"], c["updated_at"]) == ("closed", at(5))
    assert x == before.states["x"][0]


# --- preferences ----------------------------------------------------------------------------------


def test_a_preference_is_one_for_domain_subject_and_polarity() -> None:
    user = ann(
        likes_plan("p1", at(1), "upsert_candidate", "Green  Tea", note="often"),
        likes_plan("p2", at(2), "upsert_candidate", "green ｔea ", confidence=0.75),
        likes_plan("p3", at(3), "upsert_candidate", "green tea", polarity="dislike"),
    )
    like = user.preferences[made_id("preference", *ANN, "drink", "green tea", "like")]
    assert len(user.preferences) == 2
    assert (like["subject"], like["status"], like["note"]) == ("Green  Tea", "candidate", "often")
    assert (like["confidence"], like["updated_at"]) == (0.75, at(2))


def test_a_confirmed_preference_is_not_demoted_and_a_revoked_one_is_a_candidate_again() -> None:
    confirmed = likes_plan("p1", at(1), "confirm")
    seen = likes_plan("p2", at(2), "upsert_candidate")
    revoked = likes_plan("p3", at(3), "revoke")
    (like,) = ann(confirmed, seen).preferences.values()
    assert (like["status"], like["updated_at"]) == ("confirmed", at(1))
    (like,) = ann(confirmed, revoked).preferences.values()
    assert (like["status"], like["updated_at"]) == ("revoked", at(3))
    (like,) = ann(
        confirmed, revoked, likes_plan("p4", at(4), "upsert_candidate")
    ).preferences.values()
    assert like["status"] == "candidate"
    assert ann(turn("e1"), revoked).refused == {"p3"}


def test_a_confirm_revokes_a_confirmed_opposite_and_no_candidate() -> None:
    def statuses(op: str) -> list[str]:
        user = ann(
            likes_plan("p1", at(1), op), likes_plan("p2", at(2), "confirm", polarity="dislike")
        )
        return [one["status"] for one in user.preferences.values()]

    assert statuses("confirm") == ["revoked", "confirmed"]
    assert statuses("upsert_candidate") == ["candidate", "confirmed"]


# --- threads and links ----------------------------------------------------------------------------


def test_an_event_id_is_unique_in_a_session_and_without_one_it_is_any() -> None:
    one, two = thread_plan("s1", event_id="e"), thread_plan("s2", event_id="e", confidence=0.25)
    any_ = thread_plan(None, event_id="e", confidence=1)
    assert ann(one, two).threads == {("t", "s1", "e"): 0.5, ("t", "s2", "e"): 0.25}
    assert ann(one, two, any_).threads == {("t", "s1", "e"): 1, ("t", "s2", "e"): 1}
    assert ann(any_, two, one).threads == {("t", "s2", "e"): 0.25, ("t", "s1", "e"): 0.5}
    assert ann(any_).threads == {("t", None, "e"): 1}
    assert ann(one, two, thread_plan("s1", event_id="e", op="remove")).threads == {
        ("t", "s2", "e"): 0.25
    }
    assert ann(one, two, thread_plan(None, event_id="e", op="remove")).threads == {}
    assert ann(any_, thread_plan("s1", event_id="e", op="remove")).threads == {}


def test_a_merged_thread_is_gone_and_the_greater_confidence_stands() -> None:
    records = [
        thread_plan("s1", event_id="a", confidence=0.75),
        thread_plan("s1", event_id="b", confidence=0.25),
        thread_plan("s1", event_id="c"),
        thread_plan("s1", thread_key="u", event_id="a"),
        thread_plan(None, thread_key="u", event_id="b"),
        thread_plan("s2", thread_key="u", event_id="c"),
        thread_plan(None, op="merge_into", into="u"),
        thread_plan(None, op="merge_into", into="u"),
    ]
    assert ann(*records).threads == {
        ("u", "s1", "a"): 0.75,
        ("u", "s1", "b"): 0.5,
        ("u", "s1", "c"): 0.5,
        ("u", "s2", "c"): 0.5,
    }


def test_links_are_one_for_both_ends_label_and_session() -> None:
    put, other = link_plan("s1"), link_plan("s1", label="caused_by", confidence=-0.0)
    later = link_plan(None, confidence=0.75)
    assert ann(put, other, later).links == {
        ("e2", "e1", "reply_to", "s1"): 0.75,
        ("e2", "e1", "caused_by", "s1"): 0.0,
    }
    assert "-" not in str(ann(other).links)
    assert ann(later, put).links == {("e2", "e1", "reply_to", "s1"): 0.5}
    assert ann(put, link_plan("s2", op="remove")).links == ann(put).links
    assert ann(put, link_plan(None, op="remove")).links == {}


# --- moments and the mood -------------------------------------------------------------------------


def test_the_mood_has_the_figures_of_the_rules() -> None:
    user = ann(turn("e2", at(2), affect=feeling(-0.5)), turn("e1", at(1), affect=feeling(0.5)))
    first, second = user.states[MOOD]
    assert first["payload"] == {
        "baseline_vad": {"v": 0.5, "a": 0, "d": 0},
        "shock_vad": {"v": 0, "a": 0, "d": 0},
        "shock_halflife_seconds": 3600,
        "shock_severity": 0,
        "last_at": at(1),
    }
    assert second["payload"] == {
        "baseline_vad": {"v": 0, "a": 0, "d": 0},
        "shock_vad": {"v": pytest.approx(-0.3375), "a": 0, "d": 0},
        "shock_halflife_seconds": pytest.approx(2.4375 * 3600),
        "shock_severity": 0.25,
        "last_at": at(2),
    }
    assert [one["valid_from"] for one in user.states[MOOD]] == [at(1), at(2)]
    assert (second["evidence_event_ids"], second["last_confirmed_at"]) == (["e2"], at(2))
    assert "-0.0" not in json.dumps(user.states)


def test_a_third_moment_finds_the_shock_half_gone_after_its_half_life() -> None:
    # 2.4375 h after the second: 8,775 s. With confidence 0.5 and a moment at the baseline's own
    # value the baseline stays, severity is 0 and the shock alpha 0.6 * 0.5 = 0.3.
    third = turn("e3", "2026-01-02T02:26:15Z", affect=feeling(0, 0.5))
    figures = [turn("e1", at(1), affect=feeling(0.5)), turn("e2", at(2), affect=feeling(-0.5))]
    payload = ann(*figures, third).states[MOOD][-1]["payload"]
    assert payload["baseline_vad"]["v"] == 0
    assert payload["shock_vad"]["v"] == pytest.approx(-0.3375 / 2 * 0.7)
    assert payload["shock_halflife_seconds"] == 3600


def test_a_moment_of_confidence_0_stands_and_moves_nothing() -> None:
    felt = [turn("e1", at(1), affect=feeling(0.5)), turn("e3", at(3), affect=feeling(-0.5))]
    nothing = turn("e2", at(2), affect=feeling(1, 0))
    assert ann(*felt, nothing).states == ann(*felt).states
    assert set(ann(*felt, nothing).affects) == {("s1", "e1"), ("s1", "e2"), ("s1", "e3")}
    assert ann(nothing).states == {}


def test_a_plans_moment_beats_a_turns_then_the_latest_then_the_greater() -> None:
    said = turn("e1", at(5), affect=feeling(1))
    early = plan("p1", at(1), session_id="s1", event_id="e1", event_affect=feeling(0.5))
    later = plan("p2", at(2), session_id="s1", event_affect=feeling(-0.0, event_id="e1"))
    equal = plan("p3", at(2), session_id="s1", event_affect=feeling(0.25, event_id="e1"))
    assert ann(said).affects["s1", "e1"]["from_plan"] is False
    assert ann(said, early).affects["s1", "e1"]["v"] == 0.5
    moment = ann(said, later, early).affects["s1", "e1"]
    assert (str(moment["v"]), moment["occurred_at"], moment["from_plan"]) == ("0.0", at(2), True)
    assert ann(equal, later).affects["s1", "e1"]["v"] == 0.25


def test_a_plan_without_a_session_speaks_of_the_event_in_all_of_them() -> None:
    turns = [turn("e1", affect=feeling(1)), turn("e1", session_id="s2", affect=feeling(1))]
    other = turn("e2", affect=feeling(1))
    none = plan("p1", at(2), event_affect=feeling(-1, event_id="e1"))
    some = plan("p2", at(3), session_id="s2", event_affect=feeling(-0.5, event_id="e1"))
    assert set(ann(*turns, other).affects) == {("s1", "e1"), ("s2", "e1"), ("s1", "e2")}
    assert set(ann(*turns, other, none).affects) == {(None, "e1"), ("s1", "e2")}
    assert set(ann(*turns, other, none, some).affects) == {("s2", "e1"), ("s1", "e2")}
    assert set(ann(*turns, some).affects) == {("s1", "e1"), ("s2", "e1")}


def test_two_moments_of_one_time_make_one_version_by_the_later_in_order() -> None:
    user = ann(
        turn("e2", at(1), "s1", affect=feeling(0, text="second")),
        turn("e1", at(1), "s2", affect=feeling(1, text="first")),
    )
    (version,) = user.states[MOOD]
    assert (version["body_text"], version["evidence_event_ids"]) == ("second", ["e2"])
    assert version["payload"]["baseline_vad"]["v"] == 1
    assert version["payload"]["shock_vad"]["v"] == pytest.approx(-0.75)  # severity 0.5, alpha 0.75


def test_words_of_a_plan_are_the_moods_text_since_their_time() -> None:
    felt = [
        turn("e1", at(1), affect=feeling(0.5, 0.75, text="bright")),
        turn("e3", at(9), affect=feeling(-0.5, 0.25, text="tired")),
    ]
    said = states_plan("p1", at(7), words("content", valid_from=at(5)), event_id="e2")
    sure = states_plan("p2", at(8), words(confidence=0.125))
    versions = ann(*felt, sure, said).states[MOOD]
    shown = [(one["valid_from"], one["body_text"], one["confidence"]) for one in versions]
    assert shown == [
        (at(1), "bright", 0.75),
        (at(5), "content", 0.75),
        (at(8), "content", 0.125),
        (at(9), "content", 0.125),
    ]
    assert [one["last_confirmed_at"] for one in versions] == [at(1), at(7), at(8), at(9)]
    evidence = [one["evidence_event_ids"] for one in versions]
    assert evidence == [["e1"], ["e2", "e1"], ["e1"], ["e3"]]
    assert versions[1]["payload"] == versions[0]["payload"]


def test_words_hold_from_when_the_thing_they_are_about_began() -> None:
    said = states_plan("p1", at(7), words("glad"), event_annotations={"about_start": at(2)})
    assert [one["valid_from"] for one in ann(said).states[MOOD]] == [at(2)]


def test_words_before_any_moment_make_a_neutral_mood() -> None:
    (version,) = ann(states_plan("p1", at(1), words("calm"))).states[MOOD]
    assert (version["body_text"], version["confidence"], version["status"]) == ("calm", 0, "active")
    assert version["payload"]["last_at"] is None


def test_words_of_one_time_correct_each_other() -> None:
    first = states_plan("p1", at(7), words("glad", valid_from=at(1), evidence_event_ids=["a"]))
    second = states_plan("p2", at(3), words(valid_from=at(1), confidence=0.25), event_id="b")
    (version,) = ann(first, second).states[MOOD]
    assert (version["body_text"], version["confidence"]) == ("glad", 0.25)
    assert (version["evidence_event_ids"], version["updated_at"]) == (["a", "b"], at(3))


# --- learners -------------------------------------------------------------------------------------


def mastery(*records: Given) -> tuple[str, float]:
    profile = ann(*records).profile
    assert profile is not None
    return profile["mastery"]["limits"], profile["mastery_score"]["limits"]


def test_mastery_has_the_figures_of_the_rules() -> None:
    easy = answer("e1", 0.4, "easy", at(1, 8))
    again = answer("e2", 0.8, "easy", at(1, 9))
    hard = [answer(f"e{n}", 1.0, "hard", at(1, n)) for n in (10, 11, 12)]
    assert mastery(easy) == ("weak", 0.457142857)
    assert mastery(again, easy) == ("medium", 0.56)
    word, score = mastery(*hard, easy, again)
    assert (word, round(score, 3)) == ("strong", 0.824)


def test_an_answer_counts_half_after_30_days_and_not_at_all_after_360() -> None:
    now = answer("e2", 0.0, None, "2026-12-31T00:00:00Z")
    assert mastery(now, answer("e1", 1.0, None, "2026-12-01T23:00:00Z")) == ("weak", 0.4)
    edge = answer("e1", 1.0, None, "2026-01-05T00:00:00Z")  # 360 days: weighs 1/4096
    assert mastery(now, edge) == ("weak", round((0.5 + 1 / 4096) / (2 + 1 / 4096), 9))
    assert mastery(now, answer("e1", 1.0, None, "2026-01-04T23:59:59Z")) == ("weak", 0.25)


def test_what_is_expected_has_the_figures_of_the_rules() -> None:
    first, second = answer("e1", 0.4, None, at(1)), answer("e2", 1.0, None, at(2))
    assert likely(first) == (0.58, 0.595)
    assert likely(second, first) == likely(first, second) == (0.696459193, 0.693173719)


def likely(*records: Given) -> tuple[float, float]:
    profile = ann(*records).profile
    assert profile is not None
    return profile["expected_correct"]["limits"], profile["expected_correct_elsewhere"]


def test_a_profile_counts_lessons_of_turns_and_signals() -> None:
    profile = ann(
        turn("e2", at(2), intent=["quiz", "homework"], topic="limits", artifact="quiz_set"),
        turn("e1", at(1), intent="homework_help", topic="series", status="error"),
        turn("e3", at(3), status="running", intent="quiz"),
        signal("g1", at(4), intent="take_quiz", topic="sets", artifact="quiz"),
        signal("g1", at(4), intent="take_quiz", topic="sets", artifact="quiz"),
        signal("g2", at(1), artifact="notes_document", metadata={"difficulty": "hard"}),
        signal("g3", at(2), artifact="quiz"),
        signal("g4", at(2), artifact="painting"),
    ).profile
    assert profile == {
        "user_id": "ann",
        "mastery": {},
        "mastery_score": {},
        "expected_correct": {},
        "expected_correct_elsewhere": 0.66,
        "preferences": {
            "preferred_artifact": "quiz",
            "preferred_artifact_strength": "strong",
            "difficulty_preference": None,
            "difficulty_preference_strength": None,
        },
        "history": {
            "quiz_sessions": 2,
            "homework_help_count": 1,
            "topics_visited": ["series", "limits", "sets"],
        },
        "updated_at": at(4),
    }


@pytest.mark.parametrize(
    ("uses", "favourite"),
    [
        ("hh", (None, None)),
        ("hhh", ("hard", "strong")),
        ("hhhe", ("hard", "strong")),
        ("hehhe", ("hard", "medium")),
        ("hhhemem", (None, None)),
        ("hhheee", ("easy", "weak")),
        ("eeehhh", ("hard", "weak")),
    ],
)
def test_a_preference_shows_from_three_uses_and_half_of_all_on(
    uses: str, favourite: tuple[str | None, str | None]
) -> None:
    names = {"h": "hard", "e": "easy", "m": "medium"}
    turns = [
        turn(f"e{n}", at(1, n), metadata={"difficulty": names[use]}) for n, use in enumerate(uses)
    ]
    profile = ann(*reversed(turns)).profile
    assert profile is not None
    shown = profile["preferences"]
    assert (shown["difficulty_preference"], shown["difficulty_preference_strength"]) == favourite
