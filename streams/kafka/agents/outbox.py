"""Collects the messages of one batch; each row is encoded once for all its topics."""

import logging
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from schemas.generated.history import (
    Affect,
    CausedRow,
    Link,
    Profile,
    Revision,
    Session,
    Task,
    Thread,
)
from streams.folds.effects import Refused
from streams.kafka.agents.encoding import ROW_ENCODERS, Origin, key_of
from streams.kafka.agents.validation import headers_text, key_text
from streams.kafka.client.encryption import letter_of, owner_of
from streams.kafka.client.partitions import partition_of
from streams.kafka.transport.interfaces import Headers, Output
from streams.pipeline import images
from streams.pipeline.decode import Dead, guarded
from streams.pipeline.document_rows import dead_row
from streams.topology import DEAD_LETTERS, HISTORY, OUTPUT_BYTES, Agent

log = logging.getLogger(__name__)

ROOM = 4_096  # bytes for key, headers and framing
LARGEST = OUTPUT_BYTES - ROOM
DETAIL_KEPT, KEY_KEPT = 4_000, 2_000
"""Maximum characters of a dead letter's detail and key. As JSON a key may grow fivefold: the letter
would fit no topic, and block its lane forever."""


def shortened(text: str, limit: int) -> str:
    """Truncates a text and appends its length."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _owner_of(row: CausedRow, owner: str) -> str:
    """Owner of a row: the record's `owner`, unless the row names another."""
    if isinstance(row, Revision | Link | Thread):
        return row.owner_id
    return row.user_id if isinstance(row, Affect) else owner


class Declared:
    """Declared outputs of an agent: topic names, encoders of its tables' rows, and tables with a
    topic of the same name."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent.name
        self.letter = letter_of(agent.table.key)
        self.topics = frozenset(topic.name for topic in agent.outputs)
        self.streams = frozenset(
            topic.name for topic in agent.outputs if topic.rows == (topic.name,)
        )
        self.encoders = {table: ROW_ENCODERS[table] for table in agent.history}

    def check(self, topic: str) -> None:
        """Raises ValueError if the topology does not declare this output of the agent."""
        if topic not in self.topics:
            raise ValueError(
                f"{topic} is no output of the {self.agent} agent (streams/topology.py)"
            )


declared = cache(Declared)


class Outbox:
    """Messages of a lane's batch. `partition`: the lane's. `partitions`: of every topic; a new
    producer does not know it, and a user's signals must stay together. `agent`: restricts the
    outputs. `reasons` counts dead letters."""

    def __init__(self, partition: int, partitions: int, agent: Agent) -> None:
        self.declared = declared(agent)
        self.partition, self.partitions = partition, partitions
        self.outputs: list[Output] = []
        self.left_out = 0
        self.reasons: Counter[str] = Counter()

    def rows(self, rows: Sequence[CausedRow], owner: str, origin: Origin) -> list[Output]:
        """Encodes one record's history rows (`Effects.history`) of `owner` as messages.

        Raises:
            Refused: a row exceeds the maximum message size.
        """
        source, key, partition = origin.source, origin.key, self.partition
        encoders, streams = self.declared.encoders, self.declared.streams
        outputs: list[Output] = []
        for row in rows:
            table = row.table
            value = encoders[table](row, source, row.occurred_at)
            if len(value) > LARGEST:
                detail = f"its row of {table} has {len(value)} bytes, at most {LARGEST}"
                raise Refused("too_large", detail)
            headers = origin.headers(table)
            outputs.append(Output(HISTORY.name, partition, key, value, headers))
            if table in streams:
                row_owner = _owner_of(row, owner)
                if row_owner == owner:
                    outputs.append(Output(table, partition, key, value, headers))
                else:
                    owner_key = key_of(source.tenant, row_owner)
                    owner_partition = partition_of(owner_key, self.partitions)
                    outputs.append(Output(table, owner_partition, owner_key, value, headers))
        return outputs

    def document_row(self, row: Session | Task | Profile, key: bytes, origin: Origin) -> None:
        """Sends a document's history row; its key is the entity's."""
        value = self.declared.encoders[row.table](row, origin.source, row.updated_at)
        self._send(HISTORY.name, key, value, origin, row.table)

    def document(self, topic: str, key: bytes, value: bytes | None, origin: Origin) -> None:
        """Sends a message to a compacted topic; without a value it deletes the key."""
        self._send(topic, key, value, origin, None)

    def _send(
        self, topic: str, key: bytes, value: bytes | None, origin: Origin, table: str | None
    ) -> None:
        self.declared.check(topic)
        if value is not None and len(value) > LARGEST:
            self.left_out += 1
            log.error(
                "%s: the message of key %s has %d bytes, at most %d: omitted; its source data "
                "is in the history", topic, key_text(key), len(value), LARGEST,
            )  # fmt: skip
            return
        self.outputs.append(Output(topic, self.partition, key, value, origin.headers(table)))

    def hashed(
        self, topic: str, key: bytes, value: bytes, origin: Origin, headers: Headers = ()
    ) -> None:
        """Sends a message to its key's partition, with additional `headers`."""
        self.declared.check(topic)
        partition = partition_of(key, self.partitions)
        self.outputs.append(Output(topic, partition, key, value, [*origin.headers(), *headers]))

    def dead(self, dead: Dead, message: Any, origin: Origin) -> None:
        """Sends a dead letter: original key, bytes and headers, and the reason. If the message may
        be withheld, key and headers are dropped."""
        self.reasons[dead.reason] += 1
        sent_key, headers = message.key, headers_text(message.headers)
        if not dead.hidden and headers is not None:
            dead = guarded(dead, headers.encode())
        if dead.hidden:
            sent_key = headers = None
        elif sent_key is not None and images.is_in(sent_key.decode("utf-8", "replace")):
            sent_key = key_text(sent_key).encode()
        dated_at = message.timestamp * 1000 if dead.occurred_at is None else dead.occurred_at
        owner = None
        if dead.key is not None:
            owner = owner_of(DEAD_LETTERS.name, dead.key.encode(), self.declared.letter)
        payload: Any = urlsafe_b64encode(dead.payload).decode()  # as in the models
        key = sent_key and shortened(key_text(sent_key), KEY_KEPT)
        dead = dead._replace(payload=payload, key=key, detail=shortened(dead.detail, DETAIL_KEPT))
        row = dead_row(dead, headers)
        value = ROW_ENCODERS[row.table](row, origin.source, dated_at)
        output_headers = origin.headers(row.table)
        self.outputs.append(
            Output(DEAD_LETTERS.name, self.partition, sent_key, value, output_headers, owner=owner)
        )
