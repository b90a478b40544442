"""The log of a served history: what was posted, on disk before anything else happens to it.

A file of it is named by the offset of its first record, as Kafka's are; a line is the time the log
took it in microseconds, a blank, and the record. Offsets count from 1 and go on for ever; the
history's store says up to which one they are folded and committed (`file/inbox`). Files that are
so wholly are removed: the history has it all, `forget` need not look here.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from streams.errors import TurnfoldError
from streams.folds.rows import Input

TOPIC = "inbox"
"""What rows of the history have as `src_topic`."""
FOLDER = "_inbox"
SUFFIX = ".log"
RECORDED = "inbox/recorded_at"
"""The store's value that says when the log took the last record that is folded (microseconds)."""
MOST_BYTES = 1_000_000_000
"""On disk that the history does not have yet: more only gathers where it cannot be committed."""


class NoRoom(TurnfoldError):  # noqa: N818 - a state, not a fault
    """The log cannot be written, for want of room or permission: 507; nothing was taken."""

    exit_code = 1
    retry_after = 5
    """Seconds."""


class Group(NamedTuple):
    """Records that were written at once, the first one's offset, and when (microseconds); `read`
    is what they say, as far as somebody has decoded them and kept it; `tenants`: the tenant of
    each, where what its records take is measured."""

    first: int
    recorded_at: int
    records: Sequence[bytes]
    read: Sequence[Input | None] | None = None
    tenants: Sequence[str] | None = None

    @property
    def last(self) -> int:
        return self.first + len(self.records) - 1

    def part(self, start: int, length: int) -> "Group":
        """So many of them from a place on."""
        end = start + length
        read = None if self.read is None else self.read[start:end]
        tenants = None if self.tenants is None else self.tenants[start:end]
        records = self.records[start:end]
        return Group(self.first + start, self.recorded_at, records, read, tenants)


class Inbox:
    """The log, open for one writer and one reader, each in a thread of its own."""

    def __init__(self, folder: Path, committed: int, recorded_at: int = 0) -> None:
        """`committed`: the offset up to which the history has it; `recorded_at`: when that record
        was taken (microseconds). A line that a kill cut short at the end of the last file was never
        acknowledged: it is removed."""
        self._folder = folder
        self._lock = Lock()
        self._file: int | None = None
        self._size = 0
        self._bytes = 0  # of all files
        self._recorded_at = recorded_at  # the machine's clock may have stepped back since
        self.end = committed
        """The offset of the last record that is on disk."""
        for first, _, path in _files(folder, committed)[-1:]:
            self.end = max(committed, first - 1 + _cut(path))
        for group in self._newest():
            self._recorded_at = max(self._recorded_at, group.recorded_at)
        self.drop(committed)

    def _newest(self) -> Iterator[Group]:
        """The last record on disk, if there is any."""
        for first, last, path in reversed(_files(self._folder, self.end)):
            if last >= first:
                yield from _groups(path, first, last - 1, last)
                return

    def append(self, records: Sequence[bytes]) -> Group:
        """On disk when it returns. Raises NoRoom; the log then stands as before."""
        with self._lock:
            at = self._recorded_at = max(time.time_ns() // 1000, self._recorded_at)
            stamp = b"%d " % at
            text = b"".join([stamp + record + b"\n" for record in records])
            if self._bytes + len(text) > MOST_BYTES:
                raise NoRoom(
                    f"the server's log: {self._bytes} bytes wait to be committed; its messages say "
                    "what is in the way"
                )
            try:
                self._write(text)
            except OSError as error:
                self._take_back()
                raise NoRoom(f"the server's log: {error.strerror}; make room for it") from None
            group = Group(self.end + 1, at, records)
            self.end = group.last
            return group

    def _write(self, text: bytes) -> None:
        if self._file is None:
            path = self._folder / f"{self.end + 1:020}{SUFFIX}"
            # one of this name was begun and is without a record: its disk was full
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            self._file, self._size = os.open(path, flags, 0o600), 0
            _sync_folder(self._folder)
        left = memoryview(text)
        while left:  # a write may be cut short
            left = left[os.write(self._file, left) :]
        os.fsync(self._file)
        self._size += len(text)
        self._bytes += len(text)

    def _take_back(self) -> None:
        """Half a group goes. Where even that fails the file ends here, and the name of the next
        says that what follows does not count."""
        if self._file is not None:
            try:
                os.ftruncate(self._file, self._size)
                os.fsync(self._file)
            except OSError:
                self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def rotate(self) -> int:
        """Ends the file that is being written; the offset of its last record."""
        with self._lock:
            self._close()
            return self.end

    def drop(self, committed: int) -> None:
        """Removes the files of which the history has all records."""
        with self._lock:
            found = _files(self._folder, self.end)
            closed = found[:-1] if self._file is not None else found
            for _, last, path in closed:
                if last <= committed:
                    path.unlink()
            self._bytes = sum([path.stat().st_size for path in self._folder.glob(f"*{SUFFIX}")])

    def read(self, after: int) -> Iterator[Group]:
        """What is on disk behind an offset, as it was written, up to now."""
        with self._lock:
            found = _files(self._folder, self.end)
        for first, last, path in found:
            if last > after:
                yield from _groups(path, first, max(after, first - 1), last)


def has_records(folder: Path) -> bool:
    """Whether anything waits in a log that nobody has open."""
    return bool(_files(folder, 0))


def taken_at(folder: Path, after: int) -> int | None:
    """When the first record behind an offset was taken (microseconds), in a log that a server may
    be writing; None: there is none."""
    for first, last, path in _files(folder, sys.maxsize):
        if last > after:
            with path.open("rb") as file:
                for line in islice(file, max(0, after + 1 - first), last + 1 - first):
                    if line.endswith(b"\n"):  # else it is being written
                        return int(line.partition(b" ")[0])
    return None


def _groups(path: Path, first: int, after: int, last: int) -> Iterator[Group]:
    """The records of a file with offsets in (after, last], by the time they were taken."""
    taken, began, waiting = 0, after + 1, list[bytes]()
    with path.open("rb") as file:
        for offset, line in enumerate(file, first):
            if offset > last:
                break
            if offset <= after:
                continue
            stamp, _, record = line.rstrip(b"\n").partition(b" ")
            if int(stamp) != taken and waiting:
                yield Group(began, taken, waiting)
                began, waiting = offset, []
            taken = int(stamp)
            waiting.append(record)
    if waiting:
        yield Group(began, taken, waiting)


def _files(folder: Path, end: int) -> list[tuple[int, int, Path]]:
    """The first and last offset of each file, and where it is, in order."""
    found = sorted((int(path.stem), path) for path in folder.glob(f"[0-9]*{SUFFIX}"))
    lasts = [first - 1 for first, _ in found[1:]] + [end]
    return [(first, last, path) for (first, path), last in zip(found, lasts, strict=False)]


def _cut(path: Path) -> int:
    """Takes away what follows the last whole line; how many lines there are."""
    lines = whole = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                lines, whole = lines + 1, whole + len(line)
    if whole < path.stat().st_size:
        os.truncate(path, whole)
    return lines


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that cannot is as safe as it gets
            os.fsync(handle)
    finally:
        os.close(handle)
