"""A lane's part of a table: entities in use, decoded, above their rows as bytes.

An aborted transaction just forgets the entities that it changed: what is committed lies in the
rows' store (`streams.kafka.transport.rows`).
"""

from collections.abc import Sequence

from streams.kafka.transport.processing import Row
from streams.kafka.transport.rows import RowStore
from streams.pipeline.entity import Entity


class Held(Entity):
    """An entity that knows the prefix of its changelog keys."""

    __slots__ = ("prefix",)

    def __init__(
        self, table: str, tenant: str, key: str, prefix: bytes, rows: dict[str, bytes]
    ) -> None:
        super().__init__(table, tenant, key, rows)
        self.prefix = prefix


class Table:
    """`name` is one of `entity.ROW_KINDS`."""

    def __init__(self, name: str, rows: RowStore) -> None:
        self.name = name
        self._rows = rows
        self._decoded: dict[bytes, Held] = {}
        self._changed: dict[bytes, Held] = {}
        self._pending: list[Row] = []

    def entity(self, table: str, tenant: str, key: str) -> Held:
        """The rows of one session or user; `table` is this one's name."""
        return self._entity(f"{table[0]}\0{tenant}\0{key}".encode(), tenant, key)

    def find(self, where: bytes) -> Held:
        """The entity with that prefix of changelog keys."""
        _, tenant, key = where.decode().split("\0")
        return self._entity(where, tenant, key)

    def _entity(self, where: bytes, tenant: str, key: str) -> Held:
        entity = self._decoded.get(where)
        if entity is None:
            rows = self._rows.read(where)
            entity = self._decoded[where] = Held(self.name, tenant, key, where, rows)
        return entity

    def keep(self, entity: Held) -> None:
        """A record was applied: what it wrote goes into the next batch."""
        entity.keep()
        self._changed[entity.prefix] = entity

    def changes(self) -> list[Row]:
        """The rows that changed since the last commit, encoded: what the changelog is to have."""
        self._pending = [
            (where + b"\0" + name.encode(), encoded)
            for where, entity in self._changed.items()
            for name, encoded in entity.changes()
        ]
        return self._pending

    def committed(self) -> Sequence[Row]:
        """The changes stand; which they are."""
        written = self._pending
        self._rows.put(written)
        for where in self._changed:  # to the end: those in use are the last to go
            self._decoded[where] = self._decoded.pop(where)
        self._pending, self._changed = [], {}
        over = len(self._decoded) - self._rows.entities
        for where in list(self._decoded)[:over] if over > 0 else ():
            del self._decoded[where]
        return written

    def rolled_back(self) -> None:
        """The changes do not stand."""
        for where in self._changed:
            del self._decoded[where]
        self._pending, self._changed = [], {}

    def restore(self, rows: Sequence[Row]) -> None:
        """Rows of the changelog in their order."""
        self._rows.put(rows)
        if self._decoded:
            for key, _ in rows:
                self._decoded.pop(key.rpartition(b"\0")[0], None)

    def forget(self) -> None:
        """Nothing is at hand any more; the rows' store is another's to clear."""
        self._decoded, self._changed, self._pending = {}, {}, []
