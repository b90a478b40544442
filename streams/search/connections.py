"""Pool of read connections to indexes.

Opening a connection costs as much as a query: SQLite reads the schema, FTS5 its structure, and
statements are compiled again. Connections are closed after `IDLE` seconds without use, so that the
disk space of a deleted index (`forget`) is freed.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock, Timer

from streams.search.open_index import connected, is_writable

IDLE = 5.0
MOST = 8
"""Maximum idle connections, to all indexes together."""

File = tuple[int, int]
"""Device and inode: a rebuilt index may have the name of the previous one."""


class Readers:
    """The connections of one process. Each is used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[tuple[File, sqlite3.Connection, float]] = []  # the longest unused first
        self._closing = False

    def after_fork(self) -> None:
        """Abandons the connections in a forked process: SQLite forbids to use or to close them
        there."""
        self._abandoned = self._idle
        self._lock, self._idle, self._closing = Lock(), [], False

    @contextmanager
    def reading(self, path: Path) -> Iterator[sqlite3.Connection]:
        """A read-only connection with one snapshot of the index. Raises sqlite3.OperationalError if
        the index does not exist."""
        file = self._file(path)
        db = self._take(file) or connected(path, readonly=True)
        try:
            db.execute("BEGIN")
            yield db
            db.execute("ROLLBACK")
        except BaseException:
            db.close()
            raise
        if is_writable(path):
            self._keep(file, db)
        else:  # it was opened as immutable
            db.close()

    @staticmethod
    def _file(path: Path) -> File:
        try:
            stat = path.stat()
        except OSError as error:
            raise sqlite3.OperationalError(f"{path}: {error.strerror}") from error
        return stat.st_dev, stat.st_ino

    def _take(self, file: File) -> sqlite3.Connection | None:
        with self._lock:
            for index, (idle_file, db, _) in reversed(list(enumerate(self._idle))):
                if idle_file == file:
                    del self._idle[index]
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
os.register_at_fork(after_in_child=READERS.after_fork)
