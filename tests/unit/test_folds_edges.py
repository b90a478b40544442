"""Where the rules of docs/rules.md meet: cases that are seldom, and were wrong once.

The rules themselves are in `test_rules_*.py`.
"""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from schemas.base import parse_time
from streams.files.store import Store
from streams.folds import session_memory, task, task_machine
from streams.folds.constants import Rules
from tests.property.world import (
    Json,
    World,
    feeling,
    plan,
    recursion,
    result,
    signal,
    turn,
    when,
    world,
)


def same_in_any_order(records: list[Json], shows: Any) -> Any:
    """What `shows` says of the records, which must not depend on their order."""
    first = shows(world(*records))
    for order in permutations(records):
        assert shows(world(*order)) == first, order
    return first


def test_a_running_turn_gives_its_time_to_the_task_in_any_order() -> None:
    records = [turn("e1", 10, status="running", task_id="t1"), recursion("r1", 0, 5)]
    document = same_in_any_order(records, World.task)
    assert document["global"]["created_at"] == when(5)
    assert document["global"]["updated_at"] == when(10)


def test_a_version_that_loses_leaves_its_time_with_the_task_in_any_order() -> None:
    records = [
        recursion("r1", 0, 5, status="running"),
        recursion("r1", 0, 7),
        result("r1", 1, "c0"),
        result("r1", 2, "c0"),
    ]
    records[1]["action"] = {"action_type": "CALL_TOOL", "output": {"tool_calls": [{"id": "c0"}]}}
    document = same_in_any_order(records, World.task)
    assert document["global"]["created_at"] == when(5)
    assert document["global"]["updated_at"] == when(7)


def test_tool_results_date_a_task_and_a_session_while_there_is_nothing_else() -> None:
    results = [result("r1", 3, 0), result("r2", 1, 0), result("r1", 2, 0)]
    alone = same_in_any_order(results, lambda made: made.task()["global"])
    assert (alone["created_at"], alone["updated_at"]) == (when(1), when(3))
    assert world(*results).session()["updated_at"] == when(3)
    for record in (recursion("r9", 0, 5), turn("e1", 5, status="running", task_id="t1")):
        made = world(*results, record)
        assert made.task()["global"]["created_at"] == when(5)
        assert made.session()["created_at"] == made.session()["updated_at"] == when(5)


def test_a_conversation_fails_with_its_task_when_a_turn_answers_at_the_limit() -> None:
    made = world(
        turn("e1", 0, task_id="t1", user_input="go on"),
        recursion("r1", 0, 1, "CLARIFY", max_iteration=1),
        turn("e2", 2, task_id="t1"),
    )
    (conversation,) = made.session()["conversations"]
    assert made.task()["global"]["status"] == "failed"
    assert (conversation["status"], conversation["error"]) == ("error", task_machine.FORCED_ERROR)


def test_a_step_of_no_name_takes_no_recursion_that_claims_none() -> None:
    made = world(recursion("r1", 0, 0, "RE_PLAN", output={"plan": [{"step_id": ""}]}))
    document = made.task()
    assert [one["trace_id"] for one in document["recursion_history"]] == ["r1"]
    assert document["context"]["plan"][0]["recursion_history"] == []


def test_histories_hold_recursions_whole() -> None:
    (shown,) = world(recursion("r1", 0, 0)).task()["recursion_history"]
    assert {"trace_id", "observe", "thought", "status", "action"} <= set(shown)
    assert shown["action"] == {"action_type": "REFLECT", "output": {}}


def test_a_call_keeps_few_results_whatever_it_is_called() -> None:
    calls = {"tool_calls": [{"id": "c0"}]}
    made = world(
        recursion("r1", 0, 0, "CALL_TOOL", output=calls),
        *(result("r1", n, f"other{n}", call_index=0, result=str(n)) for n in range(10)),
    )
    assert len(made.rows_of("sessions", "s1")[task.RESULTS.key("t1", "r1")]) == task.MAX_NAMES
    (shown,) = made.task()["recursion_history"]
    assert shown["action"]["output"]["tool_calls"] == [{"id": "c0", "result": "9", "success": True}]


