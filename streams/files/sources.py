"""Reads files as records with positions: NDJSON, gzip, Parquet, pipes and stdin.

A position is the line from 1 (in Parquet the row). A file is identified by its absolute path and
the hash of the bytes already read, so that a second run continues where the first one ended, and a
file with a changed start counts as another. An incomplete last line is not read yet: the file may
still be written. A pipe is read once and identified by the time.
"""

import gzip
import json
import math
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR
from time import time_ns
from typing import IO, Any, NamedTuple

import msgspec

from schemas.base import EPOCH, format_time
from streams.errors import ConfigurationError, DataRefused
from streams.pipeline.decode import Given, too_long
from streams.pipeline.withheld import is_spelt_out

CHUNK = 1 << 20
BLOCK = 1 << 16  # some hundred turns: what decodes and folds them stays in the CPU's cache
ROWS = 256
MAX_LINE = 64 << 20  # a longer line is replaced by its first bytes
HEAD = 1 << 20
_encode = msgspec.json.Encoder().encode
OVERLAP = 256  # bytes: a match may span two blocks
STDIN = "-"
GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
UTF_16_LE, UTF_16_BE = b"\xff\xfe", b"\xfe\xff"
BEGINNING = 4_096
"""Bytes by which binary files are recognised."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
TORN = "Input data was truncated"  # msgspec's word for the start of a JSON value
BREAKS_OFF = re.compile(rb"[-+.eE]\Z|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")
"""Incomplete number or surrogate pair, which msgspec reports with other messages."""
_decode = msgspec.json.Decoder().decode


class Position(NamedTuple):
    """How far a file was read: bytes (unpacked), lines, and the SHA-256 of those bytes."""

    bytes: int = 0
    lines: int = 0
    digest: str = sha256().hexdigest()


class TruncatedError(Exception):
    """The file cannot be read to its end: truncated or damaged; the records before were read."""


class Truncated(DataRefused):
    """Files could not be read to their ends. `became`: outcome of the records before the damage;
    `where`: each file, its last readable line, and the error; `counts`: of the command."""

    def __init__(
        self, became: str, where: Sequence[str], counts: dict[str, Any] | None = None
    ) -> None:
        super().__init__(
            f"the file ends too early, or is damaged; what came before is {became}: "
            f"{'; '.join(where)}; get the file again, then run the same command"
        )
        self.counts = counts or {}


class Source:
    """A file being read. `position` is up to date after each yielded chunk.

    `unfinished`: bytes of an incomplete last line, for a later run. `read_before`: lines, or rows,
    that earlier runs have read.
    """

    def __init__(self, path: str, start: Position | None = None) -> None:
        self.is_stream = _is_stream(path)
        self.topic = _stream_topic(path) if self.is_stream else str(Path(path).resolve())
        self.unfinished = 0
        self.read_before = 0
        self._path = path
        self._hash = sha256()
        self._bytes = 0
        self._lines = 0
        self._goes_on = False  # the last line has no line feed yet, but was a complete record
        self._known = None if self.is_stream else start
        self.size = 0 if self.is_stream else Path(path).stat().st_size
        self._file: IO[bytes] | None = None

    @property
    def position(self) -> Position | None:
        """Position after the yielded lines, or None for a stream, which cannot be continued."""
        if self.is_stream:
            return None
        return Position(self._bytes, self._lines, self._hash.copy().hexdigest())

    @property
    def progress(self) -> int:
        """Approximate bytes read of the file on disk."""
        if self._file is None:
            return 0
        inner = getattr(self._file, "fileobj", None) or self._file
        return int(inner.tell()) if inner.seekable() else 0

    def chunks(self) -> Iterator[list[Given]]:
        """Yields chunks of the records not read before; skips blank lines.

        Raises TruncatedError at the end of a truncated gzip or Parquet file, after its last record,
        ConfigurationError for a file that cannot be opened, DataRefused for a file without lines.
        """
        file, kind = _open(self._path)
        with file as self._file:
            if kind == PARQUET:
                yield from self._rows()
                return
            if self._known is None or self._skip(file, self._known):
                yield from self._read(file)
                return
        self._hash, self._bytes, self._lines, self._goes_on = sha256(), 0, 0, False
        with _open(self._path)[0] as self._file:  # its start has changed
            yield from self._read(self._file)

    def _skip(self, file: IO[bytes], start: Position) -> bool:
        """Skips the part read before; returns whether it is unchanged."""
        remaining = start.bytes
        block = b"\n"
        while remaining:
            try:
                block = file.read(min(CHUNK, remaining))
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return False
            if not block:
                return False
            self._hash.update(block)
            remaining -= len(block)
        if self._hash.hexdigest() != start.digest:
            return False
        self._bytes, self._lines = start.bytes, start.lines
        self.read_before = start.lines
        self._goes_on = not block.endswith(b"\n")
        return True

    def _read(self, file: IO[bytes]) -> Iterator[list[Given]]:
        """Yields the complete lines of each block; the rest is prepended to the next block."""
        pieces: list[bytes] = []
        length = 0
        while True:
            block = self._next(file.read1, BLOCK)  # type: ignore[attr-defined]  # available bytes only
            end = block.rfind(b"\n") + 1
            if not block and not self.is_stream and self._waits(b"".join(pieces)):
                return
            if end or not block:
                text = b"".join((*pieces, block[:end]))
                pieces, length = [block[end:]], len(block) - end
                self._count(text)
                yield self._records(text.split(b"\n"))
            else:
                pieces.append(block)
                length += len(block)
            if not block:
                return
            if length >= MAX_LINE:
                yield self._long_line(file, b"".join(pieces))
                pieces, length = [], 0

    def _waits(self, line: bytes) -> bool:
        """Whether the end of the file is left for a later run: empty, or an incomplete record."""
        if not self._lines:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if not line.strip() or BYTE_ORDER_MARK.startswith(line):
            return True
        if _is_torn(line):
            self.unfinished = len(line)
        return self.unfinished > 0

    def _records(self, lines: list[bytes]) -> list[Given]:
        if self._goes_on and len(lines) > 1:  # its line feed, or more, was added since
            self._lines -= not lines[0].strip()
            self._goes_on = False
        if not self._lines:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        topic, first = self.topic, self._lines + 1
        last = lines.pop()  # without a line feed: usually empty
        self._lines += len(lines)
        if last:
            lines.append(last)
            self._lines += 1
        return [
            (line.rstrip(b"\r"), (topic, 0, number))
            for number, line in enumerate(lines, first)
            if line and not line.isspace()
        ]

    def _long_line(self, file: IO[bytes], start: bytes) -> list[Given]:
        """Replaces a line of more than MAX_LINE by its first bytes and its length."""
        length, hidden = len(start), False
        self._hash.update(start)
        block, before = start, b""
        while block:
            hidden = hidden or is_spelt_out(before + block)
            if block.endswith(b"\n"):
                break
            before = block[-OVERLAP:]
            block = self._next(file.readline, CHUNK)
            self._hash.update(block)
            length += len(block)
        self._bytes += length
        # decoding keeps only hash and length of lines that may be withheld
        head = start[:HEAD] + too_long(length) + (b" meta_request" if hidden else b"")
        return self._records([head, b""])

    def _next(self, read_block: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read_block(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TruncatedError(f"{self.topic}: after line {self._lines}: {error}") from None
        except OSError as error:  # an unmounted folder, a bad disk
            reason = error.strerror or str(error)
            raise TruncatedError(f"{self.topic}: after line {self._lines}: {reason}") from None

    def _count(self, block: bytes) -> None:
        self._hash.update(block)
        self._bytes += len(block)

    def _rows(self) -> Iterator[list[Given]]:
        """Yields Parquet rows as records, with columns as fields."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._hash = _file_hash(self._path)
        digest = self._hash.hexdigest()
        start = self._known
        skip = start.lines if start and start.digest == digest else 0
        self._lines, self.read_before = 0, skip
        try:
            with pq.ParquetFile(self._path) as file:
                for batch in file.iter_batches(batch_size=ROWS):
                    rows = batch.to_pylist() if self._lines + batch.num_rows > skip else []
                    indices = range(max(skip - self._lines, 0), len(rows))
                    chunk = [
                        (_encode(_plain(rows[index])), (self.topic, 0, self._lines + index + 1))
                        for index in indices
                    ]
                    self._lines += batch.num_rows
                    self._bytes = self._lines
                    if chunk:
                        yield chunk
        # ValueError and similar: a time out of Python's range, text that is not UTF-8
        except (pa.ArrowException, OSError, ValueError, OverflowError, LookupError) as error:
            raise TruncatedError(f"{self.topic}: after row {self._lines}: {error}") from None


