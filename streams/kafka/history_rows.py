"""Messages of `history` and `dead-letters` as rows of the history tables (design 03).

A message is one row as a JSON object by the names of `schemas.rows`: times RFC 3339 text, bytes
base64. All rows of a table become columns at once; times are read there, a thousand in one call.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import base64
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

import msgspec
import pyarrow as pa

from schemas.base import Micros
from schemas.rows import TABLES, Day, Json, Source
from sinks.tables import SCHEMAS, TIMESTAMP

Values = tuple[Any, ...]
"""A row as it was decoded, in the order of the table's columns; times and bytes are still text."""


def decode(table: str, value: bytes) -> Values:
    """One message; raises ValueError with field and reason for what is no row of this table."""
    decoder = _DECODERS.get(table)
    if decoder is None:
        raise ValueError(f"no table {table!r}")
    return _values(decoder(value))


def to_columns(table: str, rows: Sequence[Values]) -> pa.Table:
    """Decoded rows as the columns of their table; raises ValueError if one does not fit."""
    schema = SCHEMAS[table]
    try:
        columns = [
            _column(values, field)
            for values, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise ValueError(f"{table}: {error}") from error
    return pa.table(columns, schema=schema)


def _column(values: Sequence[Any], field: pa.Field[Any]) -> Any:
    if field.type == TIMESTAMP:
        text: Any = pa.array(values, pa.string())
        return text.cast(TIMESTAMP)
    if field.type == pa.binary():
        return pa.array([_bytes(value) for value in values], pa.binary())
    return pa.array(values, field.type)


def _bytes(text: str) -> bytes:
    """Base64 of either alphabet: pydantic writes the one that is safe in URLs."""
    return base64.b64decode(text.translate(_STANDARD), validate=True)


_STANDARD = str.maketrans("-_", "+/")
_values = msgspec.structs.astuple


def _wire_type(hint: Any) -> Any:
    """What a field is in JSON, before times and bytes are read."""
    if hint == Micros or hint is bytes:
        return str
    if hint == Day:
        return int
    if hint == Json:
        return str
    if hint == Json | None:
        return str | None
    return hint


def _decoder(table: str) -> Callable[[bytes], msgspec.Struct]:
    own = get_type_hints(TABLES[table], include_extras=True)
    source = get_type_hints(Source, include_extras=True)
    names = SCHEMAS[table].names
    fields = [(name, _wire_type({**own, **source}[name])) for name in names]
    # a column that we do not know would be lost silently: a newer worker needs a newer sink
    struct = msgspec.defstruct(table, fields, forbid_unknown_fields=True, gc=False)
    return msgspec.json.Decoder(struct).decode


_DECODERS = {table: _decoder(table) for table in TABLES}
