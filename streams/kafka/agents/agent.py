"""Base of the topology's agents on the transport: a batch of messages in, messages and changed rows
out.

`RecordProcessor` decides each record's outcome. Outcomes are counted in the note, and so commit
with the batch.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from time import thread_time
from typing import Any, ClassVar, Generic, TypeVar

from schemas.row import replace
from streams.erasure_keys.encrypted_values import NEEDS_KEYS
from streams.errors import ConfigurationError
from streams.folds.effects import Input
from streams.kafka.agents import marker_constants
from streams.kafka.agents.emitter import MessageEmitter
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.log_clock import LogClock
from streams.kafka.agents.outcomes import NOTED
from streams.kafka.agents.table import EntityTable, LaneEntity
from streams.kafka.agents.validation import validate
from streams.kafka.transport.interfaces import Batch, Processor, Row
from streams.kafka.transport.rows import RowStore
from streams.pipeline import clock_ahead
from streams.pipeline.decode import Dead
from streams.pipeline.processor import Changed, RecordProcessor
from streams.record_kinds import kind_of

STEP = 128
"""Messages decoded, then folded, then encoded at a time: code and data stay in the CPU cache."""

DOCUMENT_VERSION = "document_version"
"""In a marker's note: an integer; a repartition gives its maximum to every lane."""
HAS_KEYS = "has_keys"
"""In a marker's note: rows may be encrypted."""
LEFT_OUT = "left_out"
"""A record derived for the live memory, which a generation skips."""

M = TypeVar("M", bound=MessageEmitter)


class LaneAgent(Processor, Generic[M]):
    """Base of both agents."""

    table_name: ClassVar[str]

    def __init__(self, rows: RowStore, emitter: M) -> None:
        self.partition, self.partitions = emitter.partition, emitter.partitions
        self.table = EntityTable(self.table_name, rows)
        self.has_keys = rows.has_keys
        self.emitter = emitter
        self.processor: RecordProcessor[LaneEntity, Any, Origin] = RecordProcessor(
            self.table, emitter, emitter.rules
        )
        self.reasons: Counter[str] = Counter()
        self.clock = LogClock()
        self.document_version = 0
        """Version of the last batch's documents: microseconds of the log's time, at least one more
        per batch. It grows even if lanes continue from the maximum of several
        (`repartition_places.merged`), or the same topics are folded again from the start."""
        self._note: Mapping[str, Any] = {}
        self._pending: Mapping[str, Any] = {}

    @property
    def counts(self) -> Counter[str]:
        """Records by outcome, since the lane was created."""
        return self.processor.counts

    # --- one batch ------------------------------------------------------------------------------

    def process(self, messages: Sequence[Any], again: bool = False) -> Batch:
        emitter = self.emitter
        self.table.drop_erased()
        messages = self.clock.dated(messages, again)
        self.document_version = max(self.document_version + 1, self.clock.newest * 1000)
        emitter.begin(self.document_version)
        emitter.again = again
        self.processor.take_changed()  # drops an aborted batch's
        for start in range(0, len(messages), STEP):
            part = messages[start : start + STEP]
            for message, decoded in zip(part, list(map(self.decode, part)), strict=True):
                started = thread_time() if self.charge else 0.0
                ending = self.apply(message, decoded)
                if self.charge:
                    self.charge(message, thread_time() - started)
                if ending == "duplicate":
                    emitter.outcomes.duplicate(message.topic, message.offset)
                elif ending == "withheld":
                    emitter.outcomes.withheld(message.topic, message.offset)
            emitter.encode_waiting()
        self.finish(self.processor.take_changed())
        outbox = emitter.outbox
        if outbox.left_out:
            self.processor.warnings["too_large_left_out"] += outbox.left_out
        self.reasons.update(outbox.reasons)
        self._pending = self.note()
        misplaced = outbox.reasons["wrong_partition"] > 0
        return Batch(outbox.outputs, self.table.changes(), self._pending, misplaced)

    def decode(self, message: Any) -> Any:
        return validate(message, self.partitions)

    def apply(self, message: Any, decoded: Any) -> str:
        """Folds one decoded message; returns its outcome counter."""
        if decoded is LEFT_OUT:
            self.counts["read"] += 1
            self.counts[LEFT_OUT] += 1
            return "left_out"
        if type(decoded) is Input:
            decoded = replace(decoded, recorded_at=message.timestamp * 1000)
            if decoded.record.occurred_at > decoded.recorded_at + clock_ahead.MOST:
                decoded = clock_ahead.dead(decoded, message.value)
        if self.has_keys and self._is_erased(decoded, message.key):
            decoded = "withheld"
        return self.processor.process(decoded, message.value, message).ending

    def _is_erased(self, decoded: Any, key: bytes | None) -> bool:
        """Whether its session's or user's key was destroyed after a record occurred: it was sent
        again, or was on its way. A dead letter without a time counts as old."""
        is_erased = self.table.is_erased
        if isinstance(decoded, Dead):
            tenant, _, owner = (key or b"").decode(errors="replace").partition("/")
            return is_erased(tenant, owner, decoded.occurred_at or 0)
        if type(decoded) is not Input:
            return False
        record: Any = decoded.record
        owner = getattr(record, kind_of(record).owner)
        user_id = getattr(record, "user_id", None)
        return is_erased(record.tenant, owner, record.occurred_at) or (
            user_id is not None and is_erased(record.tenant, user_id, record.occurred_at, "users")
        )

    @abstractmethod
    def finish(self, changed: Changed[LaneEntity, Origin]) -> None:
        """Writes the newest documents of changed entities."""

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        return {
            "counts": dict(self.processor.counts),
            "warnings": dict(self.processor.warnings),
            "reasons": dict(self.reasons),
            NOTED: self.emitter.outcomes.runs,
            **self.clock.to_note(),
            DOCUMENT_VERSION: self.document_version,
            **({HAS_KEYS: True} if self.has_keys else {}),
            **marker_constants.to_note(self.emitter.rules),
        }

    def committed(self) -> None:
        self._note = self._pending
        self.index_rows(self.table.committed())

    def rolled_back(self) -> None:
        self.table.rolled_back()
        self.restored(self._note)

    def restore(self, rows: Sequence[Row]) -> None:
        self.table.restore(rows)
        self.index_rows(rows)

    def restored(self, note: Mapping[str, Any]) -> None:
        marker_constants.check(note, self.emitter.rules)
        if note.get(HAS_KEYS) and not self.has_keys:
            raise ConfigurationError(f"{self.table_name}: rows are {NEEDS_KEYS}")
        self._note = note
        self.clock.restore(note)
        self.document_version = note.get(DOCUMENT_VERSION, 0)
        self.processor.counts = Counter(note.get("counts", {}))
        self.processor.warnings = Counter(note.get("warnings", {}))
        self.reasons = Counter(note.get("reasons", {}))

    def drop_erased(self) -> None:
        self.table.drop_erased()

    def reset(self) -> None:
        self.table.forget()
        super().reset()
