"""A lane's rows in RocksDB, with their changelog offset.

Written after the Kafka transaction: never ahead of it, at most one batch behind, and always equal
to the changelog up to the stored offset. A damaged folder can therefore be deleted without data
loss; rebuilding it takes time.
"""

import asyncio
import logging
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import time

import msgspec
from rocksdict import Cache, Rdict, RdictIter, WriteBatch

from streams.files.database import (
    create_database,
    is_full,
    keys_after,
    open_database,
    rows_named,
    rows_under,
)
from streams.kafka.transport.marker import TablePosition
from streams.kafka.transport.rows import PlainRows, Row, open_store
from streams.pipeline.interfaces import StoreError
from streams.pipeline.row_formats import OLDEST, ROW_FORMAT

log = logging.getLogger(__name__)

STANDING_KEY = b"\0standing"  # sorts before all rows, as their keys start with a letter
WRITE_BUFFER = BLOCK_CACHE = 4 * 1024 * 1024
OF_THE_SYSTEM = "IO error", "(os error ", "[Errno "
"""Substrings of operating system errors in messages of RocksDB, rocksdict and Python."""
REMOVABLE = "Corruption", "No such file", "File exists"
"""Errors that deleting the folder may fix."""

_threads = ThreadPoolExecutor(4, "flush")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, TablePosition]).decode


class Damaged(OSError):  # noqa: N818 - what the store is
    """The folder is unusable. The next `open` starts with an empty one."""


class Taken(OSError):  # noqa: N818 - what the store is
    """Another process has the folder locked, or has not released it yet."""


class Renewed(OSError):  # noqa: N818 - what the store is
    """The store is being reopened. `DiskRows.rest` waits for it."""


