"""The thread that folds the log of a served history, and commits it.

Folds are pure, so a record's outcome is final as soon as it is folded, and its sender is answered
then. Tables and store follow in batches, about one per second; after a kill or a full disk the same
records are folded again from the log, with the same result.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from sinks import locks
from sinks.delta import History
from sinks.disk import trouble
from sinks.history_root import HistoryError
from streams import gc_policy
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.registry import MODEL
from streams.files.commit import Packed
from streams.files.extractor_choice import update_choice
from streams.files.fold_batch import Applier
from streams.files.fold_sources import Runner
from streams.files.inbox import TOPIC, Group, Inbox
from streams.files.inbox_recovery import (
    EXTRACTOR,
    applier_of,
    committed_of,
    inbox_of,
    with_positions,
)
from streams.files.open_generation import writing
from streams.files.sources import Position
from streams.files.store import Changes, Store
from streams.folds.outcome import Outcome
from streams.observability.metrics import UPTO_MINUTES, Histogram
from streams.pipeline.entity import Entity, Where

if TYPE_CHECKING:
    from streams.serving.backends.embedded import EmbeddedBackend

log = logging.getLogger(__name__)

EVERY, HURRIED = 1.0, 0.2
"""Seconds between commits of changes, and if a reader waits for one."""
TICK = 0.1
"""Seconds until another process's request for the history is noticed."""
PIECE = 512
"""Records that are folded before their senders hear of it."""
AGAIN = 1.0
"""Seconds until it is tried again to go on, after an error."""
FAILED = "the history cannot be read or written now; the server's log says why"
"""To whom has no key: no path, no more."""
LENT = "another command has the history for a moment"
DAY_SECONDS = 86_400
LOOKED_AT = 200
"""Sessions that a pass looks at with one commit: who has posted waits for it."""
MERGE_COMMITS = 64
"""So many commits leave as many small files in a table: then they are made one."""


class _Runner(Runner):
    """The file runner; it merges small files now and then."""

    def _write(self, packed: Packed, changes: Changes) -> None:
        super()._write(packed, changes)
        if self.store.value("batch") % MERGE_COMMITS == 0:
            self.batches.merge_small()


