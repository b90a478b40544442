"""Adds the installation's prefix to names of topics, consumer groups and transactional ids.

The prefix is added to names in requests and removed from names in responses, only here. Responses
that list the whole cluster are filtered: another installation's resources are invisible to a
client.
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
"""Fields of requests and responses with such names."""
MEMBERSHIPS = frozenset(("protocol_metadata", "member_metadata", "member_assignment"))
"""Fields in which group members exchange topic names. The broker reads them as well: it drops
offsets of topics that a group with members is not subscribed to."""
SYNC_GROUP = 14
TOPIC = 2
"""Resource type of a topic."""

Rename = Callable[[str], str | None]


class Names(NamedTuple):
    """Name mapping. `prefix` of every name of this installation; mapped topics in `unprefixed` have
    none."""

    prefix: str = ""
    unprefixed: frozenset[str] = frozenset()

    def on_broker(self, name: str) -> str:
        """Name on the broker."""
        return name if name in self.unprefixed else self.prefix + name

    def local_name(self, name: str) -> str | None:
        """Name in the rest of the code, or None for another installation's."""
        if name in self.unprefixed:
            return name
        return name.removeprefix(self.prefix) if name.startswith(self.prefix) else None


OWN = Names()
"""Names without a prefix."""


def prefix_of(connection: Mapping[str, Any]) -> str:
    """Prefix of clients made with these keyword arguments."""
    names: Names = connection.get("names", OWN)
    return names.prefix


def outgoing(request: Struct, names: Names) -> None:
    """Adds the prefix to names in a request, in place."""
    _map_struct(request, names.on_broker)


def incoming(response: Struct, names: Names) -> None:
    """Removes the prefix from names in a response; drops entries of other installations."""
    _map_struct(response, names.local_name)


def _map_struct(struct: Struct, rename: Rename) -> None:
    api = getattr(struct, "API_KEY", None)
    for name, kind in zip(struct.SCHEMA.names, struct.SCHEMA.fields, strict=True):
        if _has_names(kind, name):
            setattr(struct, name, _mapped(kind, name, getattr(struct, name), rename, api))


@cache
def _has_names(kind: Any, field: str) -> bool:
    if isinstance(kind, Schema):
        return any(map(_has_names, kind.fields, kind.names))
    if isinstance(kind, Array):
        return _has_names(kind.array_of, field)
    return field in (NAMES if isinstance(kind, String) else MEMBERSHIPS if kind is Bytes else ())


def _mapped(kind: Any, field: str, value: Any, rename: Rename, api: int | None) -> Any:
    """The value with mapped names, or None if a name of an entry is not ours."""
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
    """Maps a member's metadata or assignment; empty while a group has no assignment."""
    if not packed:
        return packed
    assigned = field == "member_assignment" or api == SYNC_GROUP
    kind = ConsumerProtocolMemberAssignment if assigned else ConsumerProtocolMemberMetadata
    struct = kind.decode(packed)
    _map_struct(struct, rename)
    encoded: bytes = struct.encode()
    return encoded
