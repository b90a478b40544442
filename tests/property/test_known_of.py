"""A user's past is one: what the records up to then make, of those recorded by then."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from schemas.time import format_time, parse_time
from streams import history_documents
from streams.errors import DataRefused
from streams.files import file_runner
from tests.command import ndjson

START = parse_time("2026-01-01T00:00:00Z")
HOUR = 3_600_000_000


def plans(chance: Random) -> list[dict[str, Any]]:
    """Likes said, confirmed and revoked; what is told late changes what was said earlier."""
    made, recorded = [], START
    for number in range(chance.randint(2, 30)):
        recorded += chance.randint(0, 3) * HOUR
        plan: dict[str, Any] = {
            "type": "write_plan", "plan_id": f"p{number}", "user_id": "u",
            "event_id": f"e{number}", "extractor": {"name": "test", "version": "1"},
            "occurred_at": format_time(START + chance.randint(0, 60) * HOUR),
            "recorded_at": format_time(recorded),
        }  # fmt: skip
        subject = chance.choice(["tea", "coffee", "trains"])
        if chance.random() < 0.2:
            plan["ends"] = [{"families": ["like"], "value": subject}]
        else:
            plan["preference_updates"] = [{
                "op": chance.choice(["upsert_candidate", "confirm", "confirm", "revoke"]),
                "domain": "d", "polarity": chance.choice(["like", "dislike"]), "subject": subject,
                "confidence": chance.choice([0.5, 0.9]),
            }]  # fmt: skip
        made.append(plan)
    return made


def likes(folder: Path, records: list[dict[str, Any]]) -> list[Any]:
    """What stands in a history of these records alone."""
    file_runner.run([str(ndjson(folder / "part.ndjson", records))], folder / "part")
    try:
        found: list[Any] = history_documents.user(folder / "part", "default", "u")["preferences"]
    except DataRefused:
        return []
    return by_id(found)


def by_id(preferences: list[Any]) -> list[Any]:
    return sorted(preferences, key=lambda one: one["preference_id"])


@pytest.mark.parametrize("seed", range(6))
def test_likes_of_a_past_time_are_those_of_its_records_alone(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    records = plans(chance)
    root = tmp_path / "all"
    file_runner.run([str(ndjson(tmp_path / "all.ndjson", records))], root)
    for n in range(2):
        at = START + chance.randint(0, 60) * HOUR
        known_at = chance.choice([None, START + chance.randint(0, 50) * HOUR])
        early = [
            one for one in records
            if parse_time(one["occurred_at"]) <= at
            and (known_at is None or parse_time(one["recorded_at"]) <= known_at)
        ]  # fmt: skip
        folder = tmp_path / str(n)
        folder.mkdir()
        expected = likes(folder, early) if early else []
        known = history_documents.memory_as_of(root, "default", "u", at, known_at)
        assert by_id(known["preferences"]) == expected
        if known_at is None and expected:
            assert (
                by_id(history_documents.user(root, "default", "u", at)["preferences"]) == expected
            )
