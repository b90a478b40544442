"""Hashes of the ids that were erased of a person (docs/erasure.md).

A row without user may reach a sink after `forget`, and is written. The next `forget` of the person
recognises it by these hashes. They are stored in `_erased`, in one folder per person. Each note is
a file named by the hash of its content: concurrent writers do not conflict, and repeated notes
are the same file.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sinks.locations import Location, files_in, make_folder, replace
from sinks.object_store import ObjectPath

FOLDER = "_erased"
EVENT, TASK, SESSION, WHOLE = "event", "task", "session", "whole"
"""Kinds of ids in a session. SESSION: the session itself, shared with other users; WHOLE: the
session itself, erased completely."""
PLAN = "plan"
"""Kind of a write plan's id, in the user that it changes instead of a session."""
AT_ONCE = 16
"""Notes that are read in parallel."""


def hash_of(kind: str, tenant: str, session_id: str, id: str) -> str:
    """The hash of an id. Lengths keep ids with slashes distinct."""
    parts = [kind, *(f"{len(part.encode())} {part}" for part in (tenant, session_id)), id]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def hash_sql(kind: str, tenant: str, session_id: str, id: str) -> str:
    """SQL of `hash_of`, from SQL expressions."""
    parts = [kind, *(f"strlen({part}) || ' ' || {part}" for part in (tenant, session_id)), id]
    between = " || ' ' || "
    return f"sha256({between.join(parts)})"


def read_hashes(roots: Iterable[Location], tenant: str, user_id: str) -> set[str]:
    """All hashes of a person in these generations: a rebuilt one has rows of its source."""
    places = (files_in(_folder(root, tenant, user_id)) for root in roots)
    files = [file for place in places for file in place if file.name.endswith(".json")]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        texts = threads.map(lambda file: file.read_text(encoding="utf-8"), files)
        return {hash for text in texts for hash in json.loads(text)["erased"]}


def note(root: Location, tenant: str, user_id: str, hashes: Iterable[str]) -> None:
    """Adds hashes; they are durable when it returns. Raises OSError, StoreError."""
    ids = sorted(set(hashes))
    if not ids:
        return
    text = json.dumps({"erased": ids}) + "\n"
    folder = _folder(root, tenant, user_id)
    make_folder(folder)
    replace(folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json", text)


def note_unwritten(root: Location, events: Any) -> None:
    """Adds the events that a sink leaves out, as rows of their tasks may follow. Raises OSError,
    StoreError."""
    people: dict[tuple[str, str], set[str]] = {}
    columns = events.select(["tenant", "user_id", "session_id", "event_id", "task_id"])
    for row in columns.to_pylist():
        tenant, user_id, session_id, event_id, task_id = row.values()
        ids = ((EVENT, event_id), (TASK, task_id or event_id), (SESSION, session_id))
        people.setdefault((tenant, user_id), set()).update(
            hash_of(kind, tenant, session_id, id) for kind, id in ids
        )
    for (tenant, user_id), hashes in people.items():
        note(root, tenant, user_id, hashes)


def files(root: Location) -> Iterable[Location]:
    """The files of all notes."""
    if isinstance(root, ObjectPath):
        return [
            root.at_key(address.removeprefix(f"{root.bucket}/"))
            for address in (root / FOLDER).sizes()
        ]
    return (root / FOLDER).glob("*/*.json")


def _folder(root: Location, tenant: str, user_id: str) -> Location:
    return root / FOLDER / hashlib.sha256(f"{tenant}/{user_id}".encode()).hexdigest()