def _is_torn(line: bytes) -> bool:
    """Whether a line is an incomplete JSON value."""
    if _is_prefix(line):
        return True
    broken = BREAKS_OFF.search(line[-12:])
    if broken is None:
        return False
    is_number = len(broken[0]) == 1
    return _is_prefix(line + b"0" if is_number else line[: -len(broken[0])])


def _is_prefix(line: bytes) -> bool:
    try:
        _decode(line)
    except msgspec.DecodeError as error:
        return str(error) == TORN
    except (UnicodeDecodeError, RecursionError):
        pass
    return False


def _is_stream(path: str) -> bool:
    """Whether a path can be read only once: stdin, a named pipe, `<(zcat FILE)`."""
    return path == STDIN or not Path(path).is_file()


def _stream_topic(path: str) -> str:
    """Topic of a pipe: name and time of reading, as pipes reuse names."""
    name = "stdin" if path == STDIN else path
    return f"{name}@{format_time(time_ns() // 1_000)}"


def _open(path: str) -> tuple[IO[bytes], bytes]:
    """Opens a file, decompressed; returns also its format: GZIP, PARQUET or empty for lines."""
    try:
        file: Any = sys.stdin.buffer if path == STDIN else Path(path).open("rb")  # noqa: SIM115
        magic = file.peek(4)[:4]
    except AttributeError:
        raise ConfigurationError("-: stdin is closed") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    if magic == PARQUET or path.lower().endswith(".parquet"):
        if _is_stream(path):
            file.close()
            raise ConfigurationError(
                f"{path}: Parquet cannot be read from a pipe; save it as a file"
            )
        if magic != PARQUET:
            file.close()
            raise DataRefused(f"{path}: is not Parquet, as its name says; rename it")
        return file, PARQUET
    if magic[:2] == GZIP:
        unpacked = gzip.GzipFile(fileobj=file)
        unpacked.myfileobj = file  # is closed with it
        file = unpacked
    elif path.lower().endswith(".gz") and magic:
        file.close()
        raise DataRefused(f"{path}: is not gzip, as its name says; rename it, or pack it with gzip")
    try:
        beginning = file.peek(BEGINNING)[:BEGINNING]
    except (EOFError, zlib.error, gzip.BadGzipFile):  # reading reports the position of the damage
        beginning = b""
    if problem := _binary_problem(beginning):
        file.close()
        raise DataRefused(f"{path}: {problem}")
    return file, magic[:2] if magic[:2] == GZIP else b""


