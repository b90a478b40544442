"""Shares Parquet files between tables: hard links, and the commits that reference them.

A file is never changed, so two generations can reference the same one; `compact` and `forget`
rewrite files of one generation without changing the other. If hard links are not supported, the
files are copied.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
from deltalake import DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from sinks.delta import PLACES_APP, History, commit_properties, replacing
from sinks.errors import unreadable
from sinks.history_root import HistoryWriteError
from sinks.locations import Location
from sinks.object_store import ObjectPath, delta_options
from sinks.store_errors import store_error
from sinks.tables import STORED

T = TypeVar("T")
UNLINKED = {errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK}
"""Errors if the target is on another file system, or hard links are unsupported or exhausted."""


class DataFile(NamedTuple):
    """A Parquet file of a table: path below the table, bytes, rows and time of change (ms)."""

    path: str
    size: int
    rows: int
    modified: int

    @property
    def day(self) -> date:
        """The day of its rows."""
        return date.fromisoformat(_partition(self.path))


def files_at(table: Location, version: int | None = None) -> list[DataFile]:
    """Files of a table at a Delta version (default: newest); empty for a missing table.

    Raises HistoryError if it cannot be read.
    """
    return _read(table, files_of, version) or []


def files_of(table: DeltaTable) -> list[DataFile]:
    """Files of an open table, sorted."""
    actions: Any = pa.table(table.get_add_actions())
    names = ("path", "size_bytes", "num_records", "modification_time")
    columns = (actions.column(name).to_pylist() for name in names)
    return sorted(DataFile(*row) for row in zip(*columns, strict=True))


def version_of(table: Path) -> int:
    """Newest Delta version of a table; -1 for a missing one. Raises HistoryError if it cannot be
    read."""
    version = _read(table, DeltaTable.version)
    return -1 if version is None else version


def _read(
    table: Location, question: Callable[[DeltaTable], T], version: int | None = None
) -> T | None:
    options = delta_options() if isinstance(table, ObjectPath) else None
    try:
        return question(DeltaTable(str(table), version=version, storage_options=options))
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        if isinstance(table, ObjectPath):
            raise store_error(error, str(table)) from None
        raise unreadable(table, error) from error


def missing_files(table: Path) -> list[str]:
    """Files of the table that are missing or incomplete."""
    return [
        file.path
        for file in files_at(table)
        if not (path := table / file.path).exists() or path.stat().st_size != file.size
    ]


def adopt(history: History, name: str, source: Path, files: Iterable[DataFile]) -> None:
    """Replaces a table's files by these files of the table at `source`, in one commit.

    After a kill, the same call completes the work. Raises HistoryWriteError.
    """
    data_files = list(files)
    try:
        share(source, Path(history.root) / name, (file.path for file in data_files))
    except OSError as error:
        raise HistoryWriteError(f"{name}: {error}") from error
    set_files(history, name, data_files)


def set_files(
    history: History, name: str, files: Iterable[DataFile], places_after: int | None = None
) -> None:
    """Replaces a table's files by these files of its folder, in one commit.

    `places_after`: offset of the commit order of later commits. Raises HistoryWriteError.
    """
    by_path = {file.path: file for file in files}
    try:
        table = history.table(name) or (history.open_or_create(name) if by_path else None)
        if table is not None:
            commit(table, name, by_path.values(), places_after)
    except (DeltaError, OSError) as error:
        raise HistoryWriteError(f"{name}: {error}") from error


def share(source: Path, target: Path, files: Iterable[str]) -> None:
    """Links files of one table into the folder of another, without a commit.

    Raises OSError.
    """
    for path in files:
        if not (target / path).exists():
            _link(source / path, target / path)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with suppress(FileExistsError):
            os.link(source, target)
    except OSError as error:
        if error.errno not in UNLINKED:
            raise
        fresh = target.with_name(f".{target.name}")
        shutil.copy2(source, fresh)
        fresh.replace(target)


def commit(
    table: DeltaTable, name: str, files: Iterable[DataFile], places_after: int | None = None
) -> None:
    """Replaces the files of an open table by these existing files. Raises DeltaError, OSError."""
    by_path = {file.path: file for file in files}
    present = {file.path: file for file in files_of(table)}
    fresh = [by_path[path] for path in sorted(by_path.keys() - present.keys())]
    old = [present[path] for path in sorted(present.keys() - by_path.keys())]
    if fresh or old:
        apps = [] if places_after is None else [Transaction(PLACES_APP, places_after)]
        exchange(table, name, fresh, old, apps)


def exchange(
    table: DeltaTable,
    name: str,
    fresh: Iterable[DataFile],
    old: Sequence[DataFile],
    apps: Sequence[Transaction] = (),
    *,
    same_rows: bool = False,
) -> None:
    """Replaces files of an open table in one commit. `same_rows`: readers of the table's changes
    skip the commit. Raises DeltaError, OSError."""
    changes = not same_rows
    table.create_write_transaction(
        [*(added(file, changes) for file in fresh), *(removed(file, changes) for file in old)],
        "append",
        Schema.from_arrow(STORED[name]),
        ["date"],
        commit_properties=commit_properties(*apps, replacing(table)),
    )
    table.update_incremental()  # the commit does not


def added(file: DataFile, changes: bool = True) -> AddAction:
    """Commit action that adds a file; `changes`: whether the table's rows change."""
    stats = json.dumps({"numRecords": file.rows})
    partition = {"date": _partition(file.path)}
    return AddAction(file.path, file.size, partition, file.modified, changes, stats)


def removed(file: DataFile, changes: bool = True) -> RemoveAction:
    """Commit action that removes a file."""
    now = time.time_ns() // 1_000_000
    return RemoveAction(file.path, changes, now, file.size, {"date": _partition(file.path)})


def _partition(path: str) -> str:
    return path.partition("/")[0].removeprefix("date=")
