"""Stores erasure requests in a history's folder.

`_erasures/ID.json` contains the user, session or turn to erase and, once that is done, the receipt
instead of the id. An unreadable file is set aside: its request must be repeated.
"""

import time
from pathlib import Path
from typing import Any

import msgspec

from sinks.dead_letter_owners import GOES, STAYS, Letters
from sinks.history_root import replace

FOLDER = "_erasures"
BROKEN = ".broken"
"""Suffix of unreadable files instead of `.json`."""


class Erasure(msgspec.Struct, frozen=True):
    """Erasure of a user, a session, or the turn `event_id` in it; times in microseconds. A finished
    one (`finished_at`) has no ids."""

    id: str
    tenant: str
    requested_at: int
    user_id: str | None = None
    session_id: str | None = None
    event_id: str | None = None
    finished_at: int | None = None
    receipt: dict[str, Any] | None = None

    @property
    def target(self) -> "Target":
        """Target of the erasure; empty once it is done."""
        return self.tenant, self.user_id, self.session_id, self.event_id


Target = tuple[str, str | None, str | None, str | None]
"""Target of an erasure: tenant, and a user, a session, or a session and a turn of it."""
decode = msgspec.json.Decoder(Erasure).decode


def clear(
    root: Path,
    letters: Letters,
    target: Target,
    asked_at: int,
    receipt: dict[str, Any],
) -> int:
    """Completes the requests that an erasure, started at `asked_at`, has done; returns how many
    others may name its target. Unreadable requests that name it are deleted. Raises OSError."""
    remaining = 0
    for file in sorted((root / FOLDER).glob("[!.]*")):
        content = file.read_bytes()
        try:
            erasure = decode(content)
        except msgspec.MsgspecError:
            erasure = None
        if erasure is not None and erasure.finished_at is not None:
            continue
        if erasure is not None and erasure.target == target and erasure.requested_at <= asked_at:
            write(root, finished(erasure, receipt))
            continue
        verdict = letters.verdict(content, None, None, None)
        if erasure is None and verdict == GOES and letters.is_of_tenant(content):
            file.unlink()
        elif verdict != STAYS and (erasure is None or erasure.tenant == letters.tenant):
            remaining += 1
    return remaining


def finished(erasure: Erasure, receipt: dict[str, Any]) -> Erasure:
    """The finished request, without ids."""
    return msgspec.structs.replace(
        erasure, user_id=None, session_id=None, event_id=None,
        finished_at=time.time_ns() // 1000, receipt=receipt,
    )  # fmt: skip


def write(root: Path, erasure: Erasure) -> None:
    """Stores a request. Raises OSError."""
    text = msgspec.json.encode(erasure).decode()
    replace(root / FOLDER / f"{erasure.id}.json", text + "\n")
