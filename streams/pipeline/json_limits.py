"""Limits of a JSON document, checked before decoding.

A megabyte of JSON can contain half a million values, and each takes as much memory as a hundred
bytes of text. Counting reads the bytes a few times and creates no objects.
"""

import msgspec

MAX_VALUES = 20_000
"""Names and values of one record, or of one body that is parsed as a whole."""
SHORT = MAX_VALUES
"""A document of so many bytes is within the limit: a value has a byte, and a comma or bracket."""
MAX_BODY_VALUES = 500_000
"""Names and values of all records of one body."""
NOTHING = msgspec.Raw(b"")


class Head(msgspec.Struct, gc=False):
    """Owner fields of a document that is not decoded, as JSON."""

    tenant: msgspec.Raw = NOTHING
    type: msgspec.Raw = NOTHING
    scope: msgspec.Raw = NOTHING
    source: msgspec.Raw = NOTHING
    user_id: msgspec.Raw = NOTHING
    session_id: msgspec.Raw = NOTHING


_check = msgspec.json.Decoder(msgspec.Raw).decode
_read_head = msgspec.json.Decoder(Head).decode
LONG_VALUE = 4_096
"""Longest field of a `Head` in bytes: a longer one is not an id."""


def too_many_values(document: bytes) -> str | None:
    """Returns why a JSON document has too many values, or None if it is within the limit."""
    if len(document) <= SHORT or values(document) <= MAX_VALUES:
        return None
    return f"more than {MAX_VALUES} names and values; send large results as text"


def values(document: bytes, limit: int = MAX_VALUES) -> int:
    """Counts the names and values of a JSON document, or stops above `limit`; linear time."""
    plain = document
    if b"\\" in document:
        plain = document.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = plain.count(b'"') // 2
    if strings > limit:
        return strings
    outside = b"".join(plain.split(b'"')[::2])
    return sum(map(outside.count, (b",", b":", b"{", b"[")))


def head(document: bytes) -> dict[str, object]:
    """Returns the fields of a `Head` in a document; none if it is not an object. Raises
    msgspec.DecodeError, UnicodeDecodeError or RecursionError for invalid JSON."""
    _check(document)
    try:
        fields = msgspec.structs.asdict(_read_head(document))
    except msgspec.ValidationError:
        return {}
    return {
        name: msgspec.json.decode(value)
        for name, value in fields.items()
        if 0 < len(value) <= LONG_VALUE
    }
