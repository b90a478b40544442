"""Messages that were sent twice: a worker that folds its topics again sends its rows again.

A message is known by table, source topic, partition, offset and ordinal (its headers).
"""

from collections.abc import Mapping
from operator import itemgetter

from schemas.rows import SNAPSHOT_KEYS

IDENTITY = ("table", "src_topic", "src_partition", "src_offset", "ordinal")
WINDOW = 50_000
"""How many messages back a repeat can lie: a transaction has 4,000 records, of some rows each."""

_identity = itemgetter(*IDENTITY)


class Repeats:
    """The messages of one partition that were seen last: between one and two windows of them.

    Documents are never repeats: the newest replaces the others, and one is sent for many records.
    """

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self._seen: set[int] = set()
        self._before: set[int] = set()

    def is_repeat(self, table: str, headers: Mapping[str, bytes]) -> bool:
        """Whether the message was seen; it is from now on. Without its headers never."""
        if table in SNAPSHOT_KEYS:
            return False
        try:
            identity = _identity(headers)
        except KeyError:
            return False
        known = hash(identity)  # 64 bits, 100,000 at a time: one row in 10^14 is taken for another
        if known in self._seen or known in self._before:
            return True
        if len(self._seen) >= self.window:
            self._before, self._seen = self._seen, set()
        self._seen.add(known)
        return False
