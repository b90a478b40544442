"""Which generation `generation create` makes: of what, with which settings, in how many parts."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from sinks.delta import History
from sinks.generation import ROOT, find, folder_of, pointer
from sinks.root import find_root, open_root
from streams.errors import ConfigurationError
from streams.files.extractor_choice import choice_of
from streams.files.manifest import Generation, Settings, load, save

SHOWN = 10  # missing parts that a message names


def place_of(history: Path, name: str, settings: Settings, split: int = 0) -> tuple[Path, Path]:
    """The history's folder, and the generation's, which is made.

    Raises HistoryError for an invalid name, ConfigurationError for one that is live or was begun
    otherwise.
    """
    root = find_root(history)
    folder = folder_of(root, name)
    if name == ROOT:
        raise ConfigurationError(f"{ROOT!r} is what `run` wrote; name another generation")
    source_of(root, name)
    if (known := load(folder)) is not None:  # again under its lock: here nothing is opened
        check_begun(known, settings, split)
    folder.parent.mkdir(exist_ok=True)
    open_root(folder)
    return root, folder


class Source(NamedTuple):
    """The generation that another one is made of."""

    name: str
    folder: Path


def source_of(root: Path, name: str) -> Source:
    """The live generation. Raises ConfigurationError where it is the one to be made."""
    live = pointer(root).current
    if name == live:
        raise ConfigurationError(f"{name!r} is live; name another generation, or a new one")
    return Source(live, find(root, live))


def run_extractor_of(source: Source) -> str | None:
    """What turns that come to it are extracted with, if anybody has chosen."""
    choice = choice_of(source.folder)
    return None if choice is None else choice.name


def begun(
    folder: Path,
    name: str,
    settings: Settings,
    tables: History,
    source: Source,
    split: int = 0,
) -> Generation:
    """What the generation says of itself; a new one begins here, `split` into so many parts, each
    of which a command folds. Raises ConfigurationError where it was begun otherwise."""
    known = load(folder)
    if known is not None:
        check_begun(known, settings, split)
        return known
    if tables.tables():
        raise ConfigurationError(
            f"{folder}: was not made by `generation create`; name another generation"
        )
    above = load(source.folder)
    inherited = above.settings.constants if above else {}
    made = Generation(
        name=name, settings=replace(settings, constants=inherited | settings.constants),
        inherited=inherited, started_at=time.time_ns() // 1000, made_of=source.name,
        run_extractor=run_extractor_of(source), split=split,
    )  # fmt: skip
    save(folder, made)
    return made


def check_begun(known: Generation, settings: Settings, split: int) -> None:
    """Raises ConfigurationError where a generation was begun with other settings, or into another
    number of parts."""
    settings = replace(settings, constants=known.inherited | settings.constants)
    if wrong := settings.differs_from(known.settings):
        raise ConfigurationError(
            f"generation {known.name!r} was begun with other settings ({'; '.join(wrong)}): give "
            "the same settings to continue, or name a new generation"
        )
    if wrong_parts := _differs_in_parts(known, split):
        raise ConfigurationError(f"generation {known.name!r} {wrong_parts}")


def _differs_in_parts(known: Generation, split: int) -> str | None:
    if known.ended_at is not None:
        if not split or (split, known.passes, known.stage) == (known.split, 1, "complete"):
            return None
        return (
            "is complete: leave --part out to read what was added since, or name a new generation"
        )
    if split == known.split:
        return None
    drop = f"or drop it (turnfold generation drop {known.name})"
    if not known.split:
        return f"was begun without --part: leave it out to continue, {drop}"
    last = f"{known.split - 1}/{known.split}"
    return (
        f"is made in {known.split} parts: give --part 0/{known.split} to {last} "
        f"({still_missing(known)}), {drop}"
    )


def still_missing(generation: Generation) -> str:
    """Which parts are to be run yet."""
    left = generation.missing_parts
    if not left:
        return "all are folded: any of them, run again, completes the generation"
    return missing_said(left)


def missing_said(parts: Sequence[str]) -> str:
    """Parts that are missing, the first by name."""
    more = f" and {len(parts) - SHOWN:,} more" if len(parts) > SHOWN else ""
    return f"missing: {', '.join(parts[:SHOWN])}{more}"
