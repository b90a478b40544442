"""1970-01-01T00:00:00Z is a time like any other, not an absent one."""

from pathlib import Path

from tests.command import folded, ndjson, turn, turnfold

EPOCH = "1970-01-01T00:00:00Z"


def test_what_is_asked_as_of_the_epoch_is_answered_as_of_the_epoch(tmp_path: Path) -> None:
    plan = {
        "type": "write_plan", "plan_id": "p", "user_id": "u", "event_id": "e1",
        "occurred_at": "2026-01-01T00:00:00Z", "extractor": {"name": "hand"},
        "state_updates": [{"op": "upsert", "kind": "fact", "body_text": "x"}],
    }  # fmt: skip
    history = tmp_path / "history"
    folded(ndjson(tmp_path / "records.ndjson", [turn("e1"), plan]), history=history)
    at = ("--history", history, "--as-of", EPOCH, "-o", "json")
    assert turnfold("show", "state", *at).json() == []
    assert turnfold("show", "session", "s", *at).code == 4
    assert turnfold("show", "user", "u", *at).json()["states"] == []
