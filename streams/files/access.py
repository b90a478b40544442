"""Opens a generation for its one writer: locks, the row format, a killed batch taken back."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sinks import locks
from sinks.delta import History
from sinks.generation import FOLDER, LIVE, find
from sinks.locations import Location
from sinks.root import HistoryWriteError, open_root
from streams import gc_policy
from streams.errors import ConfigurationError
from streams.files.batches import Batches
from streams.files.manifest import rules_of
from streams.files.store import Store
from streams.files.upgrade import FORMAT, reached, upgrade
from streams.pipeline.row_formats import CURRENT, check

FORGET_LOCK = "_forget.lock"
MOMENT = 1.0
"""Seconds in which a server has stored what it is about to."""


@contextmanager
def writing(
    root: Location, *, borrow: bool = False, any_format: bool = False
) -> Iterator[tuple[Store, History]]:
    """The tables and store of a history's live generation, for one writer at a time. Raises
    ConfigurationError for a history in an object store: sinks alone write there.

    Which one is live is looked up under the lock: `promote` holds it, too. `any_format`: rows of
    another version are no obstacle, for none is read or written.
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
    """The lock of a history's one writer; `serve` lends it to who would `borrow` it. Raises
    ConfigurationError where it is taken."""
    refusal = ConfigurationError(
        f"{root}: another turnfold is writing this history; post to it if it is `turnfold "
        "serve`, stop it if it is a worker's sink, else wait for it to end"
    )
    with ExitStack() as stack:
        try:
            lock = locks.borrowed if borrow else locks.held
            stack.enter_context(lock(root if borrow else locks.of_history(root), refusal))
        except OSError as error:  # a file system that is read-only, a folder that is another's
            raise HistoryWriteError(f"{root}: {error.strerror or error}") from error
        yield


@contextmanager
def erasing(root: Path, *, alone: bool) -> Iterator[None]:
    """`forget` has this lock alone, `backfill` shares it: what the one erases is not to be found
    among what the other has gathered. So does a server, for a moment, when it stores what a model
    said of somebody. Raises ConfigurationError where it is taken."""
    other = "backfill" if alone else "forget"
    refusal = f"{root}: another turnfold is writing this history (`{other}`); wait for its end"
    within = MOMENT if alone else 0.0
    with locks.held(
        root / FORGET_LOCK, ConfigurationError(refusal), shared=not alone, within=within
    ):
        yield


@contextmanager
def opened(folder: Path, *, any_format: bool = False) -> Iterator[tuple[Store, History]]:
    """A generation's tables and store, whose rows are upgraded first; the caller holds the lock.
    Raises ConfigurationError if this version cannot continue with it."""
    rules_of(folder)  # before anything is touched
    tables = History(folder)
    path = folder / "_store"
    if not path.exists() and tables.delta_versions():
        raise ConfigurationError(
            f"{path} is missing, so the history cannot be continued without doubling rows; "
            "run into a new folder"
        )
    store = Store(path)
    try:
        if not any_format:
            _check_format(store, path)
        Batches(store, tables).take_back()
        if not any_format:
            upgrade(store, str(path))
        with gc_policy.paused(), tables:
            yield store, tables
    finally:
        store.close()


def _check_format(store: Store, path: Path) -> None:
    """Refuses the rows of a newer version, and those that are too old."""
    if store.value(FORMAT) is None and store.value("writer") is None:
        store.write_values({FORMAT: CURRENT.format})
    check(f"{path}: the fold's tables", reached(store), _way_out(path.parent))


def _way_out(folder: Path) -> str:
    if folder.parent.name == FOLDER:
        return (
            f"drop it (turnfold generation drop {folder.name} --history {folder.parent.parent}) "
            "and make it again"
        )
    return (
        f"make a generation of its log (turnfold generation create NEW --history {folder}) "
        "and promote it, or fold the same files into a new folder"
    )
