"""Parses messages of `history` and `dead-letters` into rows of the history tables (docs/tables.md).

A message is one row as a JSON object with the fields of `schemas.rows`: times in RFC 3339, bytes in
base64. One call of Arrow turns a block of messages into columns, without Python's lock.
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
"""Bytes that a core parses at a time."""


def parse(table: str, values: Sequence[bytes]) -> pa.Table:
    """Parses messages into the columns of their table, in order.

    Raises ValueError with field and reason if a message is not a row of this table.
    """
    shape = _SHAPES.get(table)
    if shape is None:
        raise ValueError(f"no table {table!r}")
    text = b"\n".join((b"", *values))
    if not text.count(b"\n") == text.count(b"\n{") == len(values):
        raise ValueError(f"{table}: not one JSON object on one line")
    longest = max(map(len, values), default=0) + 1  # a block has at least one message
    options = json.ReadOptions(use_threads=True, block_size=max(BLOCK_BYTES, longest))
    try:
        buffer: Any = pa.BufferReader(text)  # pyarrow-stubs only know files
        parsed = json.read_json(buffer, options, shape.options)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{table}: {_plain(error, values)}{shape.unknown(values)}") from error
    if parsed.num_rows != len(values):
        raise ValueError(f"{table}: several JSON objects in one message")
    columns = [shape.column(parsed[field.name], field) for field in SCHEMAS[table]]
    return pa.table(columns, schema=SCHEMAS[table])


def _plain(error: Exception, values: Sequence[bytes]) -> str:
    text = str(error).removeprefix("JSON parse error: ")
    return text.removesuffix(" in row 0") if len(values) == 1 else text


class _RowSchema:
    """Schema and constraints of one table's columns."""

    def __init__(self, table: str) -> None:
        self._table = table
        # unknown columns would be lost silently: a newer worker needs a newer sink
        self.options = json.ParseOptions(
            explicit_schema=pa.schema([_wire_field(field) for field in SCHEMAS[table]]),
            unexpected_field_behavior="error",
        )
        hints = {
            name: hint
            for model in (TABLES[table], Source)
            for name, hint in get_type_hints(model, include_extras=True).items()
        }
        self._required = {name for name, hint in hints.items() if type(None) not in get_args(hint)}
        self._choices = {
            name: pa.array(get_args(hint))
            for name, hint in hints.items()
            if get_origin(hint) is Literal
        }

    def column(self, parsed: Any, field: pa.Field[Any]) -> Any:
        """Checks a parsed column for errors that Arrow's parser ignores."""
        try:
            parsed.validate(full=True)  # UTF-8
            self._check(parsed, field)
            return _read_texts(parsed, field)
        except ValueError as error:  # including Arrow's
            raise ValueError(f"{self._table}.{field.name}: {error}") from error

    def _check(self, column: Any, field: pa.Field[Any]) -> None:
        if field.name in self._required and column.null_count:
            raise ValueError("missing, or null")
        if pa.types.is_list(field.type) and pc.list_flatten(column).null_count:
            raise ValueError("a null in a list")
        if pa.types.is_floating(field.type) and not _all(pc.is_finite(column)):
            raise ValueError("not a finite number")
        choices = self._choices.get(field.name)
        if choices is not None and not _all(pc.is_in(column, choices)):
            raise ValueError(f"not one of {', '.join(choices.to_pylist())}")

    def unknown(self, values: Sequence[bytes]) -> str:
        """Names of fields of a single message that the table lacks."""
        if len(values) != 1:
            return ""
        try:
            fields = msgspec.json.decode(values[0])
        except (ValueError, RecursionError):
            return ""
        columns = self.options.explicit_schema.names
        more = sorted(set(fields).difference(columns)) if isinstance(fields, dict) else []
        return f": {', '.join(more)}"[:200] if more else ""


def _wire_field(field: pa.Field[Any]) -> pa.Field[Any]:
    """The field as JSON has it, before times and bytes are decoded."""
    is_text = field.type in (TIMESTAMP, pa.binary())
    return pa.field(field.name, pa.string()) if is_text else field


def _read_texts(column: Any, field: pa.Field[Any]) -> Any:
    if field.type == TIMESTAMP:
        return column.cast(TIMESTAMP)
    if field.type == pa.binary():
        return pa.array([from_base64(value) for value in column.to_pylist()], pa.binary())
    return column


def from_base64(text: str) -> bytes:
    """Decodes base64 of either alphabet: pydantic writes the URL-safe one."""
    return base64.b64decode(text.translate(_STANDARD), validate=True)


def _all(flags: Any) -> bool:
    return pc.all(flags, min_count=0).as_py() is not False


_STANDARD = str.maketrans("-_", "+/")
_SHAPES = {table: _RowSchema(table) for table in TABLES}
