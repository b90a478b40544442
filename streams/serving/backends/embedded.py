"""Serves a history on this machine: reads from its store, writes through its log.

Three threads: the event loop; one appends the gathered posts to the log; one folds it
(`fold_thread`). Readers get rows from disk, or copies of folded rows that are not written yet; both
belong to the event loop.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from sinks import locks
from sinks.history_root import open_root
from streams.apps.erasure_queue import Erasures
from streams.errors import ConfigurationError
from streams.files.inbox import FOLDER, Group
from streams.files.store import Store
from streams.folds.constants import Rules
from streams.folds.effects import Input
from streams.folds.outcome import Outcome
from streams.folds.session_state import speakers_in
from streams.observability.readiness import COMMIT, Advance, Readiness
from streams.pipeline.entity import Entity
from streams.pipeline.interfaces import StoreError
from streams.serving.backends.backend import (
    BEHIND,
    Backend,
    Busy,
    EntityRows,
    NotReady,
    Subject,
    Table,
    Work,
)
from streams.serving.backends.change_waiters import Where
from streams.serving.backends.fold_thread import FAILED, LENT, IngestThread
from streams.serving.backends.live_generation import NO_HISTORY, UNREADABLE, Live, promoted
from streams.serving.backends.read_cache import LastRead
from streams.serving.backends.stats import FoldCounts, Observed
from streams.serving.backends.write_queue import Posted, PostedLog

if TYPE_CHECKING:
    from streams.llm.settings import LlmSettings
    from streams.serving.backends.model_writes import PostedByModel

log = logging.getLogger(__name__)

WAITING_RECORDS = 20_000
WAITING_BYTES = 64_000_000
"""Maximum per tenant; for all together `SHARES` times as much."""
SHARES = 4
LOGGED_WITHIN = 5.0
"""Seconds until a post is in the log or is rejected, if its tenant has many before it."""
LENT_WITHIN = 5.0
"""Seconds that a write which needs to be read first waits for a history that is lent."""
LOOK_EVERY = 0.02
"""Seconds between two looks at whether rows are written."""
LOOP_WITHIN = 5.0
"""Seconds in which the event loop lets go of a store that is about to be closed."""


class WaitingRecords(NamedTuple):
    """A tenant's posted records that are not folded yet."""

    records: int
    bytes: int

    def and_of(self, posted: Posted) -> "WaitingRecords":
        return WaitingRecords(self.records + len(posted.records), self.bytes + posted.bytes)

    def is_beyond(self, shares: int) -> bool:
        """Whether it exceeds the share of so many tenants."""
        return self.records > shares * WAITING_RECORDS or self.bytes > shares * WAITING_BYTES


NONE_WAITING = WaitingRecords(0, 0)


