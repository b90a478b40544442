"""Erasure in a generation of some days (`generation create --from`): what was made of a turn goes
with it, also where the turn itself lies in a day that the generation leaves out."""

from datetime import date
from pathlib import Path

import pytest

from streams.apps import compact_and_forget
from streams.apps.forget_session import forget_session
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.generations.rebuild import backfill
from tests.command import files_holding, ndjson, rows, turn

SECRET = "Quillfeather"
BEFORE, AFTER = "2026-03-01T10:00:00Z", "2026-03-03T10:00:00Z"
DAYS = Settings(first=date(2026, 3, 2))
OF_BOB = {"type": "write_plan", "user_id": "bob", "extractor": {"name": "test"}}


def told(**of: object) -> dict[str, object]:
    """A plan about Bob, of a later day than the turn it was made of."""
    update = {"kind": "fact", "body_text": f"Bob knows {SECRET}."}
    return {**OF_BOB, "plan_id": f"p{of}", "occurred_at": AFTER, "state_updates": [update], **of}


ANNS = [
    turn("a1", user_id="ann", session_id="anns", occurred_at=BEFORE, user_input="I am here."),
    turn("a2", user_id=None, session_id="anns", occurred_at=AFTER, user_input=SECRET),
    told(event_id="a1"),
    told(event_id="a1", session_id="anns"),
    told(extraction={"event_ids": ["a1"]}),
    {"type": "recursion", "session_id": "anns", "task_id": "a1", "trace_id": "t1",
     "iteration_index": 0, "occurred_at": AFTER, "action": {"type": "ANSWER"},
     "output": {"answer": SECRET}, "status": "done"},
]  # fmt: skip
BOBS = [
    turn("b1", user_id="bob", session_id="bobs", occurred_at=BEFORE, user_input="I fish."),
    {**OF_BOB, "plan_id": "own", "event_id": "b1", "occurred_at": AFTER,
     "state_updates": [{"kind": "fact", "body_text": "Bob fishes."}]},
]  # fmt: skip


@pytest.mark.component
@pytest.mark.parametrize("whom", ["a person", "a session"])
def test_guarantee_8_what_was_made_of_a_turn_goes_from_a_generation_without_its_day(
    whom: str, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    file_runner.run([str(ndjson(tmp_path / "said.ndjson", [*ANNS, *BOBS]))], history)
    backfill(history, "days", DAYS)
    assert len(files_holding(history / "generations", SECRET)) >= 4
    if whom == "a person":
        compact_and_forget.forget(history, "default", "ann")
    else:
        forget_session(history, "default", "anns")
    assert files_holding(history, SECRET) == []
    days = history / "generations" / "days"
    assert rows(days, "SELECT body_text FROM state_current") == [("Bob fishes.",)]
    assert rows(days, "SELECT plan_id FROM plans") == [("own",)]
    assert rows(days, "SELECT count(*) FROM events") == [(0,)]
