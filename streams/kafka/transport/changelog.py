"""Tracks how far one changelog partition was read, and detects a replaced changelog.

    restoring ── position >= end ──> restored

`streams.kafka.transport.changelog_reader` reads the records. Tables of lanes, standbys and read
replicas are built from the chunks. See docs/kafka-tier.md, "Following a changelog".
"""

from collections.abc import Sequence
from time import monotonic, time
from typing import NamedTuple, NoReturn

from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.aiokafka_internals import RawMessage
from streams.kafka.transport.marker import MARKER_KEY, Marker, TablePosition, decode
from streams.kafka.transport.rows import Row

WHOLE_WITHIN = 10.0
"""Seconds a recovering broker has to show the complete changelog."""
AWAY = 43_200.0
"""Seconds after which rows may lack tombstones: brokers keep them for a day."""


class Replaced(OSError):  # noqa: N818 - what happened
    """The changelog is a different one than was read so far, or was truncated: its table must be
    rebuilt."""

    def __init__(self, tp: TopicPartition, why: str) -> None:
        super().__init__(f"{tp.topic}/{tp.partition}: {why}")
        self.at, self.why = tp, why


class Short(OSError):  # noqa: N818 - what it is
    """The broker shows less of the changelog than exists: retry."""


class ChangelogChunk(NamedTuple):
    """Rows of one read. `markers` by offset. `away`: seconds since the changelog had last been read
    completely, infinite if never."""

    rows: list[Row]
    markers: list[tuple[int, Marker]]
    away: float


