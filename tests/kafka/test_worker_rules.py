"""A memory keeps the constants it was begun with: in its workers' markers, in its history."""

import json
from pathlib import Path

import pytest

from streams.errors import ConfigurationError
from streams.files.manifest import load, rules_of
from streams.folds.constants import Rules
from streams.kafka.agents import marker_constants
from streams.kafka.tools.repartition_targets import merged
from tests.command import environment, turn, turnfold
from tests.kafka.working import Working, alone, message
from tests.waiting import WITHIN

INTENTS = Rules.of({"max_intents": 3})
CONSTANT = "max_intents=3"
FLAG = ("--set", CONSTANT)


def say(working: Working, first: int) -> None:
    """Five turns in one session, each with an intent of its own."""
    said = [
        turn(f"e{n}", session_id="s", intent=f"i{n}", occurred_at=f"2026-03-01T09:{n:02}:00Z")
        for n in range(first, first + 5)
    ]
    working.send(message(json.dumps(one).encode()) for one in said)
    working.await_done()


def intents(working: Working) -> list[str]:
    (context,) = working.newest("session-contexts").values()
    found: list[str] = context["recent_intents"]
    return found


def test_a_worker_with_other_constants_is_refused_and_told_what_to_do(tmp_path: Path) -> None:
    with alone(tmp_path) as working:
        working.start(*FLAG)
        working.await_ready()
        say(working, 0)
        assert intents(working) == ["i2", "i3", "i4"]
        working.kill()

        assert working.start().wait(WITHIN) == 3
        log = working.log()
        assert "folded under max_intents=3, and this worker has the default constants" in log
        assert "continue it with --set max_intents=3" in log
        assert "turnfold kafka worker --generation NAME --set" in log
        assert "Traceback" not in log

        assert working.start("--set", "max_intents=4").wait(WITHIN) == 3
        assert "this worker has max_intents=4" in working.log()

        working.start(env=environment(**working.kafka, TURNFOLD_WORKER_CONSTANTS=CONSTANT))
        say(working, 5)
        assert intents(working) == ["i7", "i8", "i9"]
        working.kill()

        history = tmp_path / "history"
        sink = ("kafka", "sink", *working.at, "--history", str(history), "--once")
        assert turnfold(*sink, *FLAG).code == 0
        assert rules_of(history) == INTENTS
        assert turnfold(*sink).code == 0, "without --set it goes on"
        refused = turnfold(*sink, "--set", "max_intents=4")
        assert refused.code == 3
        assert "its rows were folded under max_intents=3; leave --set out" in refused.err
        assert rules_of(history) == INTENTS


def test_a_memory_of_default_constants_is_not_continued_with_others(tmp_path: Path) -> None:
    with alone(tmp_path) as working:
        working.start()
        working.await_ready()
        say(working, 0)
        assert len(intents(working)) == 5
        assert all("constants" not in note for notes in working.notes().values() for note in notes)
        working.kill()

        assert working.start(*FLAG).wait(WITHIN) == 3
        assert "folded under the default constants, and this worker has max_intents=3" in (
            working.log()
        )
        assert "continue it without --set" in working.log()

        history = tmp_path / "history"
        sink = ("kafka", "sink", *working.at, "--history", str(history), "--once")
        assert turnfold(*sink).code == 0
        refused = turnfold(*sink, *FLAG)
        assert (refused.code, load(history)) == (3, None)
        assert "folded under the default constants" in refused.err


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("max_intent=3", "max_intent: no such constant; there are"),
        ("max_intents=0", "max_intents: expected a whole number from 1 to 100000, not '0'"),
        ("max_intents", "max_intents: expected CONSTANT=VALUE"),
    ],
)
def test_a_wrong_constant_is_refused_before_anything_else(given: str, why: str) -> None:
    for command in (("kafka", "worker"), ("kafka", "sink", "--history", "nowhere")):
        refused = turnfold(*command, "--set", given, "--bootstrap", "localhost:1")
        assert refused.code == 2
        assert f"--set {why}" in refused.err
    env = environment(TURNFOLD_WORKER_CONSTANTS=f"stalled_after=4, {given}")
    refused = turnfold("kafka", "worker", "--bootstrap", "localhost:1", env=env)
    assert refused.code == 3
    assert f"TURNFOLD_WORKER_CONSTANTS: {why}" in refused.err


def test_constants_are_the_same_after_a_repartition() -> None:
    rules = Rules.of({"max_intents": 3, "uses_share": 0.25})
    kept = json.loads(json.dumps({"counts": {"read": 2}, **marker_constants.to_note(rules)}))
    for note in merged([kept, kept], 3):
        assert marker_constants.of_note(note) == rules


def test_constants_of_a_newer_version_are_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="max_of_tomorrow: no such constant"):
        marker_constants.check({"constants": [["max_of_tomorrow", 3]]}, Rules())
