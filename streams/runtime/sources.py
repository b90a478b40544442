"""Files as records with positions: NDJSON, gzip, Parquet and stdin.

A position is the line from 1 (in Parquet the row). A file is known by its absolute path and the
hash of the bytes already read, so that a second run goes on where the first one ended, and a file
whose beginning changed counts as another.
"""

import gzip
import re
import sys
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from schemas.base import EPOCH
from streams.errors import ConfigurationError

CHUNK = 1 << 20
MAX_LINE = 64 << 20  # a longer line is read past; its first bytes stand for it
HEAD = 1 << 20
WITHHELD = re.compile(rb"meta[_-]request", re.IGNORECASE)


class Position(NamedTuple):
    """How far a file was read: bytes (unpacked), lines, and the SHA-256 of those bytes."""

    bytes: int = 0
    lines: int = 0
    digest: str = sha256().hexdigest()


class Line(NamedTuple):
    """One line or row, with its number and the bytes read up to its end."""

    number: int
    content: bytes


class TruncatedError(Exception):
    """The file ends in the middle of its gzip stream; what came before was read."""


class Source:
    """One file being read. `position` says how far, once a line has been handed out."""

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

    def lines(self) -> Iterator[Line]:
        """The lines not read before. Raises TruncatedError at the end of half a gzip file."""
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

    def _read(self, file: IO[bytes]) -> Iterator[Line]:
        while True:
            try:
                line = file.readline(MAX_LINE)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise TruncatedError(f"{self.topic}: after line {self._lines}: {error}") from None
            if not line:
                return
            self._count(line)
            if not line.endswith(b"\n") and len(line) >= MAX_LINE:
                line = line[:HEAD] + self._rest_of_line(file, line)
            self._lines += 1
            if line.strip():
                yield Line(self._lines, line.rstrip(b"\r\n"))

    def _rest_of_line(self, file: IO[bytes], line: bytes) -> bytes:
        length = MAX_LINE
        withheld = b" meta_request" if WITHHELD.search(line) else b""
        while block := file.readline(CHUNK):
            self._count(block)
            length += len(block)
            if WITHHELD.search(block):  # the edge then keeps hash and length alone
                withheld = b" meta_request"
            if block.endswith(b"\n"):
                break
        return f" … [a line of {length} bytes]".encode() + withheld

    def _count(self, block: bytes) -> None:
        self._hash.update(block)
        self._bytes += len(block)

    def _rows(self) -> Iterator[Line]:
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
                for batch in file.iter_batches(batch_size=4096):
                    if self._lines + batch.num_rows <= skip:
                        self._lines += batch.num_rows
                        continue
                    for row in batch.to_pylist():
                        self._lines += 1
                        if self._lines > skip:
                            yield Line(self._lines, msgspec.json.encode(_plain(row)))
                    self._bytes = self._lines
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
