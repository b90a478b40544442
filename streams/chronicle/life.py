"""The revisions of one state, or of another thing that has them, each with its evidence."""

from contextlib import suppress
from typing import Any

import msgspec

from sinks.kept import Source, kept
from sinks.locations import Location
from sinks.lookup import Lookup
from streams import listing

Json = dict[str, Any]


def _read(about: Lookup, entity_id: str) -> list[tuple[bytes]]:
    found = listing.why(about.root, about.tenant, entity_id)
    return [(msgspec.json.encode(one),) for one in found]


def _made(_entity: str, _about: Lookup, rows: list[tuple[bytes]]) -> list[Json]:
    return [msgspec.json.decode(row) for (row,) in rows]


LIFE: Source[list[Json]] = Source(
    "life", ("revisions", "events", "plans"), _read, _made, grows=False
)


def revisions(root: Location, tenant: str, entity_id: str) -> list[Json]:
    """As `streams.listing.why`; none of a cited turn that changed nothing."""
    with Lookup(root, tenant) as about, suppress(listing.ChangedNothing):
        return kept(about, LIFE, entity_id)
    return []
