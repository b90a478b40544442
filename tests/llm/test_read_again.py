"""Files that are rewritten while the turns for a model are read: they are read again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from _duckdb import DuckDBPyConnection

from sinks import maintenance
from sinks.history import connect
from streams.llm import history
from streams.llm.debounce import Group, Turn
from streams.llm.plans import Author
from tests.command import folded, ndjson, turn

PLAN = {
    "type": "write_plan", "user_id": "u", "occurred_at": "2026-01-01T00:00:00Z",
    "extractor": {"name": "test"}, "preference_updates": [],
    "state_updates": [{"kind": "fact", "state_id": "home", "body_text": "Lives in Porto."}],
}  # fmt: skip
AUTHOR = Author("llm/test", "1")
READS: dict[str, Callable[[Path, Group], Any]] = {
    "undone": lambda root, _: history.undone(root, AUTHOR, ["chat"]),
    "spent_since": lambda root, _: history.spent_since(root, 0),
    "with_texts": lambda root, group: history.with_texts(root, [group]),
    "remembered": lambda root, group: history.remembered(root, [group]),
}


@pytest.fixture
def group(tmp_path: Path) -> Group:
    """A turn of a history with many small files."""
    for number in range(3):
        records = [
            turn(f"e{number}", agent_answer="Nice.", source="chat"),
            {**PLAN, "plan_id": f"p{number}", "session_id": "other", "event_id": f"e{number}"},
        ]
        folded(ndjson(tmp_path / f"{number}.ndjson", records), history=tmp_path / "h")
    (first, *_) = history.undone(tmp_path / "h", AUTHOR, ["chat"])
    assert isinstance(first, Turn)
    return Group((first,))


@pytest.mark.parametrize("name", READS)
def test_rewritten_files_are_read_again(
    name: str, group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, read = tmp_path / "h", READS[name]
    expected = read(root, group)
    opened = 0

    def rewritten(*args: Any, **options: Any) -> DuckDBPyConnection:
        nonlocal opened
        opened += 1
        connection = connect(*args, **options)
        if opened == 1:
            maintenance.compact(root, retention_hours=0)
        return connection

    monkeypatch.setattr(history, "connect", rewritten)
    assert read(root, group) == expected
    assert opened == 2
