"""Folds gathered records in this process, or in several processes with a part each.

Parts are independent: related records are in one part (`replay_order`). Each has separate tables
and a separate store below `_source`; at the end the generation takes over their files. A first pass
has at least one part, as a store taken over this way is half as large.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.sharedctypes import SynchronizedArray
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from threading import Thread
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from schemas.generated.history import DeadLetter
from sinks.delta import History
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.registry import named
from streams.files.fold_batch import Applier, Stored
from streams.files.fold_sources import Progress, Runner
from streams.files.manifest import Generation, Settings
from streams.files.open_generation import writing
from streams.files.retraction import unretracted
from streams.files.sources import Position
from streams.files.store import Store
from streams.files.stored_records import INPUT_TABLES, PLACE
from streams.folds.constants import Rules
from streams.folds.effects import Input
from streams.folds.outcome import Outcome
from streams.pipeline.decode import Given, decode_again

CHUNK = 512
COLUMNS = ("line", *PLACE.split(", "))
EXPORTED = "exported"
UNMATCHED = "unmatched_tool_result"
REASON = DeadLetter.__struct_fields__.index("reason")
LOCK_SECONDS = 10.0
"""A process exits much sooner if its parent was killed."""


class Reading(NamedTuple):
    """A range of gathered records to fold, and the topic under which the store has its position."""

    file: Path
    topic: str
    first: int = 0
    end: int | None = None


def fold(
    reading: Reading,
    settings: Settings,
    store: Store,
    tables: History,
    progress: Progress | None = None,
) -> None:
    """Folds the records from the store's position on."""
    extract = unretracted(named(settings.extractor or "none"), settings.retracted)
    applier = Applier(store, Rules.of(settings.constants), extract)
    refold = _Refold(store, tables, applier, progress)
    with refold.committing():
        refold.read(_Records(reading, store), "backfill")


class _Refold(Runner):
    """File runner without the rows of input records: the generation shares their files. Batches are
    larger, as each creates a file per table and day, and latency does not matter."""

    batch_records, batch_seconds = 65_536, 60.0

    def apply(
        self,
        chunk: list[Given],
        recorded_at: int | None = None,
        inputs: Sequence[Input | None] | None = None,
    ) -> list[Outcome]:
        """Folds stored records without the limits and checks of new input."""
        decoded = [decode_again(line, place) for line, place in chunk]
        known_inputs = [record if type(record) is Input else None for record in decoded]
        return super().apply(chunk, recorded_at, known_inputs)

    def _pack(self, rows: dict[str, list[Stored]]) -> None:
        own_rows = {
            name: table_rows for name, table_rows in rows.items() if name not in INPUT_TABLES
        }
        if letters := own_rows.get(DeadLetter.table):  # the source has these letters already
            own_rows[DeadLetter.table] = [
                letter for letter in letters if letter[REASON] != UNMATCHED
            ]
        super()._pack(own_rows)


class _Records:
    """Gathered records as a source of the file runner; the position counts folded records."""

    def __init__(self, reading: Reading, store: Store) -> None:
        self.topic = reading.topic
        self._file = pq.ParquetFile(reading.file)
        end = self._file.metadata.num_rows if reading.end is None else reading.end
        self._first = reading.first
        self.size = end - reading.first
        position = store.value(f"file/{reading.topic}")
        self.progress = Position(*position).lines if position else 0

    @property
    def position(self) -> Position:
        return Position(self.progress, self.progress)

    def chunks(self) -> Iterator[list[Given]]:
        skip = self._first + self.progress
        groups: list[int] = []
        for group in range(self._file.num_row_groups):
            rows = self._file.metadata.row_group(group).num_rows
            if not groups and skip >= rows:
                skip -= rows
            else:
                groups.append(group)
        for batch in self._file.iter_batches(CHUNK, groups):
            fresh = batch.slice(skip, self.size - self.progress)
            skip = max(0, skip - batch.num_rows)
            lines, *place = [fresh.column(name).to_pylist() for name in COLUMNS]
            self.progress += fresh.num_rows
            records: Any = zip(lines, zip(*place, strict=True), strict=True)
            yield list(records)
            if self.progress == self.size:
                break


