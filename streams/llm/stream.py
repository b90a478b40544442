"""`turnfold kafka extract --bootstrap`: from `turns` to `write-plans`, a group of its own.

Nothing waits on it: it reads what others read, too, and what it has not come to stays in Kafka. A
plan and the offsets it settles are one transaction, so a plan that was written is not made again.
What fails is written as well, and the worker makes a dead letter of it (extraction_failed).
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
from streams.kafka.client import denials
from streams.kafka.client.admin import connected, lost
from streams.kafka.client.aiokafka_internals import KafkaConsumer, KafkaProducer, start_or_stop
from streams.kafka.client.names import own_inputs
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.source import ConsumerSource
from streams.kafka.client.topics import ensure_topics
from streams.llm.driver import Driver, Interrupted, Job
from streams.llm.found_by_rules import with_rules
from streams.llm.groups import Group
from streams.llm.history import Reader, Shown, remembered, told
from streams.llm.maker import NOTHING
from streams.llm.part import Part, part_of, stand, turn_of
from streams.llm.settings import LlmSettings
from streams.llm.standing import ASKED, Standing
from streams.observing.logs import OF_BROKER
from streams.observing.readiness import COMMIT, FETCH, Assignment, Pending
from streams.topology import INPUT_BYTES, TURNS, WRITE_PLANS, own_plans

log = logging.getLogger(__name__)

POLL_MS = 200
POLL_RECORDS = 500
SESSION_MS = 10_000
AHEAD = 16
"""Groups that may wait for each request at a time; then nothing more is read."""
ASK_EVERY = 0.3
"""Seconds between two questions how far a worker has folded, where something waits for it."""
TELL_EVERY = 5.0  # seconds between commits where no plan is written
TRANSACTION_MS = 10_000


class Finished(NamedTuple):
    """A record, and who waits until it is written."""

    job: Job
    record: JsonObject
    written: asyncio.Future[None]


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """`group`: the consumer group, by default named after model and prompt. `history`: a sink's, to
    show what is remembered. `latest`: a new group begins with what comes from now on. `once`: end
    when all that is there is extracted, or where the endpoint does not answer. `worker`: the group
    of workers whose rules come first: a turn is asked about when they have committed it, so their
    plan lies before the model's, which takes its place. `generation`: whose workers these are; its
    plans are its own. It `maps` where it has a mapping of its own."""

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
        own = own_inputs(self.generation) if self.maps else []
        return [TURNS.name, *(name for topic, name in own if topic is TURNS)]

    @property
    def plans(self) -> str:
        """The topic of plans."""
        return WRITE_PLANS.name if self.generation is None else own_plans(self.generation)

    def group_of(self, settings: LlmSettings) -> str:
        """The consumer group: by default of the model and the prompt, and of a generation."""
        named = f"{settings.extractor}-{settings.extractor_version}"
        return self.group or (f"{named}.{self.generation}" if self.generation else named)

    def is_of_live(self, record: Any) -> bool:
        """Whether a turn was mapped for the live memory, where a generation maps by itself."""
        return self.maps and record.topic == TURNS.name and is_mapped(record)


class Stream(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """One member of an extractor's group; implements `driver.TurnLog`. `turns` were read."""

    def __init__(self, kafka: KafkaSettings, settings: LlmSettings, options: StreamOptions) -> None:
        self.options = options
        self.ends = options.once
        self.history = options.history
        self.group = options.group_of(settings)
        self.turns = 0
        self._kafka = kafka
        self._settings = settings
        self._show = Reader(self._shown)
        self._driver: Driver | None = None
        self._held: dict[TopicPartition, Part] = {}
        self._kept: dict[TopicPartition, Part] = {}  # while a rebalance may give them back
        self._standing = Standing(ASKED)
        self._finished: list[Finished] = []
        self._writing = asyncio.Lock()
        self._assignment = Assignment()
        self._sending = Pending()
        self._told_at = 0.0
        self._folded: dict[TopicPartition, int] = {}
        self._folded_at = 0.0
        self._broken: Exception | None = None  # ends this session
        self._began = False
        self._is_open = False

    @property
    def partitions(self) -> int:
        """How many it reads."""
        return len(self._held)

    @property
    def lag(self) -> int:
        """Offsets of turns that are not settled, read or not."""
        return sum(
            part.unsettled + self._source.behind(at) for at, part in list(self._held.items())
        )

    def ages(self) -> dict[str, float]:
        """Seconds since the last success, as `Readiness.ages`."""
        return {
            FETCH: self._assignment.age(lambda: self._source.longest_unheard()),
            COMMIT: self._sending.age,
        }

    async def begin(self, driver: Driver) -> None:
        """Joins the group. Raises ConfigurationError, and Unreachable the first time."""
        self._driver = driver
        self._broken = None
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
        """Writes what is finished, and leaves the group."""
        if not self._is_open:
            return
        self._is_open = False
        await self._write_if_possible()
        await self._consumer.stop()
        await self._producer.stop()
        self._assignment.end()
        self._held = self._kept = {}
        self._finished = []

    def _is_ours(self, job: Job) -> bool:
        return self._held.get(job.part.at) is job.part

    # --- reading ------------------------------------------------------------------------------

    async def read(self, waiting: int) -> list[Job] | None:
        """What has come, once what is finished is written."""
        try:
            return await self._read(waiting)
        except (KafkaError, Unreachable) as error:
            if (refused := denials.of(error)) is not None:
                raise refused from error
            log.warning(
                "Kafka: %s; begins anew from what is committed", error or repr(error),
                extra=OF_BROKER,
            )  # fmt: skip
            raise Interrupted from error

    async def _read(self, waiting: int) -> list[Job] | None:
        if self._broken is not None:
            raise self._broken
        if self.options.worker is None and self._driver:  # beside one, that says it
            self._standing.tell(self._driver.words)
        self._pace(waiting)
        found = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS)
        for at, records in found.items():
            if (part := self._held.get(at)) is not None:
                part.ahead.extend(records)
                part.heard_at = time.monotonic()
        await self._look_at_worker()
        jobs = [job for part in self._held.values() for job in self._taken(part)]
        jobs += self._idle(found)
        await self._write()
        is_done = self.options.once and not found and not jobs and self._is_done()
        return None if is_done else jobs

    def _pace(self, waiting: int) -> None:
        """Reads on where there is room."""
        full = waiting > AHEAD * self._settings.concurrency
        for at, part in self._held.items():
            pauses = full or part.reach.is_full or part.ahead
            (self._source.pause if pauses else self._source.resume)([at])

    async def _look_at_worker(self) -> None:
        """How far the worker has folded, where a turn waits for that."""
        waits = any(part.ahead for part in self._held.values())
        if self.options.worker is None or not waits:
            return
        if time.monotonic() - self._folded_at < ASK_EVERY:
            return
        async with connected(self._kafka) as admin:
            commits = await admin.list_consumer_group_offsets(self.options.worker)
        self._folded = {at: one.offset for at, one in commits.items()}
        self._folded_at = time.monotonic()

    def _taken(self, part: Part) -> Iterator[Job]:
        end = None if self.options.worker is None else self._folded.get(part.at, 0)
        for record in part.folded(end):
            if not part.reach.read(record.offset, record.timestamp):
                continue
            turn = None
            if not self.options.is_of_live(record):
                at = part.reach.recorded_at
                turn = turn_of(record, self._kafka.partitions, self._settings, at)
            if turn is None or part.is_repeat(turn):
                part.reach.settle([record.offset])
                continue
            self.turns += 1
            yield from (Job(group, part) for group in part.debounce.add(turn))

    def _idle(self, found: dict[TopicPartition, Any]) -> Iterator[Job]:
        """The groups that nothing follows: once a partition is read to its end, and is silent for
        long enough; before that its own time closes them."""
        at_once = self.options.once or self._settings.extract_after == "turn"
        for at, part in self._held.items():
            silent = at_once or time.monotonic() - part.heard_at >= self._settings.idle_seconds
            at_end = at not in found and not part.ahead and not self._source.behind(at)
            if part.reach.is_full or (at_end and silent):
                yield from (Job(group, part) for group in part.debounce.flush())

    def _is_done(self) -> bool:
        """Whether nothing is left of what there is."""
        return bool(self._held) and not self._finished and not self.lag

    async def shown(self, job: Job) -> Shown:
        return await self._show(job.group)

    def _shown(self, groups: list[Group]) -> list[Shown]:
        """The groups with what the history has of their tools, and what is remembered; rules have
        found memory in these turns where a worker's come first."""
        root = self.history
        memory = remembered(root, groups) if root else [NOTHING] * len(groups)
        shown = [one for one in told(root, groups, texts=False) if one] if root else groups
        if self.options.worker is not None:
            memory = [with_rules(*both) for both in zip(memory, shown, strict=True)]
        return list(zip(shown, memory, strict=True))

    def still(self, job: Job) -> None:
        """Not known: what is erased from a history is still in Kafka."""

    # --- writing ------------------------------------------------------------------------------

    async def write(self, job: Job, record: JsonObject) -> asyncio.Future[None]:
        """With the next transaction."""
        written = asyncio.get_running_loop().create_future()
        self._finished.append(Finished(job, record, written))
        return written

    async def _write(self) -> None:
        """What is finished, and how far everything is settled, in one transaction."""
        async with self._writing:
            finished = [one for one in self._finished if self._is_ours(one.job)]
            ends = self._driver is None or self._driver.is_over
            due = time.monotonic() - self._told_at >= TELL_EVERY or ends
            if not finished and not due:
                return
            # what is not ours now may be again: `drop` abandons it otherwise
            self._finished = [one for one in self._finished if not self._is_ours(one.job)]
            for one in finished:
                one.job.part.reach.settle(turn.offset for turn in one.job.group.turns)
            parts = self._held.values()
            stands = {part: (part.reach.committed, part.reach.metadata()) for part in parts}
            moved = {part: now for part, now in stands.items() if now != part.told}
            if not finished and not moved:
                return
            succeeded = False
            self._sending.begin()
            try:
                await self._send(finished, moved)
                succeeded = True
            except BaseException:
                self._held = {}  # settled here and not written: nobody may commit that
                raise
            finally:
                self._sending.end(succeeded)
            self._told_at = time.monotonic()
            for part, now in moved.items():
                part.told = now
            for one in finished:
                if not one.written.done():
                    one.written.set_result(None)

    async def _send(self, finished: list[Finished], moved: dict[Part, tuple[int, str]]) -> None:
        async with self._producer.transaction():
            for job, record, _ in finished:
                key = key_of(*job.group.owner)
                await self._producer.send(self.options.plans, to_json(record), key)
            offsets = {part.at: OffsetAndMetadata(*now) for part, now in moved.items()}
            if offsets:  # else aiokafka refuses, and nothing is settled that the group must know
                await self._producer.send_offsets_to_transaction(offsets, self.group)

    async def _write_if_possible(self) -> None:
        try:
            await self._write()
        except KafkaError as error:
            log.warning(
                "what was finished is not written: %r; it will be made again", error,
                extra=OF_BROKER,
            )  # fmt: skip

    # --- partitions come and go -----------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """What is finished is written; what is not is asked on about, until it is another's."""
        await self._write_if_possible()
        self._assignment.end()
        self._kept, self._held = self._kept | self._held, {}

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Goes on where the group's commits say; with what is ours as before, as it stands."""
        try:
            self._held = await self._positioned(list(assigned))
            self._assignment.begin()
            self._kept = {}
            self._finished = [one for one in self._finished if self._is_ours(one.job)]
            if self._driver is not None:
                self._driver.drop(self._is_ours)
        except Exception as error:  # aiokafka would only log it
            self._broken = error

    async def _positioned(self, assigned: list[TopicPartition]) -> dict[TopicPartition, Part]:
        consumer = self._consumer
        for at in assigned:  # before anything is awaited: nothing may be fetched from elsewhere
            consumer.pause(at)
            consumer.seek(at, 0)
        if not assigned:
            return {}
        async with connected(self._kafka) as admin:
            commits = await admin.list_consumer_group_offsets(self.group)
        begins = await consumer.beginning_offsets(assigned)
        starts = await consumer.end_offsets(assigned) if self.options.latest else begins
        held = {}
        for at in assigned:
            commit, kept = commits.get(at), self._kept.get(at)
            if kept is not None and commit is not None and stand(commit) == kept.told:
                kept.ahead.clear()  # it is fetched again
                held[at] = kept
            else:
                held[at] = part_of(at, commit, begins[at], starts[at], self._settings)
        for at, part in held.items():
            consumer.seek(at, part.reach.next)
        consumer.resume(*assigned)
        log.info("%s: %d partitions", self.group, len(assigned), extra=OF_BROKER)
        return held
