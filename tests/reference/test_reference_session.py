"""The reference model of sessions and tasks, in small worlds whose memory is known by hand."""

import json
import random
from collections.abc import Iterable
from typing import Any, cast

import pytest

from schemas.events import RECORD_TYPES
from schemas.record import Record
from streams.pipeline import plain
from tests.reference.records import Given, ended_turns
from tests.reference.session import SessionMemory, sessions

Item = dict[str, Any]


def at(minute: int) -> str:
    return f"2026-03-01T{minute // 60:02}:{minute % 60:02}:00Z"


def given(record: Item) -> Given:
    model = RECORD_TYPES[record["type"]].model_validate(record)
    left_out = {"recorded_at", "schema_version", "image_summaries"}
    doc = model.model_dump(mode="json", exclude=left_out, exclude_defaults=True)
    return Given(model, json.dumps(doc | {"type": model.type}, sort_keys=True, ensure_ascii=False))


def turn(minute: int, event_id: str = "", **fields: Any) -> Given:
    id = event_id or f"e{minute:03}"
    known = {"type": "turn", "event_id": id, "session_id": "s", "occurred_at": at(minute)}
    return given(known | fields)


def recursion(index: int, action: str = "CALL_TOOL", **fields: Any) -> Given:
    """The `index`th step of task t, at that minute, with an output of its own."""
    output = fields.pop("output", {"step": index})
    known: Item = {"type": "recursion", "session_id": "s", "task_id": "t", "occurred_at": at(index)}
    known |= {"trace_id": f"r{index:02}", "iteration_index": index}
    return given(known | {"action": {"action_type": action, "output": output}} | fields)


def result(index: int, minute: int, **fields: Any) -> Given:
    known = {"type": "tool_result", "session_id": "s", "task_id": "t", "occurred_at": at(minute)}
    return given(known | {"trace_id": f"r{index:02}", "result": "ok", "success": True} | fields)


def signal(minute: int, id: str, **fields: Any) -> Given:
    known = {"type": "signal", "signal_id": id, "scope": "session", "session_id": "s"}
    return given(known | {"occurred_at": at(minute)} | fields)


def memory(*records: Given) -> SessionMemory:
    """The session `s` of these records: the same twice, and in another order."""
    made = sessions(records)["default", "s"]
    shuffled = [*records, *records]
    random.Random(0).shuffle(shuffled)
    assert sessions(shuffled)["default", "s"] == made
    return made


def document(*records: Given) -> Item:
    return memory(*records).document


def task(*records: Given) -> Item:
    return memory(*records).tasks["t"]


def saw(minute: int, content: str, type: str = "preference", **fields: Any) -> Given:
    """A turn with one observation."""
    observation = {"type": type, "content": content} | fields
    return turn(minute, observations=[observation])


def decided(minute: int, decision: str, **fields: Any) -> Given:
    known = {"type": "decision", "decision": decision, "source": "agent", "rationale": "why"}
    return turn(minute, observations=[known | fields])


def wrote(minute: int, **delta: Any) -> Given:
    return turn(minute, session_memory_delta=delta)


def added(minute: int, id: str, content: str, type: str = "preference", **fields: Any) -> Given:
    return wrote(minute, add=[{"id": id, "type": type, "content": content} | fields])


def items(*records: Given) -> list[Item]:
    found: list[Item] = document(*records)["session_memory"]
    return found


def contents(*records: Given) -> list[str]:
    return [item["decision"] or item["content"] for item in items(*records)]


# records


def test_a_turn_may_come_as_another_object_with_the_same_names() -> None:
    line = b'{"type":"turn","event_id":"a","session_id":"s","occurred_at":"2026-03-01T00:01:00Z"}'
    decoded = plain.read(line)
    assert decoded is not None
    other = Given(cast(Record, decoded[0]), decoded[1].decode())
    assert sessions([other]) == sessions([turn(1, "a")])


def test_fields_that_no_document_knows_are_in_none() -> None:
    known: Item = {"content": "c", "source": "user", "confidence": 0.5}
    item = {"id": "m", "type": "preference", "content": "tea", "mood": "x"}
    found = document(
        turn(1, subject=known | {"x": 1}, summary={"content": "c", "x": 1}, x=1),
        wrote(2, add=[item], update=[{"id": "m", "confidence": 0.1, "mood": "x"}]),
    )
    assert found["subject"] == known
    assert found["conversations"][0]["summary"].keys() == {
        "content",
        "key_findings",
        "final_decisions",
    }
    assert found["session_memory"][0]["content"] == "tea"


