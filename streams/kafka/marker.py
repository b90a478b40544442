"""The marker: one reserved changelog key that says where a lane stands (design 05).

Every transaction writes it together with the rows it belongs to, into the same partition, so rows
and marker cannot part. Restore goes by it; the group's committed offset is what tools look at.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

MARKER_KEY = b"\x00marker"
"""No row of a table may have this key."""


class Marker(NamedTuple):
    """`offsets`: the next offset to read, by source topic. `note`: the processor's (`Batch`)."""

    offsets: Mapping[str, int]
    note: Mapping[str, Any]

    def encode(self) -> bytes:
        return json.dumps({"offsets": self.offsets, "note": self.note}).encode()


def decode(value: bytes | None) -> Marker:
    """The marker of a changelog record.

    Raises:
        ValueError: no marker; somebody else wrote into the changelog.
    """
    try:
        kept = json.loads(value or b"")
        return Marker({str(k): int(v) for k, v in kept["offsets"].items()}, dict(kept["note"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"changelog: key {MARKER_KEY!r} holds {value!r}, not a marker") from error
