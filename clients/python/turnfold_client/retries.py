"""Retries of a request: after which outcomes, and how long after, without I/O."""

import random
from typing import Any

import httpx

from turnfold_client import errors
from turnfold_client.calls import Call

RETRIED = frozenset({429, 503})
FIRST_WAIT, LONGEST_WAIT = 0.1, 30.0
"""Seconds between attempts, where the server names none."""


class Attempts:
    """The attempts of one call. Each may be repeated: reads, and writes under a key or ids."""

    def __init__(self, retries: int) -> None:
        self._left = retries
        self._wait = FIRST_WAIT

    def wait(self, call: Call[Any], outcome: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds until the next attempt, or None if this outcome is final.

        Raises UnreachableError if the server did not answer the last attempt.
        """
        if isinstance(outcome, httpx.TransportError):
            asked = None
            if not self._left:
                raise errors.UnreachableError(_unanswered(call, outcome)) from outcome
        elif outcome.status_code in RETRIED - call.gives.keys() and self._left:
            asked = retry_after(outcome)
        else:
            return None
        self._left -= 1
        wait, self._wait = self._wait * random.uniform(0.5, 1), 2 * self._wait
        return min(wait if asked is None else asked, LONGEST_WAIT)


def _unanswered(call: Call[Any], error: httpx.TransportError) -> str:
    at = error.request.url
    return (
        f"{call.method} {call.path}: no answer from {at.scheme}://{at.netloc.decode()} "
        f"({str(error) or type(error).__name__}): check the address, and that `turnfold serve` "
        "runs there; then call again"
    )


def retry_after(response: httpx.Response) -> float | None:
    """The seconds of `Retry-After`, or None if it is missing or a date."""
    seconds = response.headers.get("retry-after", "")
    return float(seconds) if seconds.isdecimal() else None
