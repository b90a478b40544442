"""Records of a history through the same folds, into a generation beside it.

A pass has two stages, noted in `_generation.json`:
1. *reading*: what is new in the source since the last pass is written to `_source`, in order, and
   its files are linked into the generation. Killed here, it is done again from the start.
2. *folding*: the records of `_source` are folded like a file's, a batch at a time, with the place
   reached in the store. Killed here, it continues exactly once.
"""

import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec
import pyarrow.compute as pc
from deltalake import DeltaTable
from msgspec.structs import replace

from sinks.delta import UNWRITTEN, History, written
from sinks.generation import ROOT, find, folder_of, pointer
from sinks.links import adopt
from sinks.links import share as link
from sinks.root import find_root, open_root
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.naming import OURS
from streams.files.access import erasing, locked, opened
from streams.files.extractor_choice import NONE, Choice, choice_of, own_choice
from streams.files.manifest import WORK, Generation, Settings, load, rules_of, save
from streams.files.runner import Progress
from streams.files.store import Store
from streams.generations import snapshot
from streams.generations.folding import Reading, fold, fold_parts
from streams.generations.replay_order import LETTERS, RECORDS, gather, parts_of, unknown_letters
from streams.generations.sharing import AT_ONCE, FOLDED, merge, share_equal
from streams.generations.snapshot import SAID, Snapshot

FILES = "files.json"
WORTH_PARTS = 50_000
"""Records of a first pass that several processes fold: each takes two seconds to start."""
PROCESSES = AT_ONCE


def backfill(
    history: Path, name: str, settings: Settings, progress: Progress | None = None
) -> Generation:
    """Makes a generation out of the live one, continues with it, or reads on what came since.

    Raises HistoryError for an invalid name, ConfigurationError for one that is live, that is
    being written, or was begun with other settings.
    """
    root = find_root(history)
    folder = folder_of(root, name)
    if name == ROOT:
        raise ConfigurationError(f"{ROOT!r} is what `run` wrote; name another generation")
    _source_of(root, name)
    folder.parent.mkdir(exist_ok=True)
    open_root(folder)
    with erasing(root, alone=False), locked(folder):
        source = _source_of(root, name)  # again: `promote` holds this lock, too
        with opened(folder) as (store, tables):
            generation = _begun(folder, name, settings, tables, source)
            rules_of(folder)  # refused before anything is gathered
            read_on(source, folder, generation, store, tables, progress, share=True)
    return generation


class Source(NamedTuple):
    """The generation that another one is made of."""

    name: str
    folder: Path


def _source_of(root: Path, name: str) -> Source:
    """The live generation. Raises ConfigurationError where it is the one to be made."""
    live = pointer(root).current
    if name == live:
        raise ConfigurationError(f"{name!r} is live; name another generation, or a new one")
    return Source(live, find(root, live))


def _begun(
    folder: Path, name: str, settings: Settings, tables: History, source: Source
) -> Generation:
    known = load(folder)
    if known is None:
        if tables.tables():
            raise ConfigurationError(
                f"{folder}: was not made by `backfill`; name another generation"
            )
        above = load(source.folder)
        inherited = above.settings.constants if above else {}
        settings = replace(settings, constants=inherited | settings.constants)
        now = time.time_ns() // 1000
        known = Generation(
            name=name, settings=settings, inherited=inherited, started_at=now,
            made_of=source.name, run_extractor=_name(choice_of(source.folder)),
        )  # fmt: skip
        save(folder, known)
        return known
    settings = replace(settings, constants=known.inherited | settings.constants)
    if wrong := settings.differs_from(known.settings):
        raise ConfigurationError(
            f"generation {name!r} was begun with other settings ({'; '.join(wrong)}): give the "
            "same settings to continue, or name a new generation"
        )
    return known


def read_on(
    source: Source,
    folder: Path,
    generation: Generation,
    store: Store,
    tables: History,
    progress: Progress | None = None,
    *,
    share: bool = False,
) -> None:
    """One pass: folds what the source has and the generation has not; ends one that was begun.

    `share`: in the end what both have folded alike is held once. Raises TurnfoldError where files
    cannot be read or written.
    """
    try:
        _read_on(source, folder, generation, store, tables, progress, share=share)
    except (duckdb.Error, OSError) as error:
        raise TurnfoldError(f"{folder}: {error}; run the same command again to continue") from error


