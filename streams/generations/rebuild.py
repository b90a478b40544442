"""Rebuilds memory: folds the records of a history again, into a new generation.

A pass has two stages, noted in `_generation.json`:
1. *reading*: new records of the source since the last pass are written to `_source`, in order, and
   its files are linked into the generation. After a kill this stage starts again.
2. *folding*: the records of `_source` are folded like a file's, in batches, with the position in
the
   store. After a kill it continues exactly once.
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
import pyarrow.parquet as pq
from deltalake import DeltaTable

from schemas.rows import SNAPSHOT_KEYS
from schemas.time import format_time
from sinks.delta import UNWRITTEN, History, written
from sinks.digest import digest
from sinks.hard_links import adopt
from sinks.hard_links import share as link
from streams.errors import TurnfoldError
from streams.extractors.registry import NONE, modules
from streams.files.extractor_choice import Choice, choice_of, stored_choice
from streams.files.fold_sources import Progress
from streams.files.manifest import WORK, Generation, Settings, rules_of, save
from streams.files.open_generation import erasing, locked, opened
from streams.files.retraction import MARKS as OF_RETRACTED
from streams.files.store import Store
from streams.files.stored_records import INPUT_TABLES
from streams.generations import snapshot
from streams.generations.folding import Reading, fold, fold_parts
from streams.generations.manifest_checks import (
    Source,
    create_folder,
    load_or_create,
    run_extractor_of,
    source_of,
)
from streams.generations.replay_order import (
    LETTERS,
    MARKS,
    RECORDS,
    gather,
    parts_of,
    unknown_letters,
)
from streams.generations.shared_files import FOLDED, PARALLEL_TABLES, merge, share_equal
from streams.generations.snapshot import Snapshot

FILES = "files.json"
WORTH_PARTS = 50_000
"""Minimum records of a first pass for several processes, which take two seconds each to start."""
PROCESSES = PARALLEL_TABLES


def backfill(
    history: Path, name: str, settings: Settings, progress: Progress | None = None
) -> Generation:
    """Builds a generation from the live one, continues it, or adds records that arrived since.

    Raises HistoryError for an invalid name, ConfigurationError for a generation that is live, is
    being written, or was started with other settings.
    """
    root, folder = create_folder(history, name, settings)
    with erasing(root, alone=False), locked(folder):
        source = source_of(root, name)  # again: `promote` also takes this lock
        with opened(folder) as (store, tables):
            generation = load_or_create(folder, name, settings, tables, source)
            rules_of(folder)  # raises before records are gathered
            read_on(source, folder, generation, store, tables, progress, share=True)
        if generation.receipt and "after" not in generation.receipt:
            generation.receipt |= {
                "filters": list(map(str, generation.settings.retracted)),
                "retracted_at": format_time(generation.ended_at or 0),
                "before": _digests(source.folder), "after": _digests(folder),
            }  # fmt: skip
            save(folder, generation)
    return generation


def _digests(folder: Path) -> dict[str, str]:
    digests = digest(folder, max_iteration=rules_of(folder).max_iteration)
    return {name: digests[name] for name in ("memory", "log")}


@contextmanager
def translated_errors(folder: Path) -> Iterator[None]:
    """Translates errors of reading and writing files into TurnfoldError."""
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
    """Runs one pass: folds records that the generation lacks; completes an unfinished pass.

    `share`: equal files of both are stored once at the end. Raises TurnfoldError if files cannot be
    read or written.
    """
    start = time.monotonic()
    work = folder / WORK
    with translated_errors(folder):
        if generation.stage != "folding":
            generation.pass_extractor = _pass_extractor(source, folder, generation, tables)
            read(source, folder, generation)
        adopt_records(source, folder, tables)
        records = records_of(folder, generation)
        if generation.parts:
            parts = fold_parts(work, records, generation, store, progress)
            is_partial = bool(generation.settings.retracted)
            merge(source.folder, parts, tables, work, is_partial=is_partial)
        else:
            fold(records, generation.pass_settings, store, tables, progress)
        names = ("dead_letters",) if generation.parts else FOLDED
        if generation.settings.retracted:
            names = tuple(name for name in names if name not in SNAPSHOT_KEYS)
        end(source, folder, generation, store, tables, names if share else (), start)


def adopt_records(source: Source, folder: Path, tables: History) -> None:
    """Sets the files of the generation's record tables to the files that the pass has read."""
    files = msgspec.json.decode((folder / WORK / FILES).read_bytes(), type=Snapshot)
    for name in INPUT_TABLES:
        adopt(tables, name, source.folder / name, files.get(name, ()))


