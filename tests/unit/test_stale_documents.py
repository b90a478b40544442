"""`doctor` finds a history that shows an older document although it holds a newer one."""

from pathlib import Path

import pytest

from schemas.generated.history import Event, Profile, Session, Source, Task, stored
from sinks.delta import History
from sinks.tables import to_arrow
from streams.doctor.history import history, stale_documents

SOURCE = Source("default", 1, "turns", 0, 1)
EVENT = Event("e", "s", "u", None, None, "chat", 2, "hi", "yo", "done", None, None, None, None,
              None, None, (), None, None, "{}")  # fmt: skip


def row(table: str, at: int, version: int) -> Session | Task | Profile:
    if table == "sessions":
        return Session("s", "u", "active", None, 1, at, version, "{}")
    if table == "tasks":
        return Task("s", "t", "running", 0, 9, False, False, at, version, "{}")
    return Profile("u", at, version, "{}")


def written(root: Path, table: str, *documents: tuple[int, int]) -> Path:
    """A history with a turn at 2, and documents, each `updated_at` and `version`."""
    with History(root) as tables:
        tables.append("events", to_arrow("events", [stored(EVENT, SOURCE, 2)]), "a", 0)
        rows = [stored(row(table, *one), SOURCE, one[0]) for one in documents]
        tables.append(table, to_arrow(table, rows), "a", 0)
    return root


@pytest.mark.parametrize("table", ["sessions", "tasks", "profiles"])
def test_an_older_document_that_counts_as_the_newest_is_found(table: str, tmp_path: Path) -> None:
    root = written(tmp_path / "h", table, (2, 7), (1, 8))
    assert stale_documents(root) == {table: 1}
    (finding,) = [one for one in history(root) if one.check == "documents"]
    assert (finding.status, finding.found) == (
        "wrong",
        f"older than others of theirs: 1 in {table}",
    )


@pytest.mark.parametrize("table", ["sessions", "tasks", "profiles"])
def test_documents_in_any_order_whose_version_grows_are_right(table: str, tmp_path: Path) -> None:
    assert stale_documents(written(tmp_path / "h", table, (2, 8), (1, 7))) == {}


def test_a_session_whose_running_turn_ended_earlier_is_right(tmp_path: Path) -> None:
    assert stale_documents(written(tmp_path / "h", "sessions", (5, 7), (2, 8))) == {}
