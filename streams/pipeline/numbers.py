"""Where a record holds a number that nothing here can hold, for the detail of its dead letter."""

import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

_decode = msgspec.json.Decoder(float_hook=float).decode
MOST_DIGITS = 4_300
"""Python converts no more digits to an integer."""
LONG = re.compile(rb"[0-9]{%d,}" % (MOST_DIGITS + 1))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


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
    return beyond_floats(LONG.sub(b"1e999", line))


def _path(value: Any, is_wrong: Callable[[Any], bool]) -> str | None:
    """Names and places down to the first such value, without recursion; `…` for a name that is
    none of a field's, as it may be anything that was sent."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, one = waiting.pop()
        if is_wrong(one):
            return path or None
        if isinstance(one, dict):
            named = [(name if _NAME.fullmatch(name) else "…", it) for name, it in one.items()]
        elif isinstance(one, list):
            named = [(str(place), it) for place, it in enumerate(one)]
        else:
            continue
        waiting += [(f"{path}.{name}" if path else name, it) for name, it in reversed(named)]
    return None
