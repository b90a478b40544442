"""What pages of the inspector show of bonds between turns, and how a state's plane is laid out."""

import pytest

from schemas.base import JsonObject
from streams.point_in_time import text_of
from streams.serving.inspector.bitemporal_chart import WIDTH, plane
from streams.serving.inspector.generations import sampled

THREAD = {"event_id": "e4", "thread_key": "moving", "session_id": "s", "confidence": 0.5}
LINK = {"from_event_id": "e4", "to_event_id": "e1", "label": "reply_to", "confidence": 1.0}
BONDS = [("thread", THREAD, "e4 → moving"), ("link", LINK, "e4 → e1 (reply_to)")]


@pytest.mark.parametrize(("kind", "document", "text"), BONDS)
def test_a_bond_is_told_in_words_and_not_as_json(
    kind: str, document: JsonObject, text: str
) -> None:
    assert text_of(kind, document) == text


@pytest.mark.parametrize(("kind", "key", "text"), BONDS)
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_sample_of_bonds_says_which_turns_they_are_of(
    kind: str, key: JsonObject, text: str, side: str
) -> None:
    sample = {"kind": kind, "key": key, "before": None, "after": None, side: {"confidence": 0.5}}
    (piece,) = sampled(sample)["diff"]
    assert piece.text == text
    assert sampled({**sample, "before": {"confidence": 1}, "after": {"confidence": 0}})["diff"]


def _revision(since: str, recorded: str, until: str | None = None) -> JsonObject:
    document = {"valid_from": since, "valid_to": until, "body_text": "Lives in Leeds."}
    return {"recorded_at": recorded, "before": None, "after": document}


def test_what_still_holds_has_room_for_its_text_however_late_it_began() -> None:
    early, late = "2026-03-02T00:00:00Z", "2026-03-13T17:00:00Z"
    drawn = plane([_revision(early, early), _revision(late, late)], now=2**60)
    assert drawn is not None
    old, new = drawn.rows[-1].bars
    assert new.open and new.width >= WIDTH // 5 and new.x + new.width == WIDTH
    assert old.x + old.width == new.x
    assert drawn.first == early and drawn.last > late, "times at both ends of what is drawn"


def test_what_has_ended_needs_no_room() -> None:
    early, late = "2026-03-02T00:00:00Z", "2026-03-13T00:00:00Z"
    drawn = plane([_revision(early, early, late)], now=2**60)
    assert drawn is not None
    (bar,) = drawn.rows[0].bars
    assert not bar.open and bar.width > 0.85 * WIDTH
