"""Reflexion's HotpotQA logs as turns, recursions and tool results.

The file: two trials, each with its correct, incorrect and halted runs; a run is a question, in the
second trial the reflections on the first, then numbered thoughts, actions and observations.

- A question is a session; each run at it a turn and a task of that session.
- A reflection is a REFLECT recursion before the run's first step.
- Search and Lookup are CALL_TOOL with one call; the observation is its result, without success
  where nothing was found. Finish is the ANSWER.
- A wrong answer is an ANSWER that ended in error, and the error is final: the task failed.
- A halted run gave no answer: its `max_iteration` is its number of recursions, so that the last of
  them stops the task by force.
"""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from schemas.base import HOUR, SECOND, JsonObject, format_time, parse_time
from streams.folds.ids import make_id

START = parse_time("2026-01-10T00:00:00Z")
STEP = 10 * SECOND
USER = "hotpotqa"
MAX_ITERATION = 10
AGAIN = "You have attempted to answer following question before"
LINE = re.compile(r"(Thought|Action|Observation) (\d+): ?(.*)")
ACTION = re.compile(r"(Search|Lookup|Finish)\[(.*)\]")
NOTHING = ("Could not find", "No Results", "The last page Searched was not found")
HEADING = re.compile(r"-+ BEGIN (CORRECT|INCORRECT|HALTED) AGENTS -+")


class Step(NamedTuple):
    """A thought, the action that came of it, and what was then seen."""

    thought: str
    action: str
    observation: str


class Run(NamedTuple):
    """One attempt at one question; `outcome` is correct, incorrect or halted."""

    trial: int
    outcome: str
    question: str
    reflections: tuple[str, ...]
    steps: tuple[Step, ...]
    expected: str


def runs(path: Path) -> Iterator[Run]:
    """The runs in the order of the file."""
    trial, outcome, block = 0, "", list[str]()
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        heading = HEADING.match(line)
        if line.startswith("BEGIN TRIAL"):
            trial = int(line.split()[-1])
        elif heading:
            outcome = heading[1].lower()
        elif line.startswith("Question:"):
            block = [line]
        elif line.startswith("Correct answer:"):
            yield _run(trial, outcome, block, line.partition(":")[2].strip())
        else:
            block.append(line)


def records(path: Path) -> Iterator[JsonObject]:
    """Each run as a turn with its recursions and tool results; an hour between two runs."""
    for number, run in enumerate(runs(path)):
        yield from _records(run, START + number * HOUR)


def _run(trial: int, outcome: str, block: list[str], expected: str) -> Run:
    question = block[0].partition(":")[2].partition(AGAIN)[0].strip()
    parts: dict[tuple[int, str], str] = {}
    reflections: list[str] = []
    key: tuple[int, str] | None = None
    for line in block[1:]:
        begins = LINE.match(line)
        if begins:
            key = (int(begins[2]), begins[1])
            parts[key] = begins[3]
        elif key:
            parts[key] += f"\n{line}"
        elif line.startswith("- "):
            reflections.append(line[2:].strip())
        elif reflections and line.strip():
            reflections[-1] += f"\n{line}"
    steps = tuple(
        Step(*(parts[number, name].strip() for name in ("Thought", "Action", "Observation")))
        for number in sorted({number for number, _ in parts})
    )
    return Run(trial, outcome, question, tuple(reflections), steps, expected)


def _records(run: Run, start: int) -> Iterator[JsonObject]:
    session_id = make_id("hotpotqa", run.question)
    task_id = make_id("task", session_id, run.trial)
    head: JsonObject = {"session_id": session_id, "task_id": task_id}
    yield {"type": "turn", **head, **_turn(run, session_id), "occurred_at": format_time(start)}
    count = len(run.reflections) + len(run.steps)
    head["max_iteration"] = count if run.outcome == "halted" else max(MAX_ITERATION, count)
    at = start
    for index, reflection in enumerate(run.reflections, 1):
        at += STEP
        action = {"action_type": "REFLECT", "output": {"reflection": reflection}}
        yield _recursion(head, index, at) | {"action": action}
    seen = ""
    for index, step in enumerate(run.steps, len(run.reflections) + 1):
        at += STEP
        recursion = _recursion(head, index, at) | {"observe": seen, "thought": step.thought}
        yield from _step(recursion, step, at)
        seen = step.observation


def _turn(run: Run, session_id: str) -> JsonObject:
    name, text = _action(run.steps[-1])
    failed = run.outcome != "correct"
    turn = {
        "event_id": make_id("event", session_id, run.trial),
        "user_id": USER,
        "user_input": run.question,
        "agent_answer": text if name == "Finish" else "",
        "status": "error" if failed else "done",
        "metadata": {"trial": run.trial, "expected": run.expected},
    }
    return turn | ({"error": run.outcome} if failed else {})


def _recursion(head: JsonObject, index: int, at: int) -> JsonObject:
    return {
        "type": "recursion",
        **head,
        "trace_id": make_id("trace", head["task_id"], index),
        "iteration_index": index,
        "occurred_at": format_time(at),
    }


def _step(recursion: JsonObject, step: Step, at: int) -> Iterator[JsonObject]:
    name, text = _action(step)
    if name == "Finish":
        recursion["action"] = {"action_type": "ANSWER", "output": {"answer": text}}
        if step.observation == "Answer is INCORRECT":
            recursion |= {"status": "error", "error": step.observation, "final": True}
        yield recursion
        return
    call = {
        "id": f"call-{recursion['iteration_index']}",
        "name": name,
        "arguments": {"query": text},
    }
    recursion["action"] = {"action_type": "CALL_TOOL", "output": {"tool_calls": [call]}}
    yield recursion
    yield {
        "type": "tool_result",
        **{key: recursion[key] for key in ("session_id", "task_id", "trace_id")},
        "tool_call_id": call["id"],
        "occurred_at": format_time(at + STEP // 2),
        "result": step.observation,
        "success": not step.observation.startswith(NOTHING),
    }


def _action(step: Step) -> tuple[str, str]:
    found = ACTION.fullmatch(step.action)
    if not found:
        raise ValueError(f"no action of the three: {step.action!r}")
    return found[1], found[2]
