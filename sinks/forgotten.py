"""Who is forgotten in a history that sinks go on writing (docs/guarantees.md).

A sink may be behind: rows of records from before `forget` can still lie in its topics. Here stand
the hashes of those whose rows, up to a time, are written no more; what they send afterwards is.

A folder has one file, replaced under the history's lock. In an object store several may add at
once: there each makes an object of its own, under the next number, if nobody else has made that.
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
from sinks import erased_ids, numbered
from sinks.generation import FOLDER
from sinks.locations import Location
from sinks.object_store import ObjectPath
from sinks.owners import USERS, of, owners
from sinks.root import is_marked, replace
from sinks.tables import TIMESTAMP

FILE = "_forgotten.json"
NOTES = "_forgotten"
"""Of a history in an object store: `00000001.json`, … A copy in a folder has them, too."""
UNFINISHED = "_forgetting"
AT_ONCE = 16
"""Notes that are read at a time."""
OF_SPEAKERS = frozenset({Event.table, Signal.table, Affect.table})
"""Tables with rows that are of the user whom they name alone: a sink may read what others say in a
session after it was erased as one person's."""
Where = tuple[str, str]
"""tenant, id"""


class Forgotten:
    """The hashes that a history has, or a generation of one: in that was nobody noted before it was
    made, but in the history. `notes`: how many notes of its own they were read from."""

    def __init__(self, root: Location) -> None:
        self._root = root
        self._until: dict[str, dict[str, int]] = {"users": {}, "sessions": {}}
        home = root.parent.parent
        if root.parent.name == FOLDER and is_marked(home):
            self._read(home)
        self.notes = self._read(root)

    def _read(self, root: Location) -> int:
        """Takes what is noted there; how many notes there are."""
        self._take(_read(root / FILE))
        names = sorted(one.name for one in _listed(root / NOTES))
        with ThreadPoolExecutor(AT_ONCE) as threads:
            for text in threads.map(lambda name: _read(root / NOTES / name), names):
                self._take(text)
        return len(names)

    def refresh(self) -> None:
        """Reads what others have added since; in a folder nobody has, for its lock is held."""
        if isinstance(self._root, ObjectPath):
            while (text := _read(self._next())) is not None:
                self._take(text)
                self.notes += 1

    def add(self, users: Iterable[Where], sessions: Iterable[Where], until: int) -> None:
        """These are forgotten up to a time in microseconds. On disk, or in the store, when it
        returns."""
        more = {
            kind: {_hash("/".join(where)): until for where in owners}
            for kind, owners in (("users", users), ("sessions", sessions))
        }
        text = json.dumps(more) + "\n"
        self._take(text)
        if not isinstance(self._root, ObjectPath):
            _write(self._root / FILE, self._until)
            return
        while not self._next().create_text(text):
            self.refresh()  # where our own answer was lost that finds it, and it stands there twice
        self.notes += 1

    def _next(self) -> ObjectPath:
        """The note that nobody has made as far as we know."""
        assert isinstance(self._root, ObjectPath)
        return self._root / NOTES / numbered.name_of(self.notes + 1)

    def _take(self, text: str | None) -> None:
        noted: dict[str, dict[str, int]] = json.loads(text) if text is not None else {}
        for kind, some in noted.items():
            known = self._until[kind]
            known.update({one: max(until, known.get(one, until)) for one, until in some.items()})

    def kept(self, table: str, rows: pa.Table) -> Sequence[int] | None:
        """The places of rows that may be written; None for all of them. Which events are left out
        is noted first, as rows that name no user may follow. Raises OSError, StoreError."""
        if not any(self._until.values()):
            return None
        dropped: Any = pa.nulls(rows.num_rows, pa.bool_()).fill_null(False)
        for owner, kinds in owners(table, rows):
            dropped = pc.or_(dropped, self._is_forgotten(rows, owner, kinds))
        if table in OF_SPEAKERS:
            speaker = of(rows, rows["user_id"])
            theirs = self._is_forgotten(rows, speaker, (USERS,))
            dropped = pc.if_else(pc.is_valid(speaker), theirs, dropped)
        if not pc.any(dropped, min_count=0).as_py():
            return None
        if table == Event.table:
            theirs = pc.and_(dropped, pc.is_valid(rows["user_id"]))
            erased_ids.note_unwritten(self._root, rows.filter(theirs))
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
        one = _hash(name)
        return max((self._until[kind][one] for kind in kinds if one in self._until[kind]),
                   default=None)  # fmt: skip


def small_files(root: Location) -> list[Location]:
    """The files that there may be: of who is forgotten, of erasures that are not finished, and of
    what was erased."""
    each = [*_listed(root / NOTES), *_listed(root / UNFINISHED), *erased_ids.files(root)]
    return [root / FILE, root / f"{UNFINISHED}.json", *each]


class Unfinished:
    """The sessions of a `forget` that has begun, as (tenant, session_id): a kill forgets them not.

    `whole` are erased, `shared` are folded again from what the others said. In an object store each
    person has a note, as several may be erased at once.
    """

    def __init__(self, root: Location, tenant: str, user_id: str) -> None:
        name = f"{UNFINISHED}.json"
        if isinstance(root, ObjectPath):
            name = f"{UNFINISHED}/{_hash(f'{tenant}/{user_id}')}.json"
        self._file = root / name
        text = _read(self._file)
        found: Mapping[str, Any] = json.loads(text) if text is not None else {}
        self.whole = {(tenant, one) for tenant, one in found.get("whole", ())}
        self.shared = {(tenant, one) for tenant, one in found.get("shared", ())}

    def begin(self, whole: Iterable[Where], shared: Iterable[Where]) -> None:
        """Adds to what a killed call left."""
        self.whole |= set(whole)
        self.shared |= set(shared)
        every = {name: sorted(getattr(self, name)) for name in ("whole", "shared")}
        _write(self._file, every)

    def end(self) -> None:
        self._file.unlink(missing_ok=True)


def _listed(folder: Location) -> Iterable[Location]:
    if isinstance(folder, ObjectPath):
        return [folder / one.rpartition("/")[2] for one in folder.sizes()]
    return list(folder.iterdir()) if folder.is_dir() else []


def _read(file: Location) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _write(file: Location, value: Any) -> None:
    replace(file, json.dumps(value) + "\n")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
