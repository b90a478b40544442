"""What the model is shown of a turn and of its user, and what its plan does to the rules' plans."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sinks.generation import generation_path as generation
from streams.extractors.registry import named
from streams.files import file_runner
from streams.llm.prompted_memory import choose
from streams.serving.extract_history import extract
from tests.command import checked, environment, ndjson, rows, turn, turnfold
from tests.llm.endpoint import Endpoint, Request, completion, whole
from tests.llm.endpoint import Reply as Answer

Start = Callable[..., Endpoint]
Folded = Callable[[list[dict[str, Any]]], Path]


def state(number: int, text: str) -> dict[str, Any]:
    return {
        "state_id": f"s{number}", "kind": "fact", "body_text": text, "confidence": 0.9,
        "valid_from": "2026-01-01T00:00:00Z", "status": "active",
        "last_confirmed_at": "2026-01-01T00:00:00Z",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I sold my bicycle yesterday", "Owns a red bicycle."),
        ("We booked the flights to Lisbon", "Is flying to Lisbon in May."),
        ("昨天我把自行车卖了", "用户有一辆自行车。"),
    ],
)
def test_of_many_states_the_one_that_a_turn_is_about_is_shown(said: str, wanted: str) -> None:
    others = [state(n, f"Has told the story number {n} of the time at sea.") for n in range(200)]
    known = choose({"states": [*others, state(900, wanted)]}, said, 6, 12_000)
    assert wanted in [row["body_text"] for row in known.shown["states"]]


def test_results_of_tools_are_shown_with_their_turn(endpoint: Start, folded: Folded) -> None:
    loop = {"type": "recursion", "session_id": "s", "task_id": "t1", "trace_id": "r1",
            "iteration_index": 0, "occurred_at": "2026-01-01T00:00:01Z",
            "action": {"action_type": "CALL_TOOL",
                       "output": {"tool_calls": [{"id": "c1", "name": "hotels"}]}}}  # fmt: skip
    result = {"type": "tool_result", "session_id": "s", "task_id": "t1", "trace_id": "r1",
              "tool_call_id": "c1", "occurred_at": "2026-01-01T00:00:02Z", "success": True,
              "result": [{"hotel": "Aurora", "rooms": 3}]}  # fmt: skip
    history = folded(
        [
            turn("e1", user_input="Find me a hotel", task_id="t1"),
            loop,
            result,
            turn("e2", user_input="The first one, please", occurred_at="2026-01-01T00:05:00Z",
                 task_id="t2"),
        ]
    )  # fmt: skip
    asked = endpoint()
    extract(history, asked.settings(idle_seconds=3600))
    first, second = asked.requests[0].data["turns"]
    assert [json.loads(one) for one in first["tool_results"]] == [[{"hotel": "Aurora", "rooms": 3}]]
    assert "tool_results" not in second


def test_relative_dates_are_resolved_for_the_model_and_in_what_it_says(
    endpoint: Start, folded: Folded
) -> None:
    """The turn is of Thursday, 2026-01-01."""
    history = folded([turn("e1", user_input="fact: ran a marathon last Friday")])
    asked = endpoint()
    extract(history, asked.settings())
    (date,) = asked.requests[0].data["turns"][0]["dates"]
    assert date["said"].lower().endswith("last friday")
    assert (date["from"], date["to"]) == ("2025-12-26T00:00:00Z", "2025-12-27T00:00:00Z")
    ((payload,),) = rows(history, "SELECT payload FROM state_current")
    assert json.loads(payload) == {
        "about_start": "2025-12-26T00:00:00Z", "about_end": "2025-12-27T00:00:00Z",
    }  # fmt: skip


def by_rules(tmp_path: Path, records: list[dict[str, Any]]) -> Path:
    file = ndjson(tmp_path / "turns.ndjson", records)
    checked(file_runner.run([str(file)], tmp_path / "history", choose=lambda: named("rules")))
    return tmp_path / "history"


HOME = "I live in Porto. I love green tea."


def better(request: Request) -> Answer:
    """A model that finds more in the same turn."""
    events = [one["event_id"] for one in request.data["turns"] if one["user_input"] == HOME]
    update = {"kind": "fact", "body_text": "Lives in Porto, Portugal.", "confidence": 0.9,
              "evidence_event_ids": events}  # fmt: skip
    return completion(whole(states=[update] if events else []))


def test_the_models_plan_replaces_what_rules_made_of_the_same_turn(
    endpoint: Start, tmp_path: Path
) -> None:
    later = turn("e2", user_input="My cat is called Olive.", occurred_at="2026-02-01T00:00:00Z",
                 session_id="s2")  # fmt: skip
    history = by_rules(tmp_path, [turn("e1", user_input=HOME), later])
    standing = "SELECT body_text FROM state_current WHERE status = 'active' ORDER BY 1"
    assert rows(history, standing) == [("Has a cat called Olive.",), ("Lives in Porto.",)]
    asked = endpoint(better)
    assert extract(history, asked.settings())["failed"] == 0
    assert rows(history, standing) == [("Lives in Porto, Portugal.",)]
    assert rows(history, "SELECT DISTINCT status FROM preference_current") == [("revoked",)]
    shown = [[one["body_text"] for one in request.data["states"]] for request in asked.requests]
    assert shown == [[], ["Lives in Porto, Portugal."]] or shown == [[], []]
    never = "SELECT count(*) FROM state_as_of('2026-01-15T00:00:00Z'::TIMESTAMPTZ, NULL)"
    assert rows(history, never) == [(1,)], "what was replaced was never so"
    assert rows(history, "SELECT count(*) FROM dead_letters") == [(0,)]


def test_what_was_confirmed_since_by_another_stays(endpoint: Start, tmp_path: Path) -> None:
    history = by_rules(tmp_path, [turn("e1", user_input="I live in Porto.")])
    ((name,),) = rows(history, "SELECT state_id FROM state_current")
    update = {"kind": "fact", "state_id": name, "body_text": "Lives in Porto, near the river."}
    fixed = {"type": "write_plan", "plan_id": "by-hand", "user_id": "u",
             "occurred_at": "2026-01-02T00:00:00Z", "extractor": {"name": "hand"},
             "state_updates": [update]}  # fmt: skip
    file = ndjson(tmp_path / "more.ndjson", [fixed])
    checked(file_runner.run([str(file)], history))
    extract(history, endpoint().settings())
    said = rows(history, "SELECT body_text, status FROM state_current")
    assert said == [("Lives in Porto, near the river.", "active")]


def test_a_plan_that_replaces_is_not_refused_where_the_rules_found_nothing(
    endpoint: Start, tmp_path: Path
) -> None:
    """As in a generation that is made under another version of the rules."""
    history = by_rules(tmp_path, [turn("e1", user_input=HOME)])
    extract(history, endpoint(better).settings())
    done = turnfold("generation", "create", "--history", history, "bare", "--extractor", "none")
    assert done.code == 0, done.err
    made = generation(history, "bare")
    assert rows(made, "SELECT extractor_name FROM plans") == [("llm/test",)]
    assert rows(made, "SELECT count(*) FROM dead_letters") == [(0,)]


def test_a_run_with_a_model_has_the_rules_first(endpoint: Start, tmp_path: Path) -> None:
    file = ndjson(tmp_path / "turns.ndjson", [turn("e1", user_input=HOME)])
    env = environment(TURNFOLD_LLM_BASE_URL=endpoint(better).url, TURNFOLD_LLM_MODEL="test")
    done = turnfold("run", file, "--history", tmp_path / "h", "--extractor", "llm", env=env)
    assert done.code == 0, done.err
    made = rows(tmp_path / "h", "SELECT extractor_name FROM plans ORDER BY recorded_at, plan_id")
    assert sorted(made) == [("llm/test",), ("rules",)]
    standing = "SELECT body_text FROM state_current WHERE status = 'active'"
    assert rows(tmp_path / "h", standing) == [("Lives in Porto, Portugal.",)]


def test_where_no_request_can_be_used_it_is_said_why(endpoint: Start, folded: Folded) -> None:
    history = folded([turn("e1", user_input="fact: one")])
    url = endpoint(lambda _: completion("", refusal="I cannot help with that.")).url
    env = environment(TURNFOLD_LLM_BASE_URL=url, TURNFOLD_LLM_MODEL="test")
    done = turnfold("admin", "extract", "--history", history, env=env)
    assert done.code == 1
    assert "1 requests (all) failed: the model refused: I cannot help with that." in done.err


def test_what_the_model_says_as_rules_said_it_keeps_their_state(
    endpoint: Start, tmp_path: Path
) -> None:
    """With its id and what they know of it; what they found beside it in the turn is replaced."""
    history = by_rules(tmp_path, [turn("e1", user_input="I live in Porto. I have two kids.")])
    found = "SELECT state_id, \"payload\" ->> '$.family' FROM state_current WHERE body_text = "
    home = rows(history, f"{found} 'Lives in Porto.'")
    assert home[0][1] == "home"

    def repeats(request: Request) -> Answer:
        update = {"kind": "fact", "body_text": "lives in Porto", "confidence": 0.7,
                  "evidence_event_ids": ["e1"]}  # fmt: skip
        return completion(whole(states=[update]))

    assert extract(history, endpoint(repeats).settings())["failed"] == 0
    standing = "SELECT state_id, confidence FROM state_current WHERE status = 'active'"
    assert rows(history, f"{standing} AND lower(body_text) LIKE 'lives in%'") == [(home[0][0], 0.7)]
    assert rows(history, f"{found} 'lives in Porto'") == home, "it can still be ended by family"
    closed = "SELECT body_text FROM state_current WHERE status = 'closed'"
    assert [text for (text,) in rows(history, closed)] == ["Has two kids."]
