"""Reads a sequence of JSON documents from a file that may not fit into memory.

A JSON file is one document and a JSONL file many: both are read as values separated by white space.
An array is returned as an iterator over its elements, so only one element is in memory. Files may
be gzipped; `-` is standard input.

Invalid JSON is returned as an ImportFault, and reading continues with the next line that starts
like the invalid value, with the same blanks and a bracket.
"""

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TextIO, cast

from streams.importers.base import HALF_PAIR, SURROGATE, ImportFault
from streams.pipeline import withheld

CHUNK, LARGEST_CHUNK = 1 << 16, 1 << 22
"""Characters that are read at a time. Values of a larger one could take much memory before they are
counted."""
GZIP_MAGIC = b"\x1f\x8b"
TAIL = 16  # an error this near to the end of the window may be a value cut in two
MAX_VALUE = 1 << 24
"""Characters of one value: a document, or an element of an array."""
MAX_PIECES = 1 << 21
"""Objects, arrays and elements in one value: they take some hundred bytes each when read."""
BLANKS = re.compile(r"\s*")
LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
UNREADABLE = (
    OSError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    RuntimeError,  # a member of an archive that is encrypted
    NotImplementedError,  # or compressed by a method that Python lacks
)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Opens a file as text: UTF-8, with or without a byte order mark, gzipped or plain. Reading
    raises ImportFault for a damaged file. Invalid UTF-8 is read as lone surrogates."""
    with open(0, "rb", closefd=False) if str(path) == "-" else path.open("rb") as file:
        yield text_of(file)


def text_of(file: io.BufferedReader) -> TextIO:
    """Returns the text of an open binary file."""
    plain: BinaryIO = file
    if _Source(file).peek()[:2] == GZIP_MAGIC:
        plain = cast(BinaryIO, gzip.GzipFile(fileobj=file))
    raw = io.BufferedReader(_Source(plain), CHUNK)
    return io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape")


def lines(stream: TextIO) -> Iterator[str]:
    """Iterates over lines; a line above the limit of a value is split at that limit."""
    while line := stream.readline(MAX_VALUE):
        yield line


class _Source(io.RawIOBase):
    """A file's decompressed bytes; a damaged file is an ImportFault."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def peek(self) -> bytes:
        """Returns the first bytes without consuming them."""
        try:
            return cast(io.BufferedReader, self._file).peek(2)
        except UNREADABLE as error:
            raise ImportFault(f"cannot be read: {error}") from None

    def readinto(self, buffer: Any) -> int:
        try:
            part = self._file.read(len(buffer))
        except UNREADABLE as error:
            raise ImportFault(f"cannot be read: {error}") from None
        buffer[: len(part)] = part
        return len(part)


def documents(stream: TextIO) -> Iterator[Any]:
    """Iterates over the top-level values of the stream; an array is an iterator over its elements.

    An iterator that was not exhausted is skipped before the next document. Invalid JSON is an
    ImportFault with line and column.
    """
    reader = _Reader(stream)
    while mark := reader.peek():
        if mark == "[":
            elements = reader.elements()
            yield elements
            for _ in elements:
                pass
            continue
        indent = reader.indent or ""
        yield reader.value()
        if reader.is_lost:
            reader.resume(indent)


