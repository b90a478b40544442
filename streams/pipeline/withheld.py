"""Withheld records: their content must not be stored anywhere (docs/records.md).

A record is withheld if any object in it, at any depth, has a `source` (or an attribute of
CloudEvents) with the value `meta_request`, in any spelling. Invalid records that only mention it
are stored as hash and length.
"""

import json
import re
import unicodedata
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

import msgspec

from sinks.decompress import Budget, TooMuch, inflated, of_base64
from streams.pipeline import escapes

SOURCE = "meta_request"
NOTHING = b'{"source":"meta_request"}'
"""Placeholder for a withheld record."""
ITEM = {"source": SOURCE}
DECODED = 16
"""Characters of base64 that are worth a look."""

LOWER_Q, UPPER_Q, BACKSLASH = b"qQ\\"  # as numbers, which Python finds in an eighth of the time
UNPACKED, RATIO, MOST_UNPACKED = 65_536, 16, 1_000_000
"""Limits of the bytes that a record is unpacked to in the search: so many, plus so many times its
own, up to a record's maximum."""
MOST_LINES = 5_000
"""Maximum lines parsed one by one, in texts of a record that mention it and start like JSON; a
record with more is withheld."""
MOST_PACKED = 1_000
"""Maximum pieces of base64 in one record that start like gzip or zlib and are unpacked."""
NAME = 64
"""Maximum characters of a cached name: Turnfold's names are few, and shorter."""
_BARE = SOURCE.replace("_", "")
_MENTION = re.compile(r"meta[\W_]{0,32}request")
_ASCII = re.compile("[A-Za-z_]")
_PARTS = re.compile(r"[,;|:/#?&=]")
_BETWEEN = re.compile(r"[^\w,;|:/#?&=]+|_+")
_SIGNS = "".join(filter(_BETWEEN.match, map(chr, range(128)))).encode()
"""The same of ASCII."""
_BASE64 = re.compile(rf"[A-Za-z0-9+/]{{{DECODED},}}")
_ZLIB = (bytes([0x78, level, after]) for level in (0x01, 0x5E, 0x9C, 0xDA) for after in range(256))
_PACKED = ("H4sI", *sorted({b2a_base64(head)[:3].decode() for head in _ZLIB}))
"""First letters of a gzip or zlib stream in base64."""
_APART = b" 0 "
"""Separator of texts that are searched together: a marker cannot span it."""
_check = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class _Object(list[tuple[str, Any]]):
    """A JSON object with all its members, including duplicate names."""


_read = json.JSONDecoder(
    object_pairs_hook=_Object,
    parse_int=lambda digits: None,  # of thousands of digits Python would make no number
    parse_float=lambda digits: None,
).decode


def means_withheld(source: str) -> bool:
    """Whether a source, in any spelling, marks a withheld record."""
    if source.isascii() and "q" not in source and "Q" not in source:
        return False
    parts = _PARTS.split(_bare(source))
    return _BARE in parts or (len(parts) > 1 and "".join(parts) == _BARE)


def _bare(text: str) -> str:
    """Letters and digits of a text in lower case, with the separators between its parts."""
    plain = _plain(text).lower()
    if plain.isascii():
        return plain.encode().translate(None, _SIGNS).decode()
    return _BETWEEN.sub("", plain)


def may_be_said(line: bytes) -> bool:
    """Whether a line needs a full check. Called for every line: most lack the letter and any escape
    that may hide it."""
    if not (LOWER_Q in line or UPPER_Q in line or BACKSLASH in line):
        return False
    if line.find(b"\\u00") < 0:
        lower = line.lower()
        return lower.find(b"request") >= 0 and lower.find(b"meta") >= 0
    return _MENTION.search(escapes.of_json(line.decode("utf-8", "replace")).lower()) is not None


def is_said(line: bytes) -> bool:
    """Whether the JSON in a line is to be withheld; False for invalid JSON."""
    try:
        _check(line)
        return says(_read(line.decode()))
    except (ValueError, RecursionError):
        return False


def says(value: Any) -> bool:
    """Whether an object in a JSON value, at any depth, is withheld. A text that is JSON as a whole
    counts as its content. Each value is visited once, however many sources contain it."""
    count = 0
    waiting = [(value, False)]
    while waiting:
        part, is_source = waiting.pop()
        if isinstance(part, dict):
            part = _Object(part.items())
        if isinstance(part, _Object):
            is_event = "specversion" in [name for name, _ in part]
            for name, inside in part:
                if is_source and means_withheld(name):
                    return True
                waiting.append((inside, is_source or _names_source(name, is_event)))
                if name.lower().startswith("data"):
                    waiting.append((_text(inside), False))
        elif isinstance(part, list):
            waiting += [(inside, is_source) for inside in part]
        elif isinstance(part, str):
            if is_source and means_withheld(part):
                return True
            documents = _documents(part)
            count += len(documents)
            if count > MOST_LINES:
                return True
            waiting += [(inside, False) for inside in documents]
    return False


