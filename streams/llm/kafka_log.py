"""The turn log on Kafka: from `turns` to `write-plans`, as a separate consumer group.

Workers do not wait for it; its backlog stays in Kafka. A plan and the offsets that it settles are
committed in one transaction, so a written plan is not repeated. Failures are written, too; the
worker converts them to dead letters (extraction_failed).
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from schemas.base import JsonObject
from sinks.locations import Location
from streams.errors import Unreachable
from streams.kafka.agents.encoding import key_of, to_json
from streams.kafka.agents.routing import is_mapped
from streams.kafka.client import acl_errors
from streams.kafka.client.admin import connected, lost
from streams.kafka.client.aiokafka_internals import KafkaConsumer, KafkaProducer, start_or_stop
from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import own_inputs
from streams.kafka.client.topics import ensure_topics
from streams.llm.debounce import Group
from streams.llm.driver import Driver, Interrupted
from streams.llm.extractor import NOTHING
from streams.llm.history import Reader, Shown, shown
from streams.llm.partition import Part, part_of, position
from streams.llm.replaced_plans import with_rules
from streams.llm.settings import LlmSettings
from streams.llm.status import ASKED, StatusLog
from streams.observability.logs import OF_BROKER
from streams.observability.readiness import COMMIT, FETCH, Assignment, Pending
from streams.topology import INPUT_BYTES, TURNS, WRITE_PLANS, own_plans

log = logging.getLogger(__name__)

POLL_MS = 200
POLL_RECORDS = 500
SESSION_MS = 10_000
AHEAD = 16
"""Maximum waiting groups per concurrent request; above it, reading pauses."""
ASK_EVERY = 0.3
"""Minimum seconds between two requests for the worker's committed offsets."""
TELL_EVERY = 5.0  # seconds between commits without a plan
TRANSACTION_MS = 10_000


class Finished(NamedTuple):
    """A record, and a future that completes when it is written."""

    group: Group
    record: JsonObject
    written: asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """`group`: the consumer group; default: named after model and prompt. `history`: of a sink,
    with the memory to show. `latest`: a new group starts at the end of the log. `once`: end when
    all turns are extracted, or if the endpoint does not answer. `worker`: group of the workers
    whose rules run first: a turn is processed once they have committed it, so that the model's plan
    follows the rules' plan and replaces it. `generation`: of the workers; it has separate plans.
    `maps`: it has a separate mapping."""

    group: str | None = None
    history: Location | None = None
    latest: bool = False
    once: bool = False
    worker: str | None = None
    generation: str | None = None
    maps: bool = False

    @property
    def sources(self) -> list[str]:
        """The topics of turns."""
        inputs = own_inputs(self.generation) if self.maps else []
        return [TURNS.name, *(name for topic, name in inputs if topic is TURNS)]

    @property
    def plans(self) -> str:
        """The topic of plans."""
        return WRITE_PLANS.name if self.generation is None else own_plans(self.generation)

    def group_of(self, settings: LlmSettings) -> str:
        """The consumer group; default: by model, prompt and generation."""
        name = f"{settings.extractor}-{settings.extractor_version}"
        return self.group or (f"{name}.{self.generation}" if self.generation else name)

    def is_of_live(self, record: Any) -> bool:
        """Whether a turn was mapped for the live memory, if the generation has its own mapping."""
        return self.maps and record.topic == TURNS.name and is_mapped(record)


