"""How far one partition of a changelog is read, and whether it is still the same changelog.

    restoring ── position >= end ──> restored

`streams.kafka.transport.follower` reads the records. The tables of lanes, of standbys and of a read
replica are made of the chunks. See docs/kafka-tier.md, "Following a changelog".
"""

from collections.abc import Sequence
from time import monotonic, time
from typing import NamedTuple, NoReturn

from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.aiokafka_internals import RawRecord
from streams.kafka.transport.marker import MARKER_KEY, Marker, Standing, decode
from streams.kafka.transport.rows import Row

WHOLE_WITHIN = 10.0
"""Seconds for a broker that comes back to show all of a changelog."""
AWAY = 43_200.0
"""Seconds after which rows miss tombstones: brokers keep them for a day."""


class Replaced(OSError):  # noqa: N818 - what happened
    """The changelog is another than the one that was read so far, or was cut: its table has to be
    made again."""

    def __init__(self, at: TopicPartition, why: str) -> None:
        super().__init__(f"{at.topic}/{at.partition}: {why}")
        self.at, self.why = at, why


class Short(OSError):  # noqa: N818 - what it is
    """The broker shows less of the changelog than it has: worth another try."""


class Chunk(NamedTuple):
    """What was read at once. `markers` by offset. `away`: how many seconds before all of the
    changelog had been read, infinite where it never was."""

    rows: list[Row]
    markers: list[tuple[int, Marker]]
    away: float


