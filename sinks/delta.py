"""The exactly-once writer of the history: Delta tables under one root (docs/architecture.md).

Each commit carries the app transaction (app_id, version), so a batch that was written already is
recognised after a crash. One writer per history: the caller holds the lock.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

import pyarrow as pa
from deltalake import (
    BloomFilterProperties,
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import DeltaError, TableNotFoundError

from schemas.rows import SNAPSHOT_KEYS, TABLES
from sinks import panics
from sinks.disk import trouble
from sinks.errors import in_a_line
from sinks.history import LATER
from sinks.locations import Location, is_url, location_of
from sinks.object_store import delta_options
from sinks.root import HistoryError, HistoryWriteError, open_root
from sinks.store_errors import DELETED, PATIENCE, PAUSE, patiently, refused
from sinks.tables import COMMIT_ORDER, STORED

T = TypeVar("T")
OPEN_FOR = 50
"""Versions: a handle takes in again what each commit since it was opened has said, at every commit.
One that is opened again reads a checkpoint instead, and is six times as fast after 800."""
OPEN_FOR_IN_STORES = 10
"""In an object store what each of these commits has said is a request."""
CONFIGURATION = {
    "delta.checkpointInterval": str(OPEN_FOR),
    # a crash may need the version before the last: only `compact` cuts the log
    "delta.enableExpiredLogCleanup": "false",
    # the log outlives the files that `forget` rewrites: no word and no id of anybody in it
    "delta.dataSkippingStatsColumns": "recorded_at,src_offset",
}
SELDOM_REPEATED = (
    "event_id", "from_event_id", "to_event_id", "revision_id", "user_input", "agent_answer",
    "metadata", "extra", "doc", "before", "after", "occurred_at", "recorded_at", "seq",
    "src_offset", COMMIT_ORDER,
)  # fmt: skip
"""Columns whose values a dictionary does not make smaller; without it a batch takes an eighth less
time and a tenth less room."""
ASKED_FOR = {"event_id": 8192, "session_id": 2048, "entity_id": 2048}
"""Columns by whose value a row is looked up, and about how many values a batch has of each: Bloom
filters tell DuckDB which files hold none of those asked for."""


def _column(name: str) -> ColumnProperties:
    values = ASKED_FOR.get(name)
    return ColumnProperties(
        dictionary_enabled=name not in SELDOM_REPEATED,
        bloom_filter_properties=BloomFilterProperties(True, 0.01, values) if values else None,
    )


WRITER = WriterProperties(
    compression="ZSTD",
    compression_level=1,
    column_properties={name: _column(name) for name in (*SELDOM_REPEATED, *ASKED_FOR)},
)
PLACES = "commit_order"
"""The app whose version a table's own versions are counted from in `commit_order`: it may hold
files of another table, and what it writes later is newer."""
REPLACING = "replacing"
"""The app of each commit that replaces files by others."""
ATTEMPTS = 20
"""Of a commit, where another writer was faster."""
UNWRITTEN = -1
"""The version of an app that has not written: Delta lowers a version but takes none back."""


class History:
    """The tables of one history, open for writing.

    A table exists once it has rows.
    """

    def __init__(self, root: str | Location) -> None:
        self.at = open_root(location_of(root))
        self.root = str(self.at)
        self.storage_options = delta_options() if is_url(self.at) else None
        self._open_for = OPEN_FOR_IN_STORES if is_url(self.at) else OPEN_FOR
        self.configuration = CONFIGURATION | {"delta.checkpointInterval": str(self._open_for)}
        self._open: dict[str, tuple[DeltaTable, int]] = {}  # and the version it was opened at

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()

    def table(self, name: str) -> DeltaTable | None:
        """The open table, or None before its first rows."""
        if name not in TABLES:
            raise HistoryError(f"no table {name!r}; there are {', '.join(TABLES)}")
        if name in self._open:
            known, opened_at = self._open[name]
            if known.version() - opened_at < self._open_for:
                return known
        read = partial(self._read, name)
        opened = patiently(read) if is_url(self.at) else read()
        if opened is not None:
            self._open[name] = opened, opened.version()
        return opened

    def _read(self, name: str) -> DeltaTable | None:
        with self._refusals(name):
            try:  # `is_deltatable` would keep Python's lock while a store does not answer
                return DeltaTable(f"{self.root}/{name}", storage_options=self.storage_options)
            except TableNotFoundError:
                return None

    def newest(self, name: str) -> DeltaTable | None:
        """The table as it is now, no matter who wrote it."""
        table = self.table(name)
        if table is not None:
            with self.writing(name):
                table.update_incremental()
        return table

    def made(self, name: str) -> DeltaTable:
        """The table as it is now, made without rows if there is none.

        A commit that makes a table is not checked against others: of two who make it with their
        rows in it, both would succeed.
        """
        delta = self.newest(name)
        if delta is None:
            with self.writing(name):
                DeltaTable.create(
                    f"{self.root}/{name}",
                    STORED[name],
                    mode="ignore",
                    partition_by=["date"],
                    configuration=self.configuration,
                    storage_options=self.storage_options,
                )
            delta = self.newest(name)
        assert delta is not None, "it has just been made"
        return delta

    def tables(self) -> dict[str, DeltaTable]:
        """Those that exist."""
        found = {name: self.table(name) for name in TABLES}
        return {name: table for name, table in found.items() if table is not None}

    def append(self, table: str, rows: pa.Table, app_id: str, version: int) -> bool:
        """Commits `rows` (as `to_arrow` makes them) once; whether a commit was made.

        A version at or below the table's is refused, nothing written. Without rows an existing
        table takes the version alone. Raises HistoryWriteError; the table then stands as before.
        """
        if version < 0:
            raise ValueError(f"version {version} of {app_id}: versions count from 0")
        delta = self.table(table)
        if delta is None and not rows.num_rows:
            return False
        if delta is not None and version <= written(delta, app_id):
            return False
        place = self.place(table, self.places_after(table))
        with self.writing(table):
            write_deltalake(
                delta or f"{self.root}/{table}",
                in_commit_order(table, rows, place),
                mode="append",
                schema_mode="merge" if table in LATER else None,  # it may lack a column
                partition_by=None if delta else ["date"],
                configuration=None if delta else self.configuration,
                storage_options=None if delta else self.storage_options,
                writer_properties=WRITER,
                commit_properties=_commit(app_id, version),
            )
        return True

    def places_after(self, table: str) -> int:
        """What a table's places are counted from: 0, unless it holds files of another."""
        delta = self.table(table)
        return 0 if delta is None else max(written(delta, PLACES), 0)

    def place(self, table: str, after: int) -> int:
        """The place of a table's next commit among documents, counted from `after`."""
        delta = self.table(table)
        version = 0 if delta is None else delta.version() + 1
        return version + after

    def versions(self, app_id: str) -> dict[str, int]:
        """Table -> the last version this app wrote; without the tables it never wrote."""
        found = {name: written(table, app_id) for name, table in self.tables().items()}
        return {name: version for name, version in found.items() if version != UNWRITTEN}

    def delta_versions(self) -> dict[str, int]:
        """Table -> Delta version: what `restore` goes back to."""
        return {name: table.version() for name, table in self.tables().items()}

    def restore(self, versions: Mapping[str, int]) -> None:
        """Undoes a torn batch: rows and app versions as they were at these Delta versions.

        A table that is not named loses all its rows. Each table goes back in one new commit, so
        a kill in between only leaves the same call to be made again.
        """
        for name, table in self.tables().items():
            if name not in versions:
                self._empty(name, table)
            elif versions[name] > table.version():
                raise HistoryError(
                    f"{name}: is at version {table.version()}, expected {versions[name]}: "
                    "another copy of the history? restore it, or fold into a new one"
                )
            elif versions[name] < table.version():
                self._roll_back(name, table, versions[name])

    def _empty(self, name: str, table: DeltaTable) -> None:
        if not table.file_uris() and all(written(table, a) == UNWRITTEN for a in _apps(table, -1)):
            return
        before = [Transaction(app, UNWRITTEN) for app in _apps(table, -1)]
        with self.writing(name):
            table.delete(commit_properties=CommitProperties(app_transactions=before))

    def _roll_back(self, name: str, table: DeltaTable, version: int) -> None:
        with self.writing(name):
            old = DeltaTable(
                f"{self.root}/{name}", version=version, storage_options=self.storage_options
            )
            before = [Transaction(app, written(old, app)) for app in _apps(table, version)]
            table.restore(version, commit_properties=CommitProperties(app_transactions=before))

    def close(self) -> None:
        """Leaves a checkpoint in each table that has grown, so that readers open it at once."""
        for name, (table, _) in self._open.items():
            with self.writing(name):
                table.create_checkpoint()
        self._open.clear()

    @contextmanager
    def writing(self, table: str) -> Iterator[None]:
        """Errors in the block are HistoryWriteErrors; what the handle knows goes with them."""
        try:
            with panics.left_out(), self._refusals(table):
                yield
        except BaseException:
            self._open.pop(table, None)  # what the handle knows may be wrong now
            raise

    @contextmanager
    def _refusals(self, table: str) -> Iterator[None]:
        """Failures of disk, permission or store as errors of ours."""
        try:
            yield
        except BaseException as error:
            if not isinstance(error, (DeltaError, OSError)) and not panics.is_panic(error):
                raise
            if is_url(self.at) and (fault := refused(error, f"{self.root}/{table}")) is not None:
                raise fault from None
            raise HistoryWriteError(f"{table}: {_said(error)}") from error


