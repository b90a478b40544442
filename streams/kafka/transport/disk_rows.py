"""A lane's rows in RocksDB, with the changelog's offset that they stand at.

Written after the Kafka transaction: never ahead of it, at most one batch behind, and always the
changelog folded up to the offset written with it. So whatever is wrong with a folder, throwing it
away costs time and nothing else.
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
from streams.kafka.transport.marker import Standing
from streams.kafka.transport.rows import Row, opened
from streams.pipeline.ports import StoreError
from streams.pipeline.row_formats import OLDEST, ROW_FORMAT

log = logging.getLogger(__name__)

STANDING_KEY = b"\0standing"  # before all rows, whose keys begin with a letter
WRITE_BUFFER = BLOCK_CACHE = 4 * 1024 * 1024
OF_THE_SYSTEM = "IO error", "(os error ", "[Errno "
"""How RocksDB begins what the operating system refused, how rocksdict ends what was refused to
itself, and how Python begins it."""
REMOVABLE = "Corruption", "No such file", "File exists"
"""What throwing the folder away may mend."""

_threads = ThreadPoolExecutor(4, "flush")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, Standing]).decode


class Damaged(OSError):  # noqa: N818 - what the store is
    """What is in the folder cannot be used. The next `open` begins with an empty one."""


class Taken(OSError):  # noqa: N818 - what the store is
    """Another process has the folder, or has not let it go yet."""


class Renewed(OSError):  # noqa: N818 - what the store is
    """It is being opened again. `DiskRows.rest` waits for that."""


class DiskRows:
    """Implements `streams.kafka.transport.rows.RowStore` in a folder of its own. The sizes are
    `open_database`'s."""

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
        self._gone: Future[None] | None = None  # the closing of what a fault was found in
        self._renewing: asyncio.Future[None] | None = None

    def open(self) -> Standing | None:
        if self._db is not None:
            return None
        self.close()
        if not self._damaged:
            try:
                return self._open()
            except Damaged as error:
                log.error("%s: thrown away, to be made anew from the changelog: %s",
                          self.folder, error)  # fmt: skip
        self._destroy()
        return self._open()

    def _open(self) -> Standing:
        try:
            create_database(self.folder)
            db = open_database(self.folder, *self._sizes)
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._fault(error) from None
        self._db = db
        try:
            kept = db.get(STANDING_KEY)
            if kept is None and not _empty(db.iter()):
                raise Damaged("it has rows, but does not say where they stand")
            format_, standing = (ROW_FORMAT, Standing()) if kept is None else _decode(kept)
        except Exception as error:
            raise self._fault(error) from None
        if not OLDEST <= format_ <= ROW_FORMAT:
            known = f"this version reads {OLDEST} to {ROW_FORMAT}"
            raise self._fault(Damaged(f"its format is {format_}, {known}"))
        if standing.position and standing.marker is None:  # of which changelog, nobody can say
            raise self._fault(Damaged("it was left in the middle of a restore"))
        return standing

    def read(self, where: bytes) -> dict[str, bytes]:
        db = self._opened()
        try:
            if self._cursor is None:
                self._cursor = db.iter()
            return rows_under(self._cursor, where + b"\0")
        except Exception as error:
            raise self._fault(error) from None

    def named(self, name: bytes) -> Iterator[Row]:
        db = self._opened()
        try:
            for where, row in rows_named(db.iter(), name, b""):
                yield where + b"\0" + name, row
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

    def commit(self, standing: Standing) -> None:
        db = self._opened()
        standing.written = time()
        self._batch.put(STANDING_KEY, _encode((ROW_FORMAT, standing)))
        batch, self._batch = self._batch, WriteBatch(raw_mode=True)
        try:
            db.write(batch)
            self._cursor = None  # one sees the store as it was when it was made
        except Exception as error:
            raise self._fault(error) from None

    def settle(self) -> None:
        """They lie on disk already."""

    async def rest(self) -> None:
        """Writes what is full of rows to its file, before the next `commit` would. And waits for
        `renew`."""
        if self._renewing is not None:
            await asyncio.shield(self._renewing)
        db = self._db
        if db is None or not is_full(db, self._sizes[0]):
            return
        flushing = asyncio.get_running_loop().run_in_executor(_threads, self._flush, db)
        await asyncio.shield(flushing)

    def _flush(self, db: Rdict) -> None:
        if not self._compacting.acquire(blocking=False):
            return  # which flushes, too
        try:
            if self._db is db:
                db.flush()
        except Exception as error:  # rocksdict raises bare Exceptions
            log.warning("%s: not flushed: %s", self.folder, error)  # the next commit says why
        finally:
            self._compacting.release()

    def clear(self) -> None:
        self._destroy()
        self._open()

    def compact(self) -> bool:
        """Rewrites the files, so that no row that is gone is left in them. For a thread of its own:
        the other methods may be called meanwhile, and `close` breaks it off. Whether it was done.

        Raises what rocksdict raises, a bare Exception.
        """
        with self._compacting:
            db = self._db
            try:
                if db is not None:
                    db.flush()
                    db.compact_range(None, None)
            except Exception:
                if self._db is db:  # else it was broken off
                    raise
            return db is not None and self._db is db

    async def renew(self) -> None:
        """Closes and opens it: names of rows that are gone leave RocksDB's list of files, and a
        cursor lets go of old files. Who reads it before the end hears `Renewed`. Does nothing to a
        closed one.

        Raises StoreError, OSError: it is closed then.
        """
        if self._db is None:
            return
        self._renewing = asyncio.get_running_loop().create_future()
        try:
            await opened(self._close_and_open)
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
        with self._compacting, suppress(Exception):  # of a full disk: what was committed is safe
            db.close()

    def _opened(self) -> Rdict:
        if self._renewing is not None:
            raise Renewed(f"{self.folder}: is being opened again")
        if self._db is None:  # since a fault: whoever met that may not be who asks now
            raise Damaged(f"{self.folder}: closed; it has to be opened again")
        return self._db

    def _destroy(self) -> None:
        self.close()
        self._damaged = False
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.folder.exists():  # else it would be opened and thrown away for ever
            raise StoreError(
                f"{self.folder}: cannot be removed; remove it, or see that this process can, and "
                "start again: nothing is lost"
            )

    def _fault(self, error: Exception) -> Exception:
        """What to raise for an error; the store is being closed, by a thread."""
        text = str(error)
        error.__traceback__ = None  # its frames have a cursor, which would keep the database open
        if (db := self._let_go()) is not None:
            self._gone = _threads.submit(self._close, db)
        if "lock" in text.lower() and "IO error" in text:
            return Taken(f"{self.folder}: another process has it: {text}")
        if _any_of(OF_THE_SYSTEM, text) and not _any_of(REMOVABLE, text):
            return StoreError(
                f"{self.folder}: {text}; make room, or see that it can be written, and start "
                "again: nothing is lost"
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
    """Bytes of a lane's files; it may be open."""
    sizes = 0
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # merged meanwhile
            sizes += file.stat().st_size
    return sizes
