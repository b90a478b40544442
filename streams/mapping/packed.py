"""What is packed in an event: base64, gzip in it, JSON as text; at any depth that anybody uses.

A withheld request may come so: in `data_base64` of CloudEvents, in a column of bytes by Debezium,
in a field of bytes of Avro or Protobuf. The event is unpacked for this question alone.
"""

import re
from collections.abc import Iterator
from json import loads
from typing import Any

from sinks.unpacking import Budget, TooMuch, inflated, of_base64
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
_PACKED = (b"\x1f", b"\x78")
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
    packed = of_base64(letters.decode())
    if packed[:1] not in _PACKED and b"\0" not in packed and b"request" not in packed.lower():
        try:
            packed.decode()
        except UnicodeDecodeError:  # as most ids
            return False
    return withheld.is_mentioned(packed) or (deep > 1 and may_be_said(packed, deep - 1))


def says(event: Any) -> bool:
    """Whether what is packed in a JSON value is to be withheld. Raises TooMuch."""
    return withheld.says(_Unpacker().unfolded(event, DEEP))


class _Unpacker:
    """Unpacks one event, within one budget of bytes and pieces."""

    def __init__(self) -> None:
        self._budget = Budget()

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
        packed = of_base64(letters)
        self._budget.spend(len(packed), 1)
        packed = inflated(packed, self._budget) or packed
        return packed.replace(b"\0", b"").decode("utf-8", "ignore").lstrip(_BEFORE_JSON)

    def _json(self, text: str) -> Any:
        if text[:1] not in ("{", "[", '"'):
            return text
        self._budget.spend(len(text), sum(map(text.count, "{[,")))
        try:
            return loads(text, parse_int=str)
        except (ValueError, RecursionError):
            return text


def _pieces(text: str) -> list[str]:
    """The base64 that a text is."""
    return [one for one in _BETWEEN.split("".join(text.split())) if _PIECE.fullmatch(one)]


__all__ = ["TooMuch", "may_be_said", "says"]
