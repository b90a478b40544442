"""The store of a history in an object store: in a folder of this machine, as a copy of what the
history's log says (`streams.files.run_log`). Lost, or behind, it is brought up from there.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from sinks.delta import History
from sinks.local_folder import local_folder
from sinks.object_store import ObjectPath
from sinks.root import (
    MARKERS,
    RUN,
    HistoryError,
    HistoryWriteError,
    is_shared,
    open_root,
)
from sinks.scratch import clear_left, scratch
from streams import gc_policy
from streams.errors import ConfigurationError
from streams.files import own_folder
from streams.files.batches import InStore
from streams.files.belonging import refuse, standing
from streams.files.extractor_choice import FILE as EXTRACTOR
from streams.files.run_log import FIRST, LOST, Note, Overtaken, RunLog, changed
from streams.files.store import Store, encoded
from streams.files.upgrade import FORMAT, reached, upgrade
from streams.pipeline.row_formats import CURRENT, check

SETTING = "TURNFOLD_STORE_FOLDER"
"""Names the folder of all such stores. Default: $XDG_CACHE_HOME/turnfold/store."""
STORE, LOCK = "rows", "lock"
TRIES = 3
BEGINS_WITH = frozenset({*MARKERS, RUN, EXTRACTOR})
"""What may lie where a history is begun."""


@contextmanager
def opened(root: ObjectPath, *, forgetting: bool = False) -> Iterator[tuple[Store, History]]:
    """A history's tables and store, as the newest batch leaves them; that is ended, if its writer
    did not. Raises HistoryError, ConfigurationError where `run` cannot write this history, or not
    now; only `forget` may where another one has not ended.
    """
    log = RunLog(root)
    with _ours(root) as folder:
        clear_left(folder)
        _begin(log)
        store = _current(log, folder / STORE)
        try:
            tables = History(root)
            batches = InStore(store, tables, root)
            if batches.note.forgetting and not forgetting:
                raise ConfigurationError(
                    f"{root}: `turnfold forget` has begun here, and not ended; wait for it, or "
                    "call it again if it was killed"
                )
            way_out = "fold the same files into a new history"
            check(f"{root}: the fold's tables", reached(store), way_out)
            found = standing(log, root, batches.note)
            refuse(found, root)
            batches.fill(batches.note, found.waiting)
            if not reached(store).is_current:
                with batches.rewriting():
                    upgrade(store, str(root))
            with gc_policy.paused():
                yield store, tables
            with suppress(HistoryWriteError):  # a reader does without checkpoints
                tables.close()
        finally:
            store.close()


@contextmanager
def _ours(root: ObjectPath) -> Iterator[Path]:
    """The folder, for one process at a time. Raises ConfigurationError, TurnfoldError."""
    folder = local_folder(SETTING, "store", root)
    refusal = ConfigurationError(
        f"{root}: another turnfold of this machine is writing this history; wait for its end"
    )
    about = f"the fold's tables of {root} lie there"
    setting = f"--store-folder, or {SETTING}"
    with own_folder.taken(folder, folder / LOCK, refusal, about, setting):
        yield folder


def _begin(log: RunLog) -> None:
    """Makes the history, if there is none."""
    root = open_root(log.root)
    _check_no_sink(root)
    if log.read(FIRST) is not None:
        return
    log.check_no_notes()
    if others := sorted({one.name for one in root.iterdir()} - BEGINS_WITH):
        raise HistoryError(
            f"{root}: `run` has not written this history here ({', '.join(others[:3])}): go on in "
            "the folder that it was copied from, or name another prefix"
        )
    history = uuid4().hex
    values = changed(encoded({FORMAT: CURRENT.format, "writer": history}))
    note = Note(number=FIRST, id=history, history=history, base=FIRST, rows=len(values))
    log.upload_rows(note, values)
    with suppress(Overtaken):  # another has begun it
        log.add(note)
    _check_no_sink(root)  # which looks for our note behind its own


def _check_no_sink(root: ObjectPath) -> None:
    if is_shared(root):
        raise HistoryError(
            f"{root}: sinks write this history; send the file through Kafka (turnfold produce), or "
            "name another prefix"
        )


def _current(log: RunLog, path: Path) -> Store:
    """The store as the newest note leaves it. Raises ConfigurationError where that cannot be made,
    since a part of the log is missing."""
    for _ in range(TRIES):
        known = _known(log, path)
        newest = log.newest(known)
        try:
            return _brought_up(log, path, known, newest)
        except FileNotFoundError as error:
            if log.newest(newest).base == newest.base:
                raise ConfigurationError(f"{error}, {LOST}") from None
            # else another has made all rows anew meanwhile
    raise Overtaken(f"{log.root}: another turnfold is writing this history; wait for its end")


def _brought_up(log: RunLog, path: Path, known: Note | None, newest: Note) -> Store:
    """The store from the note that it is at to the newest; one that is behind its base, or of
    another history, is made again. Raises FileNotFoundError."""
    if known is None or known.number < newest.base:
        known = log.of(newest.base)
        _restore(log, known, path)
    store = Store(path)
    try:
        while known.number < newest.number:
            known = log.of(known.number + 1)
            store.write([*log.rows(known), *encoded(known.place)])
    except BaseException:
        store.close()
        raise
    return store


def _known(log: RunLog, path: Path) -> Note | None:
    """The note that the store is at, if it is a copy of this history."""
    if not path.exists():
        return None
    try:
        store = Store(path)
    except ConfigurationError:  # it is damaged
        return None
    try:
        number, of_note = store.value("batch"), store.value("note")
    finally:
        store.close()
    note = log.read(number) if number else None
    return note if note is not None and note.id == of_note else None


def _restore(log: RunLog, base: Note, path: Path) -> None:
    """All of the fold's rows; where they lie is written last."""
    shutil.rmtree(path, ignore_errors=True)
    store = Store(path)
    try:
        with scratch(path.parent) as folder:
            files = []
            for number, place in enumerate(log.whole(base)):
                files.append(folder / f"{number:06}.sst")
                place.download(files[-1], place.stat().st_size)
            store.ingest(files)
        store.write([*log.rows(base), *encoded(base.place)])
    finally:
        store.close()
