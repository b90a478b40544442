"""Tables that share their Parquet files: hard links, and the commit that names them.

A file is written once and never changed, so two generations may hold the same one; what `compact`
or `forget` rewrites in the one leaves the other as it was. Where the file system has no hard links
the files are copied.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import errno
import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from sinks.delta import CONFIGURATION, PLACES, History, replacing
from sinks.locations import Location
from sinks.object_store import ObjectPath, delta_options
from sinks.root import HistoryError, HistoryWriteError
from sinks.store_errors import told
from sinks.tables import STORED

UNLINKED = {errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK}
"""Another file system, or one without hard links, or a file that has too many."""


class DataFile(NamedTuple):
    """One Parquet file of a table: its path below the table, bytes, rows and time (ms)."""

    path: str
    size: int
    rows: int
    modified: int

    @property
    def day(self) -> date:
        """The day whose rows it holds."""
        return date.fromisoformat(_partition(self.path))


def files_at(table: Location, version: int | None = None) -> list[DataFile]:
    """The files of a table at a Delta version (default: now); none where there is no table.

    Raises HistoryError where it cannot be read.
    """
    options = delta_options() if isinstance(table, ObjectPath) else None
    try:
        return files_of(DeltaTable(str(table), version=version, storage_options=options))
    except TableNotFoundError:
        return []
    except (DeltaError, OSError) as error:
        if isinstance(table, ObjectPath):
            raise told(error, str(table)) from None
        raise HistoryError(f"{table}: the table cannot be read: {error}") from error


def files_of(table: DeltaTable) -> list[DataFile]:
    """The files of an open table."""
    found: Any = pa.table(table.get_add_actions())
    names = ("path", "size_bytes", "num_records", "modification_time")
    columns = (found.column(name).to_pylist() for name in names)
    return sorted(DataFile(*one) for one in zip(*columns, strict=True))


def version_of(table: Path) -> int:
    """The table's newest Delta version, -1 where there is no table."""
    if not DeltaTable.is_deltatable(str(table)):
        return -1
    return DeltaTable(str(table)).version()


def missing(table: Path) -> list[str]:
    """The table's files that are not there, or not whole."""
    return [
        one.path
        for one in files_at(table)
        if not (path := table / one.path).exists() or path.stat().st_size != one.size
    ]


def adopt(history: History, name: str, source: Path, files: Iterable[DataFile]) -> None:
    """Makes a table consist of these files of the table at `source`, in one commit.

    Called again after a kill it ends the work. Raises HistoryWriteError.
    """
    whole = list(files)
    try:
        share(source, Path(history.root) / name, (one.path for one in whole))
    except OSError as error:
        raise HistoryWriteError(f"{name}: {error}") from error
    hold(history, name, whole)


def hold(
    history: History, name: str, files: Iterable[DataFile], places_after: int | None = None
) -> None:
    """Makes a table consist of these files, which lie in its folder, in one commit.

    `places_after`: what the places of its later commits are counted from. Raises
    HistoryWriteError.
    """
    target = Path(history.root) / name
    wanted = {one.path: one for one in files}
    try:
        table = history.table(name) or (_made(target, name) if wanted else None)
        if table is not None:
            commit(table, name, wanted.values(), places_after)
    except (DeltaError, OSError) as error:
        raise HistoryWriteError(f"{name}: {error}") from error


def share(source: Path, target: Path, files: Iterable[str]) -> None:
    """Links files of one table into the folder of another, which does not know of them yet.

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


def _made(target: Path, name: str) -> DeltaTable:
    return DeltaTable.create(
        str(target), STORED[name], partition_by=["date"], configuration=CONFIGURATION
    )


def commit(
    table: DeltaTable, name: str, files: Iterable[DataFile], places_after: int | None = None
) -> None:
    """Makes an open table consist of these files, which are there. Raises DeltaError, OSError."""
    wanted = {one.path: one for one in files}
    present = {one.path: one for one in files_of(table)}
    fresh = [wanted[path] for path in sorted(wanted.keys() - present.keys())]
    old = [present[path] for path in sorted(present.keys() - wanted.keys())]
    if fresh or old:
        apps = [] if places_after is None else [Transaction(PLACES, places_after)]
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
    """Puts files into an open table in the place of others, in one commit; who follows the table's
    changes passes over one with the same rows. Raises DeltaError, OSError."""
    changes = not same_rows
    table.create_write_transaction(
        [*(added(one, changes) for one in fresh), *(removed(one, changes) for one in old)],
        "append",
        Schema.from_arrow(STORED[name]),
        ["date"],
        commit_properties=CommitProperties(
            app_transactions=[*apps, *([replacing(table)] if old else ())]
        ),
    )
    table.update_incremental()  # the commit does not


def added(file: DataFile, changes: bool = True) -> AddAction:
    """The action of a commit that makes a file part of its table; whether that changes its rows."""
    stats = json.dumps({"numRecords": file.rows})
    partition = {"date": _partition(file.path)}
    return AddAction(file.path, file.size, partition, file.modified, changes, stats)


def removed(file: DataFile, changes: bool = True) -> RemoveAction:
    """The action of a commit that takes a file out of its table."""
    now = time.time_ns() // 1_000_000
    return RemoveAction(file.path, changes, now, file.size, {"date": _partition(file.path)})


def _partition(path: str) -> str:
    return path.partition("/")[0].removeprefix("date=")
