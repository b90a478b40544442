"""The real data as records: every one valid, and as many as the raw files say."""

import gzip
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.base import JsonObject, parse_time
from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.importers.base import Skipped
from streams.importers.convert import convert
from tests import shared_data
from tests.acceptance import ledger, reflexion, sgd, tau_bench
from tests.shared_data import shared

pytestmark = pytest.mark.nightly

TAU = ("data", "tau_bench", "gpt-4o-airline_tasks_0-29.json.gz")
REFLEXION = ("data", "reflexion", "hotpotqa_react_reflexion_trials_1-2.txt.gz")
SGD = ("data", "sgd", "train_part.jsonl.gz")
LEDGER = ("data", "corrections", "ledger.json")


def check(record: JsonObject) -> None:
    """Valid, and without a field that no model knows."""
    model = RECORD_TYPES[record["type"]].model_validate(upcast(dict(record)))
    assert model.model_extra == {}, record


def kinds(records: list[JsonObject]) -> Counter[str]:
    """Records by type, recursions by their action."""
    return Counter(r["action"]["action_type"] if "action" in r else r["type"] for r in records)


def of_session(records: list[JsonObject]) -> dict[str, list[JsonObject]]:
    found: dict[str, list[JsonObject]] = {}
    for record in records:
        found.setdefault(record["session_id"], []).append(record)
    return found


def test_a_clone_without_the_data_skips_and_one_that_lacks_a_part_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_data, "ROOT", tmp_path / "turnfold")
    with pytest.raises(pytest.skip.Exception, match="not beside the project"):
        shared("data", "absent")
    (tmp_path / "shared").mkdir()
    with pytest.raises(pytest.fail.Exception, match="data/absent"):
        shared("data", "absent")


# --- tau-bench ---------------------------------------------------------------------------------


def test_each_tau_bench_run_has_the_records_its_messages_call_for() -> None:
    path = shared(*TAU)
    skipped = Skipped()
    sessions = of_session(list(tau_bench.records(path, skipped)))
    assert len(sessions) == 120 and not skipped
    for run in tau_bench.runs(path):
        records = sessions[tau_bench.session_id(run)]
        failed = sum(r["success"] is False for r in records if r["type"] == "tool_result")
        kind = kinds(records)
        made = (kind["turn"], kind["ANSWER"], kind["CALL_TOOL"], kind["tool_result"], failed)
        assert made == tuple(tau_bench.counts(run))


def test_tau_bench_records_are_valid_and_results_name_the_call_just_made() -> None:
    called: JsonObject = {}
    for record in tau_bench.records(shared(*TAU)):
        check(record)
        if record["type"] == "recursion":
            called = record
        elif record["type"] == "tool_result":  # in this data a result follows its call at once
            assert record["trace_id"] == called["trace_id"]
            assert record["tool_call_id"] == called["action"]["output"]["tool_calls"][0]["id"]


def test_a_tau_bench_file_is_read_as_it_is() -> None:
    path = shared(*TAU)
    direct = list(convert("openai-chat", path))
    assert kinds(direct) == kinds(list(tau_bench.records(path)))
    assert len({record["session_id"] for record in direct}) == 120


# --- reflexion ---------------------------------------------------------------------------------


def raw_reflexion() -> str:
    return gzip.decompress(shared(*REFLEXION).read_bytes()).decode()


def test_reflexion_runs_are_those_the_file_sums_up() -> None:
    summed = re.findall(r"Correct: (\d+), Incorrect: (\d+), Halted: (\d+)", raw_reflexion())
    found = Counter((run.trial, run.outcome) for run in reflexion.runs(shared(*REFLEXION)))
    assert found == {
        (trial, outcome): int(count)
        for trial, counts in enumerate(summed, 1)
        for outcome, count in zip(("correct", "incorrect", "halted"), counts, strict=True)
    }


def test_reflexion_records_are_as_many_as_the_lines_that_call_for_them() -> None:
    text = raw_reflexion()
    records = list(reflexion.records(shared(*REFLEXION)))
    for record in records:
        check(record)
    tools = len(re.findall(r"^Action \d+: (?:Search|Lookup)\[", text, re.MULTILINE))
    assert kinds(records) == {
        "turn": len(re.findall(r"^Question:", text, re.MULTILINE)),
        "CALL_TOOL": tools,
        "tool_result": tools,
        "ANSWER": len(re.findall(r"^Action \d+: Finish\[", text, re.MULTILINE)),
        "REFLECT": len(re.findall(r"^- ", text, re.MULTILINE)),
    }
    assert len({record["session_id"] for record in records}) == 100