@pytest.fixture(scope="module")
def long_task() -> list[Json]:
    """Ten recursions more than a document keeps."""
    return [
        recursion(f"r{n:03}", n, n, max_iteration=1000, status="running" if n < 5 else "done")
        for n in range(Rules().max_recursions + 10)
    ]


def test_a_result_of_a_recursion_before_the_window_goes_to_the_history_alone(
    long_task: list[Json],
) -> None:
    made = world(*long_task)
    late = [result("r000", 300, f"c{n}") for n in range(Rules().max_waiting_results + 1)]
    before = made.task()
    assert set(made.say(*late)) == {"applied"}
    assert made.say(*late[:2]) == ["duplicate", "duplicate"]
    assert made.task() == before
    assert made.warnings["result_before_window"] == len(late)
    assert made.say(result("r999", 300, 0)) == ["applied"]  # none of them waits for anything


def test_results_that_waited_for_what_left_the_window_wait_no_more(long_task: list[Json]) -> None:
    waiting = [result(f"r00{n % 5}", 0, f"c{n}") for n in range(Rules().max_waiting_results)]
    made = world(*long_task[:100], *waiting, *long_task[100:])
    assert made.say(result("r999", 300, 0)) == ["applied"]


def test_two_versions_of_one_time_have_revisions_of_their_own() -> None:
    made = world(
        recursion("r1", 0, 0, "CLARIFY", thought="a"), recursion("r1", 0, 0, "REFLECT", thought="b")
    )
    changes = made.revisions("session")
    assert [one["after"]["status"] for one in changes] == ["waiting_input", "active"]
    assert len({one["revision_id"] for one in changes}) == 2


def written(event_id: str, at: float, **delta: Any) -> Json:
    return turn(event_id, at, session_memory_delta=delta)


def decision(text: str, **fields: Any) -> Json:
    return {"type": "decision", "decision": text, "source": "user", "rationale": "r", **fields}


def test_an_item_written_more_often_than_is_remembered_still_stands() -> None:
    many = session_memory.MAX_OPS + 10
    made = world(
        written("e", -1, add=[{"id": "m", "type": "background", "content": "a lake"}]),
        *(written(f"e{n}", n, update=[{"id": "m", "confidence": n / many}]) for n in range(many)),
    )
    (item,) = made.items()
    assert (item["content"], item["confidence"]) == ("a lake", (many - 1) / many)


def test_a_delete_before_what_is_remembered_still_wipes() -> None:
    made = world(turn("e", 0, observations=[decision("Rust")]))
    (item,) = made.items()
    made.say(written("gone", 1, delete=[item["id"]]))
    for n in range(session_memory.MAX_OPS + 10):
        made.say(written(f"e{n}", 2 + n, update=[{"id": item["id"], "rationale": "no"}]))
    assert made.items() == []


def test_an_add_is_the_whole_item() -> None:
    first = {"id": "m", "type": "decision", "decision": "Rust", "rationale": "speed"}
    second = {"id": "m", "type": "preference", "content": "tea"}
    records = [written("e1", 0, add=[first]), written("e2", 1, add=[second])]
    (item,) = same_in_any_order(records, World.items)
    assert item == {
        "id": "m",
        "type": "preference",
        "content": "tea",
        "confidence": 0.5,
        "evidence": ["e1", "e2"],
    }


def test_fields_nobody_knows_stay_out_of_an_item() -> None:
    item = {"id": "m", "type": "preference", "content": "tea", "colour": "green"}
    assert "colour" not in world(written("e1", 0, add=[item])).items()[0]


