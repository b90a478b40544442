"""When the log took each record: the append time of the brokers, which never runs back.

A broker's clock may step back, and the next leader of a partition may have another clock. So the
time of a record is the greatest append time of its partition up to it. The marker keeps that of the
last record, so a lane continues from it after a restart; a rebuild from the topic's begin computes
the same times.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.kafka.agents.user_signal import SET_ASIDE

NOTED = "recorded_at/"
"""Begins the names of the note's entries, an integer each: a repartition takes the latest of these
(`repartition_places.merged`)."""


class Dated(NamedTuple):
    """A record whose broker's clock was behind the log's time, with the log's time."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    timestamp: int


class LogClock:
    """The time of the newest record of each source of a lane, in milliseconds."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def dated(self, records: Sequence[Any], again: bool) -> Sequence[Any]:
        """The records in their order, with the log's times. `again`: they were set aside when their
        sources were read first, so other records of these sources were folded before them."""
        newest, dated = self._newest, records
        for number, record in enumerate(records):
            source = record.topic + SET_ASIDE if again else record.topic
            latest = newest.get(source, 0)
            if record.timestamp >= latest:
                newest[source] = record.timestamp
            else:
                if dated is records:
                    dated = list(records)
                dated[number] = Dated(  # type: ignore[index]  # the list just made
                    record.topic, record.partition, record.offset, record.key, record.value,
                    record.headers, latest,
                )  # fmt: skip
        return dated

    @property
    def newest(self) -> int:
        """The latest of all sources."""
        return max(self._newest.values(), default=0)

    def to_note(self) -> dict[str, int]:
        """What a marker's note keeps of it."""
        return {f"{NOTED}{source}": at for source, at in self._newest.items()}

    def restore(self, note: Mapping[str, Any]) -> None:
        """Continues from a marker's note."""
        self._newest = {
            name.removeprefix(NOTED): at for name, at in note.items() if name.startswith(NOTED)
        }
