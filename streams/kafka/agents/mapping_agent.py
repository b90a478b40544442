"""The mapping agent: maps a platform's events into records of the input topics (docs/mapping.md).

A platform's topic has different keys and partitions. So its events are mapped first, and the
records are sent to their owner's partition, in the transaction that also stores the topic's
position. A lane has no rows: its changelog contains only its marker.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from streams.folds.effects import Input
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.outbox import Outbox
from streams.kafka.agents.routing import MAPPED_FROM, route_of
from streams.kafka.client.partitions import partition_of
from streams.kafka.transport.interfaces import Batch, Output, Processor
from streams.kafka.transport.rows import RowStore
from streams.mapping.envelopes import Message
from streams.mapping.mapper import Source
from streams.observability.traces import carried_by
from streams.pipeline.decode import Dead
from streams.topology import MAPPING_AGENT


class MappingAgent(Processor):
    """One partition of one topic. `partitions`: of the input topics."""

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        source: Source,
        partitions: int,
    ) -> None:
        self.source = source
        self.partition, self.partitions = partition % partitions, partitions
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self._note: Mapping[str, Any] = {}
        self._pending: Mapping[str, Any] = {}

    def process(self, messages: Sequence[Any], again: bool = False) -> Batch:
        outbox = Outbox(self.partition, self.partitions, MAPPING_AGENT)
        for message in messages:
            self._map(message, outbox)
        self.counts["read"] += len(messages)
        self.reasons.update(outbox.reasons)
        self._pending = {"counts": dict(self.counts), "reasons": dict(self.reasons)}
        return Batch(outbox.outputs, (), self._pending)

    def _map(self, message: Any, outbox: Outbox) -> None:
        place = (message.topic, message.partition, message.offset)
        envelope = Message(message.topic, message.timestamp, message.key, message.headers)
        decoded, line = self.source.map(message.value, place, envelope)
        if isinstance(decoded, Input):
            route = route_of(decoded.record, line)
            outbox.declared.check(route.topic)
            assert route.key is not None, "a valid record names its owner"
            partition = partition_of(route.key, self.partitions)
            headers = [(MAPPED_FROM, "/".join(map(str, place)).encode()), *carried_by(message)]
            outbox.outputs.append(Output(route.topic, partition, route.key, line, headers))
            self.counts["mapped"] += 1
        elif isinstance(decoded, Dead):
            outbox.dead(decoded, message, Origin(message, decoded.tenant, message.timestamp * 1000))
            self.counts["dead"] += 1
        else:
            self.counts[decoded] += 1

    # --- the verdict ----------------------------------------------------------------------------

    def committed(self) -> None:
        self._note = self._pending

    def rolled_back(self) -> None:
        self.restored(self._note)

    def restored(self, note: Mapping[str, Any]) -> None:
        self._note = note
        self.counts = Counter(note.get("counts", {}))
        self.reasons = Counter(note.get("reasons", {}))