def test_of_a_turn_sent_twice_the_ended_version_stands() -> None:
    running = turn(1, "a", status="running", user_input="hi", topic="greeting")
    ended = turn(2, "a", user_input="hi", agent_answer="hello")
    found = document(running, ended)
    assert found["conversations"][0]["agent_answer"] == "hello"
    assert found["context"]["current_topic"] is None
    assert found["created_at"] == found["updated_at"] == at(2)
    assert [one.event_id for one in ended_turns([running, ended, running])] == ["a"]


def test_a_turn_that_is_to_be_withheld_leaves_nothing() -> None:
    assert sessions([turn(1, source="meta_request", user_input="secret")]) == {}


def test_a_plan_and_a_signal_of_a_user_make_no_session() -> None:
    plan = {"type": "write_plan", "plan_id": "p", "user_id": "u", "occurred_at": at(1)}
    posted = signal(1, "x", scope="user", user_id="u")
    assert sessions([given(plan | {"extractor": {"name": "n"}, "session_id": "s"}), posted]) == {}


# sessions


def test_a_users_claim_beats_a_surer_and_later_one_of_the_agent() -> None:
    user = {"content": "moving", "source": "user", "confidence": 0.2}
    agent = {"content": "flats", "source": "agent", "confidence": 0.9}
    found = document(turn(1, subject=user), turn(2, subject=agent, object=agent))
    assert found["subject"] == user
    assert found["object"] == agent


def test_of_equally_sure_claims_the_later_stands() -> None:
    found = document(turn(2, subject={"content": "new"}), turn(1, subject={"content": "old"}))
    assert found["subject"] == {"content": "new", "source": "agent", "confidence": 0.5}


def test_only_the_latest_turn_closes_a_session() -> None:
    closing = turn(1, session_status="closed")
    assert document(closing)["status"] == "closed"
    assert document(closing)["closed_reason"] == "closed by the turn"
    later = document(closing, turn(2, session_status="active"))
    assert (later["status"], later["closed_reason"]) == ("active", None)


def test_only_the_latest_turn_makes_a_session_wait() -> None:
    waiting = turn(1, session_status="waiting_input")
    assert document(waiting)["status"] == "waiting_input"
    assert document(waiting, turn(2))["status"] == "active"
    later = document(turn(0, session_status="closed"), waiting)
    assert (later["status"], later["closed_reason"]) == ("waiting_input", None)


def test_a_session_waits_while_a_task_of_it_waits() -> None:
    asking = [turn(1, task_id="t", status="running"), recursion(2, "CLARIFY")]
    assert document(*asking)["status"] == "waiting_input"
    assert document(*asking, turn(3))["status"] == "active"
    assert document(*asking, turn(3, session_status="closed"))["status"] == "closed"


def test_user_files_and_times_of_a_session() -> None:
    posted = signal(9, "x", topic="t")
    early, late = (
        turn(2, user_id="ann"),
        turn(3, user_id="bob", artifacts_metadata={"sandbox_id": "b"}),
    )
    found = document(turn(1), early, late, recursion(7), result(7, 30, call_index=0), posted)
    assert found["user_id"] == "ann"
    assert found["artifacts_metadata"] == {"sandbox_id": "b"}
    assert (found["created_at"], found["updated_at"]) == (at(1), at(9))


def test_tool_results_date_a_session_and_its_task_only_where_there_is_nothing_else() -> None:
    alone = memory(result(5, 5, call_index=0), result(5, 8, call_index=0))
    assert (alone.document["created_at"], alone.document["updated_at"]) == (at(5), at(8))
    assert alone.tasks["t"]["global"]["created_at"] == at(5)
    assert alone.tasks["t"]["global"]["status"] == "pending"
    dated = memory(result(5, 5, call_index=0), recursion(6))
    assert dated.document["created_at"] == dated.tasks["t"]["global"]["created_at"] == at(6)


