"""Turns that replace others: in any order, in both tiers and folded again memory is the same, and
what holds is what the turns that nobody replaced make."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sinks.digest import digest
from streams.extractors.registry import named
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.generations.rebuild import backfill
from streams.pipeline import retract_turns
from streams.pipeline.decode import Dead, decode
from tests.command import ndjson, rows
from tests.property.test_guarantee_2_rules import OPPOSITE, TIERS, memory_of, told
from tests.property.world import Json, turn, when
from tests.tiers import examples
from tests.unit.test_record_processor import Files, Kafka

UNDER = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SAYINGS = (
    "I live in Oslo.", "I moved to Bergen.", "I love tea.", "I hate tea.", "I gave up tea.",
    "I work at Acme.", "I am allergic to nuts.", "Good evening.",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """The rules compile their patterns at the first turn, which is not a test's own time."""
    told(Files, OPPOSITE)


def versions(draw: Random, count: int = 9) -> tuple[list[Json], list[Json]]:
    """Turns of one session and plans that delete messages; and the turns that stand. A later
    version names any earlier one, a deletion any version of its message."""
    every: list[Json] = []
    messages: list[list[Json]] = []
    for number in range(count):
        message = draw.choice(messages) if messages and draw.random() < 0.6 else []
        if message and draw.random() < 0.2:
            gone = draw.choice(message)["event_id"]
            every.append(plan("s1", "u1", gone, when(number * 10), "the message was deleted"))
            messages.remove(message)
            continue
        one = turn(f"e{draw.randrange(100):02}-{number}", number * 10,
                   user_id="u1", user_input=draw.choice(SAYINGS))  # fmt: skip
        if message:
            one["replaces"] = draw.choice(message)["event_id"]
        else:
            messages.append(message)
        message.append(one)
        every.append(one)
    return every, [message[-1] | {"replaces": None} for message in messages]


def plan(session_id: str, user_id: str, event_id: str, at: str, reason: str) -> Json:
    return retract_turns.plan("default", session_id, user_id, event_id, at, reason)


def holding(memory: dict[str, Any]) -> Any:
    """What holds of states and preferences."""
    states = {
        (one["body_text"], one["valid_from"])
        for name, found in memory.items()
        if name.startswith("s/")
        for one in found
        if one["status"] == "active"
    }
    likes = {
        (one["polarity"], one["subject"], one["status"])
        for name, one in memory.items()
        if name.startswith("p/") and one["status"] != "revoked"
    }
    return states, likes


@examples(4, 600, st.randoms(use_true_random=False), under=UNDER)
def test_guarantee_2_what_holds_is_what_turns_that_nobody_replaced_make(draw: Random) -> None:
    every, standing = versions(draw)
    shuffled = draw.sample(every, len(every))
    assert told(Files, shuffled) == told(Files, every)
    assert holding(told(Files, every)) == holding(told(Files, standing))


@pytest.mark.parametrize("seed", range(6))
def test_guarantee_1_workers_replace_turns_as_files_do(seed: int) -> None:
    draw = Random(seed)
    every, _ = versions(draw)
    wanted = told(Files, every)
    assert told(Kafka, draw.sample(every, len(every))) == wanted


@pytest.mark.parametrize("tier", TIERS)
def test_a_running_turn_replaces_nothing_before_it_has_ended(
    tier: Callable[..., Files | Kafka],
) -> None:
    running = tier(named("rules"))
    first = turn("a", 0, user_id="u1", user_input="I live in Oslo.")
    second = turn("b", 1, user_id="u1", user_input="I love tea.", replaces="a")
    for record, states in ((first, 1), (second | {"status": "running"}, 1), (second, 0)):
        assert running.give(record).ending == "applied"
        assert len(holding(memory_of(running.rows("users", "u1")))[0]) == states
    assert running.give(second).ending == "duplicate"


def test_a_turn_cannot_replace_itself() -> None:
    line = json.dumps(turn("a", 0, user_id="u1", replaces="a")).encode()
    found = decode(line, ("", 0, 0))
    assert isinstance(found, Dead)
    assert (found.reason, found.detail) == (
        "invalid",
        "record: `replaces` must differ from `event_id`",
    )


@pytest.mark.component
def test_guarantee_1_a_rebuild_replaces_turns_as_the_run_did(tmp_path: Path) -> None:
    draw, history = Random(5), tmp_path / "history"
    every, _ = versions(draw, 30)
    file = ndjson(tmp_path / "records.ndjson", draw.sample(every, len(every)))
    file_runner.run([str(file)], history, choose=lambda: named("rules"))
    live = digest(history)
    backfill(history, "again", Settings(extractor="rules"))
    assert digest(history / "generations" / "again")["memory"] == live["memory"]
    reasons = "SELECT count(*) FROM revisions WHERE reason LIKE 'the message was edited%'"
    assert rows(history, reasons) != [(0,)]
