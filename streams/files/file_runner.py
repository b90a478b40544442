"""File runner: both hops of the topology in one process, from files to Delta tables."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sinks.delta import History
from sinks.locations import location_of
from streams.errors import UsageError
from streams.extractors.registry import Extractor
from streams.files import sources
from streams.files.fold_batch import Applier
from streams.files.fold_sources import Progress, Runner
from streams.files.manifest import rules_of
from streams.files.open_generation import writing
from streams.files.retraction_guard import guarded
from streams.files.sources import Position, Source, Truncated, TruncatedError
from streams.files.store import Store
from streams.pipeline.decode import Decode, decode
from streams.pipeline.processor import EXTRACTED, LATE, SETTLED, WAITING
from streams.pipeline.retention import retention_of

OUTCOMES = ("applied", "duplicate", "dead", "withheld")
PENDING_COUNTS = (WAITING, SETTLED, LATE)
"""Counts of records that depend on later records."""


def run(
    files: list[str],
    history: str | Path,
    *,
    choose: Callable[[], Extractor | None] = lambda: None,
    retention_days: float | None = None,
    progress: Progress | None = None,
    borrow: bool = False,
    decoder: Callable[[str], Decode] = lambda file: decode,
) -> dict[str, Any]:
    """Folds files of input records into the history; returns counts, including plans of the
    extractor; `unfinished`: file -> bytes of its incomplete last line; `read_before`: lines that
    earlier runs read. `choose` returns the extractor, under the history's lock. `retention_days`:
    time after its last update when a session is stored cold (None or 0: never). `decoder`: returns
    the decoder of a file's lines; called for all files before any change. `borrow`: requests the
    history's lock from a server.

    Raises TurnfoldError: 2 for another retention, 3 for a folder that is not a history, 4 for a
    truncated file.
    """
    sources.check(files)
    retention = _retention(retention_days)
    decoders = {path: decoder(path) for path in files}
    with writing(location_of(history), borrow=borrow) as (store, tables):
        extractor = choose()
        applier = Applier(store, rules_of(tables.at), *guarded(tables.at, store, extractor))
        return FileRunner(store, tables, applier, progress, retention).run(files, decoders)


def _retention(days: float | None) -> int | None:
    try:
        return retention_of(days)
    except ValueError as error:
        raise UsageError(str(error)) from None


class FileRunner(Runner):
    """Folds complete files, each from its last position on."""

    def __init__(
        self,
        store: Store,
        tables: History,
        applier: Applier,
        progress: Progress | None,
        retention: int | None,
    ) -> None:
        super().__init__(store, tables, applier, progress, retention)
        self.unfinished: dict[str, int] = {}  # path -> bytes of an incomplete last line
        self.read_before = 0  # lines of the files

    def run(self, files: list[str], decoders: Mapping[str, Decode]) -> dict[str, Any]:
        """Reads files from their last positions on; returns the counts."""
        start = time.monotonic()
        truncated: list[str] = []
        with self.committing():
            for path in files:
                self.applier.decode = decoders[path]
                try:
                    self._read(path)
                except TruncatedError as error:
                    truncated.append(str(error))
            if self.retention is not None:
                self._cool_all()
        counts = self._counts(time.monotonic() - start)
        if truncated:
            raise Truncated("kept", truncated, counts)
        return counts

    def _read(self, path: str) -> None:
        topic = str(Path(path).resolve())
        position = self.positions.get(topic) or self.store.value(f"file/{topic}")
        source = Source(path, Position(*position) if position else None)
        self.read(source, path)
        self.read_before += source.read_before
        if source.unfinished:
            self.unfinished[path] = source.unfinished

    def _cool_all(self) -> None:
        """Stores all sessions cold that are past their retention."""
        self.commit()
        self.settle()
        while not self.cool():
            self.commit()

    def _counts(self, seconds: float) -> dict[str, Any]:
        """The counts of this run; `read = applied + duplicate + dead + withheld + skipped`."""
        counts = self.applier.counts
        touched = {name: len(entities) for name, entities in self.applier.touched.items()}
        return {
            "read": counts["read"],
            **{name: counts[name] for name in OUTCOMES},
            **{name: counts[name] for name in ("skipped", *PENDING_COUNTS) if counts[name]},
            "sessions": touched["sessions"],
            "tasks": touched["tasks"],
            "users": touched["users"],
            "states": touched["states"],
            "revisions": counts["revisions"],
            "seconds": round(seconds, 3),
            **({} if self.retention is None else {"cooled": self.cooled}),
            **{name: count for name, count in counts.items() if name.startswith(EXTRACTED)},
            **({} if self.applier.found is None else {"found": self.applier.found}),
            "plans": self.applier.plans,
            "warnings": dict(sorted(self.applier.warnings.items())),
            **({"read_before": self.read_before} if self.read_before else {}),
            **({"unfinished": self.unfinished} if self.unfinished else {}),
        }
