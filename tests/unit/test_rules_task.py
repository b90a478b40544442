"""The rules of a task, one short test each (docs/rules.md, Tasks).

A recursion's place is its `iteration_index`; it came as many hours after `START`, unless told.
"""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from schemas.base import format_time
from schemas.task import TaskDocument
from streams.files.fold_batch import Applier
from streams.files.store import Store
from streams.folds import documents, task
from streams.folds.constants import Rules
from tests.property.world import COLUMNS
from tests.unit.session_told import Json, Told, encode, micros, turn


def step(
    at: int,
    action: str = "REFLECT",
    output: Json | None = None,
    hours: float | None = None,
    **f: Any,
) -> Json:
    """A recursion that says something else than the others, unless its output is given."""
    return {
        "type": "recursion", "session_id": "s", "task_id": "k", "trace_id": f"r{at:03}",
        "iteration_index": at, "occurred_at": format_time(micros(at if hours is None else hours)),
        "action": {"action_type": action, "output": {"n": at} if output is None else output}, **f,
    }  # fmt: skip


def calls(at: int, *ids: str, **fields: Any) -> Json:
    """A recursion that calls a tool for each id."""
    made = [{"id": one, "name": "search", "arguments": {}} for one in ids]
    return step(at, "CALL_TOOL", {"tool_calls": made}, **fields)


def result(at: int, call: str | int, text: Any = "42", hours: float = 50, **fields: Any) -> Json:
    """A tool's answer to a call of recursion `at`, by the call's id or its index."""
    return {
        "type": "tool_result", "session_id": "s", "task_id": "k", "trace_id": f"r{at:03}",
        "occurred_at": format_time(micros(hours)), "result": text, "success": True,
        "tool_call_id" if isinstance(call, str) else "call_index": call, **fields,
    }  # fmt: skip


def replan(at: int, *steps: str | tuple[str, str], **fields: Any) -> Json:
    """A RE_PLAN; a step is its id, or its id and status."""
    pairs = [(one, None) if isinstance(one, str) else one for one in steps]
    plan = [{"step_id": one, **({"status": how} if how else {})} for one, how in pairs]
    return step(at, "RE_PLAN", {"plan": plan}, **fields)


def failed(at: int, **fields: Any) -> Json:
    return step(at, status="error", error="lost", **fields)


def document(told: Told) -> Json:
    made = task.document(told.rows, Rules(), "k", documents.latest_turn(told.rows, Rules()))
    TaskDocument.model_validate(made)
    return made


def task_of(*records: Json) -> Json:
    return document(Told(*records))


def stands(*records: Json) -> tuple[str, int]:
    """Status and iteration."""
    made = task_of(*records)["global"]
    return made["status"], made["iteration"]


def ids(recursions: list[Json]) -> list[int]:
    return [one["iteration_index"] for one in recursions]


def plan_of(made: Json) -> dict[str, tuple[str, list[int]]]:
    """step_id -> its status and the places of its recursions."""
    plan = made["context"]["plan"]
    return {one["step_id"]: (one["status"], ids(one["recursion_history"])) for one in plan}


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        pytest.param(step(1), ("running", 2), id="any other recursion: running"),
        pytest.param(step(1, "ANSWER"), ("completed", 2), id="ANSWER done: completed"),
        pytest.param(step(1, "ANSWER", status="running"), ("running", 1), id="not yet done"),
        pytest.param(failed(1, final=True), ("failed", 2), id="a final error: failed"),
        pytest.param(failed(1), ("running", 2), id="an error that is not final: running"),
        pytest.param(step(1, "CLARIFY"), ("waiting_input", 2), id="CLARIFY done: waiting_input"),
        pytest.param(step(1, "CLARIFY", status="error"), ("running", 2), id="CLARIFY failed"),
    ],
)
def test_the_status_follows_from_the_recursions(last: Json, expected: tuple[str, int]) -> None:
    assert stands(step(0), last) == expected


@pytest.mark.parametrize(
    ("loser", "winner"),
    [
        pytest.param(step(0, status="running", hours=9, thought="a"), step(0, thought="b"),
                     id="ended beats running"),
        pytest.param(step(0, hours=1, thought="b"), step(0, hours=2, thought="a"), id="then later"),
        pytest.param(step(0, thought="a"), step(0, thought="b"), id="then the greater JSON"),
    ],
)  # fmt: skip
def test_of_two_versions_one_stands_in_either_order(loser: Json, winner: Json) -> None:
    told, other = Told(loser, winner), Told(winner, loser)
    counts = loser["occurred_at"] != winner["occurred_at"]  # its time does: so it is stored
    assert told.outcomes == ["applied", "applied"]
    assert other.outcomes == ["applied", "applied" if counts else "duplicate"]
    assert other.say(loser).outcomes[-1] == "duplicate"
    assert document(told) == document(other)
    (shown,) = document(told)["recursion_history"]
    assert shown["thought"] == winner["thought"]
    assert document(told)["global"]["iteration"] == 1