def _binary_problem(beginning: bytes) -> str | None:
    """Problem and remedy of a file that cannot contain JSON lines in UTF-8; otherwise None."""
    if beginning[:2] in (UTF_16_LE, UTF_16_BE) or beginning[:4].count(0) == 2:
        return "is UTF-16; convert it first (iconv -f UTF-16 -t UTF-8)"
    if 0 in beginning and not any(line[:1] == b"{" for line in beginning.split(b"\n")):
        return "contains no JSON lines; name a file of NDJSON, plain or gzipped, or of Parquet"
    return None


def _file_hash(path: str) -> Any:
    digest = sha256()
    with Path(path).open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest


def _plain(value: Any) -> Any:
    """Converts a Parquet value for JSON: times become RFC 3339 text, null fields are omitted. NaN
    is preserved, and rejected later, as JSON has none."""
    if isinstance(value, dict):
        return {key: _plain(element) for key, element in value.items() if element is not None}
    if isinstance(value, list | tuple):  # a tuple: one pair of a map
        return [_plain(element) for element in value]
    if isinstance(value, float) and not math.isfinite(value):
        return msgspec.Raw(json.dumps(value).encode())
    if hasattr(value, "isoformat"):
        moment = value if getattr(value, "tzinfo", None) else None
        return (moment.astimezone(EPOCH.tzinfo) if moment else value).isoformat()
    return value


def check(paths: list[str], *, of_records: bool = True) -> None:
    """Raises ConfigurationError for a path that is not a readable file; with `of_records` also
    DataRefused for a file that cannot contain records."""
    if paths.count(STDIN) > 1:
        raise ConfigurationError("-: stdin can be read only once")
    for path in paths:
        if path == STDIN:
            continue
        try:
            path.encode()
        except UnicodeEncodeError:
            raise ConfigurationError(f"{path!r}: its name is not UTF-8; rename it") from None
        try:
            mode = Path(path).stat().st_mode
        except FileNotFoundError:
            raise ConfigurationError(f"{path}: no such file; correct the path") from None
        except OSError as error:
            raise ConfigurationError(f"{path}: {error.strerror}") from None
        if S_ISDIR(mode):
            raise ConfigurationError(f"{path}: is a folder; name the files in it")
        if not os.access(path, os.R_OK):
            raise ConfigurationError(f"{path}: Permission denied")
        if of_records and not _is_stream(path):
            _open(path)[0].close()
