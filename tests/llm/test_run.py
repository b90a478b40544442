"""`run --extractor llm`: folds, then asks."""

from collections.abc import Callable
from pathlib import Path

from schemas.time import format_time, parse_time
from streams.llm.debounce import Group, Turn
from streams.llm.prompted_memory import REPLACED, Remembered
from streams.llm.replaced_plans import with_rules
from tests.command import environment, ndjson, rows, turn, turnfold
from tests.llm.endpoint import Endpoint

Start = Callable[..., Endpoint]


def test_a_run_asks_a_model_when_all_is_folded(endpoint: Start, tmp_path: Path) -> None:
    file = ndjson(tmp_path / "turns.ndjson", [turn("e1", user_id="u", user_input="fact: a cat")])
    started, history = endpoint(), tmp_path / "history"
    told = environment(TURNFOLD_LLM_BASE_URL=started.url, TURNFOLD_LLM_MODEL="test")
    words = ("run", file, "--history", history, "--extractor", "llm")
    first = turnfold(*words, "-o", "json", env=told).json()
    assert (first["applied"], first["model"]["turns"], first["model"]["calls"]) == (1, 1, 1)
    assert rows(history, "SELECT extractor_name FROM plans") == [("llm/test",)]
    again = turnfold(*words, env=told)
    assert again.code == 0, again.err
    assert len(started.requests) == 1


def test_without_an_endpoint_nothing_is_folded(tmp_path: Path) -> None:
    file = ndjson(tmp_path / "turns.ndjson", [turn("e1")])
    done = turnfold("run", file, "--history", tmp_path / "history", "--extractor", "llm")
    assert done.code == 3
    assert "TURNFOLD_LLM_BASE_URL" in done.err
    assert not (tmp_path / "history").exists()


def test_a_history_continues_asking_the_model_or_says_why_it_cannot(
    endpoint: Start, tmp_path: Path
) -> None:
    files = [
        ndjson(tmp_path / f"{n}.ndjson", [turn(f"e{n}", user_id="u", user_input=f"fact: {n} cats")])
        for n in range(3)
    ]
    started, history = endpoint(), tmp_path / "history"
    told = environment(TURNFOLD_LLM_BASE_URL=started.url, TURNFOLD_LLM_MODEL="test")
    words = ("--history", history, "-o", "json")
    turnfold("run", files[0], *words, "--extractor", "llm", env=told)
    again = turnfold("run", files[1], *words, env=told)
    assert (again.json()["extractor"], again.json()["model"]["turns"]) == ("llm", 1)
    assert "memory is made by llm (chosen on " in again.err
    refused = turnfold("run", files[2], *words)
    assert refused.code == 3 and "TURNFOLD_LLM_BASE_URL" in refused.err
    assert "--extractor none stops extraction" in refused.err
    assert rows(history, "SELECT count(*) FROM events") == [(2,)], "nothing was folded"
    assert turnfold("run", files[2], *words, "--extractor", "none").json()["applied"] == 1


AT = parse_time("2026-01-01T00:00:00Z")


def group(*texts: str) -> Group:
    return Group(
        tuple(
            Turn("default", "s", "u", f"e{n}", AT + n, AT + n, "chat", text)
            for n, text in enumerate(texts)
        )
    )


def test_states_and_preferences_of_each_turn_are_found() -> None:
    made = with_rules({}, group("I live in Porto.", "Hello!", "I love green tea."))[REPLACED]
    home, tea = made
    assert (home["entity"], home["body_text"]) == ("state", "Lives in Porto.")
    assert (home["evidence_event_ids"], home["updated_at"]) == (["e0"], format_time(AT))
    assert (tea["entity"], tea["subject"]) == ("preference", "green tea")
    assert tea["updated_at"] == format_time(AT + 2)


def test_what_the_history_tells_it_knows_better() -> None:
    """Another may have corrected it: then it is shown to the model, and is not replaced. A history
    that shows it as the rules wrote it has only not told yet whose it is."""
    (home,) = with_rules({}, group("I live in Porto."))[REPLACED]
    corrected = {**home, "body_text": "Lives in Porto Alegre."}
    shown: Remembered = {"states": [corrected], REPLACED: []}
    assert with_rules(shown, group("I live in Porto.")) == shown
    behind: Remembered = {"states": [home]}
    assert with_rules(behind, group("I live in Porto."))[REPLACED] == [home]
    by_rules: Remembered = {"states": [home], REPLACED: [{**home, "seen": "in the history"}]}
    assert with_rules(by_rules, group("I live in Porto."))[REPLACED] == by_rules[REPLACED]


def test_what_rules_revoke_or_end_is_left() -> None:
    made = with_rules({}, group("I prefer tea to coffee.", "I no longer live in Lisbon."))[REPLACED]
    assert all(one["entity"] == "state" or one["subject"] == "tea" for one in made)
