"""Memory out of Kafka: a read replica of the workers' tables (docs/serving.md).

It follows all partitions of both changelogs, committed transactions only, and so answers every key
by itself. Records go into their topics; the markers in the changelogs tell when they are applied.
Beside a history it answers from the promoted generation (`streams.serving.backends.promotion`).
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple, Self

from aiokafka.structs import TopicPartition

from sinks.generation import ROOT
from sinks.locations import Location
from streams.apps.erasure_queue import Erasures
from streams.errors import ConfigurationError
from streams.folds.effects import Input
from streams.folds.outcome import WITHHELD, Outcome
from streams.kafka.agents.routing import route, route_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.transport.partition_check import check
from streams.kafka.transport.throttled_tenants import tenant_of
from streams.observability.readiness import WRITE, Readiness
from streams.serving.backends.backend import (
    BEHIND,
    Busy,
    Charge,
    Found,
    NotReady,
    Prepare,
    Subject,
    Table,
)
from streams.serving.backends.change_waiters import Changes
from streams.serving.backends.live_generation import (
    NO_HISTORY,
    Live,
    check_readable,
    pinned,
    promoted,
)
from streams.serving.backends.log_ends import LogEnds
from streams.serving.backends.producer import Message, NotAppended, Writing
from streams.serving.backends.promotion import Promotion
from streams.serving.backends.replica_store import MemoryStore, ReplicaStore
from streams.serving.backends.replica_tables import TABLES, ReplicaTables
from streams.serving.backends.stats import Observed

log = logging.getLogger(__name__)

USUAL = 0.3
"""Seconds in which workers usually apply what is in the log."""
STEP = 256
"""Records that are routed before other requests have a turn."""
MOST_RECORDS, MOST_BYTES = 50_000, 64_000_000
"""What may wait to be applied, of all requests together."""


Record = tuple[Table, TopicPartition, str]
"""Where a tenant's records are: the table that will show them, and their place in the log."""


class _Sent(NamedTuple):
    """A record on its way: its place in the request, and the table that will show it."""

    place: int
    table: Table
    message: Message


