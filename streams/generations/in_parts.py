"""A first pass that several commands fold, a part each, on one machine or on many that share the
history's folder (docs/backfill.md, "In parts").

1. The first to have the generation's lock reads: all records lie in `_source` in order, cut where
   one home ends (`replay_order`), so that no part needs anything of another.
2. Each folds its part into a folder of its own, and notes that in `_generation.json`.
3. The one that notes the last makes the parts' files and rows the generation's.

Killed anywhere, the same part goes on when it is run again. The lock of the generation is held in 1
and 3 and waited for; that of the part, as long as its command runs.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from sinks.locks import held
from streams.errors import ConfigurationError
from streams.files.access import erasing, locked, opened
from streams.files.manifest import WORK, Generation, Settings, load, rules_of, save
from streams.files.runner import Progress
from streams.generations import rebuild
from streams.generations.begin import begun, check_begun, place_of, source_of
from streams.generations.folding import fold_part, parts_in, take_rows
from streams.generations.sharing import hold_parts

LOCKS = "_parts"
"""Holds a lock for each part, until the generation is complete."""
LOOK_EVERY = 0.2
BEGUN_WITHIN = 30.0
"""Seconds in which who holds a new generation's lock says what it makes."""


class Part(NamedTuple):
    """One of so many parts; the first is 0."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Folded(NamedTuple):
    """The generation as it is now, and the counts of the part; None: it had been folded before."""

    generation: Generation
    counts: dict[str, int] | None


def backfill_part(
    history: Path,
    name: str,
    settings: Settings,
    part: Part,
    progress: Progress | None = None,
    waits: Callable[[], None] = lambda: None,
) -> Folded:
    """Folds one part of a generation, and completes the generation if it is the last. `waits` is
    called where another part has to end something first.

    Raises as `rebuild.backfill`, and ConfigurationError where another process folds this part, or
    the generation has other parts.
    """
    root, folder = place_of(history, name, settings, part.of)
    known = load(folder)
    if known is not None and known.ended_at is not None:
        return Folded(known, None)
    with rebuild.reported(folder), erasing(root, alone=False), _lock_of(folder, name, part):
        with _turn(folder, settings, part, waits):
            generation = _begin(root, folder, name, settings, part)
        counts, began = None, time.monotonic()
        if generation.ended_at is None and part.number not in generation.folded:
            records = rebuild.records_of(folder, generation)
            place, reading = parts_in(folder / WORK, records, generation)[part.number]
            counts = fold_part(place, reading, generation.settings, progress)
        seconds = time.monotonic() - began
        with _turn(folder, settings, part, waits):
            return Folded(_note(root, folder, part, seconds), counts)


def _begin(root: Path, folder: Path, name: str, settings: Settings, part: Part) -> Generation:
    """The generation, whose records are gathered."""
    began = time.monotonic()
    source = source_of(root, name)  # again: `promote` holds this lock, too
    with opened(folder) as (_, tables):
        generation = begun(folder, name, settings, tables, source, part.of)
    rules_of(folder)  # refused before anything is gathered
    if generation.stage == "reading":
        rebuild.read(source, folder, generation)
        generation.seconds = round(time.monotonic() - began, 3)
        save(folder, generation)
    return generation


def _note(root: Path, folder: Path, part: Part, seconds: float) -> Generation:
    """The part is folded; if it was the last, the generation is completed."""
    generation = load(folder)
    if generation is None:
        raise ConfigurationError(f"{folder}: was removed meanwhile; run all parts again")
    if generation.ended_at is not None:
        return generation
    generation.folded = tuple(sorted({*generation.folded, part.number}))
    generation.seconds = round(generation.seconds + seconds, 3)
    save(folder, generation)
    if not generation.missing_parts:
        _complete(root, folder, generation)
    return generation


def _complete(root: Path, folder: Path, generation: Generation) -> None:
    began, source = time.monotonic(), source_of(root, generation.name)
    records = rebuild.records_of(folder, generation)
    parts = [place for place, _ in parts_in(folder / WORK, records, generation)]
    with opened(folder) as (store, tables):
        rebuild.hold_said(source, folder, tables)
        take_rows(parts, store)
        hold_parts(parts, tables)
        rebuild.end(source, folder, generation, store, tables, ("dead_letters",), began)
    shutil.rmtree(folder / LOCKS, ignore_errors=True)


@contextmanager
def _lock_of(folder: Path, name: str, part: Part) -> Iterator[None]:
    """The part's lock. Raises ConfigurationError where another process has it."""
    (folder / LOCKS).mkdir(exist_ok=True)
    refusal = f"part {part} of generation {name!r} is being folded by another process"
    with held(folder / LOCKS / f"{part.number}.lock", ConfigurationError(refusal)):
        yield


@contextmanager
def _turn(
    folder: Path, settings: Settings, part: Part, waits: Callable[[], None]
) -> Iterator[None]:
    """The generation's lock, once the other parts let go of it. Raises ConfigurationError where
    it is held for anything else."""
    with ExitStack() as stack:
        deadline, is_told = time.monotonic() + BEGUN_WITHIN, False
        while True:
            try:
                stack.enter_context(locked(folder))
                break
            except ConfigurationError:
                known = load(folder)
                if known is not None:
                    check_begun(known, settings, part.of)
                elif time.monotonic() > deadline:
                    raise
            if not is_told:
                waits()
            is_told = True
            time.sleep(LOOK_EVERY)
        yield


def check_no_part_folds(folder: Path, name: str) -> None:
    """Raises ConfigurationError where a process folds a part of a generation."""
    for file in sorted((folder / LOCKS).glob("*.lock")):
        refusal = ConfigurationError(
            f"generation {name!r}: its part {file.stem} is being folded; end that process first"
        )
        with held(file, refusal):
            pass
