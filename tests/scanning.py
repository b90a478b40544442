"""All bytes below a folder, unpacked, searched for a person's marks."""

import gzip
import lzma
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rocksdict import AccessType, Options, Rdict

from tests.command import spellings

PACKED: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"\x28\xb5\x2f\xfd": lambda content: pa.CompressedInputStream(
        pa.BufferReader(content), "zstd"
    ).read(),
    b"\xfd7zXZ": lzma.decompress,
    b"\x78": zlib.decompress,
}
DEEP = 4


def holding(folder: Path, marks: Sequence[str]) -> dict[str, list[str]]:
    """File below a folder -> the marks in it, wherever there are any: in its bytes, in what these
    unpack to, in a cell of Parquet, in a row of RocksDB. A file that cannot be read to the end
    counts as holding all marks."""
    forms = {mark: _forms(mark) for mark in marks}
    found: dict[str, set[str]] = {}

    def look(path: Path, content: bytes, deep: int = DEEP) -> None:
        held = {mark for mark in marks if any(one in content for one in forms[mark])}
        if held:
            found.setdefault(str(path.relative_to(folder)), set()).update(held)
        for begin, unpack in PACKED.items():
            if deep and content.startswith(begin):
                try:
                    look(path, unpack(content), deep - 1)
                except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException):
                    continue

    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        content = path.read_bytes()
        look(path, content)
        if content[:4] == b"PAR1":
            for cell in _cells(path):
                look(path, cell)
        if path.name == "CURRENT":
            for part in _rows(path.parent):
                look(path.parent, part)
    return {path: sorted(held) for path, held in sorted(found.items())}


def _forms(mark: str) -> list[bytes]:
    """A text as it may be stored: UTF-8, UTF-16, escaped, in base64 at any offset."""
    assert len(mark) >= 16, "a short one is in packed bytes by chance"
    shifted = [b64encode(b"\0" * shift + mark.encode())[4:-4] for shift in range(3)]
    return [*spellings(mark), mark.encode("utf-16-be"), *shifted]


def _cells(path: Path) -> Iterator[bytes]:
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException):  # cut: its pages are packed, and cannot be told apart
        yield path.read_bytes()
        return
    for column in table.columns:
        yield from _bytes(column.to_pylist())


def _bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, str):
        yield value.encode()
    elif isinstance(value, list):
        for one in value:
            yield from _bytes(one)


def _rows(folder: Path) -> Iterator[bytes]:
    """All keys and values; what a file that is used no more has is there to be read, too."""
    options = Options(raw_mode=True)
    store = Rdict(str(folder), options, access_type=AccessType.read_only())
    try:
        live = {Path(one["name"]).name for one in store.live_files()}
        unused = {one.name for one in folder.glob("*.sst")} - live
        assert not unused, f"{folder}: {unused} may have what was erased"
        yield from (part for item in store.items() for part in item if isinstance(part, bytes))
    finally:
        store.close()
