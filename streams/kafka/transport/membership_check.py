"""Health check of containers: is this machine's worker a member of its consumer group?

    python -m streams.kafka.transport.membership_check GROUP

It queries the broker, not the process. Exit codes: 0 yes, 5 no, 3 invalid settings.
"""

import socket
import sys

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import NoError, for_code

from streams import event_loop
from streams.errors import TurnfoldError, Unreachable
from streams.kafka.client import acl_errors
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings


async def check(settings: KafkaSettings, group: str) -> int:
    """Number of group members on this machine.

    Raises Unreachable if there is none, and what `connected` raises.
    """
    async with connected(settings) as admin:
        members = await _members(admin, group)
    address = _own_address(settings)
    count = sum(member == address for member in members)
    if not count:
        raise Unreachable(
            f"group {group}: none of its {len(members)} members is on this machine ({address}); "
            "is the worker running, and in this group?"
        )
    return count


async def _members(admin: AIOKafkaAdminClient, group: str) -> list[str]:
    """IP addresses of the group's members, as seen by the broker."""
    (reply,) = await admin.describe_consumer_groups([group])
    addresses = []
    for code, _, _, _, _, members, *_ in reply.groups:
        if (error := for_code(code)) is not NoError:
            raise acl_errors.of(error()) or Unreachable(f"group {group}: {error.__name__}")
        addresses += [member[2].lstrip("/") for member in members]
    return addresses


def _own_address(settings: KafkaSettings) -> str:
    """This machine's address on the route to the broker."""
    for address in settings.addresses:
        try:
            with socket.create_connection(address, timeout=5) as connection:
                return str(connection.getsockname()[0])
        except OSError:
            continue
    raise Unreachable(f"Kafka: {settings.bootstrap} cannot be reached")


def main() -> int:
    """Returns the exit code; writes one line to stdout or stderr."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m streams.kafka.transport.membership_check GROUP\n")
        return 2
    try:
        members = event_loop.run(check(KafkaSettings.load(), sys.argv[1]))
    except TurnfoldError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"{members} member(s)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
