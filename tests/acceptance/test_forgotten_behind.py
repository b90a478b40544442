"""What a sink reads after `forget`: rows of who is forgotten stay out, those of others do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from sinks.history import connect
from sinks.sink_history import SharedHistory
from streams.apps.compact_and_forget import forget
from tests.command import files_holding, turn
from tests.object_store.sunk import Pieces, read, sink
from tests.unit.test_shared_history import OWNER

LATE = {"occurred_at": "2026-01-03T00:00:00Z"}


def late(history: Path, pieces: Pieces) -> dict[str, tuple[int, int]]:
    """Table -> how many of its rows were read, and how many are written."""
    given = {name: [one._replace(app_id="late") for one in some] for name, some in pieces.items()}
    found = {}
    with SharedHistory(history, OWNER) as sinks:
        sinks.write(given, {"late": 1_000}, {})
    with connect(history) as db:
        for name, some in pieces.items():
            ((written,),) = db.execute(f"SELECT count(*) FROM {name}").fetchall()
            found[name] = sum(len(one.offsets) for one in some), written
    return found


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Bob has spoken, and is forgotten."""
    (tmp_path / "early").mkdir()
    sink(tmp_path / "h", read([turn("b1", session_id="s", user_id="bob")], tmp_path / "early"))
    forget(tmp_path / "h", "default", "bob")
    return tmp_path / "h"


def test_a_session_may_be_called_as_who_is_forgotten(history: Path, tmp_path: Path) -> None:
    records = [
        turn("c1", session_id="bob", user_id="carol", **LATE),
        turn("c2", session_id="bob", user_id="carol", occurred_at="2026-01-03T00:01:00Z"),
    ]
    found = late(history, read(records, tmp_path))
    assert "links" in found
    assert all(read == written for read, written in found.values()), found


LETTERS: tuple[dict[str, Any], ...] = (
    {"type": "turn", "event_id": "x", "user_id": "bob", "user_input": "MARK"},
    {"type": "turn", "event_id": "x", "session_id": "s", "user_input": ["MARK"]},
)


@pytest.mark.parametrize("letter", LETTERS, ids=json.dumps)
def test_guarantee_8_a_dead_letter_without_a_key_is_left_out(
    letter: dict[str, Any], history: Path, tmp_path: Path
) -> None:
    """It names the user, or a session of theirs that was erased whole."""
    other = {**letter, "user_id": "carol", "session_id": "other", "user_input": ["OTHER"]}
    found = late(history, read([letter, other], tmp_path))
    assert found == {"dead_letters": (2, 1)}
    assert files_holding(history, "MARK") == []
    assert files_holding(history, "OTHER")
