"""Detects messages that were sent twice: a worker that folds its topics again sends its rows again.

Table, source topic, partition, offset and ordinal (headers) identify a message.
"""

from collections.abc import Mapping
from operator import itemgetter

from schemas.rows import SNAPSHOT_KEYS

IDENTITY = ("table", "src_topic", "src_partition", "src_offset", "ordinal")
WINDOW = 50_000
"""Number of messages in which repeats are detected: a transaction has 4,000 records, of some rows
each."""

_identity = itemgetter(*IDENTITY)


class Repeats:
    """The last messages of one partition: between one and two windows of them.

    Documents are never repeats: the newest replaces the others, and one covers many records.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self._seen: set[int] = set()
        self._before: set[int] = set()

    def is_repeat(self, table: str, headers: Mapping[str, bytes]) -> bool:
        """Whether the message was seen before; registers it. Always False without the headers."""
        if table in SNAPSHOT_KEYS:
            return False
        try:
            identity = _identity(headers)
        except KeyError:
            return False
        digest = hash(identity)  # 64 bits, 100,000 at a time: one false repeat in 10^14
        if digest in self._seen or digest in self._before:
            return True
        if len(self._seen) >= self.window:
            self._before, self._seen = self._seen, set()
        self._seen.add(digest)
        return False
