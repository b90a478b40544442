"""Logs one line when a broker is lost and one when it is back, instead of the libraries' errors.

aiokafka retries every 100 ms and logs three errors per attempt: thousands of lines in half a
minute. This module tracks the state of each address (a connection counts once the broker has
responded on it) and drops lines that only repeat it.
"""

import logging
import os
import re
from collections.abc import Callable
from time import monotonic
from typing import Any

from aiokafka.conn import AIOKafkaConnection, CloseReason

from streams.observability.logs import LIBRARIES

log = logging.getLogger(__name__)

SILENT = "TURNFOLD_OUTAGES_TOLD_BY"
"""Set by `turnfold dev` for all its parts but one: they share a terminal."""
DOUBT = 2.0
"""Seconds to reconnect before the broker counts as lost."""
SETTLES = 15.0
"""Seconds after a change in which groups and lanes recover."""
OF_CONNECTIONS = re.compile(
    "connect|NodeNotReady|metadata|oordinator|eartbeat|NotLeader|RequestTimedOut|Timeout"
)
"""Library lines about connections, dropped while other brokers respond."""

Address = tuple[str, int]


class Outages(logging.Filter):
    """State of each address. As a filter of a log handler it drops lines that only repeat it: the
    libraries' lines, and ours marked `logs.OF_BROKER`."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._known: set[Address] = set()
        self._lost: dict[Address, float] = {}
        self._quiet_until = 0.0
        self._silent = SILENT in os.environ

    def answered(self, address: Address) -> None:
        """A connection was made, and the broker responded on it."""
        self._known.add(address)
        since = self._lost.pop(address, None)
        if since is not None:
            self._quiet(SETTLES)
            self._say("the broker at %s:%d is back after %.0f s", *address, self._clock() - since)

    def broke(self, address: Address) -> None:
        """A connection broke; the next attempt decides whether the broker is lost."""
        if address in self._known:
            self._quiet(DOUBT)

    def failed(self, address: Address, error: BaseException) -> None:
        """A connection attempt failed. Logged once, and only if the cluster has responded before;
        otherwise the caller reports it."""
        if self._known and address not in self._lost:
            self._known.add(address)
            self._lost[address] = self._clock()
            self._quiet(SETTLES)
            self._say("lost the broker at %s:%d: %s; retrying", *address, reason(error))

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.CRITICAL:
            return True
        of_library = record.name.partition(".")[0] in LIBRARIES
        if not of_library and not getattr(record, "of_broker", False):
            return True
        if self._clock() < self._quiet_until or (self._lost and self._lost.keys() >= self._known):
            return False
        return not (of_library and self._lost and OF_CONNECTIONS.search(record.getMessage()))

    def _quiet(self, seconds: float) -> None:
        self._quiet_until = max(self._quiet_until, self._clock() + seconds)

    def _say(self, text: str, *arguments: Any) -> None:
        if not self._silent:
            log.warning(text, *arguments)


def reason(error: BaseException) -> str:
    """Short reason of a failed connection."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    name = type(error).__name__
    return str(error).removeprefix(f"{name}: ") or name


def watch(verbose: bool = False) -> None:
    """Watches the connections of all aiokafka clients in this process, and filters the log's
    handlers unless `verbose`. Call it once per command."""
    outages = Outages()
    connect, close = AIOKafkaConnection.connect, AIOKafkaConnection.close

    async def connect_watched(self: Any) -> Any:
        address = (self.host, self.port)
        try:
            streams = await connect(self)
        except Exception as error:
            outages.failed(address, error)
            raise
        outages.answered(address)
        return streams

    def close_watched(self: Any, reason: Any = None, exc: Any = None) -> Any:
        if reason in (CloseReason.CONNECTION_BROKEN, CloseReason.CONNECTION_TIMEOUT):
            outages.broke((self.host, self.port))
        return close(self, reason, exc)

    AIOKafkaConnection.connect = connect_watched
    AIOKafkaConnection.close = close_watched
    for handler in [] if verbose else logging.getLogger().handlers:
        handler.addFilter(outages)