def test_a_session_of_recursions_alone_has_no_context() -> None:
    assert document(recursion(1))["context"] is None


def test_a_conversation_has_its_first_question_and_its_last_answer() -> None:
    found = document(
        turn(1, task_id="t", status="running"),
        turn(2, task_id="t", status="running", user_input="find a flat", error="slow"),
        turn(3, "alone", user_input="hi", agent_answer="hello"),
        turn(
            4, task_id="t", user_input="in Leeds", agent_answer="found", summary={"content": "ok"}
        ),
    )["conversations"]
    assert [(one["task_index"], one["task_id"]) for one in found] == [(1, "t"), (2, "alone")]
    assert (found[0]["user_input"], found[0]["agent_answer"]) == ("find a flat", "found")
    assert (found[0]["status"], found[0]["error"]) == ("done", None)
    assert found[0]["summary"] == {"content": "ok", "key_findings": [], "final_decisions": []}


def test_a_task_that_has_ended_says_how_its_conversation_went() -> None:
    running, failed = turn(1, task_id="t", status="running"), turn(1, task_id="t", error="x")
    won = document(running, recursion(2, "ANSWER"))["conversations"][0]
    lost = document(failed, recursion(2, status="error", final=True, error="no"))["conversations"][
        0
    ]
    going = document(running, recursion(2))["conversations"][0]
    assert (won["status"], won["error"]) == ("done", None)
    assert (lost["status"], lost["error"]) == ("error", "no")
    assert going["status"] == "running"


def test_the_newest_20_conversations_show_and_all_are_counted() -> None:
    found = document(*(turn(minute) for minute in range(1, 26)))
    assert [one["task_index"] for one in found["conversations"]] == list(range(6, 26))
    assert found["conversation_count"] == 25


def test_a_context_is_of_turns_and_signals_together() -> None:
    found = document(
        turn(1, topic="trains", intent=["search", "book"], user_input="a train"),
        signal(2, "x", topic="flats", intent="quiz", artifact="notes"),
        turn(3, intent="", user_input=""),
    )["context"]
    assert found == {
        "session_id": "s",
        "current_topic": "flats",
        "recent_intents": ["search", "quiz"],
        "last_artifact": "notes",
        "last_user_message": "a train",
        "updated_at": at(3),
    }


def test_of_two_statements_of_one_time_and_id_the_greater_text_is_the_later() -> None:
    found = document(turn(1, "x", topic="b"), signal(1, "x", topic="a"))["context"]
    assert found["current_topic"] == "b"


def test_the_ten_latest_intents_show() -> None:
    found = document(*(turn(minute, intent=f"i{minute}") for minute in range(1, 13)))["context"]
    assert found["recent_intents"] == [f"i{minute}" for minute in range(3, 13)]


def test_a_turn_replies_to_the_one_before_it_of_its_client() -> None:
    laptop, phone = turn(1, "a", client_id="laptop"), turn(2, "b", client_id="phone")
    any_client, again = turn(3, "c"), turn(4, "d", client_id="laptop")
    found = memory(laptop, phone, any_client, again).replies
    assert {event: to for event, (to, _) in found.items()} == {"c": "b", "d": "a"}
    assert found["c"][1] == any_client.record.occurred_at


# session memory


def test_a_preference_is_written_when_it_is_stated_or_shown_by_three_turns() -> None:
    said = saw(1, "Tea"), saw(2, "tea "), saw(3, "ＴＥＡ", confidence=0.7)
    assert contents(*said[:2]) == []
    (item,) = items(*said)
    assert (item["content"], item["confidence"]) == ("ＴＥＡ", 0.7)
    assert item["evidence"] == ["e001", "e002", "e003"]
    assert contents(saw(1, "Tea", explicit=True)) == ["Tea"]
    assert item["id"] == items(saw(1, "tea", explicit=True))[0]["id"]


def test_a_turn_that_observes_a_thing_twice_shows_it_once() -> None:
    twice = turn(1, observations=[{"type": "preference", "content": "tea"}] * 2)
    assert contents(twice, saw(2, "tea")) == []


def test_of_several_observations_of_one_turn_the_stated_one_shows() -> None:
    stated = {"type": "preference", "content": "TEA", "explicit": True, "confidence": 0.1}
    (item,) = items(turn(1, observations=[stated, {"type": "preference", "content": "tea"}]))
    assert (item["content"], item["confidence"]) == ("TEA", 0.1)


