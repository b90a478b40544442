"""Opens a generation for its one writer: locks, upgrades the row format, rolls back a killed
batch."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sinks import locks
from sinks.delta import History
from sinks.generation import FOLDER, LIVE, find
from sinks.history_root import HistoryWriteError, open_root
from sinks.locations import Location
from streams import gc_policy
from streams.errors import ConfigurationError
from streams.files.commit import Batches
from streams.files.manifest import rules_of
from streams.files.store import Store
from streams.files.upgrade import FORMAT, reached, upgrade
from streams.pipeline.row_formats import CURRENT, check

FORGET_LOCK = "_forget.lock"
MOMENT = 1.0
"""Seconds within which a server has stored its pending write."""


@contextmanager
def writing(
    root: Location, *, borrow: bool = False, any_format: bool = False
) -> Iterator[tuple[Store, History]]:
    """Tables and store of a history's live generation, for one writer at a time. Raises
    ConfigurationError for a history in an object store: only sinks write there.

    The live generation is determined under the lock, which `promote` also takes. `any_format`:
    accepts rows of other versions, if no rows are read or written.
    """
    if not isinstance(root, Path):
        raise ConfigurationError(
            f"{root}: only sinks write into an object store; name a folder, and copy it there"
        )
    open_root(root)
    with locked(root, borrow=borrow), opened(find(root, LIVE), any_format=any_format) as both:
        yield both


@contextmanager
def locked(root: Path, *, borrow: bool = False) -> Iterator[None]:
    """Locks a history for its one writer; with `borrow`, `serve` lends its lock. Raises
    ConfigurationError if another process has it."""
    refusal = ConfigurationError(
        f"{root}: another turnfold is writing this history; post to it if it is `turnfold "
        "serve`, stop it if it is a worker's sink, otherwise wait for it to end"
    )
    with ExitStack() as stack:
        try:
            lock = locks.borrowed if borrow else locks.lock_file
            stack.enter_context(lock(root if borrow else locks.history_lock(root), refusal))
        except OSError as error:  # a read-only file system, a folder of another account
            raise HistoryWriteError(f"{root}: {error.strerror or error}") from error
        yield


@contextmanager
def erasing(root: Path, *, alone: bool) -> Iterator[None]:
    """Lock between erasure and copies of records: exclusive for `forget`, shared by `backfill`, so
    that gathered records contain no erased ones. A server shares it briefly when it stores a
    model's reply. Raises ConfigurationError if it is taken."""
    command = "backfill" if alone else "forget"
    refusal = f"{root}: another turnfold is writing this history (`{command}`); wait for its end"
    within = MOMENT if alone else 0.0
    with locks.lock_file(
        root / FORGET_LOCK, ConfigurationError(refusal), shared=not alone, within=within
    ):
        yield


@contextmanager
def opened(folder: Path, *, any_format: bool = False) -> Iterator[tuple[Store, History]]:
    """A generation's tables and store, with upgraded rows; the caller has the lock. Raises
    ConfigurationError if this version cannot continue with it."""
    rules_of(folder)  # before anything is touched
    tables = History(folder)
    path = folder / "_store"
    if not path.exists() and tables.delta_versions():
        raise ConfigurationError(
            f"{path} is missing: continuing the history would duplicate rows; run into a new folder"
        )
    store = Store(path)
    try:
        if not any_format:
            _check_format(store, path)
        batches = Batches(store, tables)
        batches.take_back()
        if not any_format:
            upgrade(store, str(path))
        with gc_policy.paused(), batches.rewriting(), tables:
            yield store, tables
    finally:
        store.close()


def _check_format(store: Store, path: Path) -> None:
    """Raises ConfigurationError for rows of a newer version, and for rows that are too old."""
    if store.value(FORMAT) is None and store.value("writer") is None:
        store.write_values({FORMAT: CURRENT.format})
    check(f"{path}: the fold's tables", reached(store), _way_out(path.parent))


def _way_out(folder: Path) -> str:
    if folder.parent.name == FOLDER:
        return (
            f"drop it (turnfold generation drop {folder.name} --history {folder.parent.parent}) "
            "and rebuild it"
        )
    return (
        f"build a generation from its log (turnfold generation create NEW --history {folder}) "
        "and promote it, or fold the same files into a new folder"
    )
