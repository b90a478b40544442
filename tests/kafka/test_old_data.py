"""A year of old turns poured into a live system: it changes only what docs/guarantees.md says."""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.base import DAY, format_time, parse_time
from sinks.digest import digest
from tests.acceptance import sgd
from tests.command import folded, ndjson, rows
from tests.kafka.working import Working, message
from tests.shared_data import SGD, shared

YEAR = 365 * DAY
LIVE, LATE_IN_LIVE = 600, 40
HOME = {"op": "upsert", "kind": "fact", "state_id": "home"}
encode = msgspec.json.Encoder().encode
Json = dict[str, Any]


def plan(plan_id: str, at: str, city: str) -> Json:
    return {
        "type": "write_plan", "plan_id": plan_id, "user_id": "user-0", "event_id": f"e-{plan_id}",
        "occurred_at": at, "extractor": {"name": "hand"},
        "state_updates": [{**HOME, "body_text": city, "valid_from": at}],
    }  # fmt: skip


def earlier(record: Json, **changes: Any) -> Json:
    """The same a year before."""
    at = format_time(parse_time(record["occurred_at"]) - YEAR)
    return {**record, "event_id": f"old-{record['event_id']}", "occurred_at": at, **changes}


def both() -> tuple[list[Json], list[Json]]:
    """What is said now, and what was a year before: in sessions of its own, by the same people, and
    some of it in sessions that go on."""
    now = list(islice(sgd.records(shared(*SGD)), LIVE))
    then = [earlier(one, session_id=f"old-{one['session_id']}") for one in now]
    late = [earlier(one, event_id=f"late-{one['event_id']}") for one in now[:LATE_IN_LIVE]]
    live = [*now, plan("now", "2026-01-10T00:00:00Z", "Oslo")]
    return live, [*then, *late, plan("then", "2025-01-10T00:00:00Z", "Rome")]


def pour(working: Working, *streams: list[Json]) -> None:
    """Sends all streams at once, some records at a time."""

    def send(records: list[Json]) -> int:
        for start in range(0, len(records), 50):
            working.send(message(encode(one)) for one in records[start : start + 50])
        return len(records)

    with ThreadPoolExecutor(len(streams)) as senders:
        list(senders.map(send, streams))
    working.sent = sum(map(len, streams))


def newest(working: Working, sessions: set[str]) -> dict[str, Json]:
    """The contexts of some sessions, but for intents, of which older ones may fill the room."""
    found = {key.decode().partition("/")[2]: one
             for key, one in working.newest("session-contexts").items()}  # fmt: skip
    return {name: {**one, "recent_intents": one["recent_intents"][-1:]}
            for name, one in found.items() if name in sessions}  # fmt: skip


def live_alone(tmp_path: Path, live: list[Json]) -> tuple[Path, dict[str, Json]]:
    """A history of what is said now alone, and its contexts."""
    history = tmp_path / "live"
    folded(ndjson(tmp_path / "live.ndjson", live), history=history)
    docs = rows(history, "SELECT session_id, doc ->> '$.context' FROM session_current")
    contexts = {name: msgspec.json.decode(context) for name, context in docs}
    return history, {
        name: {**one, "recent_intents": one["recent_intents"][-1:]}
        for name, one in contexts.items()
    }


def test_a_year_of_old_turns_and_live_ones_at_once(working: Working, tmp_path: Path) -> None:
    live, old = both()
    alone, contexts = live_alone(tmp_path, live)
    working.start()
    working.await_ready()
    pour(working, live, old)
    counts = working.await_done()
    assert counts["applied"] == counts["read"] == len(live) + len(old)

    together = tmp_path / "together"
    folded(ndjson(tmp_path / "together.ndjson", [*live, *old]), history=together)
    by_kafka = working.history(tmp_path / "by-kafka")
    assert digest(by_kafka)["memory"] == digest(together)["memory"]

    # whoever speaks now finds what stood before, whatever was poured in
    assert newest(working, set(contexts)) == contexts
    current = "SELECT body_text FROM state_current WHERE owner_id = 'user-0'"
    assert rows(by_kafka, current) == rows(alone, current) == [("Oslo",)]
    # and the past is known now, that was not
    then = "SELECT body_text FROM state_as_of(TIMESTAMPTZ '2025-06-01 00:00:00Z', NULL)"
    assert rows(alone, then) == []
    assert rows(by_kafka, then) == [("Rome",)]
    # a session that went on has its earlier turns first, and says so in revisions of its links
    added = LATE_IN_LIVE + LIVE
    assert len(rows(by_kafka, "FROM events")) == len(rows(alone, "FROM events")) + added


@pytest.mark.soak
def test_with_retention_a_year_of_old_turns_makes_the_same_memory(
    working: Working, tmp_path: Path
) -> None:
    live, old = both()
    _, contexts = live_alone(tmp_path, live)
    days = (time.time_ns() // 1000 - parse_time(live[0]["occurred_at"])) / DAY
    working.start("--retention-days", str(days + 2))  # what is live here is of last winter
    working.await_ready()
    pour(working, live[: LIVE // 2])
    working.await_done()
    first = working.sent
    pour(working, live[LIVE // 2 :], old)
    working.sent += first
    counts = working.await_done()
    assert counts["applied"] == counts["read"] == len(live) + len(old)
    together = tmp_path / "together"
    folded(ndjson(tmp_path / "together.ndjson", [*live, *old]), history=together)
    by_kafka = working.history(tmp_path / "by-kafka")
    assert digest(by_kafka)["memory"] == digest(together)["memory"]
    assert newest(working, set(contexts)) == contexts
    told = {key.decode().partition("/")[2]: one for key, one in working.newest("sessions").items()}
    assert set(contexts) <= {name for name, one in told.items() if one}
    assert not {name for name, one in told.items() if one and name.startswith("old-")}
    assert counts["sessions_cooled"] >= LIVE // 20
