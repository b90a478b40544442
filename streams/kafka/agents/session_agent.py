"""The session agent: turns and recursions into sessions and tasks."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from streams.errors import ConfigurationError
from streams.extractors.naming import MODEL, NAMES, chosen, in_process, named, version_of
from streams.folds.rules import Rules
from streams.folds.session_state import HEADER, visible
from streams.folds.task import TASKS
from streams.kafka.agents.agent import LEFT_OUT, Agent
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.retention import Retention
from streams.kafka.agents.routing import is_mapped
from streams.kafka.agents.session_messages import SessionMessages
from streams.kafka.agents.table import Held
from streams.kafka.agents.validation import read
from streams.kafka.transport.processing import Batch, Row
from streams.kafka.transport.rows import RowStore
from streams.pipeline.processor import Changed
from streams.pipeline.retention import is_past
from streams.topology import INPUT_BYTES

log = logging.getLogger(__name__)

NONE = "none"
HEADERS_END = f"\0{HEADER}".encode()
"""Of the changelog keys of sessions' headers."""


def _extractor_in(note: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Name and version of the extractor that a marker's note stores; None where it stores none."""
    kept = note.get("extractor", {})
    return kept.get("name"), kept.get("version")


COLD_BYTES = INPUT_BYTES // 2
"""A cold session is one message of the changelog, which has a largest one; a session of more stays
as its rows."""


class SessionAgent(Agent[SessionMessages]):
    """Turns, recursions, tool results, session signals. `retention`: see `Retention`; `extractor`
    finds memory in turns, as write plans that go with what else the turn causes; of a model, which
    is asked afterwards, the rules that come first. It is kept in the marker: None continues with
    what the marker says, or with the default where the marker has none. In a generation with a
    mapping of its own, whose records are in `topics`, what the live one's has made is left out."""

    table_name = "sessions"

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        partitions: int,
        retention: int | None,
        rules: Rules,
        extractor: str | None = None,
        origin: type[Origin] = Origin,
        topics: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(rows, SessionMessages(partition, partitions, origin, rules))
        self.topics = topics or {}
        self.retention = Retention(retention)
        self.told = extractor
        self.extractor = NONE
        self.version: str | None = None
        self._said = ""
        self._choose({})

    def read(self, record: Any) -> Any:
        if not self.topics:
            return super().read(record)
        if record.topic not in self.topics and is_mapped(record):
            return LEFT_OUT
        return read(record, self.partitions, self.topics.get(record.topic))

    def process(self, records: Sequence[Any], again: bool = False) -> Batch:
        if self.retention.horizon is not None:  # whatever comes of a record: its time was seen
            newest = max((one.timestamp for one in records), default=0) * 1000
            self.retention.time = max(self.retention.time, newest)
        return super().process(records, again)

    def finish(self, changed: Changed[Held, Origin]) -> None:
        past = self._past(changed)
        self.emitter.write(changed, past)
        for entity, origin in past.items():
            self._cool(entity, origin)

    # --- retention ------------------------------------------------------------------------------

    def _past(self, changed: Changed[Held, Origin]) -> dict[Held, Origin]:
        """The sessions to be stored cold: those of this batch that are past their retention, and
        some of the others."""
        horizon, touched = self.retention.horizon, self.emitter.opened | changed.sessions
        if horizon is None or not touched:
            return {}
        origin = next(reversed(touched.values()))
        due = {self.table.find(where): origin for where in self.retention.due()} | touched
        past: dict[Held, Origin] = {}
        for entity, origin in due.items():
            updated_at = visible(entity, entity[HEADER], self.emitter.rules).updated_at
            if is_past(updated_at, horizon):
                if len(entity.pack()) <= COLD_BYTES:
                    past[entity] = origin
                else:  # one message cannot hold it
                    self.retention.file(entity.prefix, None)
            else:  # of a turn that has not ended, a header does not tell
                self.retention.file(entity.prefix, updated_at)
        return past

    def _cool(self, entity: Held, origin: Origin) -> None:
        """Stores a session cold. Its keys in the compacted topics end; so they have, if it was cold
        before."""
        if entity.cold is None:
            self.emitter.end(entity, TASKS.ids(entity), origin)
            self.counts["sessions_cooled"] += 1
        entity.cool(compressed=False)
        self.table.keep(entity)

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        note = super().note()
        note["stream_time"] = self.retention.time
        note["extractor"] = {"name": self.extractor, "version": self.version}
        return note

    def has_news(self) -> bool:
        return _extractor_in(self._note) != (self.extractor, self.version)

    def _choose(self, note: Mapping[str, Any]) -> None:
        """As told, else as the marker says; what somebody may not know is logged, once."""
        known, known_version = _extractor_in(note)
        name = chosen(self.told, known)
        if name not in (*NAMES, MODEL):
            raise ConfigurationError(
                f"memory was made by {name!r}, which this version does not have; give --extractor "
                f"with one of {', '.join((*NAMES, MODEL))}"
            )
        if name != self.extractor:
            first = in_process(name)
            self.extractor, self.version = name, version_of(first)
            self.processor.extract = named(first)
        said = ""
        if not note or name == (known or NONE) == NONE:
            return
        if name != known:
            said = f"memory is made by {name} from now on, until now by {known or NONE}"
        elif self.version != known_version:
            said = f"memory is made by {name} {self.version} from now on, not {known_version}"
        elif self.told is None:
            said = f"memory is made by {name}, as before; --extractor {NONE} ends it"
        if said not in ("", self._said):
            log.info("session-%d: %s", self.partition, said)
            self._said = said

    def found(self, heads: Sequence[Row]) -> None:
        for key, header in heads:
            if key.endswith(HEADERS_END):
                self.retention.saw(key.removesuffix(HEADERS_END), header)

    def restored(self, note: Mapping[str, Any]) -> None:
        super().restored(note)
        self.retention.time = note.get("stream_time", 0)
        self._choose(note)

    def reset(self) -> None:
        self.retention.clear()
        super().reset()
