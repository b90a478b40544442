"""Records that must end as dead letters: step 1's bad lines, and what only Kafka can get wrong."""

from collections.abc import Iterator

from streams.kafka.agents.routing import route
from streams.topology import INPUT_BYTES
from tests.command import turn
from tests.contract import test_bad_input as lines
from tests.kafka import test_worker as messages
from tests.kafka.working import Given

SESSION = b"default/s"
KNOWN = [lines.GOOD["good"], messages.encode(turn("ce"))]
"""Good turns; some of the bad records contradict them."""


def refused() -> Iterator[tuple[str, Given]]:
    """The reason a record must be refused for, and the record. Those that no topic takes for
    their size are left out: `turnfold kafka produce` does not send them."""
    yield from messages.BAD
    for bad in lines.BAD.values():
        if len(bad.line) < INPUT_BYTES - 1_000:
            yield bad.reason, _as_sent(bad.line)


def _as_sent(line: bytes) -> Given:
    """By a producer that looks at nothing but the type."""
    way = route(line)
    if way is None or not way.is_known or way.key is None:
        return "turns", SESSION, line, ()
    return way.topic, way.key, line, ()
