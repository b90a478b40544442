"""One event id in two sessions, of two people: no view mixes them (docs/rules.md, One event)."""

from pathlib import Path
from typing import Any

import pytest

from streams.files import file_runner
from tests.command import ndjson, rows, turn

FEELING = {"text": "", "vad": {"v": 0.5, "a": 0, "d": 0}, "confidence": 1}


def said(session: str, user: str, event: str, minute: int, **fields: Any) -> dict[str, Any]:
    at = f"2026-01-01T00:{minute:02}:00Z"
    text = f"{event} of {user}"
    return turn(event, session_id=session, user_id=user, occurred_at=at, user_input=text, **fields)


def plan(user: str, session: str | None, **fields: Any) -> dict[str, Any]:
    made = {
        "type": "write_plan", "plan_id": f"p-{user}", "user_id": user, "event_id": "e2",
        "occurred_at": "2026-01-02T00:00:00Z", "extractor": {"name": "hand"},
    }  # fmt: skip
    return made | ({"session_id": session} if session else {}) | fields


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ann in `s1` and Bob in `s2`, both with e1, e2 and e3; Ann's plan names her session, Bob's
    none."""
    folder = tmp_path_factory.mktemp("one-id")
    records = [
        said(session, user, event, minute, affect=FEELING)
        for session, user in (("s1", "ann"), ("s2", "bob"))
        for minute, event in enumerate(("e1", "e2", "e3"))
    ]
    for user, session in (("ann", "s1"), ("bob", None)):
        state = {"op": "upsert", "kind": "fact", "state_id": f"f-{user}", "body_text": "x"}
        thread = {"op": "put", "thread_key": "trip", "event_id": "e2"}
        link = {"op": "put", "from_event_id": "e3", "to_event_id": "e1", "label": "reply_to"}
        graph = {"threads": [thread], "links": [link]}
        records.append(plan(user, session, state_updates=[state], context_updates=graph))
    file_runner.run([str(ndjson(folder / "records.ndjson", records))], folder / "history")
    return folder / "history"


def test_each_person_has_their_own_moments(history: Path) -> None:
    found = rows(history, "SELECT user_id, count(*) FROM affect_current GROUP BY ALL ORDER BY 1")
    assert found == [("ann", 3), ("bob", 3)]


def test_a_plans_reply_hides_the_guess_in_its_own_session(history: Path) -> None:
    sql = """SELECT owner_id, from_event_id, to_event_id, provisional FROM link_current
        ORDER BY owner_id, from_event_id"""
    assert rows(history, sql) == [
        ("ann", "e3", "e1", False), ("bob", "e3", "e1", False),
        ("s1", "e2", "e1", True), ("s2", "e2", "e1", True),
    ]  # fmt: skip


def test_a_chain_of_replies_stays_in_its_session(history: Path) -> None:
    found = rows(history, "SELECT depth, session_id, event_id FROM reply_chain('e3')")
    assert found == [(0, "s1", "e3"), (1, "s1", "e1"), (0, "s2", "e3"), (1, "s2", "e1")]


def test_a_thread_shows_each_owners_event(history: Path) -> None:
    found = rows(history, "SELECT owner_id, session_id, user_input FROM thread('trip')")
    assert found == [("ann", "s1", "e2 of ann"), ("bob", "s2", "e2 of bob")]


@pytest.mark.parametrize("user", ["ann", "bob"])
def test_why_quotes_the_owners_event(history: Path, user: str) -> None:
    found = rows(history, f"SELECT evidence_event_id, user_input FROM why('f-{user}')")
    assert found == [("e2", f"e2 of {user}")]
