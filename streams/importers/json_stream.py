"""JSON documents one after another, out of a file that may not fit into memory.

A JSON file is one document and a JSONL file many: both are read as a sequence of values with white
space between. A document that is an array comes as an iterator over its elements, so that no more
than one element is held. Files may be gzipped; `-` is standard input.
"""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TextIO, cast

from streams.importers.base import ImportFault
from streams.pipeline import withheld

CHUNK = 1 << 16
GZIP_MAGIC = b"\x1f\x8b"
TAIL = 16  # an error this near to the end of what was read may be a value cut in two


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """The file's text: UTF-8, with or without a byte order mark, gzipped or plain."""
    with open(0, "rb", closefd=False) if str(path) == "-" else path.open("rb") as file:
        yield text_of(file)


def text_of(file: io.BufferedReader) -> TextIO:
    """The text of an open binary file."""
    plain: BinaryIO = file
    if file.peek(2)[:2] == GZIP_MAGIC:
        plain = cast(BinaryIO, gzip.GzipFile(fileobj=file))
    return io.TextIOWrapper(plain, encoding="utf-8-sig")


def documents(stream: TextIO) -> Iterator[Any]:
    """Each top-level value of the stream; of an array, an iterator over its elements.

    An iterator not read to its end is read on before the next document. Raises ImportFault with
    line and column where the text is not JSON.
    """
    reader = _Reader(stream)
    while mark := reader.peek():
        if mark == "[":
            elements = reader.elements()
            yield elements
            for _ in elements:
                pass
        else:
            yield reader.value()


class _Reader:
    """A window over the stream that is moved on as values are taken from it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._lines = 0  # newlines before the window
        self._columns = 0  # characters of its first line before the window
        self._ended = False
        self._decoder = json.JSONDecoder(parse_constant=_no_constant)

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def elements(self) -> Iterator[Any]:
        """The elements of the array that begins here."""
        self._at += 1
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield self.value()
            mark = self.peek()
            if mark not in ("]", ","):
                self._fail("expected ',' or ']' after an element of the array", self._at)
            self._at += 1
            if mark == "]":
                return

    def value(self) -> Any:
        """The value that begins here, whole."""
        self.peek()
        while True:
            try:
                made, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                ahead = error.pos - self._at  # the window moves when more is read
                cut = error.pos >= len(self._text) - TAIL or "Unterminated" in error.msg
                if not cut or not self._more():
                    self._fail(error.msg, self._at + ahead)
            except ValueError as error:
                self._fail(str(error), self._at)
            except RecursionError:
                self._fail("nested too deeply", self._at)
            else:
                # 12 may be the start of 123, and `12.` or `12e` that of a float cut in two
                whole = end < len(self._text) and self._text[end] not in ".eE"
                length = end - self._at
                if whole or not self._more():
                    return self._take(made, self._at + length)

    def _take(self, made: Any, end: int) -> Any:
        text = self._text[self._at : end]
        if _may_be_withheld(text) and withheld.is_said(text.encode("utf-8", "surrogatepass")):
            made = withheld.ITEM  # of two members of one name `made` has the last
        elif "\\ud" in self._text[self._at : end].lower():
            # Half of a surrogate pair is valid JSON but no text: nothing could write it again.
            plain = json.dumps(made, ensure_ascii=False).encode("utf-8", "replace")
            made = json.loads(plain)
        self._at = end
        return made

    def _more(self) -> bool:
        """Reads on, twice as far each time a value does not fit, so that it is parsed few times."""
        if self._ended:
            return False
        kept = self._text[self._at :]
        try:
            chunk = self._stream.read(max(CHUNK, len(kept)))
        except UnicodeDecodeError as error:
            raise ImportFault(f"not UTF-8: {error.reason}; convert the file first") from None
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise ImportFault(f"cannot be read: {error}") from None
        self._lines += self._text.count("\n", 0, self._at)
        newline = self._text.rfind("\n", 0, self._at)
        self._columns = self._at - newline - 1 if newline >= 0 else self._columns + self._at
        self._text, self._at, self._ended = kept + chunk, 0, not chunk
        return bool(chunk)

    def _fail(self, reason: str, at: int) -> NoReturn:
        line = self._lines + self._text.count("\n", 0, at) + 1
        newline = self._text.rfind("\n", 0, at)
        column = at - newline if newline >= 0 else self._columns + at + 1
        raise ImportFault(f"line {line}, column {column}: not JSON: {reason}") from None


def _may_be_withheld(text: str) -> bool:
    return "\\u00" in text or ("q" in text.lower() and "meta" in text.lower())


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
