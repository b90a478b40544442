"""Circuit breaker for a failing endpoint.

closed -> open after `failures` failures in a row -> half-open after `seconds`: one request probes;
its success closes the circuit, its failure opens it again for twice the time, up to eight times.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Literal

DOUBLED = 3  # maximum
LOOK_EVERY = 0.2  # seconds


class Breaker:
    """Shared by all requests of a process. `opened` counts the openings since the last success."""

    def __init__(
        self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.opened = 0
        self._limit = failures
        self._seconds = seconds
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._probing = False

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        if not self.opened:
            return "closed"
        return "half-open" if self._probing or self._clock() >= self._until else "open"

    def may_pass(self) -> bool:
        """Whether a request may be sent now; in the half-open state, one may."""
        if self.state == "closed":
            return True
        if self.state == "open" or self._probing:
            return False
        self._probing = True
        return True

    async def wait(self) -> None:
        """Waits until a request may be sent."""
        while not self.may_pass():
            await asyncio.sleep(min(LOOK_EVERY, max(0.01, self._until - self._clock())))

    def succeeded(self) -> None:
        """Closes the circuit: the endpoint answered."""
        self.opened, self._failures, self._probing = 0, 0, False

    def failed(self) -> None:
        """Counts a failure; may open the circuit."""
        self._failures += 1
        if self._probing or (not self.opened and self._failures >= self._limit):
            self._until = self._clock() + self._seconds * 2 ** min(self.opened, DOUBLED)
            self.opened += 1
            self._probing = False

    def gave_up(self) -> None:
        """A request was cancelled: another one may probe."""
        self._probing = False
