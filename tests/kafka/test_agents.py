"""The agents without a broker: what a batch is, and what is left of one that did not stand."""

import random
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
import pytest
from aiokafka.partitioner import DefaultPartitioner

from schemas.base import DAY, format_time, parse_time
from streams.errors import ConfigurationError
from streams.extractors.rules import VERSION
from streams.folds.constants import Rules
from streams.folds.outcome import WAITS
from streams.kafka.agents.memory_agent import MemoryAgent
from streams.kafka.agents.outcomes import outcomes_of
from streams.kafka.agents.retention import AT_ONCE
from streams.kafka.agents.session_agent import COLD_BYTES, SessionAgent
from streams.kafka.client.partitions import partition_of
from streams.kafka.transport.interfaces import Batch, Output, Row
from streams.kafka.transport.rows import MemoryRows
from streams.pipeline.entity import COLD
from tests.command import turn

START = parse_time("2026-01-01T00:00:00Z")
NOW_MS = START // 1000 + 400 * DAY // 1000  # the broker's clock: later than all that is said
RETENTION = 30 * DAY
encode = msgspec.json.Encoder().encode
decode = msgspec.json.decode


class Record(NamedTuple):
    """A record as the broker gives it."""

    topic: str
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()
    timestamp: int = NOW_MS
    partition: int = 0


def turns(first: int, *said: dict[str, Any]) -> list[Record]:
    return [
        Record("turns", first + number, f"default/{one['session_id']}".encode(), encode(one))
        for number, one in enumerate(said)
    ]


def on(day: float, event_id: str, **fields: Any) -> dict[str, Any]:
    return turn(event_id, occurred_at=format_time(START + int(day * DAY)), **fields)


def of(batch: Batch, topic: str) -> list[Output]:
    return [one for one in batch.outputs if one.topic == topic]


def hops(batch: Batch, first: int = 0) -> list[Record]:
    """What the session agent says of users, as the memory agent gets it."""
    return [
        Record("user-signals", first + number, one.key, one.value, one.headers)
        for number, one in enumerate(of(batch, "user-signals"))
    ]


def test_a_batch_that_was_aborted_is_done_again_alike() -> None:
    agent = SessionAgent(0, MemoryRows(), 1, None, Rules())
    agent.process(turns(0, on(0, "a")))
    agent.committed()
    records = turns(1, on(1, "b"), on(2, "c", session_id="other"), on(1, "b"))
    first = agent.process(records)
    agent.rolled_back()
    again = agent.process(records)
    assert again == first
    assert again.note["counts"] == {"read": 4, "applied": 3, "duplicate": 1}


def test_the_cpu_time_of_each_record_is_charged() -> None:
    agent, charged = SessionAgent(0, MemoryRows(), 1, None, Rules()), []
    agent.charge = lambda message, seconds: charged.append((message, seconds > 0))
    records = turns(0, on(0, "a"), on(1, "b"), on(1, "b"))
    agent.process(records)
    assert charged == [(record, True) for record in records]


def test_rows_restored_go_on_as_those_that_stayed() -> None:
    stayed = SessionAgent(0, MemoryRows(), 1, RETENTION, Rules())
    changelog: list[Row] = []
    for number in range(5):
        batch = stayed.process(turns(number, on(number, f"e{number}")))
        stayed.committed()
        changelog += batch.changelog
    restored = SessionAgent(0, MemoryRows(), 1, RETENTION, Rules())
    restored.restore(changelog)
    restored.restored(batch.note)
    last = turns(5, on(5, "e5"), on(1, "e1"))
    assert restored.process(last) == stayed.process(last)


def test_every_output_has_a_place_of_its_own() -> None:
    batch = SessionAgent(0, MemoryRows(), 1, None, Rules()).process(
        turns(0, on(0, "a", task_id="t"), on(1, "b"))
    )
    places = [
        (*map(tuple, one.headers[-4:]), one.topic)
        for one in batch.outputs
        if one.topic != "history"
    ]
    rows = [tuple(map(tuple, one.headers[-4:])) for one in of(batch, "history")]
    assert len(set(rows)) == len(rows)
    assert len(set(places)) == len(places)
    tables = [dict(one.headers)["table"] for one in of(batch, "history")]
    assert tables.count(b"events") == 2
    assert tables.count(b"sessions") == 1  # the newest document of the batch alone


