"""ACL errors with operation, resource and user.

Kafka's responses, and aiokafka's errors, only report that access is denied. The operation follows
from the request, so it is recorded with the response and reported if the error ends a process
(docs/shared-clusters.md, "ACLs").
"""

import logging
from collections.abc import Iterator
from functools import cache
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.protocol.types import Array, Schema

from streams.errors import ConfigurationError

log = logging.getLogger(__name__)

TOPIC, GROUP, CLUSTER, TRANSACTION = 29, 30, 31, 53
"""Error codes of denied access, by resource."""
RESOURCES = {
    TOPIC: "topic {}",
    GROUP: "consumer group {}",
    CLUSTER: "the cluster",
    TRANSACTION: "transactional id {}",
}
OPERATIONS = {
    (0, TOPIC): "Write", (0, CLUSTER): "IdempotentWrite", (0, TRANSACTION): "Write",
    (1, TOPIC): "Read",
    (2, TOPIC): "Describe",
    (3, TOPIC): "Describe",
    (8, GROUP): "Read", (8, TOPIC): "Read",
    (9, GROUP): "Describe", (9, TOPIC): "Describe",
    (10, GROUP): "Describe", (10, TRANSACTION): "Describe",
    (11, GROUP): "Read", (12, GROUP): "Read", (13, GROUP): "Read", (14, GROUP): "Read",
    (15, GROUP): "Describe",
    (16, CLUSTER): "Describe",
    (19, TOPIC): "Create", (19, CLUSTER): "Create",
    (20, TOPIC): "Delete",
    (21, TOPIC): "Delete",
    (22, TRANSACTION): "Write", (22, CLUSTER): "IdempotentWrite",
    (24, TRANSACTION): "Write", (24, TOPIC): "Write",
    (25, TRANSACTION): "Write", (25, GROUP): "Read",
    (26, TRANSACTION): "Write",
    (28, TRANSACTION): "Write", (28, GROUP): "Read", (28, TOPIC): "Read",
    (32, TOPIC): "DescribeConfigs", (32, CLUSTER): "DescribeConfigs",
    (33, TOPIC): "AlterConfigs", (33, CLUSTER): "AlterConfigs",
    (37, TOPIC): "Alter",
    (42, GROUP): "Delete",
}  # fmt: skip
"""By API key and resource; Kafka's documentation, "Protocols in Kafka"."""
IN_ANSWER = ("topic", "topics", "name", "resource_name", "group", "group_id")
IN_REQUEST = {
    GROUP: ("group", "consumer_group", "group_id", "coordinator_key"),
    TRANSACTION: ("transactional_id", "coordinator_key"),
}
_newest: dict[int, str] = {}


class AccessDenied(ConfigurationError):  # noqa: N818 - what the broker did
    """The broker's ACLs deny an operation."""


def of(error: BaseException | None) -> AccessDenied | None:
    """The exception to raise instead of an ACL error, or None for other errors."""
    while error is not None:
        if isinstance(error, AccessDenied):
            return error
        code = getattr(error, "errno", None) if isinstance(error, KafkaError) else None
        if code in RESOURCES:
            return AccessDenied(_newest.get(code) or f"Kafka: the broker denies access: {error!r}")
        error = error.__cause__
    return None


def note(request: Any, response: Any, user: str | None) -> None:
    """Records the ACL errors of a response; `user` sent the request."""
    values = [getattr(response, name) for name in response.SCHEMA.names]
    for code, entry_name in _refusals(response.SCHEMA, values, None):
        operation = OPERATIONS.get((request.API_KEY, code), f"request {request.API_KEY}")
        name = (
            entry_name
            if code in (TOPIC, CLUSTER)
            else entry_name or _requested_name(request, IN_REQUEST[code])
        )
        _newest[code] = refusal(operation, RESOURCES[code].format(name), user)
        log.debug(_newest[code])


def refusal(operation: str, resource: str, user: str | None) -> str:
    client = f"user {user}" if user else "this client"
    return (
        f"Kafka: {client} is not authorized: {operation} on {resource} (missing ACL; "
        'docs/shared-clusters.md, "ACLs")'
    )


def _requested_name(request: Any, fields: tuple[str, ...]) -> str:
    return next(str(field) for name in fields if (field := getattr(request, name, None)))


def _refusals(kind: Schema, values: Any, name: str | None) -> Iterator[tuple[int, str | None]]:
    """Error codes, each with the nearest name."""
    codes, lists = _places(kind)
    for place in codes:
        if values[place] in RESOURCES:
            yield values[place], _entry_name(kind, values) or name
    for place, inner in lists:
        entry_name = _entry_name(kind, values) or name
        for entry in values[place] or ():
            yield from _refusals(inner, entry, entry_name)


@cache
def _places(kind: Schema) -> tuple[tuple[int, ...], tuple[tuple[int, Schema], ...]]:
    """Positions of error codes in an entry, and of lists with error codes. Cached, since every
    response is checked."""
    fields = list(enumerate(zip(kind.names, kind.fields, strict=True)))
    codes = tuple(place for place, (name, _) in fields if name == "error_code")
    lists = (
        (place, inner.array_of)
        for place, (_, inner) in fields
        if isinstance(inner, Array) and isinstance(inner.array_of, Schema)
    )
    return codes, tuple((place, inner) for place, inner in lists if any(_places(inner)))


def _entry_name(kind: Schema, values: Any) -> str | None:
    """Name of an entry's resource."""
    names = (values[place] for place, name in enumerate(kind.names) if name in IN_ANSWER)
    return next((text for text in names if isinstance(text, str)), None)
