"""The rows of a history's Parquet files, a bounded number of bytes at a time.

DuckDB reads 2,048 rows at least, which with large documents are more than its memory.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sinks.history import LATER
from sinks.root import HistoryError
from sinks.tables import STORED

BYTES_AT_ONCE = 32_000_000
ROWS_DECODED = 256
ROW = "row"
"""A column of ours: the number of a row's file, shifted by `FILE_BITS`, and the row's, from 0."""
FILE_BITS = 32


def rows_of(name: str, files: Mapping[int, str]) -> Iterator[pa.Table]:
    """The rows of files, each of which has a number, as the table stores them, with `ROW`.

    In the order of the files and of their rows; those of small files together, for each table has
    its price. No table is empty. Raises OSError, and HistoryError where one is no such file.
    """
    held: list[pa.Table] = []
    size = 0
    for number, file in files.items():
        for rows in _rows_of(name, file, number << FILE_BITS):
            if held and size + rows.nbytes > BYTES_AT_ONCE:
                yield pa.concat_tables(held)
                held, size = [], 0
            held.append(rows)
            size += rows.nbytes
    if held:
        yield pa.concat_tables(held)


def _rows_of(name: str, file: str, start: int) -> Iterator[pa.Table]:
    schema = STORED[name].append(pa.field(ROW, pa.int64()))
    day = pa.scalar(date.fromisoformat(Path(file).parent.name.removeprefix("date=")))
    try:
        for rows in _some(file, [one for one in STORED[name].names if one != "date"]):
            numbers = pa.array(range(start, start + rows.num_rows), pa.int64())
            dated = rows.append_column("date", pa.repeat(day, rows.num_rows))
            for column in LATER.get(name, ()):  # of files that earlier versions wrote
                if column not in dated.column_names:
                    blank = pa.nulls(rows.num_rows, schema.field(column).type)
                    dated = dated.append_column(column, blank)
            yield dated.append_column(ROW, numbers).select(schema.names).cast(schema)
            start += rows.num_rows
    except pa.ArrowException as error:
        raise HistoryError(f"{file}: cannot be read: {error}") from error


def _some(file: str, columns: list[str]) -> Iterator[pa.Table]:
    with pq.ParquetFile(file) as opened:
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in opened.iter_batches(ROWS_DECODED, columns=columns):
            held.append(batch)
            size += batch.nbytes
            if size >= BYTES_AT_ONCE:
                yield pa.Table.from_batches(held)
                held, size = [], 0
        if held:
            yield pa.Table.from_batches(held)
