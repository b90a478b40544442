"""What is read quickly is what is read slowly: the short cuts of `streams.reading`."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.time import HOUR, MINUTE, parse_time
from sinks.history import connect, read
from streams import reading
from streams.folds.constants import CONSTANTS
from streams.runtime import local
from streams.sample import CONVERSATIONS


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's history; nobody writes into it."""
    root = tmp_path_factory.mktemp("reading") / "history"
    local.run([str(CONVERSATIONS)], root)
    return root


def asked(root: Path, sql: str) -> list[dict[str, Any]]:
    with connect(root) as db:
        return read(db, sql).objects()


def test_one_day_of_expiry() -> None:
    assert CONSTANTS.session_expiry == 24 * HOUR


@pytest.mark.parametrize(
    ("later", "status"),
    [
        (0, "active"),
        (HOUR, "active"),
        (23 * HOUR + 59 * MINUTE, "active"),
        (24 * HOUR, "active"),
        (24 * HOUR + 1, "closed"),
        (25 * HOUR, "closed"),
        (47 * HOUR, "closed"),
        (1000 * HOUR, "closed"),
    ],
)
def test_a_session_now_is_the_session_as_of_now(history: Path, later: int, status: str) -> None:
    """The one looks for a turn in the files of the last days, the other folds all turns again."""
    (last,) = asked(history, "SELECT max(occurred_at) t FROM events WHERE session_id = 'yui-days'")
    now = parse_time(last["t"]) + later
    found = reading.session(history, "default", "yui-days", None, now)
    assert found["status"] == status
    assert found == reading.session(history, "default", "yui-days", now, now)


def test_why_of_everything_is_what_the_macro_says(history: Path) -> None:
    entities = asked(history, "SELECT DISTINCT entity_id FROM revisions ORDER BY 1")
    assert len(entities) > 10
    for entity_id in (one["entity_id"] for one in entities):
        slow = asked(history, f"SELECT * FROM why('{entity_id}')")
        for row in slow:
            for name in ("before", "after"):
                row[name] = None if row[name] is None else msgspec.json.decode(row[name])
        assert reading.why(history, "default", entity_id) == slow


def test_states_of_one_user_are_theirs_among_all(history: Path) -> None:
    at = parse_time("2026-03-20T00:00:00Z")
    everybody = reading.states(history, "default", None, at, None)
    owners = {one["owner_id"] for one in everybody}
    assert len(owners) > 1
    for owner in owners:
        theirs = [one for one in everybody if one["owner_id"] == owner]
        assert reading.states(history, "default", owner, at, None) == theirs
