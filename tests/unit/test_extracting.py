"""Extraction as the file runner has it: plans behind their turns, counted apart, once."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.base import JsonObject
from sinks.history import connect
from streams import history_documents
from streams.errors import ConfigurationError
from streams.extractors import rules
from streams.extractors.registry import Extractor, choices, named
from streams.files import file_runner
from streams.files.fold_batch import Applier
from streams.folds.constants import Rules
from tests.property.world import HOURS, Json, World, fact, feeling, micros, plan, turn, when

RULES = named("rules")


def said(event_id: str, at: float, text: str, **fields: Any) -> Json:
    return turn(event_id, at, user_id="u1", user_input=text, **fields)


def extracting() -> World:
    made = World()
    made.applier = Applier(made.store, Rules(), RULES)
    return made


def test_a_plan_comes_behind_its_turn_and_is_no_input_record() -> None:
    made = extracting()
    assert made.say(said("a", 0, "I live in Oslo.")) == ["applied"]
    assert made.counts["read"] == made.counts["applied"] == 1
    assert made.counts["extracted_applied"] == 1
    ((version,),) = made.states().values()
    assert "Oslo" in version["body_text"]
    assert version["evidence_event_ids"] == ["a"]
    (plan,) = made.rows["plans"]
    assert (plan["extractor_name"], plan["event_id"]) == ("rules", "a")
    assert (plan["src_topic"], plan["src_offset"]) == ("test", 1)


@pytest.mark.parametrize(
    "move",
    [
        "I moved to Bath yesterday.",
        "Sorry, I was wrong: I moved to Bath last week.",
        "I've lived in Bath since 2015.",
    ],
)
@pytest.mark.parametrize("correction", [[], ["Lives in York."]], ids=["", "corrected"])
def test_the_later_statement_wins_although_its_date_is_before_the_earlier_one(
    move: str, correction: list[str]
) -> None:
    home = rules.state_id("default", "u1", rules.SLOT, "home")
    stated = [said("a", 9 * HOURS, "I live in Leeds."),
              *(plan("b", 9.5 * HOURS, fact(home, text)) for text in correction)]  # fmt: skip
    moved = said("c", 10 * HOURS, move)
    live, late = extracting(), extracting()
    live.say(*stated, moved)
    late.say(moved, *stated)
    for made in (live,) if correction else (live, late):
        (versions,) = made.states().values()
        assert {version["body_text"] for version in versions} == {"Lives in Bath."}
        assert versions[0]["valid_from"] < when(9 * HOURS)
        assert {version["status"] for version in versions} == {"active"}
    removed = [row for row in live.revisions("state", home) if row["op"] == "remove"]
    assert [row["evidence_event_ids"] for row in removed] == [["c"]]


def test_a_feeling_that_the_turn_brings_stands() -> None:
    made = extracting()
    made.say(
        said("a", 0, "I am so happy today!", affect=feeling(0.2)),
        said("b", 1, "I am so happy today!"),
    )
    assert [row["event_id"] for row in made.rows["affects"]] == ["a", "b"]
    assert [row["event_id"] for row in made.rows["plans"]] == ["b"]
    assert made.rows["affects"][0]["v"] == 0.2


@pytest.mark.parametrize("fault", [KeyError("a"), RecursionError(), ValueError("x" * 9000)])
def test_an_exception_of_the_extractor_is_a_dead_letter_and_the_turn_stays(
    fault: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(turn: Any, affect: Any) -> JsonObject:
        raise fault

    monkeypatch.setattr(rules, "extract", fails)
    _check_dead_letter(type(fault).__name__)


@pytest.mark.parametrize("plan", [{"a": object()}, {1j: 2}])
def test_a_plan_that_is_not_json_is_a_dead_letter_too(
    plan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "extract", lambda turn, affect: plan)
    _check_dead_letter("TypeError")


def _check_dead_letter(error: str) -> None:
    made = World()
    made.applier = Applier(made.store, Rules(), named("rules"))
    assert made.say(said("a", 0, "I live in Oslo.")) == ["applied"]
    assert made.say(turn("b", 1, user_input="Of no user.")) == ["applied"]
    assert made.counts["extracted_dead"] == 1 and "dead" not in made.counts
    (letter,) = made.rows["dead_letters"]
    assert letter["reason"] == "extraction_failed"
    assert letter["detail"].startswith(error) and len(letter["detail"]) <= 2000


def test_a_running_or_repeated_turn_gives_none() -> None:
    made = extracting()
    running = said("a", 0, "I live in Oslo.", status="running")
    ended = said("a", 0, "I live in Oslo.", agent_answer="Nice!")
    assert made.say(running, ended, ended) == ["applied", "applied", "duplicate"]
    assert len(made.rows["plans"]) == 1


def test_a_later_word_ends_what_was_said_before() -> None:
    made = extracting()
    made.say(
        said("a", 0, "I live in Oslo."),
        said("b", 60, "I don't live in Oslo any more, I live in Bergen."),
    )
    ((old, new),) = made.states().values()
    assert ("Oslo" in old["body_text"], old["valid_from"]) == (True, when(0))
    assert ("Bergen" in new["body_text"], new["valid_from"]) == (True, when(60))
    (change,) = [one for one in made.revisions("state") if one["before"]]
    assert list(change["evidence_event_ids"]) == ["b"]


def test_a_plan_that_cannot_be_applied_is_a_dead_letter_and_the_turn_stays() -> None:
    def wrong(turn: Any) -> JsonObject:
        return {"type": "write_plan", "plan_id": "p", "user_id": "u1", "occurred_at": "2026-01-01"}

    made = World()
    made.applier = Applier(made.store, Rules(), Extractor("wrong", wrong))
    assert made.say(said("a", 0, "I live in Oslo.")) == ["applied"]
    assert made.counts["extracted_dead"] == 1
    assert made.reasons == ["invalid"]
    assert len(made.rows["events"]) == 1


def test_the_names_are_those_of_extractors() -> None:
    assert [named(name) is None for name in choices()[:-1]] == [True, False]
    with pytest.raises(ConfigurationError, match="unknown extractor 'magic'"):
        named("magic")


def test_a_run_extracts_once(tmp_path: Path) -> None:
    file, history = tmp_path / "turns.ndjson", tmp_path / "history"
    records = [said("a", 0, "I live in Oslo."), said("b", 1, "What is the time?")]
    file.write_text("".join(json.dumps(one) + "\n" for one in records))
    first = file_runner.run([str(file)], history, choose=lambda: RULES)
    again = file_runner.run([str(file)], history, choose=lambda: RULES)
    assert (first["applied"], first["extracted_applied"]) == (2, 1)
    assert again["read"] == 0
    assert "extracted_applied" not in again
    (state,) = history_documents.states(history, "default", "u1", micros(60), None)
    assert "Oslo" in state["body_text"]
    with connect(history, tenant="default", views=["plans"]) as db:
        assert db.execute("SELECT count(*) FROM plans").fetchall() == [(1,)]