class Stream(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """A member of an extractor's consumer group; implements `driver.TurnLog`. `turns`: number
    read."""

    def __init__(self, kafka: KafkaSettings, settings: LlmSettings, options: StreamOptions) -> None:
        self.options = options
        self.ends = options.once
        self.history = options.history
        self.group = options.group_of(settings)
        self.turns = 0
        self._kafka = kafka
        self._settings = settings
        self.shown = Reader(self._shown)
        self._driver: Driver | None = None
        self._parts: dict[TopicPartition, Part] = {}
        self._revoked: dict[TopicPartition, Part] = {}  # a rebalance may assign them again
        self._status_log = StatusLog(ASKED)
        self._finished: list[Finished] = []
        self._writing = asyncio.Lock()
        self._assignment = Assignment()
        self._sending = Pending(repeats=True)
        self._told_at = 0.0
        self._folded: dict[TopicPartition, int] = {}
        self._folded_at = 0.0
        self._error: Exception | None = None  # ends this session
        self._began = False
        self._is_open = False

    @property
    def partitions(self) -> int:
        """Number of assigned partitions."""
        return len(self._parts)

    @property
    def lag(self) -> int:
        """Number of unsettled offsets, read or not."""
        return sum(
            part.unsettled + self._source.unfetched(at) for at, part in list(self._parts.items())
        )

    def ages(self) -> dict[str, float]:
        """Seconds since the last success, as `Readiness.ages`."""
        return {
            FETCH: self._assignment.age(lambda: self._source.oldest_fetch_age()),
            COMMIT: self._sending.age,
        }

    async def begin(self, driver: Driver) -> None:
        """Joins the group. Raises ConfigurationError, and Unreachable the first time."""
        self._driver = driver
        self._error = None
        if not self._began:
            await ensure_topics(self._kafka, topics=(TURNS, WRITE_PLANS))
            if self.history is None:
                log.info("without --history the model is not shown what is remembered")
        try:
            await self._start()
        except Unreachable as error:
            if not self._began:
                raise
            raise Interrupted from error
        self._began = self._is_open = True

    async def _start(self) -> None:
        self._producer: Any = KafkaProducer(
            transactional_id=f"{self.group}-{uuid4()}",
            transaction_timeout_ms=TRANSACTION_MS,
            max_request_size=INPUT_BYTES,
            **self._kafka.client(),
        )
        self._consumer: Any = KafkaConsumer(
            group_id=self.group,
            enable_auto_commit=False,
            isolation_level="read_committed",
            auto_offset_reset="none",
            session_timeout_ms=SESSION_MS,
            **self._kafka.client(),
        )
        self._source = ConsumerSource(self._consumer, {})
        self._consumer.subscribe(self.options.sources, listener=self)
        try:
            await start_or_stop(
                (self._producer.start, self._producer.stop),
                (self._consumer.start, self._consumer.stop),
            )
        except KafkaError as error:
            raise lost(self._kafka, error) from None

    async def end(self) -> None:
        """Writes finished records, and leaves the group."""
        if not self._is_open:
            return
        self._is_open = False
        await self._write_if_possible()
        await self._consumer.stop()
        await self._producer.stop()
        self._assignment.end()
        self._parts = self._revoked = {}
        self._finished = []

    def _is_assigned(self, group: Group) -> bool:
        return self._parts.get(group.part.at) is group.part

    # --- reading ------------------------------------------------------------------------------

    async def read(self, waiting: int) -> list[Group] | None:
        """Writes finished records, then returns the next groups."""
        try:
            return await self._read(waiting)
        except (KafkaError, Unreachable) as error:
            if (denial := acl_errors.of(error)) is not None:
                raise denial from error
            log.warning(
                "Kafka: %s; restarts from the last commit", error or repr(error), extra=OF_BROKER
            )
            raise Interrupted from error

    async def _read(self, waiting: int) -> list[Group] | None:
        if self._error is not None:
            raise self._error
        if self.options.worker is None and self._driver:  # in a worker, `beside` logs it
            self._status_log.update(self._driver.words)
        self._pace(waiting)
        batches = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS)
        for at, records in batches.items():
            if (part := self._parts.get(at)) is not None:
                part.ahead.extend(records)
                part.heard_at = time.monotonic()
        await self._look_at_worker()
        groups = [group for part in self._parts.values() for group in self._closed(part)]
        groups += self._idle(batches)
        await self._write()
        if self._finished or self.lag:
            return groups
        if self._assignment.stands and all(map(self._source.is_known, self._parts)):
            self._sending.rest()
        is_done = self.options.once and self._parts and not batches and not groups
        return None if is_done else groups

    def _pace(self, waiting: int) -> None:
        """Pauses or resumes partitions."""
        full = waiting > AHEAD * self._settings.concurrency
        for at, part in self._parts.items():
            pauses = full or part.is_full or part.ahead
            (self._source.pause if pauses else self._source.resume)([at])

    async def _look_at_worker(self) -> None:
        """Updates the worker's committed offsets if a turn waits for them."""
        waits = any(part.ahead for part in self._parts.values())
        if self.options.worker is None or not waits:
            return
        if time.monotonic() - self._folded_at < ASK_EVERY:
            return
        async with connected(self._kafka) as admin:
            commits = await admin.list_consumer_group_offsets(self.options.worker)
        self._folded = {at: commit.offset for at, commit in commits.items()}
        self._folded_at = time.monotonic()

    def _closed(self, part: Part) -> Iterator[Group]:
        """Takes the folded turns of a partition; yields the groups that they close."""
        end = None if self.options.worker is None else self._folded.get(part.at, 0)
        for record in part.read(end):
            is_of_live = self.options.is_of_live(record)
            turn = None if is_of_live else part.turn(record, self._kafka.partitions)
            if turn is None:
                part.settle([record.offset])
                continue
            self.turns += 1
            yield from (group._replace(part=part) for group in part.debounce.add(turn))

    def _idle(self, batches: dict[TopicPartition, Any]) -> Iterator[Group]:
        """Yields the open groups of partitions that are read to the end and silent for long enough;
        before the end, the time of the records closes them."""
        at_once = self.options.once or self._settings.extract_after == "turn"
        for at, part in self._parts.items():
            silent = at_once or time.monotonic() - part.heard_at >= self._settings.idle_seconds
            at_end = at not in batches and not part.ahead and not self._source.unfetched(at)
            if part.is_full or (at_end and silent):
                yield from (group._replace(part=part) for group in part.debounce.flush())

    def _shown(self, groups: list[Group]) -> list[Shown]:
        """The groups with the tool results in the history, and their memory; in a worker with the
        rules' results of these turns."""
        memories: list[Shown] = [(group, NOTHING) for group in groups]
        if self.history is not None:
            memories = shown(self.history, groups, texts=False)
        if self.options.worker is None:
            return memories
        return [(group, with_rules(memory, group)) for group, memory in filter(None, memories)]

    def still(self, group: Group) -> None:
        """No check: turns erased from a history are still in Kafka."""

    # --- writing ------------------------------------------------------------------------------

    async def write(self, group: Group, record: JsonObject) -> asyncio.Future[None]:
        """Stores a record with the next transaction."""
        written = asyncio.get_running_loop().create_future()
        self._finished.append(Finished(group, record, written))
        return written

    async def _write(self) -> None:
        """Writes finished records and the settled offsets in one transaction."""
        async with self._writing:
            finished = [entry for entry in self._finished if self._is_assigned(entry.group)]
            ends = self._driver is None or self._driver.is_over
            due = time.monotonic() - self._told_at >= TELL_EVERY or ends
            if not finished and not due:
                return
            # a revoked partition may be assigned again; otherwise `drop` abandons its groups
            self._finished = [
                entry for entry in self._finished if not self._is_assigned(entry.group)
            ]
            for entry in finished:
                entry.group.part.settle(turn.offset for turn in entry.group.turns)
            positions = {part: part.position() for part in self._parts.values()}
            moved = {part: now for part, now in positions.items() if now != part.committed}
            if not finished and not moved:
                return
            self._sending.begin()
            try:
                await self._send(finished, moved)
            except BaseException:
                self._sending.end(succeeded=False)
                self._parts = {}  # settled, but not written: it must not be committed
                raise
            self._sending.end(succeeded=True)
            self._told_at = time.monotonic()
            for part, now in moved.items():
                part.committed = now
            for entry in finished:
                if not entry.written.done():
                    entry.written.set_result(None)

    async def _send(self, finished: list[Finished], moved: dict[Part, tuple[int, str]]) -> None:
        async with self._producer.transaction():
            for group, record, _ in finished:
                key = key_of(*group.owner)
                await self._producer.send(self.options.plans, to_json(record), key)
            offsets = {part.at: OffsetAndMetadata(*now) for part, now in moved.items()}
            if offsets:  # aiokafka rejects an empty commit
                await self._producer.send_offsets_to_transaction(offsets, self.group)

    async def _write_if_possible(self) -> None:
        try:
            await self._write()
        except KafkaError as error:
            log.warning(
                "finished records are not written: %r; they will be repeated", error,
                extra=OF_BROKER,
            )  # fmt: skip

    # --- rebalances -----------------------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Writes finished records; other groups continue until the next assignment."""
        await self._write_if_possible()
        self._assignment.end()
        self._revoked, self._parts = self._revoked | self._parts, {}

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Continues at the group's commits; partitions assigned again keep their state."""
        try:
            self._parts = await self._positioned(list(assigned))
            self._assignment.begin()
            self._revoked = {}
            self._finished = [entry for entry in self._finished if self._is_assigned(entry.group)]
            if self._driver is not None:
                self._driver.drop(self._is_assigned)
        except Exception as error:  # aiokafka would only log it
            self._error = error

    async def _positioned(self, assigned: list[TopicPartition]) -> dict[TopicPartition, Part]:
        consumer = self._consumer
        for at in assigned:  # before the first await, so that no other position is fetched
            consumer.pause(at)
            consumer.seek(at, 0)
        if not assigned:
            return {}
        async with connected(self._kafka) as admin:
            commits = await admin.list_consumer_group_offsets(self.group)
        begins = await consumer.beginning_offsets(assigned)
        starts = await consumer.end_offsets(assigned) if self.options.latest else begins
        parts = {}
        for at in assigned:
            commit, part = commits.get(at), self._revoked.get(at)
            if part is not None and commit is not None and position(commit) == part.committed:
                part.ahead.clear()  # it is fetched again
                parts[at] = part
            else:
                parts[at] = part_of(at, commit, begins[at], starts[at], self._settings)
        for at, part in parts.items():
            consumer.seek(at, part.next)
        consumer.resume(*assigned)
        log.info("%s: %d partitions", self.group, len(assigned), extra=OF_BROKER)
        return parts