@pytest.mark.parametrize("reversible", [True, False])
def test_a_directly_written_decision_can_be_superseded(reversible: bool) -> None:
    first = {"id": "m", "type": "decision", "decision": "Rust", "reversible": reversible}
    by_agent = decision("Go", source="agent", supersedes="rust")
    by_user = decision("Zig", supersedes="RUST")
    made = world(written("e1", 0, add=[first]), turn("e2", 1, observations=[by_agent]))
    assert made.contents() == (["Go"] if reversible else ["Go", "Rust"])
    made.say(turn("e3", 2, observations=[by_user]))
    assert made.contents() == ["Go", "Zig"]


def test_what_falls_over_the_cap_uncovers_nothing_without_a_revision() -> None:
    pair = [{"id": one, "type": "background", "content": "same"} for one in ("a", "b")]
    made = world(written("e", 0, add=[{**one, "confidence": 0.0} for one in pair]))
    for n in range(Rules().max_memory_items):
        fresh = {"id": f"m{n}", "type": "background", "content": f"{n}", "confidence": 0.9}
        made.say(written(f"e{n}", 1 + n, add=[fresh]))
    said: dict[str, Any] = {}
    for one in made.revisions("session_memory"):
        said[one["entity_id"]] = one["after"]
    assert {key for key, one in said.items() if one} == {one["id"] for one in made.items()}
    assert len(made.items()) == Rules().max_memory_items


def test_two_turns_moments_of_one_event_id_know_no_order() -> None:
    """Event ids are unique a session; a user's mood may meet one of two sessions."""
    records = [
        turn("e1", 0, user_id="u1", affect=feeling(0.5)),
        turn("e1", 0, user_id="u1", affect=feeling(-0.5), session_id="s2"),
    ]
    assert same_in_any_order(records, World.mood) is not None


def test_a_moment_that_moves_takes_its_version_of_the_mood_with_it() -> None:
    made = world(plan("p1", 0, event_id="e1", event_affect=feeling(0.5)))
    made.say(plan("p2", 60, event_id="e1", event_affect=feeling(-0.5)))
    moved, removed = made.revisions("state")[-2:]
    assert moved["after"]["valid_from"] == when(60)
    assert removed["op"] == "remove" and removed["before"]["valid_from"] == when(0)
    mood = made.mood()
    assert mood is not None and mood["payload"]["baseline_vad"]["v"] == -0.5


def test_guarantee_2_a_losing_version_leaves_its_time_with_the_session_in_any_order() -> None:
    records = [recursion("r1", 0, 5, status="running"), recursion("r1", 0, 7)]
    assert same_in_any_order(records, World.session)["created_at"] == when(5)


def test_guarantee_2_a_result_that_fits_nothing_leaves_nothing_in_any_order() -> None:
    records = [recursion("r1", 0, 5), result("r1", 0, 0), result("r1", 9, 1)]
    document = same_in_any_order(records, World.session)
    assert document["created_at"] == document["updated_at"] == when(5)
    same_in_any_order(records, lambda made: made.task()["global"])


def test_guarantee_2_a_turn_that_ends_at_another_time_leaves_no_link_behind() -> None:
    records = [
        turn("a", 0),
        turn("r", 1, status="running"),
        turn("b", 2),
        turn("r", 3, agent_answer="done"),
    ]
    replies = same_in_any_order(records, World.replies)
    assert replies == {"b": "a", "r": "b"}


def test_merging_a_thread_moves_its_own_events_only() -> None:
    other = {"op": "put", "thread_key": "work\x1fe9", "event_id": "e1"}
    merge = {"op": "merge_into", "thread_key": "work", "into": "home"}
    made = world(
        plan("p1", 0, context_updates={"threads": [other]}),
        plan("p2", 1, context_updates={"threads": [merge]}),
    )
    assert made.members("home") == {}


def test_any_topic_can_be_read_back(tmp_path: Path) -> None:
    made = World(Store(tmp_path / "store"))
    made.say(signal("g1", 0, topic="a\0b"))
    made.store.commit({})
    assert list(made.store.entities("users")) in ([], [("default", "u1")])


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z"])
def test_a_time_lies_within_the_calendar_s_bounds(text: str) -> None:
    with pytest.raises(ValueError, match="a time must be between"):
        parse_time(text)