def test_a_running_turn_observes_and_writes_nothing() -> None:
    observation = {"type": "preference", "content": "tea", "explicit": True}
    assert contents(turn(1, status="running", observations=[observation])) == []


def test_what_a_turn_opposes_has_to_be_shown_again() -> None:
    before = [saw(minute, "tea", explicit=True) for minute in (1, 2)]
    against = saw(3, "coffee", opposes="TEA")
    assert contents(*before, against) == []
    assert contents(*before, against, saw(4, "tea")) == []
    (item,) = items(*before, against, saw(4, "tea", explicit=True))
    assert item["evidence"] == ["e004"]


def test_a_turn_opposes_what_it_shows_itself() -> None:
    seen = [{"type": "preference", "content": "tea", "explicit": True}]
    assert contents(
        turn(1, observations=[*seen, {**seen[0], "content": "x", "opposes": "tea"}])
    ) == ["x"]


@pytest.mark.parametrize(
    ("type", "fields", "showings", "shows"),
    [
        ("constraint", {"environment": True}, 1, True),
        ("constraint", {"explicit": True}, 1, True),
        ("constraint", {}, 5, False),
        ("background", {"environment": True}, 1, False),
        ("background", {}, 3, True),
        ("background", {}, 2, False),
        ("capability_assumption", {}, 1, True),
    ],
)
def test_each_type_has_its_own_threshold(
    type: str, fields: Item, showings: int, shows: bool
) -> None:
    said = [saw(minute, "x", type, **fields) for minute in range(1, showings + 1)]
    assert bool(contents(*said)) is shows


def test_a_capability_is_as_sure_as_it_has_ever_been_seen() -> None:
    sure = saw(1, "proofs", "capability_assumption", confidence=0.9)
    against = saw(2, "algebra", "capability_assumption", opposes="proofs")
    again = saw(3, "Proofs", "capability_assumption", confidence=0.2)
    assert contents(sure, against) == ["algebra"]
    assert items(sure, against, again)[0]["confidence"] == pytest.approx(0.9)


def test_a_capability_grows_surer_with_each_showing() -> None:
    said = [saw(minute, "proofs", "capability_assumption", confidence=0.6) for minute in (1, 2, 3)]
    assert items(*said[:1])[0]["confidence"] == pytest.approx(0.6)
    assert items(*said[:2])[0]["confidence"] == pytest.approx(0.8)
    assert items(*said)[0]["confidence"] == pytest.approx(0.9)


def test_a_decision_needs_a_source_and_a_rationale() -> None:
    assert contents(decided(1, "use Rust")) == ["use Rust"]
    assert contents(decided(1, "use Rust", rationale=None, explicit=True)) == []
    assert contents(decided(1, "use Rust", source=None)) == []


def test_a_decision_shows_its_latest_statement_and_names_all_its_turns() -> None:
    mentioned = decided(3, "RUST", rationale=None, confidence=0.9)
    (item,) = items(decided(1, "rust"), decided(2, "Rust", source="joint"), mentioned)
    assert (item["decision"], item["source"], item["rationale"]) == ("Rust", "joint", "why")
    assert (item["confidence"], item["reversible"]) == (0.9, True)
    assert item["evidence"] == ["e001", "e002", "e003"]


def test_a_decision_that_supersedes_another_removes_it() -> None:
    assert contents(decided(1, "Rust"), decided(2, "Go")) == ["Rust", "Go"]
    assert contents(decided(1, "Rust"), decided(2, "Go", supersedes="rust")) == ["Go"]
    unfounded = decided(2, "Go", supersedes="rust", rationale=None)
    assert contents(decided(1, "Rust"), unfounded) == ["Rust"]


def test_a_decision_that_is_not_reversible_yields_to_the_user_only() -> None:
    final = decided(1, "Rust", reversible=False)
    assert contents(final, decided(2, "Go", supersedes="Rust")) == ["Rust", "Go"]
    assert contents(final, decided(2, "Go", supersedes="Rust", source="user")) == ["Go"]