class ReplicaBackend:
    """Implements `backend.Backend`. `app_id` names the workers' changelogs; a
    generation's are named by `APP.NAME`. Given whole, as `APP.NAME`, that generation answers
    whatever is promoted.

    `store`: where the rows lie; in memory by default.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        app_id: str,
        history: Location | None = None,
        store: ReplicaStore | None = None,
    ) -> None:
        """Raises HistoryError, ConfigurationError where the history's pointer cannot be read."""
        self.history = history
        self.changes = Changes()
        self.erasures: Erasures | None = None
        self.preparing: list[Prepare] = []
        self.worked: list[Charge] = []
        self._kafka = kafka
        self._app_id = app_id
        self._store: ReplicaStore = store or MemoryStore()
        self._waiting = self._waiting_bytes = 0  # records
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: BaseException | None = None
        self._connection = kafka.client()
        self._writing = Writing(self._connection)
        self._ends = LogEnds(self._connection)
        self._pinned = pinned(history, app_id)
        self._tables = self._made(self._pinned or (promoted(history) if history else NO_HISTORY))
        self._promotion: Promotion | None = None
        if history is not None and self._pinned is None:
            self._promotion = Promotion(history, self)

    async def __aenter__(self) -> Self:
        """Begins to restore, and does not wait for it.

        Raises:
            ConfigurationError: the broker refuses us, the topics have not as many partitions as the
                tables were folded with, or the store is another server's.
            Unreachable: no broker answers.
        """
        await check(self._kafka, self.tables.group, None)
        await self._store.take(self._kafka, self._app_id)
        self._failure: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self.tables.start(self.ended)
        parts = [self._writing.run(), self._store.run()]
        if self._promotion is not None:
            parts.append(self._promotion.run())
        for part in parts:
            task = asyncio.create_task(part)
            task.add_done_callback(self.ended)
            self._tasks.append(task)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._ends.close()
        await self.tables.close()
        self._store.release()

    def ended(self, task: "asyncio.Task[None]") -> None:
        """A part that runs for ever has ended."""
        if not task.cancelled():
            self._failed = task.exception() or RuntimeError("it ended")
            if not isinstance(self._failed, ConfigurationError):  # with what that says all ends
                log.critical("the replica has failed: %r", self._failed, exc_info=self._failed)
            if not self._failure.done():
                self._failure.set_result(self._failed)

    # --- generations ------------------------------------------------------------------------------

    @property
    def live(self) -> Live:
        """The generation that answers."""
        return self._tables.live

    @property
    def tables(self) -> ReplicaTables:
        """Those of the generation that answers."""
        return self._tables

    def tables_of(self, live: Live) -> ReplicaTables:
        """A generation's tables, not followed yet."""
        group = self._app_id
        if self._pinned is None and live.name not in (None, ROOT):
            group = f"{group}.{live.name}"
        return ReplicaTables(self._connection, group, live, self.changes, self._store)

    _made = tables_of

    def go_over(self, tables: ReplicaTables) -> ReplicaTables:
        """Another generation answers from now on, tables and history; the tables that did before.

        Raises HistoryError, ConfigurationError: nothing has changed then.
        """
        check_readable(tables.live)
        before, self._tables = self._tables, tables
        before.let_go()
        self.changes.tell(self.changes.awaited())
        return before

    # --- reading ----------------------------------------------------------------------------------

    async def rows(self, table: Table, tenant: str, key: str) -> Found:
        """As `Memory.rows`."""
        self._check_going()
        return self._tables.rows(table, tenant, key)

    def _check_going(self) -> None:
        """Raises NotReady."""
        if self._failed is not None:
            raise NotReady("the replica has failed, start it again; its log says why")

    async def failed(self) -> BaseException:
        return await asyncio.shield(self._failure)

    @property
    def kafka(self) -> KafkaSettings:
        """How the broker is reached."""
        return self._kafka

    def unwritten(self, tenant: str, *of: Subject) -> bool:
        return False  # others write the tables

    async def written(self, tenant: str, within: float, *of: Subject) -> bool:
        return True

    def observed(self) -> Observed:
        return self._tables.observed()

    @property
    def extractor(self) -> None:
        """Nothing here finds memory in turns."""

    async def extract(self, within: float) -> None:
        """This server asks no model."""

    def readiness(self) -> Readiness:
        if self._failed is not None:
            return Readiness(False, "the replica has failed, start it again; its log says why")
        found = self._tables.readiness()
        found = found._replace(ages={**found.ages, WRITE: self._writing.age})
        going = self._promotion.about if self._promotion is not None else ""
        return found._replace(about=f"{found.about}; {going}") if going else found

    @property
    def promoted(self) -> str | None:
        """The promoted generation that does not answer yet."""
        return None if self._promotion is None else self._promotion.awaited

    # --- writing ----------------------------------------------------------------------------------

    async def submit(
        self,
        records: Sequence[bytes],
        within: float,
        read: Sequence[Input | None] | None = None,
        all_or_none: bool = False,
    ) -> list[Outcome]:
        """As `Memory.submit`; applied means: folded, and in the rows that `rows` gives. What a
        record means for another key (a turn for its user) comes a moment later."""
        sent: list[_Sent] = []
        for place, record in enumerate(records):
            if place % STEP == STEP - 1:
                await asyncio.sleep(0)
            given = read[place] if read is not None else None
            way = route(record) if given is None else route_of(given.record, record)
            if way is not None:
                self._check_going()
                lane = self._tables.lane(TABLES[way.topic], way.key)
                self._tables.check_age(lane)
                to = TopicPartition(way.topic, lane.at.partition)
                sent.append(_Sent(place, lane.table, Message(to, way.key, way.value)))
        outcomes = [WITHHELD] * len(records)
        if sent:
            with self._room([one.message for one in sent]):
                offsets = await self._append([one.message for one in sent])
                tables = await self._passed(sent, offsets, within)
            for (place, table, message), offset in zip(sent, offsets, strict=True):
                lane = tables.lane_at(table, message.to.partition)
                outcomes[place] = lane.outcome(message.to.topic, offset, tenant_of(message.key))
        return outcomes

    async def catch_up(self, table: Table, tenant: str, key: str, within: float) -> None:
        self._check_going()
        deadline = monotonic() + within
        partition = self._tables.lane(table, f"{tenant}/{key}".encode()).at.partition
        sources = [topic for topic, folded in TABLES.items() if folded == table]
        ends = await self._ends.of([TopicPartition(topic, partition) for topic in sources])
        last = {(table, at, tenant): end - 1 for at, end in ends.items() if end}
        await self._reached(last, min(USUAL, deadline - monotonic()))
        for where, offset in list(last.items()):
            at, begun = where[1], self._tables.lane_at(table, partition).reached(where[1].topic)
            if begun <= offset and not await self._ends.has_records(at, begun, offset + 1):
                del last[where]
        tables = await self._reached(last, deadline - monotonic())
        lane = tables.lane_at(table, partition)
        if not all(lane.has(at.topic, offset, tenant) for (_, at, _), offset in last.items()):
            raise NotReady(BEHIND)

    async def _passed(
        self, sent: Sequence[_Sent], offsets: Sequence[int], within: float
    ) -> ReplicaTables:
        """Waits as `_reached`, for records that were sent."""
        last: defaultdict[Record, int] = defaultdict(int)
        for (_, table, message), offset in zip(sent, offsets, strict=True):
            where = (table, message.to, tenant_of(message.key))
            last[where] = max(last[where], offset)
        return await self._reached(last, within)

    async def _reached(self, last: Mapping[Record, int], within: float) -> ReplicaTables:
        """Waits until all are folded and in the rows, or so many seconds are over. The tables that
        say so: where another generation goes live meanwhile, it is asked again."""
        deadline = monotonic() + within
        while True:
            tables = self._tables
            waits = [
                tables.lane_at(table, to.partition).passed(to.topic, offset, tenant)
                for (table, to, tenant), offset in last.items()
            ]
            try:
                if waits:
                    await asyncio.wait(waits, timeout=max(0.0, deadline - monotonic()))
            finally:
                for one in waits:
                    one.cancel()
            if tables is self._tables:
                return tables

    async def _append(self, messages: Sequence[Message]) -> list[int]:
        try:
            return await self._writing.append(messages)
        except NotAppended as error:
            raise NotReady(
                f"Kafka: not acknowledged: {error}; the records may be in their topics: send them "
                "again, with the same ids"
            ) from None

    @contextmanager
    def _room(self, messages: Sequence[Message]) -> Iterator[None]:
        """Counts messages among what waits.

        Raises Busy.
        """
        count, size = len(messages), sum(len(message.value) for message in messages)
        if self._waiting and (
            self._waiting + count > MOST_RECORDS or self._waiting_bytes + size > MOST_BYTES
        ):
            raise Busy(
                f"{self._waiting} records of {self._waiting_bytes} bytes wait to be applied, at "
                f"most {MOST_RECORDS} of {MOST_BYTES}: is a worker running, and does it keep up?"
            )
        self._waiting += count
        self._waiting_bytes += size
        try:
            yield
        finally:
            self._waiting -= count
            self._waiting_bytes -= size