class EmbeddedBackend(Backend):
    """Answers while it is entered. It is the history's only writer, as
    `run` is, but lends the history to `generation promote`, `forget` and `admin compact` while
    they run."""

    def __init__(
        self,
        root: Path,
        extractor: str | None = None,
        retention: int | None = None,
        model: "LlmSettings | None" = None,
        *,
        beside: bool = True,
    ) -> None:
        """`extractor`: from now on (None: the stored choice). `retention` in microseconds, as in
        `streams.files.fold_sources.Runner`. `model`: settings of the model, if the extractor is
        one; without them only the rules extract. `beside`: run the model in a thread; otherwise the
        caller runs it.

        Entering raises ConfigurationError if another writer uses the history.
        """
        self._root = open_root(root)
        super().__init__(self._root)
        self._erasing = self.erasures = Erasures(self._root, lambda: self._store is not None)
        self._counts = FoldCounts()
        self._commits = Advance()
        self._folder = IngestThread(self._root, self, extractor, retention)
        self._model, self._beside = model, beside
        self._posts = PostedLog(self._root, self._folder, self._refused)
        self._held = ExitStack()
        self._threads: list[Thread] = []
        self._failed: asyncio.Future[BaseException]
        self._store: Store | None = None
        self._live = NO_HISTORY
        self._why = "the history is being opened"
        self._closing = False
        self._waiting: dict[str, WaitingRecords] = {}
        self._left: dict[Posted, None] = {}  # their senders no longer wait, in order
        self._folded: dict[
            Where, tuple[EntityRows, int]
        ] = {}  # rows not on disk yet, and their batch
        self._changed: dict[Where, int] = {}  # the same, with the users who spoke in the sessions
        self._batch = 0
        self._since = 0  # the first batch since the store was closed
        self._read = LastRead()  # on disk

    @property
    def extractor(self) -> str | None:
        return self._folder.extractor

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        refusal = (
            f"{self._root}: a `turnfold serve` or `turnfold admin extract` runs on this history; "
            "end it first"
        )
        try:
            (self._root / FOLDER).mkdir(mode=0o700, exist_ok=True)
            self._held.enter_context(
                locks.lock_file(self._root / locks.SERVED, ConfigurationError(refusal), within=0.2)
            )
        except OSError as error:
            raise ConfigurationError(f"{self._root / FOLDER}: {error.strerror or error}") from None
        started: asyncio.Future[None] = self._loop.create_future()
        self._failed = self._loop.create_future()

        def hear(error: BaseException | None) -> None:
            resolve = started.set_result if error is None else started.set_exception
            self._call(resolve, error)

        self._folder.asks_model = self._model is not None
        try:
            self._start("fold", lambda: self._folder.fold(hear))
            await started
            self._start("log", self._posts.run)
            self._erasing.start()
            self._ask_model()
        except BaseException:
            self._folder.ending = True
            self._held.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """All posts are logged, folded and committed, unless the disk is full."""
        await asyncio.to_thread(self._erasing.close)
        if self.model is not None:
            await asyncio.to_thread(self.model.end)
        self._closing = True
        self._posts.end_posts()
        for thread in reversed(self._threads):
            await asyncio.to_thread(thread.join)
            self._folder.ending = True
        self._held.close()

    def _ask_model(self) -> None:
        if self._model is not None and self._beside:
            from streams.llm.background import Beside

            self.model = Beside.server(self._root, self._model, self.posts_by_model())
            self.model.start()

    def posts_by_model(self) -> "PostedByModel":
        """The log, for the model's driver in this or another thread."""
        from streams.serving.backends.model_writes import PostedByModel

        return PostedByModel(self, self._folder)

    def _start(self, name: str, run: Callable[[], None]) -> None:
        def run_to_its_end() -> None:
            try:
                run()
            except BaseException as error:
                log.critical("%s: the thread %r has ended", self._root, name, exc_info=True)
                self._call(self._fail, error)

        thread = Thread(target=run_to_its_end, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _call(self, function: Callable[..., Any], *args: Any) -> None:
        """Calls it on the event loop's thread, soon, in order."""
        self._loop.call_soon_threadsafe(function, *args)

    @property
    def live(self) -> Live:
        """The store's generation. While another command uses the history, queries continue until
        that command switches the generation. Raises NotReady."""
        if self._store is None and not self._is_promoted():
            raise NotReady(self._why)
        return self._live

    def _is_promoted(self) -> bool:
        try:
            return promoted(self._root) == self._live
        except UNREADABLE:
            return False

    # --- the event loop's -----------------------------------------------------------------------

    async def rows(self, table: Table, tenant: str, key: str) -> EntityRows:
        where = (table, tenant, key)
        folded = self._folded.get(where)
        if folded is not None:
            return folded[0]
        entity_rows = self._read.get(where)
        if entity_rows is None:
            entity = self._committed(where)
            entity_rows = EntityRows(entity, self._live.rules)
            self._read.put(where, entity_rows, entity.encoded_size())
        return entity_rows

    def _committed(self, where: Where) -> Entity:
        """The entity as on disk. Raises NotReady."""
        if self._store is None:
            raise NotReady(self._why)
        try:
            return self._store.committed(*where)
        except StoreError as error:
            log.error("%s", error)
            raise NotReady(FAILED) from None

    async def submit(
        self,
        records: Sequence[bytes],
        within: float,
        decoded: Sequence[Input | None] | None = None,
        all_or_none: bool = False,
    ) -> list[Outcome]:
        if self._closing:
            raise NotReady("the server is about to end")
        if not records:
            return []
        posted = Posted(records, decoded, self._loop, all_or_none)
        self._come(posted)
        self._posts.put(posted)
        try:
            await self._await(posted, within)
        finally:
            if not posted.done.done():
                self._left[posted] = None
                posted.done.add_done_callback(lambda _: self._left.pop(posted))
        return list(posted.outcomes)

    async def _await(self, posted: Posted, within: float) -> None:
        """Waits until the records are folded, or until `within` seconds have passed and they are in
        the log. Raises Busy, and errors of the write."""
        withdrawn_at = self._loop.time() + max(within, LOGGED_WITHIN)
        await asyncio.wait([posted.done], timeout=within)
        while not posted.logged and not posted.done.done():  # it may still be rejected
            if self._loop.time() >= withdrawn_at and self._posts.withdraw(posted):
                self._gone(posted)
                posted.end(Busy("the tenant's records before these take long; send these again"))
            await asyncio.sleep(0.01)
        if posted.done.done():
            posted.done.result()

    async def catch_up(self, table: Table, tenant: str, key: str, within: float) -> None:
        lent_until = self._loop.time() + max(within, LENT_WITHIN)
        while self._store is None and self._why == LENT and self._loop.time() < lent_until:
            await asyncio.sleep(LOOK_EVERY)
        pending = [posted.done for posted in self._left if posted.tenant == tenant]
        if pending and (await asyncio.wait(pending, timeout=within))[1]:
            raise NotReady(BEHIND)

    def unwritten(self, tenant: str, *of: Subject) -> bool:
        return self._waits(tenant, self._batch, of)

    def _waits(self, tenant: str, upto: int, of: Sequence[Subject]) -> bool:
        """Whether changes up to this batch are not on disk yet."""
        changed = self._changed
        if of:
            return any(changed.get((table, tenant, key), upto + 1) <= upto for table, key in of)
        return any(where[1] == tenant and batch <= upto for where, batch in changed.items())

    async def written(self, tenant: str, within: float, *of: Subject) -> bool:
        batch = self._batch
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self._waits(tenant, batch, of):
                    self._folder.hurried = True
                    await asyncio.sleep(LOOK_EVERY)
        return not self._waits(tenant, batch, of)

    async def extract(self, within: float) -> tuple[bool, str] | None:
        model = self.model
        if model is None:
            return None
        if self._folder.inbox is None:
            raise NotReady(self._why)
        end = self._folder.inbox.end
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while not model.has_read(end) and not model.is_held:
                    self._folder.hurried = True
                    model.hurry()
                    await asyncio.sleep(LOOK_EVERY)
        return model.has_read(end), model.about

    async def failed(self) -> BaseException:
        return await asyncio.shield(self._failed)

    def _fail(self, error: BaseException) -> None:
        self._store, self._why = None, "the server has failed, and ends; its log says why"
        if not self._failed.done():
            self._failed.set_result(error)

    def observed(self) -> Observed:
        folder = self._folder
        waiting = folder.inbox.end - folder.folded_to if folder.inbox else None
        unwritten = folder.folded_to - folder.committed_to
        return self._counts.observed(waiting, unwritten, folder.commit_seconds)

    def readiness(self) -> Readiness:
        about = f"ready; {self.model.about}" if self.model else "ready"
        inbox, folder = self._folder.inbox, self._folder
        age = self._commits.age(folder.committed_to, inbox.end) if inbox else 0.0
        is_open = self._store is not None
        return Readiness(is_open, about if is_open else self._why, ages={COMMIT: age})

    def _refused(self, posted: Posted, error: Exception) -> None:
        """The log's thread could not write a request."""
        self._call(self._gone, posted)
        self._call(posted.end, error)

    # --- called by the folding thread -----------------------------------------------------------

    def opened(self, store: Store) -> None:
        """The store has everything in the log; it may be read until `closed`."""
        live = promoted(self._root)  # for certain: who switches has the lock that this thread has

        def see() -> None:
            self._store = store
            if live != self._live:
                self._live = live
            # after an error others may have written: changes not shown again since are on disk
            self._read.clear()
            self._drop_before(self._since)
            self.changes.tell(self.changes.awaited())

        self._call(see)

    def closed(self, why: str, lent: bool) -> None:
        """The store is about to be closed; `lent`: another process may change its contents."""
        released = Event()

        def let_go() -> None:
            self._store, self._why = None, why
            self._batch += 1
            self._since = self._batch
            if lent:  # it may be another generation that comes back
                self._folded.clear()
                self._changed.clear()
                self._read.clear()
            released.set()

        self._call(let_go)
        released.wait(LOOP_WITHIN)

    def folded(
        self,
        group: Group,
        outcomes: Sequence[Outcome],
        changed: list[Entity],
        rules: Rules,
        seconds: Mapping[str, float],
    ) -> None:
        """Outcomes of a group, copies of the changed rows (not in the store until `committed`), and
        the rules of the fold. `seconds`: processing time per tenant; empty for a group that was
        read from disk."""
        self._counts.add(group.first, outcomes)
        self._call(self._show, changed, rules, *self._posts.end(group, outcomes, seconds))

    def _show(
        self, changed: list[Entity], rules: Rules, ended: list[Posted], work: list[Work]
    ) -> None:
        for hear in self.worked:
            for of_tenant in work:
                hear(of_tenant)
        for entity in changed:
            self._read.drop(entity.where)
            self._folded[entity.where] = (EntityRows(entity, rules), self._batch)
            self._changed[entity.where] = self._batch
            if entity.where[0] == "sessions":
                for user_id in speakers_in(entity):
                    self._changed["users", entity.tenant, user_id] = self._batch
        for posted in ended:
            self._gone(posted)
            posted.end()
        self.changes.tell([entity.where for entity in changed])

    def _come(self, posted: Posted) -> None:
        """Counts waiting records. Raises Busy; a tenant without waiting records is always
        accepted."""
        waiting = self._waiting.get(posted.tenant, NONE_WAITING)
        whole = waiting.and_of(posted)
        if waiting.records and (
            whole.is_beyond(1) or self._all_waiting().and_of(posted).is_beyond(SHARES)
        ):
            raise Busy(f"{waiting.records} records wait to be applied; send these again")
        self._waiting[posted.tenant] = whole

    def _all_waiting(self) -> WaitingRecords:
        every = self._waiting.values()
        return WaitingRecords(
            sum(waiting.records for waiting in every), sum(waiting.bytes for waiting in every)
        )

    def _gone(self, posted: Posted) -> None:
        waiting = self._waiting.pop(posted.tenant)
        if waiting.records > len(posted.records):
            size = waiting.bytes - posted.bytes
            self._waiting[posted.tenant] = WaitingRecords(
                waiting.records - len(posted.records), size
            )

    def committing(self) -> None:
        """Records folded from now on belong to the next batch."""

        def next_batch() -> None:
            self._batch += 1

        self._call(next_batch)

    def committed(self) -> None:
        """The store has everything that was folded before the last `committing`."""
        self._call(lambda: self._drop_before(self._batch))

    def _drop_before(self, batch: int) -> None:
        """Earlier batches are on disk."""
        for where in [at for at, (_, folded) in self._folded.items() if folded < batch]:
            del self._folded[where]
        for where in [at for at, changed in self._changed.items() if changed < batch]:
            del self._changed[where]
