"""The messages of one batch: rows once encoded, for every topic they go to."""

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
from streams.folds.rows import Refused
from streams.kafka.agents.encoding import ROW_ENCODERS, Origin, key_of
from streams.kafka.agents.validation import headers_text, key_text
from streams.kafka.client.partitions import partition_of
from streams.kafka.transport.processing import Headers, Output
from streams.pipeline import images
from streams.pipeline.decode import Dead, guarded
from streams.pipeline.document_rows import dead_row
from streams.topology import DEAD_LETTERS, HISTORY, OUTPUT_BYTES, Agent

log = logging.getLogger(__name__)

ROOM = 4_096  # of a message's largest size, for its key, headers and framing
LARGEST = OUTPUT_BYTES - ROOM
DETAIL_KEPT, KEY_KEPT = 4_000, 2_000
"""Characters of a dead letter that are not its payload. As JSON a key may be five times as long as
it was: the letter would fit no topic, and its lane would stand for ever."""


def shortened(text: str, kept: int) -> str:
    """A text of so many characters at most, and how long it was."""
    return text if len(text) <= kept else f"{text[:kept]}… ({len(text)} characters)"


def _owner_of(row: CausedRow, owner: str) -> str:
    """Whose row it is: the record's `owner`, unless it says otherwise."""
    if isinstance(row, Revision | Link | Thread):
        return row.owner_id
    return row.user_id if isinstance(row, Affect) else owner


class Declared:
    """What an agent of the topology may send: topics by name, encoders of its tables' rows, and the
    tables whose rows have a topic of their own, of the same name."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent.name
        self.topics = frozenset(topic.name for topic in agent.outputs)
        self.streams = frozenset(
            topic.name for topic in agent.outputs if topic.rows == (topic.name,)
        )
        self.encoders = {table: ROW_ENCODERS[table] for table in agent.history}

    def check(self, topic: str) -> None:
        """Raises ValueError where the topology does not say that the agent sends to it."""
        if topic not in self.topics:
            raise ValueError(
                f"{topic} is no output of the {self.agent} agent (streams/topology.py)"
            )


declared = cache(Declared)


class Outbox:
    """What a lane's batch sends; `partition` is the lane's own, `partitions` every topic's number:
    a producer that has just started does not know it, and a user's signals must stay together.
    `agent`: whose outputs these are; it sends nothing else. `reasons` counts dead letters."""

    def __init__(self, partition: int, partitions: int, agent: Agent) -> None:
        self.declared = declared(agent)
        self.partition, self.partitions = partition, partitions
        self.outputs: list[Output] = []
        self.left_out = 0
        self.reasons: Counter[str] = Counter()

    def rows(self, rows: Sequence[CausedRow], owner: str, origin: Origin) -> list[Output]:
        """The history rows of one record of `owner` (`Effects.history`) as messages, to be sent.

        Raises:
            Refused: one is larger than its topic's messages may be.
        """
        source, key, lane = origin.source, origin.key, self.partition
        encoders, streams = self.declared.encoders, self.declared.streams
        made: list[Output] = []
        for row in rows:
            table = row.table
            value = encoders[table](row, source, row.occurred_at)
            if len(value) > LARGEST:
                detail = f"its row of {table} has {len(value)} bytes, at most {LARGEST}"
                raise Refused("too_large", detail)
            headers = origin.headers(table)
            made.append(Output(HISTORY.name, lane, key, value, headers))
            if table in streams:
                row_owner = _owner_of(row, owner)
                if row_owner == owner:
                    made.append(Output(table, lane, key, value, headers))
                else:
                    other = key_of(source.tenant, row_owner)
                    to = partition_of(other, self.partitions)
                    made.append(Output(table, to, other, value, headers))
        return made

    def document_row(self, row: Session | Task | Profile, key: bytes, origin: Origin) -> None:
        """A document's history row; its key is the entity's."""
        value = self.declared.encoders[row.table](row, origin.source, row.updated_at)
        self._send(HISTORY.name, key, value, origin, row.table)

    def document(self, topic: str, key: bytes, value: bytes | None, origin: Origin) -> None:
        """A message of a compacted topic; without a value it ends the key."""
        self._send(topic, key, value, origin, None)

    def _send(
        self, topic: str, key: bytes, value: bytes | None, origin: Origin, table: str | None
    ) -> None:
        self.declared.check(topic)
        if value is not None and len(value) > LARGEST:
            self.left_out += 1
            log.error(
                "%s: the message of key %s has %d bytes, at most %d: left out; what it is made of "
                "is in the history", topic, key_text(key), len(value), LARGEST,
            )  # fmt: skip
            return
        self.outputs.append(Output(topic, self.partition, key, value, origin.headers(table)))

    def hashed(
        self, topic: str, key: bytes, value: bytes, origin: Origin, marks: Headers = ()
    ) -> None:
        """A message that goes where its key's hash says; `marks`: more headers."""
        self.declared.check(topic)
        to = partition_of(key, self.partitions)
        self.outputs.append(Output(topic, to, key, value, [*origin.headers(), *marks]))

    def dead(self, dead: Dead, record: Any, origin: Origin) -> None:
        """A dead letter: original key, bytes and headers, and why. Of what may be a withheld
        request neither key nor headers."""
        self.reasons[dead.reason] += 1
        sent_key, headers = record.key, headers_text(record.headers)
        if not dead.hidden and headers is not None:
            dead = guarded(dead, headers.encode())
        if dead.hidden:
            sent_key = headers = None
        elif sent_key is not None and images.is_in(sent_key.decode("utf-8", "replace")):
            sent_key = key_text(sent_key).encode()
        at = record.timestamp * 1000 if dead.occurred_at is None else dead.occurred_at
        payload: Any = urlsafe_b64encode(dead.payload).decode()  # as the models have it
        key = sent_key and shortened(key_text(sent_key), KEY_KEPT)
        dead = dead._replace(payload=payload, key=key, detail=shortened(dead.detail, DETAIL_KEPT))
        row = dead_row(dead, headers)
        value = ROW_ENCODERS[row.table](row, origin.source, at)
        marks = origin.headers(row.table)
        self.outputs.append(Output(DEAD_LETTERS.name, self.partition, sent_key, value, marks))
