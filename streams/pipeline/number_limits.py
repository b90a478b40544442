"""Finds numbers out of range in a record, for the detail of its dead letter."""

import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

_decode = msgspec.json.Decoder(float_hook=float).decode
MOST_DIGITS = 4_300
"""Python converts no more digits to an integer."""
HUGE_DIGITS = 19
"""Fewest digits that may exceed 64 bits."""
_LONG = re.compile(rb"(?<![0-9])[0-9]{%d,}" % (MOST_DIGITS + 1))
_DIGITS = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
"""Each digit as a zero, all else as a blank."""
MOST_DEPTH = 64
"""Longest reported path: a deeper record is rejected for its depth."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def has_digits(line: bytes, count: int) -> bool:
    """Whether the line has `count` consecutive digits."""
    return line.translate(_DIGITS).find(b"0" * count) >= 0


def huge_integer(record: dict[str, Any]) -> str | None:
    """Path of the first integer beyond 64 bits; `metadata` is skipped, as it is stored as text."""
    inside = {name: value for name, value in record.items() if name != "metadata"}
    return _path(inside, lambda value: isinstance(value, int) and not -(2**63) <= value < 2**64)


def beyond_floats(line: bytes) -> str | None:
    """Path of the first number such as 1e999 in a line of JSON, or None if unknown."""
    try:
        record = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return _path(record, lambda value: isinstance(value, float) and math.isinf(value))


def long_integer(line: bytes) -> str | None:
    """Path of the first integer with more than `MOST_DIGITS` digits, the limit of parsers."""
    return beyond_floats(_LONG.sub(b"1e999", line))


def _path(value: Any, is_wrong: Callable[[Any], bool]) -> str | None:
    """Path of the first such value, without recursion; `…` replaces names that do not look like
    field names, as they may have any content."""
    waiting: list[tuple[Any, int, Any]] = [((), 0, value)]
    while waiting:
        path, depth, part = waiting.pop()
        if is_wrong(part):
            return _told(path)
        if depth == MOST_DEPTH:
            continue
        if isinstance(part, dict):
            inside = list(part.items())
        elif isinstance(part, list):
            inside = list(enumerate(part))
        else:
            continue
        waiting += [((path, name), depth + 1, child) for name, child in reversed(inside)]
    return None


def _told(path: Any) -> str | None:
    """Formats a nested path as text."""
    names = []
    while path:
        path, name = path
        is_told = isinstance(name, int) or _NAME.fullmatch(name)
        names.append(str(name) if is_told else "…")
    return ".".join(reversed(names)) or None
