"""Places records and rows under another number of partitions."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from streams.kafka.agents.user_signal import is_repeated, place_of
from streams.kafka.client.partitions import partition_of
from streams.kafka.tools.copy_records import Copy, PartitionMessage
from streams.kafka.tools.repartition_plan import MovedTopic, RepartitionState
from streams.kafka.transport.marker import MARKER_KEY
from streams.kafka.transport.partition_check import owner_of as owner_of_row


class Places:
    """Returns the new place of a record, or None to drop it."""

    def __init__(self, state: RepartitionState) -> None:
        self._state = state

    def folded(self, topic: MovedTopic, message: PartitionMessage) -> Copy | None:
        """Places a folded record. A record that was rejected as misplaced stays misplaced: its dead
        letter is final."""
        record, to = message.record, self._state.to
        key = record.key
        if key is None:
            return copy_of(message.partition % to, record)
        if topic.kind == "source":
            expected = partition_of(key, to)
            was_right = partition_of(key, self._state.folded or to) == message.partition
            is_right = was_right or hop_of(record) is not None
            return copy_of(expected if is_right else (expected + 1) % to, record)
        if key == MARKER_KEY:
            return None
        if topic.kind == "documents":
            return copy_of(partition_of(owner_of(key, topic.key), to), record)
        return copy_of(partition_of(owner_of_row(key), to), record)

    def unread(self, message: PartitionMessage) -> Copy:
        """Places a record that was not folded, whatever number its producer used."""
        key, to = message.record.key, self._state.to
        return copy_of(
            message.partition % to if key is None else partition_of(key, to), message.record
        )

    def without_repeats(self, message: PartitionMessage) -> Copy | None:
        """Places an unread message of user signals, without repeated hops. Hops (`user_signal`) of
        a source must arrive in order, or they count as repeated. Here they are merged from several
        partitions, so each partition becomes a separate source."""
        record = message.record
        hop = hop_of(record)
        if hop is None:
            return self.unread(message)
        source, offset = hop
        offsets = self._state.hops.setdefault(message.partition, {})
        if is_repeated(source, offset, offsets):
            return None
        offsets[source] = offset
        hop_headers = {
            "src_partition": b"%d" % (-1 - message.partition),
            "src_offset": b"%d" % record.offset,
        }
        headers = [(name, hop_headers.get(name, value)) for name, value in record.headers]
        return self.unread(message)._replace(headers=headers)


def copy_of(partition: int, message: Any) -> Copy:
    return Copy(partition, message.timestamp, message.key, message.value, message.headers)


def same_place(message: PartitionMessage) -> Copy:
    return copy_of(message.partition, message.record)


def hop_of(message: Any) -> tuple[str, int] | None:
    """Source and offset of a hop's turn, or None for other messages."""
    try:
        return place_of(message.headers)
    except ValueError:  # a dead letter
        return None


def owner_of(key: bytes, template: str) -> bytes:
    """Key that a document's partition follows from: its session's or user's."""
    parts = key.split(b"/", 2)
    if template.count("/") < 2 or len(parts) < 3:  # or a foreign key, which is never looked up
        return key
    return parts[0] + b"/" + unquote_to_bytes(parts[1])


def merged(notes: list[Mapping[str, Any]], lanes: int) -> list[dict[str, Any]]:
    """Merges the notes of lanes with mixed rows: times take the maximum; counters are summed into
    the first new lane; other entries (the extractor) apply to each lane."""
    first: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for note in notes:
        for name, value in note.items():
            if name == "hops":
                continue
            if isinstance(value, dict) and all(type(count) is int for count in value.values()):
                sums = Counter(first.get(name, {}))
                sums.update(value)
                first[name] = dict(sums)
            elif isinstance(value, int | float):
                shared[name] = max(value, shared.get(name, value))
            else:
                shared.setdefault(name, value)
    none: dict[str, Any] = {name: {} for name, value in first.items() if isinstance(value, dict)}
    return [{**shared, **(first if number == 0 else none)} for number in range(lanes)]
