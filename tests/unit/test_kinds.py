"""Each kind of input record is declared once, and what is derived from it leads somewhere."""

import re
from typing import Any

import pytest

from schemas.events import RECORD_TYPES
from schemas.rows import TABLES
from streams.files import stored_records
from streams.folds.effects import Input
from streams.generations import replay_order
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.outbox import Outbox
from streams.kafka.agents.routing import route
from streams.pipeline.decode import IDS, decode
from streams.record_kinds import ID_FIELDS, KINDS, MODELS, RecordKind, kind_by_fields, kind_of
from streams.topology import AGENTS, MEMORY_AGENT, SESSION_AGENT, TOPICS, USER_SIGNALS, topic_of
from tests.property.world import Json, encode, plan, recursion, result, signal, turn
from tests.unit.session_told import Told

RECORDS: dict[str, Json] = {
    "turn": turn("e", 0),
    "recursion": recursion("r", 0, 0),
    "tool_result": result("r", 0, "c"),
    "signal session": signal("g", 0, "session"),
    "signal user": signal("g", 0, "user"),
    "write_plan": plan("p", 0),
}

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.type}-{kind.scope}")


def test_every_type_of_record_has_a_kind() -> None:
    assert MODELS == RECORD_TYPES
    assert list(MODELS) == list(RECORD_TYPES), "messages name them in this order"
    assert set(ID_FIELDS) == set(RECORD_TYPES)


@every_kind
def test_what_a_kind_names_is_there(kind: RecordKind) -> None:
    fields = kind.model.model_fields
    assert {kind.owner, kind.id} <= fields.keys() & IDS
    assert kind.history in TABLES
    assert (kind.scope is not None) == ("scope" in fields)
    (topic,) = [topic for topic in TOPICS if topic.name == kind.topic]
    assert kind.model in topic.payloads
    assert topic.key == f"{{tenant}}/{{{kind.owner}}}"


@every_kind
def test_a_kind_s_agent_folds_it_and_writes_its_rows(kind: RecordKind) -> None:
    (agent,) = [one for one in AGENTS if kind.topic in {topic.name for topic in one.sources}]
    assert agent.fold is kind.fold
    assert kind.history in agent.history


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_goes_by_its_kind(name: str) -> None:
    record = RECORDS[name]
    line = encode(record)
    found = decode(line, ("test", 0, 1))
    assert isinstance(found, Input)
    kind = kind_of(found.record)
    assert " ".join(filter(None, (kind.type, kind.scope))) == name
    assert kind_by_fields(record["type"], record.get("scope")) is kind
    way = route(line)
    assert way is not None
    assert (way.topic, way.key) == (kind.topic, f"default/{record[kind.owner]}".encode())
    assert topic_of(found.record).name == kind.topic


@pytest.mark.parametrize("type_", [None, 3, [], {}, "", "turns"])
def test_an_unknown_type_has_no_kind(type_: Any) -> None:
    assert kind_by_fields(type_, "user") is None


@pytest.mark.parametrize("scope", [None, 3, [], {"user": 1}, "somebody"])
def test_a_signal_of_no_known_scope_goes_where_a_session_s_goes(scope: Any) -> None:
    told = kind_by_fields("signal", scope)
    assert told is not None and told.topic == "turns"
    assert kind_by_fields("signal", "user") is not told


def test_an_agent_sends_nothing_that_the_topology_does_not_say() -> None:
    class From:
        topic, partition, offset, key = "turns", 0, 0, b"default/s1"

    origin = Origin(From, "default", 0)
    users, sessions = (Outbox(0, 1, one) for one in (MEMORY_AGENT, SESSION_AGENT))
    sessions.hashed(USER_SIGNALS.name, b"default/u1", b"{}", origin)
    for send in (users.hashed, users.document):
        with pytest.raises(ValueError, match="user-signals is no output of the memory agent"):
            send(USER_SIGNALS.name, b"default/u1", b"{}", origin)
    with pytest.raises(KeyError, match="events"):
        users.rows(Told(turn("a", 0, session_id="s")).history, "u1", origin)
    assert (len(sessions.outputs), users.outputs) == (1, [])


def test_what_reads_the_history_s_records_knows_all_their_tables() -> None:
    """A table that is left out is lost to a backfill, and to the check of what a sink has written,
    without a word."""
    tables = {kind.history for kind in KINDS}
    assert tables == {*stored_records.INPUT_TABLES, "plans"}
    assert tables <= set(re.findall(r"FROM (\w+)", replay_order.RECORDS_IN_ORDER))
    assert {"events", "signals"} <= set(re.findall(r"FROM (\w+)", replay_order.SPEAKERS))


def test_a_stored_record_is_folded_again_into_whom_it_was_folded_into() -> None:
    owners = {table: stored_records.owner(table) for table in stored_records.INPUT_TABLES}
    assert owners["signals"] == "IF(scope = 'session', session_id, user_id)"
    for kind in KINDS:
        if kind.scope is None and kind.history in owners:
            assert owners[kind.history] == kind.owner
