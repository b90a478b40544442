"""Turns whose message was edited, answered again or deleted are found as of earlier times alone: by
search, in the turns beside a hit, and in context packs; whenever the index was brought up to date.
"""

from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from schemas.base import MINUTE, format_time, parse_time
from streams.context import SECTIONS, PackRequest
from streams.context.load import context
from streams.files import file_runner
from streams.search import Query, search, update
from tests.command import ndjson, turn

START = parse_time("2026-03-01T09:00:00Z")
END = START + 60 * MINUTE
Json = dict[str, Any]


class Told(NamedTuple):
    """A message's versions, each with its time, and the times of its deletions."""

    versions: list[tuple[int, str]]
    deletions: list[int]

    def standing(self, at: int) -> set[str]:
        """The version that holds at a time, if any."""
        begun = [one for one in self.versions if one[0] <= at]
        deleted = max((one for one in self.deletions if one <= at), default=0)
        return {id for since, id in begun[-1:] if since > deleted}


def world(draw: Random) -> tuple[list[Told], list[Json]]:
    """Messages of a user's two sessions, and the records that say so, in any order."""
    told: list[tuple[str, Told]] = []
    records: list[Json] = []
    for number in range(14):
        at = START + number * MINUTE
        session, message = draw.choice(told) if told and draw.random() < 0.6 else ("", None)
        if message and draw.random() < 0.4:
            update_ = {"op": "retract", "event_id": draw.choice(message.versions)[1]}
            records.append(
                {
                    "type": "write_plan", "plan_id": f"p{number}", "user_id": "u",
                    "session_id": session, "occurred_at": format_time(at),
                    "extractor": {"name": "test"}, "event_updates": [update_],
                }
            )  # fmt: skip
            message.deletions.append(at)
            continue
        record = turn(f"e{number}", user_input=f"apples again {number}", agent_answer="Noted.")
        record["occurred_at"] = format_time(at)
        if message:
            record["replaces"] = draw.choice(message.versions)[1]
        else:
            session, message = draw.choice("st"), Told([], [])
            told.append((session, message))
        message.versions.append((at, f"e{number}"))
        records.append(record | {"session_id": session})
    draw.shuffle(records)
    return [message for _, message in told], records


def hits(history: Path, **more: Any) -> list[Any]:
    return search(history, "default", Query(text="apples", now=END, limit=100, **more)).hits


def recalled(history: Path, at: int) -> set[str]:
    asked = PackRequest(
        user_id="u", at=at, text="apples", max_tokens=10_000, sections=SECTIONS, format="text",
        count=len,
    )  # fmt: skip
    return {one.id for one in context(history, "default", asked).pack.items if one.kind == "event"}


@pytest.mark.parametrize("seed", range(8))
def test_only_what_stands_is_found(seed: int, tmp_path: Path) -> None:
    draw, history = Random(seed), tmp_path / "history"
    told, records = world(draw)
    cut = draw.randrange(len(records) + 1)
    for number, some in enumerate((records[:cut], records[cut:])):
        file_runner.run([str(ndjson(tmp_path / f"{number}.ndjson", some))], history)
        update(history, "default")
    for _ in range(2):
        stands = set().union(*(one.standing(END) for one in told))
        for at in (None, END):
            found = hits(history, as_of=at, neighbours=2)
            assert {one.id for one in found} == stands
            assert {turn.id for one in found for turn in one.neighbours} <= stands
        assert recalled(history, END) == stands
        for at in (START + 5 * MINUTE, START + 10 * MINUTE):  # of several retractions the latest
            stood = set().union(*(one.standing(at) for one in told))
            assert {one.id for one in hits(history, as_of=at)} >= stood
        update(history, "default", rebuild=True)


def test_a_turn_that_is_restored_is_found_again(tmp_path: Path) -> None:
    history = tmp_path / "history"
    for at, op in enumerate(("", "retract", "restore")):
        when = format_time(START + at * MINUTE)
        record = turn("e", user_input="apples", occurred_at=when)
        if op:
            record = {
                "type": "write_plan", "plan_id": op, "user_id": "u", "session_id": "s",
                "occurred_at": when, "extractor": {"name": "test"},
                "event_updates": [{"op": op, "event_id": "e"}],
            }  # fmt: skip
        file_runner.run([str(ndjson(tmp_path / f"{at}.ndjson", [record]))], history)
        assert [one.id for one in hits(history)] == ([] if op == "retract" else ["e"])


def test_what_another_user_retracts_stays(tmp_path: Path) -> None:
    plan = {
        "type": "write_plan", "plan_id": "p", "user_id": "other", "session_id": "s",
        "occurred_at": format_time(END), "extractor": {"name": "test"},
        "event_updates": [{"op": "retract", "event_id": "e"}],
    }  # fmt: skip
    file = ndjson(tmp_path / "one.ndjson", [turn("e", user_input="apples"), plan])
    file_runner.run([str(file)], tmp_path / "history")
    assert [one.id for one in hits(tmp_path / "history")] == ["e"]
