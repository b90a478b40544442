"""Changes the live generation without losing records: `promote`, `rollback`, `drop`.

A switch takes the history's lock, like its writers: the generation folds the records that arrived
since its last pass, takes over the positions in input files, and becomes live by one `os.replace`.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from schemas.base import SECOND
from schemas.rows import TABLES
from sinks.delta import History
from sinks.freshness import unread
from sinks.generation import (
    DROPPED,
    FOLDER,
    LIVE,
    ROOT,
    Pointer,
    find,
    folder_of,
    names,
    pointer,
    remove,
    remove_leftovers,
    resolve,
    switch,
)
from sinks.hard_links import missing_files
from sinks.history_root import HistoryError, find_root, is_shared
from sinks.locations import Location, replace
from sinks.object_store import ObjectPath
from streams.errors import ConfigurationError
from streams.files.extractor_choice import choice_of
from streams.files.fold_sources import Progress
from streams.files.inbox import RECORDED
from streams.files.manifest import Generation, Settings, load
from streams.files.open_generation import locked, opened, writing
from streams.files.store import Store
from streams.files.stored_records import INPUT_TABLES
from streams.generations.manifest_checks import Source, still_missing
from streams.output import counted

PATIENCE = 60
"""Seconds that a generation written from topics may be behind, as sinks write periodically."""
OF_BACKFILL = "file/backfill/"
"""Prefix of positions in gathered records, which other generations do not read."""


class Switched(NamedTuple):
    """The live and the previous generation, and the number of records folded to catch up.
    `extractor` of new turns (None: not chosen, so the default)."""

    current: str
    previous: str | None
    caught_up: int
    seconds: float
    extractor: str | None = None


def promote(
    history: Location, name: str, progress: Progress | None = None, *, behind: bool = False
) -> Switched:
    """Makes a generation live. Raises HistoryError, ConfigurationError without switching.

    Rejects a generation that is unfinished, damaged, or of some days only; and one written from
    topics that lacks records which the live one has had for a minute, unless `behind`.
    """
    root = find_root(history)
    name = resolve(root, name)
    folder = find(root, name)
    if (folder / DROPPED).exists():
        raise ConfigurationError(
            f"generation {name!r} is being dropped: `turnfold generation drop {name} --history "
            f"{root}` ends that"
        )
    start = time.monotonic()
    if is_shared(root):
        return _promote_shared(root, folder, name, behind)
    if not isinstance(root, Path) or not isinstance(folder, Path):
        raise ConfigurationError(
            f"{root}: no sink writes this history; promote in the folder that it was copied from, "
            "then copy that again"
        )
    if (manifest := load(folder)) is not None:  # checked again under the lock
        _check_ended(manifest)
    # rows of another version are allowed: a backfill replaces them
    with writing(root, borrow=True, any_format=True) as (live_store, _):
        live = pointer(root)
        if name == live.current:
            return Switched(live.current, live.previous, 0, 0.0, _extractor(folder))
        folder = find(root, name)
        with _target(root, folder) as (store, tables):
            generation = load(folder) or Generation(
                name=ROOT, settings=Settings(), started_at=0, ended_at=0, stage="complete"
            )
            _check(generation, folder)
            caught_up = _catch_up(root, live, folder, generation, store, tables, progress)
            _take_positions(live_store, store)
            switch(root, Pointer(name, live.current))  # under the lock of either
    seconds = round(time.monotonic() - start, 3)
    return Switched(name, live.current, caught_up, seconds, _extractor(folder))


def _extractor(folder: Location) -> str | None:
    choice = choice_of(folder)
    return None if choice is None else choice.name


def _promote_shared(root: Location, folder: Location, name: str, behind: bool) -> Switched:
    """Promotes in a sink's history, without catching up: each generation has separate workers and
    sinks, which read the inputs."""
    if not is_shared(folder):
        raise ConfigurationError(
            f"{root}: workers continue to write this history from their own tables, which "
            f"`backfill` does not change. Run a worker and a sink with --generation {name} "
            "instead, and promote that"
        )
    live = pointer(root)
    if name != live.current:
        if not behind:
            _check_fresh(find(root, live.current), folder, name)
        switch(root, Pointer(name, live.current, behind, live.number))
    elif behind and not live.behind:  # a waiting server switches now
        switch(root, live._replace(behind=True))
    return Switched(name, live.previous if name == live.current else live.current, 0, 0.0)


def _check_fresh(live: Location, folder: Location, name: str) -> None:
    """Raises ConfigurationError if the generation's sink lags behind the live one."""
    gaps = unread(live, folder, INPUT_TABLES, int((time.time() - PATIENCE) * SECOND))
    if gaps:
        records, first = sum(partition.records for partition in gaps), gaps[0]
        raise ConfigurationError(
            f"generation {name!r} is behind: it lacks {counted(records, 'record')} that the live "
            f"one has had for over {PATIENCE} s, from {first.topic}/{first.partition} offset "
            f"{first.first} on; let its workers and sink catch up (`turnfold kafka lag` shows how "
            "far they are), or promote it with --behind"
        )


