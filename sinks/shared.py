"""A history that several processes write at once: the sinks of the Kafka tier (docs/sink.md).

A row is known by the partition it was read from and its offset there, and a table notes with each
commit how far it has what each partition said. So it does not matter who writes, or how often: rows
a table has already are left out, looked at again whenever another was faster. Delta refuses a
commit whose partition another process has written meanwhile; the file locks only make that rare.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import json
import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from sinks import locks
from sinks.delta import UNWRITTEN, WRITER, History, in_commit_order, was_overtaken, written
from sinks.forgotten import Forgotten
from sinks.locations import Location, create, is_url
from sinks.root import OWNER, HistoryError, HistoryWriteError
from sinks.store_errors import PATIENCE, PAUSE, patiently
from sinks.tables import SCHEMAS, STORED

log = logging.getLogger(__name__)

LOCKS = "_locks"
WHOLE = "/whole"
"""Behind an app id: up to which offset all tables had their rows when this commit was made."""
LOCK_WITHIN = 10.0  # seconds; its holder may be stopped, and Delta watches over us as well
ATTEMPTS = 20


class Piece(NamedTuple):
    """Rows of one table from one partition; `offsets` are theirs there, ascending."""

    app_id: str
    offsets: Sequence[int]
    rows: pa.Table


class SharedHistory(History):
    """The tables of a history, open for one of several writers.

    `owner` says whose history this is (sink, cluster): a folder that `turnfold run` has written,
    or that has another owner, is refused with HistoryError. `close` gives it back.
    """

    def __init__(
        self,
        root: str | Location,
        owner: Mapping[str, str],
    ) -> None:
        super().__init__(root)
        self._patience: dict[str, float] = {}
        self._patience_of_store = PATIENCE if is_url(self.at) else 0.0
        self._guard: IO[str] | None = None
        self._forgotten: Forgotten | None = None
        _claim(self.at, owner)
        if isinstance(self.at, Path):
            self._guard = _guard(self.at)
            self._forgotten = Forgotten(self.at)  # nobody is, while the guard is held

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._release()

    def close(self) -> None:
        """Leaves checkpoints, and lets others write the whole history."""
        with suppress(HistoryWriteError):  # another writer may be at it; a reader does without
            super().close()
        self._release()

    def _release(self) -> None:
        if self._guard is not None:
            self._guard.close()

    def positions(self, app_ids: Iterable[str]) -> dict[str, int]:
        """App -> the last offset up to which every table has its rows; without the unwritten."""
        tables = [patiently(partial(self._newest, name)) for name in SCHEMAS]
        found = {
            app: max([written(table, app + WHOLE) for table in tables if table] or [UNWRITTEN])
            for app in app_ids
        }
        return {app: offset for app, offset in found.items() if offset != UNWRITTEN}

    def write(
        self,
        pieces: Mapping[str, Sequence[Piece]],
        upto: Mapping[str, int],
        whole: Mapping[str, int],
        passed: Callable[[str], None] = lambda point: None,
    ) -> int:
        """Writes what tables do not have yet, one commit each; how many rows that were.

        `upto`: app -> the last offset of what was read, `whole` that of the write before. Rows of
        who is forgotten are left out. Raises HistoryWriteError; the same call may be made again,
        by whoever it is.
        """
        pieces = self._remembered(pieces)
        last = {one.app_id: table for table in sorted(pieces) for one in pieces[table]}
        rows = 0
        for table in sorted(pieces):
            complete = {app: upto[app] for app, name in last.items() if name == table}
            passed(f"before {table}")
            rows += self._write(table, pieces[table], upto, {**whole, **complete})
            passed(f"after {table}")
        return rows

    def _remembered(self, pieces: Mapping[str, Sequence[Piece]]) -> dict[str, list[Piece]]:
        found = {name: [self._kept(name, one) for one in some] for name, some in pieces.items()}
        return {
            name: kept for name, some in found.items() if (kept := [p for p in some if p.offsets])
        }

    def _kept(self, table: str, piece: Piece) -> Piece:
        places = self._forgotten.kept(table, piece.rows) if self._forgotten else None
        if places is None:
            return piece
        log.info("%s: %d rows of who is forgotten", table, len(piece.offsets) - len(places))
        kept = [piece.offsets[at] for at in places]
        return Piece(piece.app_id, kept, piece.rows.take(pa.array(places, pa.int64())))

    def _write(
        self,
        table: str,
        pieces: Sequence[Piece],
        upto: Mapping[str, int],
        whole: Mapping[str, int],
    ) -> int:
        began = time.monotonic()
        for attempt in range(ATTEMPTS):
            with self._locked(table):
                try:
                    delta = self._made(table)
                    new = [one for piece in pieces if (one := _unwritten(piece, delta)) is not None]
                    if not new:
                        return 0
                    transactions = _transactions({one.app_id for one in new}, delta, upto, whole)
                    self._append(table, delta, [one.rows for one in new], transactions)
                except HistoryWriteError as error:
                    passing = error.may_pass and time.monotonic() - began < self._patience_of_store
                    if attempt == ATTEMPTS - 1 or not (passing or was_overtaken(error)):
                        raise
                    if passing:
                        time.sleep(PAUSE)
                    log.info("%s; looking again", error)
                    continue
                return sum(len(one.offsets) for one in new)
        raise AssertionError("the last attempt raises")

    def _append(
        self,
        table: str,
        delta: DeltaTable,
        rows: list[pa.Table],
        transactions: list[Transaction],
    ) -> None:
        with self.writing(table):
            write_deltalake(
                delta,
                in_commit_order(table, pa.concat_tables(rows), delta.version() + 1),
                mode="append",
                writer_properties=WRITER,
                commit_properties=CommitProperties(app_transactions=transactions),
            )

    def _made(self, table: str) -> DeltaTable:
        """The table as it is now, made without rows if there is none.

        A commit that makes a table is not checked against others: of two who make it with their
        rows in it, both would succeed.
        """
        delta = self._newest(table)
        if delta is None:
            with self.writing(table):
                DeltaTable.create(
                    f"{self.root}/{table}",
                    STORED[table],
                    mode="ignore",
                    partition_by=["date"],
                    configuration=self.configuration,
                    storage_options=self.storage_options,
                )
            delta = self._newest(table)
        assert delta is not None, "it has just been made"
        return delta

    def _newest(self, table: str) -> DeltaTable | None:
        """The table as it is now, no matter who wrote it."""
        delta = self.table(table)
        if delta is not None:
            with self.writing(table):
                delta.update_incremental()
        return delta

    @contextmanager
    def _locked(self, table: str) -> Iterator[None]:
        """One writer a table, if its holder lets go in time."""
        if self._guard is None:
            yield
            return
        with _opened_lock(Path(self.root) / LOCKS / table) as lock:
            patience = self._patience.get(table, LOCK_WITHIN)
            ours = locks.taken(lock, within=patience)
            if not ours and patience == LOCK_WITHIN:
                log.warning("%s: its lock is held for %g s; going on", table, patience)
            self._patience[table] = LOCK_WITHIN if ours else 0.0  # its holder may never come back
            yield


def _opened_lock(file: Path) -> IO[str]:
    """Raises HistoryWriteError."""
    try:
        file.parent.mkdir(exist_ok=True)
        return file.open("a")
    except OSError as error:
        raise HistoryWriteError(f"{file}: {error.strerror or error}") from error


def _unwritten(piece: Piece, delta: DeltaTable) -> Piece | None:
    """What of a piece the table does not have; None where that is nothing."""
    first = bisect_right(piece.offsets, written(delta, piece.app_id))
    if first == len(piece.offsets):
        return None
    return Piece(piece.app_id, piece.offsets[first:], piece.rows.slice(first))


def _transactions(
    apps: set[str],
    delta: DeltaTable,
    upto: Mapping[str, int],
    whole: Mapping[str, int],
) -> list[Transaction]:
    made = []
    for app in sorted(apps):
        made.append(Transaction(app, upto[app]))
        known = max(written(delta, app + WHOLE), whole.get(app, UNWRITTEN))
        if known != UNWRITTEN:
            made.append(Transaction(app + WHOLE, known))
    return made


@contextmanager
def alone(root: Location) -> Iterator[None]:
    """The history of sinks that are not running, for one process. Raises HistoryError.

    An object store has no lock that ends with its process: there sinks may be running, and what is
    done must bear that (docs/decisions.md).
    """
    if not isinstance(root, Path):
        yield
        return
    refusal = (
        f"{root}: a sink is writing this history; end all its sinks (Ctrl-C or SIGTERM), call this "
        "again, then start them: they go on where they ended"
    )
    with locks.held(locks.of_history(root), HistoryError(refusal)):
        yield


def _guard(root: Path) -> IO[str]:
    """Keeps out who must have the history for himself: `run`, `compact`, `forget`."""
    lock = _opened_lock(locks.of_history(root))
    if not locks.taken(lock, shared=True):
        lock.close()
        raise HistoryError(f"{root}: another turnfold is writing this history; wait for its end")
    return lock


def _claim(root: Location, owner: Mapping[str, str]) -> None:
    """Notes whose history this is; refuses one that is somebody else's."""
    if (root / "_store").exists():
        raise HistoryError(
            f"{root}: written by `turnfold run`; a sink would write the same rows again under "
            "other positions. Name a new folder"
        )
    found = _owner(root) or _note_owner(root, dict(owner))
    if found != dict(owner):
        wrong = ", ".join(
            f"{name} is {found.get(name)!r}, not {value!r}"
            for name, value in owner.items()
            if found.get(name) != value
        )
        raise HistoryError(f"{root}: another sink's history: {wrong}; name its own folder")


def owner_of(root: Location) -> dict[str, str]:
    """Whose history it is: `sink` and `cluster`. Raises HistoryError where it is no sink's."""
    if (found := _owner(root)) is None:
        raise HistoryError(f"{root / OWNER}: no such file; no sink writes this history")
    return found


def _owner(root: Location) -> dict[str, str] | None:
    try:
        noted: dict[str, str] = json.loads((root / OWNER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return noted


def _note_owner(root: Location, owner: dict[str, str]) -> dict[str, str]:
    """Whose it is from now on: this owner's, or that of who was faster."""
    try:
        create(root / OWNER, json.dumps(owner) + "\n")
    except OSError as error:
        raise HistoryWriteError(f"{root / OWNER}: {error.strerror or error}") from error
    return _owner(root) or owner
