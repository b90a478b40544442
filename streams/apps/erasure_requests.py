"""The requests to erase somebody that a history's folder keeps.

`_erasures/ID.json` says which user, session or turn is to be erased and, once that is done, the
receipt in place of the name. A file that cannot be read is set aside: what it asked for is asked
for again.
"""

import time
from pathlib import Path
from typing import Any

import msgspec

from sinks.letters import GOES, STAYS, Letters
from sinks.root import replace

FOLDER = "_erasures"
ASIDE = ".broken"
"""In place of `.json`: a file that could not be read."""


class Erasure(msgspec.Struct, frozen=True):
    """One erasure, of a user, of a session or of the turn `event_id` in it; times in microseconds.
    Once it is done (`finished_at`) it names none."""

    id: str
    tenant: str
    requested_at: int
    user_id: str | None = None
    session_id: str | None = None
    event_id: str | None = None
    finished_at: int | None = None
    receipt: dict[str, Any] | None = None

    @property
    def whose(self) -> "Whose":
        """What it is still to erase."""
        return self.tenant, self.user_id, self.session_id, self.event_id


Whose = tuple[str, str | None, str | None, str | None]
"""What an erasure is of: tenant, and a user, a session, or a session and a turn of it."""
decode = msgspec.json.Decoder(Erasure).decode


def clear(
    root: Path,
    letters: Letters,
    whose: Whose,
    asked_at: int,
    receipt: dict[str, Any],
) -> int:
    """Completes the requests that an erasure, begun at `asked_at`, has done; how many of the others
    may name whom it erased. One that cannot be read goes if it does. Raises OSError."""
    stay = 0
    for file in sorted((root / FOLDER).glob("[!.]*")):
        content = file.read_bytes()
        try:
            found = decode(content)
        except msgspec.MsgspecError:
            found = None
        if found is not None and found.finished_at is not None:
            continue
        if found is not None and found.whose == whose and found.requested_at <= asked_at:
            write(root, ended(found, receipt))
            continue
        verdict = letters.verdict(content, None, None, None)
        if found is None and verdict == GOES and letters.is_of_tenant(content):
            file.unlink()
        elif verdict != STAYS and (found is None or found.tenant == letters.tenant):
            stay += 1
    return stay


def ended(erasure: Erasure, receipt: dict[str, Any]) -> Erasure:
    """The request once it is done: it names nobody."""
    return msgspec.structs.replace(
        erasure, user_id=None, session_id=None, event_id=None,
        finished_at=time.time_ns() // 1000, receipt=receipt,
    )  # fmt: skip


def write(root: Path, erasure: Erasure) -> None:
    """Keeps the request. Raises OSError."""
    text = msgspec.json.encode(erasure).decode()
    replace(root / FOLDER / f"{erasure.id}.json", text + "\n")