class IngestThread:
    """Folds a history's log until it is ended; `fold` is the thread's function."""

    def __init__(
        self,
        root: Path,
        listener: "EmbeddedBackend",
        extractor: str | None,
        retention: int | None = None,
    ) -> None:
        self.root = root
        self.inbox: Inbox | None = None
        self.groups: SimpleQueue[Group] = SimpleQueue()
        """What the log took, in its order: it need not be read from disk again."""
        self.ending = False
        self.hurried = False
        """Whether a reader waits until the tables contain the folded records."""
        self.committed_to = 0
        """The offset up to which the tables have the log."""
        self.asks_model = False
        """Whether a model, if chosen, runs in another thread."""
        self.extractor: str | None = None
        """What finds memory in turns; without a model's settings not the model, though chosen."""
        self.commit_seconds = Histogram(UPTO_MINUTES)
        """How long the writing of each batch took."""
        self.is_open = False
        """Whether the records of the log are being folded."""
        self._told = listener
        self._extractor = extractor
        self._said = ""
        self._retention = retention
        self._cooled_on = 0  # the day on which the last pass over the sessions ended
        self._at = 0
        self._committing = 0
        self._last_commit = 0.0
        self._next_look = 0.0
        self._trouble = ""
        self._asked = False
        self._shown = 0
        self._again: dict[Where, Entity] = {}

    @property
    def folded_to(self) -> int:
        return self._at

    def fold(self, started: Callable[[BaseException | None], None]) -> None:
        """Runs until `ending`. `started` is called once: with None when the history is open, or
        with the error."""
        is_open = False

        def ready() -> None:
            nonlocal is_open
            if not is_open:
                is_open = True
                started(None)

        while not self.ending:
            try:
                with writing(self.root) as (store, tables):
                    gc_policy.resume()
                    extractor = self._settle()
                    if store.value(EXTRACTOR) != extractor:
                        store.write_values({EXTRACTOR: extractor})
                    applier = applier_of(self.root, store, extractor)
                    self._follow(self._runner(store, tables, applier), ready)
            except BaseException as error:
                if not is_open:
                    return started(error)
                self._told.closed(FAILED, lent=isinstance(error, ConfigurationError))
                if not isinstance(error, TurnfoldError | HistoryError):
                    log.exception("%s: folding failed; trying again", self.root)
                elif (why := trouble(error) or str(error)) != self._trouble:
                    log.warning("%s; trying again, and says so once", error)
                    self._trouble = why
                self._pause(AGAIN)
            if self._is_asked():
                self._told.closed(LENT, lent=True)  # after an error it was kept to be read
            while self._is_asked() and not self.ending:
                time.sleep(TICK / 2)
        return None

    def _settle(self) -> str:
        """The extractor; the server's option is valid until another generation goes live."""
        choice = update_choice(self.root, self._extractor, self._say)
        self._extractor = None
        self.extractor = choice.name if self.asks_model else choice.in_process
        if choice.name == MODEL and not self.asks_model:
            self._say(
                "memory is made by rules alone: this server was not told which model to ask "
                "(OPENAI_API_KEY, or TURNFOLD_LLM_…); set that and start it again"
            )
        return choice.in_process

    def _say(self, text: str) -> None:
        """Logs a text once: the history is opened again after each command that uses it."""
        if text != self._said:
            log.info("%s", text)
        self._said = text

    def _runner(self, store: Store, tables: History, applier: Applier) -> _Runner:
        return _Runner(store, tables, applier, None, self._retention)

    def _follow(self, runner: Runner, ready: Callable[[], None]) -> None:
        """Folds until the end, or until another process requests the history."""
        self._at = self.committed_to = committed_of(runner.store)
        if self.inbox is None:
            self.inbox = inbox_of(self.root, runner.store)
        why, lent = LENT, True
        self._again.clear()
        try:
            with runner.committing():
                for group in self.inbox.read(self._at):
                    self._take(runner, group)
                self._told.opened(runner.store)
                self.is_open = True
                ready()
                if self._trouble:
                    log.warning("%s: the history is back; memory is served again", self.root)
                    self._trouble = ""
                self._go_on(runner)
            self._committed(self._at)
        except BaseException:
            why, lent = FAILED, False
            raise
        finally:
            self.is_open = False
            self._told.closed(why, lent)

    def _go_on(self, runner: Runner) -> None:
        """Folds everything that is in the log when the history is requested."""
        assert self.inbox is not None
        while not self.ending and not self._is_asked():
            self._step(runner)
        end = self.inbox.rotate()
        while self._at < end:
            self._step(runner)
        self._told.committing()
        self._note(runner)

    def _step(self, runner: Runner) -> None:
        """Folds one group, if any; commits when it is due."""
        with suppress(Empty):
            self._take(runner, self.groups.get(timeout=TICK))
        if runner.pending is not None and runner.pending.done():
            runner.settle()
            self._committed(self._committing)
        every = HURRIED if self.hurried else EVERY
        due = runner.pending is None and time.monotonic() - self._last_commit >= every
        if runner.batch and due:
            self._commit(runner)

    def _take(self, runner: Runner, group: Group) -> None:
        if group.last <= self._at:  # read from disk after an error
            return
        for start in range(0, len(group.records), PIECE):
            piece = group.part(start, PIECE)
            outcomes, seconds = self._apply(runner, piece)
            self._at = piece.last
            changed = [entity.copy() for entity in self._to_show(runner.store.take_kept())]
            self._told.folded(piece, outcomes, changed, runner.applier.rules, seconds)
            if runner.is_full:
                self._commit(runner)

    def _apply(self, runner: Runner, piece: Group) -> tuple[list[Outcome], dict[str, float]]:
        """Outcomes of the records, and this thread's seconds per tenant."""
        seconds: dict[str, float] = {}
        if piece.tenants is None:
            return runner.apply(with_positions(piece), piece.recorded_at, piece.read), seconds
        outcomes: list[Outcome] = []
        began = time.thread_time()
        for tenant, same in groupby(piece.tenants):
            run = piece.part(len(outcomes), len(list(same)))
            outcomes += runner.apply(with_positions(run), run.recorded_at, run.read)
            ended = time.thread_time()
            seconds[tenant] = seconds.get(tenant, 0.0) + ended - began
            began = ended
        return outcomes, seconds

    def _to_show(self, entities: list[Entity]) -> list[Entity]:
        """Entities that readers may see now. Records folded again after an error were visible in
        their final state: they are shown again when that is reached."""
        self._again |= {entity.where: entity for entity in entities}
        if self._at < self._shown:
            return []
        self._shown = self._at
        visible, self._again = list(self._again.values()), {}
        return visible

    def _commit(self, runner: Runner) -> None:
        """Hands the batch to the writing thread, after the previous batch is written."""
        assert self.inbox is not None
        self.hurried = False
        if runner.pending is not None:
            runner.settle()
            self._committed(self._committing)
        self.inbox.rotate()
        self._told.committing()
        self._note(runner)
        self._cool(runner)
        runner.commit()
        self._committing = self._at
        self._last_commit = began = time.monotonic()
        if runner.pending is not None:
            runner.pending.add_done_callback(
                lambda _: self.commit_seconds.observe(time.monotonic() - began)
            )
        runner.applier.forget_touched()  # no run's counts: they would grow forever

    def _cool(self, runner: Runner) -> None:
        """Handles sessions past their retention: one pass per day, some sessions per commit."""
        today = int(time.time() // DAY_SECONDS)
        if today != self._cooled_on and runner.cool(LOOKED_AT):
            self._cooled_on = today

    def _note(self, runner: Runner) -> None:
        runner.positions[TOPIC] = Position(0, self._at)

    def _committed(self, upto: int) -> None:
        assert self.inbox is not None
        self.inbox.drop(upto)
        self.committed_to = upto
        self._told.committed()

    def _is_asked(self) -> bool:
        now = time.monotonic()
        if now >= self._next_look:
            self._asked = locks.is_taken(locks.request_lock(self.root))
            self._next_look = now + TICK
        return self._asked

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.ending and not self._is_asked() and time.monotonic() < until:
            time.sleep(TICK / 2)
