"""Ids that every run makes alike (law 5), and the text that decides whether two things are one."""

import json
import unicodedata
from hashlib import blake2b
from typing import Any
from uuid import UUID, uuid5

NAMESPACE = UUID("6f0d5f5e-3a55-5d6b-9b5c-0c9f0b7f3e21")


def make_id(kind: str, *parts: str | int) -> str:
    """uuid5 of (kind, parent ids, ordinal)."""
    return str(uuid5(NAMESPACE, "\x1f".join((kind, *map(str, parts)))))


def short_hash(text: str) -> bytes:
    """8 bytes that stand for an id in an index."""
    return blake2b(text.encode(), digest_size=8).digest()


def normalise(text: str) -> str:
    """NFKC, case-folded, white space collapsed: same text, same thing (design 04)."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> str:
    """Compact JSON with sorted keys."""
    return _ENCODER.encode(value)