def at(day: float, records: list[Record]) -> list[Record]:
    """The same, taken by the broker on that day."""
    return [one._replace(timestamp=(START + int(day * DAY)) // 1000) for one in records]


def ended(batch: Batch) -> set[tuple[str, bytes | None]]:
    """What gets a tombstone."""
    return {(one.topic, one.key) for one in batch.outputs if one.value is None}


def documents(batch: Batch) -> set[tuple[str, bytes | None]]:
    """What gets a new document in a compacted topic."""
    names = ("sessions", "session-contexts", "tasks")
    return {(one.topic, one.key) for one in batch.outputs if one.value and one.topic in names}


OLD = {("sessions", b"default/old"), ("session-contexts", b"default/old"),
       ("tasks", b"default/old/t/1")}  # fmt: skip


def with_an_old_session(kept: MemoryRows) -> SessionAgent:
    agent = SessionAgent(0, kept, 1, RETENTION, Rules())
    step = {"type": "recursion", "session_id": "old", "task_id": "t/1", "trace_id": "r",
            "iteration_index": 0, "action": {"action_type": "REFLECT"},
            "occurred_at": format_time(START)}  # fmt: skip
    agent.process(at(0, [
        *turns(0, on(0, "a", session_id="old"), on(0, "k", session_id="kept")),
        Record("recursions", 0, b"default/old", encode(step)),
    ]))  # fmt: skip
    agent.committed()
    agent.process(at(20, turns(2, on(20, "l", session_id="kept"))))
    agent.committed()
    return agent


def test_sessions_past_their_retention_end_with_a_tombstone_and_become_one_row() -> None:
    kept = MemoryRows()
    agent = with_an_old_session(kept)
    new = at(45, turns(3, on(45, "new", session_id="new")))
    batch = agent.process(new)
    assert ended(batch) == OLD
    assert set(kept.read(b"s\0default\0old")) != {COLD}
    agent.rolled_back()
    batch = agent.process(new)
    agent.committed()
    assert ended(batch) == OLD
    assert list(kept.read(b"s\0default\0old")) == [COLD]
    assert COLD not in kept.read(b"s\0default\0kept")
    rows = [key.split(b"\0")[2] for key, value in batch.changelog if value is None]
    assert set(rows) == {b"old"}
    assert batch.note["counts"]["sessions_cooled"] == 1
    again = agent.process(at(46, turns(4, on(46, "n2", session_id="new"))))
    assert ended(again) == set()


def test_a_session_that_comes_back_continues_and_is_told_of_whole() -> None:
    kept = MemoryRows()
    agent = with_an_old_session(kept)
    agent.process(at(45, turns(3, on(45, "new", session_id="new"))))
    agent.committed()
    batch = agent.process(at(46, turns(4, on(46, "back", session_id="old"))))
    agent.committed()
    assert documents(batch) == OLD
    (document,) = [decode(one.value or b"") for one in of(batch, "sessions")]
    assert [one["task_id"] for one in document["conversations"]] == ["a", "back"]
    assert [dict(one.headers)["table"] for one in of(batch, "history")].count(b"tasks") == 0
    assert COLD not in kept.read(b"s\0default\0old")
    links = [decode(one.value or b"") for one in of(batch, "links")]
    assert [(one["from_event_id"], one["to_event_id"]) for one in links] == [("back", "a")]


def test_a_record_of_a_cold_session_said_again_is_a_duplicate_and_opens_nothing() -> None:
    kept = MemoryRows()
    agent = with_an_old_session(kept)
    agent.process(at(45, turns(3, on(45, "new", session_id="new"))))
    agent.committed()
    batch = agent.process(at(46, turns(4, on(0, "a", session_id="old"))))
    agent.committed()
    assert (batch.outputs, batch.changelog) == ([], [])
    assert batch.note["counts"]["duplicate"] == 1
    assert list(kept.read(b"s\0default\0old")) == [COLD]


def test_a_session_that_began_long_ago_is_applied_and_stored_cold_at_once() -> None:
    """As where a year of old turns is poured in: it leaves no document to be ended later."""
    agent = SessionAgent(0, MemoryRows(), 1, RETENTION, Rules())
    for number in range(2):
        late = turns(number, on(3, f"late{number}", session_id="old", topic="algebra"))
        batch = agent.process(at(100, late))
        agent.committed()
        assert {dict(one.headers)["table"] for one in of(batch, "history")} >= {b"events"}
        assert len(of(batch, "user-signals")) == 1
        assert documents(batch) == set()
    assert batch.note["counts"] == {"read": 2, "applied": 2, "sessions_cooled": 1}
    assert [key for key, _ in batch.changelog] == [b"s\0default\0old\0z"]


def test_one_wrong_date_expires_nobody() -> None:
    agent = SessionAgent(0, MemoryRows(), 1, RETENTION, Rules())
    agent.process(at(0, turns(0, on(0, "a"))))
    agent.committed()
    batch = agent.process(at(1, turns(1, on(4000, "wrong", session_id="other"), on(1, "b"))))
    agent.committed()
    assert ended(batch) == set()
    counts = {name: batch.note["counts"][name] for name in ("read", "applied", "dead")}
    assert counts == {"read": 3, "applied": 2, "dead": 1}  # nothing is taken from the future
    batch = agent.process(at(2, turns(3, on(-9000, "wrong", session_id="past"), on(2, "c"))))
    assert {key for _, key in ended(batch)} == {b"default/past"}


def test_a_session_lives_on_from_a_turn_that_has_not_ended() -> None:
    agent = SessionAgent(0, MemoryRows(), 1, RETENTION, Rules())
    agent.process(at(29, turns(0, on(0, "a"), on(29, "b", status="running"))))
    agent.committed()
    for number, day in enumerate((45, 58)):
        new = on(day, f"n{number}", session_id="new")
        assert ended(agent.process(at(day, turns(2 + number, new)))) == set()
        agent.committed()
    batch = agent.process(at(61, turns(4, on(61, "n2", session_id="new"))))
    assert {key for _, key in ended(batch)} == {b"default/s"}


def test_what_is_cold_opens_where_no_retention_is_set_any_more() -> None:
    kept = MemoryRows()
    agent = with_an_old_session(kept)
    agent.process(at(45, turns(3, on(45, "new", session_id="new"))))
    agent.committed()
    after = SessionAgent(0, kept, 1, None, Rules())
    batch = after.process(at(46, turns(4, on(46, "back", session_id="old"))))
    after.committed()
    assert documents(batch) == OLD
    assert COLD not in kept.read(b"s\0default\0old")


def test_guarantee_7_many_sessions_past_their_retention_become_cold_some_at_a_time() -> None:
    kept = MemoryRows()
    agent = SessionAgent(0, kept, 1, RETENTION, Rules())
    many = AT_ONCE + 10
    agent.process(at(0, turns(0, *(on(0, f"e{n}", session_id=f"s{n}") for n in range(many)))))
    agent.committed()
    cooled = []
    for number in range(2):
        day = 50 + number
        batch = agent.process(
            at(day, turns(many + number, on(day, f"n{number}", session_id="new")))
        )
        agent.committed()
        cooled.append(batch.note["counts"]["sessions_cooled"])
    assert cooled == [AT_ONCE, many]
    assert all(list(kept.read(b"s\0default\0s%d" % n)) == [COLD] for n in range(many))


def test_guarantee_7_a_session_too_large_for_one_message_stays_as_its_rows() -> None:
    kept = MemoryRows()
    agent = SessionAgent(0, kept, 1, RETENTION, Rules())
    count = 1 + COLD_BYTES // 900_000
    texts = [random.Random(number).randbytes(440_000).hex() for number in range(count)]
    said = [on(0, f"e{n}", session_id="large", user_input=text) for n, text in enumerate(texts)]
    agent.process(at(0, turns(0, *said)))
    agent.committed()
    for number in range(2):
        day = 50 + number
        batch = agent.process(
            at(day, turns(count + number, on(day, f"n{number}", session_id="new")))
        )
        agent.committed()
        assert ended(batch) == set()
    assert COLD not in kept.read(b"s\0default\0large")


def test_a_hop_said_again_counts_once() -> None:
    sessions, users = (
        SessionAgent(0, MemoryRows(), 1, None, Rules()),
        MemoryAgent(0, MemoryRows(), 1, Rules()),
    )
    said = turns(0, on(0, "a", topic="algebra", metadata={"correct_rate": 0.4}), on(1, "b"))
    batch = sessions.process(said)
    once = users.process(hops(batch))
    users.committed()
    again = users.process(hops(batch, first=2))
    assert again.outputs == []
    assert again.changelog == []
    assert again.note["counts"] == {"hops": 2, "hops_repeated": 2}
    profile = decode(of(once, "profiles")[0].value or b"")
    assert profile["history"]["topics_visited"] == ["algebra"]
    assert users.hops == {"turns/0": 1}


def test_what_a_turn_causes_carries_its_recorded_at() -> None:
    sessions, users = (
        SessionAgent(0, MemoryRows(), 1, None, Rules()),
        MemoryAgent(0, MemoryRows(), 1, Rules()),
    )
    felt = {"vad": {"v": 0.5, "a": 0, "d": 0}, "text": "glad"}
    batch = sessions.process(turns(0, on(0, "a", affect=felt, recorded_at="2030-01-01T00:00:00Z")))
    made = users.process([one._replace(timestamp=NOW_MS + 5) for one in hops(batch)])
    rows = [decode(one.value or b"") for one in (*of(batch, "history"), *of(made, "history"))]
    assert {row["recorded_at"] for row in rows} == {format_time(NOW_MS * 1000)}
    assert of(made, "affects") and of(made, "revisions") and of(made, "moods")


@pytest.mark.parametrize("batches", [1, 2])
def test_a_mood_whose_one_moment_is_taken_back_ends_with_a_tombstone(batches: int) -> None:
    sessions, users = (
        SessionAgent(0, MemoryRows(), 1, None, Rules()),
        MemoryAgent(0, MemoryRows(), 1, Rules()),
    )
    felt = {"vad": {"v": 0.5, "a": 0, "d": 0}, "text": "glad"}
    batch = sessions.process(turns(0, on(0, "a", affect=felt)))
    back = {
        "type": "write_plan", "plan_id": "p", "extractor": {"name": "x"}, "user_id": "u",
        "session_id": "s", "event_id": "a", "occurred_at": format_time(START),
        "event_affect": {**felt, "event_id": "a", "confidence": 0},
    }  # fmt: skip
    (hop,) = [one for one in hops(batch) if b"glad" in (one.value or b"")]
    records = [hop, Record("write-plans", 0, hop.key, encode(back))]
    made: list[Output] = []
    for part in [records] if batches == 1 else [[record] for record in records]:
        made += users.process(part).outputs
        users.committed()
    newest = {(one.topic, one.key): one.value for one in made if one.topic in {"states", "moods"}}
    assert len(newest) == 2 and set(newest.values()) == {None}


def test_an_agent_continues_with_the_extractor_of_the_marker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "streams")

    def extracts(told: str | None, note: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Whether it makes plans after a restart, and its marker's next note."""
        agent = SessionAgent(0, MemoryRows(), 1, None, Rules(), told)
        agent.reset()
        agent.restored(note)
        news = agent.needs_marker()
        batch = agent.process([])
        assert news == (batch.note.get("extractor") != note.get("extractor"))
        said = on(0, "a", user_id="ann", user_input="I live in Oslo.")
        return bool(of(agent.process(turns(0, said)), "write-plans")), dict(batch.note)

    def heard() -> str:
        text = caplog.text
        caplog.clear()
        return text

    made, default = extracts(None, {})
    assert made and default["extractor"] == {"name": "rules", "version": VERSION}
    assert heard() == ""
    made, chosen = extracts("rules", {})
    assert made and chosen["extractor"] == {"name": "rules", "version": VERSION}
    made, again = extracts(None, chosen)
    assert made and again["extractor"] == chosen["extractor"]
    assert "made by rules, as before; --extractor none stops extraction" in heard()
    made, ended = extracts("none", chosen)
    assert not made and ended["extractor"]["name"] == "none" and "until now by rules" in heard()
    assert not extracts(None, ended)[0]
    made, never = extracts("none", {})
    assert not made and never["extractor"] == ended["extractor"] and heard() == ""
    assert not extracts(None, never)[0]
    made, newer = extracts(None, {**chosen, "extractor": {"name": "rules", "version": "0"}})
    assert made and newer["extractor"] == chosen["extractor"] and "not 0" in heard()
    with pytest.raises(ConfigurationError, match="oracle"):
        extracts(None, {**chosen, "extractor": {"name": "oracle"}})


def test_what_a_turn_says_goes_to_write_plans_with_what_it_causes() -> None:
    said = on(0, "a", user_id="ann/2", user_input="I live in Oslo. I love green tea.")
    silent = on(1, "b", user_id="ann/2", user_input="What time is it?")
    running = on(2, "c", user_id="ann/2", user_input="I live in Rome.", status="running")
    given = turns(0, said, silent, running, said)
    lane = partition_of(given[0].key or b"", 4)
    sessions = SessionAgent(lane, MemoryRows(), 4, None, Rules(), "rules")
    batch = sessions.process([one._replace(partition=lane) for one in given])
    assert batch.note["counts"] == {"read": 4, "applied": 3, "duplicate": 1, "extracted": 1}
    (plan,) = of(batch, "write-plans")
    assert plan.key == b"default/ann/2"
    assert plan.partition == partition_of(plan.key, 4)
    assert ("src_offset", b"0") in plan.headers
    users = MemoryAgent(plan.partition, MemoryRows(), 4, Rules())
    sent = Record("write-plans", 0, plan.key, plan.value, plan.headers, NOW_MS, plan.partition)
    made = users.process([sent, sent._replace(offset=1)])
    assert made.note["counts"] == {"read": 2, "applied": 1, "duplicate": 1}
    (state,) = [decode(one.value or b"") for one in of(made, "states")]
    assert "Oslo" in state["body_text"]
    assert state["evidence_event_ids"] == ["a"]
    (preference,) = [decode(one.value or b"") for one in of(made, "preferences")]
    assert preference["subject"] == "green tea"


def test_a_row_that_no_topic_takes_is_a_dead_letter_and_leaves_nothing() -> None:
    agent = SessionAgent(0, MemoryRows(), 1, None, Rules())
    loud = '\\"' * 120_000  # escaped in the row, and again in its `doc`
    fields = {"user_input": loud, "agent_answer": loud, "metadata": {"again": loud}}
    batch = agent.process(turns(0, on(0, "a", **fields)))
    (letter,) = of(batch, "dead-letters")
    assert decode(letter.value or b"")["reason"] == "too_large"
    assert batch.changelog == []
    assert len(batch.outputs) == 1


def test_a_result_that_fits_nothing_becomes_a_dead_letter_of_its_own_place() -> None:
    agent = SessionAgent(0, MemoryRows(), 1, None, Rules())
    ids = {"session_id": "s", "task_id": "t", "trace_id": "r", "occurred_at": format_time(START)}
    result = {**ids, "type": "tool_result", "call_index": 7, "result": "x", "success": True}
    step = {**ids, "type": "recursion", "iteration_index": 0,
            "action": {"action_type": "CALL_TOOL", "output": {"tool_calls": [{}]}}}  # fmt: skip
    key = b"default/s"
    batch = agent.process([Record("recursions", 5, key, encode(result))])
    assert batch.note["counts"] == {"read": 1, "applied": 1, "waiting": 1}
    assert list(outcomes_of(batch.note)) == [("recursions", 5, WAITS)]
    agent.committed()
    batch = agent.process([Record("recursions", 6, key, encode(step))])
    assert batch.note["counts"] == {"read": 2, "applied": 2, "waiting": 1, "late": 1}
    (letter,) = of(batch, "dead-letters")
    row = decode(letter.value or b"")
    assert (row["src_topic"], row["src_offset"], row["key"]) == ("recursions", 5, "default/s")
    assert dict(letter.headers)["src_offset"] == b"5"
    assert decode(urlsafe_b64decode(row["payload"]))["call_index"] == 7


def test_a_user_s_signals_go_to_one_partition_whatever_the_producer_knows() -> None:
    every_partition = range(4)
    said = [on(n, f"e{n}", session_id=f"s{n}", user_id="u") for n in range(20)]
    every, lanes = [], set()
    for record in turns(0, *said):
        lane = DefaultPartitioner()(record.key, every_partition, every_partition)
        agent = SessionAgent(lane, MemoryRows(), 4, None, Rules())
        every += of(agent.process([record._replace(partition=lane)]), "user-signals")
        lanes.add(lane)
    expected = DefaultPartitioner()(b"default/u", every_partition, every_partition)
    assert (len(every), {one.partition for one in every}) == (20, {expected})
    assert lanes == set(every_partition)


def test_a_record_in_another_partition_than_its_key_s_is_refused() -> None:
    """By librdkafka's own hash, a CRC32, a session would have rows in two lanes."""
    said = [on(n, f"e{n}", session_id=f"s{n}") for n in range(20)]
    for record in turns(0, *said):
        right = DefaultPartitioner()(record.key, range(4), range(4))
        other = crc32(record.key or b"") % 4
        agent = SessionAgent(other, MemoryRows(), 4, None, Rules())
        batch = agent.process([record._replace(partition=other)])
        if other == right:
            assert batch.note["counts"] == {"read": 1, "applied": 1}
            continue
        assert batch.note["counts"] == {"read": 1, "dead": 1}
        (letter,) = of(batch, "dead-letters")
        row = decode(letter.value or b"")
        assert row["reason"] == "wrong_partition"
        assert f"partition {other}: this key's is {right}" in row["detail"]
