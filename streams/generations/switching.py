"""`promote`, `rollback`, `drop`: which generation is live, and that no record is lost by it.

A writer of a history holds its lock. So does a switch: under it the generation reads what has
come since it last did, takes over how far input files were read, and goes live by one `os.replace`.
Before that the old one is live, whole; after it the new one is.
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
from sinks.links import missing
from sinks.locations import Location, replace
from sinks.object_store import ObjectPath
from sinks.root import HistoryError, find_root, is_shared
from streams.errors import ConfigurationError
from streams.files.access import locked, opened, writing
from streams.files.extractor_choice import choice_of
from streams.files.inbox import RECORDED
from streams.files.manifest import Generation, Settings, load
from streams.files.runner import Progress
from streams.files.store import Store
from streams.files.stored_records import SAID
from streams.generations.begin import Source, still_missing

PATIENCE = 60
"""Seconds that a generation written from topics may be behind: sinks write now and then."""
OF_BACKFILL = "file/backfill/"
"""Positions in what was gathered, which no other generation reads."""


class Switched(NamedTuple):
    """Who is live now, who was, and how many records were caught up with. `extractor` makes plans
    of the turns that come (None: nobody has chosen, so the default will)."""

    current: str
    previous: str | None
    caught_up: int
    seconds: float
    extractor: str | None = None


def promote(
    history: Location, name: str, progress: Progress | None = None, *, behind: bool = False
) -> Switched:
    """Makes a generation live. Raises HistoryError, ConfigurationError; nothing is switched then.

    Refused: a generation that is not finished, damaged, or of some days only; one written from
    topics that lacks what the live one has had for a minute, unless it may be `behind`.
    """
    root = find_root(history)
    name = resolve(root, name)
    folder = find(root, name)
    if (folder / DROPPED).exists():
        raise ConfigurationError(
            f"generation {name!r} is being dropped: `turnfold generation drop {name} --history "
            f"{root}` ends that"
        )
    began = time.monotonic()
    if is_shared(root):
        return _promote_shared(root, folder, name, behind)
    if not isinstance(root, Path) or not isinstance(folder, Path):
        raise ConfigurationError(
            f"{root}: no sink writes this, so a generation goes live in the folder that it was "
            "copied from; copy that again"
        )
    if (begun := load(folder)) is not None:  # again below, where nobody can change it
        _check_ended(begun)
    # one whose rows another version wrote is what a backfill brings up to date
    with writing(root, borrow=True, any_format=True) as (live_store, _):
        at = pointer(root)
        if name == at.current:
            return Switched(at.current, at.previous, 0, 0.0, _extractor(folder))
        folder = find(root, name)
        with _target(root, folder) as (store, tables):
            generation = load(folder) or Generation(
                name=ROOT, settings=Settings(), started_at=0, ended_at=0, stage="complete"
            )
            _check(generation, folder)
            caught_up = _catch_up(root, at, folder, generation, store, tables, progress)
            _take_positions(live_store, store)
            switch(root, Pointer(name, at.current))  # under the lock of either
    seconds = round(time.monotonic() - began, 3)
    return Switched(name, at.current, caught_up, seconds, _extractor(folder))


def _extractor(folder: Location) -> str | None:
    choice = choice_of(folder)
    return None if choice is None else choice.name


def _promote_shared(root: Location, folder: Location, name: str, behind: bool) -> Switched:
    """Each generation of a sink's history has workers and sinks of its own, which read the inputs
    as they come: nothing is to be caught up with here."""
    if not is_shared(folder):
        raise ConfigurationError(
            f"{root}: workers go on writing this history from their own tables, which `backfill` "
            f"does not change. Let a worker and a sink run with --generation {name} instead: what "
            "they write can go live"
        )
    at = pointer(root)
    if name != at.current:
        if not behind:
            _check_fresh(find(root, at.current), folder, name)
        switch(root, Pointer(name, at.current, behind, at.number))
    elif behind and not at.behind:  # a server that waits for it goes over now
        switch(root, at._replace(behind=True))
    return Switched(name, at.previous if name == at.current else at.current, 0, 0.0)


def _check_fresh(live: Location, folder: Location, name: str) -> None:
    """Refuses what would take memory away from readers until its own sink has come so far."""
    lacks = unread(live, folder, SAID, int((time.time() - PATIENCE) * SECOND))
    if lacks:
        records, first = sum(one.records for one in lacks), lacks[0]
        raise ConfigurationError(
            f"generation {name!r} is behind: it lacks {records:,} records that the live one has "
            f"had for over {PATIENCE} s, from {first.topic}/{first.partition} offset {first.first} "
            "on; let its workers and sink catch up (`turnfold kafka lag` shows how far they are), "
            "or promote it with --behind"
        )


def rollback(
    history: Location, progress: Progress | None = None, *, behind: bool = False
) -> Switched:
    """Makes the generation live that was before, with what has come since. Raises as `promote`."""
    root = find_root(history)
    at = pointer(root)
    if at.previous is None:
        raise ConfigurationError(f"{root}: no generation was live before {at.current!r}")
    return promote(root, at.previous, progress, behind=behind)


@contextmanager
def _target(root: Path, folder: Path) -> Iterator[tuple[Store, History]]:
    """The generation's tables and store; those of `root` are under the lock already held."""
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
            f"with the same settings goes on{missing}"
        )


