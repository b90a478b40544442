"""Checks and creates the manifest of a `backfill`: source, settings, number of parts."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sinks.delta import History
from sinks.generation import ROOT, find, folder_of, pointer
from sinks.history_root import find_root, open_root
from streams.errors import ConfigurationError
from streams.files.extractor_choice import choice_of
from streams.files.manifest import Generation, Settings, load, save

SHOWN = 10  # missing parts that a message names


def create_folder(
    history: Path, name: str, settings: Settings, split: int = 0
) -> tuple[Path, Path]:
    """Creates the generation's folder; returns the history's and the generation's.

    Raises HistoryError for an invalid name, ConfigurationError for a live generation, or one with
    other settings.
    """
    root = find_root(history)
    folder = folder_of(root, name)
    if name == ROOT:
        raise ConfigurationError(f"{ROOT!r} is the generation of `run`; name another one")
    source_of(root, name)
    if (generation := load(folder)) is not None:  # checked again under the lock
        check_settings(generation, settings, split)
    folder.parent.mkdir(exist_ok=True)
    open_root(folder)
    return root, folder


class Source(NamedTuple):
    """The generation from which another one is built."""

    name: str
    folder: Path


def source_of(root: Path, name: str) -> Source:
    """The live generation. Raises ConfigurationError if it is the one to build."""
    live = pointer(root).current
    if name == live:
        raise ConfigurationError(f"{name!r} is live; name another generation, or a new one")
    return Source(live, find(root, live))


def run_extractor_of(source: Source) -> str | None:
    """Extractor of the source's new turns, if one was chosen."""
    choice = choice_of(source.folder)
    return None if choice is None else choice.name


def load_or_create(
    folder: Path,
    name: str,
    settings: Settings,
    tables: History,
    source: Source,
    split: int = 0,
) -> Generation:
    """Loads or creates the generation's manifest; `split`: number of parts that separate commands
    fold. Raises ConfigurationError if it was started with other settings."""
    stored = load(folder)
    if stored is not None:
        check_settings(stored, settings, split)
        return stored
    if tables.tables():
        raise ConfigurationError(f"{folder}: was not made by `backfill`; name another generation")
    origin = load(source.folder)
    inherited = Settings().on(origin.settings) if origin else Settings()
    generation = Generation(
        name=name, settings=settings.on(inherited),
        inherited=inherited, started_at=time.time_ns() // 1000, made_of=source.name,
        run_extractor=run_extractor_of(source), split=split,
    )  # fmt: skip
    save(folder, generation)
    return generation


def check_settings(generation: Generation, settings: Settings, split: int) -> None:
    """Raises ConfigurationError if a generation was started with other settings or another number
    of parts."""
    if differences := settings.on(generation.inherited).differs_from(generation.settings):
        raise ConfigurationError(
            f"generation {generation.name!r} was begun with other settings "
            f"({'; '.join(differences)}): give the same settings to continue, or name a new "
            "generation"
        )
    if problem := _parts_problem(generation, split):
        raise ConfigurationError(f"generation {generation.name!r} {problem}")


def _parts_problem(generation: Generation, split: int) -> str | None:
    if generation.ended_at is not None:
        if not split or (split, generation.passes, generation.stage) == (
            generation.split,
            1,
            "complete",
        ):
            return None
        return (
            "is complete: leave --part out to read what was added since, or name a new generation"
        )
    if split == generation.split:
        return None
    drop = f"or drop it (turnfold generation drop {generation.name})"
    if not generation.split:
        return f"was begun without --part: leave it out to continue, {drop}"
    last = f"{generation.split - 1}/{generation.split}"
    return (
        f"is made in {generation.split} parts: give --part 0/{generation.split} to {last} "
        f"({still_missing(generation)}), {drop}"
    )


def still_missing(generation: Generation) -> str:
    """Message about the parts that are still to be run."""
    parts = generation.missing_parts
    if not parts:
        return "all are folded: run any of them again to complete the generation"
    return missing_message(parts)


def missing_message(parts: Sequence[str]) -> str:
    """Message about missing parts, the first by name."""
    more = f" and {len(parts) - SHOWN:,} more" if len(parts) > SHOWN else ""
    return f"missing: {', '.join(parts[:SHOWN])}{more}"
