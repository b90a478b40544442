"""How the asking stands, in words: what /readyz says, and the log where that changes."""

import logging

log = logging.getLogger(__name__)

ASKED = "is asked"
AWAY = "does not answer"
USELESS = "gives no usable answer"
WAITS = "waits: the budget"
SAME = (AWAY, USELESS, WAITS)
"""Of these the first cause is logged, or the first figures."""


class Standing:
    """Logs each change once."""

    def __init__(self, words: str) -> None:
        self._last = words

    def tell(self, words: str) -> None:
        """`words`: how it stands now."""
        last, self._last = self._last, words
        if words == last or any(last.startswith(one) and words.startswith(one) for one in SAME):
            return
        log.log(logging.INFO if words == ASKED else logging.WARNING, "the model %s", words)
