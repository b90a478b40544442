"""Replacing files of a table by others, in one commit: by the rows that are kept of whole days, or
by fewer files with the same rows.

In an object store others write the table meanwhile. An overwrite by a condition is refused there
whenever a sink has added a row of these days, so the commit names the files that go and come. And
Delta lets a commit remove again what a merge of its own has removed, whose rows would then be there
twice, or come back; so all commits that replace files carry one app's transaction, of which it
refuses the second (docs/decisions.md).
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from sinks.delta import WRITER, History
from sinks.errors import HistoryWriteError
from sinks.history import COMMIT_ORDER, select
from sinks.links import DataFile, exchange, files_of
from sinks.object_store import ObjectPath
from sinks.tables import STORED

SMALL = 50_000_000
"""Bytes of a file that is worth merging with others."""
SCRATCH = "_rewriting"
"""Of a history in an object store: files that are written, and not yet part of a table."""


def rewrite(
    history: History,
    db: duckdb.DuckDBPyConnection,
    name: str,
    table: DeltaTable,
    kept: str,
    days: list[Any],
) -> None:
    """Makes the rows of `days` those of the SQL `kept`, which reads the files of `table`."""
    listed = ", ".join(f"DATE '{day}'" for day in days)
    with _batches(db, name, f"SELECT * FROM ({kept}) WHERE date IN ({listed})") as rows:
        if isinstance(history.at, ObjectPath):
            texts = {str(day) for day in days}
            old = [one for one in files_of(table) if str(one.day) in texts]
            _replace(history, history.at, name, table, rows, old)
            return
        write_deltalake(
            table,
            rows,
            mode="overwrite",
            predicate="date IN ({})".format(", ".join(f"'{day}'" for day in days)),
            writer_properties=WRITER,
        )


def merge_files(
    history: History, db: duckdb.DuckDBPyConnection, name: str, table: DeltaTable
) -> None:
    """Makes one of a day's several small files, in an object store; readers see the same rows."""
    from sinks import object_files

    root = history.at
    assert isinstance(root, ObjectPath)
    days: dict[date, list[DataFile]] = defaultdict(list)
    for one in files_of(table):
        if one.size < SMALL:
            days[one.day].append(one)
    old = [one for some in days.values() if len(some) > 1 for one in some]
    if not old:
        return
    wheres = {one: root / name / unquote(one.path) for one in old}
    object_files.know(db, root / name, {str(at): (at, one.size) for one, at in wheres.items()})
    in_order = [str(wheres[one]) for one in sorted(old, key=lambda one: one.modified)]
    sql = select(name, in_order, more=COMMIT_ORDER in STORED[name].names)
    with _batches(db, name, sql) as rows:
        _replace(history, root, name, table, rows, old, same_rows=True)


@contextmanager
def _batches(db: duckdb.DuckDBPyConnection, name: str, sql: str) -> Iterator[pa.RecordBatchReader]:
    """What an SQL gives, with a table's columns and types."""
    columns = ", ".join(f'"{column}"' for column in STORED[name].names)
    reader = db.sql(f"SELECT {columns} FROM ({sql})").to_arrow_reader(20_000)
    try:
        typed = (batch.cast(STORED[name]) for batch in reader if batch.num_rows)
        yield pa.RecordBatchReader.from_batches(STORED[name], typed)
    finally:
        reader.close()  # a result that is read half-way would keep the connection from the retry


def _replace(
    history: History,
    root: ObjectPath,
    name: str,
    table: DeltaTable,
    rows: pa.RecordBatchReader,
    old: list[DataFile],
    *,
    same_rows: bool = False,
) -> None:
    """The rows are written as a table of their own, whose files then become part of this one.

    Who follows a table's changes passes over a commit with the same rows.
    """
    scratch = root / SCRATCH / uuid4().hex
    try:
        fresh = _written(history, scratch, rows)
        try:
            for one in fresh:
                (scratch / one.path).copy_to(root / name / one.path)
        except FileNotFoundError:
            raise HistoryWriteError(
                f"{name}: a concurrent `forget` has deleted what was being written; call this again"
            ) from None
        exchange(table, name, fresh, old, same_rows=same_rows)
    finally:
        clear(scratch)


def _written(history: History, scratch: ObjectPath, rows: pa.RecordBatchReader) -> list[DataFile]:
    write_deltalake(
        str(scratch),
        rows,
        partition_by=["date"],
        storage_options=history.storage_options,
        writer_properties=WRITER,
    )
    return files_of(DeltaTable(str(scratch), storage_options=history.storage_options))


def clear(place: ObjectPath) -> None:
    """Deletes all objects below."""
    place.unlink_all(place.sizes())