def test_a_decision_that_is_final_now_did_not_yield_before() -> None:
    again = decided(3, "Rust", reversible=False)
    (rust,) = [
        item
        for item in items(decided(1, "Rust"), decided(2, "Go", supersedes="Rust"), again)
        if item["decision"] == "Rust"
    ]
    assert rust["evidence"] == ["e001", "e003"]


def test_direct_writes_need_no_threshold() -> None:
    (item,) = items(added(1, "m", "tea", confidence=0.9, scope="morning"))
    assert (item["id"], item["content"], item["confidence"]) == ("m", "tea", 0.9)
    assert (item["scope"], item["evidence"]) == ("morning", ["e001"])


def test_an_update_changes_the_fields_given_and_of_nothing_nothing() -> None:
    update = wrote(2, update=[{"id": "m", "confidence": 0.1}])
    (item,) = items(added(1, "m", "tea", confidence=0.9), update)
    assert (item["content"], item["confidence"]) == ("tea", 0.1)
    assert item["evidence"] == ["e001", "e002"]
    assert items(update) == []


def test_an_update_changes_what_was_observed_under_that_id() -> None:
    seen = saw(1, "tea", explicit=True)
    id = items(seen)[0]["id"]
    (item,) = items(seen, wrote(2, update=[{"id": id, "content": "green tea"}]))
    assert (item["id"], item["content"]) == (id, "green tea")


def test_a_delete_wipes_what_was_before_it_in_its_own_turn_too() -> None:
    seen = saw(1, "tea", explicit=True)
    id = items(seen)[0]["id"]
    both = wrote(2, add=[{"id": id, "type": "preference", "content": "tea"}], delete=[id])
    assert contents(seen, both) == []
    assert contents(seen, both, saw(3, "tea")) == []
    assert contents(seen, both, saw(3, "tea", explicit=True)) == ["tea"]
    assert contents(seen, both, added(3, id, "tea")) == ["tea"]


def test_a_later_turn_that_opposes_hides_a_written_item() -> None:
    against = saw(2, "coffee", opposes="Tea")
    assert contents(added(1, "m", "tea"), against) == []
    assert contents(against, added(3, "m", "tea")) == ["tea"]
    delta = {"add": [{"id": "m", "type": "preference", "content": "tea"}]}
    observation = {"type": "preference", "content": "coffee", "opposes": "tea"}
    both = turn(1, session_memory_delta=delta, observations=[observation])
    assert contents(both) == ["tea"]


def test_what_is_opposed_and_then_seen_again_shows_as_it_was_written() -> None:
    seen = saw(3, "tea", explicit=True)
    id = items(seen)[0]["id"]
    written = added(1, id, "tea", confidence=0.9)
    (item,) = items(written, saw(2, "coffee", opposes="tea"), seen)
    assert (item["confidence"], item["evidence"]) == (0.9, ["e001", "e003"])


def test_a_written_decision_that_is_not_reversible_yields_to_the_user_alone() -> None:
    item = {"id": "m", "type": "decision", "decision": "Rust", "reversible": False}
    written = wrote(1, add=[item])
    assert contents(written, decided(2, "Go", supersedes="Rust")) == ["Rust", "Go"]
    by_user = decided(2, "Go", supersedes="Rust", source="user")
    assert contents(written, by_user) == ["Go"]


def test_equal_items_show_once_under_the_oldest_id() -> None:
    seen = saw(1, "tea", explicit=True, confidence=0.3)
    (item,) = items(seen, added(2, "m", "TEA", confidence=0.8))
    assert item == items(seen)[0] | {"confidence": 0.8, "evidence": ["e001", "e002"]}


def test_items_stand_in_the_order_of_their_first_mention() -> None:
    early = [saw(1, "b"), saw(2, "a", explicit=True), saw(3, "b", explicit=True)]
    assert contents(*early) == ["b", "a"]


def test_evidence_names_the_newest_20_turns() -> None:
    said = [saw(minute, "tea", explicit=True) for minute in range(1, 23)]
    assert items(*said)[0]["evidence"] == [f"e{minute:03}" for minute in range(3, 23)]


# tasks