class Progress:
    """`standing`: what the table has. `position`: the next offset to read. `first`, `end`: where
    the restore began and ends, both between two transactions. `restored`: it has ended. From then
    on the table has each transaction whole or not at all: the rows before `end` are all in it, and
    a later row waits for its marker. Before that it may have a part of one, and nobody reads it.
    `answered_at`: when the broker last answered a fetch, at first when this was made; of
    `time.monotonic`."""

    def __init__(self, at: TopicPartition, standing: Standing | None = None) -> None:
        self.at = at
        self.standing = standing or Standing()
        self.position = self.first = self.end = self.standing.position
        self.restored = False
        self._held: list[Row] = []
        self._unproven = 0
        self._short = (-1, 0.0)
        self._whole_at = float("-inf")
        self._aim: tuple[int, float] | None = None
        self._looked = self.answered_at = monotonic()
        self._answer = (0, 0.0)

    # --- reading ----------------------------------------------------------------------------------

    def open(self, beginning: int, end: int, written: int = 0) -> None:
        """A consumer starts: committed records reach from `beginning` to `end`. `written`: up to
        where they must reach, for who knows that no transaction is open.

        Reading continues at the newest marker. If that is gone, one that can follow it must come: a
        compacted changelog loses a marker only to a newer one, and all have one id.

        Raises:
            Short: not all of it is there, for less than `WHOLE_WITHIN` seconds.
            Replaced: it is another changelog, or it has forgotten what comes next.
            ConfigurationError: a transaction has no end.
        """
        standing = self.standing
        self._check_length(end, written)
        if 0 < standing.position < beginning:
            self._refuse(f"begins at {beginning}, was read up to {standing.position}")
        self._held.clear()
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
        if end != self._short[0]:  # somebody writes, or the broker finds more of it
            self._short = (end, monotonic())
        why = f"ends at {end}, was read up to {self.standing.position}"
        if monotonic() - self._short[1] < WHOLE_WITHIN:
            raise Short(f"{self.at.topic}/{self.at.partition} {why}")
        if end < self.standing.position:
            self._refuse(why)
        raise ConfigurationError(
            f"{self.at.topic}, partition {self.at.partition}: the transaction that began at {end} "
            f"was never ended, so nobody can read on to {written}: the broker has lost its end; "
            'docs/recovery.md, "A transaction that never ends"'
        )

    def take(self, records: Sequence[RawRecord], position: int) -> Chunk:
        """The committed records up to `position`, in order. Behind the last one stands the control
        record of its transaction, which is shown to nobody.

        Raises:
            Replaced: as `open`, or so much time has passed that deleted rows may have left it.
            ConfigurationError: the rows are those of another version.
        """
        away = self._away()
        if records and records[-1].offset > self.standing.position and away > AWAY:
            self._refuse(f"was last read to its end {away:.0f} s ago: it may have lost deletions")
        age = self.age
        markers = [(one.offset, self._marker(one)) for one in records if one.key == MARKER_KEY]
        for at, marker in markers:
            self._follow(at, marker)
        rows, whole = [], self._whole(records)
        if whole:
            rows, self._held = self._held + _rows(records[:whole]), []
            self.standing.position = max(self.standing.position, records[whole - 1].offset + 1)
        self._held += _rows(records[whole:])
        self.position = position
        self._reached()
        return Chunk(rows, markers, age)

    def _marker(self, record: RawRecord) -> Marker:
        try:
            return decode(record.value)
        except ValueError as error:
            raise Replaced(self.at, str(error)) from None

    def _follow(self, at: int, marker: Marker) -> None:
        """Goes on to a marker, which must be one that can follow the newest."""
        if (before := self.standing.marker) is not None:
            went_back = any(marker.offsets.get(name, 0) < n for name, n in before.offsets.items())
            other = at == self.standing.marker_at and marker.offsets != before.offsets
            if marker.log != before.log or went_back or other:
                self._refuse(f"at {at} is a marker of another changelog, or of one that was cut")
        self.standing.saw(at, marker)
        self._unproven = 0

    def _whole(self, records: Sequence[RawRecord]) -> int:
        """How many the table takes: up to the last marker, and during a restore at least up to its
        end. That is the end of a transaction, but compaction may have taken the marker."""
        end = 0 if self.restored else self.end
        for number in range(len(records), 0, -1):
            if (one := records[number - 1]).key == MARKER_KEY or one.offset < end:
                return number
        return 0

    def _reached(self) -> None:
        if self._unproven and self.position >= self._unproven:
            self._refuse(f"has no marker from offset {self.standing.marker_at} on")
        self.restored = self.restored or self.position >= self.end

    def wrote(self, position: int, marker: Marker) -> None:
        """The table's own lane has committed a transaction, whose marker is before `position`."""
        self.standing.saw(position - 1, marker)
        self._whole_at = monotonic()

    def _refuse(self, why: str) -> NoReturn:
        raise Replaced(self.at, why)

    # --- how fresh it is --------------------------------------------------------------------------

    def answered(self, stamp: int, end: int | None) -> None:
        """What the broker said last is that committed records reach to `end`. `stamp` tells two
        answers apart, no more: it is of a clock that may be set. A new one came since this was
        called before."""
        before, self._looked = self._looked, monotonic()
        if stamp != self._answer[0]:
            self.answered_at = self._looked
        if stamp and end is not None:
            self._answer = stamp, self._answer[1] if stamp == self._answer[0] else before
            self.heard(end, self._answer[1])

    def heard(self, end: int, when: float) -> None:
        """The broker said at `when` (`time.monotonic`) that committed records reach to `end`."""
        if self._aim is None:
            self._aim = end, when
        for goal, said in (self._aim, (end, when)):
            if self.position >= goal:
                self._whole_at = max(self._whole_at, said)
                self._aim = None

    @property
    def age(self) -> float:
        """Seconds since all that was committed had been read; infinite where it never was."""
        return monotonic() - self._whole_at

    def _away(self) -> float:
        """The same; of a store on disk that was just opened, since it was written."""
        if (age := self.age) < float("inf"):
            return age
        return time() - self.standing.written if self.standing.written else 0.0


def _rows(records: Sequence[RawRecord]) -> list[Row]:
    return [(one.key or b"", one.value) for one in records if one.key != MARKER_KEY]
