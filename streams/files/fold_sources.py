"""Folds sources into the store and tables of a generation in batches.

A thread commits one batch (`streams.files.commit`) while the next one is folded.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Protocol

from sinks.delta import History
from sinks.history_root import HistoryWriteError
from sinks.tables import to_arrow
from streams.files.commit import Batches, Packed
from streams.files.fold_batch import Applier, Stored
from streams.files.inbox import RECORDED
from streams.files.sources import Position
from streams.files.store import Changes, Store
from streams.folds.effects import Input
from streams.folds.outcome import Outcome
from streams.folds.session_state import HEADER, visible
from streams.pipeline.decode import Given
from streams.pipeline.retention import is_past, updated_at_of

BATCH_RECORDS = 16_384
PACK_RECORDS = 512
BATCH_BYTES = 32_000_000
BATCH_ENTITIES = 10_000  # sessions and users with rows to be written, twice 7 KB each
BATCH_SECONDS = 10.0
LOOKED_AT = 2_000  # sessions that a pass looks at in one batch

Progress = Callable[[str, int, int, int], None]  # path, bytes read, bytes in all, records


class Readable(Protocol):
    """Source of records: `streams.files.sources.Source`, or a history being replayed."""

    topic: str
    size: int

    @property
    def position(self) -> Position | None: ...

    @property
    def progress(self) -> int: ...

    def chunks(self) -> Iterator[list[Given]]: ...


class Runner:
    """Folds sources into the store and tables in batches. `retention` in microseconds: sessions
    that were last updated so long ago are stored cold (None: never)."""

    batch_records, batch_seconds = BATCH_RECORDS, BATCH_SECONDS

    def __init__(
        self,
        store: Store,
        tables: History,
        applier: Applier,
        progress: Progress | None,
        retention: int | None = None,
    ) -> None:
        self.store = store
        self.tables = tables
        self.applier = applier
        self.progress = progress
        self.retention = retention
        self.positions: dict[str, Position] = {}
        self.recorded_at: int | None = None
        self.total: Counter[str] = Counter(store.value("counts") or {})
        self.batches = Batches(store, tables)
        self.writer = ThreadPoolExecutor(1, "writer")
        self.pending: Future[None] | None = None
        self.cooled = 0
        self._cooling_after = ""
        self.packed: Packed = {}
        self.unpacked = 0
        self.batch = 0
        self.batch_bytes = 0
        self.batch_began = 0.0

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Runs the writing thread; commits the last batch at the end."""
        with self.writer:
            yield
            self.commit()
            self.settle()

    def read(self, source: Readable, name: str) -> None:
        """Folds the source in batches; the last batch stays open for more.

        `name` is the source's name for `progress`.
        """
        topic = source.topic
        self.batch_began = self.batch_began or time.monotonic()
        try:
            for chunk in source.chunks():
                self.apply(chunk)
                if self.is_full:
                    self._note(topic, source.position)
                    self.commit()
                if self.progress:
                    records = self.applier.counts["read"]
                    self.progress(name, source.progress, source.size, records)
        finally:
            self._note(topic, source.position)

    def _note(self, topic: str, position: Position | None) -> None:
        if position is not None:
            self.positions[topic] = position

    def apply(
        self,
        chunk: list[Given],
        recorded_at: int | None = None,
        inputs: Sequence[Input | None] | None = None,
    ) -> list[Outcome]:
        """Folds records into the next batch; returns their outcomes, final when it is committed."""
        outcomes = self.applier.apply(chunk, recorded_at, inputs)
        self.recorded_at = recorded_at
        self.batch += len(chunk)
        self.batch_bytes += sum([len(line) for line, _ in chunk])
        self.unpacked += len(chunk)
        if self.unpacked >= PACK_RECORDS:
            self._pack(self.applier.take_rows())
        return outcomes

    @property
    def is_full(self) -> bool:
        """Whether the batch should be committed now."""
        return (
            self.batch >= self.batch_records
            or self.store.changed >= BATCH_ENTITIES
            or self.batch_bytes >= BATCH_BYTES
            or time.monotonic() - self.batch_began >= self.batch_seconds
        )

    def cool(self, limit: int = LOOKED_AT) -> bool:
        """Checks the next `limit` open sessions; the next commit stores those past their retention
        cold. Returns whether all were checked; the next call starts again.

        Uses the clock, which records cannot influence: cold storage does not change memory.
        """
        if self.retention is None:
            return True
        horizon = time.time_ns() // 1000 - self.retention
        heads = self.store.heads("sessions", self._cooling_after)
        for self._cooling_after, location, header in islice(heads, limit):
            if is_past(updated_at_of(header), horizon):
                entity = self.store.entity("sessions", *location)
                if is_past(visible(entity, entity[HEADER], self.applier.rules).updated_at, horizon):
                    self.store.cool(entity)
                    self.cooled += 1
        if next(heads, None) is not None:
            return False
        self._cooling_after = ""
        return True

    def _pack(self, rows: dict[str, list[Stored]]) -> None:
        """Converts rows into columns, which take a tenth of the memory."""
        self.unpacked = 0
        for name, table_rows in rows.items():
            self.packed.setdefault(name, []).append(to_arrow(name, table_rows))

    def commit(self) -> None:
        """Passes one batch to the writing thread, after the previous one is written."""
        self.settle()
        self._pack(self.applier.take_rows())
        for documents in self.applier.take_documents(PACK_RECORDS):
            self._pack(documents)
        packed, self.packed = self.packed, {}
        changes = self.store.prepare(
            {
                **{f"file/{topic}": list(position) for topic, position in self.positions.items()},
                "counts": dict(self.total + self.applier.counts),
                **self.applier.take_marks(),
                **({} if self.recorded_at is None else {RECORDED: self.recorded_at}),
            }
        )
        self.pending = self.writer.submit(self._write, packed, changes)
        self.positions.clear()
        self.batch, self.batch_bytes, self.batch_began = 0, 0, time.monotonic()

    def _write(self, packed: Packed, changes: Changes) -> None:
        self.batches.commit(packed, changes)

    def settle(self) -> None:
        """Waits until the batch is written. Raises HistoryWriteError, StoreError: then this runner
        cannot continue, and a new one starts from the store."""
        if self.pending is None:
            return
        try:
            self.pending.result()
        except HistoryWriteError:
            with suppress(Exception):  # if it fails, the next run finds the note
                self.batches.take_back()
            raise
        self.pending = None
        self.store.written()
