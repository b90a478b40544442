"""Searches encoded content of events for withheld requests: base64, gzip within it, JSON as text,
nested up to a limit.

A withheld request may be in `data_base64` of CloudEvents, in a binary column by Debezium, or in a
bytes field of Avro or Protobuf. The event is only unpacked for this check.
"""

import re
from collections.abc import Iterator
from json import loads
from typing import Any

from sinks.decompress import Budget, TooMuch, inflated, of_base64
from streams.pipeline import withheld

DEEP = 4
"""Nested encodings that are searched."""
LETTERS = 15
"""Minimum base64 characters of the marker."""
_PIECE = re.compile(rf"[A-Za-z0-9+/_-]{{{LETTERS},}}")
_RUN = b"a" * LETTERS
_SHAPE = bytes(97 if _PIECE.match(chr(byte) * LETTERS) else 32 for byte in range(256))
"""Translation table: base64 characters -> a, others -> space."""
_BETWEEN = re.compile(r"[=.,;:]+")
"""Separators of base64: padding, parts of a token, the head of a `data:` URL."""
_PACKED = (b"\x1f", b"\x78")
_BEFORE_JSON = "\ufeff \t\r\n"


def may_be_said(value: bytes, deep: int = DEEP) -> bool:
    """Fast check whether an event must be unpacked; called for every event."""
    if value.translate(_SHAPE).find(_RUN) < 0:
        return False
    if withheld.BACKSLASH in value:
        if b"\\u00" in value:
            return True
        for escaped in (b"\\n", b"\\r", b"\\t", b"\\"):
            value = value.replace(escaped, b"")
    return any(_may_hold(letters, deep) for letters in _runs(value))


def _runs(value: bytes) -> Iterator[bytes]:
    """Runs of base64 characters; ten times as fast as a pattern."""
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
        except UnicodeDecodeError:  # such as most ids
            return False
    return withheld.is_mentioned(packed) or (deep > 1 and may_be_said(packed, deep - 1))


def says(event: Any) -> bool:
    """Whether encoded content in a JSON value must be withheld. Raises TooMuch."""
    return withheld.says(_Unpacker().unfolded(event, DEEP))


class _Unpacker:
    """Unpacks one event, within one budget of bytes and pieces."""

    def __init__(self) -> None:
        self._budget = Budget()

    def unfolded(self, value: Any, deep: int) -> Any:
        """The value, with the decoded content after each text. Raises TooMuch."""
        if isinstance(value, dict):
            return {name: self.unfolded(element, deep) for name, element in value.items()}
        if isinstance(value, list):
            return [self.unfolded(element, deep) for element in value]
        if not isinstance(value, str) or len(value) < LETTERS or not deep:
            return value
        texts = list(filter(None, map(self._text, _pieces(value))))
        if value.lstrip(_BEFORE_JSON)[:1] in ("{", "[", '"'):
            texts.append(value.lstrip(_BEFORE_JSON))
        if not texts:
            return value
        return [value, *texts, *(self.unfolded(self._json(text), deep - 1) for text in texts)]

    def _text(self, letters: str) -> str:
        """The text in base64, without other bytes."""
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
    """The base64 parts of a text."""
    return [piece for piece in _BETWEEN.split("".join(text.split())) if _PIECE.fullmatch(piece)]


__all__ = ["TooMuch", "may_be_said", "says"]
