"""The session agent: folds turns and recursions into sessions and tasks."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from streams.errors import ConfigurationError
from streams.extractors.registry import (
    NONE,
    choices,
    chosen,
    in_process,
    is_choice,
    named,
    version_of,
)
from streams.folds.constants import Rules
from streams.folds.session_state import HEADER, visible
from streams.folds.task import TASKS
from streams.kafka.agents.agent import LEFT_OUT, LaneAgent
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.retention import Retention
from streams.kafka.agents.routing import is_mapped
from streams.kafka.agents.session_messages import SessionEmitter
from streams.kafka.agents.table import LaneEntity
from streams.kafka.agents.validation import validate
from streams.kafka.transport.interfaces import Batch, Row
from streams.kafka.transport.rows import RowStore
from streams.pipeline.processor import Changed
from streams.pipeline.retention import is_past
from streams.topology import INPUT_BYTES

log = logging.getLogger(__name__)

HEADERS_END = f"\0{HEADER}".encode()
"""Suffix of the changelog keys of session headers."""


def _extractor_in(note: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Name and version of the extractor in a marker's note, or None if absent."""
    entry = note.get("extractor", {})
    return entry.get("name"), entry.get("version")


COLD_BYTES = INPUT_BYTES // 2
"""Maximum bytes of a cold session, which is one message of the changelog; larger sessions stay as
rows."""


class SessionAgent(LaneAgent[SessionEmitter]):
    """Folds turns, recursions, tool results and session signals. `retention`: see `Retention`.
    `extractor` finds memory in turns, as write plans sent with the turn's other effects; for a
    model, which runs later, the rules that run first. The marker stores it, and None continues with
    the marker's, or the default. A generation with a separate mapping (its records are in `topics`)
    skips records of the live mapping."""

    table_name = "sessions"

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        partitions: int,
        retention: int | None,
        rules: Rules,
        extractor: str | None = None,
        topics: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(rows, SessionEmitter(partition, partitions, rules))
        self.topics = topics or {}
        self.retention = Retention(retention)
        self.configured_extractor = extractor
        self.extractor = NONE
        self.version: str | None = None
        self._logged = ""
        self._choose({})

    def decode(self, message: Any) -> Any:
        if not self.topics:
            return super().decode(message)
        if message.topic not in self.topics and is_mapped(message):
            return LEFT_OUT
        return validate(message, self.partitions, self.topics.get(message.topic))

    def process(self, messages: Sequence[Any], again: bool = False) -> Batch:
        if self.retention.horizon is not None:  # rejected messages advance the time as well
            newest = max((message.timestamp for message in messages), default=0) * 1000
            self.retention.time = max(self.retention.time, newest)
        return super().process(messages, again)

    def finish(self, changed: Changed[LaneEntity, Origin]) -> None:
        past = self._past(changed)
        self.emitter.write(changed, past)
        for entity, origin in past.items():
            self._cool(entity, origin)

    # --- retention ------------------------------------------------------------------------------

    def _past(self, changed: Changed[LaneEntity, Origin]) -> dict[LaneEntity, Origin]:
        """Sessions past their retention, to store cold: the batch's own, and some others."""
        horizon, touched = self.retention.horizon, self.emitter.opened | changed.sessions
        if horizon is None or not touched:
            return {}
        origin = next(reversed(touched.values()))
        due = {self.table.find(where): origin for where in self.retention.due()} | touched
        past: dict[LaneEntity, Origin] = {}
        for entity, origin in due.items():
            if entity.get(HEADER) is None:  # its key is destroyed
                self.retention.file(entity.prefix, None)
                continue
            updated_at = visible(entity, entity[HEADER], self.emitter.rules).updated_at
            if is_past(updated_at, horizon):
                if len(entity.pack()) <= COLD_BYTES:
                    past[entity] = origin
                else:  # too large for one message
                    self.retention.file(entity.prefix, None)
            else:  # the header of an open turn lacks its time
                self.retention.file(entity.prefix, updated_at)
        return past

    def _cool(self, entity: LaneEntity, origin: Origin) -> None:
        """Stores a session cold and deletes its keys in the compacted topics, unless it was cold
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

    def needs_marker(self) -> bool:
        return _extractor_in(self._note) != (self.extractor, self.version)

    def _choose(self, note: Mapping[str, Any]) -> None:
        """Chooses the configured extractor, otherwise the marker's; logs changes once."""
        noted, noted_version = _extractor_in(note)
        name = chosen(self.configured_extractor, noted)
        if not is_choice(name):
            raise ConfigurationError(
                f"memory was made by {name!r}, which is not installed; give --extractor "
                f"with one of {', '.join(choices())}"
            )
        if name != self.extractor:
            first = in_process(name)
            self.extractor, self.version = name, version_of(first)
            self.processor.extract = named(first)
        line = ""
        if not note or name == (noted or NONE) == NONE:
            return
        if name != noted:
            line = f"memory is made by {name} from now on, until now by {noted or NONE}"
        elif self.version != noted_version:
            line = f"memory is made by {name} {self.version} from now on, not {noted_version}"
        elif self.configured_extractor is None:
            line = f"memory is made by {name}, as before; --extractor {NONE} stops extraction"
        if line not in ("", self._logged):
            log.info("session-%d: %s", self.partition, line)
            self._logged = line

    def index_rows(self, heads: Sequence[Row]) -> None:
        if self.retention.retention is None:
            return
        for key, header in heads:
            if key.endswith(HEADERS_END):
                header = self.table.decrypted(header)
                self.retention.observe(key.removesuffix(HEADERS_END), header)

    def restored(self, note: Mapping[str, Any]) -> None:
        super().restored(note)
        self.retention.time = note.get("stream_time", 0)
        self._choose(note)

    def reset(self) -> None:
        self.retention.clear()
        super().reset()
