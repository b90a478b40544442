"""Encodes history rows, keys and headers of messages (docs/topics.md)."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_type_hints

import msgspec
from pydantic import BaseModel

from schemas.base import Micros
from schemas.generated import history
from schemas.rows import TABLES, Source
from schemas.time import format_time
from streams.observability.traces import Headers, are_sent, carried_by, outgoing, trace_id

to_json = msgspec.json.Encoder().encode
time_text = lru_cache(10_000)(format_time)  # consecutive records share times

_ORDINALS = tuple(("ordinal", b"%d" % number) for number in range(256))
_TABLES = {table: ("table", table.encode()) for table in TABLES}


RowEncoder = Callable[[history.HistoryRow, history.Source, int], bytes]


def _row_encoder(table: str) -> RowEncoder:
    """Encoder of a table's rows, with their source and date, to JSON objects. Times become text."""
    hints = {name: hint for model in (TABLES[table], Source) for name, hint in _fields(model)}
    shape = msgspec.defstruct(table, list(hints))
    times = tuple(name for name, hint in hints.items() if hint in (Micros, Micros | None))

    def encode(row: history.HistoryRow, source: history.Source, dated_at: int) -> bytes:
        wire = shape(*history.stored(row, source, dated_at))
        for name in times:
            micros = getattr(wire, name)
            if micros is not None:
                setattr(wire, name, time_text(micros))
        return to_json(wire)

    return encode


def _fields(model: type[BaseModel]) -> list[tuple[str, Any]]:
    hints = get_type_hints(model, include_extras=True)
    return [(name, hints[name]) for name in model.model_fields]


ROW_ENCODERS = {table: _row_encoder(table) for table in TABLES}
"""table -> encoder of its rows, with the columns of `Source`."""


def key_of(*parts: str) -> bytes:
    """Joins parts to a key; "%" and "/" in the middle of three are percent-encoded (topology)."""
    if len(parts) == 3:
        first, middle, last = parts
        middle = middle.replace("%", "%25").replace("/", "%2F")
        return f"{first}/{middle}/{last}".encode()
    return "/".join(parts).encode()


@lru_cache(1000)
def _place(topic: str, partition: int) -> tuple[tuple[str, bytes], ...]:
    return (("src_topic", topic.encode()), ("src_partition", b"%d" % partition))


def _trace(carried: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, bytes], ...]:
    """Headers of a message's trace: of the batch's span if that is in the same trace, otherwise
    unchanged."""
    span_headers = outgoing()
    is_same_trace = span_headers and trace_id(dict(span_headers)) == trace_id(dict(carried))
    return tuple(span_headers) if is_same_trace else carried


class Origin:
    """The message that output messages derive from: its key, its columns in their rows, their
    headers, which propagate its trace."""

    __slots__ = ("_headers", "_ordinal", "key", "source")

    def __init__(self, message: Any, tenant: str, recorded_at: int) -> None:
        self.key: bytes | None = message.key
        topic, partition, offset = message.topic, message.partition, message.offset
        self.source = history.Source(tenant, recorded_at, topic, partition, offset)
        self._headers = (*_place(topic, partition), ("src_offset", b"%d" % offset))
        if are_sent() and (carried := carried_by(message)):
            self._headers += _trace(carried)
        self._ordinal = 0

    def headers(self, table: str | None = None) -> Headers:
        """Headers of the next output message, a row of `table` if given; numbered by ordinal."""
        number = self._ordinal
        self._ordinal += 1
        ordinal = _ORDINALS[number] if number < 256 else ("ordinal", b"%d" % number)
        if table is None:
            return [*self._headers, ordinal]
        return [_TABLES[table], *self._headers, ordinal]
