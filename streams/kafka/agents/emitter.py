"""Base emitter of both agents: turns effects of records into the messages of a batch."""

import logging
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from schemas.events import Turn
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, Late, UserSignal
from streams.kafka.agents.encoding import Origin, key_of, time_text, to_json
from streams.kafka.agents.log_clock import DatedMessage
from streams.kafka.agents.outbox import Outbox
from streams.kafka.agents.outcomes import OutcomeNote
from streams.kafka.agents.table import LaneEntity
from streams.observability.logs import place
from streams.pipeline.decode import Dead
from streams.pipeline.interfaces import Signalled
from streams.topology import WRITE_PLANS, Agent

log = logging.getLogger(__name__)


FoldedRecord = Input | Signalled


class MessageEmitter(ABC):
    """Builds the messages of a batch: an `Emitter` of Kafka messages. `rules`: constants of the
    folds. Signals and plans become messages, folded by their readers."""

    agent: ClassVar[Agent]
    """The topology's declaration of its outputs."""

    def __init__(self, partition: int, partitions: int, rules: Rules) -> None:
        self.rules = rules
        self.partition, self.partitions = partition, partitions
        self.begin()

    def begin(self, version: int = 0) -> None:
        """Starts a batch. `version`: of its documents (`LaneAgent.document_version`)."""
        self.version = version
        self.outbox = Outbox(self.partition, self.partitions, self.agent)
        self.again = False  # second pass of set-aside messages
        self.outcomes = OutcomeNote()

    def origin_of(self, record: FoldedRecord, entity: LaneEntity, message: Any) -> Origin:
        return Origin(message, entity.tenant, record.recorded_at)

    def signals(self, effects: Effects) -> tuple[tuple[LaneEntity, UserSignal], ...]:
        return ()

    @abstractmethod
    def emitted(
        self, entity: LaneEntity, effects: Effects, record: FoldedRecord, message: Any
    ) -> Origin: ...

    def encode_waiting(self) -> None:  # noqa: B027 - for those that encode at once
        """Encodes effects that were queued by `emitted`: encoding many in a row keeps code and data
        in the CPU cache."""

    def plan(self, plan: dict[str, Any], turn: Turn, origin: Origin) -> None:
        assert turn.user_id, "a plan has an owner"
        value = to_json({**plan, "recorded_at": time_text(origin.source.recorded_at)})
        self.outbox.hashed(WRITE_PLANS.name, key_of(turn.tenant, turn.user_id), value, origin)

    def refused(
        self, dead: Dead, error: Exception, entity: LaneEntity, record: FoldedRecord, message: Any
    ) -> None:
        if dead.reason == "fold_failed":
            # without the detail, which may quote the record: the dead letter has it
            log.error(
                "%s/%d/%d: fold_failed: %s; turnfold admin dlq list --reason fold_failed",
                message.topic, message.partition, message.offset, type(error).__name__,
                extra={"tenant": entity.tenant, **place(message, message.offset)},
            )  # fmt: skip
        self.unreadable(dead, message)

    def unreadable(self, dead: Dead, message: Any) -> None:
        origin = Origin(message, dead.tenant, message.timestamp * 1000)
        self.outbox.dead(dead, message, origin)
        self.outcomes.dead(message.topic, message.offset, dead.reason, dead.detail)

    def late(
        self, dead: Dead, late: Late, entity: LaneEntity, record: FoldedRecord, message: Any
    ) -> None:
        """Writes a dead letter at the late record's position, from where it can be replayed."""
        late_message = DatedMessage(*late.source, message.key, None, (), message.timestamp)
        origin = Origin(late_message, entity.tenant, message.timestamp * 1000)
        self.outbox.dead(dead, late_message, origin)
        self.outcomes.dead(late_message.topic, late_message.offset, late.reason, late.detail)
