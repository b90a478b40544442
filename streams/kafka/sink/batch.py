"""Messages read and not yet written by a sink: by table and partition, then as columns."""

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
from sinks.sink_history import Piece
from sinks.tables import to_arrow
from streams.erasure_keys.encrypted_values import check_plain
from streams.kafka.client.aiokafka_internals import RawMessage
from streams.kafka.sink.history_rows import parse
from streams.pipeline.decode import Dead, guarded

PACK_ROWS = 8_192
MESSAGE_BYTES = 1_000
"""Memory per message besides its value, mostly headers."""
MISFIT: Reason = "bad_row"
"""Reason of the sink's dead letters: the message is not a row."""

_Misfits = list[tuple[RawMessage, str, ValueError]]
_encode = msgspec.json.Encoder().encode


class SinkBatch:
    """Messages since the last write. `upto`: last offset read; `bytes`: memory in use.

    Parsing starts in `pieces`, which the writing thread calls and which counts `misfits`.
    """

    def __init__(self) -> None:
        self.upto: dict[TopicPartition, int] = {}
        self.bytes = 0
        self.misfits = 0
        self.began = time.monotonic()
        self._waiting: defaultdict[tuple[str, TopicPartition], list[RawMessage]] = defaultdict(list)

    def add(self, tp: TopicPartition, table: str, message: RawMessage) -> None:
        self.bytes += len(message.value or b"") + MESSAGE_BYTES
        self._waiting[table, tp].append(message)

    def messages(self) -> Iterator[RawMessage]:
        """The pending messages; none after `pieces`."""
        return chain.from_iterable(self._waiting.values())

    def pieces(self, apps: Mapping[TopicPartition, str]) -> dict[str, list[Piece]]:
        """Rows by table; call it once.

        A message that does not fit its table becomes a row of `dead_letters` with its bytes, so
        that it is preserved and does not block others. Only the newest version of a document is
        kept.
        """
        pieces: defaultdict[str, list[Piece]] = defaultdict(list)
        misfits: defaultdict[TopicPartition, _Misfits] = defaultdict(list)
        while self._waiting:  # frees messages once they are packed
            (table, tp), messages = self._waiting.popitem()
            packed = list(_packed(table, messages, misfits[tp]))
            if packed:
                offsets = [offset for block, _ in packed for offset in block]
                rows = pa.concat_tables([rows for _, rows in packed])
                pieces[table].append(_newest(table, Piece(apps[tp], offsets, rows)))
        for tp, letters in misfits.items():
            if letters:
                self.misfits += len(letters)
                pieces[DeadLetter.table].append(_buried(apps[tp], tp, letters))
        return dict(pieces)


def _packed(
    table: str, messages: list[RawMessage], misfits: _Misfits
) -> Iterator[tuple[list[int], pa.Table]]:
    """Blocks of rows with their offsets; a block with a misfit is halved until it is isolated."""
    for first in range(0, len(messages), PACK_ROWS):
        yield from _block(table, messages[first : first + PACK_ROWS], misfits)


def _block(
    table: str, messages: list[RawMessage], misfits: _Misfits
) -> Iterator[tuple[list[int], pa.Table]]:
    try:
        rows = parse(table, [message.value or b"" for message in messages])
    except ValueError as error:
        if len(messages) == 1:
            check_plain(messages[0].value or b"", f"{table}, offset {messages[0].offset}")
            misfits.append((messages[0], table, error))
            return
        middle = len(messages) // 2
        yield from _block(table, messages[:middle], misfits)
        yield from _block(table, messages[middle:], misfits)
    else:
        yield [message.offset for message in messages], rows


def _newest(table: str, piece: Piece) -> Piece:
    """Keeps the newest document per key, in offset order; of equal versions, which a fold from the
    start may produce, the later one."""
    key = SNAPSHOT_KEYS.get(table)
    if key is None:
        return piece
    columns = [piece.rows[name].to_pylist() for name in key]
    versions: list[Any] = piece.rows["version"].to_pylist()
    newest: dict[tuple[Any, ...], int] = {}
    for place, document_key in enumerate(zip(*columns, strict=True)):
        before = newest.get(document_key)
        if before is None or versions[place] >= versions[before]:
            newest[document_key] = place
    places = sorted(newest.values())
    return Piece(piece.app_id, [piece.offsets[at] for at in places], piece.rows.take(places))


def _buried(app_id: str, tp: TopicPartition, misfits: _Misfits) -> Piece:
    misfits.sort(key=lambda misfit: misfit[0].offset)
    letters = to_arrow(DeadLetter.table, [_dead_letter(tp, *misfit) for misfit in misfits])
    return Piece(app_id, [message.offset for message, *_ in misfits], letters)


def _dead_letter(
    tp: TopicPartition, message: RawMessage, table: str, error: ValueError
) -> tuple[Any, ...]:
    headers: str | None = _encode(
        [(name, _text(value)) for name, value in message.headers]
    ).decode()
    recorded_at = message.timestamp * 1000
    sent = (message.value, message.key, (headers or "").encode(), str(error).encode())
    dead = guarded(Dead(MISFIT, f"{table}: {error}"[:2_000], message.value or b""), *sent)
    row = DeadLetter(
        reason=MISFIT,
        detail=dead.detail,
        payload=dead.payload,
        key=None if message.key is None or dead.hidden else _text(message.key),
        headers=None if dead.hidden else headers,
        settled_at=None,
    )
    source = Source("default", recorded_at, tp.topic, tp.partition, message.offset)
    return stored(row, source, recorded_at)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "backslashreplace")
