"""How the asking stands beside a server or a worker: what /readyz says, and the log where that
changes."""

import logging
from collections.abc import Callable
from typing import Protocol

log = logging.getLogger(__name__)

FEW = 3
"""So many requests in a row that failed are reported."""
ASKED = "is asked"
AWAY = "does not answer"
USELESS = "gives no usable answer"
WAITS = "waits: the budget"


class Asked(Protocol):
    """What an extractor tells of its requests (streams.llm.maker.Extractor)."""

    @property
    def failed_in_row(self) -> int: ...

    @property
    def last_failure(self) -> str: ...

    @property
    def away(self) -> str | None: ...


def going(asked: Asked | None, waits: str | None) -> str:
    """While the model is asked, how that goes: the newest cause first. `waits`: for a budget."""
    if asked is not None and asked.away is not None:
        return f"{AWAY}{asked.away}"
    if waits is not None:
        return f"waits: {waits}"
    if asked is not None and asked.failed_in_row >= FEW:
        return f"{USELESS}: {asked.last_failure}"
    return ASKED


class Standing:
    """What ended or began the asking, and while it lasts how it goes, which `now` tells."""

    def __init__(self, about: str, now: Callable[[], str]) -> None:
        self._about = self._said = about
        self._now = now

    @property
    def words(self) -> str:
        """What ended the asking is newer than how it went."""
        return self._now() if self._about == ASKED else self._about

    def become(self, about: str) -> None:
        self._about = about
        self.tell()

    def tell(self) -> None:
        """Logs where it has changed: of answers that stay away or are useless the first cause, of
        a budget the first figures."""
        said, self._said = self._said, self.words
        if said == self._said or any(
            said.startswith(what) and self._said.startswith(what) for what in (AWAY, USELESS, WAITS)
        ):
            return
        log.log(
            logging.INFO if self._said == ASKED else logging.WARNING, "the model %s", self._said
        )
