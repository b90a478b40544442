"""Folds a first pass with several commands, one per part, on one machine or several that share the
history's folder (docs/backfill.md, "In parts").

1. The first command with the generation's lock gathers all records in `_source` in order, and cuts
   them between homes (`replay_order`), so that parts are independent.
2. Each command folds its part into a separate folder, and notes that in `_generation.json`.
3. The command that notes the last part makes the parts' files and rows the generation's.

After a kill, running the same part again continues. Steps 1 and 3 wait for the lock of the
generation; a command has the lock of its part while it runs.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from sinks.locks import lock_file
from streams.errors import ConfigurationError
from streams.files.fold_sources import Progress
from streams.files.manifest import WORK, Generation, Settings, load, rules_of, save
from streams.files.open_generation import erasing, locked, opened
from streams.generations import rebuild
from streams.generations.folding import fold_part, parts_in, take_rows
from streams.generations.manifest_checks import (
    check_settings,
    create_folder,
    load_or_create,
    source_of,
)
from streams.generations.shared_files import adopt_parts

LOCKS = "_parts"
"""Folder of the parts' locks, until the generation is complete."""
LOOK_EVERY = 0.2
BEGUN_WITHIN = 30.0
"""Seconds within which the owner of a new generation's lock writes its manifest."""


class Part(NamedTuple):
    """Part `number`, from 0, of `of` parts."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Folded(NamedTuple):
    """The generation. `counts` of the part: None if it was folded before."""

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
    called when it has to wait for another part.

    Raises as `rebuild.backfill`, and ConfigurationError if another process folds this part, or the
    generation has another number of parts.
    """
    root, folder = create_folder(history, name, settings, part.of)
    stored = load(folder)
    if stored is not None and stored.ended_at is not None:
        return Folded(stored, None)
    with (
        rebuild.translated_errors(folder),
        erasing(root, alone=False),
        _part_lock(folder, name, part),
    ):
        with _generation_lock(folder, settings, part, waits):
            generation = _begin(root, folder, name, settings, part)
        counts, start = None, time.monotonic()
        if generation.ended_at is None and part.number not in generation.folded:
            records = rebuild.records_of(folder, generation)
            place, reading = parts_in(folder / WORK, records, generation)[part.number]
            counts = fold_part(place, reading, generation.settings, progress)
        seconds = time.monotonic() - start
        with _generation_lock(folder, settings, part, waits):
            return Folded(_note_folded(root, folder, part, seconds), counts)


def _begin(root: Path, folder: Path, name: str, settings: Settings, part: Part) -> Generation:
    """Returns the generation after gathering its records."""
    start = time.monotonic()
    source = source_of(root, name)  # again: `promote` also takes this lock
    with opened(folder) as (_, tables):
        generation = load_or_create(folder, name, settings, tables, source, part.of)
    rules_of(folder)  # raises before records are gathered
    if generation.stage == "reading":
        rebuild.read(source, folder, generation)
        generation.seconds = round(time.monotonic() - start, 3)
        save(folder, generation)
    return generation


def _note_folded(root: Path, folder: Path, part: Part, seconds: float) -> Generation:
    """Notes a folded part; completes the generation after the last one."""
    generation = load(folder)
    if generation is None:
        raise ConfigurationError(f"{folder}: was removed; run all parts again")
    if generation.ended_at is not None:
        return generation
    generation.folded = tuple(sorted({*generation.folded, part.number}))
    generation.seconds = round(generation.seconds + seconds, 3)
    save(folder, generation)
    if not generation.missing_parts:
        _complete(root, folder, generation)
    return generation


def _complete(root: Path, folder: Path, generation: Generation) -> None:
    start, source = time.monotonic(), source_of(root, generation.name)
    records = rebuild.records_of(folder, generation)
    parts = [place for place, _ in parts_in(folder / WORK, records, generation)]
    with opened(folder) as (store, tables):
        rebuild.adopt_records(source, folder, tables)
        take_rows(parts, store)
        adopt_parts(parts, tables)
        rebuild.end(source, folder, generation, store, tables, ("dead_letters",), start)
    shutil.rmtree(folder / LOCKS, ignore_errors=True)


@contextmanager
def _part_lock(folder: Path, name: str, part: Part) -> Iterator[None]:
    """Locks a part. Raises ConfigurationError if another process has the lock."""
    (folder / LOCKS).mkdir(exist_ok=True)
    refusal = f"part {part} of generation {name!r} is being folded by another process"
    with lock_file(folder / LOCKS / f"{part.number}.lock", ConfigurationError(refusal)):
        yield


@contextmanager
def _generation_lock(
    folder: Path, settings: Settings, part: Part, waits: Callable[[], None]
) -> Iterator[None]:
    """Locks the generation; waits for the other parts. Raises ConfigurationError if another command
    has the lock."""
    with ExitStack() as stack:
        deadline, is_reported = time.monotonic() + BEGUN_WITHIN, False
        while True:
            try:
                stack.enter_context(locked(folder))
                break
            except ConfigurationError:
                generation = load(folder)
                if generation is not None:
                    check_settings(generation, settings, part.of)
                elif time.monotonic() > deadline:
                    raise
            if not is_reported:
                waits()
            is_reported = True
            time.sleep(LOOK_EVERY)
        yield


def check_no_part_folds(folder: Path, name: str) -> None:
    """Raises ConfigurationError if a process folds a part of a generation."""
    for file in sorted((folder / LOCKS).glob("*.lock")):
        refusal = ConfigurationError(
            f"generation {name!r}: its part {file.stem} is being folded; stop that process first"
        )
        with lock_file(file, refusal):
            pass
