"""Who is forgotten in a history that sinks go on writing (docs/laws.md).

A sink may be behind: rows of records from before `forget` can still lie in its topics. Here stand
the hashes of those whose rows, up to a time, are written no more; what they send afterwards is.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sinks.root import replace
from sinks.tables import SCHEMAS, TIMESTAMP

FILE = "_forgotten.json"
OWNERS: dict[str, tuple[str, ...]] = {
    "user_id": ("users",),
    "session_id": ("sessions",),
    "owner_id": ("users", "sessions"),
    "key": ("users", "sessions"),
}
"""Columns that say whose a row is; a key is tenant and id, as a message's."""

Where = tuple[str, str]
"""tenant, id"""


class Forgotten:
    """The hashes in a history's folder; read once."""

    def __init__(self, root: Path) -> None:
        self._file = root / FILE
        self._until: dict[str, dict[str, int]] = {"users": {}, "sessions": {}}
        if self._file.exists():
            self._until = json.loads(self._file.read_text(encoding="utf-8"))

    def add(self, users: Iterable[Where], sessions: Iterable[Where], until: int) -> None:
        """These are forgotten up to a time in microseconds. On disk when it returns."""
        for kind, owners in (("users", users), ("sessions", sessions)):
            for where in owners:
                self._until[kind][_hash("/".join(where))] = until
        _write(self._file, self._until)

    def kept(self, table: str, rows: pa.Table) -> Sequence[int] | None:
        """The places of rows that may be written; None for all of them."""
        if not any(self._until.values()):
            return None
        dropped: Any = pa.nulls(rows.num_rows, pa.bool_()).fill_null(False)
        for column in OWNERS.keys() & set(SCHEMAS[table].names):
            dropped = pc.or_(dropped, self._is_forgotten(rows, column))
        if not pc.any(dropped, min_count=0).as_py():
            return None
        places: list[int] = pc.indices_nonzero(pc.invert(dropped)).to_pylist()
        return places

    def _is_forgotten(self, rows: pa.Table, column: str) -> Any:
        owner: Any = rows[column]
        if column != "key":
            owner = pc.binary_join_element_wise(rows["tenant"], owner, "/")
        names: list[str | None] = pc.unique(owner).to_pylist()
        until = [self._end(name, OWNERS[column]) for name in names]
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


class Unfinished:
    """The sessions of a `forget` that has begun, as (tenant, session_id): a kill forgets them not.

    `whole` are erased, `shared` are folded again from what the others said.
    """

    def __init__(self, root: Path) -> None:
        self._file = root / "_forgetting.json"
        found: Mapping[str, list[list[str]]] = {}
        if self._file.exists():
            found = json.loads(self._file.read_text(encoding="utf-8"))
        self.whole = {(tenant, one) for tenant, one in found.get("whole", ())}
        self.shared = {(tenant, one) for tenant, one in found.get("shared", ())}

    def begin(self, whole: Iterable[Where], shared: Iterable[Where]) -> None:
        """Adds to what a killed call left."""
        self.whole |= set(whole)
        self.shared |= set(shared)
        every = {"whole": sorted(self.whole), "shared": sorted(self.shared)}
        _write(self._file, every)

    def end(self) -> None:
        self._file.unlink()


def _write(file: Path, value: Any) -> None:
    replace(file, json.dumps(value) + "\n")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
