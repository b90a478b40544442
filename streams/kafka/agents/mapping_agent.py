"""The mapping agent: events of another shape into the input topics, as records (docs/mapping.md).

A platform's topic has keys and partitions of its own. So its events are mapped first, and what they
become goes to where its owner's records are, in the transaction that also says how far the topic
was read. A lane has no rows: its changelog holds its marker alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from streams.folds.rows import Input
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.outbox import Outbox
from streams.kafka.agents.routing import MAPPED_FROM, route_of
from streams.kafka.client.partitions import partition_of
from streams.kafka.transport.processing import Batch, Output, Row
from streams.kafka.transport.rows import RowStore
from streams.mapping.envelopes import Message
from streams.mapping.mapper import Source
from streams.observing.traces import carried_by
from streams.pipeline.decode import Dead
from streams.topology import MAPPING_AGENT


class MappingAgent:
    """One partition of one topic: implements `transport.processing.Processor`. `partitions`: of
    the input topics."""

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        source: Source,
        partitions: int,
        origin: type[Origin] = Origin,
    ) -> None:
        self.source = source
        self.partition, self.partitions = partition % partitions, partitions
        self.origin = origin
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self._note: Mapping[str, Any] = {}
        self._pending: Mapping[str, Any] = {}

    def process(self, records: Sequence[Any], again: bool = False) -> Batch:
        outbox = Outbox(self.partition, self.partitions, MAPPING_AGENT)
        for record in records:
            self._map(record, outbox)
        self.counts["read"] += len(records)
        self.reasons.update(outbox.reasons)
        self._pending = {"counts": dict(self.counts), "reasons": dict(self.reasons)}
        return Batch(outbox.outputs, (), self._pending)

    def _map(self, record: Any, outbox: Outbox) -> None:
        place = (record.topic, record.partition, record.offset)
        message = Message(record.topic, record.timestamp, record.key, record.headers)
        found, line = self.source.map(record.value, place, message)
        if isinstance(found, Input):
            way = route_of(found.record, line)
            outbox.declared.check(way.topic)
            assert way.key is not None, "a valid record names its owner"
            to = partition_of(way.key, self.partitions)
            headers = [(MAPPED_FROM, "/".join(map(str, place)).encode()), *carried_by(record)]
            outbox.outputs.append(Output(way.topic, to, way.key, line, headers))
            self.counts["mapped"] += 1
        elif isinstance(found, Dead):
            outbox.dead(found, record, self.origin(record, found.tenant, record.timestamp * 1000))
            self.counts["dead"] += 1
        else:
            self.counts[found] += 1

    # --- the verdict ----------------------------------------------------------------------------

    def committed(self) -> None:
        self._note = self._pending

    def rolled_back(self) -> None:
        self.restored(self._note)

    def restore(self, rows: Sequence[Row]) -> None:
        """It has no rows."""

    def found(self, heads: Sequence[Row]) -> None:
        """It has no rows."""

    def restored(self, note: Mapping[str, Any]) -> None:
        self._note = note
        self.counts = Counter(note.get("counts", {}))
        self.reasons = Counter(note.get("reasons", {}))

    def has_news(self) -> bool:
        return False

    def reset(self) -> None:
        self.restored({})
