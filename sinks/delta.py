"""Exactly-once writer of the history: Delta tables under one root (docs/architecture.md).

Each commit carries the app transaction (app_id, version), which identifies a written batch after a
crash. One writer per history: the caller has the lock.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
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
from sinks import panics, power_loss
from sinks.disk import flush, trouble
from sinks.errors import in_a_line, unreadable, write_errors
from sinks.history import LATER
from sinks.history_root import HistoryError, HistoryWriteError, is_shared, open_root
from sinks.locations import Location, is_url, location_of
from sinks.object_store import delta_options
from sinks.store_errors import DELETED, PATIENCE, PAUSE, patiently, write_error
from sinks.tables import COMMIT_ORDER, STORED

T = TypeVar("T")
log = logging.getLogger(__name__)

OPEN_FOR = 50
"""Versions after which a handle is reopened. At every commit a handle replays all commits since it
was opened; a new handle reads a checkpoint, which is six times as fast after 800 commits."""
OPEN_FOR_IN_STORES = 10
"""In an object store each replayed commit is a request."""
CONFIGURATION = {
    "delta.checkpointInterval": str(OPEN_FOR),
    # a crash may need the version before the last: only `compact` cuts the log
    "delta.enableExpiredLogCleanup": "false",
    # the log outlives the files that `forget` rewrites: it must not contain personal data
    "delta.dataSkippingStatsColumns": "recorded_at,src_offset",
}
DISTINCT_VALUES = (
    "event_id", "from_event_id", "to_event_id", "revision_id", "user_input", "agent_answer",
    "metadata", "extra", "doc", "before", "after", "occurred_at", "recorded_at", "seq",
    "src_offset", COMMIT_ORDER,
)  # fmt: skip
"""Columns of mostly distinct values: without a dictionary a batch takes an eighth less time and a
tenth less space."""
LOOKUP_COLUMNS = {"event_id": 8192, "session_id": 2048, "entity_id": 2048}
"""Columns of point lookups -> distinct values per batch, about. Their Bloom filters let DuckDB skip
files."""


def _column(name: str) -> ColumnProperties:
    values = LOOKUP_COLUMNS.get(name)
    return ColumnProperties(
        dictionary_enabled=name not in DISTINCT_VALUES,
        bloom_filter_properties=BloomFilterProperties(True, 0.01, values) if values else None,
    )


WRITER = WriterProperties(
    compression="ZSTD",
    compression_level=1,
    column_properties={name: _column(name) for name in (*DISTINCT_VALUES, *LOOKUP_COLUMNS)},
)
PLACES_APP = "commit_order"
"""App with a version that is added to the table's version in `commit_order`: rows written after
files of another table were adopted are newer than those files."""
REPLACING_APP = "replacing"
"""App of each commit that adds or removes existing files."""
ATTEMPTS = 20
"""Attempts of a commit that conflicts with another writer."""
UNWRITTEN = -1
"""Version of an app that has not written: Delta can lower an app's version, but not remove it."""


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
        self.flushed: dict[str, int] = {}
        """Table -> version that this writer has flushed."""

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
            table, opened_at = self._open[name]
            if table.version() - opened_at < self._open_for:
                return table
        load = partial(self._read, name)
        loaded = patiently(load) if is_url(self.at) else load()
        if loaded is not None:
            self._open[name] = loaded, loaded.version()
        return loaded

    def _read(self, name: str) -> DeltaTable | None:
        with self._translated_errors(name):
            try:  # `is_deltatable` would block all threads (GIL) while a store does not answer
                return DeltaTable(f"{self.root}/{name}", storage_options=self.storage_options)
            except TableNotFoundError:
                return None
            except DeltaError as error:
                if trouble(error) or not Path(self.root, name, "_delta_log").is_dir():
                    raise
                raise unreadable(self.at / name, error) from error

    def newest(self, name: str) -> DeltaTable | None:
        """The table at its newest version, including commits of other writers."""
        table = self.table(name)
        if table is not None:
            with self.writing(name):
                table.update_incremental()
        return table

    def open_or_create(self, name: str) -> DeltaTable:
        """The table at its newest version; an empty one is created if it does not exist.

        Delta does not check the commit that creates a table for conflicts: if two writers created
        it with their rows, both would succeed.
        """
        delta = self.newest(name)
        if delta is None:
            with self.writing(name):
                self._create(f"{self.root}/{name}", name)
            delta = self.newest(name)
        assert delta is not None, "it has just been created"
        return delta

    def _create(self, place: str, name: str) -> None:
        DeltaTable.create(
            place,
            STORED[name],
            mode="ignore",
            partition_by=["date"],
            configuration=self.configuration,
            storage_options=self.storage_options,
            commit_properties=commit_properties(Transaction(PLACES_APP, 0)),
        )

    def tables(self) -> dict[str, DeltaTable]:
        """The existing tables by name."""
        tables = {name: self.table(name) for name in TABLES}
        return {name: table for name, table in tables.items() if table is not None}

    def append(self, table: str, rows: pa.Table, app_id: str, version: int) -> bool:
        """Commits `rows` (from `to_arrow`) once; returns whether it did.

        A version at or below the table's is not written. If `rows` is empty, only the version of an
        existing table is updated. Raises HistoryWriteError; the table is then unchanged.
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
                # the metadata repeats the app: Delta does not list the transactions of a table
                commit_properties=commit_properties(Transaction(app_id, version), app_id=app_id),
            )
        return True

    def places_after(self, table: str) -> int:
        """Offset of a table's commit order: 0, unless it contains files of another table."""
        delta = self.table(table)
        return 0 if delta is None else max(written(delta, PLACES_APP), 0)

    def place(self, table: str, after: int) -> int:
        """Commit order of a table's next commit; `after` is the offset."""
        delta = self.table(table)
        version = 0 if delta is None else delta.version() + 1
        return version + after

    def versions(self, app_id: str) -> dict[str, int]:
        """Table -> last version of this app; without the tables that it never wrote."""
        versions = {name: written(table, app_id) for name, table in self.tables().items()}
        return {name: version for name, version in versions.items() if version != UNWRITTEN}

    def delta_versions(self) -> dict[str, int]:
        """Table -> Delta version, for `restore`."""
        return {name: table.version() for name, table in self.tables().items()}

    def flush(self) -> None:
        """Waits until all commits are on disk; object stores keep them at once. Raises
        HistoryWriteError."""
        versions = self._open_versions()
        if isinstance(self.at, Path):
            with write_errors(self.at):
                flush(self.at)
        self.flushed |= versions

    def _open_versions(self) -> dict[str, int]:
        return {name: table.version() for name, (table, _) in self._open.items()}

    def note_flushed(self) -> None:
        """Notes in a folder of sinks up to where commits are flushed, for `repair`. Raises
        HistoryWriteError."""
        if isinstance(self.at, Path) and is_shared(self.at):
            with write_errors(self.at / power_loss.FLUSHED):
                power_loss.note_flushed(self.at, self.flushed)

    def repair(self, flushed: Mapping[str, int]) -> None:
        """Empties commits of a folder that a loss of power has torn; the caller is the only writer.

        `flushed`: `delta_versions` that are known to be on disk. Raises HistoryError for a log that
        ends before them, HistoryWriteError.
        """
        self.drop_torn_checkpoints()
        for name in TABLES:
            table = Path(self.root, name)
            with self.writing(name):
                if power_loss.void_torn(
                    table, flushed.get(name, -1), partial(self._creation, name)
                ):
                    log.warning(
                        "%s: commits were torn by a loss of power; they are empty now", table
                    )

    def check_logs(self, flushed: Mapping[str, int]) -> None:
        """Raises HistoryError if a folder's table lost commits up to a `flushed` version."""
        for name, version in flushed.items():
            power_loss.checked_versions(Path(self.root, name), version)

    def drop_torn_checkpoints(self) -> None:
        """Removes checkpoints of a folder's tables that a loss of power has torn. Raises
        HistoryWriteError."""
        for name in TABLES:
            with self.writing(name):
                power_loss.drop_torn_checkpoints(Path(self.root, name))

    def _creation(self, name: str) -> str:
        """The commit that creates a table."""
        with TemporaryDirectory() as folder:
            self._create(folder, name)
            return Path(folder, "_delta_log", f"{0:020}.json").read_text()

    def restore(self, versions: Mapping[str, int]) -> None:
        """Rolls back an incomplete batch: restores rows and app versions of these Delta versions.

        Tables without a version are emptied. Each table is restored in one new commit; after a
        kill, the same call completes the work.
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
            table.delete(commit_properties=commit_properties(*before, replacing(table)))

    def _roll_back(self, name: str, table: DeltaTable, version: int) -> None:
        with self.writing(name):
            old = DeltaTable(
                f"{self.root}/{name}", version=version, storage_options=self.storage_options
            )
            before = [Transaction(app, written(old, app)) for app in _apps(table, version)]
            properties = commit_properties(*before, replacing(table))
            table.restore(version, commit_properties=properties)

    def close(self) -> None:
        """Writes a checkpoint of each open table, so that readers open it quickly; then flushes."""
        for name, (table, _) in self._open.items():
            with self.writing(name):
                table.create_checkpoint()
        self.flush()
        self.note_flushed()
        self._open.clear()

    @contextmanager
    def writing(self, table: str) -> Iterator[None]:
        """Translates errors of the block into HistoryWriteError, and drops the table's handle."""
        try:
            with panics.without_panics(), self._translated_errors(table):
                yield
        except BaseException:
            self._open.pop(table, None)  # the handle may be stale
            raise

    @contextmanager
    def _translated_errors(self, table: str) -> Iterator[None]:
        """Translates failures of disk, permissions and store."""
        try:
            yield
        except BaseException as error:
            if not isinstance(error, (DeltaError, OSError)) and not panics.is_panic(error):
                raise
            if (
                is_url(self.at)
                and (fault := write_error(error, f"{self.root}/{table}")) is not None
            ):
                raise fault from None
            raise HistoryWriteError(f"{table}: {_message(error)}") from error