class DiskRows(PlainRows):
    """Implements `streams.kafka.transport.rows.RowStore` in a dedicated folder. For sizes see
    `open_database`."""

    def __init__(
        self,
        folder: Path,
        entities: int = 1_024,
        write_buffer: int = WRITE_BUFFER,
        block_cache: int | Cache = BLOCK_CACHE,
    ) -> None:
        self.folder = folder
        self.entities = entities
        self._sizes = write_buffer, block_cache
        self._damaged = False
        self._db: Rdict | None = None
        self._cursor: RdictIter | None = None
        self._batch = WriteBatch(raw_mode=True)
        self._compacting = Lock()
        self._gone: Future[None] | None = None  # closes the store after an error
        self._renewing: asyncio.Future[None] | None = None

    def open(self) -> TablePosition | None:
        if self._db is not None:
            return None
        self.close()
        if not self._damaged:
            try:
                return self._open()
            except Damaged as error:
                log.error("%s: thrown away, will be rebuilt from the changelog: %s",
                          self.folder, error)  # fmt: skip
        self._destroy()
        return self._open()

    def _open(self) -> TablePosition:
        try:
            create_database(self.folder)
            db = open_database(self.folder, *self._sizes)
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._fault(error) from None
        self._db = db
        try:
            entry = db.get(STANDING_KEY)
            if entry is None and not _empty(db.iter()):
                raise Damaged("it has rows, but no changelog position")
            format_, standing = (ROW_FORMAT, TablePosition()) if entry is None else _decode(entry)
        except Exception as error:
            raise self._fault(error) from None
        if not OLDEST <= format_ <= ROW_FORMAT:
            formats = f"this version reads {OLDEST} to {ROW_FORMAT}"
            raise self._fault(Damaged(f"its format is {format_}, {formats}"))
        if standing.position and standing.marker is None:  # of an unknown changelog
            raise self._fault(Damaged("it was left in the middle of a restore"))
        return standing

    def read(self, prefix: bytes) -> dict[str, bytes]:
        db = self._opened()
        try:
            if self._cursor is None:
                self._cursor = db.iter()
            return rows_under(self._cursor, prefix + b"\0")
        except Exception as error:
            raise self._fault(error) from None

    def named(self, name: bytes) -> Iterator[Row]:
        db = self._opened()
        try:
            for prefix, row in rows_named(db.iter(), name, b""):
                yield prefix + b"\0" + name, row
        except Exception as error:
            raise self._fault(error) from None

    def keys(self, after: bytes) -> Iterator[bytes]:
        db = self._opened()
        try:
            yield from keys_after(db.iter(), after)
        except Exception as error:
            raise self._fault(error) from None

    def put(self, rows: Iterable[Row]) -> None:
        put, delete = self._batch.put, self._batch.delete
        for key, value in rows:
            if value is None:
                delete(key)
            else:
                put(key, value)

    def commit(self, standing: TablePosition) -> None:
        db = self._opened()
        standing.written = time()
        self._batch.put(STANDING_KEY, _encode((ROW_FORMAT, standing)))
        batch, self._batch = self._batch, WriteBatch(raw_mode=True)
        try:
            db.write(batch)
            self._cursor = None  # a cursor is a snapshot
        except Exception as error:
            raise self._fault(error) from None

    def settle(self) -> None:
        """No-op, as the rows are on disk."""

    async def rest(self) -> None:
        """Flushes a full memtable before the next `commit` would, and waits for `renew`."""
        if self._renewing is not None:
            await asyncio.shield(self._renewing)
        db = self._db
        if db is None or not is_full(db, self._sizes[0]):
            return
        flushing = asyncio.get_running_loop().run_in_executor(_threads, self._flush, db)
        await asyncio.shield(flushing)

    def _flush(self, db: Rdict) -> None:
        if not self._compacting.acquire(blocking=False):
            return  # compaction flushes as well
        try:
            if self._db is db:
                db.flush()
        except Exception as error:  # rocksdict raises bare Exceptions
            log.warning("%s: not flushed: %s", self.folder, error)  # the next commit raises
        finally:
            self._compacting.release()

    def clear(self) -> None:
        self._destroy()
        self._open()

    def compact(self) -> bool:
        """Rewrites the files so that deleted rows are removed from them. Returns whether it
        completed. Run it in a separate thread: other methods may be called during it, and `close`
        cancels it.

        Raises what rocksdict raises, a bare Exception.
        """
        with self._compacting:
            db = self._db
            try:
                if db is not None:
                    db.flush()
                    db.compact_range(None, None)
            except Exception:
                if self._db is db:  # otherwise cancelled
                    raise
            return db is not None and self._db is db

    async def renew(self) -> None:
        """Reopens the store: names of deleted rows leave RocksDB's file list, and cursors release
        old files. Readers get `Renewed` until it ends. A closed store stays closed.

        Raises StoreError, OSError: the store is closed then.
        """
        if self._db is None:
            return
        self._renewing = asyncio.get_running_loop().create_future()
        try:
            await open_store(self._close_and_open)
        finally:
            self._renewing.set_result(None)
            self._renewing = None

    def _close_and_open(self) -> None:
        self.close()
        self._open()

    def close(self) -> None:
        if (db := self._let_go()) is not None:
            self._close(db)
        if self._gone is not None:
            wait([self._gone])

    def _let_go(self) -> Rdict | None:
        self._cursor = None
        self._batch = WriteBatch(raw_mode=True)
        db, self._db = self._db, None
        return db

    def _close(self, db: Rdict) -> None:
        if self._compacting.locked():
            db.cancel_all_background(True)
        with self._compacting, suppress(Exception):  # disk full: committed rows are safe
            db.close()

    def _opened(self) -> Rdict:
        if self._renewing is not None:
            raise Renewed(f"{self.folder}: is being opened again")
        if self._db is None:  # after an error that another caller got
            raise Damaged(f"{self.folder}: closed; it has to be opened again")
        return self._db

    def _destroy(self) -> None:
        self.close()
        self._damaged = False
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.exists():  # otherwise an endless loop of open and delete
            raise StoreError(
                f"{self.folder}: cannot be removed; remove it, or grant this process permission, "
                "and restart: nothing is lost"
            )

    def _fault(self, error: Exception) -> Exception:
        """Returns the exception to raise for an error, and closes the store in a thread."""
        text = str(error)
        error.__traceback__ = None  # its frames have a cursor, which would keep the database open
        if (db := self._let_go()) is not None:
            self._gone = _threads.submit(self._close, db)
        if "lock" in text.lower() and "IO error" in text:
            return Taken(f"{self.folder}: another process has it: {text}")
        if _any_of(OF_THE_SYSTEM, text) and not _any_of(REMOVABLE, text):
            return StoreError(
                f"{self.folder}: {text}; free disk space, or make it writable, and restart: "
                "nothing is lost"
            )
        self._damaged = True
        return Damaged(f"{self.folder}: {text}")


def _any_of(signs: tuple[str, ...], text: str) -> bool:
    return any(sign in text for sign in signs)


def _empty(cursor: RdictIter) -> bool:
    cursor.seek_to_first()
    empty = not cursor.valid()
    cursor.status()
    return empty


def size_on_disk(folder: Path) -> int:
    """Bytes of a lane's files; the store may be open."""
    sizes = 0
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # deleted by a compaction
            sizes += file.stat().st_size
    return sizes
