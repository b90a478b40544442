"""Tables over keys: a worker and a replica that run on while a key is destroyed."""

import json
from pathlib import Path
from time import time, time_ns
from typing import NamedTuple

import pytest
from aiokafka.structs import TopicPartition

from schemas.time import DAY, format_time
from streams.erasure_keys.key_store import KeyStore
from streams.erasure_keys.master_key import MasterKeyFile
from streams.errors import ConfigurationError
from streams.folds.constants import Rules
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.client.encryption import owner_of
from streams.kafka.transport.encryption import EncryptedRows, encrypted
from streams.kafka.transport.interfaces import Batch
from streams.kafka.transport.rows import MemoryRows
from streams.serving.backends.change_waiters import Changes
from streams.serving.backends.replica_lane import ReplicaLane
from tests.command import turn

HERS = b"s\0default\0hers"
OLD, NEW = "old words", "new words"


class Message(NamedTuple):
    offset: int
    value: bytes
    key: bytes = b"default/hers"
    topic: str = "turns"
    partition: int = 0
    timestamp: int = int(time() * 1000)
    headers: tuple[tuple[str, bytes], ...] = ()


@pytest.fixture
def keys(tmp_path: Path) -> KeyStore:
    return KeyStore.create(tmp_path / "keys", MasterKeyFile.create(tmp_path / "master.key"))


def agent_over(keys: KeyStore, retention: int | None = None) -> SessionAgent:
    return SessionAgent(0, EncryptedRows(MemoryRows(), keys), 1, retention, Rules(), "none")


def said(offset: int, event_id: str, text: str, **fields: str) -> Message:
    record = turn(event_id, user_id="emma", user_input=text, **{"session_id": "hers", **fields})
    return Message(offset, json.dumps(record).encode())


def folded(agent: SessionAgent, *messages: Message) -> Batch:
    batch = agent.process(messages)
    agent.committed()
    return batch


def text_of(batch: Batch, keys: KeyStore) -> bytes:
    """All that a batch writes, encrypted and decrypted again."""
    outputs = encrypted(keys, batch.outputs, b"s")
    values = [output.value for output in outputs] + [value for _, value in batch.changelog]
    assert not [value for value in values if value and (OLD in str(value) or NEW in str(value))]
    return b"\n".join(keys.decrypt(value) or b"" for value in values if value is not None)


@pytest.mark.parametrize("retention", [None, 1])
def test_a_running_worker_forgets_a_session_whose_key_is_destroyed(
    keys: KeyStore, retention: int | None
) -> None:
    agent = agent_over(keys, retention)
    first = text_of(folded(agent, said(0, "e1", OLD)), keys)
    assert OLD.encode() in first
    keys.destroy([HERS])
    again = agent.process([said(1, "e1", OLD), said(2, "bad", OLD, occurred_at="no time")])
    assert (agent.counts["withheld"], again.outputs) == (2, [])
    agent.committed()
    batch = folded(agent, said(3, "e2", NEW, occurred_at=format_time(time_ns() // 1000)))
    text = text_of(batch, keys)
    assert NEW.encode() in text and OLD.encode() not in text


def test_a_session_that_is_due_for_retention_may_be_destroyed(keys: KeyStore) -> None:
    agent = agent_over(keys, retention=DAY)
    folded(agent, said(0, "e1", OLD, occurred_at=format_time(time_ns() // 1000)))
    keys.destroy([HERS])
    other = said(1, "e2", NEW, session_id="other", occurred_at=format_time(time_ns() // 1000))
    later = other.timestamp + 10 * DAY // 1000
    folded(agent, other._replace(key=b"default/other", timestamp=later))
    assert (agent.counts["applied"], agent.retention.due()) == (2, [])


def test_a_worker_without_keys_stops_at_what_is_encrypted(keys: KeyStore) -> None:
    batch = folded(agent_over(keys), said(0, "e1", OLD))
    plain = SessionAgent(0, MemoryRows(), 1, None, Rules(), "none")
    plain.restore(batch.changelog)
    with pytest.raises(ConfigurationError, match="sessions: rows are encrypted"):
        plain.restored(batch.note)
    message = said(1, "e2", NEW)
    with pytest.raises(ConfigurationError, match="turns/0/1: encrypted"):
        plain.process([message._replace(value=keys.encrypt(HERS, message.value))])


def test_rows_of_a_destroyed_key_are_dropped_by_a_restore(keys: KeyStore) -> None:
    changelog = folded(agent_over(keys), said(0, "e1", OLD)).changelog
    keys.destroy([HERS])
    rows = MemoryRows()
    EncryptedRows(rows, keys).put(changelog)
    assert len(changelog) > 1 and len(rows) == 0


def test_a_running_replica_does_not_show_a_destroyed_session(keys: KeyStore) -> None:
    changelog = folded(agent_over(keys), said(0, "e1", OLD)).changelog
    rows = EncryptedRows(MemoryRows(), keys)
    rows.put(changelog)
    lane = ReplicaLane(TopicPartition("changelog", 0), "sessions", rows, Changes())
    assert lane.entity("default", "hers").names("") != []
    keys.destroy([HERS])
    assert lane.entity("default", "hers").names("") == []


@pytest.mark.parametrize(
    ("topic", "key", "owner"),
    [
        ("turns", b"acme/a/b%2F", b"s\0acme\0a/b%2F"),
        ("tasks", b"acme/a%2Fb%25/t/1", b"s\0acme\0a/b%"),
        ("write-plans.new", b"acme/emma", b"u\0acme\0emma"),
        ("states", b"acme/emma/home", b"u\0acme\0emma"),
        ("history", b"acme/emma", None),
        ("platform-events", b"acme/emma", None),
        ("turns", b"emma", None),
        ("turns", None, None),
    ],
)
def test_the_owner_of_a_message(topic: str, key: bytes | None, owner: bytes | None) -> None:
    assert owner_of(topic, key) == owner
