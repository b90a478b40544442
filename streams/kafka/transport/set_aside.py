"""Whose records of a lane wait for the others': those of tenants beyond their quota.

See docs/quotas.md. A lane reads its sources twice where it has to: first everybody's records in
their order, but for those of tenants that are behind; then, from the first of those on, theirs. So
a tenant's records keep their order, and nobody waits for another tenant's many.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.quota import Quota, Quotas

NOTED = "ahead"
"""The name in a marker's note."""
MOST_BEHIND = 100
"""Tenants of a lane; more would make its markers large. Others are then folded as they come."""

Offsets = Mapping[str, int]
"""The next offset, by source topic."""


class Ahead(NamedTuple):
    """What is folded beyond a marker's offsets: all before `offsets`, but of the tenants in
    `behind` only what comes before the offsets named there."""

    offsets: Offsets
    behind: Mapping[str, Offsets]

    def has(self, topic: str, offset: int, tenant: str) -> bool:
        """Whether a record beyond the marker's offsets is folded."""
        first = self.behind.get(tenant)
        return offset < (self.offsets if first is None else first).get(topic, 0)

    def to_note(self) -> dict[str, Any]:
        return {NOTED: {"offsets": self.offsets, "behind": self.behind}}


def of_note(note: Mapping[str, Any]) -> Ahead | None:
    """What a marker's note says; usually None."""
    said = note.get(NOTED)
    return None if said is None else Ahead(said["offsets"], said["behind"])


def tenant_of(key: bytes | None) -> str:
    """The tenant of an input record, by its key; what has none is nobody's."""
    return "" if key is None else key.partition(b"/")[0].decode("utf-8", "replace")


class SetAside:
    """Decides which records wait. It goes by the records' own times (of a broker's log), in each
    source topic for itself, and never by a clock."""

    def __init__(self, default: Quota, of: Mapping[str, Quota]) -> None:
        self._quota = default, of
        self._topics: dict[str, Quotas] = {}

    def head(
        self, records: Sequence[Any], starts: Offsets, behind: Mapping[str, Offsets]
    ) -> tuple[list[Any], dict[str, Offsets]]:
        """The records to fold now of those read from `starts` on, and who is behind after them."""
        late = dict(behind)
        reached = dict(starts)
        folded = []
        for record in records:
            topic, tenant = record.topic, tenant_of(record.key)
            if tenant not in late:
                if tenant and len(late) < MOST_BEHIND and self._is_over(topic, tenant, record):
                    late[tenant] = {**reached, topic: record.offset}
                else:
                    folded.append(record)
            reached[topic] = record.offset + 1
        return folded, late

    def _is_over(self, topic: str, tenant: str, record: Any) -> bool:
        """Whether nothing is left of the tenant's quota; else the record is counted."""
        quotas = self._topics.get(topic)
        if quotas is None:
            quotas = self._topics[topic] = Quotas(*self._quota)
        now = record.timestamp / 1000
        buckets = quotas.buckets(tenant, now)
        if any(bucket.left(now) < 1 for bucket in buckets.values()):
            return True
        for limit, bucket in buckets.items():
            bucket.take(1 if limit == "records" else record.serialized_value_size, now)
        return False


def tail(records: Sequence[Any], ahead: Ahead) -> list[Any]:
    """Of records read again, those that were not folded."""
    return [
        record
        for record in records
        if (first := ahead.behind.get(tenant_of(record.key))) is not None
        and record.offset >= first[record.topic]
    ]


def begun(records: Sequence[Any], starts: Offsets, behind: Mapping[str, Offsets]) -> Ahead:
    """What is folded beyond `settled` after these records were read. It ends behind the last of
    them: to go on there the records are read again, and no hole in the log can hide the end."""
    ends = {record.topic: record.offset + 1 for record in records}
    return Ahead({**starts, **ends}, behind)


def settled(behind: Mapping[str, Offsets]) -> dict[str, int]:
    """Before these offsets everything is folded, where somebody has just fallen behind."""
    topics = {topic for offsets in behind.values() for topic in offsets}
    return {topic: min(offsets[topic] for offsets in behind.values()) for topic in topics}
