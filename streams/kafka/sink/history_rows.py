"""Messages of `history` and `dead-letters` as rows of the history tables (docs/tables.md).

A message is one row as a JSON object by the names of `schemas.rows`: times RFC 3339 text, bytes
base64. All rows of a block become columns in one call, in Arrow and without Python's lock.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import base64
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

from schemas.rows import TABLES, Source
from sinks.tables import SCHEMAS, TIMESTAMP

BLOCK_BYTES = 500_000
"""What a core parses at a time."""


def parse(table: str, values: Sequence[bytes]) -> pa.Table:
    """Messages as the columns of their table, row for row.

    Raises ValueError with field and reason if one of them is no row of this table.
    """
    shape = _SHAPES.get(table)
    if shape is None:
        raise ValueError(f"no table {table!r}")
    text = b"\n".join((b"", *values))
    if not text.count(b"\n") == text.count(b"\n{") == len(values):
        raise ValueError(f"{table}: not one JSON object on one line")
    longest = max(map(len, values), default=0) + 1  # a block is never less than a message
    options = json.ReadOptions(use_threads=True, block_size=max(BLOCK_BYTES, longest))
    try:
        buffer: Any = pa.BufferReader(text)  # pyarrow-stubs only know files
        found = json.read_json(buffer, options, shape.options)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{table}: {_plain(error, values)}{shape.unknown(values)}") from error
    if found.num_rows != len(values):
        raise ValueError(f"{table}: several JSON objects in one message")
    columns = [shape.column(found[field.name], field) for field in SCHEMAS[table]]
    return pa.table(columns, schema=SCHEMAS[table])


def _plain(error: Exception, values: Sequence[bytes]) -> str:
    text = str(error).removeprefix("JSON parse error: ")
    return text.removesuffix(" in row 0") if len(values) == 1 else text


class _Shape:
    """What the columns of one table must be."""

    def __init__(self, table: str) -> None:
        self._table = table
        # a column that we do not know would be lost silently: a newer worker needs a newer sink
        self.options = json.ParseOptions(
            explicit_schema=pa.schema([_wire_field(field) for field in SCHEMAS[table]]),
            unexpected_field_behavior="error",
        )
        hints = {
            name: hint
            for model in (TABLES[table], Source)
            for name, hint in get_type_hints(model, include_extras=True).items()
        }
        self._given = {name for name, hint in hints.items() if type(None) not in get_args(hint)}
        self._choices = {
            name: pa.array(get_args(hint))
            for name, hint in hints.items()
            if get_origin(hint) is Literal
        }

    def column(self, found: Any, field: pa.Field[Any]) -> Any:
        """A column as it was parsed, checked for what Arrow's parser takes on trust."""
        try:
            found.validate(full=True)  # UTF-8
            self._check(found, field)
            return _read_texts(found, field)
        except ValueError as error:  # Arrow's own are of that kind
            raise ValueError(f"{self._table}.{field.name}: {error}") from error

    def _check(self, found: Any, field: pa.Field[Any]) -> None:
        if field.name in self._given and found.null_count:
            raise ValueError("missing, or null")
        if pa.types.is_list(field.type) and pc.list_flatten(found).null_count:
            raise ValueError("a null in a list")
        if pa.types.is_floating(field.type) and not _all(pc.is_finite(found)):
            raise ValueError("not a finite number")
        some = self._choices.get(field.name)
        if some is not None and not _all(pc.is_in(found, some)):
            raise ValueError(f"not one of {', '.join(some.to_pylist())}")

    def unknown(self, values: Sequence[bytes]) -> str:
        """The names of fields that a single message has and the table has not."""
        if len(values) != 1:
            return ""
        try:
            given = msgspec.json.decode(values[0])
        except (ValueError, RecursionError):
            return ""
        known = self.options.explicit_schema.names
        more = sorted(set(given).difference(known)) if isinstance(given, dict) else []
        return f": {', '.join(more)}"[:200] if more else ""


def _wire_field(field: pa.Field[Any]) -> pa.Field[Any]:
    """A column before times and bytes are read."""
    is_text = field.type in (TIMESTAMP, pa.binary())
    return pa.field(field.name, pa.string()) if is_text else field


def _read_texts(column: Any, field: pa.Field[Any]) -> Any:
    if field.type == TIMESTAMP:
        return column.cast(TIMESTAMP)
    if field.type == pa.binary():
        return pa.array([from_base64(value) for value in column.to_pylist()], pa.binary())
    return column


def from_base64(text: str) -> bytes:
    """Base64 of either alphabet: pydantic writes the one that is safe in URLs."""
    return base64.b64decode(text.translate(_STANDARD), validate=True)


def _all(flags: Any) -> bool:
    return pc.all(flags, min_count=0).as_py() is not False


_STANDARD = str.maketrans("-_", "+/")
_SHAPES = {table: _Shape(table) for table in TABLES}
