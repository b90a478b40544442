"""A lane's rows in RocksDB, with the changelog's offset that they stand at.

Written after the Kafka transaction: never ahead of it, at most one batch behind, and always the
changelog folded up to the offset written with it. So whatever is wrong with a folder, throwing it
away costs time and nothing else.
"""

import logging
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import time

import msgspec
from rocksdict import Rdict, RdictIter, WriteBatch

from streams.files.database import open_database, rows_named, rows_under
from streams.kafka.transport.marker import Standing
from streams.kafka.transport.rows import Row
from streams.pipeline.entity import ROW_FORMAT
from streams.pipeline.ports import StoreError

log = logging.getLogger(__name__)

STANDING_KEY = b"\0standing"  # before all rows, whose keys begin with a letter
WRITE_BUFFER = BLOCK_CACHE = 4 * 1024 * 1024

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, Standing]).decode


class Damaged(OSError):  # noqa: N818 - what the store is
    """What is in the folder cannot be used. The next `open` begins with an empty one."""


class Taken(OSError):  # noqa: N818 - what the store is
    """Another process has the folder, or has not let it go yet."""


class DiskRows:
    """Implements `streams.kafka.transport.rows.RowStore` in a folder of its own."""

    entities = 1_024

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._damaged = False
        self._db: Rdict | None = None
        self._cursor: RdictIter | None = None
        self._batch = WriteBatch(raw_mode=True)

    def open(self) -> Standing | None:
        if self._db is not None:
            return None
        if not self._damaged:
            try:
                return self._open()
            except Damaged as error:
                log.error("%s: thrown away, to be made anew from the changelog: %s",
                          self._folder, error)  # fmt: skip
        self._destroy()
        return self._open()

    def _open(self) -> Standing:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = open_database(self._folder, WRITE_BUFFER, BLOCK_CACHE)
            self._cursor = self._db.iter()
            kept = self._db.get(STANDING_KEY)
            if kept is None and not _empty(self._cursor):
                raise Damaged("it has rows, but does not say where they stand")
            format_, standing = (ROW_FORMAT, Standing()) if kept is None else _decode(kept)
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._fault(error) from None
        if format_ != ROW_FORMAT:
            raise self._fault(Damaged(f"its format is {format_}, not {ROW_FORMAT}"))
        if standing.position and standing.marker is None:  # of which changelog, nobody can say
            raise self._fault(Damaged("it was left in the middle of a restore"))
        return standing

    def read(self, where: bytes) -> dict[str, bytes]:
        assert self._cursor is not None
        try:
            return rows_under(self._cursor, where + b"\0")
        except Exception as error:
            raise self._fault(error) from None

    def named(self, name: bytes) -> Iterator[Row]:
        assert self._db is not None
        try:
            for where, row in rows_named(self._db.iter(), name, b""):
                yield where + b"\0" + name, row
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
        assert self._db is not None
        standing.written = time()
        self._batch.put(STANDING_KEY, _encode((ROW_FORMAT, standing)))
        batch, self._batch = self._batch, WriteBatch(raw_mode=True)
        try:
            self._db.write(batch)
            self._cursor = self._db.iter()  # one sees the store as it was when it was made
        except Exception as error:
            raise self._fault(error) from None

    def settle(self) -> None:
        """They lie on disk already."""

    def clear(self) -> None:
        self._destroy()
        self._open()

    def close(self) -> None:
        self._cursor = None
        self._batch = WriteBatch(raw_mode=True)
        db, self._db = self._db, None
        if db is not None:
            with suppress(Exception):  # of a full disk: what was committed is safe all the same
                db.close()

    def _destroy(self) -> None:
        self.close()
        self._damaged = False
        shutil.rmtree(self._folder, ignore_errors=True)

    def _fault(self, error: Exception) -> Exception:
        """What to raise for an error; the store is closed."""
        text = str(error)
        self.close()
        if "lock" in text.lower() and "IO error" in text:
            return Taken(f"{self._folder}: another process has it: {text}")
        if "IO error" in text and "Corruption" not in text and "No such file" not in text:
            return StoreError(
                f"{self._folder}: {text}; make room, or see that it can be written, and start "
                "again: nothing is lost"
            )
        self._damaged = True
        return Damaged(f"{self._folder}: {text}")


def _empty(cursor: RdictIter) -> bool:
    cursor.seek_to_first()
    empty = not cursor.valid()
    cursor.status()
    return empty
