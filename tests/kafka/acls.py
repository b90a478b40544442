"""Gives a user ACLs, as an administrator does."""

import asyncio
from collections.abc import Iterable

from aiokafka.protocol.admin import CreateAclsRequest

from streams.broker import Broker
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.acls import Acl, grants

RESOURCES = {"topic": 2, "group": 3, "cluster": 4, "transactional id": 5}
OPERATIONS = {
    "All": 2, "Read": 3, "Write": 4, "Create": 5, "Delete": 6, "Alter": 7, "Describe": 8,
    "DescribeConfigs": 10, "AlterConfigs": 11,
}  # fmt: skip
PATTERNS, ALLOW = {"literal": 3, "prefixed": 4}, 3


def grant(broker: Broker, user: str, prefix: str, acls: Iterable[Acl]) -> None:
    """Lets the user do that, on resources whose names have the prefix."""
    wanted = [
        CreateAclsRequest(
            RESOURCES[one.resource], one.name, PATTERNS[one.pattern], f"User:{user}", "*",
            OPERATIONS[operation], ALLOW,
        )
        for one in grants(acls, prefix) for operation in one.operations
    ]  # fmt: skip

    async def ask() -> None:
        async with connected(KafkaSettings.plain(broker.bootstrap)) as admin:
            node = (await admin.describe_cluster())["controller_id"]
            for answer in await asyncio.gather(*(admin.send_to(one, node) for one in wanted)):
                assert all(one[0] == 0 for one in answer.creation_responses), answer

    asyncio.run(ask())


def without(acls: Iterable[Acl], resource: str, name: str, operation: str) -> list[Acl]:
    """The same, one operation on one resource less. What it implies stays."""
    found = []
    for acl in acls:
        for one in acl.names:
            missing = (acl.resource, one) == (resource, name) and operation in acl.operations
            left = {each for each in acl.operations if not missing or each != operation}
            left |= {"Describe"} if missing and operation in ("Read", "Write") else set()
            found.append(Acl(acl.resource, (one,), tuple(sorted(left))))
    return [acl for acl in found if acl.operations]
