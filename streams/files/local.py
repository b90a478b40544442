"""The file runner: both hops of the topology in one process, files in, Delta tables out.

Exactly once, by three steps a batch:
1. note in the store at which version each Delta table stands;
2. append the batch's rows to the tables, one commit each;
3. write the fold's tables, the files' positions and the counters to the store, and drop the note.
A thread does this while the next batch is folded; one batch at a time.
A run that finds a note was killed between 1 and 3: it takes the tables back to the noted versions
and goes on from the store, which knows nothing of that batch (docs/decisions.md says why back and
not forward).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa
from rocksdict import WriteBatch

from sinks import locks
from sinks.delta import History
from sinks.generation import FOLDER, LIVE, find
from sinks.root import HistoryWriteError, open_root
from sinks.tables import to_arrow
from streams import gc_policy
from streams.errors import ConfigurationError, TurnfoldError, UsageError
from streams.extractors.naming import Extract
from streams.files import sources
from streams.files.applier import Applier
from streams.files.manifest import rules_of
from streams.files.sources import Position, Source, TruncatedError
from streams.files.store import Store
from streams.folds.outcome import Outcome
from streams.folds.rows import Input
from streams.folds.session_state import visible
from streams.pipeline.decode import Given
from streams.pipeline.document_rows import Row
from streams.pipeline.entity import ROW_FORMAT
from streams.pipeline.processor import EXTRACTED
from streams.pipeline.retention import is_past, retention_of, updated_at_of

BATCH_RECORDS = 16_384
PACK_RECORDS = 512
BATCH_BYTES = 32_000_000
BATCH_ENTITIES = 10_000  # sessions and users whose rows wait to be written, twice 7 KB each
BATCH_SECONDS = 10.0
LOOKED_AT = 2_000  # sessions that a pass looks at in one batch
FORGET_LOCK = "_forget.lock"
OUTCOMES = ("applied", "duplicate", "dead", "withheld")

Progress = Callable[[str, int, int, int], None]  # path, bytes read, bytes in all, records


class Readable(Protocol):
    """Where records come from: `streams.files.sources.Source`, or a history being replayed."""

    topic: str
    size: int

    @property
    def position(self) -> Position | None: ...

    @property
    def progress(self) -> int: ...

    def chunks(self) -> Iterator[list[Given]]: ...


class Truncated(TurnfoldError):  # noqa: N818 - what the file is
    """A file cannot be read to its end; what came before is in the history."""

    exit_code = 4

    def __init__(self, where: str, counts: dict[str, Any]) -> None:
        what = "the file ends too early, or is damaged; what came before is kept"
        super().__init__(f"{what}: {where}")
        self.counts = counts


def run(
    files: list[str],
    history: str | Path,
    *,
    choose: Callable[[], Extract | None] = lambda: None,
    retention_days: float | None = None,
    progress: Progress | None = None,
    borrow: bool = False,
) -> dict[str, Any]:
    """Folds files of input records into the history; returns the counts, and how many
    plans an extractor made; `unfinished` names files whose last line breaks off, and after
    how many bytes. `choose` says which, once no other generation can go live.
    `retention_days`: so long after its last update a session is stored cold; None and 0: never.
    `borrow`: a server is asked for the history, if one has it.

    Raises TurnfoldError: 2 for another retention, 3 for a folder that is not a history, 4 for a
    truncated file.
    """
    sources.check(files)
    retention = _retention(retention_days)
    root = Path(history)
    with writing(root, borrow=borrow) as (store, tables):
        applier = Applier(store, choose(), rules_of(Path(tables.root)))
        return Runner(store, tables, applier, progress, retention).run(files)


def _retention(days: float | None) -> int | None:
    try:
        return retention_of(days)
    except ValueError as error:
        raise UsageError(str(error)) from None


@contextmanager
def writing(
    root: Path, *, borrow: bool = False, any_format: bool = False
) -> Iterator[tuple[Store, History]]:
    """The tables and store of a history's live generation, for one writer at a time.

    Which one is live is looked up under the lock: `promote` holds it, too. `any_format`: rows of
    another version are no obstacle, for none is read or written.
    """
    open_root(root)
    with locked(root, borrow=borrow), opened(find(root, LIVE), any_format=any_format) as both:
        yield both


@contextmanager
def locked(root: Path, *, borrow: bool = False) -> Iterator[None]:
    """The lock of a history's one writer; `serve` lends it to who would `borrow` it. Raises
    ConfigurationError where it is taken."""
    refusal = ConfigurationError(
        f"{root}: another turnfold is writing this history; post to it if it is `turnfold "
        "serve`, stop it if it is a worker's sink, else wait for it to end"
    )
    with ExitStack() as stack:
        try:
            lock = locks.borrowed if borrow else locks.held
            stack.enter_context(lock(root if borrow else locks.of_history(root), refusal))
        except OSError as error:  # a file system that is read-only, a folder that is another's
            raise HistoryWriteError(f"{root}: {error.strerror or error}") from error
        yield


@contextmanager
def erasing(root: Path, *, alone: bool) -> Iterator[None]:
    """`forget` has this lock alone, `backfill` shares it: what the one erases is not to be found
    among what the other has gathered. Raises ConfigurationError where it is taken."""
    other = "backfill" if alone else "forget"
    refusal = f"{root}: another turnfold is writing this history (`{other}`); wait for its end"
    with locks.held(root / FORGET_LOCK, ConfigurationError(refusal), shared=not alone):
        yield


@contextmanager
def opened(folder: Path, *, any_format: bool = False) -> Iterator[tuple[Store, History]]:
    """A generation's tables and store, for who holds the lock. Raises ConfigurationError where this
    version cannot go on with it."""
    rules_of(folder)  # before anything is touched
    tables = History(folder)
    path = folder / "_store"
    if not path.exists() and tables.delta_versions():
        raise ConfigurationError(
            f"{path} is missing, so the history cannot be continued without doubling rows; "
            "run into a new folder"
        )
    store = Store(path)
    try:
        if not any_format:
            _check_format(store, path)
        _repair(store, tables)
        with gc_policy.paused(), tables:
            yield store, tables
    finally:
        store.close()


def _check_format(store: Store, path: Path) -> None:
    """Refuses the rows of a version whose folds kept them otherwise."""
    known = store.value("format")
    if known is None and store.value("writer") is None:
        store.write_values({"format": ROW_FORMAT})
    elif known != ROW_FORMAT:
        raise ConfigurationError(
            f"{path}: the fold's tables have format {known or 1}, this version writes "
            f"{ROW_FORMAT}; {_way_out(path.parent)}"
        )


def _way_out(folder: Path) -> str:
    if folder.parent.name == FOLDER:
        return (
            f"drop it (turnfold generations drop {folder.name} --history {folder.parent.parent}) "
            "and make it again"
        )
    return (
        f"make a generation of its log (turnfold backfill --generation NEW --history {folder}) "
        "and promote it, or fold the same files into a new folder"
    )


def _repair(store: Store, tables: History) -> None:
    """Takes back the batch that a killed run left half-written."""
    noted = store.value("writing")
    if noted is not None:
        tables.restore(noted)
        store.write_values({"writing": None, "writer": str(uuid4())})
    elif store.value("writer") is None:
        store.write_values({"writer": str(uuid4())})


class Runner:
    """Folds sources into the store and the tables, a batch at a time. `retention` in microseconds:
    sessions that were last updated so long ago are stored cold; None: none is."""

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
        self.total: Counter[str] = Counter(store.value("counts") or {})
        self.number: int = store.value("batch") or 0
        self.app_id: str = store.value("writer")
        self.writer = ThreadPoolExecutor(1, "writer")
        self.pending: Future[None] | None = None
        self.unfinished: dict[str, int] = {}  # bytes of a file's last line that are no record yet
        self.cooled = 0
        self._cooling_after = ""
        self.packed: dict[str, list[pa.Table]] = {}
        self.unpacked = 0
        self.batch = 0
        self.batch_bytes = 0
        self.batch_began = 0.0

    def run(self, files: list[str]) -> dict[str, Any]:
        """Reads files on from where they ended; returns the counts."""
        began = time.monotonic()
        truncated: list[str] = []
        with self.committing():
            for path in files:
                try:
                    self._read(path)
                except TruncatedError as error:
                    truncated.append(str(error))
            if self.retention is not None:
                self._cool_all()
        counts = self.counts(time.monotonic() - began)
        if truncated:
            raise Truncated("; ".join(truncated), counts)
        return counts

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Writes what was read meanwhile, the last batch too."""
        with self.writer:
            yield
            self.commit()
            self.settle()

    def _read(self, path: str) -> None:
        topic = str(Path(path).resolve())
        known = self.positions.get(topic) or self.store.value(f"file/{topic}")
        source = Source(path, Position(*known) if known else None)
        self.read(source, path)
        if source.unfinished:
            self.unfinished[path] = source.unfinished

    def read(self, source: Readable, shown: str) -> None:
        """Folds what the source has, a batch after the other; the last one waits for more.

        `shown` is its name for `progress`.
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
                    read = self.applier.counts["read"]
                    self.progress(shown, source.progress, source.size, read)
        finally:
            self._note(topic, source.position)

    def _note(self, topic: str, position: Position | None) -> None:
        if position is not None:
            self.positions[topic] = position

    def apply(
        self,
        chunk: list[Given],
        recorded_at: int | None = None,
        read: Sequence[Input | None] | None = None,
    ) -> list[Outcome]:
        """Folds some records into the next batch; what each ended as, once that is committed."""
        outcomes = self.applier.apply(chunk, recorded_at, read)
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

    def _cool_all(self) -> None:
        """What is past its retention now that all is read."""
        self.commit()
        self.settle()
        while not self.cool():
            self.commit()

    def cool(self, most: int = LOOKED_AT) -> bool:
        """Looks at so many more of the open sessions; the next commit stores those cold that are
        past their retention. Whether it has looked at all, and begins anew.

        By the clock, which no record can move: where rows lie is not memory.
        """
        if self.retention is None:
            return True
        horizon = time.time_ns() // 1000 - self.retention
        heads = self.store.heads("sessions", self._cooling_after)
        for self._cooling_after, where, header in islice(heads, most):
            if is_past(updated_at_of(header), horizon):
                entity = self.store.entity("sessions", *where)
                if is_past(
                    visible(entity, entity.get("h"), self.applier.rules).updated_at, horizon
                ):
                    self.store.cool(entity)
                    self.cooled += 1
        if next(heads, None) is not None:
            return False
        self._cooling_after = ""
        return True

    def _pack(self, rows: dict[str, list[Row]]) -> None:
        """Rows as columns: a tenth of the memory, and what comes next finds its cache warm."""
        self.unpacked = 0
        for name, some in rows.items():
            self.packed.setdefault(name, []).append(to_arrow(name, some))

    def commit(self) -> None:
        """Hands one batch to the writing thread, once it has written the one before."""
        self.settle()
        self._pack(self.applier.take_rows())
        for documents in self.applier.take_documents(PACK_RECORDS):
            self._pack(documents)
        packed, self.packed = self.packed, {}
        self.number += 1
        prepared = self.store.prepare(
            {
                **{f"file/{topic}": list(at) for topic, at in self.positions.items()},
                "counts": dict(self.total + self.applier.counts),
                "batch": self.number,
                "writing": None,
            }
        )
        self.pending = self.writer.submit(self._write, packed, prepared, self.number)
        self.positions.clear()
        self.batch, self.batch_bytes, self.batch_began = 0, 0, time.monotonic()

    def _write(self, packed: dict[str, list[pa.Table]], prepared: WriteBatch, number: int) -> None:
        """One batch: note, tables, store."""
        if packed:
            self.store.write_values({"writing": self.tables.delta_versions()})
            while packed:  # each table's pieces go as soon as they are one
                name = next(iter(packed))
                rows = pa.concat_tables(packed.pop(name)).combine_chunks()
                self.tables.append(name, rows, self.app_id, number)
        self.store.write(prepared)

    def settle(self) -> None:
        """Waits until what was handed over is written. Raises HistoryWriteError, StoreError: then
        this runner has ended, and another goes on from the store."""
        if self.pending is None:
            return
        try:
            self.pending.result()
        except HistoryWriteError:
            with suppress(Exception):  # else the next run finds the note, and nothing is lost
                _repair(self.store, self.tables)
            raise
        self.pending = None
        self.store.written()

    def counts(self, seconds: float) -> dict[str, Any]:
        """The counts of this run; `read = applied + duplicate + dead + withheld`."""
        counts = self.applier.counts
        touched = {name: len(seen) for name, seen in self.applier.touched.items()}
        return {
            "read": counts["read"],
            **{name: counts[name] for name in OUTCOMES},
            "sessions": touched["sessions"],
            "tasks": touched["tasks"],
            "users": touched["users"],
            "states": touched["states"],
            "revisions": counts["revisions"],
            "seconds": round(seconds, 3),
            **({} if self.retention is None else {"cooled": self.cooled}),
            **{name: count for name, count in counts.items() if name.startswith(EXTRACTED)},
            "warnings": dict(sorted(self.applier.warnings.items())),
            **({"unfinished": self.unfinished} if self.unfinished else {}),
        }
