"""Which records are withheld: nothing of what they say may be kept anywhere (docs/records.md).

One is, if any object in it, at any depth, has a `source` (or an attribute of CloudEvents) that says
`meta_request`, however it is spelt. Bytes that are no record and only mention it are kept as hash
and length.
"""

import json
import re
import unicodedata
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

import msgspec

from sinks.unpacking import Budget, TooMuch, inflated, of_base64
from streams.pipeline import escapes

SOURCE = "meta_request"
NOTHING = b'{"source":"meta_request"}'
"""What stands for a withheld record where one has to be named."""
ITEM = {"source": SOURCE}
DECODED = 16
"""Characters of base64 that are worth a look."""

LOWER_Q, UPPER_Q, BACKSLASH = b"qQ\\"  # as numbers, which Python finds in an eighth of the time
_BARE = SOURCE.replace("_", "")
_MENTION = re.compile(r"meta[\W_]{0,32}request")
_ASCII = re.compile("[A-Za-z_]")
_PARTS = re.compile(r"[,;|:/#?&=]")
_BASE64 = re.compile(rf"[A-Za-z0-9+/]{{{DECODED},}}")
_PACKED = re.compile(rf"(?<![A-Za-z0-9+/])[He][A-Za-z0-9+/]{{{DECODED - 1},}}")
"""Base64 of bytes that begin as gzip (1f) or zlib (78) does."""
_APART = " 0 "
"""Between texts that are looked at together: a marker does not lie across it."""
_check = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class _Object(list[tuple[str, Any]]):
    """A JSON object with all its members, also those of equal names."""


_read = json.JSONDecoder(
    object_pairs_hook=_Object,
    parse_int=lambda digits: None,  # of thousands of digits Python would make no number
    parse_float=lambda digits: None,
).decode


def means_withheld(source: str) -> bool:
    """Whether a record of this source is not to be kept, however it is spelt."""
    if source.isascii() and "q" not in source and "Q" not in source:
        return False
    return _bare(source) == _BARE or any(_bare(part) == _BARE for part in _PARTS.split(source))


def _bare(text: str) -> str:
    """A name without case, blanks, dashes and underscores."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def may_be_said(line: bytes) -> bool:
    """Whether a closer look is worth it. Asked of every line: most have neither the letter nor an
    escape that may hide it."""
    if not (LOWER_Q in line or UPPER_Q in line or BACKSLASH in line):
        return False
    if line.find(b"\\u00") < 0:
        lower = line.lower()
        return lower.find(b"request") >= 0 and lower.find(b"meta") >= 0
    return _MENTION.search(escapes.of_json(line.decode("utf-8", "replace")).lower()) is not None


def is_said(line: bytes) -> bool:
    """Whether the JSON in a line says that it is to be withheld; False of what is no JSON."""
    try:
        _check(line)
        return says(_read(line.decode()))
    except (ValueError, RecursionError):
        return False


def says(value: Any) -> bool:
    """Whether an object in a JSON value, at any depth, is withheld. A text that is JSON as a whole
    counts as what it holds."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            one = _Object(one.items())
        if isinstance(one, _Object):
            if _is_withheld(one):
                return True
            waiting += [inside for _, inside in one]
            waiting += [_text(inside) for name, inside in one if name.lower().startswith("data")]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            waiting += _documents(one)
    return False


def _is_withheld(members: _Object) -> bool:
    is_event = any(name == "specversion" for name, _ in members)
    return any(
        _names_source(name, is_event) and any(map(means_withheld, _texts(value)))
        for name, value in members
    )


@lru_cache(10_000)  # names are few
def _names_source(name: str, is_event: bool) -> bool:
    """`source`, however it is spelt, or an attribute of CloudEvents."""
    bare = _bare(name)
    is_attribute = is_event and bare not in ("data", "database64")
    return bare == "source" or is_attribute or name.strip().lower().startswith(("ce_", "ce-"))


def _texts(value: Any) -> Iterator[str]:
    """All texts and names in a JSON value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            one = _Object(one.items())
        if isinstance(one, str):
            yield one
        elif isinstance(one, _Object):
            waiting += [part for member in one for part in member]
        elif isinstance(one, list):
            waiting += one


def _documents(text: str) -> list[Any]:
    """The JSON that a text is: one document, or one a line."""
    if text.lstrip()[:1] not in ("{", "[", '"') or not _is_mentioned_in(text):
        return []
    try:
        return [_read(text.strip())]
    except (ValueError, RecursionError):
        lines = text.splitlines()
        return lines if len(lines) > 1 else []


def _text(value: Any) -> str | None:
    """What base64 says."""
    try:
        return of_base64(value).decode() if isinstance(value, str) else None
    except UnicodeDecodeError:
        return None


def in_headers(headers: Iterable[tuple[str, bytes | str | None]]) -> bool:
    """Whether a `source` or an attribute of CloudEvents among headers says it."""
    return any(
        _names_source(name, is_event=False)
        and means_withheld(unquote(_decoded(value) if isinstance(value, bytes) else value))
        for name, value in headers
        if value is not None
    )


# --- bytes that are no record -----------------------------------------------------------------


def is_mentioned(line: bytes) -> bool:
    """Whether bytes speak of it, in any spelling, also escaped, packed or in base64. What unpacks
    to more than may be looked at may do so."""
    text, budget = _decoded(line), Budget()
    letters = text.replace("-", "+").replace("_", "/")  # of base64's other alphabet
    try:
        return (
            _is_mentioned_in(text)
            or _is_mentioned_in(_APART.join(map(_of_base64, _BASE64.findall(letters))))
            or _is_mentioned_in(_APART.join(_unpacked(letters, budget)))
            or _is_mentioned_in(_decoded(inflated(line, budget) or b""))
        )
    except TooMuch:
        return True


def is_spelt_out(line: bytes) -> bool:
    """The same for very much, with no escapes but JSON's."""
    return _MENTION.search(escapes.of_json(_decoded(line)).lower()) is not None


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace").replace("\0", "")  # UTF-16, read as what it is not


def _is_mentioned_in(text: str) -> bool:
    if _MENTION.search(text.lower()):
        return True
    plain = escapes.of_html(escapes.of_json(text))
    if plain is None:  # too much to be read, so that it may be said
        return True
    meant = escapes.of_url(plain)
    if not meant.isascii():
        meant = meant.translate(_letters())
    return meant is not text and _MENTION.search(meant.lower()) is not None


@cache
def _letters() -> dict[int, str]:
    """Characters that NFKC writes with letters of ASCII, each as it writes them. Others grow to
    eighteen times their length, so that a text is not normalised whole."""
    written = ((code, unicodedata.normalize("NFKC", chr(code))) for code in range(128, 0x20000))
    return {code: text for code, text in written if _ASCII.search(text)}


def _of_base64(letters: str) -> str:
    return _decoded(a2b_base64(letters[: len(letters) - (len(letters) % 4 == 1)] + "=="))


def _unpacked(text: str, budget: Budget) -> Iterator[str]:
    """What pieces of base64 say that are packed. Raises TooMuch."""
    for piece in _PACKED.finditer(text):
        yield _decoded(inflated(of_base64(piece[0]), budget) or b"")


def hash_of(line: bytes) -> bytes:
    """What is kept of bytes that may be withheld."""
    return _encode({"bytes": len(line), "sha256": sha256(line).hexdigest()})