def rollback(
    history: Location, progress: Progress | None = None, *, behind: bool = False
) -> Switched:
    """Promotes the previous generation, including records since. Raises as `promote`."""
    root = find_root(history)
    live = pointer(root)
    if live.previous is None:
        raise ConfigurationError(f"{root}: no generation was live before {live.current!r}")
    return promote(root, live.previous, progress, behind=behind)


@contextmanager
def _target(root: Path, folder: Path) -> Iterator[tuple[Store, History]]:
    """The generation's tables and store; `root` is locked already."""
    if folder == root:
        with opened(root) as both:
            yield both
    else:
        with writing(folder) as both:
            yield both


def _check_ended(generation: Generation) -> None:
    name, split = generation.name, generation.split
    if generation.ended_at is None:
        part = f" --part i/{split}" if split else ""
        missing = f" ({still_missing(generation)})" if split else ""
        raise ConfigurationError(
            f"generation {name!r} is not finished: `turnfold generation create {name}{part}` "
            f"with the same settings continues{missing}"
        )


def _check(generation: Generation, folder: Path) -> None:
    name = generation.name
    _check_ended(generation)
    if not generation.settings.whole:
        raise ConfigurationError(
            f"generation {name!r} covers some days only (--from, --to): promoting it would lose "
            "the others. Build one of all days"
        )
    for table in TABLES:
        if files := missing_files(folder / table):
            raise ConfigurationError(
                f"generation {name!r} is damaged: {len(files)} files of {table} are missing or "
                f"incomplete, such as {files[0]}; drop it and run backfill again"
            )


def _catch_up(
    root: Path,
    live: Pointer,
    folder: Path,
    generation: Generation,
    store: Store,
    tables: History,
    progress: Progress | None,
) -> int:
    from streams.generations.rebuild import read_on  # loads DuckDB

    source = Source(live.current, find(root, live.current))
    caught_up = 0
    if generation.stage == "folding":  # after a killed pass
        read_on(source, folder, generation, store, tables, progress)
        caught_up += generation.records
    read_on(source, folder, generation, store, tables, progress)
    return caught_up + generation.records


def _take_positions(live: Store, store: Store) -> None:
    """Copies the positions in input files, and the time of the last record in the server's log."""
    positions = {
        name: position
        for name, position in live.values("file/").items()
        if not name.startswith(OF_BACKFILL)
    }
    store.write_values({**positions, RECORDED: live.value(RECORDED)})


def drop(history: Location, name: str) -> None:
    """Removes a generation that is not live. Raises HistoryError, ConfigurationError."""
    with dropping(history, name):
        pass