def test_reflexion_outcomes_are_answers_errors_and_forced_stops() -> None:
    tasks: dict[str, list[JsonObject]] = {}
    for record in reflexion.records(shared(*REFLEXION)):
        if record["type"] == "recursion":
            tasks.setdefault(record["task_id"], []).append(record)
    ends: Counter[str] = Counter()
    for steps in tasks.values():
        last, most = steps[-1], steps[0]["max_iteration"]
        answered = last["action"]["action_type"] == "ANSWER"
        failed = last.get("status") == "error" and last["final"]
        if not answered:
            assert len(steps) == most
        ends["halted" if not answered else "incorrect" if failed else "correct"] += 1
        assert [step["iteration_index"] for step in steps] == list(range(1, len(steps) + 1))
    text = raw_reflexion()
    right, wrong = (text.count(f": Answer is {word}\n") for word in ("CORRECT", "INCORRECT"))
    assert ends == {"correct": right, "incorrect": wrong, "halted": len(tasks) - right - wrong}


# --- SGD ---------------------------------------------------------------------------------------


def test_sgd_turns_are_the_user_utterances_and_valid() -> None:
    path = shared(*SGD)
    asked = [
        (dialogue["dialogue_id"], turn["utterance"])
        for dialogue in sgd.dialogues(path)
        for turn in dialogue["turns"]
        if turn["speaker"] == "USER"
    ]
    records = list(sgd.records(path))
    assert [(r["session_id"], r["user_input"]) for r in records] == asked
    for record in records[::50]:
        check(record)


def test_sgd_context_is_that_of_the_turns() -> None:
    path = shared(*SGD)
    sessions = of_session(list(sgd.records(path)))
    for dialogue in sgd.dialogues(path):
        turns = sessions[dialogue["dialogue_id"]]
        assert sgd.expected_context(dialogue) == {
            "current_topic": turns[-1]["topic"],
            "recent_intents": [t["intent"] for t in turns if "intent" in t][-10:],
            "last_user_message": turns[-1]["user_input"],
        }


def test_sgd_repetitions_are_new_events_of_the_same_users(tmp_path: Path) -> None:
    path, out = shared(*SGD), tmp_path / "sgd.ndjson"
    count = sgd.write(path, out, repeat=2, users=7)
    turns = [msgspec.json.decode(line) for line in out.read_bytes().splitlines()]
    assert len(turns) == count == 2 * len(list(sgd.records(path)))
    assert len({turn["event_id"] for turn in turns}) == count
    assert {turn["user_id"] for turn in turns} == {f"user-{index}" for index in range(7)}
    assert turns[count // 2]["session_id"] == f"{turns[0]['session_id']}-r1"
    assert parse_time(turns[0]["occurred_at"]) < parse_time(turns[count // 2]["occurred_at"])


# --- the ledger --------------------------------------------------------------------------------


def test_the_ledger_is_95_turns_and_a_plan_for_each_entry() -> None:
    path = shared(*LEDGER)
    raw = ledger.ledger(path)
    records = list(ledger.records(path))
    for record in records:
        check(record)
    assert kinds(records) == {"turn": 95, "write_plan": len(raw["ledger"])}
    times = [parse_time(record["occurred_at"]) for record in records]
    assert times == sorted(times)
    felt = [record["affect"]["labels"][0] for record in records if "affect" in record]
    assert felt == [mood for mood in raw["mood_by_session"].values() if mood]


def test_each_plan_rests_on_a_turn_of_its_date_that_says_the_value() -> None:
    path = shared(*LEDGER)
    records = list(ledger.records(path))
    turns: dict[str, JsonObject] = {r["event_id"]: r for r in records if r["type"] == "turn"}
    plans = [record for record in records if record["type"] == "write_plan"]
    for entry, plan in zip(ledger.ledger(path)["ledger"], plans, strict=True):
        (update,) = plan["state_updates"]
        turn = turns[plan["event_id"]]
        assert update["evidence_event_ids"] == [plan["event_id"]]
        assert turn["occurred_at"].startswith(entry["date"])
        assert entry["value"] in turn["user_input"]
        assert (entry["replaces"] or "") in turn["user_input"]


@pytest.mark.parametrize(
    ("day", "key", "value"),
    [
        ("2026-02-06", "P05", "毎日30分の英語学習"),
        ("2026-02-15", "P05", "毎日30分の英語学習"),
        ("2026-02-16", "P05", "毎日45分の英語学習"),
        ("2026-05-07", "P05", "毎日20分の英語学習"),
        ("2026-02-10", "S01", None),
        ("2026-04-16", "P01", "ヒロ"),
        ("2026-04-17", "P01", "ヒロさん"),
    ],
)
def test_truth_of_a_date(day: str, key: str, value: Any) -> None:
    held = ledger.truth(shared(*LEDGER))
    assert len(held) == 91
    assert held[date.fromisoformat(day)].get(key) == value
