"""`openai-chat`: conversations of OpenAI messages as turns, recursions and tool results."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.base import parse_time
from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.importers import openai_chat
from streams.importers.base import ImportDefaults, ImportFault, NoUser, Skipped
from streams.importers.convert import convert

Json = dict[str, Any]
SYSTEM = {"role": "system", "content": "No purchases."}
USER = {"role": "user", "content": "What does A1 cost?"}
LOOKUP = {
    "id": "c1",
    "type": "function",
    "function": {"name": "price", "arguments": '{"sku":"A1"}'},
}
CALLS = {"role": "assistant", "content": "I will look.", "tool_calls": [LOOKUP]}
RESULT = {"role": "tool", "tool_call_id": "c1", "name": "price", "content": "12.50"}
ANSWER = {"role": "assistant", "content": "It costs 12.50."}


DEFAULTS = ImportDefaults("ann", parse_time("2026-03-01T00:00:00Z"))


def parse(*messages: Json, skipped: Skipped | None = None, **item: Any) -> list[Json]:
    """The records of one item, each checked against its model."""
    given = [{"session_id": "s", **item, "messages": [*messages]}]
    found = list(openai_chat.parse(given, skipped, DEFAULTS))
    for record in found:
        model = RECORD_TYPES[record["type"]].model_validate(upcast(dict(record)))
        assert model.model_extra == {}
    return found


def of(records: list[Json], kind: str) -> list[Json]:
    return [record for record in records if record["type"] == kind]


def call(call_id: str | None, name: str = "price") -> Json:
    function = {"name": name, "arguments": "{}"}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "function": function}],
    }


def test_a_conversation_is_a_turn_with_its_steps() -> None:
    turn, looked, result, answered = parse(SYSTEM, USER, CALLS, RESULT, ANSWER, user_id="u")
    assert (turn["user_input"], turn["agent_answer"], turn["status"], turn["user_id"]) == (
        "What does A1 cost?", "It costs 12.50.", "done", "u",
    )  # fmt: skip
    assert looked["action"] == {"action_type": "CALL_TOOL", "output": {"tool_calls": [LOOKUP]}}
    assert looked["thought"] == "I will look." and looked["constraints"] == ["No purchases."]
    assert (result["tool_call_id"], result["result"], result["success"]) == ("c1", "12.50", True)
    assert result["trace_id"] == looked["trace_id"] != answered["trace_id"]
    assert answered["action"] == {"action_type": "ANSWER", "output": {"answer": "It costs 12.50."}}
    assert [looked["iteration_index"], answered["iteration_index"]] == [1, 2]
    assert {r["task_id"] for r in (turn, looked, result, answered)} == {turn["task_id"]}


def test_each_message_is_a_second_after_created() -> None:
    records = parse(SYSTEM, USER, CALLS, RESULT, ANSWER, created=1_700_000_000)
    assert [record["occurred_at"] for record in records] == [
        "2023-11-14T22:13:21Z",
        "2023-11-14T22:13:22Z",
        "2023-11-14T22:13:23Z",
        "2023-11-14T22:13:24Z",
    ]
    assert parse(USER)[0]["occurred_at"] == "2026-03-01T00:00:00Z", "what who imports says"
    assert parse(USER, created="2026-01-31T18:30:00+09:00")[0]["occurred_at"] == (
        "2026-01-31T09:30:00Z"
    )


def test_a_message_with_its_own_time_keeps_it_and_the_order() -> None:
    turn, answer = parse(USER | {"created": 100}, ANSWER | {"created": 90})
    assert turn["occurred_at"] == "1970-01-01T00:01:40Z"
    assert answer["occurred_at"] == "1970-01-01T00:01:40.000001Z"


def test_a_first_message_without_a_time_is_dated_by_the_next_that_has_one() -> None:
    turn, _, _, answer = parse(USER, CALLS, RESULT, ANSWER | {"created": 1_700_000_000})
    assert turn["occurred_at"] == "2023-11-14T22:13:17Z"
    assert answer["occurred_at"] == "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    ("item", "user"),
    [
        ({}, "ann"), ({"user_id": None}, "ann"), ({"user_id": " "}, "ann"), ({"user_id": 7}, "7"),
        ({"user": "bo"}, "bo"), ({"user_id": "cy", "user": "bo"}, "cy"),
        ({"user": {"name": "bo"}}, "ann"),
        ({"info": {"task": {"user_id": "mia_li_3668"}}}, "mia_li_3668"), ({"info": "none"}, "ann"),
    ],
)  # fmt: skip
def test_the_user_is_the_items_else_who_imports_says(item: Json, user: str) -> None:
    assert parse(USER, **item)[0]["user_id"] == user


def test_conversations_that_come_to_nothing_are_counted() -> None:
    skipped = Skipped()
    assert parse(skipped=skipped) == parse(SYSTEM, skipped=skipped) == []
    assert skipped == {"conversation without messages": 1, "conversation in which nobody speaks": 1}


def test_without_a_user_or_a_time_there_is_no_turn() -> None:
    item = {"messages": [USER]}
    with pytest.raises(NoUser, match="give --user NAME"):
        list(openai_chat.parse([item], defaults=ImportDefaults(created=1)))
    with pytest.raises(ImportFault, match="give --created TIME"):
        list(openai_chat.parse([item], defaults=ImportDefaults("ann")))


def test_ids_depend_on_session_and_message_index_alone() -> None:
    first, again = parse(SYSTEM, USER, ANSWER), parse(SYSTEM, USER, ANSWER)
    other = parse(SYSTEM, USER, ANSWER, session_id="other")
    assert first == again
    assert first[0]["event_id"] != other[0]["event_id"]
    longer = parse(SYSTEM, USER, ANSWER, USER, ANSWER)
    assert longer[0]["event_id"] == first[0]["event_id"] != longer[2]["event_id"]


def test_without_a_session_id_equal_items_are_one_session() -> None:
    one, two, three = (
        next(openai_chat.parse([{"messages": messages}], defaults=DEFAULTS))["session_id"]
        for messages in ([USER, ANSWER], [USER, ANSWER], [USER])
    )
    assert one == two != three


def test_a_tool_message_belongs_to_the_nearest_message_that_holds_its_id() -> None:
    late = RESULT | {"content": "late"}
    records = parse(USER, CALLS, RESULT, ANSWER, USER, call("c1"), call("c2"), late)
    first, last, _ = (r for r in of(records, "recursion") if r["action"]["action_type"] != "ANSWER")
    results = of(records, "tool_result")
    assert [(r["trace_id"], r["result"]) for r in results] == [
        (first["trace_id"], "12.50"),
        (last["trace_id"], "late"),
    ]


def test_a_late_result_names_the_task_of_its_call() -> None:
    records = parse(USER, CALLS, USER, RESULT)
    assert of(records, "tool_result")[0]["task_id"] == of(records, "turn")[0]["task_id"]


def test_a_result_without_its_call_is_counted() -> None:
    skipped = Skipped()
    records = parse(USER, RESULT | {"tool_call_id": "unknown"}, ANSWER, skipped=skipped)
    assert of(records, "tool_result") == []
    assert skipped == {"tool message without its call": 1}


def test_ids_that_repeat_within_a_message_are_told_apart_by_index() -> None:
    twice = CALLS | {"tool_calls": [LOOKUP, LOOKUP]}
    results = of(parse(USER, twice, RESULT, RESULT | {"content": "13"}), "tool_result")
    assert [(r["call_index"], r["result"]) for r in results] == [(0, "12.50"), (1, "13")]


def test_the_older_function_call_is_a_call_without_an_id() -> None:
    function = {"name": "price", "arguments": "{}"}
    called = {"role": "assistant", "content": None, "function_call": function}
    answered = {"role": "function", "name": "price", "content": "12.50"}
    _, step, result = parse(USER, called, answered)
    assert step["action"]["output"]["tool_calls"] == [{"type": "function", "function": function}]
    assert (result["call_index"], result["result"]) == (0, "12.50")


@pytest.mark.parametrize(
    ("content", "success"),
    [
        ("Error: no such flight", False), ("error", False), ('"Error: quoted"', False),
        ("KeyError: 'A1'", False), ("Traceback (most recent call last):", False),
        ('{"error": "no such flight"}', False), ('{"error": null, "price": 3}', True),
        ("No error was found", True), ("Errors: 0", True), ("Error-free run", True), ("", True),
    ],
)  # fmt: skip
def test_a_result_that_starts_with_an_error_is_no_success(content: str, success: bool) -> None:
    (result,) = of(parse(USER, CALLS, RESULT | {"content": content}), "tool_result")
    assert result["success"] is success


def test_a_turn_that_is_not_answered_is_done_with_an_empty_answer() -> None:
    first, second = of(parse(USER, USER | {"content": "Anyone?"}), "turn")
    assert (first["agent_answer"], first["status"]) == ("", "done")
    assert second["user_input"] == "Anyone?"
    assert of(parse(USER, CALLS, RESULT), "turn")[0]["agent_answer"] == ""


def test_of_several_answers_the_last_counts_and_the_others_are_kept() -> None:
    turn, first, last = parse(USER, {"role": "assistant", "content": "One moment."}, ANSWER)
    assert turn["agent_answer"] == "It costs 12.50."
    assert first["action"] == {"action_type": "REFLECT", "output": {"answer": "One moment."}}
    assert last["action"]["action_type"] == "ANSWER"


def test_an_agent_that_speaks_first_opens_a_turn_without_input() -> None:
    greeting, _, asked, _ = parse({"role": "assistant", "content": "Hello!"}, USER, ANSWER)
    assert (greeting["user_input"], greeting["agent_answer"]) == ("", "Hello!")
    assert asked["user_input"] == "What does A1 cost?"


def test_max_iteration_leaves_room_for_every_message() -> None:
    assert parse(USER, ANSWER)[1]["max_iteration"] == 10
    assert parse(USER, *[ANSWER] * 20)[1]["max_iteration"] == 21


def test_system_and_developer_messages_are_constraints_of_the_tasks_after_them() -> None:
    developer = {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}
    steps = of(parse(SYSTEM, USER, ANSWER, developer, USER, ANSWER), "recursion")
    assert [step["constraints"] for step in steps] == [
        ["No purchases."],
        ["No purchases.", "Be brief."],
    ]


def test_images_are_never_kept_and_counted_unless_described() -> None:
    bytes_of = "data:image/png;base64," + "iVBORw0KGgo" * 4
    skipped = Skipped()
    parts = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": bytes_of}},
        {"type": "image_url", "image_url": {"url": bytes_of}, "description": "a red door"},
        {"type": "input_audio", "input_audio": {"data": "UklGRg=="}},
        {"type": "text", "text": f"![]({bytes_of})"},
    ]
    (turn,) = parse({"role": "user", "content": parts}, skipped=skipped)
    assert "base64" not in json.dumps(turn)
    assert turn["user_input"] == "Look:\n![]([image])"
    assert turn["image_summaries"] == ["a red door"]
    assert skipped == {"image without a description": 2, "input_audio part": 1}


def test_a_result_that_is_an_object_is_kept_as_json() -> None:
    (result,) = of(parse(USER, CALLS, RESULT | {"content": {"price": 3}}), "tool_result")
    assert result["result"] == '{"price":3}'


def test_a_refusal_is_the_answer() -> None:
    turn, _ = parse(USER, {"role": "assistant", "content": None, "refusal": "I cannot."})
    assert turn["agent_answer"] == "I cannot."


@pytest.mark.parametrize(
    ("item", "field", "reason"),
    [
        ({"messages": [{"role": "robot"}]}, "messages[0].role", "none of"),
        ({"messages": ["hi"]}, "messages[0]", "object"),
        ({"messages": "hi"}, "messages", "array"),
        ({"text": "hi"}, "messages", "array"),
        ({"messages": [], "session_id": "x" * 129}, "session_id", "128"),
        ({"messages": [], "created": "yesterday"}, "created", "RFC 3339"),
        ({"messages": [], "created": 1_700_000_000_000}, "created", "milliseconds"),
        ({"messages": [CALLS | {"tool_calls": ["price"]}]}, "messages[0].tool_calls", "objects"),
        (17, None, "object"),
    ],
)
def test_faults_name_item_field_and_reason(item: Any, field: str | None, reason: str) -> None:
    with pytest.raises(ImportFault) as fault:
        list(openai_chat.parse([{"messages": [USER]}, item], defaults=DEFAULTS))
    assert (fault.value.item, fault.value.field) == (2, field)
    assert reason in fault.value.reason and "item 2" in str(fault.value)


BARE = [USER, ANSWER]
ITEM = {"session_id": "s", "messages": BARE}


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (json.dumps(ITEM), 1), (json.dumps(ITEM, indent=2), 1), (json.dumps(BARE), 1),
        (json.dumps([ITEM, ITEM | {"session_id": "t"}]), 2),
        (json.dumps([BARE, BARE, BARE], indent=1), 3),
        (json.dumps(ITEM) + "\n" + json.dumps(ITEM | {"session_id": "t"}) + "\n", 2),
        (json.dumps(BARE) + "\n\n" + json.dumps(ITEM), 2), ("\ufeff" + json.dumps(ITEM), 1),
        ("[]", 0), ("", 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_json_jsonl_and_bare_arrays_are_read(
    tmp_path: Path, text: str, turns: int, packed: bool
) -> None:
    file = tmp_path / "chat.json"
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert len(of(list(convert("openai-chat", file, defaults=DEFAULTS)), "turn")) == turns


def test_a_damaged_gzip_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps([ITEM] * 100).encode())
    for damaged in (whole[:-12], whole[:20] + b"\xff" * 20 + whole[40:]):
        (tmp_path / "chat.json.gz").write_bytes(damaged)
        with pytest.raises(ImportFault, match="cannot be read"):
            list(convert("openai-chat", tmp_path / "chat.json.gz"))


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(ImportFault, match=r"'slack'.*openai-chat, chatgpt-export, langgraph"):
        convert("slack", "x")
