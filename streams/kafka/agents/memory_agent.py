"""The memory agent: signals and write plans into a user's long-term memory."""

from collections.abc import Mapping
from typing import Any

from streams.extractors.naming import MODEL, OURS
from streams.folds.rows import Input
from streams.folds.rules import Rules
from streams.kafka.agents import user_signal
from streams.kafka.agents.agent import LEFT_OUT, Agent
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.memory_messages import MemoryMessages
from streams.kafka.agents.routing import is_mapped
from streams.kafka.agents.table import Held
from streams.kafka.agents.validation import read
from streams.kafka.transport.rows import RowStore
from streams.pipeline.decode import dead
from streams.pipeline.processor import Changed
from streams.topology import USER_SIGNALS

HAS_MODEL = "has_model"
"""In a generation's note."""


class MemoryAgent(Agent[MemoryMessages]):
    """What turns mean for their users, posted signals, write plans.

    In a generation, whose sources `topics` names, what was made for the live memory is left out,
    hops and an extractor's plans: it has its own; so has one that `maps`. Plans of the live
    memory's models are left out where a model makes the generation's: `extractor` says so, and the
    marker, where that is None."""

    table_name = "users"

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        partitions: int,
        rules: Rules,
        topics: Mapping[str, str] | None = None,
        origin: type[Origin] = Origin,
        maps: bool = False,
        extractor: str | None = None,
    ) -> None:
        super().__init__(rows, MemoryMessages(partition, partitions, origin, rules))
        self.told = extractor
        self.has_model = extractor == MODEL and bool(topics)
        self.maps = maps
        self.topics = topics or {}  # of sources with a name of their own: the topology's
        self.hops: dict[str, int] = {}  # the newest hop of each source partition

    def read(self, record: Any) -> Any:
        topic = self.topics.get(record.topic, record.topic)
        if self.maps and record.topic not in self.topics and is_mapped(record):
            return LEFT_OUT
        if topic == USER_SIGNALS.name and record.headers and record.value is not None:
            try:
                received = user_signal.read(record)
            except ValueError as error:
                return dead("invalid", f"not a signal of this program: {error}", record.value)
            if received is not None:
                return received
        return read(record, self.partitions, topic)

    def apply(self, record: Any, found: Any) -> str:
        if type(found) is user_signal.Received:
            ending = self._apply_hop(record, found)
            self.counts[ending] += 1
            return ending
        if self.topics and type(found) is Input and found.record.type == "write_plan":
            if record.topic in self.topics:  # its own: learnt when the turn was recorded
                return self.processor.process(found, record.value, record).ending
            name: str = found.record.extractor.name  # type: ignore[attr-defined]
            if name in OURS or (self.has_model and name.startswith(f"{MODEL}/")):
                return super().apply(record, LEFT_OUT)
        return super().apply(record, found)

    def _apply_hop(self, record: Any, hop: user_signal.Received) -> str:
        """A hop is no input record, so that it is counted apart. An agent that folds its topics
        again says again what it said before."""
        if self.topics and record.topic not in self.topics:
            return "hops_left_out"
        if user_signal.is_repeated(hop.source, hop.offset, self.hops):
            return "hops_repeated"
        self.hops[hop.source] = hop.offset
        outcome = self.processor.signal(hop.said, record.value, record)
        return "hops_dead" if outcome.ending == "dead" else "hops"

    def finish(self, changed: Changed[Held, Origin]) -> None:
        self.emitter.write(changed)

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        note = super().note()
        note["hops"] = dict(self.hops)
        if self.has_model:
            note[HAS_MODEL] = True
        return note

    def has_news(self) -> bool:
        return self.has_model is not self._note.get(HAS_MODEL, False)

    def restored(self, note: Mapping[str, Any]) -> None:
        super().restored(note)
        self.hops = dict(note.get("hops", {}))
        if self.told is None:
            self.has_model = note.get(HAS_MODEL, False)
