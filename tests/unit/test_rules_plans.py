"""A plan applies once, whole or not at all (docs/rules.md, "Long-term memory")."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.files.fold_batch import Applier
from streams.files.store import Store
from streams.folds.constants import Rules
from streams.folds.effects import Refused
from streams.folds.ids import make_id
from tests.unit.memory_told import SOURCE, Json, Memory, plan, prefers, says


def test_a_plan_given_twice_is_a_duplicate(user: Memory) -> None:
    user.tell(says())
    history = list(user.history)
    assert user.give(plan(state_updates=[says()])) == "duplicate"
    assert user.history == history


def test_a_plan_with_other_content_under_its_id_is_refused(user: Memory) -> None:
    user.tell(says("Kyoto"))
    with pytest.raises(Refused) as refused:
        user.give(plan(state_updates=[says("Nara")]))
    assert refused.value.reason == "conflicting_duplicate"
    assert user.state()["body_text"] == "Kyoto"


class Runner:
    """The real runtime over a store on disk."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path)
        self.applier = Applier(self.store, Rules())

    def give(self, record: Json) -> dict[str, list[str]]:
        """The rows the record caused: the first column of each, by table."""
        self.applier.apply([(json.dumps(record).encode(), SOURCE)])
        rows = self.applier.take_rows()
        return {table: [row[0] for row in found] for table, found in rows.items()}

    def rows(self) -> dict[str, Any]:
        entity = self.store.entity("users", "default", "u")
        return dict(entity.scan(""))


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    running = Runner(tmp_path / "tables")
    running.give(plan("p0", state_updates=[says(state_id="home")]))
    yield running
    running.store.close()


REFUSALS = {
    "unknown_state": {"state_updates": [{"op": "close", "state_id": "nowhere"}]},
    "not_a_task": {"state_updates": [{"op": "mark_done", "state_id": "home"}]},
    "kind_differs": {"state_updates": [says("home", "task", state_id="home")]},
    "mood_cannot_close": {
        "state_updates": [{"op": "close", "state_id": make_id("long_mood_state", "default", "u")}]
    },
    "unknown_preference": {
        "preference_updates": [
            {"op": "revoke", "domain": "food", "polarity": "like", "subject": "milk"}
        ]
    },
    "invalid": {"state_updates": [{"op": "close"}]},
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_a_plan_applies_whole_or_not_at_all(runner: Runner, reason: str) -> None:
    rows = runner.rows()
    refused = REFUSALS[reason]
    first = {
        "preference_updates": [prefers("confirm"), *refused.get("preference_updates", [])],
        "state_updates": [
            says("written before the fault"),
            says("Nara", state_id="home"),
            *refused.get("state_updates", []),
        ],
        "event_affect": {"event_id": "e1", "vad": {"v": 1, "a": 0, "d": 0}},
    }
    assert runner.give(plan("p1", 2, **first)) == {"dead_letters": [reason]}
    assert runner.rows() == rows
    assert runner.applier.counts["dead"] == 1


@pytest.mark.parametrize("op", ["close", "mark_done"])
def test_a_refused_plan_can_be_replayed_once_its_state_exists(runner: Runner, op: str) -> None:
    early = plan("p1", 2, state_updates=[{"op": op, "state_id": "milk"}])
    assert runner.give(early) == {"dead_letters": ["unknown_state"]}
    runner.give(plan("p2", 1, state_updates=[says("buy milk", "task", state_id="milk")]))
    assert set(runner.give(early)) == {"plans", "revisions"}
    assert runner.applier.counts["applied"] == 3
    assert runner.give(early) == {}
    assert runner.applier.counts["duplicate"] == 1