def test_a_running_turn_begins_its_task_also_where_it_has_ended_since() -> None:
    running, ended = turn(1, "a", task_id="t", status="running"), turn(4, "a", task_id="t")
    assert memory(ended).tasks == {}
    found = task(running, ended)["global"]
    assert (found["status"], found["created_at"], found["updated_at"]) == ("pending", at(1), at(1))
    assert task(running, ended)["current_recursion"] == {}


def test_of_versions_of_a_recursion_the_ended_one_stands_and_the_other_leaves_its_time() -> None:
    lost = recursion(1, status="running", occurred_at=at(9), thought="later")
    found = task(lost, recursion(1, thought="ended"))
    assert found["recursion_history"][0]["thought"] == "ended"
    assert (found["global"]["created_at"], found["global"]["updated_at"]) == (at(1), at(9))


def test_recursions_stand_in_the_order_of_the_loop_not_of_time() -> None:
    found = task(recursion(2, occurred_at=at(1)), recursion(1, occurred_at=at(2)))
    assert [one["trace_id"] for one in found["recursion_history"]] == ["r01", "r02"]
    assert found["current_recursion"] == {
        "trace_id": "r02",
        "iteration_index": 2,
        "status": "done",
    }


def test_a_document_holds_recursions_whole() -> None:
    (entry,) = task(recursion(1, "REFLECT", output={}, objective="o", mood="calm"))[
        "recursion_history"
    ]
    assert entry == {
        "trace_id": "r01",
        "iteration_index": 1,
        "occurred_at": at(1),
        "status": "done",
        "observe": "",
        "thought": "",
        "action": {"action_type": "REFLECT", "output": {}},
        "objective": "o",
        "mood": "calm",
    }


def test_objective_constraints_and_limit_are_the_latest_given() -> None:
    found = task(
        recursion(1, objective="o", constraints=["a", "b"], max_iteration=5),
        recursion(2, constraints=["c"]),
        recursion(3, max_iteration=7),
    )
    assert (found["context"]["objective"], found["context"]["constraints"]) == ("o", ["c"])
    assert (found["global"]["max_iteration"], found["global"]["iteration"]) == (7, 3)


def test_the_newest_50_short_term_memories_show() -> None:
    texts = [str(number) for number in range(60)]
    found = task(
        recursion(1, short_term_memory_append="x"), recursion(2, short_term_memory_append=texts)
    )
    short_term = found["context"]["memory"]["short_term"]
    assert short_term == [{"trace_id": "r02", "memory": text} for text in texts[10:]]


def state(*records: Given) -> tuple[str, int, bool, str | None]:
    found = task(*records)["global"]
    return found["status"], found["iteration"], found["forced"], found["error"]


LIMIT = "max_iteration reached"


def test_an_answer_that_is_done_completes_and_what_comes_after_is_left_out() -> None:
    records = [recursion(1), recursion(2, "ANSWER"), recursion(3, status="error", final=True)]
    assert state(*records) == ("completed", 2, False, None)
    found = task(*records)
    assert found["current_recursion"]["trace_id"] == "r02"
    assert found["global"]["updated_at"] == at(3)
    assert state(recursion(1, "ANSWER", status="running")) == ("running", 0, False, None)
    assert state(recursion(1, "ANSWER", status="error")) == ("running", 1, False, None)


def test_a_final_error_fails_the_task() -> None:
    assert state(recursion(1, status="error", final=True, error="no")) == ("failed", 1, False, "no")
    assert state(recursion(1, final=True)) == ("running", 1, False, None)


def test_the_recursion_that_reaches_the_limit_stops_the_task() -> None:
    steps = [recursion(index) for index in range(1, 13)]
    assert state(*steps[:9]) == ("running", 9, False, None)
    assert state(*steps) == ("failed", 10, True, LIMIT)
    assert state(*steps[:9], recursion(10, "ANSWER")) == ("completed", 10, False, None)
    assert state(*steps[:9], recursion(10, status="running")) == ("running", 9, False, None)


