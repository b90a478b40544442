"""Write-ahead log of a served history: posted records are on disk before they are processed.

Files are named by the offset of their first record, as in Kafka; a line is the time at which the
log accepted the record in microseconds, a space, and the record. Offsets count from 1 without end;
the history's store has the last committed one (`file/inbox`). Completely committed files are
removed, so `forget` does not search them.
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
from streams.folds.effects import Input

TOPIC = "inbox"
"""`src_topic` of its rows in the history."""
FOLDER = "_inbox"
SUFFIX = ".log"
RECORDED = "inbox/recorded_at"
"""Value of the store: time at which the log accepted the last folded record (microseconds)."""
MOST_BYTES = 1_000_000_000
"""Limit of uncommitted bytes on disk; only reached if commits fail."""


class NoRoom(TurnfoldError):  # noqa: N818 - a state, not a fault
    """The log cannot be written (disk full, permissions): 507; no record was accepted."""

    exit_code = 1
    retry_after = 5
    """Seconds."""


class Group(NamedTuple):
    """Records written together, offset of the first, and time (microseconds). `read`: their decoded
    form, if available; `tenants`: of each record, where its cost is measured."""

    first: int
    recorded_at: int
    records: Sequence[bytes]
    read: Sequence[Input | None] | None = None
    tenants: Sequence[str] | None = None

    @property
    def last(self) -> int:
        return self.first + len(self.records) - 1

    def part(self, start: int, length: int) -> "Group":
        """`length` records from the index `start` on."""
        end = start + length
        decoded = None if self.read is None else self.read[start:end]
        tenants = None if self.tenants is None else self.tenants[start:end]
        records = self.records[start:end]
        return Group(self.first + start, self.recorded_at, records, decoded, tenants)


class Inbox:
    """The log, open for one writing and one reading thread."""

    def __init__(self, folder: Path, committed: int, recorded_at: int = 0) -> None:
        """`committed`: the last offset in the history; `recorded_at`: time at which that record was
        accepted (microseconds). An incomplete line at the end of the last file was never
        acknowledged: it is removed."""
        self._folder = folder
        self._lock = Lock()
        self._file: int | None = None
        self._size = 0
        self._bytes = 0  # of all files
        self._recorded_at = recorded_at  # the clock may have stepped back since
        self.end = committed
        """The offset of the last record that is on disk."""
        for first, _, path in _files(folder, committed)[-1:]:
            self.end = max(committed, first - 1 + _cut(path))
        for group in self._newest():
            self._recorded_at = max(self._recorded_at, group.recorded_at)
        self.drop(committed)

    def _newest(self) -> Iterator[Group]:
        """The last record on disk, if any."""
        for first, last, path in reversed(_files(self._folder, self.end)):
            if last >= first:
                yield from _groups(path, first, last - 1, last)
                return

    def append(self, records: Sequence[bytes]) -> Group:
        """Appends records; durable when it returns. Raises NoRoom; the log is then unchanged."""
        with self._lock:
            recorded_at = self._recorded_at = max(time.time_ns() // 1000, self._recorded_at)
            stamp = b"%d " % recorded_at
            text = b"".join([stamp + record + b"\n" for record in records])
            if self._bytes + len(text) > MOST_BYTES:
                raise NoRoom(
                    f"the server's log: {self._bytes} bytes wait to be committed; see the server's "
                    "messages for the cause"
                )
            try:
                self._write(text)
            except OSError as error:
                self._take_back()
                raise NoRoom(f"the server's log: {error.strerror}; make room for it") from None
            group = Group(self.end + 1, recorded_at, records)
            self.end = group.last
            return group

    def _write(self, text: bytes) -> None:
        if self._file is None:
            path = self._folder / f"{self.end + 1:020}{SUFFIX}"
            # a file of this name has no record: the disk was full
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
            self._file, self._size = os.open(path, flags, 0o600), 0
            _sync_folder(self._folder)
        remaining = memoryview(text)
        while remaining:  # a write may be cut short
            remaining = remaining[os.write(self._file, remaining) :]
        os.fsync(self._file)
        self._size += len(text)
        self._bytes += len(text)

    def _take_back(self) -> None:
        """Removes a partly written group. If that fails, the file is closed; the next file's name
        marks the rest as invalid."""
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
        """Closes the current file; returns the offset of its last record."""
        with self._lock:
            self._close()
            return self.end

    def drop(self, committed: int) -> None:
        """Removes completely committed files."""
        with self._lock:
            files = _files(self._folder, self.end)
            closed = files[:-1] if self._file is not None else files
            for _, last, path in closed:
                if last <= committed:
                    path.unlink()
            self._bytes = sum([path.stat().st_size for path in self._folder.glob(f"*{SUFFIX}")])

    def read(self, after: int) -> Iterator[Group]:
        """Yields the groups on disk after an offset, as they were written."""
        with self._lock:
            files = _files(self._folder, self.end)
        for first, last, path in files:
            if last > after:
                yield from _groups(path, first, max(after, first - 1), last)


def has_records(folder: Path) -> bool:
    """Whether a closed log has records."""
    return bool(_files(folder, 0))


def recorded_after(folder: Path, after: int) -> int | None:
    """Time at which the first record after an offset was accepted (microseconds), in a log that a
    server may be writing, or None without such a record."""
    for first, last, path in _files(folder, sys.maxsize):
        if last > after:
            with path.open("rb") as file:
                for line in islice(file, max(0, after + 1 - first), last + 1 - first):
                    if line.endswith(b"\n"):  # not while it is being written
                        return int(line.partition(b" ")[0])
    return None


def _groups(path: Path, first: int, after: int, last: int) -> Iterator[Group]:
    """The records of a file with offsets in (after, last], grouped by time."""
    recorded_at, start, records = 0, after + 1, list[bytes]()
    with path.open("rb") as file:
        for offset, line in enumerate(file, first):
            if offset > last:
                break
            if offset <= after:
                continue
            stamp, _, record = line.rstrip(b"\n").partition(b" ")
            if int(stamp) != recorded_at and records:
                yield Group(start, recorded_at, records)
                start, records = offset, []
            recorded_at = int(stamp)
            records.append(record)
    if records:
        yield Group(start, recorded_at, records)


def _files(folder: Path, end: int) -> list[tuple[int, int, Path]]:
    """First and last offset, and path of each file, in order."""
    files = sorted((int(path.stem), path) for path in folder.glob(f"[0-9]*{SUFFIX}"))
    lasts = [first - 1 for first, _ in files[1:]] + [end]
    return [(first, last, path) for (first, path), last in zip(files, lasts, strict=False)]


def _cut(path: Path) -> int:
    """Truncates a file after its last complete line; returns the number of lines."""
    lines = length = 0
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                lines, length = lines + 1, length + len(line)
    if length < path.stat().st_size:
        os.truncate(path, length)
    return lines


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # not all file systems support it
            os.fsync(handle)
    finally:
        os.close(handle)