def _said(error: BaseException) -> str:
    """The writer's words in one line, and what to do."""
    text = trouble(error) or in_a_line(error)
    if "oncurrent" in text:
        text += "; another writer is at work on this history: end one of them"
    return text


OVERTAKEN = ("oncurrent", "already exists", "etadata changed", "rotocol changed", DELETED)


def was_overtaken(error: Exception) -> bool:
    """Whether another writer was faster: what was to be written has to be looked at again."""
    text = str(error)
    return any(sign in text for sign in OVERTAKEN)


def until_first(attempt: Callable[[], T]) -> T:
    """What it gives once no other writer was faster, and the store has done what it was asked."""
    began = time.monotonic()
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except Exception as error:
            passes = getattr(error, "passes", False) and time.monotonic() - began < PATIENCE
            if not passes and not was_overtaken(error):
                raise
            if passes:
                time.sleep(PAUSE)
    return attempt()


def _commit(app_id: str, version: int) -> CommitProperties:
    # the app's name stands in the commit's metadata too: Delta lists no transactions by itself
    return CommitProperties(
        custom_metadata={"app_id": app_id}, app_transactions=[Transaction(app_id, version)]
    )


def replacing(table: DeltaTable) -> Transaction:
    """Of a commit that replaces files: of two made from one state, Delta refuses the second."""
    return Transaction(REPLACING, table.version() + 1)


def written(table: DeltaTable, app_id: str) -> int:
    """The last version an app wrote, or UNWRITTEN."""
    version = table.transaction_version(app_id)
    return UNWRITTEN if version is None else version


def _apps(table: DeltaTable, after: int) -> list[str]:
    """The apps that wrote commits after this Delta version."""
    commits = table.history(table.version() - after)
    return sorted({c["app_id"] for c in commits if c["version"] > after and "app_id" in c})


def in_commit_order(table: str, rows: pa.Table, version: int) -> pa.Table:
    """Documents with their place in the commit that makes this Delta version."""
    if table not in SNAPSHOT_KEYS:
        return rows
    first = version << 32
    places = pa.array(range(first, first + rows.num_rows), pa.int64())
    return rows.append_column(STORED[table].field(COMMIT_ORDER), places)


__all__ = ["History", "HistoryError", "HistoryWriteError", "open_root"]
