"""Escapes in a text, replaced run by run: to take them one by one takes many times as long, and a
megabyte has two hundred thousand."""

import re
from functools import lru_cache
from html import unescape

MOST_REFERENCES = 1_000
"""Different references of HTML (`&amp;`) in a text that are read."""

MOST_OF_RUN = 999
"""Escapes that follow one another and are read together: a pattern keeps a place for each."""

_ONE = r"\\++u[0-9a-fA-F]{4}"
_ESCAPES = re.compile(rf"(\\(?<!\\\\)\\*+u[0-9a-fA-F]{{4}}(?:{_ONE}){{0,{MOST_OF_RUN}}})")
"""It begins with a backslash whatever stands before, which Python finds in a tenth of the time."""
_REFERENCE = re.compile(
    "(&(?:#0*+[0-9]{1,7}|#[xX]0*+[0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31}+);?)"
)
"""With no more digits than a character's number has: Python converts no more than 4,300."""
_ZEROS = re.compile("(?<=#)0+(?=[0-9])")
_PERCENT = re.compile(rb"(%%[0-9a-fA-F]{2}(?:%%[0-9a-fA-F]{2}){0,%d})" % MOST_OF_RUN)


def of_json(text: str) -> str:
    """The text with JSON's `\\uXXXX` as characters, behind any number of backslashes; those that
    follow one another may be pairs of surrogates."""
    return _unescaped(text) if "\\u" in text else text


@lru_cache(1)  # a line is asked for it several times
def _unescaped(text: str) -> str:
    parts = _ESCAPES.split(text)
    meant = {run: _run_of_json(run) for run in set(parts[1::2])}
    parts[1::2] = map(meant.__getitem__, parts[1::2])
    return "".join(parts)


def _run_of_json(escapes: str) -> str:
    digits = escapes.replace("\\", "").replace("u", "")
    return bytes.fromhex(digits).decode("utf-16-be", "surrogatepass")


def of_url(text: str) -> str:
    """The text with what is percent-encoded as characters of UTF-8."""
    if "%" not in text:
        return text
    parts = _PERCENT.split(text.encode("utf-8", "replace"))
    meant = {run: _run_of_url(run) for run in set(parts[1::2])}
    parts[1::2] = map(meant.__getitem__, parts[1::2])
    return b"".join(parts).decode("utf-8", "replace")


def _run_of_url(escapes: bytes) -> bytes:
    return bytes.fromhex(escapes.replace(b"%", b"").decode())


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
