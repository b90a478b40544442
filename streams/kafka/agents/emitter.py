"""What records cause, as the messages of a batch: what both agents' emitters share."""

import logging
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from schemas.events import Turn
from streams.folds.rows import Effects, Input, Late, UserSignal
from streams.folds.rules import Rules
from streams.kafka.agents.encoding import Origin, key_of, time_text, to_json
from streams.kafka.agents.outbox import Outbox
from streams.kafka.agents.outcomes import OutcomeNote
from streams.kafka.agents.table import Held
from streams.observing.logs import place
from streams.pipeline.decode import Dead
from streams.pipeline.ports import Signalled
from streams.topology import WRITE_PLANS, Agent

log = logging.getLogger(__name__)


class Waited(NamedTuple):
    """A record that was applied and turned out to fit nothing, as another one showed."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    timestamp: int
    headers: tuple[()] = ()


class MessageEmitter(ABC):
    """Makes the messages of a batch: an `Emitter` of Kafka records. `origin`: what messages say of
    where they are from; `rules`: what is folded under. Signals and plans are messages, folded by
    whoever reads them."""

    agent: ClassVar[Agent]
    """What the topology says that it sends."""

    def __init__(self, partition: int, partitions: int, origin: type[Origin], rules: Rules) -> None:
        self.rules = rules
        self.partition, self.partitions = partition, partitions
        self.origin = origin
        self.begin()

    def begin(self, version: int = 0) -> None:
        """A batch begins. `version`: of its documents (`Agent.document_version`)."""
        self.version = version
        self.outbox = Outbox(self.partition, self.partitions, self.agent)
        self.again = False  # the records were set aside before
        self.outcomes = OutcomeNote()

    def origin_of(self, said: Input | Signalled, entity: Held, sent: Any) -> Origin:
        """Of the messages that a record causes."""
        return self.origin(sent, entity.tenant, said.recorded_at)

    def signals(self, out: Effects) -> tuple[tuple[Held, UserSignal], ...]:
        return ()

    @abstractmethod
    def emitted(self, entity: Held, out: Effects, said: Input | Signalled, sent: Any) -> Origin: ...

    def encode_waiting(self) -> None:  # noqa: B027 - for those that encode at once
        """Makes messages of what was emitted since, where that has waited: what many records cause
        is encoded in a row, which finds its code and data in the cache."""

    def plan(self, plan: dict[str, Any], turn: Turn, origin: Origin) -> None:
        assert turn.user_id, "a plan is somebody's"
        value = to_json({**plan, "recorded_at": time_text(origin.source.recorded_at)})
        self.outbox.hashed(WRITE_PLANS.name, key_of(turn.tenant, turn.user_id), value, origin)

    def refused(
        self, dead: Dead, error: Exception, entity: Held, said: Input | Signalled, sent: Any
    ) -> None:
        if dead.reason == "fold_failed":
            # not its detail, which may quote the record: that stands in the dead letter
            log.error(
                "%s/%d/%d: fold_failed: %s; turnfold admin dlq list --reason fold_failed",
                sent.topic, sent.partition, sent.offset, type(error).__name__,
                extra={"tenant": entity.tenant, **place(sent, sent.offset)},
            )  # fmt: skip
        self.unreadable(dead, sent)

    def unreadable(self, dead: Dead, sent: Any) -> None:
        origin = self.origin(sent, dead.tenant, sent.timestamp * 1000)
        self.outbox.dead(dead, sent, origin)
        self.outcomes.dead(sent.topic, sent.offset, dead.reason, dead.detail)

    def late(
        self, dead: Dead, late: Late, entity: Held, said: Input | Signalled, sent: Any
    ) -> None:
        """A letter of its own place, from where it can be replayed."""
        waited = Waited(*late.source, sent.key, sent.timestamp)
        origin = self.origin(waited, entity.tenant, sent.timestamp * 1000)
        self.outbox.dead(dead, waited, origin)
        self.outcomes.dead(waited.topic, waited.offset, late.reason, late.detail)