def _check(generation: Generation, folder: Path) -> None:
    name = generation.name
    _check_ended(generation)
    if not generation.settings.whole:
        raise ConfigurationError(
            f"generation {name!r} covers some days only (--from, --to): promoting it would lose "
            "the others. Make one of all days"
        )
    for table in TABLES:
        if lost := missing(folder / table):
            raise ConfigurationError(
                f"generation {name!r} is damaged: {len(lost)} files of {table} are missing or "
                f"cut short, such as {lost[0]}; drop it and run backfill again"
            )


def _catch_up(
    root: Path,
    at: Pointer,
    folder: Path,
    generation: Generation,
    store: Store,
    tables: History,
    progress: Progress | None,
) -> int:
    from streams.generations.rebuild import read_on  # loads DuckDB, which servers need only here

    source = Source(at.current, find(root, at.current))
    caught_up = 0
    if generation.stage == "folding":  # a catching up that was killed
        read_on(source, folder, generation, store, tables, progress)
        caught_up += generation.records
    read_on(source, folder, generation, store, tables, progress)
    return caught_up + generation.records


def _take_positions(live: Store, store: Store) -> None:
    """How far input files were read, and when the server's log took its last record."""
    positions = {
        name: at for name, at in live.values("file/").items() if not name.startswith(OF_BACKFILL)
    }
    store.write_values({**positions, RECORDED: live.value(RECORDED)})


def drop(history: Location, name: str) -> None:
    """Removes a generation that is not live. Raises HistoryError, ConfigurationError."""
    with dropping(history, name):
        pass


@contextmanager
def dropping(history: Location, name: str) -> Iterator[Location | None]:
    """Removes a generation that is not live, when the block has removed what it has elsewhere:
    if that fails it stays, and the same call continues. None in a history of sinks without
    such a generation: a killed call may have left something elsewhere.

    The block calls `mark_dropped` before it takes anything away. Raises as `drop`.
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
    """From now on it cannot go live: part of it may be gone already. Raises ConfigurationError
    where it has gone live meanwhile, which in an object store no lock prevents."""
    is_marked = (folder / DROPPED).exists()
    replace(folder / DROPPED, "dropped\n")
    if isinstance(folder, ObjectPath) and not is_marked:
        _keep_out(folder.parent.parent, folder)


def _keep_out(root: ObjectPath, folder: ObjectPath) -> None:
    """Who promotes now has looked before the mark was there: his note would be the next, so ours
    takes its number, and says what was said."""
    while True:
        at = pointer(root)
        if at.current == folder.name:
            (folder / DROPPED).unlink()
            raise ConfigurationError(f"{folder.name!r} is live; promote another one first")
        try:
            switch(root, at)
        except HistoryError:
            if pointer(root).number == at.number:
                raise
        else:
            return


def listed(history: Location) -> list[dict[str, Any]]:
    """All generations with what they were made with, and their bytes on disk: `own_bytes` would
    be free if it were dropped, `shared_bytes` not."""
    root = find_root(history)
    at = pointer(root)
    return [_described(name, folder_of(root, name), at) for name in names(root)]


def _described(name: str, folder: Location, at: Pointer) -> dict[str, Any]:
    made = load(folder)
    settings = made.settings if made else Settings()
    own, shared = _bytes(folder)
    role = {at.current: "live", at.previous: "previous"}.get(name, "")
    return {
        "name": name,
        "role": role,
        "stage": made.stage if made else "complete",
        "extractor": _extractor(folder),
        "left_out": settings.left_out,
        "first": settings.first,
        "last": settings.last,
        "constants": settings.constants,
        "counts": made.counts if made else {},
        "missing_parts": made.missing_parts if made and made.ended_at is None else [],
        "passes": made.passes if made else 0,
        "started_at": made.started_at if made and made.started_at else None,
        "ended_at": made.ended_at if made and made.ended_at else None,
        "own_bytes": own,
        "shared_bytes": shared,
    }


def _bytes(folder: Location) -> tuple[int, int]:
    if not isinstance(folder, Path):  # nothing is shared there
        others = f"{folder / FOLDER}/"
        sizes = folder.sizes().items()
        return sum(size for one, size in sizes if not one.startswith(others)), 0
    own = shared = 0
    for path in folder.rglob("*"):
        if FOLDER in path.relative_to(folder).parts[:1] or not path.is_file():
            continue
        found = path.stat()
        if found.st_nlink > 1:
            shared += found.st_size
        else:
            own += found.st_size
    return own, shared
