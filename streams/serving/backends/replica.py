"""Memory from Kafka: a read replica of the workers' tables (docs/serving.md).

It follows all partitions of both changelogs, committed transactions only, and so answers for every
key. Records are produced to their topics; markers in the changelogs show when they are applied.
With a history it answers from the promoted generation (`streams.serving.backends.promotion`).
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
from streams.errors import ConfigurationError
from streams.folds.effects import Input
from streams.folds.outcome import WITHHELD, Outcome
from streams.kafka.agents.routing import route, route_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.transport.partition_check import check
from streams.kafka.transport.throttled_tenants import tenant_of
from streams.observability.readiness import WRITE, Readiness
from streams.serving.backends.backend import BEHIND, Backend, Busy, EntityRows, NotReady, Table
from streams.serving.backends.live_generation import (
    NO_HISTORY,
    Live,
    check_readable,
    pinned,
    promoted,
)
from streams.serving.backends.log_ends import LogEnds
from streams.serving.backends.producer import NotAppended, OutgoingRecord, Writing
from streams.serving.backends.promotion import Promotion
from streams.serving.backends.replica_tables import TABLES, ReplicaStore, ReplicaTables
from streams.serving.backends.stats import Observed

log = logging.getLogger(__name__)

USUAL = 0.3
"""Seconds in which workers usually apply the records in the log."""
STEP = 256
"""Records that are routed before other requests have a turn."""
MOST_RECORDS, MOST_BYTES = 50_000, 64_000_000
"""What may wait to be applied, of all requests together."""


Record = tuple[Table, TopicPartition, str]
"""Where a tenant's records are: the table that will show them, and their place in the log."""


class _Sent(NamedTuple):
    """A produced record: its index in the request, and the table that will show it."""

    place: int
    table: Table
    message: OutgoingRecord


class ReplicaBackend(Backend):
    """`app_id` names the workers' changelogs; a generation's changelogs are named `APP.NAME`. An
    `app_id` of that form pins the generation, whichever is promoted.

    `store`: of the rows; default: memory.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        app_id: str,
        history: Location | None = None,
        store: ReplicaStore | None = None,
    ) -> None:
        """Raises HistoryError, ConfigurationError where the history's pointer cannot be read."""
        super().__init__(history)
        self.kafka = self._kafka = kafka
        self._app_id = app_id
        self._store = store or ReplicaStore()
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
        """Starts the restore without waiting for it.

        Raises ConfigurationError if the broker denies access, the number of partitions differs from
        the tables', or the store belongs to another server; Unreachable if no broker answers.
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
        """Handles the end of an endless task."""
        if not task.cancelled():
            self._failed = task.exception() or RuntimeError("it ended")
            if not isinstance(self._failed, ConfigurationError):  # its message ends the process
                log.critical("the replica has failed: %r", self._failed, exc_info=self._failed)
            if not self._failure.done():
                self._failure.set_result(self._failed)

    # --- generations ------------------------------------------------------------------------------

    @property
    def live(self) -> Live:
        return self._tables.live

    @property
    def tables(self) -> ReplicaTables:
        return self._tables

    def tables_of(self, live: Live) -> ReplicaTables:
        """A generation's tables, not followed yet."""
        group = self._app_id
        if self._pinned is None and live.name not in (None, ROOT):
            group = f"{group}.{live.name}"
        return ReplicaTables(self._connection, group, live, self.changes, self._store)

    _made = tables_of

    def go_over(self, tables: ReplicaTables) -> ReplicaTables:
        """Switches to another generation, tables and history; returns the previous tables. Raises
        HistoryError, ConfigurationError without switching."""
        check_readable(tables.live)
        before, self._tables = self._tables, tables
        before.let_go()
        self.changes.tell(self.changes.awaited())
        return before

    # --- reading ----------------------------------------------------------------------------------

    async def rows(self, table: Table, tenant: str, key: str) -> EntityRows:
        self._check_going()
        return self._tables.rows(table, tenant, key)

    def _check_going(self) -> None:
        """Raises NotReady."""
        if self._failed is not None:
            raise NotReady("the replica has failed, start it again; its log says why")

    async def failed(self) -> BaseException:
        return await asyncio.shield(self._failure)

    def observed(self) -> Observed:
        return self._tables.observed()

    def readiness(self) -> Readiness:
        if self._failed is not None:
            return Readiness(False, "the replica has failed, start it again; its log says why")
        readiness = self._tables.readiness()
        readiness = readiness._replace(ages={**readiness.ages, WRITE: self._writing.age})
        going = self._promotion.about if self._promotion is not None else ""
        return readiness._replace(about=f"{readiness.about}; {going}") if going else readiness

    @property
    def promoted(self) -> str | None:
        """The promoted generation while it does not answer yet."""
        return None if self._promotion is None else self._promotion.awaited

    # --- writing ----------------------------------------------------------------------------------

    async def submit(
        self,
        records: Sequence[bytes],
        within: float,
        decoded: Sequence[Input | None] | None = None,
        all_or_none: bool = False,
    ) -> list[Outcome]:
        """Applied means: folded, and visible in `rows`. Effects on another key (of a turn on its
        user) follow shortly after."""
        sent: list[_Sent] = []
        for place, record in enumerate(records):
            if place % STEP == STEP - 1:
                await asyncio.sleep(0)
            parsed = decoded[place] if decoded is not None else None
            way = route(record) if parsed is None else route_of(parsed.record, record)
            if way is not None:
                self._check_going()
                lane = self._tables.lane(TABLES[way.topic], way.key)
                self._tables.check_age(lane)
                to = TopicPartition(way.topic, lane.at.partition)
                sent.append(_Sent(place, lane.table, OutgoingRecord(to, way.key, way.value)))
        outcomes = [WITHHELD] * len(records)
        if sent:
            with self._room([sent_record.message for sent_record in sent]):
                offsets = await self._append([sent_record.message for sent_record in sent])
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
            at, start = where[1], self._tables.lane_at(table, partition).reached(where[1].topic)
            if start <= offset and not await self._ends.has_records(at, start, offset + 1):
                del last[where]
        tables = await self._reached(last, deadline - monotonic())
        lane = tables.lane_at(table, partition)
        if not all(lane.has(at.topic, offset, tenant) for (_, at, _), offset in last.items()):
            raise NotReady(BEHIND)

    async def _passed(
        self, sent: Sequence[_Sent], offsets: Sequence[int], within: float
    ) -> ReplicaTables:
        """As `_reached`, for records that were sent."""
        last: defaultdict[Record, int] = defaultdict(int)
        for (_, table, message), offset in zip(sent, offsets, strict=True):
            where = (table, message.to, tenant_of(message.key))
            last[where] = max(last[where], offset)
        return await self._reached(last, within)

    async def _reached(self, last: Mapping[Record, int], within: float) -> ReplicaTables:
        """Waits until all are folded and visible, or `within` seconds have passed; returns the
        tables that were used. After a switch of generations it starts again."""
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
                for future in waits:
                    future.cancel()
            if tables is self._tables:
                return tables

    async def _append(self, messages: Sequence[OutgoingRecord]) -> list[int]:
        try:
            return await self._writing.append(messages)
        except NotAppended as error:
            raise NotReady(
                f"Kafka: not acknowledged: {error}; the records may be in their topics: send them "
                "again, with the same ids"
            ) from None

    @contextmanager
    def _room(self, messages: Sequence[OutgoingRecord]) -> Iterator[None]:
        """Counts messages as waiting. Raises Busy."""
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
