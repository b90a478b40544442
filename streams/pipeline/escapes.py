"""Decodes escapes in a text, run by run: one by one is many times slower, and a megabyte has two
hundred thousand."""

import re
from functools import lru_cache
from html import unescape

MOST_REFERENCES = 1_000
"""Limit of distinct HTML references (`&amp;`) in a text."""

MOST_OF_RUN = 999
"""Consecutive escapes that are decoded together: a pattern stores a position for each."""

_ONE = r"\\++u[0-9a-fA-F]{4}"
_ESCAPES = re.compile(rf"(\\(?<!\\\\)\\*+u[0-9a-fA-F]{{4}}(?:{_ONE}){{0,{MOST_OF_RUN}}})")
"""It starts with a literal backslash, which makes the search ten times as fast."""
_REFERENCE = re.compile(
    "(&(?:#0*+[0-9]{1,7}|#[xX]0*+[0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31}+);?)"
)
"""Limited to the digits of a code point: Python converts at most 4,300."""
_ZEROS = re.compile("(?<=#)0+(?=[0-9])")
_PERCENT = re.compile(rb"(%%[0-9a-fA-F]{2}(?:%%[0-9a-fA-F]{2}){0,%d})" % MOST_OF_RUN)


def of_json(text: str) -> str:
    """Decodes JSON's `\\uXXXX` after any number of backslashes, including surrogate pairs."""
    return _unescaped(text) if "\\u" in text else text


@lru_cache(1)  # called several times per line
def _unescaped(text: str) -> str:
    parts = _ESCAPES.split(text)
    texts = {run: _run_of_json(run) for run in set(parts[1::2])}
    parts[1::2] = map(texts.__getitem__, parts[1::2])
    return "".join(parts)


def _run_of_json(escapes: str) -> str:
    if escapes.count("u") == 1:  # five times as fast
        return chr(int(escapes[-4:], 16))
    digits = escapes.replace("\\", "").replace("u", "")
    return bytes.fromhex(digits).decode("utf-16-be", "surrogatepass")


def of_url(text: str) -> str:
    """Decodes percent-encoded UTF-8."""
    if "%" not in text:
        return text
    parts = _PERCENT.split(text.encode("utf-8", "replace"))
    texts = {run: _run_of_url(run) for run in set(parts[1::2])}
    parts[1::2] = map(texts.__getitem__, parts[1::2])
    return b"".join(parts).decode("utf-8", "replace")


def _run_of_url(escapes: bytes) -> bytes:
    return bytes.fromhex(escapes.replace(b"%", b"").decode())


def of_html(text: str) -> str | None:
    """Decodes HTML references, or returns None if the text has too many distinct ones."""
    if "&" not in text:
        return text
    parts = _REFERENCE.split(text)
    texts = dict.fromkeys(parts[1::2], "")
    if len(texts) > MOST_REFERENCES:
        return None
    texts.update((reference, unescape(_ZEROS.sub("", reference))) for reference in texts)
    parts[1::2] = list(map(texts.__getitem__, parts[1::2]))
    return "".join(parts)
