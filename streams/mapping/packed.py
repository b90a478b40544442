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


def says(event: Any) -> bool:
    """Whether what is packed in a JSON value is to be withheld."""
    return withheld.says(_unfolded(event, DEEP))


def _unfolded(value: Any, deep: int) -> Any:
    """The value, each text of which is followed by what it holds."""
    if isinstance(value, dict):
        return {name: _unfolded(inside, deep) for name, inside in value.items()}
    if isinstance(value, list):
        return [_unfolded(inside, deep) for inside in value]
    if not isinstance(value, str) or len(value) < LETTERS or not deep:
        return value
    held = list(filter(None, map(_text, _pieces(value))))
    if value.lstrip(_BEFORE_JSON)[:1] in ("{", "[", '"'):
        held.append(value.lstrip(_BEFORE_JSON))
    return [value, *held, *(_unfolded(_json(text), deep - 1) for text in held)] if held else value


def _pieces(text: str) -> list[str]:
    """The base64 that a text is."""
    return [one for one in _BETWEEN.split("".join(text.split())) if _PIECE.fullmatch(one)]


def _text(letters: str) -> str:
    """What base64 says, as far as that is text."""
    packed = _of_base64(letters)
    if packed[:1] in _PACKED:
        with suppress(zlib.error):  # it only begins so
            packed = zlib.decompressobj(_ZLIB_OR_GZIP).decompress(packed, withheld.UNPACKED)
    return packed.replace(b"\0", b"").decode("utf-8", "ignore").lstrip(_BEFORE_JSON)


def _of_base64(letters: str) -> bytes:
    whole = letters.translate(_STANDARD)
    whole = whole[:-1] if len(whole) % 4 == 1 else whole
    try:
        return a2b_base64(whole + "=" * (-len(whole) % 4))
    except Error:
        return b""


def _json(text: str) -> Any:
    try:
        return loads(text, parse_int=str)
    except (ValueError, RecursionError):
        return text
