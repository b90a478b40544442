"""120 agent runs through the importer and the runner, against a count of the raw messages."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from sinks.digest import digest
from tests.acceptance import tau_bench
from tests.command import folded, rows, turnfold
from tests.conftest import TAU
from tests.shared_data import shared

pytestmark = pytest.mark.nightly


class Call(NamedTuple):
    """A tool call as the raw file has it, and what came of it."""

    id: str
    name: str
    result: str
    success: bool


class Attempt(NamedTuple):
    """What the agent did between two user messages."""

    asked: str
    iterations: int
    status: str
    answer: str
    calls: tuple[Call, ...]


def attempts(messages: list[dict[str, Any]]) -> list[Attempt]:
    """The run cut at its user messages; a part without an assistant message makes no task."""
    starts = [n for n, message in enumerate(messages) if message["role"] == "user"]
    parts = [messages[a:b] for a, b in zip(starts, [*starts[1:], len(messages)], strict=True)]
    return [_attempt(part) for part in parts if any(m["role"] == "assistant" for m in part)]


def _attempt(part: list[dict[str, Any]]) -> Attempt:
    assistants = [message for message in part if message["role"] == "assistant"]
    last = assistants[-1]
    answered = not last.get("tool_calls")
    return Attempt(
        part[0]["content"],
        len(assistants),
        "completed" if answered else "running",
        last["content"] if answered else "",
        tuple(_calls(part)),
    )


def _calls(part: list[dict[str, Any]]) -> list[Call]:
    """Each call with the next tool message that names it."""
    made = []
    for number, message in enumerate(part):
        for call in message.get("tool_calls") or ():
            result = next(
                one["content"]
                for one in part[number + 1 :]
                if one["role"] == "tool" and one["tool_call_id"] == call["id"]
            )
            success = not result.startswith("Error")
            made.append(Call(call["id"], call["function"]["name"], result, success))
    return made


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory, tau_items: Path) -> Path:
    """`records.ndjson` as the import command writes it, and its `history`."""
    folder = tmp_path_factory.mktemp("tau")
    done = turnfold("import", "openai-chat", tau_items / "items.jsonl")
    assert done.code == 0, done.err
    (folder / "records.ndjson").write_text(done.out)
    counts = folded(folder / "records.ndjson", history=folder / "history")
    assert counts["applied"] == counts["read"] == len(done.out.splitlines())
    return folder


def documents(history: Path) -> dict[str, list[dict[str, Any]]]:
    """session -> its tasks' documents in the order of their first turn."""
    sql = (
        "SELECT t.session_id, t.doc FROM task_current t JOIN event_current e "
        "ON e.session_id = t.session_id AND coalesce(e.task_id, e.event_id) = t.task_id "
        "ORDER BY e.occurred_at, e.event_id"
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for session_id, doc in rows(history, sql):
        found.setdefault(session_id, []).append(msgspec.json.decode(doc))
    return found


def seen(document: dict[str, Any], asked: str) -> Attempt:
    """A task's document as an attempt."""
    history = document["recursion_history"]
    actions = [one["action"] for one in history]
    last = actions[-1]
    return Attempt(
        asked,
        document["global"]["iteration"],
        document["global"]["status"],
        last["output"]["answer"] if last["action_type"] == "ANSWER" else "",
        tuple(
            Call(call["id"], call["function"]["name"], call["result"], call["success"])
            for action in actions
            for call in action["output"].get("tool_calls") or ()
        ),
    )


def test_every_call_result_iteration_and_end_is_as_in_the_raw_file(imported: Path) -> None:
    runs = tau_bench.runs(shared(*TAU))
    assert len(runs) == 120
    found = documents(imported / "history")
    calls = 0
    for run in runs:
        expected = attempts(run["traj"])
        made = found[tau_bench.session_id(run)]
        asked = [attempt.asked for attempt in expected]
        assert [seen(*one) for one in zip(made, asked, strict=True)] == expected
        assert all(document["older_recursions"] == 0 for document in made)
        calls += sum(len(attempt.calls) for attempt in expected)
    assert calls == sum(tau_bench.counts(run).results for run in runs) > 500


def test_no_task_ran_past_its_limit_and_none_was_forced(imported: Path) -> None:
    sql = "SELECT count(*), count(*) FILTER (forced), max(iteration - max_iteration) FROM tasks"
    count, forced, over = rows(imported / "history", sql)[0]
    assert count > 0 and forced == 0 and over <= 0


def test_the_answers_stand_in_the_conversations(imported: Path) -> None:
    sql = "SELECT session_id, doc FROM session_current"
    sessions = {key: msgspec.json.decode(doc) for key, doc in rows(imported / "history", sql)}
    assert len(sessions) == 120
    for run in tau_bench.runs(shared(*TAU)):
        document = sessions[tau_bench.session_id(run)]
        expected = attempts(run["traj"])
        made = [one for one in document["conversations"] if one["agent_answer"]]
        answered = [one for one in expected if one.answer][-len(made) :]
        assert [(one["user_input"], one["agent_answer"]) for one in made] == [
            (one.asked, one.answer) for one in answered
        ]


def test_guarantee_2_the_same_runs_again_change_nothing(imported: Path, tau_items: Path) -> None:
    history = imported / "history"
    before = digest(history)
    again = folded(imported / "records.ndjson", history=history)
    assert (again["read"], again["applied"]) == (0, 0)
    other = imported / "other.ndjson"
    other.write_text(turnfold("import", "openai-chat", tau_items / "items.jsonl").out)
    counts = folded(other, history=history)
    assert counts["read"] == counts["duplicate"] > 3000
    assert digest(history) == before
