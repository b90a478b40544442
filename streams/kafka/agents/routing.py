"""Determines topic and key of an input record from as few fields as possible.

Unrecognized lines go to `turns`: the worker writes a dead letter with their bytes. `meta_request`
records are not sent to Kafka.
"""

from typing import Any, NamedTuple

import msgspec

from schemas.events import Record
from streams.pipeline import withheld
from streams.pipeline.decode import Dead, decode, means_withheld
from streams.pipeline.fast_decode import TENANT
from streams.record_kinds import TURN, RecordKind, kind_by_fields, kind_of
from streams.topology import TURNS

MAPPED_FROM = "mapped_from"
"""Header of a mapped record: topic/partition/offset of its event."""


def is_mapped(message: Any) -> bool:
    """Whether a mapping made the Kafka message of an input topic."""
    return any(name == MAPPED_FROM for name, _ in message.headers)


class Route(NamedTuple):
    """`value`: bytes to send; for bytes that may be a withheld request, their hash and length.
    `is_known`: whether topic and key could be determined."""

    topic: str
    key: bytes | None
    value: bytes
    is_known: bool


class _RecordHead(msgspec.Struct, gc=False):
    """Fields that determine a record's route; of any type, since the worker reports errors."""

    type: Any = None
    scope: Any = None
    tenant: Any = TENANT
    session_id: Any = None
    user_id: Any = None
    source: Any = None


_decode_head = msgspec.json.Decoder(_RecordHead).decode


def route(line: bytes) -> Route | None:
    """Route of one record, or None if it is withheld."""
    if withheld.may_be_said(line):
        return _decoded_route(line)
    try:
        head = _decode_head(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decoded_route(line)
    if isinstance(head.source, str) and means_withheld(head.source):
        return None
    candidate = _route_of_head(head, line)
    return candidate if candidate.is_known and candidate.key is not None else _decoded_route(line)


def _route_of_head(head: Any, line: bytes) -> Route:
    kind = kind_by_fields(head.type, head.scope)
    if kind is None:
        return Route(TURNS.name, _key(head, TURN), line, is_known=False)
    return Route(kind.topic, _key(head, kind), line, is_known=True)


def route_of(record: Record, line: bytes) -> Route:
    """Route of a decoded record that is not withheld; `line` is its JSON."""
    kind = kind_of(record)
    return Route(kind.topic, _key(record, kind), line, is_known=True)


def _key(head: Any, kind: RecordKind) -> bytes | None:
    owner = getattr(head, kind.owner)
    if not (isinstance(owner, str) and isinstance(head.tenant, str)):
        return None
    return f"{head.tenant}/{owner}".encode("utf-8", "replace")


def _decoded_route(line: bytes) -> Route | None:
    """Route of a line that has to be decoded: it may be withheld, or invalid."""
    decoded = decode(line, ("", 0, 0))
    if decoded == "withheld":
        return None
    if not isinstance(decoded, Dead):
        return route_of(decoded.record, line)
    if decoded.hidden:
        return Route(TURNS.name, None, decoded.payload, is_known=False)
    try:
        return _route_of_head(_decode_head(line), line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Route(TURNS.name, None, decoded.payload, is_known=False)
