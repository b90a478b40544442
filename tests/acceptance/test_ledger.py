"""Ninety days of facts and corrections: what held on each date, why, and as known when."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.base import DAY, HOUR, format_time, parse_time
from sinks.history import connect
from streams import history_documents, history_lists
from streams.files import file_runner
from tests.acceptance import ledger
from tests.command import ndjson
from tests.conftest import LEDGER
from tests.shared_data import shared

pytestmark = pytest.mark.nightly

AS_OF = (
    "SELECT payload, body_text FROM state_as_of(?::TIMESTAMPTZ, ?::TIMESTAMPTZ) "
    "WHERE kind = 'fact' AND owner_id = ?"
)


def entries(op: str) -> list[dict[str, Any]]:
    found = ledger.ledger(shared(*LEDGER))["ledger"]
    return [entry for entry in found if entry["op"] == op]


def told_at(entry: dict[str, Any]) -> int:
    """When the entry's plan was made: what `records` gave it."""
    plan = f"ledger-{entry['session']:02}-{entry['key']}"
    made = ledger.records(shared(*LEDGER))
    return next(parse_time(one["occurred_at"]) for one in made if one.get("plan_id") == plan)


def last_instant(day: date) -> str:
    return f"{day}T23:59:59.999999Z"


def held(db: Any, valid_at: str, known_at: str | None = None) -> dict[str, str]:
    """key -> value; the same key twice would be two truths at once."""
    found = db.execute(AS_OF, [valid_at, known_at, ledger.USER]).fetchall()
    assert len(found) == len({payload for payload, _ in found})
    return {msgspec.json.decode(payload)["key"]: text for payload, text in found}


def test_the_state_of_every_date_is_the_truth(ledger_run: Path) -> None:
    truth = ledger.truth(shared(*LEDGER))
    assert len(truth) == 91
    with connect(ledger_run / "history") as db:
        assert {day: held(db, last_instant(day)) for day in truth} == truth


def test_reading_the_state_by_dates_gives_the_truth(ledger_run: Path) -> None:
    truth = ledger.truth(shared(*LEDGER))
    for day in list(truth)[::10]:
        moment = history_documents.parse_moment(str(day))
        assert moment is not None
        found = history_documents.states(
            ledger_run / "history", "default", ledger.USER, moment, None
        )
        facts = [one for one in found if one["kind"] == "fact"]
        assert {one["payload"]["key"]: one["body_text"] for one in facts} == truth[day]


def test_before_the_first_date_nothing_held(ledger_run: Path) -> None:
    first = min(ledger.truth(shared(*LEDGER)))
    with connect(ledger_run / "history") as db:
        assert held(db, last_instant(first - timedelta(days=1))) == {}


def test_each_correction_has_a_revision_with_before_after_and_evidence(ledger_run: Path) -> None:
    corrections = entries("correct")
    assert len(corrections) == 8
    for entry in corrections:
        evidence = ledger.event_id(entry["session"], 2)
        found = history_lists.why(ledger_run / "history", "default", ledger.state_id(entry["key"]))
        of_it = [row for row in found if row["evidence_event_id"] == evidence]
        replaced = [
            row
            for row in of_it
            if row["before"]
            and row["after"]
            and row["before"]["body_text"] == entry["replaces"]
            and row["after"]["body_text"] == entry["value"]
        ]
        assert replaced, (entry, [(row["op"], row["before"], row["after"]) for row in of_it])
        assert replaced[0]["reason"] == "the user corrected it"
        assert entry["value"] in replaced[0]["user_input"], "the evidence has its text"


def test_guarantee_4_no_revision_is_without_evidence_or_change(ledger_run: Path) -> None:
    with connect(ledger_run / "history") as db:
        sql = "SELECT before, after, evidence_event_ids, reason FROM revisions"
        found = db.execute(sql).fetchall()
    assert len(found) >= len(entries("add")) + len(entries("correct")) + 18
    assert all(evidence and before != after for before, after, evidence, _ in found)


