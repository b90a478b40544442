"""Where no extractor was ever chosen the rules find memory, in every tier; `none` is a choice."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sinks.history_root import open_root
from streams.extractors.registry import DEFAULT, chosen
from streams.files.extractor_choice import FILE, update_choice
from streams.folds.constants import Rules
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.transport.rows import MemoryRows
from tests.command import BY_DEFAULT, Done, ndjson, rows, turn, turnfold
from tests.serving.serving import serving

OPTIONS = (None, "none", "rules", "llm")
SENTENCES = ("I live in Oslo.", "Call me Ann. I love jazz.", "What time is it?")
PLAN = {
    "type": "write_plan", "plan_id": "p", "user_id": "u", "session_id": "s", "event_id": "e0",
    "occurred_at": "2025-01-01T00:00:00Z", "extractor": {"name": "by-hand"},
    "state_updates": [{"op": "upsert", "kind": "fact", "state_id": "f", "body_text": "Is tall."}],
}  # fmt: skip


@pytest.mark.parametrize("options", list(product(OPTIONS, repeat=3)))
def test_the_newest_choice_holds_in_a_history_and_in_a_lane(
    tmp_path: Path, options: tuple[str | None, ...]
) -> None:
    history = open_root(tmp_path / "h")
    note: Any = {}
    stored: str | None = None
    for option in options:
        stored = option or stored or "rules"
        assert update_choice(history, option, lambda _: None).name == stored
        agent = SessionAgent(0, MemoryRows(), 1, None, Rules(), option)
        agent.restored(note)
        note = agent.note()
        assert note["extractor"]["name"] == agent.extractor == stored
        assert (history / FILE).exists(), "a `none` is stored as well"


def test_one_function_decides() -> None:
    assert DEFAULT == "rules"
    for option, stored in product(OPTIONS, OPTIONS):
        assert chosen(option, stored) == (option or stored or DEFAULT)


def run(folder: Path, name: str, *words: str, records: tuple[Any, ...] = ()) -> Done:
    said = [turn(f"{name}{n}", user_input=text) for n, text in enumerate(SENTENCES)]
    file = ndjson(folder / f"{name}.ndjson", records or said)
    done = turnfold("run", file, "--history", folder / "h", *words)
    assert done.code == 0, done.err
    return done


def last(done: Done) -> str:
    return done.out.splitlines()[-1].strip()


def test_a_run_without_a_word_about_extractors_finds_facts_and_says_how_many(
    tmp_path: Path,
) -> None:
    assert last(run(tmp_path, "a", BY_DEFAULT)) == "3 facts and preferences found by rules"
    found = rows(tmp_path / "h", "SELECT DISTINCT body_text FROM state_current ORDER BY 1")
    assert found == [("Lives in Oslo.",), ("Wants to be called Ann.",)]
    again = run(tmp_path, "b", BY_DEFAULT, "-o", "json").json()
    assert (again["extractor"], again["found"], again["plans"]) == ("rules", 3, 2)
    silent = run(tmp_path, "c", BY_DEFAULT, records=(turn("c", user_input="What time is it?"),))
    assert last(silent) == "0 facts and preferences found by rules"
    single = run(tmp_path, "d", BY_DEFAULT, records=(turn("d", user_input="I live in Rome."),))
    assert last(single) == "1 fact or preference found by rules"


def test_none_is_stored_and_the_last_line_names_it(tmp_path: Path) -> None:
    off = "0 facts: no extractor (--extractor rules finds them)"
    assert last(run(tmp_path, "a", "--extractor", "none")) == off
    assert last(run(tmp_path, "b", BY_DEFAULT)) == off
    assert run(tmp_path, "c", BY_DEFAULT, "-o", "json").json()["extractor"] == "none"
    with_plan = run(tmp_path, "d", BY_DEFAULT, records=(turn("e0"), PLAN))
    assert "no extractor" not in with_plan.out and "found" not in with_plan.out
    nothing = turnfold("run", tmp_path / "d.ndjson", "--history", tmp_path / "h", BY_DEFAULT)
    assert "facts" not in nothing.out, nothing.out
    assert [one for (one,) in rows(tmp_path / "h", "SELECT body_text FROM state_current")] == [
        "Is tall."
    ]


def test_a_server_without_a_word_about_extractors_finds_facts(tmp_path: Path) -> None:
    with serving("--history", tmp_path / "h", BY_DEFAULT) as server:
        assert server.endings([turn("s1", user_input="I live in Lund.")]) == ["applied"]
    assert rows(tmp_path / "h", "SELECT body_text FROM state_current") == [("Lives in Lund.",)]