def _names_source(name: str, is_event: bool) -> bool:
    """Whether a name is `source`, in any spelling, or an attribute of CloudEvents."""
    return (_names if len(name) <= NAME else _names.__wrapped__)(name, is_event)


@lru_cache(10_000)
def _names(name: str, is_event: bool) -> bool:
    bare = "".join(_PARTS.split(_bare(name)))
    is_attribute = is_event and bare not in ("data", "database64")
    return bare == "source" or is_attribute or name.strip().lower().startswith(("ce_", "ce-"))


def _documents(text: str) -> list[Any]:
    """JSON documents in a text: one document, or one per line."""
    if text.lstrip()[:1] not in ("{", "[", '"') or not _is_mentioned_in(text):
        return []
    try:
        return [_read(text.strip())]
    except (ValueError, RecursionError):
        lines = text.splitlines()
        return lines if len(lines) > 1 else []


def _text(value: Any) -> str | None:
    """Decodes base64 to text."""
    try:
        return of_base64(value).decode() if isinstance(value, str) else None
    except UnicodeDecodeError:
        return None


def in_headers(headers: Iterable[tuple[str, bytes | str | None]]) -> bool:
    """Whether a `source` or an attribute of CloudEvents among headers marks a withheld record."""
    return any(
        _names_source(name, is_event=False)
        and means_withheld(unquote(_decoded(value) if isinstance(value, bytes) else value))
        for name, value in headers
        if value is not None
    )


# --- bytes that are no record -----------------------------------------------------------------


def is_mentioned(line: bytes) -> bool:
    """Whether bytes mention it in any spelling, including escaped, compressed or in base64. True if
    they decompress to more than the limit."""
    text = _decoded(line)
    runs = _BASE64.findall(text.replace("-", "+").replace("_", "/"))  # of base64's other alphabet
    budget = Budget(min(UNPACKED + RATIO * len(line), MOST_UNPACKED), MOST_PACKED)
    try:
        return (
            _is_mentioned_in(text)
            or (bool(runs) and _is_mentioned_in(_decoded(_APART.join(map(_of_base64, runs)))))
            or _is_mentioned_in(_decoded(_APART.join(_unpacked(runs, budget))))
            or _is_mentioned_in(_decoded(inflated(line, budget) or b""))
        )
    except TooMuch:
        return True


def is_spelt_out(line: bytes) -> bool:
    """The same for large inputs, with JSON's escapes only."""
    return _MENTION.search(escapes.of_json(_decoded(line)).lower()) is not None


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace").replace("\0", "")  # UTF-16, read as another encoding


def _is_mentioned_in(text: str) -> bool:
    if _MENTION.search(text.lower()):
        return True
    plain = escapes.of_html(escapes.of_json(text))
    if plain is None:  # too much to be read, so that it may be said
        return True
    decoded = _plain(escapes.of_url(plain))
    return decoded is not text and _MENTION.search(decoded.lower()) is not None


def _plain(text: str) -> str:
    """Replaces characters that NFKC maps to ASCII letters. NFKC is not applied to the whole text:
    other characters grow to eighteen times their length."""
    if text.isascii():
        return text
    for pattern in _alike():
        parts = pattern.split(text)
        if len(parts) > 1:
            written = {run: _written(run) for run in set(parts[1::2])}
            parts[1::2] = map(written.__getitem__, parts[1::2])
            text = "".join(parts)
    return text


def _written(run: str) -> str:
    """Characters that may be written with letters of ASCII, as they are written."""
    letters = _letters()
    if len(run) == 1:
        return letters.get(run, run)
    return "".join([letters.get(letter, letter) for letter in run])


@cache
def _letters() -> dict[str, str]:
    """Characters that NFKC maps to ASCII letters, each with its replacement."""
    written = (
        (chr(code), unicodedata.normalize("NFKC", chr(code))) for code in range(128, 131_072)
    )
    return {character: text for character, text in written if _ASCII.search(text)}


@cache
def _alike() -> tuple["re.Pattern[str]", ...]:
    """Pattern of these characters. Characters beyond the first plane are a separate range: a class
    of single ones is slow."""
    first = [character for character in _letters() if character < "\U00010000"]
    candidates = _letters().keys() - first
    return re.compile(f"([{''.join(first)}]+)"), re.compile(
        f"([{min(candidates)}-{max(candidates)}]+)"
    )


def _of_base64(letters: str) -> bytes:
    return a2b_base64((letters if len(letters) % 4 != 1 else letters[:-1]) + "==")


def _unpacked(runs: list[str], budget: Budget) -> Iterator[bytes]:
    """Decompressed content of base64 pieces. Raises TooMuch."""
    for letters in runs:
        if letters[0] in "He" and letters.startswith(_PACKED):
            budget.spend(0, 1)
            yield inflated(of_base64(letters), budget) or b""


def hash_of(line: bytes) -> bytes:
    """Replacement for bytes that may have to be withheld: hash and length."""
    return _encode({"bytes": len(line), "sha256": sha256(line).hexdigest()})