# --- a first pass -----------------------------------------------------------------------------


def fold_parts(
    work: Path,
    reading: Reading,
    generation: Generation,
    store: Store,
    progress: Progress | None = None,
) -> list[Path]:
    """Folds a first pass: one part in this process, several in a process each; after a kill each
    continues. Then the store has their rows; returns the folders of their tables."""
    parts = parts_in(work, reading, generation)
    if len(parts) == 1:
        fold_part(*parts[0], generation.settings, progress)
    else:
        _fold_in_processes(parts, generation, progress)
    folders = [folder for folder, _ in parts]
    take_rows(folders, store)
    return folders


def parts_in(work: Path, reading: Reading, generation: Generation) -> list[tuple[Path, Reading]]:
    """Folder and records of each part."""
    ends = generation.parts
    return [
        (work / f"part-{number}", reading._replace(first=first, end=end))
        for number, (first, end) in enumerate(zip((0, *ends[:-1]), ends, strict=True))
    ]


def _fold_in_processes(
    parts: list[tuple[Path, Reading]], generation: Generation, progress: Progress | None
) -> None:
    spawn = get_context("spawn")
    progress_counts: SynchronizedArray[int] = spawn.Array("q", len(parts) + 1)
    pool = ProcessPoolExecutor(len(parts), spawn, _start_process, (progress_counts, os.getpid()))
    try:
        running = [
            pool.submit(_fold_numbered, number, *part, generation.settings)
            for number, part in enumerate(parts)
        ]
        total = generation.parts[-1]
        _watch(
            running, lambda: sum(progress_counts[: len(parts)]), total, generation.name, progress
        )
    except BaseException as error:
        progress_counts[len(parts)] = 1  # stops the other processes
        if isinstance(error, BrokenProcessPool):
            raise TurnfoldError(
                "a folding process was killed, perhaps because memory ran out; run the command "
                "again to continue"
            ) from None
        raise
    finally:
        pool.shutdown()


def _watch(
    running: list[Future[None]],
    folded: Callable[[], int],
    total: int,
    name: str,
    progress: Progress | None,
) -> None:
    pending = set(running)
    while pending:
        finished, pending = wait(pending, 0.2, "FIRST_COMPLETED")
        for future in finished:
            future.result()
        if progress:
            progress(name, folded(), total, folded())


_done: Any = None


def _start_process(counts: Any, parent: int) -> None:
    global _done
    _done = counts
    signal(SIGINT, SIG_IGN)  # the parent also gets it, and stops this process
    Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """Exits this process when its parent stops it or was killed; as safe as a kill."""
    while not _done[-1] and os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)


def _fold_numbered(number: int, part: Path, reading: Reading, settings: Settings) -> None:
    def told(_: str, folded: int, __: int, ___: int) -> None:
        _done[number] = folded

    fold_part(part, reading, settings, told)


def fold_part(
    part: Path, reading: Reading, settings: Settings, progress: Progress | None
) -> dict[str, int]:
    """Folds one part in this process from its position on; returns its counts."""
    part.mkdir(exist_ok=True)
    _wait_for(part)
    with writing(part) as (store, tables):
        fold(reading, settings, store, tables, progress)
        store.export(part / EXPORTED)
        return dict(store.value("counts") or {})


def _wait_for(part: Path) -> None:
    """Waits until the process of a killed backfill has exited."""
    deadline = time.monotonic() + LOCK_SECONDS
    while time.monotonic() < deadline:
        try:
            with writing(part):
                return
        except ConfigurationError:
            time.sleep(0.1)


def take_rows(parts: list[Path], store: Store) -> None:
    """Moves the parts' rows into the store; idempotent after a kill."""
    counts: Counter[str] = Counter()
    for part in parts:
        with writing(part) as (folded, _):
            counts.update(folded.value("counts") or {})
        store.ingest(sorted((part / EXPORTED).glob("*.sst")))
    store.write_values({"counts": dict(counts)})
