"""Deterministic ids, normalized text and canonical JSON."""

import json
from hashlib import blake2b, sha1
from typing import Any
from uuid import UUID

from schemas.unicode_text import normalized

NAMESPACE = UUID("6f0d5f5e-3a55-5d6b-9b5c-0c9f0b7f3e21")
_PREFIX_HASH = sha1(NAMESPACE.bytes, usedforsecurity=False)
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


def make_id(kind: str, *parts: str | int) -> str:
    """Returns the uuid5 of (kind, parent ids, ordinal), four times as fast as `uuid.uuid5`."""
    hashed = _PREFIX_HASH.copy()
    hashed.update("\x1f".join((kind, *map(str, parts))).encode())
    text = hashed.hexdigest()
    return (
        f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANTS[text[16]]}{text[17:20]}-{text[20:32]}"
    )


def short_hash(text: str) -> bytes:
    """Returns an 8-byte hash of an id, for an index."""
    return blake2b(text.encode(), digest_size=8).digest()


def normalise(text: str) -> str:
    """Normalizes a text for comparison: NFKC, case-folded, white space collapsed."""
    return " ".join(folded(text).split())


def folded(text: str) -> str:
    """NFKC and case-folded."""
    return normalized("NFKC", text).casefold()


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> str:
    """Compact JSON with sorted keys."""
    return _ENCODER.encode(value)
