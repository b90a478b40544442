"""docs/analytics.md: questions as they stand there, other programs that read a history, and the
notebook.

A line of `answers.ndjson` is {question, row}: what plain Python counted in the records of `usage`.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from sinks.history import query
from streams.files import file_runner
from tests.acceptance import usage
from tests.command import PROGRAM, checked, environment, ndjson, once, turnfold
from tests.questions import PAGE, Question, questions

pytestmark = pytest.mark.nightly

RECORDS = usage.records()
ANSWERS: dict[int, list[dict[str, Any]]] = defaultdict(list)
for _line in Path(__file__).with_name("answers.ndjson").read_text("utf-8").splitlines():
    _answer = json.loads(_line)
    ANSWERS[_answer["question"]].append(_answer["row"])
OF_BELL = {1: 99, 4: 100, 12: 5, 20: 34}
"""How many rows an answer has that is of this tenant alone."""
NOTEBOOK = PAGE.with_name("analytics_notebook.py")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
OFFLINE = """
import runpy, sys
def refuse(event, given):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise OSError(f"the notebook asks the network: {given}")
sys.addaudithook(refuse)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
TENTHS = ("median_minutes", "percent", "percent_of_turns", "percent_unpleasant")


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """The history of the platform's use."""

    def build(folder: Path) -> None:
        file = ndjson(folder / "records.ndjson", RECORDS)
        checked(file_runner.run([str(file)], folder / "memory"))
        assert (
            turnfold(
                "admin", "catalog", folder / "memory.duckdb", "--history", folder / "memory"
            ).code
            == 0
        )

    return once(tmp_path_factory, worker, "usage", build) / "memory"


def _agrees(name: str, told: Any, counted: Any) -> bool:
    if isinstance(counted, float):
        return bool(abs(told - counted) <= (0.0501 if name in TENTHS else 0.000501))
    return bool(told == counted or str(told) == counted)


def test_there_are_twenty_questions_in_order() -> None:
    assert [one.number for one in questions()] == list(range(1, 21))


@pytest.mark.parametrize("question", questions(), ids=lambda one: str(one.number))
def test_a_question_has_the_counted_answer(used: Path, question: Question) -> None:
    told, counted = query(used, question.sql).objects(), ANSWERS[question.number]
    assert [list(row) for row in told] == [list(row) for row in counted]
    for row, expected in zip(told, counted, strict=True):
        wrong = [name for name in row if not _agrees(name, row[name], expected[name])]
        assert not wrong, (wrong, row, expected)


def test_the_command_takes_a_question_as_it_stands(used: Path) -> None:
    question = questions()[0]
    done = turnfold("sql", question.sql, "--history", used, "-o", "json")
    assert done.code == 0, done.err
    assert done.json() == ANSWERS[1]


def test_a_tenants_questions_are_of_that_tenant(used: Path) -> None:
    for question in questions():
        if question.number in OF_BELL:
            told = query(used, question.sql, tenant="bell").rows
            assert len(told) == OF_BELL[question.number]


@pytest.mark.parametrize("program", PROGRAMS, ids=["duckdb", "polars", "deltalake"])
def test_another_program_reads_the_history(
    used: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.chdir(used.parent)
    told: dict[str, Any] = {}
    exec(program, told)
    users = [(str(date), count) for date, count in told["users"]]
    assert users == [(row["date"], row["users"]) for row in ANSWERS[1]]


def _notebook(folder: Path, **given: str) -> str:
    path = f"{Path(PROGRAM).parent}:/usr/bin:/bin"
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, NOTEBOOK], cwd=folder, env=environment(PATH=path, **given),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_notebook_asks_a_history(used: Path, tmp_path: Path) -> None:
    shown = _notebook(tmp_path, TURNFOLD_HISTORY=str(used))
    rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in shown.splitlines()]
    for row in ANSWERS[1]:
        assert [row["date"], str(row["users"])] in rows
    assert list(tmp_path.iterdir()) == []


def test_the_notebook_shows_the_sample_without_a_history(tmp_path: Path) -> None:
    assert "█" in _notebook(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_notebook_holds_no_output() -> None:
    """It is cells of a script: what a run showed cannot go stale in it."""
    cells = NOTEBOOK.read_text("utf-8").split("\n# %%")
    assert len(cells) > 10 and all(not re.search("[█┌│]", cell) for cell in cells)
