"""`run --extractor llm`: folds, then asks."""

from collections.abc import Callable
from pathlib import Path

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
    assert "--extractor none ends it" in refused.err
    assert rows(history, "SELECT count(*) FROM events") == [(2,)], "nothing was folded"
    assert turnfold("run", files[2], *words, "--extractor", "none").json()["applied"] == 1
