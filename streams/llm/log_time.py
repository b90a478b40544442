"""What time it is by the clock of a log, for whoever waits until its turns are idle."""

import time


class LogTime:
    """The time now, by the log's clock. The machine's clock may be behind it: another machine's
    clock was ahead, or this one has stepped back. Then it is the time of the newest turn, and what
    has passed since that was first seen; else a group would wait until the clock has come so far.
    """

    def __init__(self) -> None:
        self._newest = 0
        self._seen_at = 0.0

    def now(self, newest: int) -> int:
        """Microseconds; `newest`: when the newest turn was recorded."""
        if newest != self._newest:
            self._newest, self._seen_at = newest, time.monotonic()
        passed = int((time.monotonic() - self._seen_at) * 1e6)
        return max(time.time_ns() // 1000, newest + passed if newest else 0)
