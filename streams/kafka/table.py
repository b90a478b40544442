"""A lane's part of a table, in memory: rows as bytes, those in use decoded above (design 05).

A changelog key is that of the file tier's store: first letter of the table, tenant, entity and
row name, NUL between them. What is committed lies as bytes; an aborted transaction just forgets
the entities that it changed.
"""

from collections.abc import Sequence

from streams.kafka.processing import Row
from streams.runtime.store import Entity

Rows = dict[str, bytes]

DECODED = 8_192
"""Entities that stay decoded between batches."""


class Held(Entity):
    """An entity that knows the prefix of its changelog keys."""

    __slots__ = ("prefix",)

    def __init__(self, table: str, tenant: str, key: str, prefix: bytes, rows: Rows) -> None:
        super().__init__(table, tenant, key, rows)
        self.prefix = prefix


class Table:
    """`name` is one of `store.ROW_TYPES`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows: dict[bytes, Rows] = {}
        self._decoded: dict[bytes, Held] = {}
        self._changed: dict[bytes, Held] = {}
        self._pending: list[tuple[bytes, str, bytes | None]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def entity(self, tenant: str, key: str) -> Held:
        """The rows of one session or user."""
        return self._entity(f"{self.name[0]}\0{tenant}\0{key}".encode(), tenant, key)

    def find(self, where: bytes) -> Held:
        """The entity with that prefix of changelog keys."""
        _, tenant, key = where.decode().split("\0")
        return self._entity(where, tenant, key)

    def _entity(self, where: bytes, tenant: str, key: str) -> Held:
        entity = self._decoded.get(where)
        if entity is None:
            rows = dict(self._rows.get(where, ()))
            entity = self._decoded[where] = Held(self.name, tenant, key, where, rows)
        return entity

    def keep(self, entity: Held) -> None:
        """A record was applied: what it wrote goes into the next batch."""
        entity.keep()
        self._changed[entity.prefix] = entity

    def changes(self) -> list[Row]:
        """The rows that changed since the last commit, encoded: what the changelog is to have."""
        self._pending = [
            (where, name, encoded)
            for where, entity in self._changed.items()
            for name, encoded in entity.changes()
        ]
        return [(where + b"\0" + name.encode(), encoded) for where, name, encoded in self._pending]

    def committed(self) -> list[bytes]:
        """The changes stand; the prefixes of the entities that changed."""
        for where, name, encoded in self._pending:
            self._put(where, name, encoded)
        changed = list(self._changed)
        for where in changed:  # to the end: those in use are the last to go
            self._decoded[where] = self._decoded.pop(where)
        self._pending, self._changed = [], {}
        over = len(self._decoded) - DECODED
        for where in list(self._decoded)[:over] if over > 0 else ():
            del self._decoded[where]
        return changed

    def rolled_back(self) -> None:
        """The changes do not stand."""
        for where in self._changed:
            del self._decoded[where]
        self._pending, self._changed = [], {}

    def restore(self, rows: Sequence[Row]) -> set[bytes]:
        """Rows of the changelog in their order; the prefixes of the entities they belong to."""
        touched = set()
        for key, value in rows:
            where, name = key.rsplit(b"\0", 1)
            self._put(where, name.decode(), value)
            touched.add(where)
            self._decoded.pop(where, None)
        return touched

    def _put(self, where: bytes, name: str, encoded: bytes | None) -> None:
        if encoded is not None:
            self._rows.setdefault(where, {})[name] = encoded
            return
        rows = self._rows.get(where)
        if rows is not None:
            rows.pop(name, None)
            if not rows:
                del self._rows[where]

    def header(self, where: bytes) -> bytes | None:
        """The encoded row `h` of an entity."""
        return self._rows.get(where, {}).get("h")

    def clear(self) -> None:
        """Forgets everything."""
        self._rows, self._decoded, self._changed, self._pending = {}, {}, {}, []
