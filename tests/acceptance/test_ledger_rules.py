"""The ledger told in natural Japanese, through the rules and the file runner alone: what it holds.

Each turn is folded, and behind it the plan that the rules make of it. An entry comes out right when
the user's states or preferences hold its value right after its turn and no longer hold what it
replaces; nothing that the ledger does not say may be held.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from duckdb import DuckDBPyConnection

from schemas.base import JsonObject
from schemas.events import Turn
from sinks.history import connect
from streams.extractors import rules
from streams.files import local
from tests.acceptance import ledger, ledger_text
from tests.command import ndjson
from tests.conftest import LEDGER
from tests.shared_data import shared

STATES = """
SELECT payload ->> '$.value' FROM state_as_of(?::TIMESTAMPTZ, NULL)
WHERE owner_id = ? AND kind <> 'long_mood_state'
"""
REVISIONS = """
SELECT entity_id, after, before, reason, evidence_event_ids FROM revisions
WHERE entity_type = ? AND owner_id = ? AND occurred_at <= ?::TIMESTAMPTZ
ORDER BY occurred_at, plan_id, ordinal
"""


def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ledger.ledger(shared(*LEDGER))["ledger"]
    return found


def turns() -> Iterator[JsonObject]:
    """The ledger's 95 turns with the natural texts."""
    raw = ledger.ledger(shared(*LEDGER))
    kinds = raw["turns_per_session"]
    records = (one for one in ledger.records(shared(*LEDGER)) if one["type"] == "turn")
    for count, turn in enumerate(records):
        session, number = count // len(kinds) + 1, count % len(kinds) + 1
        told = [entry for entry in raw["ledger"] if entry["session"] <= session]
        feeling = raw["mood_by_session"][str(session)]
        said = ledger_text.texts(session, number, kinds[number - 1], told, feeling)
        turn.pop("affect", None)
        yield turn | {"user_input": said[0], "agent_answer": said[1]}


def records() -> Iterator[JsonObject]:
    """Each turn, and behind it the plan that the rules make of it."""
    for turn in turns():
        yield turn
        plan = rules.extract(Turn.model_validate(turn))
        if plan:
            yield plan


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ledger-rules")
    counts = local.run([str(ndjson(folder / "in.ndjson", list(records())))], folder / "history")
    assert counts["dead"] == 0
    return folder / "history"


@pytest.fixture(scope="module")
def db(run: Path) -> Iterator[DuckDBPyConnection]:
    with connect(run) as connection:
        yield connection


def held(db: DuckDBPyConnection, at: str) -> set[str]:
    """What the user's states and confirmed preferences say at a time."""
    states = {value for (value,) in db.execute(STATES, [at, ledger.USER]).fetchall()}
    changes = db.execute(REVISIONS, ["preference", ledger.USER, at]).fetchall()
    latest = {entity: msgspec.json.decode(after) for entity, after, *_ in changes}
    return states | {one["subject"] for one in latest.values() if one["status"] == "confirmed"}


def last_instant(day: date) -> str:
    return f"{day}T23:59:59.999999Z"


@pytest.fixture(scope="module")
def held_by_date(db: DuckDBPyConnection) -> dict[date, set[str]]:
    days = {date.fromisoformat(entry["date"]) for entry in entries()}
    return {day: held(db, last_instant(day)) for day in days}


def test_on_each_date_memory_holds_what_is_true_and_nothing_else(
    held_by_date: dict[date, set[str]],
) -> None:
    truth = ledger.truth(shared(*LEDGER))
    for day, values in held_by_date.items():
        assert values == set(truth[day].values()), day


def test_all_entries_come_out_right(held_by_date: dict[date, set[str]]) -> None:
    """23 facts and corrections (15 and 8) of the ledger."""
    right = [
        entry
        for entry in entries()
        if entry["value"] in (values := held_by_date[date.fromisoformat(entry["date"])])
        and entry["replaces"] not in values
    ]
    assert len(right) == len(entries()) == 23


def test_each_correction_has_a_revision_from_before_to_after_with_its_turn_as_evidence(
    db: DuckDBPyConnection,
) -> None:
    end = last_instant(max(ledger.truth(shared(*LEDGER))))
    rows = [
        row
        for kind in ("state", "preference")
        for row in db.execute(REVISIONS, [kind, ledger.USER, end]).fetchall()
    ]
    for entry in entries():
        if entry["op"] != "correct":
            continue
        evidence = ledger.event_id(entry["session"], 2)
        changes = [
            (before, after)
            for _, after, before, _, events in rows
            if events == [evidence] and before and entry["replaces"] in before
        ]
        assert changes, entry
        state, revoked = entry["value"], '"status":"revoked"'
        assert any(state in after or revoked in after for _, after in changes), entry


def test_nothing_but_the_telling_turns_makes_a_plan() -> None:
    """Not what friends like, what the answers show, or what is confirmed, asked or felt."""
    silent = [
        turn["user_input"]
        for turn in turns()
        if not turn["event_id"].endswith("-2") and rules.extract(Turn.model_validate(turn))
    ]
    assert silent == []
