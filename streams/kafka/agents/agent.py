"""What the topology's agents share on the transport (docs/kafka-tier.md).

A processor decodes a batch, folds it record by record, and gives back what is to be written:
every record's history rows, the newest document of each key that changed, the changed rows. What
a record ends as is counted in the note, and so commits with the batch.
"""

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from streams.folds.rows import Effects, Input, Refused
from streams.folds.rules import Rules
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.outbox import Outbox, TooLarge
from streams.kafka.agents.outcomes import NOTED, Ends
from streams.kafka.agents.table import Held, Table
from streams.kafka.agents.validation import read
from streams.kafka.transport.processing import Batch, Row
from streams.kafka.transport.rows import RowStore
from streams.observing.logs import place
from streams.pipeline.apply import dead_of, verdict
from streams.pipeline.decode import Dead

log = logging.getLogger(__name__)

STEP = 128
"""Records that are decoded, then folded, then told of: each finds its code and data in the
cache."""


class Waited(NamedTuple):
    """A record that was applied and turned out to fit nothing, as another one showed."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    timestamp: int
    headers: tuple[()] = ()


class Agent(ABC):
    """What both processors share: implements `transport.processing.Processor`. `origin`: what their
    messages say of where they are from. `rules`: what is folded under."""

    table_name: ClassVar[str]

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        partitions: int,
        origin: type[Origin] = Origin,
        rules: Rules | None = None,
    ) -> None:
        self.rules = rules or Rules()
        self.origin = origin
        self.partition, self.partitions = partition, partitions
        self.table = Table(self.table_name, rows)
        self.outbox = Outbox(partition, partitions)
        self.counts: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.ends = Ends()
        self._note: Mapping[str, Any] = {}
        self._pending: Mapping[str, Any] = {}

    # --- one batch ------------------------------------------------------------------------------

    def process(self, records: Sequence[Any]) -> Batch:
        self.outbox, self.ends = Outbox(self.partition, self.partitions), Ends()
        for at in range(0, len(records), STEP):
            some = records[at : at + STEP]
            for record, given in zip(some, [self.read(one) for one in some], strict=True):
                ending = self.apply(record, given)
                self.counts[ending] += 1
                if ending == "duplicate":
                    self.ends.duplicate(record.topic, record.offset)
            self.tell()
        self.finish()
        if self.outbox.left_out:
            self.warnings["too_large_left_out"] += self.outbox.left_out
        self.reasons.update(self.outbox.reasons)
        self._pending = self.note()
        misplaced = self.outbox.reasons["wrong_partition"] > 0
        return Batch(self.outbox.outputs, self.table.changes(), self._pending, misplaced)

    def read(self, record: Any) -> Any:
        return read(record, self.partitions)

    def apply(self, record: Any, given: Any) -> str:
        """What one record ends as."""
        self.counts["read"] += 1
        if type(given) is Input:
            return self.fold(record, given)
        return self.bury(record, given) if isinstance(given, Dead) else "withheld"

    @abstractmethod
    def fold(self, record: Any, given: Input) -> str:
        """What a record ends as that could be read."""

    def tell(self) -> None:  # noqa: B027 - for those that do not tell at once
        """The messages of the records folded since."""

    @abstractmethod
    def finish(self) -> None:
        """The newest documents of what changed."""

    def bury(self, record: Any, dead: Dead) -> str:
        origin = self.origin(record, dead.tenant, record.timestamp * 1000)
        self.outbox.dead(dead, record, origin)
        self.ends.dead(record.topic, record.offset, dead.reason, dead.detail)
        return "dead"

    def refuse(self, record: Any, entity: Held, occurred_at: int, error: Exception) -> str:
        """A record whose fold raised leaves nothing but its dead letter, unless it keeps more."""
        if isinstance(error, Refused) and error.keeps:
            self.table.keep(entity)
        entity.rollback()
        reason, detail = (
            ("too_large", str(error)) if isinstance(error, TooLarge) else verdict(error)
        )
        if reason == "fold_failed":
            # not its detail, which may quote the record: that stands in the dead letter
            log.error(
                "%s/%d/%d: fold_failed: %s; turnfold dlq list --reason fold_failed",
                record.topic, record.partition, record.offset, type(error).__name__,
                extra={"tenant": entity.tenant, **place(record, record.offset)},
            )  # fmt: skip
        dead = Dead(reason, detail, record.value, entity.tenant, None, occurred_at)
        return self.bury(record, dead)

    def keep(self, record: Any, entity: Held, out: Effects) -> None:
        """The record was applied: its rows stay, and those that it found to fit nothing go."""
        self.table.keep(entity)
        if out.warnings:
            self.warnings.update(out.warnings)
        for late in out.late:  # a letter of its own place, from where it can be replayed
            waited = Waited(*late.source, record.key, record.timestamp)
            place = self.origin(waited, entity.tenant, record.timestamp * 1000)
            self.outbox.dead(dead_of(late, entity.tenant), waited, place)
            self.ends.dead(late.source[0], late.source[2], late.reason, late.detail)
            self.counts["applied"] -= 1
            self.counts["dead"] += 1
        if out.revived:
            self.counts["applied"] += out.revived
            self.counts["dead"] -= out.revived

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        """What the marker keeps."""
        return {
            "counts": dict(self.counts),
            "warnings": dict(self.warnings),
            "reasons": dict(self.reasons),
            NOTED: self.ends.runs,
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

    def found(self, heads: Sequence[Row]) -> None:  # noqa: B027 - most want nothing of it
        """Rows that are the table's now. Nothing is kept beside them."""

    def restored(self, note: Mapping[str, Any]) -> None:
        self._note = note
        self.counts = Counter(note.get("counts", {}))
        self.warnings = Counter(note.get("warnings", {}))
        self.reasons = Counter(note.get("reasons", {}))

    def has_news(self) -> bool:
        return False

    def reset(self) -> None:
        self.table.forget()
        self.restored({})
