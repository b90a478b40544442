"""Log time of each message: the brokers' append time, made monotonic.

A broker's clock may step back, and the next leader of a partition may have another clock. So the
time of a message is the greatest append time of its partition up to it. The marker stores the last
message's time, so a lane continues from it after a restart; a rebuild from the topic's start
computes the same times.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.kafka.agents.user_signal import SET_ASIDE

NOTED = "recorded_at/"
"""Prefix of the note's entries, an integer each: a repartition takes their maximum
(`repartition_places.merged`)."""


class DatedMessage(NamedTuple):
    """A message with the log's time, if its broker's clock was behind."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    timestamp: int


class LogClock:
    """Time of the newest message per source of a lane, in milliseconds."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def dated(self, messages: Sequence[Any], again: bool) -> Sequence[Any]:
        """Returns the messages in order, with log times. `again`: second pass of set-aside
        messages, which has separate times, since later messages of these sources were folded
        before."""
        newest, dated = self._newest, messages
        for number, message in enumerate(messages):
            source = message.topic + SET_ASIDE if again else message.topic
            latest = newest.get(source, 0)
            if message.timestamp >= latest:
                newest[source] = message.timestamp
            else:
                if dated is messages:
                    dated = list(messages)
                dated[number] = DatedMessage(  # type: ignore[index]  # the list just made
                    message.topic, message.partition, message.offset, message.key, message.value,
                    message.headers, latest,
                )  # fmt: skip
        return dated

    @property
    def newest(self) -> int:
        return max(self._newest.values(), default=0)

    def to_note(self) -> dict[str, int]:
        """Entries for a marker's note."""
        return {f"{NOTED}{source}": time for source, time in self._newest.items()}

    def restore(self, note: Mapping[str, Any]) -> None:
        self._newest = {
            name.removeprefix(NOTED): time for name, time in note.items() if name.startswith(NOTED)
        }
