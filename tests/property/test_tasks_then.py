"""A task is open until it was done, at whatever time and in whatever order that was told."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from schemas.time import format_time, parse_time
from streams import history_documents
from streams.context import PackRequest
from streams.context.load import context
from streams.files import file_runner
from tests.command import ndjson

pytestmark = pytest.mark.nightly

START = parse_time("2026-01-01T00:00:00Z")
HOUR = 3_600_000_000


def plan(number: int, hour: int, **update: Any) -> dict[str, Any]:
    """What a plan says of a task; plans are recorded in the order of their numbers."""
    return {
        "type": "write_plan", "plan_id": f"p{number}", "user_id": "u",
        "event_id": f"e{number}", "extractor": {"name": "test", "version": "1"},
        "occurred_at": format_time(START + hour * HOUR),
        "recorded_at": format_time(START + (100 + number) * HOUR),
        "state_updates": [{"kind": "task", **update}],
    }  # fmt: skip


def tasks(chance: Random) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Tasks that are written, written again and done; state_id -> the hour at which it was done."""
    plans, done = [], {}
    for name in ("milk", "taxes", "van"):
        begun = plan(0, 0, state_id=name, body_text=f"Sort out {name}.")
        hours = [chance.randint(1, 50) for _ in range(4)]
        done[name] = hours[0]
        rest = [plan(0, hours[0], state_id=name, op="mark_done")]
        rest += [plan(0, hour, state_id=name, body_text=f"Sort out {name} {hour}.")
                 for hour in hours[1:]]  # fmt: skip
        chance.shuffle(rest)
        plans += [begun, *rest]
    for number, one in enumerate(plans):
        one |= {name: plan(number, 0)[name] for name in ("plan_id", "event_id", "recorded_at")}
    return plans, done


@pytest.mark.parametrize("seed", range(5))
def test_a_task_is_open_until_it_was_done(tmp_path: Path, seed: int) -> None:
    plans, done = tasks(Random(seed))
    root = tmp_path / "history"
    file_runner.run([str(ndjson(tmp_path / "plans.ndjson", plans))], root)
    hours = sorted({0, 99, *done.values(), *(hour - 1 for hour in done.values())})
    for hour in hours:
        at = START + hour * HOUR
        then = {name: "done" if hour >= since else "active" for name, since in done.items()}
        for owner in ("u", None):
            held = history_documents.states(root, "default", owner, at, None)
            assert {one["state_id"]: one["status"] for one in held} == then
            assert all((one["payload"]["status"] == "done") == (one["status"] == "done")
                       for one in held)  # fmt: skip
        assert {one["state_id"]: one["status"] for one in history_documents.user(
            root, "default", "u", at)["states"]} == then  # fmt: skip
        shown = context(root, "default", PackRequest(user_id="u", at=at)).pack.items
        assert {item.id for item in shown} == {name for name in then if then[name] != "done"}


def test_what_was_done_is_open_as_far_as_was_known(tmp_path: Path) -> None:
    plans = [
        plan(0, 0, state_id="milk", body_text="Buy milk."),
        plan(1, 1, state_id="milk", op="mark_done"),
        plan(2, 2, state_id="milk", body_text="Buy milk.", payload={"status": "open"}),
    ]
    root = tmp_path / "history"
    file_runner.run([str(ndjson(tmp_path / "plans.ndjson", plans))], root)

    def status(hour: int, known: int | None = None) -> str:
        known_at = None if known is None else START + (100 + known) * HOUR
        (one,) = history_documents.states(root, "default", "u", START + hour * HOUR, known_at)
        return str(one["payload"]["status"])

    assert [status(hour) for hour in (0, 1, 2)] == ["open", "done", "open"]
    assert [status(hour, known=1) for hour in (0, 1, 2)] == ["open", "done", "done"]
    assert [status(hour, known=0) for hour in (0, 1, 2)] == ["open", "open", "open"]


def test_a_task_that_was_told_as_done_was_never_open(tmp_path: Path) -> None:
    told = plan(0, 5, state_id="milk", body_text="Bought milk.", payload={"status": "done"},
                valid_from=format_time(START))  # fmt: skip
    root = tmp_path / "history"
    file_runner.run([str(ndjson(tmp_path / "plans.ndjson", [told]))], root)
    (one,) = history_documents.states(root, "default", "u", START + HOUR, None)
    assert one["status"] == "done"
