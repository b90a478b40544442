"""What was erased of a person, as hashes (docs/erasure.md).

A row that names no user may reach a sink after `forget`, and is written. The next `forget` of the
person finds by these hashes that it is theirs. They lie in the folder `_erased`, in one of the
person's: each note in a file that its content names, so those who add at once are in nobody's way,
and the same note made again is the same file.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import hashlib
import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sinks.locations import Location, make_folder, replace
from sinks.object_store import ObjectPath

FOLDER = "_erased"
EVENT, TASK, SESSION, WHOLE = "event", "task", "session", "whole"
"""Kinds of ids, each of a session: its own where others take part in it, or where it went whole."""
PLAN = "plan"
"""Another, of the user whose memory the plan changes instead of a session."""
AT_ONCE = 16
"""Notes that are read at a time."""


def hash_of(kind: str, tenant: str, session_id: str, one: str) -> str:
    """The hash of an id. Lengths keep apart what slashes in ids would make one."""
    parts = [kind, *(f"{len(part.encode())} {part}" for part in (tenant, session_id)), one]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def hash_sql(kind: str, tenant: str, session_id: str, one: str) -> str:
    """The same of four SQL expressions."""
    parts = [kind, *(f"strlen({part}) || ' ' || {part}" for part in (tenant, session_id)), one]
    between = " || ' ' || "
    return f"sha256({between.join(parts)})"


def noted(roots: Iterable[Location], tenant: str, user_id: str) -> set[str]:
    """What the notes on a person say, of these generations: one made of another has its rows."""
    files = [one for root in roots for one in _listed(_folder(root, tenant, user_id))]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        texts = threads.map(lambda file: file.read_text(encoding="utf-8"), files)
        return {one for text in texts for one in json.loads(text)["erased"]}


def note(root: Location, tenant: str, user_id: str, hashes: Iterable[str]) -> None:
    """Adds hashes. On disk, or in the store, when it returns. Raises OSError, StoreError."""
    ids = sorted(set(hashes))
    if not ids:
        return
    text = json.dumps({"erased": ids}) + "\n"
    folder = _folder(root, tenant, user_id)
    make_folder(folder)
    replace(folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json", text)


def note_unwritten(root: Location, events: Any) -> None:
    """Adds the events that a sink leaves out: it has them once, rows of their tasks may follow.
    Raises OSError, StoreError."""
    people: dict[tuple[str, str], set[str]] = {}
    named = events.select(["tenant", "user_id", "session_id", "event_id", "task_id"])
    for row in named.to_pylist():
        tenant, user_id, session_id, event_id, task_id = row.values()
        ids = ((EVENT, event_id), (TASK, task_id or event_id), (SESSION, session_id))
        people.setdefault((tenant, user_id), set()).update(
            hash_of(kind, tenant, session_id, one) for kind, one in ids
        )
    for (tenant, user_id), hashes in people.items():
        note(root, tenant, user_id, hashes)


def files(root: Location) -> Iterable[Location]:
    """All notes."""
    if isinstance(root, ObjectPath):
        return [root.at_key(one.removeprefix(f"{root.bucket}/")) for one in (root / FOLDER).sizes()]
    return (root / FOLDER).glob("*/*.json")


def _folder(root: Location, tenant: str, user_id: str) -> Location:
    return root / FOLDER / hashlib.sha256(f"{tenant}/{user_id}".encode()).hexdigest()


def _listed(folder: Location) -> Iterator[Location]:
    if isinstance(folder, ObjectPath):
        yield from (folder / one.rpartition("/")[2] for one in folder.sizes())
    else:
        yield from folder.glob("*.json")
