"""History rows, keys and headers as they stand in messages (docs/topics.md)."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_type_hints

import msgspec
from pydantic import BaseModel

from schemas.base import Micros
from schemas.rows import TABLES, Source
from schemas.time import format_time
from streams.observing.traces import Headers

to_json = msgspec.json.Encoder().encode
time_text = lru_cache(10_000)(format_time)  # what comes together was recorded together

_ORDINALS = tuple(("ordinal", b"%d" % number) for number in range(256))
_TABLES = {table: ("table", table.encode()) for table in TABLES}


def _row_encoder(table: str) -> Callable[[tuple[Any, ...]], bytes]:
    """Row tuples of a table (as `sinks.tables` has them) to JSON objects. Times become text; one
    that is text already, as an origin's, stays."""
    hints = {name: hint for model in (TABLES[table], Source) for name, hint in _fields(model)}
    shape = msgspec.defstruct(table, list(hints))
    times = tuple(
        place for place, hint in enumerate(hints.values()) if hint in (Micros, Micros | None)
    )

    def encode(row: tuple[Any, ...]) -> bytes:
        cells = list(row)
        for place in times:
            if type(cells[place]) is int:
                cells[place] = time_text(cells[place])
        return to_json(shape(*cells))

    return encode


def _fields(model: type[BaseModel]) -> list[tuple[str, Any]]:
    hints = get_type_hints(model, include_extras=True)
    return [(name, hints[name]) for name in model.model_fields]


ROW_ENCODERS = {table: _row_encoder(table) for table in TABLES}
"""table -> encoder of its rows with the columns of `Source`."""


def key_of(*parts: str) -> bytes:
    """The key of parts; in the middle of three "%" and "/" are percent-encoded (topology)."""
    if len(parts) == 3:
        first, middle, last = parts
        middle = middle.replace("%", "%25").replace("/", "%2F")
        return f"{first}/{middle}/{last}".encode()
    return "/".join(parts).encode()


@lru_cache(1000)
def _place(topic: str, partition: int) -> tuple[tuple[str, bytes], ...]:
    return (("src_topic", topic.encode()), ("src_partition", b"%d" % partition))


class Origin:
    """The record that messages come from: its key, its columns in their rows, their headers.

    `suffix`: tenant, recorded_at as text, src_topic, src_partition, src_offset.
    """

    __slots__ = ("_ordinal", "_source", "key", "recorded_at", "suffix")

    def __init__(self, record: Any, tenant: str, recorded_at: int) -> None:
        self.key: bytes | None = record.key
        topic, partition, offset = record.topic, record.partition, record.offset
        self.recorded_at = time_text(recorded_at)
        self.suffix: Any = (tenant, self.recorded_at, topic, partition, offset)
        self._source = (*_place(topic, partition), ("src_offset", b"%d" % offset))
        self._ordinal = 0

    def headers(self, table: str | None = None) -> Headers:
        """Of its next message, a row of `table` if one is named; the ordinal counts them."""
        number = self._ordinal
        self._ordinal += 1
        ordinal = _ORDINALS[number] if number < 256 else ("ordinal", b"%d" % number)
        if table is None:
            return [*self._source, ordinal]
        return [_TABLES[table], *self._source, ordinal]
