"""Replaces files of a table in one commit: rewrites days with fewer rows, or merges files.

In an object store other writers are active. An overwrite by a condition conflicts with each row
that a sink adds to these days, so the commit lists removed and added files. Delta also lets a
commit remove a file that a concurrent merge has removed: its rows would be duplicated or reappear.
So all commits that replace files carry one app's transaction, and Delta rejects the second
(docs/decisions.md).
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

from sinks.delta import WRITER, History, commit_properties, replacing
from sinks.errors import HistoryWriteError
from sinks.hard_links import DataFile, exchange, files_of
from sinks.history import COMMIT_ORDER, select
from sinks.object_store import ObjectPath
from sinks.tables import STORED

SMALL = 50_000_000
"""Files with fewer bytes are merged."""
SCRATCH = "_rewriting"
"""Folder in an object store for files before they become part of a table."""


def rewrite(
    history: History,
    db: duckdb.DuckDBPyConnection,
    name: str,
    table: DeltaTable,
    remaining: str,
    days: list[Any],
) -> None:
    """Replaces the rows of `days` by the result of the SQL `remaining`, which reads the files of
    `table`."""
    listed = ", ".join(f"DATE '{day}'" for day in days)
    with _batches(db, name, f"SELECT * FROM ({remaining}) WHERE date IN ({listed})") as rows:
        if isinstance(history.at, ObjectPath):
            texts = {str(day) for day in days}
            old = [file for file in files_of(table) if str(file.day) in texts]
            _replace(history, history.at, name, table, rows, old)
            return
        write_deltalake(
            table,
            rows,
            mode="overwrite",
            predicate="date IN ({})".format(", ".join(f"'{day}'" for day in days)),
            writer_properties=WRITER,
            commit_properties=commit_properties(replacing(table)),
        )


def merge_files(
    history: History, db: duckdb.DuckDBPyConnection, name: str, table: DeltaTable
) -> None:
    """Merges the small files of each day, in an object store; the rows stay the same."""
    from sinks import object_files

    root = history.at
    assert isinstance(root, ObjectPath)
    days: dict[date, list[DataFile]] = defaultdict(list)
    for file in files_of(table):
        if file.size < SMALL:
            days[file.day].append(file)
    old = [file for files in days.values() if len(files) > 1 for file in files]
    if not old:
        return
    addresses = {file: root / name / unquote(file.path) for file in old}
    object_files.register(
        db, root / name, {str(address): (address, file.size) for file, address in addresses.items()}
    )
    in_order = [str(addresses[file]) for file in sorted(old, key=lambda file: file.modified)]
    sql = select(name, in_order, commit_order=COMMIT_ORDER in STORED[name].names)
    with _batches(db, name, sql) as rows:
        _replace(history, root, name, table, rows, old, same_rows=True)


@contextmanager
def _batches(db: duckdb.DuckDBPyConnection, name: str, sql: str) -> Iterator[pa.RecordBatchReader]:
    """Rows of an SQL as batches with the table's columns and types."""
    columns = ", ".join(f'"{column}"' for column in STORED[name].names)
    reader = db.sql(f"SELECT {columns} FROM ({sql})").to_arrow_reader(20_000)
    try:
        typed = (batch.cast(STORED[name]) for batch in reader if batch.num_rows)
        yield pa.RecordBatchReader.from_batches(STORED[name], typed)
    finally:
        reader.close()  # an open result would block the connection for a retry


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
    """Writes the rows as a scratch table; its files then replace `old` in the table.

    `same_rows`: readers of the table's changes skip the commit.
    """
    scratch = root / SCRATCH / uuid4().hex
    try:
        fresh = _written(history, scratch, rows)
        try:
            for file in fresh:
                (scratch / file.path).copy_to(root / name / file.path)
        except FileNotFoundError:
            raise HistoryWriteError(
                f"{name}: a concurrent `forget` deleted files of this commit; run the same command "
                "again"
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
    """Deletes all objects below a path."""
    place.unlink_all(place.sizes())
