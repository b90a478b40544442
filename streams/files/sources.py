"""Files as records with positions: NDJSON, gzip, Parquet, pipes and stdin.

A position is the line from 1 (in Parquet the row). A file is known by its absolute path and the
hash of the bytes already read, so that a second run continues where the first one ended, and a file
whose beginning changed counts as another. A last line that breaks off in the middle of its record
is not read yet: who writes the file may still be at it. A pipe is read once and known by when.
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
MAX_LINE = 64 << 20  # a longer line is read past; its first bytes stand for it
HEAD = 1 << 20
_encode = msgspec.json.Encoder().encode
OVERLAP = 256  # bytes: what a line mentions may lie across two blocks
STDIN = "-"
GZIP, PARQUET = b"\x1f\x8b", b"PAR1"
UTF_16_LE, UTF_16_BE = b"\xff\xfe", b"\xfe\xff"
BEGINNING = 4_096
"""Bytes by which a file is told that holds no lines."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
TORN = "Input data was truncated"  # msgspec's word for the beginning of a JSON value
BREAKS_OFF = re.compile(rb"[-+.eE]\Z|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")
"""Of a number, or of a surrogate pair: it says other things of those."""
_decode = msgspec.json.Decoder().decode


class Position(NamedTuple):
    """How far a file was read: bytes (unpacked), lines, and the SHA-256 of those bytes."""

    bytes: int = 0
    lines: int = 0
    digest: str = sha256().hexdigest()


class TruncatedError(Exception):
    """The file cannot be read to its end: half a gzip stream, or damaged; what came before was."""


class Truncated(DataRefused):
    """Files could not be read to their ends. `became`: what has become of what came before;
    `where`: each file, its last line that could be read, and why; `counts`: of the command."""

    def __init__(
        self, became: str, where: Sequence[str], counts: dict[str, Any] | None = None
    ) -> None:
        super().__init__(
            f"the file ends too early, or is damaged; what came before is {became}: "
            f"{'; '.join(where)}; get the file again, then run the same command"
        )
        self.counts = counts or {}