class _Reader:
    """A window over the stream that moves on as values are read.

    `indent`: the blanks before the next character, or None if its line has other text before it.
    `is_lost`: the window is at the start of a value without an end.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._lines = 0  # newlines before the window
        self._columns = 0  # characters of its first line before the window
        self._ended = False
        self._decoder = json.JSONDecoder(parse_constant=_no_constant)
        self.indent: str | None = ""
        self.is_lost = False

    def peek(self) -> str:
        """Returns the next character other than white space; empty at the end."""
        while True:
            blanks = cast(re.Match[str], BLANKS.match(self._text, self._at)).group()
            newline = blanks.rfind("\n")
            if newline >= 0:
                self.indent = blanks[newline + 1 :]
            elif self.indent is not None:
                self.indent = self.indent + blanks if len(self.indent) < CHUNK else None
            self._at += len(blanks)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def elements(self) -> Iterator[Any]:
        """Iterates over the elements of the array at the current position."""
        array = self.indent
        self._pass()
        if self.peek() == "]":
            self._pass()
            return
        while True:
            self.peek()
            indent = self.indent
            yield self.value()
            if not self.is_lost:
                mark = self.peek()
                if mark in (",", "]") and mark:
                    self._pass()
                    if mark == "]":
                        return
                    continue
                yield self._fault("expected ',' or ']' after an element of the array", self._at)
                if (
                    mark in ("[", "{")
                    and self.indent in (array, indent)
                    and self.indent is not None
                ):
                    self.is_lost = False
                    if self.indent == array:
                        return
                    continue
            if self.resume(*(position for position in (array, indent) if position is not None)) in (
                array,
                None,
            ):
                return

    def value(self) -> Any:
        """Returns the whole value at the current position; an ImportFault if it is invalid."""
        self.peek()
        while True:
            try:
                document, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                ahead = error.pos - self._at  # the window moves when more is read
                cut = error.pos >= len(self._text) - TAIL or "Unterminated" in error.msg
                if cut and (excess := self._excess()):
                    return self._fault(excess, self._at)
                if not cut or not self._more():
                    return self._fault(error.msg, self._at + ahead)
            except ValueError as error:
                return self._fault(str(error).partition("; use sys.")[0], self._at)
            except RecursionError:
                return self._fault("nested too deeply", self._at)
            else:
                # 12 may be the start of 123, and `12.` or `12e` of a float cut in two
                whole = end < len(self._text) and self._text[end] not in ".eE"
                length = end - self._at
                if whole or not self._more():
                    return self._take(document, self._at + length)

    def resume(self, *indents: str) -> str | None:
        """Moves to the next line that starts with one of these and a bracket, and returns which."""
        starts = "|".join(re.escape(indent) for indent in sorted(indents, key=len, reverse=True))
        line = re.compile(rf"\n({starts})(?=[\[{{])")
        longest = max(map(len, indents), default=0) + 2
        self.is_lost = False
        while indents:
            if start := line.search(self._text, self._at):
                self._at, self.indent = start.end(), start[1]
                return start[1]
            self._at = max(self._at, len(self._text) - longest)
            if not self._more():
                break
        while self._more():
            self._at = len(self._text)
        self._at = len(self._text)
        return None

    def _pass(self) -> None:
        self._at += 1
        self.indent = None

    def _excess(self) -> str | None:
        """Describes the excess of a value that is longer than the window."""
        if len(self._text) - self._at > MAX_VALUE:
            return f"more than {MAX_VALUE} characters in one value"
        pieces = sum(self._text.count(mark, self._at) for mark in "{[,")
        return f"more than {MAX_PIECES} elements in one value" if pieces > MAX_PIECES else None

    def _take(self, document: Any, end: int) -> Any:
        text = self._text[self._at : end]
        if _may_be_withheld(text) and withheld.is_said(text.encode("utf-8", "surrogatepass")):
            document = withheld.ITEM  # of two members of one name `made` has the last
        elif (half := _half_pair(text, document)) is not None:
            document = self._fault(half[0], self._at + half[1])
            self.is_lost = False
        self._at, self.indent = end, None
        return document

    def _more(self) -> bool:
        """Reads on; doubles the window for a value that does not fit, to parse it few times."""
        if self._ended:
            return False
        remainder = self._text[self._at :]
        chunk = self._stream.read(min(max(CHUNK, len(remainder)), LARGEST_CHUNK))
        self._lines += self._text.count("\n", 0, self._at)
        newline = self._text.rfind("\n", 0, self._at)
        self._columns = self._at - newline - 1 if newline >= 0 else self._columns + self._at
        self._text, self._at, self._ended = remainder + chunk, 0, not chunk
        return bool(chunk)

    def _fault(self, reason: str, at: int) -> ImportFault:
        """Returns the fault at a position of the window."""
        self.is_lost = True
        byte = self._text[at : at + 1]
        if "\udc80" <= byte <= "\udcff":
            reason = f"not UTF-8: byte 0x{ord(byte) - 0xDC00:02x}; convert the file first"
        line = self._lines + self._text.count("\n", 0, at) + 1
        newline = self._text.rfind("\n", 0, at)
        column = at - newline if newline >= 0 else self._columns + at + 1
        start = self._lines + self._text.count("\n", 0, self._at) + 1
        value = f" (in a value that begins in line {start})" if start != line else ""
        return ImportFault(f"line {line}, column {column}: not JSON: {reason}{value}")


def _half_pair(text: str, value: Any) -> tuple[str, int] | None:
    """Finds a lone surrogate: valid JSON, but not encodable. Returns reason and position."""
    if not text.isascii() and (byte := SURROGATE.search(text)):
        return HALF_PAIR, byte.start()
    if "\\ud" not in text and "\\uD" not in text:
        return None
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        escape = LONE_SURROGATE.search(text)
        return HALF_PAIR, escape.start() if escape else 0
    return None


def _may_be_withheld(text: str) -> bool:
    return "\\u00" in text or ("q" in text.lower() and "meta" in text.lower())


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
