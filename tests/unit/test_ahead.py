"""A record from the future is refused by every log alike: it would be the latest until that time
comes, and then change memory by itself."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.base import HOUR, MINUTE, SECOND, parse_time
from schemas.time import format_time
from streams.files.fold_batch import Applier
from streams.files.store import Store
from streams.folds.constants import Rules
from streams.kafka.agents.memory_agent import MemoryAgent
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.transport.rows import MemoryRows
from streams.pipeline.clock_ahead import MOST
from streams.pipeline.decode import decode
from streams.record_kinds import kind_by_fields
from tests.kafka.test_agents import Record
from tests.unit.test_kinds import RECORDS

YEAR_2099 = parse_time("2099-01-01T00:00:00Z")
NOW = parse_time("2026-03-01T12:00:00Z")
"""When the log takes a record, where that is given with it."""
LOGS = ("a file", "a server's log", "a topic")

kinds = pytest.mark.parametrize("kind", RECORDS)
logs = pytest.mark.parametrize("log", LOGS)


@pytest.fixture
def applier(tmp_path: Path) -> Iterator[Applier]:
    store = Store(tmp_path / "store")
    yield Applier(store, Rules())
    store.close()


def given(kind: str, at: int, **more: Any) -> bytes:
    return json.dumps(RECORDS[kind] | {"occurred_at": format_time(at)} | more).encode()


def taken(log: str, applier: Applier, line: bytes, now: int = NOW) -> tuple[str, str | None]:
    """What a record ends as that a log takes at a time, and why."""
    if log == "a topic":
        return _taken_by_a_lane(line, now)
    (outcome,) = applier.apply([(line, ("x", 0, 1))], now if log == "a server's log" else None)
    return outcome.ending, outcome.detail


def _taken_by_a_lane(line: bytes, now: int) -> tuple[str, str | None]:
    said = json.loads(line)
    kind = kind_by_fields(said["type"], said.get("scope"))
    assert kind is not None
    agent: Any = SessionAgent(0, MemoryRows(), 1, None, Rules())
    if kind.table == "users":
        agent = MemoryAgent(0, MemoryRows(), 1, Rules())
    key = f"default/{said[kind.owner]}".encode()
    batch = agent.process([Record(kind.topic, 0, key, line, timestamp=now // 1000)])
    letters = [json.loads(one.value or b"") for one in batch.outputs if one.topic == "dead-letters"]
    ending = "applied" if agent.counts["applied"] else "dead"
    return ending, letters[0]["detail"] if letters else None


@kinds
@logs
@pytest.mark.parametrize("ahead", [MOST + SECOND, 5 * HOUR, "2099"])
def test_a_record_that_is_ahead_becomes_a_dead_letter(
    applier: Applier, kind: str, log: str, ahead: int | str
) -> None:
    now = time.time_ns() // 1000 // MINUTE * MINUTE + MINUTE if log == "a file" else NOW
    at = YEAR_2099 if isinstance(ahead, str) else now + ahead
    ending, detail = taken(log, applier, given(kind, at), now)
    assert ending == "dead"
    assert detail and detail.startswith("occurred_at: more than 15 minutes ahead of the log's")


@kinds
@logs
def test_clocks_may_differ_a_little(applier: Applier, kind: str, log: str) -> None:
    now = time.time_ns() // 1000 // MINUTE * MINUTE if log == "a file" else NOW
    ending, _ = taken(log, applier, given(kind, now + MOST - MINUTE), now)
    assert ending == "applied"


@kinds
def test_what_a_file_says_of_its_log_is_bounded_too(applier: Applier, kind: str) -> None:
    line = given(kind, NOW, recorded_at=format_time(YEAR_2099))
    ending, detail = taken("a file", applier, line)
    assert ending == "dead" and detail and detail.startswith("recorded_at: more than 15 minutes")


@kinds
@pytest.mark.parametrize("log", LOGS[1:])
def test_elsewhere_it_is_the_log_that_says_it(applier: Applier, kind: str, log: str) -> None:
    line = given(kind, NOW, recorded_at=format_time(YEAR_2099))
    assert taken(log, applier, line)[0] == "applied"


@kinds
def test_the_letter_is_dated_by_the_log(applier: Applier, kind: str) -> None:
    """Its own time is what is wrong with it."""
    taken("a server's log", applier, given(kind, YEAR_2099))
    (letter,) = applier.take_rows()["dead_letters"]
    assert YEAR_2099 not in letter and NOW in letter


@kinds
def test_records_of_the_history_are_folded_again_whatever_their_time(
    applier: Applier, kind: str
) -> None:
    """An earlier version has taken them."""
    line, place = given(kind, YEAR_2099), ("x", 0, 1)
    found = decode(line, place)
    (outcome,) = applier.apply([(line, place)], None, [found])  # type: ignore[list-item]
    assert outcome.ending == "applied"


def test_of_what_may_be_withheld_nothing_is_kept(applier: Applier) -> None:
    line = given("turn", YEAR_2099, user_input="a meta_request, they say")
    assert taken("a server's log", applier, line)[0] == "dead"
    (letter,) = applier.take_rows()["dead_letters"]
    assert "they say" not in str(letter)
