"""What topics, consumer groups and transactional ids are called on the broker: the installation's
prefix, then the name that the rest of the code knows.

The prefix is put before names in requests and taken off in answers, here and nowhere else. Of a
list of everything that is on the cluster, what has not the prefix is left out: a client neither
sees nor names what is another installation's.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from aiokafka.protocol.struct import Struct
from aiokafka.protocol.types import Array, Bytes, Schema, String

NAMES = frozenset((
    "topic", "topics", "group", "groups", "group_id", "groups_names", "consumer_group",
    "coordinator_key", "name", "subscription", "transactional_id", "resource_name",
))  # fmt: skip
"""Fields of requests and answers that are such names."""
MEMBERSHIPS = frozenset(("protocol_metadata", "member_metadata", "member_assignment"))
"""Fields in which the members of a group tell each other topics. The broker reads them, too: it
forgets the offsets of topics that a group with members has not subscribed to."""
SYNC_GROUP = 14
TOPIC = 2
"""The type of a resource that is a topic."""

Rename = Callable[[str], str | None]


class Names(NamedTuple):
    """`prefix` stands before every name of this installation. Topics of `others`, which a mapping
    reads, have none."""

    prefix: str = ""
    others: frozenset[str] = frozenset()

    def there(self, name: str) -> str:
        """What it is called on the broker."""
        return name if name in self.others else self.prefix + name

    def here(self, name: str) -> str | None:
        """What the rest of the code calls it; None: it is neither ours nor asked for."""
        if name in self.others:
            return name
        return name.removeprefix(self.prefix) if name.startswith(self.prefix) else None


OWN = Names()
"""Without a prefix."""


def prefix_of(connection: Mapping[str, Any]) -> str:
    """The prefix of clients that are made with these keyword arguments."""
    names: Names = connection.get("names", OWN)
    return names.prefix


def outgoing(request: Struct, names: Names) -> None:
    """Names in a request become those of the broker. The request is nobody else's."""
    _map_struct(request, names.there)


def incoming(answer: Struct, names: Names) -> None:
    """Names in an answer become ours; entries with another's name are left out."""
    _map_struct(answer, names.here)


def _map_struct(struct: Struct, rename: Rename) -> None:
    api = getattr(struct, "API_KEY", None)
    for name, kind in zip(struct.SCHEMA.names, struct.SCHEMA.fields, strict=True):
        if _has_names(kind, name):
            setattr(struct, name, _mapped(kind, name, getattr(struct, name), rename, api))


@cache
def _has_names(kind: Any, field: str) -> bool:
    """Whether there are names somewhere in the values of a field."""
    if isinstance(kind, Schema):
        return any(map(_has_names, kind.fields, kind.names))
    if isinstance(kind, Array):
        return _has_names(kind.array_of, field)
    return field in (NAMES if isinstance(kind, String) else MEMBERSHIPS if kind is Bytes else ())


def _mapped(kind: Any, field: str, value: Any, rename: Rename, api: int | None) -> Any:
    """The value with other names. None where one of an entry's names is not ours."""
    if value is None:
        return None
    if isinstance(kind, Array):
        items = (_mapped(kind.array_of, field, item, rename, api) for item in value)
        return [item for item in items if item is not None]
    if isinstance(kind, Schema):
        return _mapped_entry(kind, value, rename, api)
    return rename(value) if isinstance(kind, String) else _membership(field, value, rename, api)


def _mapped_entry(kind: Schema, value: Any, rename: Rename, api: int | None) -> Any:
    if "resource_type" in kind.names and value[kind.names.index("resource_type")] != TOPIC:
        return value
    entry = list(value)
    for place, (name, inner) in enumerate(zip(kind.names, kind.fields, strict=True)):
        if entry[place] is not None and _has_names(inner, name):
            entry[place] = _mapped(inner, name, entry[place], rename, api)
            if entry[place] is None:
                return None
    return tuple(entry)


def _membership(field: str, packed: bytes, rename: Rename, api: int | None) -> bytes:
    """What a member says of itself, or is told. Nothing while a group has no assignment yet."""
    if not packed:
        return packed
    assigned = field == "member_assignment" or api == SYNC_GROUP
    kind = ConsumerProtocolMemberAssignment if assigned else ConsumerProtocolMemberMetadata
    struct = kind.decode(packed)
    _map_struct(struct, rename)
    encoded: bytes = struct.encode()
    return encoded
