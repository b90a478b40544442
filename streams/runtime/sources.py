"""Files as records with positions: NDJSON, gzip, Parquet and stdin.

A position is the line from 1 (in Parquet the row). A file is known by its absolute path and the
hash of the bytes already read, so that a second run goes on where the first one ended, and a file
whose beginning changed counts as another.
"""

import gzip
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from schemas.base import EPOCH
from streams.errors import ConfigurationError

CHUNK = 1 << 20
BLOCK = 1 << 16  # some hundred turns: what decodes and folds them stays in the CPU's cache
ROWS = 256
MAX_LINE = 64 << 20  # a longer line is read past; its first bytes stand for it
HEAD = 1 << 20
_encode = msgspec.json.Encoder().encode
WITHHELD = re.compile(rb"meta[_-]request", re.IGNORECASE)


class Position(NamedTuple):
    """How far a file was read: bytes (unpacked), lines, and the SHA-256 of those bytes."""

    bytes: int = 0
    lines: int = 0
    digest: str = sha256().hexdigest()


Given = tuple[bytes, tuple[str, int, int]]
"""A record as bytes, and where it stands: topic (the path), partition 0, line or row from 1."""


class TruncatedError(Exception):
    """The file ends in the middle of its gzip stream; what came before was read."""


class Source:
    """One file being read. `position` says how far, once a chunk has been handed out."""

    def __init__(self, path: str, known: Position | None = None) -> None:
        self.topic = path if path == "-" else str(Path(path).resolve())
        self._path = path
        self._hash = sha256()
        self._bytes = 0
        self._lines = 0
        self._known = known
        self.size = 0 if path == "-" else Path(path).stat().st_size
        self._file: IO[bytes] | None = None

    @property
    def position(self) -> Position:
        """How far the lines handed out so far reach."""
        return Position(self._bytes, self._lines, self._hash.copy().hexdigest())

    @property
    def progress(self) -> int:
        """Bytes of the file as it lies on disk that were read, about."""
        if self._file is None:
            return 0
        inner = getattr(self._file, "fileobj", None) or self._file
        return int(inner.tell()) if inner.seekable() else 0

    def chunks(self) -> Iterator[list[Given]]:
        """The records not read before, some at a time; blank lines are passed over.

        Raises TruncatedError at the end of half a gzip or Parquet file, after its last record.
        """
        if self._path.endswith(".parquet"):
            yield from self._rows()
            return
        with _opened(self._path) as self._file:
            if self._known is None or self._skip(self._file, self._known):
                yield from self._read(self._file)
                return
        self._hash, self._bytes, self._lines = sha256(), 0, 0
        with _opened(self._path) as self._file:  # its beginning is not what was read before
            yield from self._read(self._file)

    def _skip(self, file: IO[bytes], known: Position) -> bool:
        """Reads past what is known, if it is still the same."""
        left = known.bytes
        while left:
            try:
                block = file.read(min(CHUNK, left))
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return False
            if not block:
                return False
            self._hash.update(block)
            left -= len(block)
        if self._hash.hexdigest() != known.digest:
            return False
        self._bytes, self._lines = known.bytes, known.lines
        return True

    def _read(self, file: IO[bytes]) -> Iterator[list[Given]]:
        """Whole lines of one block after the other; what a block ends with waits for the next."""
        rest: list[bytes] = []
        waiting = 0
        while True:
            block = self._next(file.read1, BLOCK)  # type: ignore[attr-defined]  # what is there now
            end = block.rfind(b"\n") + 1
            if end or not block:
                whole = b"".join((*rest, block[:end]))
                rest, waiting = [block[end:]], len(block) - end
                self._count(whole)
                yield self._records(whole.split(b"\n"))
            else:
                rest.append(block)
                waiting += len(block)
            if not block:
                return
            if waiting >= MAX_LINE:
                yield self._long_line(file, b"".join(rest))
                rest, waiting = [], 0

    def _records(self, lines: list[bytes]) -> list[Given]:
        topic, first = self.topic, self._lines + 1
        last = lines.pop()  # without its line feed, most often because nothing follows it
        self._lines += len(lines)
        if last:
            lines.append(last)
            self._lines += 1
        return [
            (line.rstrip(b"\r"), (topic, 0, number))
            for number, line in enumerate(lines, first)
            if line and not line.isspace()
        ]

    def _long_line(self, file: IO[bytes], begun: bytes) -> list[Given]:
        """The first bytes of a line of more than MAX_LINE, the length of the rest."""
        length, withheld = len(begun), b""
        self._hash.update(begun)
        block = begun
        while block:
            if WITHHELD.search(block):  # the edge then keeps hash and length alone
                withheld = b" meta_request"
            if block.endswith(b"\n"):
                break
            block = self._next(file.readline, CHUNK)
            self._hash.update(block)
            length += len(block)
        self._bytes += length
        head = begun[:HEAD] + f" … [a line of {length} bytes]".encode() + withheld
        return self._records([head, b""])

    def _next(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TruncatedError(f"{self.topic}: after line {self._lines}: {error}") from None

    def _count(self, block: bytes) -> None:
        self._hash.update(block)
        self._bytes += len(block)

    def _rows(self) -> Iterator[list[Given]]:
        """Parquet: a row is a record, its columns the fields."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._hash = _file_hash(self._path)
        whole = self._hash.hexdigest()
        known = self._known
        skip = known.lines if known and known.digest == whole else 0
        self._lines = 0
        try:
            with pq.ParquetFile(self._path) as file:
                for batch in file.iter_batches(batch_size=ROWS):
                    rows = batch.to_pylist() if self._lines + batch.num_rows > skip else []
                    new = range(max(skip - self._lines, 0), len(rows))
                    chunk = [
                        (_encode(_plain(rows[at])), (self.topic, 0, self._lines + at + 1))
                        for at in new
                    ]
                    self._lines += batch.num_rows
                    self._bytes = self._lines
                    if chunk:
                        yield chunk
        except pa.ArrowInvalid as error:
            raise TruncatedError(f"{self.topic}: after row {self._lines}: {error}") from None


def _opened(path: str) -> IO[bytes]:
    if path == "-":
        return sys.stdin.buffer
    file = Path(path).open("rb")  # noqa: SIM115 - the caller closes it
    magic = file.read(2)
    file.seek(0)
    if magic == b"\x1f\x8b":
        file.close()
        return gzip.open(path)  # type: ignore[return-value]
    return file


def _file_hash(path: str) -> Any:
    digest = sha256()
    with Path(path).open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest


def _plain(value: Any) -> Any:
    """A Parquet value as JSON has it; times become RFC 3339 text, null fields are left out."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if hasattr(value, "isoformat"):
        moment = value if getattr(value, "tzinfo", None) else None
        return (moment.astimezone(EPOCH.tzinfo) if moment else value).isoformat()
    return value


def check(paths: list[str]) -> None:
    """Raises for a path that is not a readable file, before anything is touched."""
    for path in paths:
        if path != "-" and not Path(path).is_file():
            raise ConfigurationError(f"{path}: no such file")
        if path != "-":
            try:
                Path(path).open("rb").close()
            except OSError as error:
                raise ConfigurationError(f"{path}: {error.strerror}") from None