def _read_on(
    source: Source,
    folder: Path,
    generation: Generation,
    store: Store,
    tables: History,
    progress: Progress | None,
    *,
    share: bool,
) -> None:
    began = time.monotonic()
    work = folder / WORK
    if generation.stage != "folding":
        generation.pass_extractor = _pass_extractor(source, folder, generation, tables)
        _gather(source, folder, generation, work)
    files = msgspec.json.decode((work / FILES).read_bytes(), type=Snapshot)
    for name in SAID:
        adopt(tables, name, source.folder / name, files.get(name, ()))
    records = Reading(work / RECORDS, f"backfill/{generation.passes}")
    if generation.parts:
        parts = fold_parts(work, records, generation, store, progress)
        merge(source.folder, parts, tables, work)
    else:
        fold(records, generation.pass_settings, store, tables, progress)
    _copy_letters(work / LETTERS, tables)
    if share:
        names = ("dead_letters",) if generation.parts else FOLDED
        share_equal(source.folder, tables, work, names)
    generation.stage, generation.ended_at = "complete", time.time_ns() // 1000
    generation.pass_extractor = None
    if source.name == generation.made_of:
        generation.run_extractor = _name(choice_of(source.folder))
    generation.seconds = round(generation.seconds + time.monotonic() - began, 3)
    generation.counts |= store.value("counts")
    save(folder, generation)
    store.write_values({f"file/{records.topic}": None})
    shutil.rmtree(work)


def _pass_extractor(
    source: Source, folder: Path, generation: Generation, tables: History
) -> str | None:
    """How a generation catches up with one that extracts otherwise: as was chosen for it while it
    was live; one that replays, as that did of which it was made; if nobody ever chose, with the one
    of ours whose plans it has, if any. None: as `settings` say."""
    if generation.ended_at is None:
        return None
    own = own_choice(folder)
    settings, theirs = generation.settings.extractor, choice_of(source.folder)
    if settings is not None:
        return None if own is None or own.in_process == settings else own.in_process
    if theirs is None or source.name == generation.made_of:
        return None
    mine = own.name if own else generation.run_extractor
    if mine is None:
        made = _extractors(tables.table("plans"))
        return next((name for name in OURS if name in made), NONE)
    return None if mine == theirs.name else Choice(mine).in_process


def _name(choice: Choice | None) -> str | None:
    return None if choice is None else choice.name


def _extractors(plans: DeltaTable | None) -> set[str]:
    """Whose plans a table holds."""
    if plans is None:
        return set()
    found: Any = plans.to_pyarrow_table(columns=["extractor_name"]).column(0)
    return set(pc.unique(found).to_pylist())


def _gather(source: Source, folder: Path, generation: Generation, work: Path) -> None:
    """The stage of reading."""
    generation.stage, generation.source = "reading", source.name
    save(folder, generation)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    files = snapshot.take(source.folder, generation.pass_settings)
    found = gather(source.folder, folder, files, generation.pass_settings, work)
    for name in SAID:
        link(source.folder / name, folder / name, (one.path for one in files.get(name, ())))
    (work / FILES).write_bytes(msgspec.json.encode(files))
    generation.stage, generation.records = "folding", found.records
    generation.passes += 1
    generation.counts["left_out"] = found.left_out
    most = PROCESSES if found.records >= WORTH_PARTS else 1
    is_first = generation.ended_at is None  # not so of `root`, which `run` has made
    generation.parts = parts_of(work / RECORDS, most) if is_first else ()
    save(folder, generation)


def _copy_letters(file: Path, tables: History) -> None:
    """The source's dead letters, but for those that are here already."""
    for rows in unknown_letters(file, Path(tables.root)):
        table = tables.table("dead_letters")
        last = UNWRITTEN if table is None else written(table, LETTERS)
        tables.append("dead_letters", rows, LETTERS, last + 1)
