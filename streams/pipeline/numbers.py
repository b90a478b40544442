"""Where a record holds a number that nothing here can hold, for the detail of its dead letter."""

import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

_decode = msgspec.json.Decoder(float_hook=float).decode
MOST_DIGITS = 4_300
"""Python converts no more digits to an integer."""
HUGE_DIGITS = 19
"""The fewest that may be more than 64 bits hold."""
_LONG = re.compile(rb"(?<![0-9])[0-9]{%d,}" % (MOST_DIGITS + 1))
_DIGITS = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
"""Each digit as a zero, all else as a blank."""
MOST_DEPTH = 64
"""Names of a path that are told: a record that is deeper is refused for that."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def has_digits(line: bytes, count: int) -> bool:
    """Whether so many digits follow one another in the line."""
    return line.translate(_DIGITS).find(b"0" * count) >= 0


def huge_integer(record: dict[str, Any]) -> str | None:
    """The path of the first integer that the fold's rows could not hold; `metadata` stays text."""
    inside = {name: value for name, value in record.items() if name != "metadata"}
    return _path(inside, lambda one: isinstance(one, int) and not -(2**63) <= one < 2**64)


def beyond_floats(line: bytes) -> str | None:
    """The path of the first number such as 1e999 in a line of JSON, if it can be told."""
    try:
        record = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return _path(record, lambda one: isinstance(one, float) and math.isinf(one))


def long_integer(line: bytes) -> str | None:
    """The path of the first integer of more than `MOST_DIGITS` digits, which no parser takes."""
    return beyond_floats(_LONG.sub(b"1e999", line))


def _path(value: Any, is_wrong: Callable[[Any], bool]) -> str | None:
    """Names and places down to the first such value, without recursion; `…` for a name that is
    none of a field's, as it may be anything that was sent."""
    waiting: list[tuple[Any, int, Any]] = [((), 0, value)]
    while waiting:
        path, depth, one = waiting.pop()
        if is_wrong(one):
            return _told(path)
        if depth == MOST_DEPTH:
            continue
        if isinstance(one, dict):
            inside = list(one.items())
        elif isinstance(one, list):
            inside = list(enumerate(one))
        else:
            continue
        waiting += [((path, name), depth + 1, it) for name, it in reversed(inside)]
    return None


def _told(path: Any) -> str | None:
    """A path as a text; each name lies behind those before it."""
    names = []
    while path:
        path, name = path
        is_told = isinstance(name, int) or _NAME.fullmatch(name)
        names.append(str(name) if is_told else "…")
    return ".".join(reversed(names)) or None
