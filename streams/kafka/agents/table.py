"""A lane's partition of a table: decoded entities in use, above their rows as bytes.

An aborted transaction only drops the entities that it changed: committed rows are in the row store
(`streams.kafka.transport.rows`).
"""

from collections.abc import Sequence

from streams.kafka.transport.interfaces import Row
from streams.kafka.transport.rows import RowStore
from streams.pipeline.entity import Entity


class LaneEntity(Entity):
    """An entity with the prefix of its changelog keys."""

    __slots__ = ("prefix",)

    def __init__(
        self, table: str, tenant: str, key: str, prefix: bytes, rows: dict[str, bytes]
    ) -> None:
        super().__init__(table, tenant, key, rows)
        self.prefix = prefix


class EntityTable:
    """`name`: one of `entity.ROW_KINDS`."""

    def __init__(self, name: str, rows: RowStore) -> None:
        self.name = name
        self._rows = rows
        self._decoded: dict[bytes, LaneEntity] = {}
        self._changed: dict[bytes, LaneEntity] = {}
        self._pending: list[Row] = []

    def entity(self, table: str, tenant: str, key: str) -> LaneEntity:
        """Rows of one session or user; `table` is this table's name."""
        return self._entity(f"{table[0]}\0{tenant}\0{key}".encode(), tenant, key)

    def find(self, prefix: bytes) -> LaneEntity:
        _, tenant, key = prefix.decode().split("\0")
        return self._entity(prefix, tenant, key)

    def _entity(self, prefix: bytes, tenant: str, key: str) -> LaneEntity:
        entity = self._decoded.get(prefix)
        if entity is None:
            rows = self._rows.read(prefix)
            entity = self._decoded[prefix] = LaneEntity(self.name, tenant, key, prefix, rows)
        return entity

    def keep(self, entity: LaneEntity) -> None:
        """Adds an applied record's writes to the next batch."""
        entity.keep()
        self._changed[entity.prefix] = entity

    def changes(self) -> list[Row]:
        """Encoded rows that changed since the last commit, for the changelog."""
        self._pending = self._rows.encrypted(
            [
                (prefix + b"\0" + name.encode(), encoded)
                for prefix, entity in self._changed.items()
                for name, encoded in entity.changes()
            ]
        )
        return self._pending

    def committed(self) -> Sequence[Row]:
        """Applies the committed changes and returns them."""
        written = self._pending
        self._rows.put(written)
        for prefix in self._changed:  # to the end: least recently used are evicted first
            self._decoded[prefix] = self._decoded.pop(prefix)
        self._pending, self._changed = [], {}
        over = len(self._decoded) - self._rows.entities
        for prefix in list(self._decoded)[:over] if over > 0 else ():
            del self._decoded[prefix]
        return written

    def rolled_back(self) -> None:
        """Drops the changes."""
        for prefix in self._changed:
            del self._decoded[prefix]
        self._pending, self._changed = [], {}

    def restore(self, rows: Sequence[Row]) -> None:
        self._rows.put(rows)
        if self._decoded:
            for key, _ in rows:
                self._decoded.pop(key.rpartition(b"\0")[0], None)

    def drop_erased(self) -> None:
        """Drops decoded entities with destroyed keys, unless a batch is open. Call it before a
        batch: rows of the old key must not be encrypted with a new one."""
        for prefix in () if self._changed else self._rows.erased(self._decoded):
            del self._decoded[prefix]

    def decrypted(self, value: bytes | None) -> bytes | None:
        """A row's value from `committed` or `restore`, or None if its key is destroyed."""
        return self._rows.decrypted(value)

    def is_erased(self, tenant: str, key: str, occurred_at: int, table: str | None = None) -> bool:
        """Whether a record of an entity occurred before its key was destroyed. `table`: of the
        entity; default: this one."""
        at = self._rows.erased_at(f"{(table or self.name)[0]}\0{tenant}\0{key}".encode())
        return at is not None and occurred_at <= at

    def forget(self) -> None:
        """Drops all decoded entities; the caller clears the row store."""
        self._decoded, self._changed, self._pending = {}, {}, []
