"""RocksDB for rows: creates and opens databases, and reads them by prefix."""

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
"""Sorted runs before some are merged. RocksDB's default of 4 rewrites 2.5 times as much; reading
more runs per entity costs less."""
BLOCK_CACHE = 48_000_000
WRITE_BUFFER = 16_000_000
FULL = 0.75
"""Part of a write buffer at which it is flushed explicitly. When it is full, RocksDB switches
buffers during a write and may wait for the disk. rocksdict blocks other threads during writes, but
not during flushes."""


def rows_under(cursor: RdictIter, prefix: bytes) -> dict[str, bytes]:
    """The rows with a key prefix: rest of the key -> row.

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
    """Yields the key prefix, up to the last NUL, of each entity greater than `after`, in order.

    Raises what rocksdict raises of a block that cannot be read: a bare Exception.
    """
    cursor.seek(after + b"\1")
    while cursor.valid():
        prefix = cursor.key().rpartition(b"\0")[0]
        yield prefix
        cursor.seek(prefix + b"\1")
    cursor.status()


def rows_named(cursor: RdictIter, name: bytes, after: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the row `name` of each entity with a prefix greater than `after`: key prefix up to the
    last NUL, and row. Seeks from entity to entity.

    Raises what rocksdict raises of a block that cannot be read: a bare Exception.
    """
    cursor.seek(after + b"\1")
    while cursor.valid():
        prefix = cursor.key().rpartition(b"\0")[0]
        key = prefix + b"\0" + name
        cursor.seek(key)
        if cursor.valid() and cursor.key() == key:
            yield prefix, cursor.value()
        cursor.seek(prefix + b"\1")
    cursor.status()


def is_full(database: Rdict, write_buffer: int) -> bool:
    """Whether to flush the write buffer before the next write."""
    size = database.property_int_value("rocksdb.cur-size-active-mem-table") or 0
    return size >= FULL * write_buffer


def create_database(path: Path) -> None:
    """Creates an empty database in a new or empty folder. Opening it then waits for the disk five
    times instead of ten, during which other threads are blocked.

    Raises OSError, and what rocksdict raises: a bare Exception.
    """
    path.mkdir(parents=True, exist_ok=True)
    if not any(path.iterdir()):
        (path / "LOCK").touch()  # an empty folder is not repaired
        Rdict.repair(str(path), _options(WRITE_BUFFER, BLOCK_CACHE))


def open_database(
    path: Path, write_buffer: int = WRITE_BUFFER, block_cache: int | Cache = BLOCK_CACHE
) -> Rdict:
    """Opens a database with these options, creating it if needed; sizes in bytes, up to two write
    buffers are in use. Databases may share a cache.

    Raises what rocksdict raises: a bare Exception.
    """
    options = _options(write_buffer, block_cache)
    # repeated for the column family: otherwise an existing one is read with its stored options,
    # which lack the cache, and uses a default cache of 8 MB
    return Rdict(str(path), options, column_families={"default": options})


def _options(write_buffer: int, block_cache: int | Cache) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(write_buffer)
    options.set_max_write_buffer_number(2)
    options.set_compression_type(DBCompressionType.lz4())
    # Rows of active sessions are rewritten often: with levels, compaction would take more time the
    # larger the store is (docs/decisions.md).
    options.set_compaction_style(DBCompactionStyle.universal())
    options.set_level_zero_file_num_compaction_trigger(RUNS)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    table = BlockBasedOptions()
    table.set_block_cache(Cache(block_cache) if isinstance(block_cache, int) else block_cache)
    # Rows are read by prefix, for which filters do not help. A single-level index exceeds a shard
    # of the cache: it would be read and unpacked again for each entity.
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_pin_top_level_index_and_filter(True)
    table.set_cache_index_and_filter_blocks(True)
    options.set_block_based_table_factory(table)
    return options
