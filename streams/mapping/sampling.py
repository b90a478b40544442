"""What becomes of the first events of a topic or file: `turnfold kafka map`."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from streams.folds.rows import Input
from streams.mapping.envelopes import Message
from streams.mapping.mapper import Place, Source
from streams.pipeline.decode import Dead

Event = tuple[bytes | None, Place, Message]
_decode = msgspec.json.Decoder().decode


class Sample(NamedTuple):
    """How many events were looked at, what they would end as, and the first of each."""

    counts: dict[str, int]
    results: list[dict[str, Any]]
    dead: list[dict[str, Any]]
    skipped: list[str]


def sample(source: Source, events: Iterable[Event], most: int) -> Sample:
    """The first `most` of each ending."""
    counts = {"read": 0, "mapped": 0, "dead": 0, "skipped": 0, "withheld": 0}
    found = Sample(counts, [], [], [])
    for value, place, message in events:
        counts["read"] += 1
        mapped = source.map(value, place, message)
        at = f"{place[0]}:{place[1]}:{place[2]}"
        if isinstance(mapped.found, Input):
            counts["mapped"] += 1
            found.results.append({"place": at, "record": _decode(mapped.line)})
        elif isinstance(mapped.found, Dead):
            counts["dead"] += 1
            letter = mapped.found
            found.dead.append({"place": at, "reason": letter.reason, "detail": letter.detail})
        elif mapped.found == "skipped":
            counts["skipped"] += 1
            found.skipped.append(at)
        else:
            counts["withheld"] += 1
        for some in found[1:]:
            del some[most:]
    return found
