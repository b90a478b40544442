"""The memory agent: folds signals and write plans into users' long-term memory."""

from collections.abc import Mapping
from typing import Any

from streams.extractors.registry import MODEL, modules
from streams.folds.constants import Rules
from streams.folds.effects import Input
from streams.kafka.agents import user_signal
from streams.kafka.agents.agent import LEFT_OUT, LaneAgent
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.memory_messages import MemoryEmitter
from streams.kafka.agents.routing import is_mapped
from streams.kafka.agents.table import LaneEntity
from streams.kafka.agents.validation import validate
from streams.kafka.transport.rows import RowStore
from streams.pipeline.decode import dead
from streams.pipeline.processor import Changed
from streams.topology import USER_SIGNALS

HAS_MODEL = "has_model"
"""Name in a generation's note."""


class MemoryAgent(LaneAgent[MemoryEmitter]):
    """Folds user signals of turns, posted signals and write plans.

    A generation (`topics` names its sources) skips hops and extractor plans of the live memory: it
    has its own; likewise records of the live mapping if it `maps`. It skips plans of the live
    memory's models if a model makes the generation's plans: according to `extractor`, or to the
    marker if that is None.
    """

    table_name = "users"

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        partitions: int,
        rules: Rules,
        topics: Mapping[str, str] | None = None,
        maps: bool = False,
        extractor: str | None = None,
    ) -> None:
        super().__init__(rows, MemoryEmitter(partition, partitions, rules))
        self.configured_extractor = extractor
        self.has_model = extractor == MODEL and bool(topics)
        self.maps = maps
        self.topics = topics or {}  # topology name of a generation's sources
        self.hops: dict[str, int] = {}  # the newest hop of each source partition

    def decode(self, message: Any) -> Any:
        topic = self.topics.get(message.topic, message.topic)
        if self.maps and message.topic not in self.topics and is_mapped(message):
            return LEFT_OUT
        if topic == USER_SIGNALS.name and message.headers and message.value is not None:
            try:
                hop = user_signal.decode_hop(message)
            except ValueError as error:
                return dead("invalid", f"not a signal of this program: {error}", message.value)
            if hop is not None:
                return hop
        return validate(message, self.partitions, topic)

    def apply(self, message: Any, decoded: Any) -> str:
        if type(decoded) is user_signal.ReceivedHop:
            ending = self._apply_hop(message, decoded)
            self.counts[ending] += 1
            return ending
        if self.topics and type(decoded) is Input and decoded.record.type == "write_plan":
            if message.topic in self.topics:  # the generation's plan, dated like its turn
                return self.processor.process(decoded, message.value, message).ending
            name: str = decoded.record.extractor.name  # type: ignore[attr-defined]
            if name in modules() or (self.has_model and name.startswith(f"{MODEL}/")):
                return super().apply(message, LEFT_OUT)
        return super().apply(message, decoded)

    def _apply_hop(self, message: Any, hop: user_signal.ReceivedHop) -> str:
        """Folds a hop. Hops are counted separately, since they are not input records. An agent that
        folds its topics again also sends its hops again."""
        if self.topics and message.topic not in self.topics:
            return "hops_left_out"
        if user_signal.is_repeated(hop.source, hop.offset, self.hops):
            return "hops_repeated"
        self.hops[hop.source] = hop.offset
        signal = hop.signal.signal
        if self.has_keys and self.table.is_erased(
            hop.signal.tenant, signal.user_id, signal.occurred_at
        ):
            return "hops_left_out"
        outcome = self.processor.signal(hop.signal, message.value, message)
        return "hops_dead" if outcome.ending == "dead" else "hops"

    def finish(self, changed: Changed[LaneEntity, Origin]) -> None:
        self.emitter.write(changed)

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        note = super().note()
        note["hops"] = dict(self.hops)
        if self.has_model:
            note[HAS_MODEL] = True
        return note

    def needs_marker(self) -> bool:
        return self.has_model is not self._note.get(HAS_MODEL, False)

    def restored(self, note: Mapping[str, Any]) -> None:
        super().restored(note)
        self.hops = dict(note.get("hops", {}))
        if self.configured_extractor is None:
            self.has_model = note.get(HAS_MODEL, False)
