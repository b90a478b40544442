"""The published questions about two clocks: their answers, and memories that give them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance import histories
from conformance.langgraph_memory import LanggraphMemory
from conformance.memory import Memory
from conformance.oracle import NOW
from conformance.run import Result, run
from conformance.run import histories as published
from conformance.sqlite_memory import SqliteMemory
from conformance.turnfold_memory import TurnfoldMemory

HISTORIES = published()
CATEGORIES = list(dict.fromkeys(history["category"] for history in HISTORIES))
DEVIATIONS = {
    "trip", "trip-longer", "inside", "holiday", "overlap", "only-word",
    "mixed-4", "mixed-6", "mixed-8", "mixed-10", "mixed-12",
}  # fmt: skip
"""Histories whose questions Turnfold answers by other rules (docs/conformance.md)."""


def test_the_file_has_what_its_program_writes_and_is_of_its_schema() -> None:
    assert histories.FILE.read_text() == histories.text()
    schema = json.loads(Path("conformance/histories.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for history in HISTORIES:
        validator.validate(history)
    assert len(HISTORIES) >= 40
    assert sum(len(history["questions"]) for history in HISTORIES) >= 200


def test_the_oracle_gives_the_answers_by_hand() -> None:
    for history in HISTORIES:
        for question in history["questions"]:
            if "by_hand" in question:
                record = histories.answer_record(history["records"], question)
                value = None if record is None else record.get("value")
                assert value == question["answer"], (history["history"], question)


def count(results: list[Result], result: str) -> int:
    return sum(each.result == result for each in results)


@pytest.mark.parametrize("memory", [SqliteMemory(), LanggraphMemory()])
def test_other_memories_answer_rightly_or_say_that_they_cannot(memory: Memory) -> None:
    results = run(memory, HISTORIES)
    assert count(results, "wrong") == 0
    assert count(results, "right") and count(results, "not expressible")


class Forgetful(SqliteMemory):
    """Answers as of the latest knowledge."""

    def ask(self, history: str, fact: str, as_of: str, known_at: str) -> str | None:
        return super().ask(history, fact, as_of, NOW)


def test_a_memory_without_a_second_clock_gives_wrong_answers() -> None:
    assert count(run(Forgetful(), HISTORIES), "wrong") > 50


@pytest.mark.parametrize("category", CATEGORIES)
def test_turnfold_answers_all_but_the_questions_about_its_deviations(category: str) -> None:
    chosen = [history for history in HISTORIES if history["category"] == category]
    results: list[Any] = run(TurnfoldMemory(), chosen)
    wrong = {result.history["history"] for result in results if result.result != "right"}
    assert wrong == {history["history"] for history in chosen} & DEVIATIONS
