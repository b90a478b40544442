"""What is packed in an event: base64, gzip in it, JSON as text; at any depth that anybody uses.

A withheld request may come so: in `data_base64` of CloudEvents, in a column of bytes by Debezium,
in a field of bytes of Avro or Protobuf. The event is unpacked for this question alone.
"""

import re
import zlib
from binascii import Error, a2b_base64
from collections.abc import Iterator
from contextlib import suppress
from json import loads
from typing import Any

from streams.pipeline import withheld

DEEP = 4
"""Packings in one another that are looked into."""
MAX_BYTES = 16_000_000
"""Bytes that an event may unpack to, all that is packed in it together."""
MAX_PIECES = 200_000
"""Texts, objects, lists and elements that are unpacked of an event."""
LETTERS = 15
"""Characters of base64 that the shortest spelling of the marker needs."""
_PIECE = re.compile(rf"[A-Za-z0-9+/_-]{{{LETTERS},}}")
_RUN = b"a" * LETTERS
_SHAPE = bytes(97 if _PIECE.match(chr(one) * LETTERS) else 32 for one in range(256))
"""Each letter of base64 as an a."""
_BETWEEN = re.compile(r"[=.,;:]+")
"""Around base64: padding, the parts of a token, the head of a `data:` URL."""
_STANDARD = str.maketrans("-_", "+/")
_PACKED = (b"\x1f", b"\x78")
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32
_BEFORE_JSON = "\ufeff \t\r\n"


def may_be_said(value: bytes, deep: int = DEEP) -> bool:
    """Whether a closer look is worth it. Asked of every event."""
    if value.translate(_SHAPE).find(_RUN) < 0:
        return False
    if withheld.BACKSLASH in value:
        if b"\\u00" in value:
            return True
        for escaped in (b"\\n", b"\\r", b"\\t", b"\\"):
            value = value.replace(escaped, b"")
    return any(_may_hold(letters, deep) for letters in _runs(value))


def _runs(value: bytes) -> Iterator[bytes]:
    """What may be base64. A tenth of the time that a pattern takes."""
    shape = value.translate(_SHAPE) + b" "
    end = 0
    while (begin := shape.find(_RUN, end)) >= 0:
        end = shape.index(b" ", begin)
        yield value[begin:end]


def _may_hold(letters: bytes, deep: int) -> bool:
    packed = _of_base64(letters.decode())
    if packed[:1] not in _PACKED and b"\0" not in packed and b"request" not in packed.lower():
        try:
            packed.decode()
        except UnicodeDecodeError:  # as most ids
            return False
    return withheld.is_mentioned(packed) or (deep > 1 and may_be_said(packed, deep - 1))


class TooMuch(ValueError):  # noqa: N818 - what it is
    """An event unpacks to more than may be looked at."""


def says(event: Any) -> bool:
    """Whether what is packed in a JSON value is to be withheld. Raises TooMuch."""
    return withheld.says(_Unpacker().unfolded(event, DEEP))


class _Unpacker:
    """Unpacks one event, within one budget of bytes and pieces."""

    def __init__(self) -> None:
        self._bytes = MAX_BYTES
        self._pieces = MAX_PIECES

    def unfolded(self, value: Any, deep: int) -> Any:
        """The value, each text of which is followed by what it holds. Raises TooMuch."""
        if isinstance(value, dict):
            return {name: self.unfolded(inside, deep) for name, inside in value.items()}
        if isinstance(value, list):
            return [self.unfolded(inside, deep) for inside in value]
        if not isinstance(value, str) or len(value) < LETTERS or not deep:
            return value
        held = list(filter(None, map(self._text, _pieces(value))))
        if value.lstrip(_BEFORE_JSON)[:1] in ("{", "[", '"'):
            held.append(value.lstrip(_BEFORE_JSON))
        if not held:
            return value
        return [value, *held, *(self.unfolded(self._json(text), deep - 1) for text in held)]

    def _text(self, letters: str) -> str:
        """What base64 says, as far as that is text."""
        packed = _of_base64(letters)
        if packed[:1] in _PACKED:
            with suppress(zlib.error):  # it only begins so
                most = min(withheld.UNPACKED, self._bytes + 1)
                packed = zlib.decompressobj(_ZLIB_OR_GZIP).decompress(packed, most)
        self._spend(len(packed), 1)
        return packed.replace(b"\0", b"").decode("utf-8", "ignore").lstrip(_BEFORE_JSON)

    def _json(self, text: str) -> Any:
        if text[:1] not in ("{", "[", '"'):
            return text
        self._spend(len(text), sum(map(text.count, "{[,")))
        try:
            return loads(text, parse_int=str)
        except (ValueError, RecursionError):
            return text

    def _spend(self, bytes: int, pieces: int) -> None:
        self._bytes -= bytes
        self._pieces -= pieces
        if self._bytes < 0 or self._pieces < 0:
            raise TooMuch(
                f"what is packed in it is more than {MAX_BYTES} bytes or {MAX_PIECES} elements"
            )


def _pieces(text: str) -> list[str]:
    """The base64 that a text is."""
    return [one for one in _BETWEEN.split("".join(text.split())) if _PIECE.fullmatch(one)]


def _of_base64(letters: str) -> bytes:
    whole = letters.translate(_STANDARD)
    whole = whole[:-1] if len(whole) % 4 == 1 else whole
    try:
        return a2b_base64(whole + "=" * (-len(whole) % 4))
    except Error:
        return b""