def test_a_clarify_at_the_limit_waits_until_a_turn_or_the_next_recursion() -> None:
    asking = [recursion(1, max_iteration=2), recursion(2, "CLARIFY")]
    assert state(*asking) == ("waiting_input", 2, False, None)
    assert state(*asking, turn(3)) == ("failed", 2, True, LIMIT)
    assert state(*asking, recursion(3)) == ("failed", 3, True, LIMIT)
    assert state(*asking, recursion(3, "CLARIFY")) == ("failed", 3, True, LIMIT)
    assert state(*asking, recursion(3, "ANSWER")) == ("completed", 3, False, None)
    assert state(*asking, recursion(3, status="running")) == ("running", 2, False, None)
    assert state(*asking, recursion(3, max_iteration=9)) == ("running", 3, False, None)
    assert state(*asking, turn(3), recursion(4, "ANSWER")) == ("failed", 2, True, LIMIT)


def test_only_a_standing_turn_that_is_later_answers_a_question() -> None:
    asking = recursion(5, "CLARIFY")
    assert state(asking, turn(5))[0] == "waiting_input"
    assert state(asking, turn(6))[0] == "running"
    assert state(asking, turn(6, status="running"))[0] == "running"
    replaced = turn(6, "a", status="running"), turn(4, "a")
    assert state(asking, *replaced)[0] == "waiting_input"
    assert state(asking, recursion(6))[0] == "running"


def plan_step(id: str, status: str | None = None, **fields: Any) -> Item:
    return (
        {"step_id": id, "description": id.upper()} | ({"status": status} if status else {}) | fields
    )


def re_plan(index: int, *steps: Any, **fields: Any) -> Given:
    return recursion(index, "RE_PLAN", output={"plan": list(steps)}, **fields)


def steps_of(*records: Given) -> list[tuple[str, str]]:
    return [(step["step_id"], step["status"]) for step in task(*records)["context"]["plan"]]


def test_a_plan_replaces_the_plan_and_steps_keep_their_status() -> None:
    first = re_plan(1, plan_step("a", "done"), plan_step("b"), plan_step("c"))
    assert steps_of(first) == [("a", "done"), ("b", "pending"), ("c", "pending")]
    second = re_plan(2, plan_step("c", "error"), plan_step("a"), plan_step("d"))
    assert steps_of(first, second) == [("c", "error"), ("a", "done"), ("d", "pending")]


def test_the_plan_of_the_output_wins_unless_the_recursion_has_failed() -> None:
    other = [{"step_id": "b"}]
    assert steps_of(re_plan(1, plan_step("a"), plan=other)) == [("a", "pending")]
    assert steps_of(re_plan(1, plan_step("a"), plan=other, status="error")) == [("b", "pending")]
    assert steps_of(recursion(1, output={"plan": [plan_step("a")]}, plan=other)) == [
        ("b", "pending")
    ]
    assert steps_of(re_plan(1, plan_step("a"), status="error")) == []


def test_of_two_steps_of_one_id_the_last_stands_in_the_firsts_place() -> None:
    twice = re_plan(1, plan_step("a"), plan_step("b"), plan_step("a", "done"), {"no": "id"}, "x")
    assert steps_of(twice) == [("a", "done"), ("b", "pending")]


def test_a_plan_has_at_most_100_steps() -> None:
    assert len(steps_of(re_plan(1, *(plan_step(str(number)) for number in range(120))))) == 100


def test_a_claim_sets_a_pending_step_running_before_and_after_its_plan() -> None:
    plan = re_plan(2, plan_step("a", "pending"), plan_step("b"), plan_step("c"))
    claims = [recursion(1, step_id="a"), plan, recursion(3, step_id="b")]
    assert steps_of(*claims) == [("a", "running"), ("b", "running"), ("c", "pending")]


def test_three_errors_in_a_row_fail_a_step_until_a_plan_says_otherwise() -> None:
    plan, failing = re_plan(1, plan_step("a")), {"step_id": "a", "status": "error"}
    errors = [recursion(index, **failing) for index in (2, 3, 5)]
    assert steps_of(plan, *errors[:2]) == [("a", "running")]
    assert steps_of(plan, *errors) == [("a", "error")]
    assert steps_of(plan, *errors, recursion(4, step_id="a")) == [("a", "running")]
    running = recursion(4, step_id="a", status="running")
    assert steps_of(plan, *errors, running) == [("a", "error")]
    again = re_plan(6, plan_step("a", "running"))
    assert steps_of(plan, *errors, again, recursion(7, **failing)) == [("a", "running")]
    assert steps_of(*errors, re_plan(6, plan_step("a"))) == [("a", "error")]
    # of one recursion the plan comes first, then its claim
    assert steps_of(*errors, re_plan(6, plan_step("a"), step_id="a")) == [("a", "error")]


