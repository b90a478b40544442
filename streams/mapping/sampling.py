"""Maps the first events of a topic or file, for `turnfold kafka map`."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from streams.folds.effects import Input
from streams.mapping.envelopes import Message
from streams.mapping.mapper import Place, Source
from streams.pipeline.decode import Dead

Event = tuple[bytes | None, Place, Message]
_decode = msgspec.json.Decoder().decode


class Sample(NamedTuple):
    """Counts of events by outcome, and the first of each."""

    counts: dict[str, int]
    results: list[dict[str, Any]]
    dead: list[dict[str, Any]]
    skipped: list[str]


def sample(source: Source, events: Iterable[Event], limit: int) -> Sample:
    """Maps events; keeps the first `limit` of each outcome."""
    counts = {"read": 0, "mapped": 0, "dead": 0, "skipped": 0, "withheld": 0}
    outcome = Sample(counts, [], [], [])
    for value, place, message in events:
        counts["read"] += 1
        mapped = source.map(value, place, message)
        position = f"{place[0]}:{place[1]}:{place[2]}"
        if isinstance(mapped.found, Input):
            counts["mapped"] += 1
            outcome.results.append({"place": position, "record": _decode(mapped.line)})
        elif isinstance(mapped.found, Dead):
            counts["dead"] += 1
            letter = mapped.found
            outcome.dead.append(
                {"place": position, "reason": letter.reason, "detail": letter.detail}
            )
        elif mapped.found == "skipped":
            counts["skipped"] += 1
            outcome.skipped.append(position)
        else:
            counts["withheld"] += 1
        for group in outcome[1:]:
            del group[limit:]
    return outcome
