"""Reads dead letters, from a history or from their topic."""

import json
from base64 import b64decode
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
from aiokafka.errors import KafkaError

from schemas.time import parse_time
from sinks.history import connect
from sinks.locations import Location
from streams.errors import DataRefused
from streams.kafka.client.admin import lost
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.sink.history_rows import from_base64
from streams.topology import DEAD_LETTERS

REPLAY = "turnfold_replay"
"""Header of a replay: the id of the original letter."""
POLL_MS = 200


class Letter(NamedTuple):
    """A row of `dead_letters`, with the columns that a replay needs."""

    src_topic: str
    src_partition: int
    src_offset: int
    reason: str
    payload: bytes
    key: str | None
    headers: str | None
    recorded_at: int = 0
    """Log time of the record, in microseconds."""
    tenant: str = "default"
    detail: str = ""
    day: int = 0
    """Partition of the row in the history, in days since 1970-01-01."""
    is_settled: bool = False

    @property
    def place(self) -> str:
        """topic:partition:offset, the id that `admin dlq list` shows."""
        return f"{self.src_topic}:{self.src_partition}:{self.src_offset}"

    @property
    def sent_headers(self) -> list[tuple[str, bytes]]:
        """The record's headers, from pairs of name and text; {"base64": …} is binary."""
        if self.headers is None:
            return []
        return [(name, _bytes(value)) for name, value in json.loads(self.headers)]

    @property
    def original(self) -> str | None:
        """Id of the letter that was replayed and rejected again, or None if this is not a
        replay."""
        return next((value.decode() for name, value in self.sent_headers if name == REPLAY), None)


def of_history(
    history: Location, tenant: str | None = None, place: str | None = None
) -> list[Letter]:
    """All dead letters of a history, oldest first. `place`: only this letter and all replays, which
    show whether it was rejected again."""
    sql = (
        f"SELECT {', '.join(Letter._fields[:7])}, epoch_us(recorded_at), tenant, detail, "
        "date - DATE '1970-01-01', settled_at IS NOT NULL FROM dead_letters "
        "WHERE ? IS NULL OR contains(coalesce(headers, ''), '_replay') "
        "OR src_topic || ':' || src_partition || ':' || src_offset = ? "
        "ORDER BY recorded_at, src_topic, src_partition, src_offset"
    )
    with connect(history, tenant=tenant, views=["dead_letters"]) as db:
        return [Letter(*row) for row in db.execute(sql, [place, place]).fetchall()]


async def of_topic(settings: KafkaSettings, tenant: str | None = None) -> list[Letter]:
    """All dead letters committed in their topic, oldest first, each once.

    Skips messages that are not letters: a sink turns them into letters. Raises Unreachable, or
    ConfigurationError.
    """
    await ensure_topics(settings, topics=(DEAD_LETTERS,))
    letters: dict[str, Letter] = {}
    settled: set[tuple[str, bytes]] = set()
    try:
        for value in await _values(settings):
            row = _row(value)
            if row is not None and tenant in (None, row.tenant):
                letter = row.letter()
                if row.settled_at is None:
                    letters.setdefault(letter.place, letter)
                else:
                    settled.add((letter.place, letter.payload))
    except KafkaError as error:
        raise lost(settings, error) from None
    return [
        letter._replace(is_settled=(letter.place, letter.payload) in settled)
        for letter in sorted(letters.values(), key=lambda letter: (letter.recorded_at, letter[:3]))
    ]


def with_ids(letters: Sequence[Letter], places: Collection[str]) -> list[Letter]:
    """The letters with these ids, or all without ids. Raises DataRefused for an unknown id."""
    if missing := sorted(set(places) - {letter.place for letter in letters}):
        raise DataRefused(
            f"no dead letter {', '.join(missing)}: `turnfold admin dlq list` has their ids"
        )
    return [letter for letter in letters if not places or letter.place in places]


class _Row(msgspec.Struct):
    tenant: str
    recorded_at: str
    src_topic: str
    src_partition: int
    src_offset: int
    reason: str
    payload: str
    key: str | None = None
    headers: str | None = None
    detail: str = ""
    date: int = 0
    settled_at: str | None = None

    def letter(self) -> Letter:
        return Letter(
            self.src_topic, self.src_partition, self.src_offset,
            self.reason, from_base64(self.payload), self.key, self.headers,
            parse_time(self.recorded_at), self.tenant, self.detail, self.date,
        )  # fmt: skip


def _bytes(value: Any) -> bytes:
    if isinstance(value, dict):
        return b64decode(value["base64"])
    return b"" if value is None else str(value).encode()


_decode = msgspec.json.Decoder(_Row).decode


def _row(value: bytes | None) -> _Row | None:
    try:
        return _decode(value or b"")
    except ValueError:
        return None


async def _values(settings: KafkaSettings) -> list[bytes | None]:
    """Values of the topic up to its end."""
    values: list[bytes | None] = []
    async with KafkaConsumer(
        DEAD_LETTERS.name,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        **settings.client(),
    ) as consumer:
        ends = await consumer.end_offsets(consumer.assignment())
        while [tp for tp, end in ends.items() if await consumer.position(tp) < end]:
            for records in (await consumer.getmany(timeout_ms=POLL_MS)).values():
                values += [record.value for record in records]
    return values
