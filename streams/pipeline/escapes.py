"""Escapes in a text, all replaced at once: to call a function for each takes eight times as long,
and a megabyte has two hundred thousand."""

import re
from html import unescape

MOST_REFERENCES = 10_000
"""References of HTML (`&amp;`) in a text that are read. Those of Python are read one by one."""

_ESCAPE = re.compile(r"(?<!\\)\\++u([0-9a-fA-F]{4})")
_PERCENT = re.compile(rb"%([0-9a-fA-F]{2})")
_BYTES = tuple(bytes([value]) for value in range(256))


def of_json(text: str) -> str:
    """The text with JSON's `\\uXXXX` as characters, behind any number of backslashes."""
    if "\\u" not in text:
        return text
    parts = _ESCAPE.split(text)
    if len(parts) > 1:
        codes = "0000" + "0000".join(parts[1::2])
        parts[1::2] = list(bytes.fromhex(codes).decode("utf-32-be", "surrogatepass"))
    return "".join(parts)


def of_url(text: str) -> str:
    """The text with what is percent-encoded as characters of UTF-8."""
    if "%" not in text:
        return text
    parts = _PERCENT.split(text.encode("utf-8", "replace"))
    values = bytes.fromhex(b"".join(parts[1::2]).decode())
    parts[1::2] = list(map(_BYTES.__getitem__, values))
    return b"".join(parts).decode("utf-8", "replace")


def of_html(text: str) -> str | None:
    """The text with references of HTML as characters; None where it has more than are read."""
    count = text.count("&")
    if count > MOST_REFERENCES:
        return None
    return unescape(text) if count else text
