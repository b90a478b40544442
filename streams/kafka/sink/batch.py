"""What a sink has read and not yet written: messages by table and partition, then columns."""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa
from aiokafka.structs import TopicPartition

from schemas.dead_letters import Reason
from schemas.generated.history import DeadLetter, Source, stored
from schemas.rows import SNAPSHOT_KEYS
from sinks.shared import Piece
from sinks.tables import to_arrow
from streams.kafka.client.aiokafka_internals import RawRecord
from streams.kafka.sink.history_rows import parse
from streams.pipeline.decode import Dead, guarded

PACK_ROWS = 8_192
MESSAGE_BYTES = 1_000
"""What a message takes in memory besides its value: its headers above all."""
MISFIT: Reason = "bad_row"
"""The reason of a dead letter that the sink itself makes: a message that is no row."""

_Misfits = list[tuple[RawRecord, str, ValueError]]
_encode = msgspec.json.Encoder().encode


class Batch:
    """Messages since the last write. `upto`: the last offset read; `bytes`: what they hold.

    Nothing is parsed before `pieces`, which the writing thread calls and which counts `misfits`.
    """

    def __init__(self) -> None:
        self.upto: dict[TopicPartition, int] = {}
        self.bytes = 0
        self.misfits = 0
        self.began = time.monotonic()
        self._waiting: defaultdict[tuple[str, TopicPartition], list[RawRecord]] = defaultdict(list)

    def add(self, at: TopicPartition, table: str, record: RawRecord) -> None:
        """One message of a table."""
        self.bytes += len(record.value or b"") + MESSAGE_BYTES
        self._waiting[table, at].append(record)

    def records(self) -> Iterator[RawRecord]:
        """The messages that wait; none after `pieces`."""
        return chain.from_iterable(self._waiting.values())

    def pieces(self, apps: Mapping[TopicPartition, str]) -> dict[str, list[Piece]]:
        """Table -> its rows; to be called once.

        What does not fit its table becomes a row of `dead_letters` with its bytes: not lost, and
        nobody waits for it. Of a document only the newest is kept.
        """
        found: defaultdict[str, list[Piece]] = defaultdict(list)
        misfits: defaultdict[TopicPartition, _Misfits] = defaultdict(list)
        while self._waiting:  # each is let go when it is packed
            (table, at), records = self._waiting.popitem()
            packed = list(_packed(table, records, misfits[at]))
            if packed:
                offsets = [offset for some, _ in packed for offset in some]
                rows = pa.concat_tables([rows for _, rows in packed])
                found[table].append(_newest(table, Piece(apps[at], offsets, rows)))
        for at, some in misfits.items():
            if some:
                self.misfits += len(some)
                found[DeadLetter.table].append(_buried(apps[at], at, some))
        return dict(found)


def _packed(
    table: str, records: list[RawRecord], misfits: _Misfits
) -> Iterator[tuple[list[int], pa.Table]]:
    """Blocks of rows with their offsets; a block with a misfit is halved until it stands alone."""
    for first in range(0, len(records), PACK_ROWS):
        yield from _block(table, records[first : first + PACK_ROWS], misfits)


def _block(
    table: str, records: list[RawRecord], misfits: _Misfits
) -> Iterator[tuple[list[int], pa.Table]]:
    try:
        rows = parse(table, [record.value or b"" for record in records])
    except ValueError as error:
        if len(records) == 1:
            misfits.append((records[0], table, error))
            return
        middle = len(records) // 2
        yield from _block(table, records[:middle], misfits)
        yield from _block(table, records[middle:], misfits)
    else:
        yield [record.offset for record in records], rows


def _newest(table: str, piece: Piece) -> Piece:
    """Of documents the newest of each key, in the order of their offsets; of one `version`, as
    folding from nothing may give it to two, the later one."""
    key = SNAPSHOT_KEYS.get(table)
    if key is None:
        return piece
    columns = [piece.rows[name].to_pylist() for name in key]
    versions: list[Any] = piece.rows["version"].to_pylist()
    newest: dict[tuple[Any, ...], int] = {}
    for place, one in enumerate(zip(*columns, strict=True)):
        before = newest.get(one)
        if before is None or versions[place] >= versions[before]:
            newest[one] = place
    places = sorted(newest.values())
    return Piece(piece.app_id, [piece.offsets[at] for at in places], piece.rows.take(places))


def _buried(app_id: str, at: TopicPartition, misfits: _Misfits) -> Piece:
    misfits.sort(key=lambda one: one[0].offset)
    letters = to_arrow(DeadLetter.table, [_dead_letter(at, *one) for one in misfits])
    return Piece(app_id, [record.offset for record, *_ in misfits], letters)


def _dead_letter(
    at: TopicPartition, record: RawRecord, table: str, error: ValueError
) -> tuple[Any, ...]:
    headers: str | None = _encode([(name, _text(value)) for name, value in record.headers]).decode()
    when = record.timestamp * 1000
    sent = (record.value, record.key, (headers or "").encode(), str(error).encode())
    dead = guarded(Dead(MISFIT, f"{table}: {error}"[:2_000], record.value or b""), *sent)
    row = DeadLetter(
        reason=MISFIT,
        detail=dead.detail,
        payload=dead.payload,
        key=None if record.key is None or dead.hidden else _text(record.key),
        headers=None if dead.hidden else headers,
        settled_at=None,
    )
    source = Source("default", when, at.topic, at.partition, record.offset)
    return stored(row, source, when)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "backslashreplace")