def records_of(folder: Path, generation: Generation) -> Reading:
    """The gathered records of the current pass."""
    return Reading(folder / WORK / RECORDS, f"backfill/{generation.passes}")


def end(
    source: Source,
    folder: Path,
    generation: Generation,
    store: Store,
    tables: History,
    share: Iterable[str],
    start: float,
) -> None:
    """Completes a pass after its last record; shares equal files of the tables `share`."""
    work = folder / WORK
    _copy_letters(work / LETTERS, tables)
    share_equal(source.folder, tables, work, share)
    generation.stage, generation.ended_at = "complete", time.time_ns() // 1000
    generation.pass_extractor = None
    if source.name == generation.made_of:
        generation.run_extractor = run_extractor_of(source)
    generation.seconds = round(generation.seconds + time.monotonic() - start, 3)
    generation.counts |= store.value("counts")
    topic = records_of(folder, generation).topic
    _write_marks(work / MARKS, store)
    save(folder, generation)
    store.write_values({f"file/{topic}": None})
    shutil.rmtree(work)


def _pass_extractor(
    source: Source, folder: Path, generation: Generation, tables: History
) -> str | None:
    """Extractor of a pass that catches up with a source with another extractor: the generation's
    own choice while it was live; for a replay its first source's, or, without a choice, the
    extractor of its plans. Returns None for the extractor of `settings`."""
    if generation.ended_at is None:
        return None
    choice = stored_choice(folder)
    settings, source_choice = generation.settings.extractor, choice_of(source.folder)
    if settings is not None:
        return None if choice is None or choice.in_process == settings else choice.in_process
    if source_choice is None or source.name == generation.made_of:
        return None
    extractor = choice.name if choice else generation.run_extractor
    if extractor is None:
        extractors = _extractors(tables.table("plans"))
        return next((name for name in modules() if name in extractors), NONE)
    return None if extractor == source_choice.name else Choice(extractor).in_process


def _extractors(plans: DeltaTable | None) -> set[str]:
    """Names of the extractors in a table of plans."""
    if plans is None:
        return set()
    names: Any = plans.to_pyarrow_table(columns=["extractor_name"]).column(0)
    return set(pc.unique(names).to_pylist())


def read(source: Source, folder: Path, generation: Generation) -> None:
    """Runs the stage of reading."""
    work = folder / WORK
    generation.stage, generation.source = "reading", source.name
    save(folder, generation)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    files = snapshot.take(source.folder, generation.pass_settings)
    gathered = gather(source.folder, folder, files, generation.pass_settings, work)
    for name in INPUT_TABLES:
        paths = (file.path for file in gathered.files.get(name, ()))
        link(source.folder / name, folder / name, paths)
    (work / FILES).write_bytes(msgspec.json.encode(gathered.files))
    generation.stage, generation.records = "folding", gathered.records
    generation.passes += 1
    generation.counts["left_out"] = gathered.left_out
    is_first = generation.ended_at is None  # false for `root`, which `run` created
    if is_first and generation.settings.retracted != generation.inherited.retracted:
        generation.receipt = {"records": gathered.retracted}
    generation.parts = _parts(generation, work / RECORDS) if is_first else ()
    save(folder, generation)


def _parts(generation: Generation, records: Path) -> tuple[int, ...]:
    if generation.split:
        return parts_of(records, generation.split)
    limit = PROCESSES if generation.records >= WORTH_PARTS else 1
    return tuple(sorted({*parts_of(records, limit)} - {0}))


def _write_marks(file: Path, store: Store) -> None:
    if not file.exists():
        return
    with pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches():
            marks, words = (column.to_pylist() for column in batch.columns)
            values = zip(marks, words, strict=True)
            store.write_values({f"{OF_RETRACTED}{mark}": word for mark, word in values})


def _copy_letters(file: Path, tables: History) -> None:
    """Copies the source's dead letters that the generation lacks."""
    for rows in unknown_letters(file, Path(tables.root)):
        table = tables.table("dead_letters")
        last = UNWRITTEN if table is None else written(table, LETTERS)
        tables.append("dead_letters", rows, LETTERS, last + 1)
