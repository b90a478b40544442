"""What the broker's ACLs do not allow: which operation, on what, for whom.

Kafka's answers say only that something is not allowed, and aiokafka's errors no more. Which
operation it was follows from the request, so it is noted where the answer comes in, and said where
the error ends a process (docs/shared-clusters.md, "ACLs").
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
"""The codes of what is refused, by the resource."""
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
"""By the request's number and the resource; Kafka's documentation, "Protocols in Kafka"."""
IN_ANSWER = ("topic", "topics", "name", "resource_name", "group", "group_id")
IN_REQUEST = {
    GROUP: ("group", "consumer_group", "group_id", "coordinator_key"),
    TRANSACTION: ("transactional_id", "coordinator_key"),
}
_newest: dict[int, str] = {}


class Refused(ConfigurationError):  # noqa: N818 - what the broker did
    """The broker's ACLs do not allow something."""


def of(error: BaseException | None) -> Refused | None:
    """What to say in place of an error; None where it is another one."""
    while error is not None:
        if isinstance(error, Refused):
            return error
        code = getattr(error, "errno", None) if isinstance(error, KafkaError) else None
        if code in RESOURCES:
            return Refused(_newest.get(code) or f"Kafka: the broker refuses: {error!r}")
        error = error.__cause__
    return None


def note(request: Any, answer: Any, user: str | None) -> None:
    """Keeps in mind what an answer refuses; `user` has asked."""
    values = [getattr(answer, name) for name in answer.SCHEMA.names]
    for code, said in _refusals(answer.SCHEMA, values, None):
        operation = OPERATIONS.get((request.API_KEY, code), f"request {request.API_KEY}")
        name = said if code in (TOPIC, CLUSTER) else said or _asked(request, IN_REQUEST[code])
        _newest[code] = refusal(operation, RESOURCES[code].format(name), user)
        log.debug(_newest[code])


def refusal(operation: str, resource: str, user: str | None) -> str:
    """In words."""
    who = f"the user {user}" if user else "this client"
    return (
        f"Kafka: the broker does not let {who} do {operation} on {resource}: an ACL is missing "
        '(docs/shared-clusters.md, "ACLs")'
    )


def _asked(request: Any, fields: tuple[str, ...]) -> str:
    return next(str(found) for name in fields if (found := getattr(request, name, None)))


def _refusals(kind: Schema, values: Any, name: str | None) -> Iterator[tuple[int, str | None]]:
    """The codes, each with the name nearest to it."""
    codes, lists = _places(kind)
    for place in codes:
        if values[place] in RESOURCES:
            yield values[place], _named(kind, values) or name
    for place, inner in lists:
        known = _named(kind, values) or name
        for entry in values[place] or ():
            yield from _refusals(inner, entry, known)


@cache
def _places(kind: Schema) -> tuple[tuple[int, ...], tuple[tuple[int, Schema], ...]]:
    """Where an entry has a code, and where lists of entries that have some. Kept, because every
    answer is looked at."""
    fields = list(enumerate(zip(kind.names, kind.fields, strict=True)))
    codes = tuple(place for place, (name, _) in fields if name == "error_code")
    lists = (
        (place, inner.array_of)
        for place, (_, inner) in fields
        if isinstance(inner, Array) and isinstance(inner.array_of, Schema)
    )
    return codes, tuple((place, inner) for place, inner in lists if any(_places(inner)))


def _named(kind: Schema, values: Any) -> str | None:
    """What an entry says it is about."""
    found = (values[place] for place, name in enumerate(kind.names) if name in IN_ANSWER)
    return next((one for one in found if isinstance(one, str)), None)
