"""Forgotten users and sessions of a history that sinks continue to write (docs/guarantees.md).

A sink may lag: its topics can still contain rows of records from before `forget`. This module
stores hashes of owners and a time each: their rows up to that time are no longer written; later
rows are.

A folder has one file, replaced under the history's lock. In an object store writers are concurrent:
each creates a separate object with the next free number.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from schemas.generated.history import Affect, Event, Signal
from sinks import erased_ids, sequence_objects
from sinks.generation import FOLDER
from sinks.history_root import is_marked, replace
from sinks.locations import Location, files_in
from sinks.object_store import ObjectPath
from sinks.row_owners import USERS, owners, row_owner
from sinks.tables import TIMESTAMP

FILE = "_forgotten.json"
NOTES = "_forgotten"
"""Folder of notes in an object store: `00000001.json`, … A copy in a folder also has them."""
UNFINISHED = "_forgetting"
AT_ONCE = 16
"""Notes that are read in parallel."""
OF_SPEAKERS = frozenset({Event.table, Signal.table, Affect.table})
"""Tables with rows that belong only to the user they name: other users may continue a session that
was erased with one person."""
OwnerKey = tuple[str, str]
"""tenant, id"""


class Forgotten:
    """Hashes of a history or of one of its generations, which also uses the history's. `notes`: how
    many notes of the place itself were read."""

    def __init__(self, root: Location) -> None:
        self._root = root
        self._until: dict[str, dict[str, int]] = {"users": {}, "sessions": {}}
        home = root.parent.parent
        if root.parent.name == FOLDER and is_marked(home):
            self._read(home)
        self.notes = self._read(root)

    def _read(self, root: Location) -> int:
        """Reads the notes of a place; returns their number."""
        self._take(_read(root / FILE))
        names = sorted(file.name for file in files_in(root / NOTES))
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for text in threads.map(lambda name: _read(root / NOTES / name), names):
                self._take(text)
        return len(names)

    def refresh(self) -> None:
        """Reads notes that other writers added; in a folder there are none, as the caller has its
        lock."""
        if isinstance(self._root, ObjectPath):
            while (text := _read(self._next())) is not None:
                self._take(text)
                self.notes += 1

    def add(self, users: Iterable[OwnerKey], sessions: Iterable[OwnerKey], until: int) -> None:
        """Forgets owners up to a time in microseconds; durable when it returns."""
        note = {
            kind: {_hash("/".join(key)): until for key in owners}
            for kind, owners in (("users", users), ("sessions", sessions))
        }
        text = json.dumps(note) + "\n"
        self._take(text)
        if not isinstance(self._root, ObjectPath):
            _write(self._root / FILE, self._until)
            return
        while not self._next().create_text(text):
            self.refresh()  # after a lost reply this reads our own note, and adds it twice
        self.notes += 1

    def _next(self) -> ObjectPath:
        """The first note that this process has not seen."""
        assert isinstance(self._root, ObjectPath)
        return self._root / NOTES / sequence_objects.name_of(self.notes + 1)

    def _take(self, text: str | None) -> None:
        noted: dict[str, dict[str, int]] = json.loads(text) if text is not None else {}
        for kind, times in noted.items():
            latest = self._until[kind]
            latest.update(
                {hash: max(until, latest.get(hash, until)) for hash, until in times.items()}
            )

    def writable(self, table: str, rows: pa.Table) -> Sequence[int] | None:
        """Indices of the rows that may be written, or None for all. Omitted events are noted first,
        as rows without user may follow. Raises OSError, StoreError."""
        if not any(self._until.values()):
            return None
        dropped: Any = pa.nulls(rows.num_rows, pa.bool_()).fill_null(False)
        for owner, kinds in owners(table, rows):
            dropped = pc.or_(dropped, self._is_forgotten(rows, owner, kinds))
        if table in OF_SPEAKERS:
            speaker = row_owner(rows, rows["user_id"])
            is_forgotten = self._is_forgotten(rows, speaker, (USERS,))
            dropped = pc.if_else(pc.is_valid(speaker), is_forgotten, dropped)
        if not pc.any(dropped, min_count=0).as_py():
            return None
        if table == Event.table:
            is_forgotten = pc.and_(dropped, pc.is_valid(rows["user_id"]))
            erased_ids.note_unwritten(self._root, rows.filter(is_forgotten))
        places: list[int] = pc.indices_nonzero(pc.invert(dropped)).to_pylist()
        return places

    def _is_forgotten(self, rows: pa.Table, owner: Any, kinds: tuple[str, ...]) -> Any:
        names: list[str | None] = pc.unique(owner).to_pylist()
        until = [self._end(name, kinds) for name in names]
        of_row: Any = pc.take(
            pa.array(until, TIMESTAMP), pc.index_in(owner, pa.array(names, pa.string()))
        )
        return pc.less_equal(rows["recorded_at"], of_row).fill_null(False)

    def _end(self, name: str | None, kinds: Iterable[str]) -> int | None:
        if name is None:
            return None
        hash = _hash(name)
        return max((self._until[kind][hash] for kind in kinds if hash in self._until[kind]),
                   default=None)  # fmt: skip


def small_files(root: Location) -> list[Location]:
    """Paths of notes: forgotten owners, unfinished erasures, erased ids. They may not exist."""
    notes = [*files_in(root / NOTES), *files_in(root / UNFINISHED), *erased_ids.files(root)]
    return [root / FILE, root / f"{UNFINISHED}.json", *notes]


class Unfinished:
    """Sessions of a `forget` in progress, as (tenant, session_id), for the next call after a kill.

    `whole` are erased, `shared` are folded again from the other users' records. In an object store
    each person has a note, as several may be erased at once.
    """

    def __init__(self, root: Location, tenant: str, user_id: str) -> None:
        name = f"{UNFINISHED}.json"
        if isinstance(root, ObjectPath):
            name = f"{UNFINISHED}/{_hash(f'{tenant}/{user_id}')}.json"
        self._file = root / name
        text = _read(self._file)
        note: Mapping[str, Any] = json.loads(text) if text is not None else {}
        self.whole = {(tenant, session_id) for tenant, session_id in note.get("whole", ())}
        self.shared = {(tenant, session_id) for tenant, session_id in note.get("shared", ())}

    def begin(self, whole: Iterable[OwnerKey], shared: Iterable[OwnerKey]) -> None:
        """Adds sessions to a killed call's."""
        self.whole |= set(whole)
        self.shared |= set(shared)
        every = {name: sorted(getattr(self, name)) for name in ("whole", "shared")}
        _write(self._file, every)

    def end(self) -> None:
        self._file.unlink(missing_ok=True)


def _read(file: Location) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _write(file: Location, value: Any) -> None:
    replace(file, json.dumps(value) + "\n")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
