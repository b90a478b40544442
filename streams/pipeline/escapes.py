"""Escapes in a text, all replaced at once: to call a function for each takes eight times as long,
and a megabyte has two hundred thousand."""

import re
from functools import lru_cache
from html import unescape

MOST_REFERENCES = 1_000
"""Different references of HTML (`&amp;`) in a text that are read."""

_ESCAPE = re.compile(r"(?<!\\)\\++u([0-9a-fA-F]{4})")
_REFERENCE = re.compile(
    "(&(?:#0*+[0-9]{1,7}|#[xX]0*+[0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31}+);?)"
)
"""With no more digits than a character's number has: Python converts no more than 4,300."""
_ZEROS = re.compile("(?<=#)0+(?=[0-9])")
_PERCENT = re.compile(rb"%([0-9a-fA-F]{2})")
_BYTES = tuple(bytes([value]) for value in range(256))


def of_json(text: str) -> str:
    """The text with JSON's `\\uXXXX` as characters, behind any number of backslashes."""
    return _unescaped(text) if "\\u" in text else text


@lru_cache(1)  # a line is asked for it several times
def _unescaped(text: str) -> str:
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
    """The text with references of HTML as characters; None where it has more different ones than
    are read."""
    if "&" not in text:
        return text
    parts = _REFERENCE.split(text)
    meant = dict.fromkeys(parts[1::2], "")
    if len(meant) > MOST_REFERENCES:
        return None
    meant.update((reference, unescape(_ZEROS.sub("", reference))) for reference in meant)
    parts[1::2] = list(map(meant.__getitem__, parts[1::2]))
    return "".join(parts)
