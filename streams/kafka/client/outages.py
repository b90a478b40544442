"""One line when a broker is lost and one when it is back, in place of what the libraries say.

aiokafka tries again every 100 ms, and logs three errors for each try: with a broker away for half a
minute that is thousands of lines. Here the state of each address is known (a connection counts once
the broker has answered on it), and lines that only repeat it are left out.
"""

import logging
import os
import re
from collections.abc import Callable
from time import monotonic
from typing import Any

from aiokafka.conn import AIOKafkaConnection, CloseReason

from streams.observing.logs import LIBRARIES

log = logging.getLogger(__name__)

SILENT = "TURNFOLD_OUTAGES_TOLD_BY"
"""Set by `turnfold dev` for its parts but one: they share a terminal."""
DOUBT = 2.0
"""Seconds that a broken connection has to be made again before the broker counts as lost."""
SETTLES = 15.0
"""Seconds after a change in which groups and lanes find together again."""
OF_CONNECTIONS = re.compile(
    "connect|NodeNotReady|metadata|oordinator|eartbeat|NotLeader|RequestTimedOut|Timeout"
)
"""Of the libraries' lines those that tell of connections, where other brokers still answer."""

Address = tuple[str, int]


class Outages(logging.Filter):
    """What is known of each address. As a filter of a log's handler it leaves out lines that say
    no more than that: those of the libraries, and ours that are marked `logs.OF_BROKER`."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._known: set[Address] = set()
        self._lost: dict[Address, float] = {}
        self._quiet_until = 0.0
        self._silent = SILENT in os.environ

    def answered(self, at: Address) -> None:
        """A connection was made, and the broker has answered on it."""
        self._known.add(at)
        since = self._lost.pop(at, None)
        if since is not None:
            self._quiet(SETTLES)
            self._say("the broker at %s:%d is back after %.0f s", *at, self._clock() - since)

    def broke(self, at: Address) -> None:
        """A connection broke; another try will tell whether the broker is lost."""
        if at in self._known:
            self._quiet(DOUBT)

    def failed(self, at: Address, error: BaseException) -> None:
        """No connection could be made. Said once, and only of a cluster that has answered before:
        else the caller reports it."""
        if self._known and at not in self._lost:
            self._known.add(at)
            self._lost[at] = self._clock()
            self._quiet(SETTLES)
            self._say("lost the broker at %s:%d: %s; retrying", *at, reason(error))

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is to be shown."""
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

    def _say(self, text: str, *given: Any) -> None:
        if not self._silent:
            log.warning(text, *given)


def reason(error: BaseException) -> str:
    """Why a connection could not be made, in a few words."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    name = type(error).__name__
    return str(error).removeprefix(f"{name}: ") or name


def watch(verbose: bool = False) -> None:
    """From now on the connections of all aiokafka clients in this process are watched, and the
    log's handlers leave out what only repeats their state, unless `verbose`. For a command, once.
    """
    outages = Outages()
    connect, close = AIOKafkaConnection.connect, AIOKafkaConnection.close

    async def connect_watched(self: Any) -> Any:
        at = (self.host, self.port)
        try:
            streams = await connect(self)
        except Exception as error:
            outages.failed(at, error)
            raise
        outages.answered(at)
        return streams

    def close_watched(self: Any, reason: Any = None, exc: Any = None) -> Any:
        if reason in (CloseReason.CONNECTION_BROKEN, CloseReason.CONNECTION_TIMEOUT):
            outages.broke((self.host, self.port))
        return close(self, reason, exc)

    AIOKafkaConnection.connect = connect_watched
    AIOKafkaConnection.close = close_watched
    for handler in [] if verbose else logging.getLogger().handlers:
        handler.addFilter(outages)
