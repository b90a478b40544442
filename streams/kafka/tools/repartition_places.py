"""Where records and rows belong under another number of partitions."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from streams.kafka.agents.user_signal import is_repeated, place_of
from streams.kafka.client.partitions import partition_of
from streams.kafka.tools.copying import Copy, Found
from streams.kafka.tools.repartition_plan import Moved, State
from streams.kafka.transport.layout import owner_of as owner_of_row
from streams.kafka.transport.marker import MARKER_KEY


class Places:
    """Says where a record goes; None where it is left out."""

    def __init__(self, state: State) -> None:
        self._state = state

    def folded(self, one: Moved, found: Found) -> Copy | None:
        """What was folded, at its place. What was refused there as misplaced stays misplaced: its
        dead letter is what became of it."""
        record, to = found.record, self._state.to
        key = record.key
        if key is None:
            return copied(found.partition % to, record)
        if one.kind == "source":
            right = partition_of(key, to)
            was = partition_of(key, self._state.folded or to) == found.partition
            fine = was or told_by(record) is not None
            return copied(right if fine else (right + 1) % to, record)
        if key == MARKER_KEY:
            return None
        if one.kind == "documents":
            return copied(partition_of(owner_of(key, one.key), to), record)
        return copied(partition_of(owner_of_row(key), to), record)

    def unread(self, found: Found) -> Copy:
        """What was not folded yet, whatever number its producer went by."""
        key, to = found.record.key, self._state.to
        return copied(found.partition % to if key is None else partition_of(key, to), found.record)

    def told_once(self, found: Found) -> Copy | None:
        """A hop (`user_signal`) is known by the turn it comes from: those of a source have to
        come in order, or one is taken for repeated. Here they come out of several partitions: each
        partition is a source of its own from now on."""
        record = found.record
        told = told_by(record)
        if told is None:
            return self.unread(found)
        source, offset = told
        seen = self._state.hops.setdefault(found.partition, {})
        if is_repeated(source, offset, seen):
            return None
        seen[source] = offset
        new = {"src_partition": b"%d" % (-1 - found.partition), "src_offset": b"%d" % record.offset}
        headers = [(name, new.get(name, value)) for name, value in record.headers]
        return self.unread(found)._replace(headers=headers)


def copied(partition: int, record: Any) -> Copy:
    return Copy(partition, record.timestamp, record.key, record.value, record.headers)


def same_place(found: Found) -> Copy:
    return copied(found.partition, found.record)


def told_by(record: Any) -> tuple[str, int] | None:
    """The source and offset of a hop's turn, as the memory agent reads them; None for what is no
    hop."""
    try:
        return place_of(record.headers)
    except ValueError:  # a dead letter
        return None


def owner_of(key: bytes, template: str) -> bytes:
    """The key that a document's partition follows from: that of its session or user."""
    parts = key.split(b"/", 2)
    if template.count("/") < 2 or len(parts) < 3:  # or somebody else's, which nobody looks up
        return key
    return parts[0] + b"/" + unquote_to_bytes(parts[1])


def merged(notes: list[Mapping[str, Any]], lanes: int) -> list[dict[str, Any]]:
    """The notes of lanes whose rows have been mixed: times are the latest; what was counted is
    counted once, in the first of the new lanes; all else (the extractor) holds for each."""
    first: dict[str, Any] = {}
    every: dict[str, Any] = {}
    for note in notes:
        for name, value in note.items():
            if name == "hops":
                continue
            if isinstance(value, dict) and all(type(one) is int for one in value.values()):
                sums = Counter(first.get(name, {}))
                sums.update(value)
                first[name] = dict(sums)
            elif isinstance(value, int | float):
                every[name] = max(value, every.get(name, value))
            else:
                every.setdefault(name, value)
    none: dict[str, Any] = {name: {} for name, value in first.items() if isinstance(value, dict)}
    return [{**every, **(first if number == 0 else none)} for number in range(lanes)]