def test_known_at_shows_what_had_been_learnt_by_then(ledger_run: Path) -> None:
    truth = ledger.truth(shared(*LEDGER))
    end = last_instant(max(truth))
    with connect(ledger_run / "history") as db:
        for day, expected in truth.items():
            assert held(db, end, last_instant(day)) == expected, day
        for entry in entries("correct"):
            at, day = told_at(entry), date.fromisoformat(entry["date"])
            before = held(db, last_instant(day), format_time(at - 1))
            after = held(db, last_instant(day), format_time(at))
            assert before[entry["key"]] == entry["replaces"]
            assert after[entry["key"]] == entry["value"]


def test_a_correction_of_the_past_shows_from_the_time_it_was_learnt(tmp_path: Path) -> None:
    records = list(ledger.records(shared(*LEDGER)))
    late = {
        "type": "write_plan",
        "plan_id": "late",
        "user_id": ledger.USER,
        "event_id": ledger.event_id(19, 2),
        "occurred_at": "2026-05-08T00:00:00Z",
        "extractor": {"name": "ledger"},
        "state_updates": [
            {
                "kind": "fact",
                "state_id": ledger.state_id("P02"),
                "body_text": "麦茶",
                "reason": "it was never 炭酸水",
            }
        ],
    }
    file = ndjson(tmp_path / "records.ndjson", [*records, late])
    file_runner.run([str(file)], tmp_path / "history")
    with connect(tmp_path / "history") as db:
        then = "2026-05-01T00:00:00Z"
        assert held(db, then)["P02"] == "麦茶"
        assert held(db, then, "2026-05-07T23:59:59Z")["P02"] == "炭酸水"
        assert held(db, "2026-04-01T00:00:00Z")["P02"] == "緑茶", "the time before it stands"


def felt() -> list[tuple[int, float]]:
    """(time, valence) of each session's feeling, from the records."""
    made = ledger.records(shared(*LEDGER))
    moments = [one for one in made if "affect" in one]
    return [(parse_time(one["occurred_at"]), one["affect"]["vad"]["v"]) for one in moments]


def valences(moments: list[tuple[int, float]], sure: float) -> list[tuple[float, float, float]]:
    """(baseline, shock, half-life in hours) after each moment: docs/rules.md, Affect, v alone.

    The greatest distance of the three axes gives the half-life, so this holds for the moments in
    which that axis is v (the caller picks them).
    """
    baseline, shock, hours, last = moments[0][1], 0.0, 1.0, moments[0][0]
    made = [(baseline, shock, hours)]
    for at, moment in moments[1:]:
        passed = (at - last) / HOUR
        baseline += (moment - baseline) * (1 - 0.5 ** (passed / 24)) * sure
        severity = abs(moment - baseline) / 2
        shock *= 0.5 ** (passed / hours)
        shock += (moment - baseline - shock) * (0.6 + 0.3 * severity) * sure
        hours, last = 1 + 23 * severity**2, at
        made.append((baseline, shock, hours))
    return made


def valence(history: Path, at: int) -> float:
    mood = history_documents.user(history, "default", ledger.USER, at)["mood"]
    return float(mood["vad"]["v"])


def test_the_mood_rises_and_falls_with_the_feelings(ledger_run: Path) -> None:
    moments = felt()
    assert len(moments) == 18
    before, after = 0.0, valence(ledger_run / "history", moments[0][0])
    for number, (at, moment) in enumerate(moments):
        if number:
            before, after = (valence(ledger_run / "history", time) for time in (at - 1, at))
        assert after * moment > 0, (format_time(at), moment, after)
        assert abs(moment - after) < abs(moment - before), "each draws the mood towards itself"


def test_the_mood_s_shock_fades_when_it_is_read(ledger_run: Path) -> None:
    history = ledger_run / "history"
    expected = valences(felt(), 0.8)
    at = felt()[4][0]
    baseline, shock, hours = expected[4]  # a dejection after joy: v moved the furthest
    assert valence(history, at) == pytest.approx(baseline + shock, abs=1e-5)
    half = int(hours * HOUR)
    now, later, last = (valence(history, at + time) for time in (0, half, 4 * DAY))
    assert (later - last) / (now - last) == pytest.approx(0.5, abs=1e-5)
    assert last == pytest.approx(baseline, abs=1e-5)
    assert now < later < last < 0
