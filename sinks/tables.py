"""Arrow schemas of the history tables, and conversion of rows into columns (docs/tables.md).

A row is a tuple from `schemas.generated.history.stored`: the table's columns, then `Source`'s.
Tables of documents have one more column on disk, `commit_order`.
"""

from __future__ import annotations  # the types of pyarrow-stubs have parameters, pyarrow has none

import re
from collections.abc import Sequence
from typing import Annotated, Any, get_origin, get_type_hints

import pyarrow as pa
from pydantic import BaseModel

from schemas.base import Micros
from schemas.rows import SNAPSHOT_KEYS, TABLES, Day, Json, Source

TIMESTAMP = pa.timestamp("us", "UTC")
COMMIT_ORDER = "commit_order"
"""int64, Delta version << 32 | index in the commit: order of a key's documents of one `version`."""

Rows = Sequence[tuple[Any, ...]]


def _arrow_type(hint: Any) -> pa.DataType:
    """Arrow type of a field; `| None` only makes the column nullable."""
    if hint == Micros:
        return TIMESTAMP
    if hint == Day:
        return pa.date32()
    if hint in (str, Json):
        return pa.string()
    plain: dict[Any, pa.DataType] = {
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        bytes: pa.binary(),
    }
    if hint in plain:
        return plain[hint]
    if hint == list[str]:
        return pa.list_(pa.string())
    options = [option for option in getattr(hint, "__args__", ()) if option is not type(None)]
    if get_origin(hint) is not Annotated and options:
        first = options[0]
        return pa.string() if isinstance(first, str) else _arrow_type(first)  # a Literal is text
    raise TypeError(f"no column type for {hint!r}: add it to sinks.tables")


def _fields(model: type[BaseModel]) -> list[pa.Field[Any]]:
    hints = get_type_hints(model, include_extras=True)
    return [pa.field(name, _arrow_type(hints[name])) for name in model.model_fields]


SCHEMAS: dict[str, pa.Schema] = {
    table: pa.schema(_fields(model) + _fields(Source)) for table, model in TABLES.items()
}
"""Columns of a row, and of a table's view."""

STORED: dict[str, pa.Schema] = {
    table: schema.append(pa.field(COMMIT_ORDER, pa.int64())) if table in SNAPSHOT_KEYS else schema
    for table, schema in SCHEMAS.items()
}
"""Columns on disk."""

COLUMNS: dict[str, tuple[str, ...]] = {name: tuple(s.names) for name, s in SCHEMAS.items()}


_STRUCTS = {name: pa.struct(list(schema)) for name, schema in SCHEMAS.items()}


def to_arrow(table: str, rows: Rows) -> pa.Table:
    """Converts row tuples into columns; times are microseconds, `date` days since 1970-01-01.

    Raises ValueError with the column and the first row with an invalid value.
    """
    try:  # by row: a third faster than by column, with values far apart in memory
        structs: Any = pa.array(rows, _STRUCTS[table])
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, OverflowError) as error:
        raise ValueError(_misfit(table, rows) or f"{table}: {error}") from error
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(structs)])


def _misfit(table: str, rows: Rows) -> str | None:
    """Describes the first invalid row; slow, only used after an error."""
    schema = SCHEMAS[table]
    for place, row in enumerate(rows):
        if len(row) != len(schema):
            return f"{table}, row {place}: {len(row)} values for {len(schema)} columns"
        for value, field in zip(row, schema, strict=True):
            try:
                pa.array([value], field.type)
            except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, OverflowError) as error:
                return f"{table}.{field.name}, row {place}: {_plain(error)}"
    return None


def _plain(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error)).strip()
