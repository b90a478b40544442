"""Status texts of the model extractor for /readyz and the log."""

import logging

log = logging.getLogger(__name__)

ASKED = "is asked"
AWAY = "does not answer"
USELESS = "gives no usable answer"
WAITS = "waits: the budget"
SAME = (AWAY, USELESS, WAITS)
"""Statuses with details: a change of the details alone is not logged."""


class StatusLog:
    """Logs each change of the status."""

    def __init__(self, status: str) -> None:
        self._last = status

    def update(self, status: str) -> None:
        """Logs the current status if it has changed."""
        last, self._last = self._last, status
        if status == last or any(
            last.startswith(prefix) and status.startswith(prefix) for prefix in SAME
        ):
            return
        log.log(logging.INFO if status == ASKED else logging.WARNING, "the model %s", status)
