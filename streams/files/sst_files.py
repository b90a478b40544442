"""Rows of one RocksDB handed to another as sorted files, which it takes over as they are."""

import shutil
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path

from rocksdict import (
    BlockBasedOptions,
    DBCompressionType,
    IngestExternalFileOptions,
    Options,
    Rdict,
    RdictIter,
    SstFileWriter,
)

ROWS = 200_000
"""Of one file: its index is held as a whole."""
BLOCK = 65_536
LEVEL = 6
"""Of zstd: a sixth smaller than blocks of 16 KB at the usual level 3, for 2 µs more a row. What is
written again later lies in the store's own small blocks."""
WINDOW_BITS = -14  # RocksDB's default


def export(cursor: RdictIter, folder: Path, without: bytes) -> None:
    """Writes all rows but those whose keys begin so, into a folder made again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    rows = _rows(cursor, without)
    for number in count():
        first = next(rows, None)
        if first is None:
            break
        writer = SstFileWriter(_options())
        writer.open(str(folder / f"{number:06}.sst"))
        for key, value in chain([first], islice(rows, ROWS - 1)):
            writer[key] = value
        writer.finish()


def ingest(database: Rdict, files: list[Path]) -> None:
    """Takes over files of which no two have keys between each other's."""
    if files:
        made = IngestExternalFileOptions()
        made.set_move_files(True)
        database.ingest_external_file([str(file) for file in files], made)


def _rows(cursor: RdictIter, without: bytes) -> Iterator[tuple[bytes, bytes]]:
    cursor.seek_to_first()
    while cursor.valid():
        key = cursor.key()
        if not key.startswith(without):
            yield key, cursor.value()
        cursor.next()
    cursor.status()  # an unreadable block looks like the end


def _options() -> Options:
    made = Options(raw_mode=True)
    made.set_compression_type(DBCompressionType.zstd())
    made.set_compression_options(WINDOW_BITS, LEVEL, 0, 0)
    table = BlockBasedOptions()
    table.set_block_size(BLOCK)
    made.set_block_based_table_factory(table)
    return made
