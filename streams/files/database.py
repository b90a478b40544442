"""RocksDB as rows are kept in it: how a database is made, opened, and read by prefix."""

from collections.abc import Iterator
from pathlib import Path

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompactionStyle,
    DBCompressionType,
    Options,
    Rdict,
    RdictIter,
)

RUNS = 10
"""Sorted runs before some are merged. With RocksDB's own 4, two and a half times as much is written
again; who reads an entity looks into all of them, which costs less than that."""
BLOCK_CACHE = 48_000_000
WRITE_BUFFER = 16_000_000
FULL = 0.75
"""Of a write buffer: at about all of it RocksDB begins another one within a write, and waits for
the disk there where the one before is not in its file yet. rocksdict lets no other thread run while
it writes, but does while it flushes."""


def rows_under(cursor: RdictIter, prefix: bytes) -> dict[str, bytes]:
    """The rows whose keys begin so, by what follows.

    Raises what rocksdict raises of a block that cannot be read: a bare Exception.
    """
    rows: dict[str, bytes] = {}
    length = len(prefix)
    cursor.seek(prefix)
    while cursor.valid():
        key = cursor.key()
        if not key.startswith(prefix):
            return rows
        rows[key[length:].decode()] = cursor.value()
        cursor.next()
    cursor.status()  # an unreadable block looks like the end
    return rows


def keys_after(cursor: RdictIter, after: bytes) -> Iterator[bytes]:
    """What the keys of each entity greater than `after` begin with, up to the last NUL, in order.

    Raises what rocksdict raises of a block that cannot be read: a bare Exception.
    """
    cursor.seek(after + b"\1")
    while cursor.valid():
        where = cursor.key().rpartition(b"\0")[0]
        yield where
        cursor.seek(where + b"\1")
    cursor.status()


def rows_named(cursor: RdictIter, name: bytes, after: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The row of that name of each entity whose prefix is greater than `after`: what its key begins
    with, up to the last NUL, and the row. Seeks from entity to entity.

    Raises what rocksdict raises of a block that cannot be read: a bare Exception.
    """
    cursor.seek(after + b"\1")
    while cursor.valid():
        where = cursor.key().rpartition(b"\0")[0]
        key = where + b"\0" + name
        cursor.seek(key)
        if cursor.valid() and cursor.key() == key:
            yield where, cursor.value()
        cursor.seek(where + b"\1")
    cursor.status()


def is_full(database: Rdict, write_buffer: int) -> bool:
    """Whether it is to be flushed before more is written."""
    size = database.property_int_value("rocksdb.cur-size-active-mem-table") or 0
    return size >= FULL * write_buffer


def create_database(path: Path) -> None:
    """Writes what an empty database begins with into a folder that is empty, or not there: a thread
    that opens it then waits for the disk five times while no other thread runs, not ten times.

    Raises OSError, and what rocksdict raises: a bare Exception.
    """
    path.mkdir(parents=True, exist_ok=True)
    if not any(path.iterdir()):
        (path / "LOCK").touch()  # an empty folder is not repaired
        Rdict.repair(str(path), _options(WRITE_BUFFER, BLOCK_CACHE))


def open_database(
    path: Path, write_buffer: int = WRITE_BUFFER, block_cache: int | Cache = BLOCK_CACHE
) -> Rdict:
    """A database made and read in our way; sizes in bytes, up to two write buffers are in use. A
    cache may be that of other databases, too.

    Raises what rocksdict raises: a bare Exception.
    """
    made = _options(write_buffer, block_cache)
    # said of the column family as well: else one that exists is read with the options it was
    # written with, which do not hold the cache, and 8 MB of it for want of any
    return Rdict(str(path), made, column_families={"default": made})


def _options(write_buffer: int, block_cache: int | Cache) -> Options:
    made = Options(raw_mode=True)
    made.create_if_missing(True)
    made.set_write_buffer_size(write_buffer)
    made.set_max_write_buffer_number(2)
    made.set_compression_type(DBCompressionType.lz4())
    # Rows of a session that continues are written again and again: in levels, compaction would take
    # the more time, the larger the store is (docs/decisions.md).
    made.set_compaction_style(DBCompactionStyle.universal())
    made.set_level_zero_file_num_compaction_trigger(RUNS)
    made.set_max_open_files(256)
    made.set_keep_log_file_num(2)
    table = BlockBasedOptions()
    table.set_block_cache(Cache(block_cache) if isinstance(block_cache, int) else block_cache)
    # Rows are sought by prefix, where a filter is of no use. An index in one piece is larger than
    # a shard of the cache takes: it would be read and unpacked again for each entity.
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_pin_top_level_index_and_filter(True)
    table.set_cache_index_and_filter_blocks(True)
    made.set_block_based_table_factory(table)
    return made
