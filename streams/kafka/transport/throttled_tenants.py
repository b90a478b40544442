"""Throttles tenants beyond their quota: their messages wait for other tenants' messages.

See docs/quotas.md. A lane may read its sources in two passes: first all messages in order, except
of tenants that are behind; then, from the first skipped message on, the skipped ones. Each tenant's
messages keep their order, and no tenant waits for the backlog of another.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.quota import Quota, Quotas, Work

NOTED = "ahead"
"""Name in a marker's note."""
MOST_BEHIND = 100
"""Maximum throttled tenants per lane, to bound the size of markers. Messages of further tenants are
folded in order."""

Offsets = Mapping[str, int]
"""Next offset by source topic."""


class Ahead(NamedTuple):
    """Records folded beyond a marker's offsets: all before `offsets`, but of the tenants in
    `behind` only those before the offsets listed there."""

    offsets: Offsets
    behind: Mapping[str, Offsets]

    def has(self, topic: str, offset: int, tenant: str) -> bool:
        """Whether a record beyond the marker's offsets is folded."""
        first = self.behind.get(tenant)
        return offset < (self.offsets if first is None else first).get(topic, 0)

    def to_note(self) -> dict[str, Any]:
        return {NOTED: {"offsets": self.offsets, "behind": self.behind}}


def of_note(note: Mapping[str, Any]) -> Ahead | None:
    """Reads a marker's note; usually None."""
    entry = note.get(NOTED)
    return None if entry is None else Ahead(entry["offsets"], entry["behind"])


def tenant_of(key: bytes | None) -> str:
    """Tenant of an input record, from its key; "" if there is none."""
    return "" if key is None else key.partition(b"/")[0].decode("utf-8", "replace")


class SetAside:
    """Decides which messages wait, by their log times per source topic, and by the CPU time that
    a tenant's messages took."""

    def __init__(self, default: Quota, of: Mapping[str, Quota]) -> None:
        self._quota = default, of
        self._topics: dict[str, Quotas] = {}

    def head(
        self, messages: Sequence[Any], starts: Offsets, behind: Mapping[str, Offsets]
    ) -> tuple[list[Any], dict[str, Offsets]]:
        """Returns the messages to fold now, of those read from `starts` on, and the tenants behind
        after them."""
        late = dict(behind)
        next_offsets = dict(starts)
        folded = []
        for message in messages:
            topic, tenant = message.topic, tenant_of(message.key)
            if tenant not in late:
                if tenant and len(late) < MOST_BEHIND and self._is_over(topic, tenant, message):
                    late[tenant] = {**next_offsets, topic: message.offset}
                else:
                    folded.append(message)
            next_offsets[topic] = message.offset + 1
        return folded, late

    def _is_over(self, topic: str, tenant: str, message: Any) -> bool:
        """Whether the tenant's quota is used up; otherwise the message is counted."""
        now = message.timestamp / 1000
        buckets = self._quotas(topic).buckets(tenant, now)
        if any(bucket.left(now) < 1 for bucket in buckets.values()):
            return True
        for limit, bucket in buckets.items():
            bucket.take(1 if limit == "records" else message.serialized_value_size, now)
        return False

    def charge(self, message: Any, seconds: float) -> None:
        """Charges the CPU time of folding a message beyond its charge as a record."""
        work = Work(tenant_of(message.key), 1, seconds)
        self._quotas(message.topic).charge_work(work, message.timestamp / 1000)

    def _quotas(self, topic: str) -> Quotas:
        if topic not in self._topics:
            self._topics[topic] = Quotas(*self._quota)
        return self._topics[topic]


def tail(messages: Sequence[Any], ahead: Ahead) -> list[Any]:
    """The messages of the second pass that were not folded in the first."""
    return [
        message
        for message in messages
        if (first := ahead.behind.get(tenant_of(message.key))) is not None
        and message.offset >= first[message.topic]
    ]


def ahead_after(messages: Sequence[Any], starts: Offsets, behind: Mapping[str, Offsets]) -> Ahead:
    """Records folded beyond `settled_offsets` after these messages. Ends after the last message: to
    continue there, messages are read again, so that a gap in the log cannot hide the end."""
    ends = {message.topic: message.offset + 1 for message in messages}
    return Ahead({**starts, **ends}, behind)


def settled_offsets(behind: Mapping[str, Offsets]) -> dict[str, int]:
    """Offsets before which everything is folded, when tenants have just fallen behind."""
    topics = {topic for offsets in behind.values() for topic in offsets}
    return {topic: min(offsets[topic] for offsets in behind.values()) for topic in topics}
