"""The marker: a reserved changelog key with a lane's position.

See docs/kafka-tier.md, "The marker".

Every transaction writes the marker together with its rows into the same partition, so they are
always consistent. Restore uses the marker; the group's committed offset is for tools.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams.kafka.transport import throttled_tenants
from streams.pipeline.row_formats import CURRENT, Reached, check

FOLD_AGAIN = (
    "fold the topics again under another app id, or use the version that wrote them; see "
    'docs/upgrades.md, "Rows that are too old"'
)
MARKER_KEY = b"\x00marker"
"""Reserved: no table row may use this key."""


class Marker(NamedTuple):
    """`offsets`: next offset to read, by source topic. `note`: the processor's (`Batch`). `log`: id
    shared by all markers of one changelog partition; a recreated topic gets another. `partitions`:
    number of partitions at fold time. `reached`: format of the rows."""

    offsets: Mapping[str, int]
    note: Mapping[str, Any]
    log: str
    partitions: int
    reached: Reached = CURRENT

    @property
    def ahead(self) -> throttled_tenants.Ahead | None:
        """Records folded beyond the offsets, while tenants are behind."""
        return throttled_tenants.of_note(self.note)

    def has(self, topic: str, offset: int, tenant: str) -> bool:
        """Whether a tenant's record is folded."""
        if offset < self.offsets.get(topic, 0):
            return True
        ahead = self.ahead
        return ahead is not None and ahead.has(topic, offset, tenant)

    def encode(self) -> bytes:
        fields = {
            "offsets": self.offsets, "note": self.note, "log": self.log,
            "partitions": self.partitions, "format": self.reached.format,
        }  # fmt: skip
        if self.reached.after is not None:
            fields["after"] = self.reached.after
        return json.dumps(fields).encode()


def decode(value: bytes | None) -> Marker:
    """Decodes the marker of a changelog record.

    Raises:
        ValueError: not a marker; another program wrote into the changelog.
        ConfigurationError: the rows have the format of another version and cannot be upgraded.
    """
    try:
        fields = json.loads(value or b"")
        reached = Reached(int(fields["format"]), fields.get("after"))
        check("changelog: its rows", reached, FOLD_AGAIN)
        offsets = {str(k): int(v) for k, v in fields["offsets"].items()}
        partitions = int(fields["partitions"])
        note, log = dict(fields["note"]), str(fields["log"])
        return Marker(offsets, note, log, partitions, reached)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"changelog: key {MARKER_KEY!r} holds {value!r}, not a marker") from error


@dataclass(slots=True)
class TablePosition:
    """Position of a lane's table: the changelog offset after its newest row, and the newest marker
    with its offset. `written`: time of the last write to disk, in seconds since 1970."""

    position: int = 0
    offsets: dict[str, int] = field(default_factory=dict)
    marker: Marker | None = None
    marker_at: int = -1
    written: float = 0.0

    def saw(self, offset: int, marker: Marker) -> None:
        """The table has the transaction of this marker."""
        self.marker, self.marker_at = marker, offset
        self.position = max(self.position, offset + 1)
