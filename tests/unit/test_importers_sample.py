"""The demo's data says what its page says it does: each line is a record, but for the bad one."""

import json
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.base import DAY, parse_time
from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.sample import CONVERSATIONS

BAD = "lin-algebra-1"
SECRET = "surprise party"
LINES = CONVERSATIONS.read_text(encoding="utf-8").splitlines()
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
TURNS = [record for record in RECORDS if record["type"] == "turn"]


def times(record: dict[str, Any]) -> int:
    """When a record is sent: an ended turn comes after the steps it ends."""
    return parse_time(record.get("recorded_at") or record["occurred_at"])


def steps(task_id: str) -> list[dict[str, Any]]:
    return [r for r in RECORDS if r["type"] == "recursion" and r["task_id"] == task_id]


@pytest.mark.parametrize("record", RECORDS)
def test_each_record_is_valid_but_for_the_bad_one(record: dict[str, Any]) -> None:
    model = RECORD_TYPES[record["type"]]
    if record.get("event_id") == BAD:
        with pytest.raises(ValidationError, match=r"metadata.correct_rate"):
            model.model_validate(upcast(dict(record)))
    else:
        assert model.model_validate(upcast(dict(record))).model_extra == {}


def test_two_weeks_in_time_order_of_three_users() -> None:
    sent = [times(record) for record in RECORDS]
    assert sent == sorted(sent)
    assert 10 * DAY < sent[-1] - sent[0] <= 15 * DAY
    assert {turn["user_id"] for turn in TURNS} == {"emma", "lin", "yui"}
    assert 60 <= len(RECORDS) <= 80


def test_nobody_wrote_its_memory_by_hand() -> None:
    """Turns, and what agents did: facts, feelings and session memory come from the rules."""
    assert {record["type"] for record in RECORDS} == {"turn", "recursion", "tool_result"}
    written = {"affect", "observations", "subject", "object", "summary", "observed_affect"}
    assert [turn["event_id"] for turn in TURNS if written & turn.keys()] == []


def test_one_line_is_sent_twice() -> None:
    assert [n for n in Counter(LINES).values() if n > 1] == [2]


def test_the_secret_stands_in_the_meta_request_alone() -> None:
    holding = [record for record in RECORDS if SECRET in json.dumps(record)]
    assert [record["source"] for record in holding] == ["meta_request"]
    after = TURNS[TURNS.index(holding[0]) + 1]
    assert after["source"] == "meta_proactive" and after["session_id"] == holding[0]["session_id"]
