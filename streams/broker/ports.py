"""Free ports on the loopback."""

import random
import socket

from streams.broker.config import HOST
from streams.errors import Unreachable

# Below the range that outgoing connections take their ports from: there a client that keeps
# trying a stopped broker's port may be given just that port, and then talks to itself.
RANGE = range(15000, 32000)


def free(count: int) -> list[int]:
    """So many different ports on which nothing listens."""
    tried = random.sample(RANGE, k=min(len(RANGE), 50 * count))
    found = [port for port in tried if is_free(port)][:count]
    if len(found) < count:
        raise Unreachable(f"ports: no {count} free ports on {HOST} in {RANGE}")
    return found


def is_free(port: int) -> bool:
    """Whether a server can listen on the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the broker does
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def check_free(ports: list[int]) -> None:
    """Raises Unreachable naming the first port that is taken."""
    for port in ports:
        if not is_free(port):
            raise Unreachable(
                f"port {port} on {HOST} is taken; stop what listens there or choose another port"
            )