def test_a_recursion_stands_in_one_place() -> None:
    claiming = recursion(1, step_id="a")
    assert len(task(claiming)["recursion_history"]) == 1
    placed = task(claiming, re_plan(2, plan_step("a")))
    (step,) = placed["context"]["plan"]
    assert [one["trace_id"] for one in step["recursion_history"]] == ["r01"]
    assert [one["trace_id"] for one in placed["recursion_history"]] == ["r02"]
    moved = task(claiming, re_plan(2, plan_step("a")), re_plan(3, plan_step("b")))
    assert [one["trace_id"] for one in moved["recursion_history"]] == ["r01", "r02", "r03"]


def stalled(*records: Given) -> tuple[bool, int]:
    found = task(*records)["global"]
    return found["stalled"], found["stalled_count"]


def test_three_equal_recursions_in_a_row_stall_the_task() -> None:
    calls = [
        recursion(index, output={"tool_calls": [{"id": f"c{index}", "name": "f", "result": index}]})
        for index in range(1, 5)
    ]
    assert stalled(*calls[:2]) == (False, 0)
    assert stalled(*calls[:3]) == (True, 3)
    assert stalled(*calls) == (True, 4)
    assert stalled(*calls, recursion(5)) == (False, 0)
    assert stalled(*calls[:3], recursion(4, output={"tool_calls": [{"name": "g"}]})) == (False, 0)


def answered(*records: Given) -> list[tuple[Any, Any]]:
    (entry,) = task(*records)["recursion_history"]
    calls = entry["action"]["output"]["tool_calls"]
    return [(call.get("result"), call.get("success")) for call in calls]


def test_a_result_goes_into_the_call_it_names_or_else_into_that_at_its_index() -> None:
    calling = recursion(1, output={"tool_calls": [{"id": "a"}, {"id": "b"}, {"id": "b"}]})
    by_id = result(1, 2, tool_call_id="b", call_index=0)
    assert answered(calling, by_id) == [(None, None), ("ok", True), (None, None)]
    by_index = result(1, 2, tool_call_id="unknown", call_index=2, success=False)
    assert answered(calling, by_index) == [(None, None), (None, None), ("ok", False)]
    assert answered(calling, result(1, 2, call_index=3)) == [(None, None)] * 3
    assert answered(calling, result(1, 2, tool_call_id="unknown")) == [(None, None)] * 3


def test_the_latest_result_of_a_call_stands_however_it_names_it() -> None:
    calling = recursion(1, output={"tool_calls": [{"id": "a", "result": "sent"}]})
    early, late = result(1, 2, tool_call_id="a", result="x"), result(1, 3, call_index=0, result="y")
    assert answered(calling, early, late) == [("y", True)]
    equal = result(1, 3, call_index=0, result="z")
    assert answered(calling, early, late, equal) == [("z", True)]


def test_a_result_shows_in_the_version_that_stands() -> None:
    output = {"tool_calls": [{"id": "a"}]}
    answer = result(1, 2, tool_call_id="a")
    assert answered(recursion(1, output=output, status="running"), answer) == [("ok", True)]
    without = recursion(1, output={"tool_calls": [{"id": "b"}]})
    later = recursion(1, output=output, occurred_at=at(9))
    assert answered(without, answer) == [(None, None)]
    assert answered(without, later, answer) == [("ok", True)]


def test_a_result_that_is_no_text_becomes_compact_json() -> None:
    calling = recursion(1, output={"tool_calls": [{"id": "a"}]})
    value = {"b": [1, None], "a": "Zoë"}
    assert answered(calling, result(1, 2, call_index=0, result=value)) == [
        ('{"a":"Zoë","b":[1,null]}', True)
    ]


def test_nothing_is_changed_in_the_records_given() -> None:
    records: Iterable[Given] = [recursion(1, output={"tool_calls": [{"id": "a"}]})] * 2
    records = [*records, result(1, 2, tool_call_id="a")]
    before = [record.record.model_dump_json() for record in records]
    memory(*records)
    assert [record.record.model_dump_json() for record in records] == before