def test_the_later_version_of_a_tool_result_stands_in_either_order() -> None:
    old, new = result(0, "c", "old", hours=1), result(0, "c", "new", hours=2)
    for first, second in ((old, new), (new, old)):
        (shown,) = task_of(calls(0, "c"), first, second)["recursion_history"]
        assert shown["action"]["output"]["tool_calls"][0]["result"] == "new"
    assert Told(calls(0, "c"), new, old).outcomes == ["applied", "applied", "duplicate"]
    assert Told(new, old).outcomes == ["applied", "applied"], "there is nothing else to date it"


def test_an_unknown_step_is_a_counted_warning_and_the_recursion_stands_at_the_top() -> None:
    told = Told(replan(0, "x"), step(1, step_id="lost"))
    assert told.warnings == ["unknown_step"]
    assert ids(document(told)["recursion_history"]) == [0, 1]


def test_a_plan_has_at_most_100_steps() -> None:
    assert len(plan_of(task_of(replan(0, *(f"x{n}" for n in range(120)))))) == 100


@pytest.mark.parametrize(
    ("between", "status"),
    [([failed(3, step_id="x")], "error"), ([], "running"), ([step(3, step_id="x")], "running"),
     ([step(3), failed(4, step_id="x")], "error")],
)  # fmt: skip
def test_three_errors_in_a_row_make_a_step_error(between: list[Json], status: str) -> None:
    errors = [failed(at, step_id="x") for at in (1, 2)]
    assert plan_of(task_of(replan(0, "x"), *errors, *between))["x"][0] == status


def test_a_done_between_begins_the_row_of_errors_again() -> None:
    errors = [failed(at, step_id="x") for at in (1, 2, 4)]
    assert plan_of(task_of(replan(0, "x"), *errors, step(3, step_id="x")))["x"][0] == "running"


@pytest.mark.parametrize(
    ("later", "status"), [("x", "error"), (("x", "running"), "running"), (("x", "done"), "done")]
)
def test_a_later_plan_may_undo_the_error(later: Any, status: str) -> None:
    errors = [failed(at, step_id="x") for at in (1, 2, 3)]
    assert plan_of(task_of(replan(0, "x"), *errors, replan(4, later)))["x"][0] == status


def test_what_a_plan_undid_stays_undone_when_the_next_one_is_silent() -> None:
    errors = [failed(at, step_id="x") for at in (1, 2, 3)]
    made = task_of(replan(0, "x"), *errors, replan(4, ("x", "running")), replan(5, "x"))
    assert plan_of(made)["x"][0] == "running"


def test_short_term_memory_keeps_the_newest_50() -> None:
    appended = [f"m{n}" for n in range(59)]
    made = task_of(step(1, short_term_memory_append=appended[1:]),
                   step(0, short_term_memory_append=appended[0]),
                   step(2, short_term_memory_append="last"))  # fmt: skip
    memories = made["context"]["memory"]["short_term"]
    assert [one["memory"] for one in memories] == [*appended[-49:], "last"]
    assert (memories[0]["trace_id"], memories[-1]["trace_id"]) == ("r001", "r002")


def test_the_recursion_that_reaches_max_iteration_stops_the_task() -> None:
    made = task_of(*(step(at) for at in range(10)))["global"]
    assert (made["status"], made["forced"], made["iteration"]) == ("failed", True, 10)
    assert (made["error"], made["max_iteration"]) == ("max_iteration reached", 10)
    assert stands(*(step(at) for at in range(9))) == ("running", 9)


ASKED_AT_THE_LIMIT = [step(0, max_iteration=2), step(1, "CLARIFY")]


@pytest.mark.parametrize("answered_at", [2, 3, 5])
def test_a_question_at_a_limit_that_was_raised_is_answered_though_another_one_waits(
    answered_at: int,
) -> None:
    """Whichever turn is later than the question at the limit, in any order of arrival."""
    again = [step(2, max_iteration=9, short_term_memory_append="m"), step(3, "CLARIFY")]
    records = [*ASKED_AT_THE_LIMIT, *again, turn("e", answered_at)]
    wanted = task_of(*ASKED_AT_THE_LIMIT, turn("e", answered_at))
    for arrived in permutations(records):
        made = task_of(*arrived)
        wanted["global"]["updated_at"] = made["global"]["updated_at"]  # of all that came
        assert made == wanted


def test_recursions_after_the_end_stay_outside_and_are_counted() -> None:
    told = Told(step(0, "ANSWER"), replan(1, "x"), step(2, short_term_memory_append="m"))
    assert told.warnings == ["recursion_after_end"] * 2
    assert document(told)["recursion_history"] == task_of(step(0, "ANSWER"))["recursion_history"]
    assert document(told)["context"] == task_of(step(0, "ANSWER"))["context"]
    assert document(told)["global"]["iteration"] == 1