class Progress:
    """Position of a table in its changelog. `standing`: state of the table. `position`: next offset
    to read. `first`, `end`: start and end of the restore, both between two transactions.
    `restored`: the restore is complete. From then on the table has complete transactions only: rows
    before `end` are all applied, and a later row waits for its marker. Before that the table may
    have parts of a transaction and is not read. `answered_at`: time (`time.monotonic`) of the
    broker's last fetch response, initially of construction."""

    def __init__(self, tp: TopicPartition, standing: TablePosition | None = None) -> None:
        self.at = tp
        self.standing = standing or TablePosition()
        self.position = self.first = self.end = self.standing.position
        self.restored = False
        self._pending: list[Row] = []
        self._unproven = 0
        self._short = (-1, 0.0)
        self._whole_at = float("-inf")
        self._aim: tuple[int, float] | None = None
        self._looked = self.answered_at = monotonic()
        self._answer = (0, 0.0)

    # --- reading ----------------------------------------------------------------------------------

    def open(self, beginning: int, end: int, written: int = 0) -> None:
        """Starts reading with a new consumer. Committed records reach from `beginning` to `end`.
        `written`: the offset that they must reach, if the caller knows that no transaction is open.

        Reading continues at the newest marker. If compaction removed it, a valid successor must
        follow: compaction removes a marker only in favour of a newer one, and all markers of a
        changelog share an id.

        Raises:
            Short: part of the changelog is missing, for less than `WHOLE_WITHIN` seconds.
            Replaced: a different changelog, or the next records were deleted.
            ConfigurationError: a transaction was never ended.
        """
        standing = self.standing
        self._check_length(end, written)
        if 0 < standing.position < beginning:
            self._refuse(f"begins at {beginning}, was read up to {standing.position}")
        self._pending.clear()
        self._unproven = 0 if standing.marker is None else end
        start = standing.position if standing.marker is None else standing.marker_at
        self.position = max(start, beginning)
        if not self.restored:
            self.first, self.end = self.position, end
        self._looked, self._answer = monotonic(), (0, 0.0)
        self._reached()

    def _check_length(self, end: int, written: int) -> None:
        if end >= max(self.standing.position, written):
            self._short = (-1, 0.0)
            return
        if end != self._short[0]:  # it is written, or the broker recovers more of it
            self._short = (end, monotonic())
        why = f"ends at {end}, was read up to {self.standing.position}"
        if monotonic() - self._short[1] < WHOLE_WITHIN:
            raise Short(f"{self.at.topic}/{self.at.partition} {why}")
        if end < self.standing.position:
            self._refuse(why)
        raise ConfigurationError(
            f"{self.at.topic}, partition {self.at.partition}: the transaction that started at "
            f"offset {end} was never ended, so reading cannot continue to {written}: the broker "
            "has lost its end; "
            'docs/recovery.md, "A transaction that never ends"'
        )

    def take(self, records: Sequence[RawMessage], position: int) -> ChangelogChunk:
        """Takes the committed records up to `position`, in order. The last record is followed by
        the control record of its transaction, which consumers do not see.

        Raises:
            Replaced: as `open`, or deleted rows may have left the log because the last read is too
                old.
            ConfigurationError: the rows have the format of another version.
        """
        away = self._away()
        if records and records[-1].offset > self.standing.position and away > AWAY:
            self._refuse(f"was last read to its end {away:.0f} s ago: deletions may be missing")
        age = self.age
        markers = [
            (record.offset, self._marker(record)) for record in records if record.key == MARKER_KEY
        ]
        for offset, marker in markers:
            self._follow(offset, marker)
        rows, count = [], self._whole(records)
        if count:
            rows, self._pending = self._pending + _rows(records[:count]), []
            self.standing.position = max(self.standing.position, records[count - 1].offset + 1)
        self._pending += _rows(records[count:])
        self.position = position
        self._reached()
        return ChangelogChunk(rows, markers, age)

    def _marker(self, record: RawMessage) -> Marker:
        try:
            return decode(record.value)
        except ValueError as error:
            raise Replaced(self.at, str(error)) from None

    def _follow(self, offset: int, marker: Marker) -> None:
        """Moves to a marker, which must be a valid successor of the newest."""
        if (before := self.standing.marker) is not None:
            went_back = any(marker.offsets.get(name, 0) < n for name, n in before.offsets.items())
            is_other = offset == self.standing.marker_at and marker.offsets != before.offsets
            if marker.log != before.log or went_back or is_other:
                self._refuse(
                    f"at {offset} is a marker of another changelog, or of one that was cut"
                )
        self.standing.saw(offset, marker)
        self._unproven = 0

    def _whole(self, records: Sequence[RawMessage]) -> int:
        """Number of records that the table takes: up to the last marker; during a restore at least
        up to its end, which ends a transaction even if compaction removed the marker."""
        end = 0 if self.restored else self.end
        for number in range(len(records), 0, -1):
            if (record := records[number - 1]).key == MARKER_KEY or record.offset < end:
                return number
        return 0

    def _reached(self) -> None:
        if self._unproven and self.position >= self._unproven:
            self._refuse(f"has no marker from offset {self.standing.marker_at} on")
        self.restored = self.restored or self.position >= self.end

    def wrote(self, position: int, marker: Marker) -> None:
        """The table's own lane committed a transaction; its marker is before `position`."""
        self.standing.saw(position - 1, marker)
        self._whole_at = monotonic()

    def _refuse(self, why: str) -> NoReturn:
        raise Replaced(self.at, why)

    # --- how fresh it is --------------------------------------------------------------------------

    def answered(self, stamp: int, end: int | None) -> None:
        """Records the broker's newest fetch response: committed records reach to `end`. `stamp`
        only distinguishes two responses, since its clock may be set. A new response arrived since
        the previous call."""
        before, self._looked = self._looked, monotonic()
        if stamp != self._answer[0]:
            self.answered_at = self._looked
        if stamp and end is not None:
            self._answer = stamp, self._answer[1] if stamp == self._answer[0] else before
            self.heard(end, self._answer[1])

    def heard(self, end: int, when: float) -> None:
        """The broker reported at `when` (`time.monotonic`) that records reach to `end`."""
        if self._aim is None:
            self._aim = end, when
        for goal, heard_at in (self._aim, (end, when)):
            if self.position >= goal:
                self._whole_at = max(self._whole_at, heard_at)
                self._aim = None

    @property
    def age(self) -> float:
        """Seconds since all committed records had been read; infinite if never."""
        return monotonic() - self._whole_at

    def _away(self) -> float:
        """As `age`; for a store on disk that was just opened, the seconds since it was written."""
        if (age := self.age) < float("inf"):
            return age
        return time() - self.standing.written if self.standing.written else 0.0


def _rows(records: Sequence[RawMessage]) -> list[Row]:
    return [(record.key or b"", record.value) for record in records if record.key != MARKER_KEY]
