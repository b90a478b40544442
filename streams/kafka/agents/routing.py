"""Which topic and key an input record has, told from as few fields as that needs.

What cannot be told goes to `turns` all the same: the worker makes a dead letter of it, with its
bytes. `meta_request` is kept from Kafka.
"""

from typing import Any, NamedTuple

import msgspec

from schemas.events import Record
from streams.kinds import TURN, RecordKind, kind_by_fields, kind_of
from streams.pipeline import withheld
from streams.pipeline.decode import Dead, decode, means_withheld
from streams.pipeline.plain import TENANT
from streams.topology import TURNS

MAPPED_FROM = "mapped_from"
"""The header of a record that a mapping made: topic/partition/offset of its event."""


def is_mapped(record: Any) -> bool:
    """Whether a Kafka record of an input topic was made by a mapping."""
    return any(name == MAPPED_FROM for name, _ in record.headers)


class Route(NamedTuple):
    """`value` is what may be sent: of bytes that may be a withheld request, hash and length.
    `known` is False where neither topic nor key could be told."""

    topic: str
    key: bytes | None
    value: bytes
    known: bool


class _Head(msgspec.Struct, gc=False):
    """What the way of a record depends on; any type, for the worker says what is wrong with it."""

    type: Any = None
    scope: Any = None
    tenant: Any = TENANT
    session_id: Any = None
    user_id: Any = None
    source: Any = None


_read = msgspec.json.Decoder(_Head).decode


def route(line: bytes) -> Route | None:
    """The way of one record; None where it is withheld."""
    if withheld.may_be_said(line):
        return _closely(line)
    try:
        head = _read(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _closely(line)
    if isinstance(head.source, str) and means_withheld(head.source):
        return None
    way = _way(head, line)
    return way if way.known and way.key is not None else _closely(line)


def _way(head: Any, line: bytes) -> Route:
    kind = kind_by_fields(head.type, head.scope)
    if kind is None:
        return Route(TURNS.name, _key(head, TURN), line, known=False)
    return Route(kind.topic, _key(head, kind), line, known=True)


def route_of(record: Record, line: bytes) -> Route:
    """The way of a record that was decoded, and is not withheld; `line` is its JSON."""
    kind = kind_of(record)
    return Route(kind.topic, _key(record, kind), line, known=True)


def _key(head: Any, kind: RecordKind) -> bytes | None:
    owner = getattr(head, kind.owner)
    if not (isinstance(owner, str) and isinstance(head.tenant, str)):
        return None
    return f"{head.tenant}/{owner}".encode("utf-8", "replace")


def _closely(line: bytes) -> Route | None:
    """Of a line of which all has to be read: it may be withheld, or nothing of ours."""
    said = decode(line, ("", 0, 0))
    if said == "withheld":
        return None
    if not isinstance(said, Dead):
        return route_of(said.record, line)
    if said.hidden:
        return Route(TURNS.name, None, said.payload, known=False)
    try:
        return _way(_read(line), line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Route(TURNS.name, None, said.payload, known=False)
