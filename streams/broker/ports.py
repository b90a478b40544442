"""Finds free ports on the loopback."""

import random
import socket

from streams.broker.config import HOST
from streams.errors import Unreachable

# Below the range of ephemeral ports: there a client that keeps trying a stopped broker's port
# may get that port as its own, and connect to itself.
RANGE = range(15000, 32000)


def free(count: int) -> list[int]:
    candidates = random.sample(RANGE, k=min(len(RANGE), 50 * count))
    free_ports = [port for port in candidates if is_free(port)][:count]
    if len(free_ports) < count:
        raise Unreachable(f"ports: no {count} free ports on {HOST} in {RANGE}")
    return free_ports


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the broker does
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def check_free(ports: list[int]) -> None:
    """Raises Unreachable with the first taken port."""
    for port in ports:
        if not is_free(port):
            raise Unreachable(
                f"port {port} on {HOST} is taken; stop its process or choose another port"
            )
