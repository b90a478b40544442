"""Records of a history through the same folds, into a generation beside it.

A pass has two stages, noted in `_generation.json`:
1. *reading*: what is new in the source since the last pass is written to `_source`, in order, and
   its files are linked into the generation. Killed here, it is done again from the start.
2. *folding*: the records of `_source` are folded like a file's, a batch at a time, with the place
   reached in the store. Killed here, it continues exactly once.
"""

import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow.compute as pc
from deltalake import DeltaTable

from sinks.delta import UNWRITTEN, History, written
from sinks.links import adopt
from sinks.links import share as link
from streams.errors import TurnfoldError
from streams.extractors.naming import OURS
from streams.files.access import erasing, locked, opened
from streams.files.extractor_choice import NONE, Choice, choice_of, own_choice
from streams.files.manifest import WORK, Generation, Settings, rules_of, save
from streams.files.runner import Progress
from streams.files.store import Store
from streams.generations import snapshot
from streams.generations.begin import Source, begun, place_of, run_extractor_of, source_of
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
    root, folder = place_of(history, name, settings)
    with erasing(root, alone=False), locked(folder):
        source = source_of(root, name)  # again: `promote` holds this lock, too
        with opened(folder) as (store, tables):
            generation = begun(folder, name, settings, tables, source)
            rules_of(folder)  # refused before anything is gathered
            read_on(source, folder, generation, store, tables, progress, share=True)
    return generation


@contextmanager
def reported(folder: Path) -> Iterator[None]:
    """Files that cannot be read or written as a TurnfoldError."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        raise TurnfoldError(f"{folder}: {error}; run the same command again to continue") from error


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
    with reported(folder):
        _read_on(source, folder, generation, store, tables, progress, share=share)


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
        read(source, folder, generation)
    hold_said(source, folder, tables)
    records = records_of(folder, generation)
    if generation.parts:
        parts = fold_parts(work, records, generation, store, progress)
        merge(source.folder, parts, tables, work)
    else:
        fold(records, generation.pass_settings, store, tables, progress)
    names = ("dead_letters",) if generation.parts else FOLDED
    end(source, folder, generation, store, tables, names if share else (), began)


def hold_said(source: Source, folder: Path, tables: History) -> None:
    """The tables of what was said, of the files that the pass has read."""
    files = msgspec.json.decode((folder / WORK / FILES).read_bytes(), type=Snapshot)
    for name in SAID:
        adopt(tables, name, source.folder / name, files.get(name, ()))


def records_of(folder: Path, generation: Generation) -> Reading:
    """The records that the pass has gathered."""
    return Reading(folder / WORK / RECORDS, f"backfill/{generation.passes}")


def end(
    source: Source,
    folder: Path,
    generation: Generation,
    store: Store,
    tables: History,
    share: Iterable[str],
    began: float,
) -> None:
    """The end of a pass whose records are all folded; the tables to `share` are compared."""
    work = folder / WORK
    _copy_letters(work / LETTERS, tables)
    share_equal(source.folder, tables, work, share)
    generation.stage, generation.ended_at = "complete", time.time_ns() // 1000
    generation.pass_extractor = None
    if source.name == generation.made_of:
        generation.run_extractor = run_extractor_of(source)
    generation.seconds = round(generation.seconds + time.monotonic() - began, 3)
    generation.counts |= store.value("counts")
    topic = records_of(folder, generation).topic
    save(folder, generation)
    store.write_values({f"file/{topic}": None})
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


def _extractors(plans: DeltaTable | None) -> set[str]:
    """Whose plans a table holds."""
    if plans is None:
        return set()
    found: Any = plans.to_pyarrow_table(columns=["extractor_name"]).column(0)
    return set(pc.unique(found).to_pylist())


def read(source: Source, folder: Path, generation: Generation) -> None:
    """The stage of reading."""
    work = folder / WORK
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
    is_first = generation.ended_at is None  # not so of `root`, which `run` has made
    generation.parts = _parts(generation, work / RECORDS) if is_first else ()
    save(folder, generation)


def _parts(generation: Generation, records: Path) -> tuple[int, ...]:
    if generation.split:
        return parts_of(records, generation.split)
    most = PROCESSES if generation.records >= WORTH_PARTS else 1
    return tuple(sorted({*parts_of(records, most)} - {0}))


def _copy_letters(file: Path, tables: History) -> None:
    """The source's dead letters, but for those that are here already."""
    for rows in unknown_letters(file, Path(tables.root)):
        table = tables.table("dead_letters")
        last = UNWRITTEN if table is None else written(table, LETTERS)
        tables.append("dead_letters", rows, LETTERS, last + 1)
