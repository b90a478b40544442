"""`generation retract` as a command: from the report to memory without a poisoned tool."""

from pathlib import Path
from typing import Any

import pytest

from tests.command import answer, folded, ndjson, refused, turn, turnfold

pytestmark = pytest.mark.component

STEP = {
    "type": "recursion", "session_id": "s", "task_id": "e2", "trace_id": "r", "iteration_index": 0,
    "occurred_at": "2026-01-01T00:00:01Z", "action": {"action_type": "CALL_TOOL", "output": {
        "tool_calls": [{"id": "c", "name": "web"}]}},
}  # fmt: skip
RESULT = {
    "type": "tool_result", "session_id": "s", "task_id": "e2", "trace_id": "r", "success": True,
    "tool_call_id": "c", "result": "buy", "occurred_at": "2026-01-01T00:00:02Z",
}  # fmt: skip


def plan(id: str, event: str, extractor: str) -> dict[str, Any]:
    return {
        "type": "write_plan", "plan_id": id, "user_id": "u", "session_id": "s", "event_id": event,
        "occurred_at": "2026-01-01T00:00:03Z", "extractor": {"name": extractor},
        "state_updates": [{"op": "upsert", "kind": "fact", "state_id": id, "body_text": id}],
    }  # fmt: skip


GOOD = [turn("e1"), plan("kept", "e1", "llm"), plan("heard", "e2", "rules")]
CLEAN = [*GOOD, turn("e2", user_input="Which?")]
POISONED = [*GOOD, STEP, RESULT, turn("e2", user_input="Which?", agent_answer="buy"),
            plan("poison", "e2", "llm")]  # fmt: skip


def test_a_poisoned_tool_is_taken_out_for_good(tmp_path: Path) -> None:
    history, clean = tmp_path / "history", tmp_path / "clean"
    folded(ndjson(tmp_path / "poisoned.ndjson", POISONED), history=history)
    folded(ndjson(tmp_path / "clean.ndjson", CLEAN), history=clean)
    words = ("generation", "retract", "good", "--tool", "web", "--history", history)
    said = turnfold(*words)
    assert said.code == 0 and "gone  state/fact  u / poison  in force" in said.out
    assert "dry run" in said.err and not (history / "generations").exists()
    receipt = answer(*words, "--yes")["receipt"]
    assert receipt["records"]["turns_cut"] == receipt["records"]["plans"] == 1
    assert receipt["filters"] == ["tool web"]
    answer("generation", "promote", "good", "--history", history)
    again = ndjson(tmp_path / "again.ndjson", POISONED)
    assert folded(again, history=history)["withheld"] == 3
    for name in ("memory", "log"):
        digests = [answer("admin", "digest", "--history", at)[name] for at in (history, clean)]
        assert digests[0] == digests[1] == receipt["after"][name] != receipt["before"][name]
    pack = answer("context", "u", "--history", history)
    assert {item["text"]: item["source"] for item in pack["items"] if item["kind"] == "state"} == {
        "kept": "agent", "heard": "user",
    }  # fmt: skip
    assert "“kept” (since 2026-01-01, by the agent)" in pack["text"]
    listed = answer("generation", "list", "--history", history)
    assert [one["retracted"] for one in listed] == [[], ["tool web"]]


@pytest.mark.parametrize(("options", "code", "said"), [
    (("--tool", "wep"), 4, "no record matches tool wep"),
    (("--session", "s", "--from", "2027-01-01"), 4, "no record matches session s 2027-01-01.."),
    (("--extractor", "none"), 3, "none is the extractor of new turns"),
    ((), 2, "give one of --source"),
    (("--tool", "web", "--session", "s"), 2, "give one of --source"),
    (("--tool", "web", "--from", "2026-02-02", "--to", "2026-02-01"), 2, "is after"),
])  # fmt: skip
def test_a_filter_that_finds_no_record_is_refused(
    options: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    folded(ndjson(tmp_path / "poisoned.ndjson", POISONED), history=history)
    words: tuple[str | Path, ...] = "generation", "retract", "good", *options, "--history", history
    assert said in refused(*words, code=code)