@contextmanager
def dropping(history: Location, name: str) -> Iterator[Location | None]:
    """Removes a generation that is not live, after the block has removed its data elsewhere: if
    that fails it stays, and the same call continues. Yields None in a history of sinks without such
    a generation: a killed call may have left data elsewhere.

    The block calls `mark_dropped` before it removes data. Raises as `drop`.
    """
    from streams.generations.in_parts import check_no_part_folds  # as above

    root = find_root(history)
    remove_leftovers(root)
    if is_shared(root) and name not in (LIVE, "previous") and name not in names(root):
        folder_of(root, name)
        yield None
        return
    folder = find(root, name)
    if folder == root:
        raise ConfigurationError(f"{ROOT!r} cannot be dropped")
    if isinstance(folder, Path):
        with locked(folder):
            _check_not_live(root, folder)
            check_no_part_folds(folder, name)
            yield folder
            remove(root, folder)
        return
    _check_not_live(root, folder)
    yield folder
    mark_dropped(folder)
    remove(root, folder)


def _check_not_live(root: Location, folder: Location) -> None:
    if find(root, LIVE) == folder:
        raise ConfigurationError(f"{folder.name!r} is live; promote another one first")


def mark_dropped(folder: Location) -> None:
    """Marks a generation so that it cannot be promoted, as parts of it may be removed. Raises
    ConfigurationError if it was just promoted, which no lock prevents in an object store."""
    is_marked = (folder / DROPPED).exists()
    replace(folder / DROPPED, "dropped\n")
    if isinstance(folder, ObjectPath) and not is_marked:
        _block_promotion(folder.parent.parent, folder)


def _block_promotion(root: ObjectPath, folder: ObjectPath) -> None:
    """Invalidates a concurrent `promote` that has not seen the mark: takes the next pointer number,
    with the unchanged pointer."""
    while True:
        live = pointer(root)
        if live.current == folder.name:
            (folder / DROPPED).unlink()
            raise ConfigurationError(f"{folder.name!r} is live; promote another one first")
        try:
            switch(root, live)
        except HistoryError:
            if pointer(root).number == live.number:
                raise
        else:
            return


def list_generations(history: Location) -> list[dict[str, Any]]:
    """All generations with their settings and bytes on disk: dropping one frees `own_bytes`, not
    `shared_bytes`."""
    root = find_root(history)
    live = pointer(root)
    return [_description(name, folder_of(root, name), live) for name in names(root)]


def _description(name: str, folder: Location, live: Pointer) -> dict[str, Any]:
    generation = load(folder)
    settings = generation.settings if generation else Settings()
    own_bytes, shared_bytes = _bytes(folder)
    role = {live.current: "live", live.previous: "previous"}.get(name, "")
    return {
        "name": name,
        "role": role,
        "stage": generation.stage if generation else "complete",
        "extractor": _extractor(folder),
        "left_out": settings.left_out,
        "first": settings.first,
        "last": settings.last,
        "constants": settings.constants,
        "retracted": list(map(str, settings.retracted)),
        "receipt": generation.receipt if generation else {},
        "counts": generation.counts if generation else {},
        "missing_parts": generation.missing_parts
        if generation and generation.ended_at is None
        else [],
        "passes": generation.passes if generation else 0,
        "started_at": generation.started_at if generation and generation.started_at else None,
        "ended_at": generation.ended_at if generation and generation.ended_at else None,
        "own_bytes": own_bytes,
        "shared_bytes": shared_bytes,
    }


def _bytes(folder: Location) -> tuple[int, int]:
    if not isinstance(folder, Path):  # object stores have no shared files
        prefix = f"{folder / FOLDER}/"
        sizes = folder.sizes().items()
        return sum(size for address, size in sizes if not address.startswith(prefix)), 0
    own_bytes = shared_bytes = 0
    for path in folder.rglob("*"):
        if FOLDER in path.relative_to(folder).parts[:1] or not path.is_file():
            continue
        stat = path.stat()
        if stat.st_nlink > 1:
            shared_bytes += stat.st_size
        else:
            own_bytes += stat.st_size
    return own_bytes, shared_bytes