def _message(error: BaseException) -> str:
    """The writer's error in one line, with a remedy."""
    text = trouble(error) or in_a_line(error)
    if "oncurrent" in text:
        text += "; another writer is writing this history: stop one of them"
    return text


CONFLICTS = ("oncurrent", "already exists", "etadata changed", "rotocol changed", DELETED)


def is_conflict(error: Exception) -> bool:
    """Whether a commit failed because another writer committed first."""
    text = str(error)
    return any(sign in text for sign in CONFLICTS)


def retry_conflicts(attempt: Callable[[], T]) -> T:
    """Runs `attempt` again after conflicts and transient store errors; returns its result."""
    start = time.monotonic()
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except Exception as error:
            is_transient = getattr(error, "passes", False) and time.monotonic() - start < PATIENCE
            if not is_transient and not is_conflict(error):
                raise
            if is_transient:
                time.sleep(PAUSE)
    return attempt()


def commit_properties(*transactions: Transaction, **metadata: str) -> CommitProperties:
    """Properties of a commit. Its log entry starts with the number of transactions and ends with
    them, so `power_loss` recognises an entry that lost its last lines."""
    metadata[power_loss.TRANSACTIONS] = str(len(transactions))
    return CommitProperties(custom_metadata=metadata, app_transactions=list(transactions))


def replacing(table: DeltaTable) -> Transaction:
    """Transaction of a commit that replaces files: Delta rejects the second of two such commits
    that are based on one version."""
    return Transaction(REPLACING_APP, table.version() + 1)


def written(table: DeltaTable, app_id: str) -> int:
    """Last version of an app, or UNWRITTEN."""
    version = table.transaction_version(app_id)
    return UNWRITTEN if version is None else version


def _apps(table: DeltaTable, after: int) -> list[str]:
    """The apps that wrote commits after this Delta version."""
    commits = table.history(table.version() - after)
    return sorted({c["app_id"] for c in commits if c["version"] > after and "app_id" in c})


def in_commit_order(table: str, rows: pa.Table, version: int) -> pa.Table:
    """Adds the column `commit_order` to documents; `version` is the order of their commit."""
    if table not in SNAPSHOT_KEYS:
        return rows
    first = version << 32
    places = pa.array(range(first, first + rows.num_rows), pa.int64())
    return rows.append_column(STORED[table].field(COMMIT_ORDER), places)


__all__ = ["History", "HistoryError", "HistoryWriteError", "open_root"]
