"""Connections that read an index, kept open for the next question.

Opening one costs as much as a question: SQLite reads the schema and FTS5 its structure anew, and
statements are compiled again. One that nobody has used for `IDLE` seconds is closed, so that an
index which was removed (`forget`) leaves the disk.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Timer

from streams.search.opening import connected, is_writable

IDLE = 5.0
MOST = 8
"""Connections that are kept, of all indexes together."""

File = tuple[int, int]
"""Device and inode: an index that was built again may have the name of the one before."""


class Readers:
    """Those of one process. Each is used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[tuple[File, sqlite3.Connection, float]] = []  # the longest unused first
        self._closing = False

    def leave(self) -> None:
        """In a forked process: SQLite's connections must not be used there, nor closed."""
        self._left = self._idle
        self._lock, self._idle, self._closing = Lock(), [], False

    @contextmanager
    def reading(self, path: Path) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the index, and cannot change it. Raises
        sqlite3.OperationalError where there is none (any more)."""
        file = self._file(path)
        db = self._taken(file) or connected(path, readonly=True)
        try:
            db.execute("BEGIN")
            yield db
            db.execute("ROLLBACK")
        except BaseException:
            db.close()
            raise
        if is_writable(path):
            self._keep(file, db)
        else:  # it was opened as what nobody writes
            db.close()

    @staticmethod
    def _file(path: Path) -> File:
        try:
            found = path.stat()
        except OSError as error:
            raise sqlite3.OperationalError(f"{path}: {error.strerror}") from error
        return found.st_dev, found.st_ino

    def _taken(self, file: File) -> sqlite3.Connection | None:
        with self._lock:
            for place, (known, db, _) in reversed(list(enumerate(self._idle))):
                if known == file:
                    del self._idle[place]
                    return db
        return None

    def _keep(self, file: File, db: sqlite3.Connection) -> None:
        with self._lock:
            self._idle.append((file, db, time.monotonic()))
            if len(self._idle) > MOST:
                self._idle.pop(0)[1].close()
            self._close_later()

    def _close_later(self) -> None:
        if self._idle and not self._closing:
            timer = Timer(IDLE, self._close_idle)
            timer.daemon = True
            timer.start()
            self._closing = True

    def _close_idle(self) -> None:
        with self._lock:
            self._closing = False
            while self._idle and self._idle[0][2] + IDLE <= time.monotonic():
                self._idle.pop(0)[1].close()
            self._close_later()


READERS = Readers()
os.register_at_fork(after_in_child=READERS.leave)
