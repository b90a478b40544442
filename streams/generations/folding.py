"""The records that were gathered, folded: in this process, or in several that have a part each.

Parts do not touch each other: what belongs together lies together (`replay_order`).
Each has tables and a store of its own below `_source`; in the end the generation takes over their
files. A first pass has one part at least, for a store so taken over is half as large.
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
from streams.extractors.naming import named
from streams.files.access import writing
from streams.files.applier import Applier, Stored
from streams.files.manifest import Generation, Settings
from streams.files.runner import Progress, Runner
from streams.files.sources import Position
from streams.files.store import Store
from streams.files.stored_records import PLACE
from streams.folds.outcome import Outcome
from streams.folds.rows import Input
from streams.folds.rules import Rules
from streams.generations.snapshot import SAID
from streams.pipeline.decode import Given, decode_again

CHUNK = 512
COLUMNS = ("line", *PLACE.split(", "))
EXPORTED = "exported"
UNMATCHED = "unmatched_tool_result"
REASON = DeadLetter.__struct_fields__.index("reason")
LOCK_SECONDS = 10.0
"""A process whose parent was killed ends itself long before."""


class Reading(NamedTuple):
    """Which rows of the gathered records are to be folded, and by what name the store knows it."""

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
    """Folds the rows, from where the store says it has come to."""
    applier = Applier(store, Rules.of(settings.constants), named(settings.extractor or "none"))
    refold = _Refold(store, tables, applier, progress)
    with refold.committing():
        refold.read(_Records(reading, store), "backfill")


class _Refold(Runner):
    """The file runner, but for the rows of input records: the generation shares their files. Each
    batch makes a file a table and day, and nobody waits for it, so there are fewer."""

    batch_records, batch_seconds = 65_536, 60.0

    def apply(
        self,
        chunk: list[Given],
        recorded_at: int | None = None,
        read: Sequence[Input | None] | None = None,
    ) -> list[Outcome]:
        """They were bounded and searched when they came: nothing is refused for that again."""
        again = [decode_again(line, place) for line, place in chunk]
        known = [record if type(record) is Input else None for record in again]
        return super().apply(chunk, recorded_at, known)

    def _pack(self, rows: dict[str, list[Stored]]) -> None:
        kept = {name: some for name, some in rows.items() if name not in SAID}
        if letters := kept.get(DeadLetter.table):  # the source has its letters of stored results
            kept[DeadLetter.table] = [one for one in letters if one[REASON] != UNMATCHED]
        super()._pack(kept)


class _Records:
    """Gathered records as a source of the file runner; its position counts those folded."""

    def __init__(self, reading: Reading, store: Store) -> None:
        self.topic = reading.topic
        self._file = pq.ParquetFile(reading.file)
        end = self._file.metadata.num_rows if reading.end is None else reading.end
        self._first = reading.first
        self.size = end - reading.first
        known = store.value(f"file/{reading.topic}")
        self.progress = Position(*known).lines if known else 0

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
            given: Any = zip(lines, zip(*place, strict=True), strict=True)
            yield list(given)
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
    """Folds a first pass: one part here, several in a process each; killed, each continues where it
    was. The store then has their rows; in which folders their tables are, is answered."""
    parts = parts_in(work, reading, generation)
    if len(parts) == 1:
        fold_part(*parts[0], generation.settings, progress)
    else:
        _fold_in_processes(parts, generation, progress)
    folders = [folder for folder, _ in parts]
    take_rows(folders, store)
    return folders


def parts_in(work: Path, reading: Reading, generation: Generation) -> list[tuple[Path, Reading]]:
    """Each part's folder and its records."""
    ends = generation.parts
    return [
        (work / f"part-{number}", reading._replace(first=first, end=end))
        for number, (first, end) in enumerate(zip((0, *ends[:-1]), ends, strict=True))
    ]


def _fold_in_processes(
    parts: list[tuple[Path, Reading]], generation: Generation, progress: Progress | None
) -> None:
    spawn = get_context("spawn")
    done: SynchronizedArray[int] = spawn.Array("q", len(parts) + 1)
    pool = ProcessPoolExecutor(len(parts), spawn, _begin, (done, os.getpid()))
    try:
        running = [
            pool.submit(_fold_numbered, number, *part, generation.settings)
            for number, part in enumerate(parts)
        ]
        whole = generation.parts[-1]
        _watch(running, lambda: sum(done[: len(parts)]), whole, generation.name, progress)
    except BaseException as error:
        done[len(parts)] = 1  # an end for those that still fold
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
    whole: int,
    name: str,
    progress: Progress | None,
) -> None:
    left = set(running)
    while left:
        ended, left = wait(left, 0.2, "FIRST_COMPLETED")
        for one in ended:
            one.result()
        if progress:
            progress(name, folded(), whole, folded())


_done: Any = None


def _begin(done: Any, parent: int) -> None:
    global _done
    _done = done
    signal(SIGINT, SIG_IGN)  # the parent has it, too, and tells us
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """Ends this process when its parent has given up or was killed: as safe as a kill."""
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
    """Folds one part in this process, from where it has come to; its counts."""
    part.mkdir(exist_ok=True)
    _wait_for(part)
    with writing(part) as (store, tables):
        fold(reading, settings, store, tables, progress)
        store.export(part / EXPORTED)
        return dict(store.value("counts") or {})


def _wait_for(part: Path) -> None:
    """Until the process of a killed backfill has seen that it is alone."""
    deadline = time.monotonic() + LOCK_SECONDS
    while time.monotonic() < deadline:
        try:
            with writing(part):
                return
        except ConfigurationError:
            time.sleep(0.1)


def take_rows(parts: list[Path], store: Store) -> None:
    """The parts' rows as the store's; called again after a kill it does the same."""
    counts: Counter[str] = Counter()
    for part in parts:
        with writing(part) as (folded, _):
            counts.update(folded.value("counts") or {})
        store.ingest(sorted((part / EXPORTED).glob("*.sst")))
    store.write_values({"counts": dict(counts)})
