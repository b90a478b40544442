"""Runs of a reflecting agent: how each ended, and its reflections, against the raw log."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from streams.folds.ids import make_id
from tests.acceptance import reflexion
from tests.command import rows
from tests.conftest import REFLEXION
from tests.shared_data import shared


def tasks(history: Path) -> dict[str, dict[str, Any]]:
    """task id -> document."""
    found = rows(history, "SELECT task_id, doc FROM task_current")
    return {task_id: msgspec.json.decode(doc) for task_id, doc in found}


def task_id(run: reflexion.Run) -> str:
    return make_id("task", make_id("hotpotqa", run.question), run.trial)


def test_each_run_ends_as_the_log_says(reflexion_run: Path) -> None:
    runs = list(reflexion.runs(shared(*REFLEXION)))
    found = tasks(reflexion_run / "history")
    assert set(found) == {task_id(run) for run in runs}
    ended: Counter[tuple[str, str, bool, str | None]] = Counter()
    for run in runs:
        machine = found[task_id(run)]["global"]
        ended[run.outcome, machine["status"], machine["forced"], machine["error"]] += 1
        assert machine["iteration"] == len(run.reflections) + len(run.steps)
    outcomes = Counter(run.outcome for run in runs)
    assert set(outcomes) == {"correct", "incorrect", "halted"}
    assert ended == {
        ("correct", "completed", False, None): outcomes["correct"],
        ("incorrect", "failed", False, "Answer is INCORRECT"): outcomes["incorrect"],
        ("halted", "failed", True, "max_iteration reached"): outcomes["halted"],
    }


def test_reflections_are_reflect_recursions(reflexion_run: Path) -> None:
    found = tasks(reflexion_run / "history")
    reflected = 0
    for run in reflexion.runs(shared(*REFLEXION)):
        history = found[task_id(run)]["recursion_history"]
        made = [
            one["action"]["output"]["reflection"]
            for one in history
            if one["action"]["action_type"] == "REFLECT"
        ]
        assert made == list(run.reflections)
        reflected += len(made)
    assert reflected > 50


def test_observations_are_the_results_of_their_calls(reflexion_run: Path) -> None:
    found = tasks(reflexion_run / "history")
    for run in reflexion.runs(shared(*REFLEXION)):
        calls = [
            one["action"]["output"]["tool_calls"][0]
            for one in found[task_id(run)]["recursion_history"]
            if one["action"]["action_type"] == "CALL_TOOL"
        ]
        steps = [step for step in run.steps if not step.action.startswith("Finish")]
        assert [call["result"] for call in calls] == [step.observation for step in steps]
        assert [call["success"] for call in calls] == [
            not step.observation.startswith(reflexion.NOTHING) for step in steps
        ]


def test_no_recursion_came_after_the_end(reflexion_run: Path) -> None:
    sql = "SELECT count(*), count(*) FILTER (after_finish) FROM recursion_current"
    ((count, after),) = rows(reflexion_run / "history", sql)
    assert count > 700 and after == 0
