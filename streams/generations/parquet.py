"""Reads rows of a history's Parquet files in chunks of bounded size, and writes them.

DuckDB reads at least 2,048 rows at a time, which can exceed its memory if documents are large.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from sinks.delta import WRITER
from sinks.errors import in_a_line
from sinks.history import LATER
from sinks.history_root import HistoryError, HistoryWriteError
from sinks.tables import STORED

BYTES_AT_ONCE = 32_000_000
ROWS_DECODED = 256
ROW = "row"
"""Added column: file number << `FILE_BITS` | row number, from 0."""
FILE_BITS = 32


def rows_of(name: str, files: Mapping[int, str]) -> Iterator[pa.Table]:
    """Yields the rows of numbered files with the table's stored columns and `ROW`, in order.

    Rows of small files are combined, as each chunk has a cost. Empty chunks are omitted. Raises
    OSError, and HistoryError for an invalid file.
    """
    pieces: list[pa.Table] = []
    size = 0
    for number, file in files.items():
        for rows in _rows_of(name, file, number << FILE_BITS):
            if pieces and size + rows.nbytes > BYTES_AT_ONCE:
                yield pa.concat_tables(pieces)
                pieces, size = [], 0
            pieces.append(rows)
            size += rows.nbytes
    if pieces:
        yield pa.concat_tables(pieces)


def _rows_of(name: str, file: str, start: int) -> Iterator[pa.Table]:
    schema = STORED[name].append(pa.field(ROW, pa.int64()))
    day = pa.scalar(date.fromisoformat(Path(file).parent.name.removeprefix("date=")))
    try:
        for rows in _chunks(
            file, [column_name for column_name in STORED[name].names if column_name != "date"]
        ):
            numbers = pa.array(range(start, start + rows.num_rows), pa.int64())
            dated = rows.append_column("date", pa.repeat(day, rows.num_rows))
            for column in LATER.get(name, ()):  # missing in files of earlier versions
                if column not in dated.column_names:
                    blank = pa.nulls(rows.num_rows, schema.field(column).type)
                    dated = dated.append_column(column, blank)
            yield dated.append_column(ROW, numbers).select(schema.names).cast(schema)
            start += rows.num_rows
    except pa.ArrowException as error:
        raise HistoryError(f"{file}: cannot be read: {error}") from error


def _chunks(file: str, columns: list[str]) -> Iterator[pa.Table]:
    with pq.ParquetFile(file) as parquet:
        batches: list[pa.RecordBatch] = []
        size = 0
        for batch in parquet.iter_batches(ROWS_DECODED, columns=columns):
            batches.append(batch)
            size += batch.nbytes
            if size >= BYTES_AT_ONCE:
                yield pa.Table.from_batches(batches)
                batches, size = [], 0
        if batches:
            yield pa.Table.from_batches(batches)


def write_rows(name: str, target: Path, rows: Iterator[pa.RecordBatch]) -> None:
    """Writes rows of a table as a new table at `target`. Raises HistoryWriteError."""
    reader = pa.RecordBatchReader.from_batches(STORED[name], rows)
    try:
        write_deltalake(str(target), reader, partition_by=["date"], writer_properties=WRITER)
    except Exception as error:  # errors of the reader are wrapped with a traceback
        text = in_a_line(error).partition(" Detail: ")[0]
        raise HistoryWriteError(f"{name}: {text}") from error
