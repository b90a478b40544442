"""How much one JSON document may hold, counted before it is decoded.

A megabyte of JSON can hold half a million values, and each costs as much as a hundred bytes of
text. The count reads the bytes a few times and makes no objects.
"""

import msgspec

MAX_VALUES = 20_000
"""Names and values of one record, or of one body that is read as a whole."""
SHORT = MAX_VALUES
"""Bytes that cannot hold more: a value has at least one, and a comma or bracket before it."""
MAX_BODY_VALUES = 500_000
"""Names and values of all records of one body."""
NOTHING = msgspec.Raw(b"")


class Head(msgspec.Struct, gc=False):
    """Where a document that is not decoded belongs, as JSON."""

    tenant: msgspec.Raw = NOTHING
    type: msgspec.Raw = NOTHING
    scope: msgspec.Raw = NOTHING
    source: msgspec.Raw = NOTHING
    user_id: msgspec.Raw = NOTHING
    session_id: msgspec.Raw = NOTHING


_check = msgspec.json.Decoder(msgspec.Raw).decode
_read_head = msgspec.json.Decoder(Head).decode
LONG_VALUE = 4_096
"""Bytes of a field of a `Head`: a longer one is no id."""


def too_many_values(document: bytes) -> str | None:
    """Why a document of JSON holds too much to be decoded; None: it does not."""
    if len(document) <= SHORT or values(document) <= MAX_VALUES:
        return None
    return f"more than {MAX_VALUES} names and values; send large results as text"


def values(document: bytes, most: int = MAX_VALUES) -> int:
    """How many names and values a document of JSON has, or more than `most` as soon as it has more;
    linear in its length."""
    plain = document
    if b"\\" in document:
        plain = document.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = plain.count(b'"') // 2
    if strings > most:
        return strings
    outside = b"".join(plain.split(b'"')[::2])
    return sum(map(outside.count, (b",", b":", b"{", b"[")))


def head(document: bytes) -> dict[str, object]:
    """The fields of a `Head` that a document has; none of what is no object. Raises
    msgspec.DecodeError, UnicodeDecodeError, RecursionError for what is no JSON."""
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
