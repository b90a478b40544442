"""What the topology's agents share on the transport: a batch of records in, messages and changed
rows out.

What a record ends as is `RecordProcessor`'s to say. It is counted in the note, and so commits with
the batch.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from schemas.row import replace
from streams.folds.rows import Input
from streams.kafka.agents import noted_rules
from streams.kafka.agents.emitter import MessageEmitter
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.log_clock import LogClock
from streams.kafka.agents.outcomes import NOTED
from streams.kafka.agents.table import Held, Table
from streams.kafka.agents.validation import read
from streams.kafka.transport.processing import Batch, Row
from streams.kafka.transport.rows import RowStore
from streams.pipeline import ahead
from streams.pipeline.processor import Changed, RecordProcessor

STEP = 128
"""Records that are decoded, then folded, then encoded: each finds its code and data in the
cache."""

DOCUMENT_VERSION = "document_version"
"""In a marker's note: an integer, of which a repartition takes the greatest for every lane."""
LEFT_OUT = "left_out"
"""A record that a generation passes over: it was made for the live memory."""

M = TypeVar("M", bound=MessageEmitter)


class Agent(ABC, Generic[M]):
    """What both agents share: implements `transport.processing.Processor`."""

    table_name: ClassVar[str]

    def __init__(self, rows: RowStore, emitter: M) -> None:
        self.partition, self.partitions = emitter.partition, emitter.partitions
        self.table = Table(self.table_name, rows)
        self.emitter = emitter
        self.processor: RecordProcessor[Held, Any, Origin] = RecordProcessor(
            self.table, emitter, emitter.rules
        )
        self.reasons: Counter[str] = Counter()
        self.clock = LogClock()
        self.document_version = 0
        """Of the last batch's documents: microseconds of the log's time, one more at least with
        each batch. So it grows where lanes continue from the latest of several
        (`repartition_places.merged`), and where the same topics are folded again from nothing."""
        self._note: Mapping[str, Any] = {}
        self._pending: Mapping[str, Any] = {}

    @property
    def counts(self) -> Counter[str]:
        """Records by what they ended as, since the lane began."""
        return self.processor.counts

    # --- one batch ------------------------------------------------------------------------------

    def process(self, records: Sequence[Any], again: bool = False) -> Batch:
        emitter = self.emitter
        records = self.clock.dated(records, again)
        self.document_version = max(self.document_version + 1, self.clock.newest * 1000)
        emitter.begin(self.document_version)
        emitter.again = again
        self.processor.take_changed()  # of a batch that did not end
        for at in range(0, len(records), STEP):
            some = records[at : at + STEP]
            for record, found in zip(some, [self.read(one) for one in some], strict=True):
                if self.apply(record, found) == "duplicate":
                    emitter.outcomes.duplicate(record.topic, record.offset)
            emitter.encode_waiting()
        self.finish(self.processor.take_changed())
        outbox = emitter.outbox
        if outbox.left_out:
            self.processor.warnings["too_large_left_out"] += outbox.left_out
        self.reasons.update(outbox.reasons)
        self._pending = self.note()
        misplaced = outbox.reasons["wrong_partition"] > 0
        return Batch(outbox.outputs, self.table.changes(), self._pending, misplaced)

    def read(self, record: Any) -> Any:
        return read(record, self.partitions)

    def apply(self, record: Any, found: Any) -> str:
        """Folds one record; under which name it is counted."""
        if found is LEFT_OUT:
            self.counts["read"] += 1
            self.counts[LEFT_OUT] += 1
            return "left_out"
        if type(found) is Input:
            found = replace(found, recorded_at=record.timestamp * 1000)
            if found.record.occurred_at > found.recorded_at + ahead.MOST:
                found = ahead.dead(found, record.value)
        return self.processor.process(found, record.value, record).ending

    @abstractmethod
    def finish(self, changed: Changed[Held, Origin]) -> None:
        """The newest documents of what changed."""

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        """What the marker keeps."""
        return {
            "counts": dict(self.processor.counts),
            "warnings": dict(self.processor.warnings),
            "reasons": dict(self.reasons),
            NOTED: self.emitter.outcomes.runs,
            **self.clock.to_note(),
            DOCUMENT_VERSION: self.document_version,
            **noted_rules.to_note(self.emitter.rules),
        }

    def committed(self) -> None:
        self._note = self._pending
        self.found(self.table.committed())

    def rolled_back(self) -> None:
        self.table.rolled_back()
        self.restored(self._note)

    def restore(self, rows: Sequence[Row]) -> None:
        self.table.restore(rows)
        self.found(rows)

    def found(self, heads: Sequence[Row]) -> None:
        """Rows that are the table's now. Nothing is kept beside them."""

    def restored(self, note: Mapping[str, Any]) -> None:
        noted_rules.check(note, self.emitter.rules)
        self._note = note
        self.clock.restore(note)
        self.document_version = note.get(DOCUMENT_VERSION, 0)
        self.processor.counts = Counter(note.get("counts", {}))
        self.processor.warnings = Counter(note.get("warnings", {}))
        self.reasons = Counter(note.get("reasons", {}))

    def has_news(self) -> bool:
        return False

    def reset(self) -> None:
        self.table.forget()
        self.restored({})