def test_at_most_64_results_wait() -> None:
    told = Told(*(result(n, "c") for n in range(65)))
    assert told.outcomes == ["applied"] * 64 + ["too_many_waiting_results"]
    assert told.say(calls(0, "c"), result(64, "c")).outcomes[-2:] == ["applied", "applied"]


@pytest.mark.parametrize("call", ["unknown", 1])
def test_a_result_that_fits_no_call_of_an_ended_recursion_is_a_dead_letter(call: str | int) -> None:
    assert Told(calls(0, "c"), result(0, call)).outcomes == ["applied", "unmatched_tool_result"]


def test_a_result_for_a_running_recursion_waits_until_it_has_ended() -> None:
    told = Told(calls(0, "c", status="running"), result(0, 1))
    assert (told.outcomes, told.dead) == (["applied", "applied"], [])
    assert told.say(calls(0, "c")).dead == ["unmatched_tool_result"]


@pytest.mark.parametrize("result_first", [False, True])
def test_a_result_that_fits_nothing_counts_as_dead_in_either_order(
    tmp_path: Path, result_first: bool
) -> None:
    records = [calls(0, "c"), result(0, "unknown")]
    records = records[::-1] if result_first else records
    applier = Applier(Store(tmp_path / "store"), Rules())
    applier.apply([(encode(one), ("test", 0, at)) for at, one in enumerate(records, 1)])
    counts = applier.counts
    later = int(result_first)  # what it was counted as stays
    assert (counts["read"], counts["applied"], counts["dead"]) == (2, 1 + later, 1 - later)
    assert (counts["waiting"], counts["late"]) == (later, later)
    (buried,) = applier.take_rows()["dead_letters"]
    assert (buried[0], json.loads(buried[2])["tool_call_id"]) == (
        "unmatched_tool_result",
        "unknown",
    )
    place = COLUMNS["dead_letters"].index("src_topic")
    assert buried[place : place + 3] == ("test", 0, records.index(result(0, "unknown")) + 1)


def test_a_result_whose_call_a_later_version_drops_is_dead_in_either_order() -> None:
    first, second, given = calls(0, "c", hours=1), calls(0, hours=2), result(0, "c")
    told, other = Told(first, given, second), Told(first, second, given)
    dead = [len(one.dead) + one.outcomes.count("unmatched_tool_result") for one in (told, other)]
    assert dead == [1, 1]


def stalled(*records: Json) -> tuple[bool, int]:
    made = task_of(*records)["global"]
    return made["stalled"], made["stalled_count"]


@pytest.mark.parametrize(("times", "expected"), [(2, (False, 0)), (3, (True, 3)), (5, (True, 5))])
def test_three_equal_recursions_in_a_row_stall(times: int, expected: tuple[bool, int]) -> None:
    assert stalled(*(step(at, output={"same": 1}) for at in range(times))) == expected


def test_call_ids_and_results_are_left_aside() -> None:
    results = [result(at, f"c{at}", f"answer {at}") for at in range(3)]
    assert stalled(*(calls(at, f"c{at}") for at in range(3)), *results) == (True, 3)


@pytest.fixture(scope="module")
def long() -> list[Json]:
    plan = [{"step_id": "x"}]
    return [step(at, max_iteration=1000, plan=plan, step_id="x") for at in range(205)]


@pytest.mark.beyond_reference
def test_200_recursions_are_kept_whole_and_the_older_counted(long: list[Json]) -> None:
    made = task_of(*long)
    assert made["older_recursions"] == 5
    assert plan_of(made) == {"x": ("running", list(range(5, 205)))}
    assert (made["global"]["iteration"], made["global"]["status"]) == (205, "running")


@pytest.mark.beyond_reference
def test_a_version_of_an_older_recursion_changes_nothing(long: list[Json]) -> None:
    told = Told(*long)
    before = document(told)
    told.say(long[0], long[1] | {"thought": "late"})
    assert told.outcomes[-2:] == ["duplicate", "applied"]
    assert told.warnings[-1:] == ["recursion_before_window"]
    assert document(told) == before


@pytest.mark.beyond_reference
def test_a_late_recursion_before_the_window_is_counted_only(long: list[Json]) -> None:
    told = Told(*long)
    told.say(step(1, trace_id="late"), step(1, trace_id="late"))
    assert told.outcomes[-2:] == ["applied", "duplicate"]
    assert told.warnings.count("recursion_before_window") == 1
    made = document(told)
    assert plan_of(made)["x"][1] == list(range(5, 205))
    assert ids(made["recursion_history"]) == []