class Source:
    """One file being read. `position` says how far, once a chunk has been handed out.

    `unfinished`: how many bytes at the end are a line that is not whole yet, for a later run.
    `read_before`: how many lines, or rows, earlier runs have read.
    """

    def __init__(self, path: str, known: Position | None = None) -> None:
        self.is_stream = _is_stream(path)
        self.topic = _named_by_time(path) if self.is_stream else str(Path(path).resolve())
        self.unfinished = 0
        self.read_before = 0
        self._path = path
        self._hash = sha256()
        self._bytes = 0
        self._lines = 0
        self._goes_on = False  # what was read ends within a line that was a whole record
        self._known = None if self.is_stream else known
        self.size = 0 if self.is_stream else Path(path).stat().st_size
        self._file: IO[bytes] | None = None

    @property
    def position(self) -> Position | None:
        """How far the lines handed out so far reach; None for what nobody can read on."""
        if self.is_stream:
            return None
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

        Raises TruncatedError at the end of half a gzip or Parquet file, after its last record, and
        ConfigurationError for a file that cannot be opened, DataRefused for one of no lines.
        """
        file, kind = _opened(self._path)
        with file as self._file:
            if kind == PARQUET:
                yield from self._rows()
                return
            if self._known is None or self._skip(file, self._known):
                yield from self._read(file)
                return
        self._hash, self._bytes, self._lines, self._goes_on = sha256(), 0, 0, False
        with _opened(self._path)[0] as self._file:  # its beginning is not what was read before
            yield from self._read(self._file)

    def _skip(self, file: IO[bytes], known: Position) -> bool:
        """Reads past what is known, if it is still the same."""
        left = known.bytes
        block = b"\n"
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
        self.read_before = known.lines
        self._goes_on = not block.endswith(b"\n")
        return True

    def _read(self, file: IO[bytes]) -> Iterator[list[Given]]:
        """Whole lines of one block after the other; what a block ends with waits for the next."""
        rest: list[bytes] = []
        waiting = 0
        while True:
            block = self._next(file.read1, BLOCK)  # type: ignore[attr-defined]  # what is there now
            end = block.rfind(b"\n") + 1
            if not block and not self.is_stream and self._waits(b"".join(rest)):
                return
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

    def _waits(self, line: bytes) -> bool:
        """Whether the end of the file is left for a later run: nothing, or no whole record yet."""
        if not self._lines:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if not line.strip() or BYTE_ORDER_MARK.startswith(line):
            return True
        if _is_torn(line):
            self.unfinished = len(line)
        return self.unfinished > 0

    def _records(self, lines: list[bytes]) -> list[Given]:
        if self._goes_on and len(lines) > 1:  # its line feed has come since, or more
            self._lines -= not lines[0].strip()
            self._goes_on = False
        if not self._lines:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
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
        length, hidden = len(begun), False
        self._hash.update(begun)
        block, before = begun, b""
        while block:
            hidden = hidden or is_spelt_out(before + block)
            if block.endswith(b"\n"):
                break
            before = block[-OVERLAP:]
            block = self._next(file.readline, CHUNK)
            self._hash.update(block)
            length += len(block)
        self._bytes += length
        # the edge keeps hash and length alone of what may be withheld
        head = begun[:HEAD] + too_long(length) + (b" meta_request" if hidden else b"")
        return self._records([head, b""])

    def _next(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TruncatedError(f"{self.topic}: after line {self._lines}: {error}") from None
        except OSError as error:  # a folder that was unmounted, a bad disk
            why = error.strerror or str(error)
            raise TruncatedError(f"{self.topic}: after line {self._lines}: {why}") from None

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
        self._lines, self.read_before = 0, skip
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
        # ValueError and its like: a time that Python has no room for, text that is not UTF-8
        except (pa.ArrowException, OSError, ValueError, OverflowError, LookupError) as error:
            raise TruncatedError(f"{self.topic}: after row {self._lines}: {error}") from None


def _is_torn(line: bytes) -> bool:
    """Whether it is the beginning of a JSON value, and no more."""
    if _begins(line):
        return True
    broken = BREAKS_OFF.search(line[-12:])
    if broken is None:
        return False
    is_number = len(broken[0]) == 1
    return _begins(line + b"0" if is_number else line[: -len(broken[0])])


def _begins(line: bytes) -> bool:
    try:
        _decode(line)
    except msgspec.DecodeError as error:
        return str(error) == TORN
    except (UnicodeDecodeError, RecursionError):
        pass
    return False


def _is_stream(path: str) -> bool:
    """Whether it can be read once only: stdin, a named pipe, `<(zcat FILE)`."""
    return path == STDIN or not Path(path).is_file()


def _named_by_time(path: str) -> str:
    """A pipe by its name and when it was read: others will have the same name."""
    name = "stdin" if path == STDIN else path
    return f"{name}@{format_time(time_ns() // 1_000)}"


def _opened(path: str) -> tuple[IO[bytes], bytes]:
    """A file, unpacked, and what it is: GZIP, PARQUET or nothing, which is lines."""
    try:
        file: Any = sys.stdin.buffer if path == STDIN else Path(path).open("rb")  # noqa: SIM115
        begins = file.peek(4)[:4]
    except AttributeError:
        raise ConfigurationError("-: stdin is closed") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    if begins == PARQUET or path.lower().endswith(".parquet"):
        if _is_stream(path):
            file.close()
            raise ConfigurationError(
                f"{path}: Parquet cannot be read from a pipe; save it as a file"
            )
        if begins != PARQUET:
            file.close()
            raise DataRefused(f"{path}: is not Parquet, as its name says; rename it")
        return file, PARQUET
    if begins[:2] == GZIP:
        unpacked = gzip.GzipFile(fileobj=file)
        unpacked.myfileobj = file  # is closed with it
        file = unpacked
    elif path.lower().endswith(".gz") and begins:
        file.close()
        raise DataRefused(f"{path}: is not gzip, as its name says; rename it, or pack it with gzip")
    try:
        begins_as = file.peek(BEGINNING)[:BEGINNING]
    except (EOFError, zlib.error, gzip.BadGzipFile):  # reading it says where it is damaged
        begins_as = b""
    if other := _other_than_lines(begins_as):
        file.close()
        raise DataRefused(f"{path}: {other}")
    return file, begins[:2] if begins[:2] == GZIP else b""


def _other_than_lines(beginning: bytes) -> str | None:
    """What a file is that can hold no line of JSON in UTF-8, and what to do."""
    if beginning[:2] in (UTF_16_LE, UTF_16_BE) or beginning[:4].count(0) == 2:
        return "is UTF-16; convert it first (iconv -f UTF-16 -t UTF-8)"
    if 0 in beginning and not any(line[:1] == b"{" for line in beginning.split(b"\n")):
        return "holds no lines of JSON; name a file of NDJSON, plain or gzipped, or of Parquet"
    return None


def _file_hash(path: str) -> Any:
    digest = sha256()
    with Path(path).open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest


def _plain(value: Any) -> Any:
    """A Parquet value as JSON has it; times become RFC 3339 text, null fields are left out. NaN
    stays as it is, to be refused: JSON has none."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, list | tuple):  # a tuple: one pair of a map
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return msgspec.Raw(json.dumps(value).encode())
    if hasattr(value, "isoformat"):
        moment = value if getattr(value, "tzinfo", None) else None
        return (moment.astimezone(EPOCH.tzinfo) if moment else value).isoformat()
    return value


def check(paths: list[str], *, of_records: bool = True) -> None:
    """Raises for a path that is not a readable file, before anything is touched. `of_records`: also
    for a file that can hold none."""
    if paths.count(STDIN) > 1:
        raise ConfigurationError("-: stdin can be read once only")
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
            _opened(path)[0].close()
