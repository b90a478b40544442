"""The marker: one reserved changelog key that says where a lane stands.

See docs/kafka-tier.md, "The marker".

Every transaction writes it together with the rows it belongs to, into the same partition, so rows
and marker cannot part. Restore goes by it; the group's committed offset is what tools look at.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.kafka.transport import set_aside
from streams.pipeline.row_formats import CURRENT, Reached, check

ANEW = (
    "fold the topics anew under another app id, or use the version that wrote them; see "
    'docs/upgrades.md, "Rows that are too old"'
)
MARKER_KEY = b"\x00marker"
"""No row of a table may have this key."""


class Marker(NamedTuple):
    """`offsets`: the next offset to read, by source topic. `note`: the processor's (`Batch`).
    `log`: an id that all markers of one changelog partition share; another topic of the same name
    has another. `partitions`: how many partitions the rows were folded with. `reached`: how the
    rows are kept."""

    offsets: Mapping[str, int]
    note: Mapping[str, Any]
    log: str
    partitions: int
    reached: Reached = CURRENT

    @property
    def ahead(self) -> set_aside.Ahead | None:
        """What is folded beyond the offsets, while tenants are behind."""
        return set_aside.of_note(self.note)

    def has(self, topic: str, offset: int, tenant: str) -> bool:
        """Whether a tenant's record is folded."""
        if offset < self.offsets.get(topic, 0):
            return True
        ahead = self.ahead
        return ahead is not None and ahead.has(topic, offset, tenant)

    def encode(self) -> bytes:
        kept = {
            "offsets": self.offsets, "note": self.note, "log": self.log,
            "partitions": self.partitions, "format": self.reached.format,
        }  # fmt: skip
        if self.reached.after is not None:
            kept["after"] = self.reached.after
        return json.dumps(kept).encode()


def decode(value: bytes | None) -> Marker:
    """The marker of a changelog record.

    Raises:
        ValueError: no marker; somebody else wrote into the changelog.
        ConfigurationError: the rows are those of a version that kept them otherwise, and cannot be
            upgraded.
    """
    try:
        kept = json.loads(value or b"")
        reached = Reached(int(kept["format"]), kept.get("after"))
        check("changelog: its rows", reached, ANEW)
        offsets = {str(k): int(v) for k, v in kept["offsets"].items()}
        partitions = int(kept["partitions"])
        note, log = dict(kept["note"]), str(kept["log"])
        return Marker(offsets, note, log, partitions, reached)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"changelog: key {MARKER_KEY!r} holds {value!r}, not a marker") from error


@dataclass(slots=True)
class Standing:
    """Where a lane's table stands: the changelog's offset after its newest row, and the newest
    marker with its offset there. `written`: when a store on disk had it, in seconds since 1970."""

    position: int = 0
    offsets: dict[str, int] = field(default_factory=dict)
    marker: Marker | None = None
    marker_at: int = -1
    written: float = 0.0

    def saw(self, at: int, marker: Marker) -> None:
        """The transaction with that marker is in the table."""
        self.marker, self.marker_at = marker, at
        self.position = max(self.position, at + 1)
