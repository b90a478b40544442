"""The file runner: both hops of the topology in one process, files in, Delta tables out."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sinks.delta import History
from sinks.locations import location_of
from streams.errors import UsageError
from streams.extractors.naming import Extractor
from streams.files import sources
from streams.files.access import writing
from streams.files.applier import Applier
from streams.files.manifest import rules_of
from streams.files.runner import Progress, Runner
from streams.files.sources import Position, Source, Truncated, TruncatedError
from streams.files.store import Store
from streams.pipeline.decode import Decode, decode
from streams.pipeline.processor import EXTRACTED, LATE, SETTLED, WAITING
from streams.pipeline.retention import retention_of

OUTCOMES = ("applied", "duplicate", "dead", "withheld")
LATER = (WAITING, SETTLED, LATE)
"""Counts of records that other records decide about."""


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
    """Folds files of input records into the history; returns the counts, and how many
    plans an extractor made; `unfinished` names files whose last line breaks off, and after
    how many bytes; `read_before` counts the lines that earlier runs have read. `choose` says which,
    once no other generation can go live.
    `retention_days`: so long after its last update a session is stored cold; None and 0: never.
    `decoder`: how the lines of a file are read; asked of every file before anything is touched.
    `borrow`: a server is asked for the history, if one has it.

    Raises TurnfoldError: 2 for another retention, 3 for a folder that is not a history, 4 for a
    truncated file.
    """
    sources.check(files)
    retention = _retention(retention_days)
    decoders = {path: decoder(path) for path in files}
    with writing(location_of(history), borrow=borrow) as (store, tables):
        chosen = choose()
        applier = Applier(store, rules_of(tables.at), chosen)
        return FileRunner(store, tables, applier, progress, retention).run(files, decoders)


def _retention(days: float | None) -> int | None:
    try:
        return retention_of(days)
    except ValueError as error:
        raise UsageError(str(error)) from None


class FileRunner(Runner):
    """Folds whole files, each on from where it ended before."""

    def __init__(
        self,
        store: Store,
        tables: History,
        applier: Applier,
        progress: Progress | None,
        retention: int | None,
    ) -> None:
        super().__init__(store, tables, applier, progress, retention)
        self.unfinished: dict[str, int] = {}  # bytes of a file's last line that are no record yet
        self.read_before = 0  # lines of the files

    def run(self, files: list[str], decoders: Mapping[str, Decode]) -> dict[str, Any]:
        """Reads files on from where they ended; returns the counts."""
        began = time.monotonic()
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
        counts = self._counts(time.monotonic() - began)
        if truncated:
            raise Truncated("kept", truncated, counts)
        return counts

    def _read(self, path: str) -> None:
        topic = str(Path(path).resolve())
        known = self.positions.get(topic) or self.store.value(f"file/{topic}")
        source = Source(path, Position(*known) if known else None)
        self.read(source, path)
        self.read_before += source.read_before
        if source.unfinished:
            self.unfinished[path] = source.unfinished

    def _cool_all(self) -> None:
        """What is past its retention now that all is read."""
        self.commit()
        self.settle()
        while not self.cool():
            self.commit()

    def _counts(self, seconds: float) -> dict[str, Any]:
        """The counts of this run; `read = applied + duplicate + dead + withheld + skipped`."""
        counts = self.applier.counts
        touched = {name: len(seen) for name, seen in self.applier.touched.items()}
        return {
            "read": counts["read"],
            **{name: counts[name] for name in OUTCOMES},
            **{name: counts[name] for name in ("skipped", *LATER) if counts[name]},
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
