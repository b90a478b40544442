"""Rows of one session or user: stored as bytes, decoded on first access.

An inactive session may be stored cold, as a single compressed row named `COLD`. Readers see the
same rows either way.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from streams.folds import (
    affect,
    conversations,
    end_facts,
    kept_messages,
    learner,
    links_threads,
    memory,
    reply_links,
    seen_ids,
    session_memory,
    session_state,
    states,
    task,
)
from streams.folds.effects import R, RowKey, RowKind
from streams.folds.revised_kinds import REVISED_KINDS

ROW_KINDS: dict[str, tuple[RowKind[Any], ...]] = {
    "sessions": (
        session_state.SESSIONS,
        session_state.RUNNING,
        conversations.CONVERSATIONS,
        session_memory.ENTRIES,
        task.TASKS,
        task.STEPS,
        task.RESULTS,
        seen_ids.RUNS,
        seen_ids.NEWEST,
        seen_ids.BLOCKS,
        seen_ids.DIRECTORIES,
        reply_links.LOST_LINKS,
        kept_messages.KEPT,
    ),
    "users": (
        memory.USERS,
        states.STATES,
        links_threads.LINKS,
        links_threads.THREADS,
        end_facts.ENDS,
        end_facts.MARKS,
        affect.MOODS,
        learner.LEARNERS,
        learner.TOPICS,
        seen_ids.RUNS,
        *(revised.rows for revised in REVISED_KINDS),
    ),
}
"""Kinds of rows that an entity of a table may have. If they change, their format must change
(`streams.pipeline.row_formats`)."""

RAW = seen_ids.RUNS.letter  # rows that are bytes themselves
COLD = "z"
"""The one stored row of a cold session. Rows of folds have other names."""
COLD_LEVEL = 6
"""Compression level of zlib. The output of zstd at 9 is not smaller, and takes as long."""
PACKED = 0x78
"""The first byte of zlib's output; a MessagePack map starts with a greater one."""
ENTITY, ROW = 1_000, 90
"""Bytes of overhead per entity and per row."""

_encode = msgspec.msgpack.Encoder().encode
_DECODERS = {
    table: {kind.letter: msgspec.msgpack.Decoder(kind.type).decode for kind in kinds}
    for table, kinds in ROW_KINDS.items()
}
unpack = msgspec.msgpack.Decoder(dict[str, bytes]).decode
"""The rows of `Entity.pack`."""

Where = tuple[str, str, str]  # table, tenant, and the session's or user's id


class Entity:
    """Rows of one session or user; implements `streams.folds.effects.Rows`.

    Rows that were not accessed yet are bytes. `rollback` reverts writes since the last `keep`; kept
    writes before a commit are `dirty`. `cold` is the single stored row of a cold session, otherwise
    None.
    """

    __slots__ = (
        "_before",
        "_cooling",
        "_decoders",
        "_rows",
        "cold",
        "dirty",
        "hashes",
        "key",
        "tenant",
        "where",
    )

    def __init__(self, table: str, tenant: str, key: str, encoded: dict[str, bytes]) -> None:
        self.where = (table, tenant, key)
        self.tenant = tenant
        self.key = key
        self.dirty: set[str] = set()
        self.hashes: set[bytes] | None = None
        self.cold = encoded.get(COLD)
        self._cooling: Callable[[bytes], bytes] | None = None
        self._decoders = _DECODERS[table]
        self._rows: dict[str, Any] = encoded if self.cold is None else unpack_cold(self.cold)
        self._before: dict[str, Any] = {}

    def get(self, key: RowKey[R]) -> R | None:
        row: Any = self._rows.get(key)
        if type(row) is bytes and key[0] != RAW:
            row = self._rows[key] = self._decoders[key[0]](row)
        return row  # type: ignore[no-any-return]  # of its key's type: `ROW_KINDS` has its decoder

    def __getitem__(self, key: RowKey[R]) -> R:
        row = self.get(key)
        if row is None:
            raise KeyError(key)
        return row

    def peek(self, key: RowKey[R]) -> R:
        row: Any = self._rows[key]
        if type(row) is bytes and key[0] != RAW:
            row = self._decoders[key[0]](row)
        return row  # type: ignore[no-any-return]  # as above

    def put(self, key: RowKey[R], row: R | None) -> None:
        rows, before = self._rows, self._before
        if key not in before:
            before[key] = rows.get(key)
        rows[key] = row

    def delete(self, key: RowKey[R]) -> None:
        if self._rows.get(key) is not None:
            self.put(key, None)

    def names(self, prefix: str) -> list[str]:
        rows = self._rows.items()
        return sorted([name for name, row in rows if row is not None and name.startswith(prefix)])

    def scan(self, prefix: str) -> Iterator[tuple[str, Any]]:
        get: Any = self.get  # the names are of existing rows
        return iter([(name, get(name)) for name in self.names(prefix)])

    def copy(self) -> "Entity":
        """Snapshot of the rows for readers; folds do not change it."""
        copied = Entity(*self.where, {})
        copied._rows = self._rows.copy()
        return copied

    @property
    def is_changed(self) -> bool:
        """Whether it has uncommitted writes, kept or not."""
        return bool(self._before or self.dirty)

    def keep(self) -> None:
        """Keeps the writes of an applied record."""
        if self._before:
            self.dirty.update(self._before)
            self._before.clear()

    def rollback(self) -> None:
        """Reverts all writes since the last `keep`."""
        self._rows.update(self._before)
        self._before.clear()

    def cool(self, compressed: bool) -> None:
        """Stores the entity cold with the next commit. A record applied later restores its rows,
        unless it is cooled again before the commit. `compressed`: individually. Topics compress
        many together instead (`benchmarks.retention`)."""
        self._cooling = pack_cold if compressed else bytes

    def changes(self) -> Iterator[tuple[str, bytes | None]]:
        """Writes of a commit: each changed row encoded, None for a deleted row. The entity keeps
        these bytes, a fifth of the decoded size."""
        if self._cooling is not None or self.cold is not None:
            yield from self._moves()
            return
        rows = self._rows
        for name in self.dirty:
            row = rows[name]
            if row is None:
                del rows[name]
                yield name, None
            else:
                encoded = rows[name] = row if type(row) is bytes else _encode(row)
                yield name, encoded
        self.dirty.clear()

    def _moves(self) -> Iterator[tuple[str, bytes | None]]:
        """Changes of an entity that is cold or will be stored cold."""
        self._rows = {name: row for name, row in self._rows.items() if row is not None}
        was, self.cold = self.cold, None
        if self._cooling is not None:
            self.cold = self._cooling(self.pack())
            yield COLD, self.cold
            removed = {*self._rows, *self.dirty} if was is None else set()
            yield from ((name, None) for name in sorted(removed))
        elif self.dirty:
            yield COLD, None
            for name, row in self._rows.items():
                encoded = self._rows[name] = row if type(row) is bytes else _encode(row)
                yield name, encoded
        else:
            self.cold = was
        self._cooling = None
        self.dirty.clear()

    def pack(self) -> bytes:
        """All current rows for `unpack`, or the single row of a cold entity."""
        if self.cold is not None:
            return _encode({COLD: self.cold})
        rows = self._rows.items()
        return _encode(
            {
                name: row if type(row) is bytes else _encode(row)
                for name, row in rows
                if row is not None
            }
        )

    def encoded_size(self) -> int:
        """Approximate memory in bytes while all rows are encoded."""
        sizes = [ROW + len(row) for row in self._rows.values() if type(row) is bytes]
        return ENTITY + sum(sizes)


def pack_cold(rows: bytes) -> bytes:
    """Packs a session into one compressed row."""
    return zlib.compress(rows, COLD_LEVEL)


def unpack_cold(packed: bytes) -> dict[str, bytes]:
    """Returns the rows of a cold session."""
    return unpack(zlib.decompress(packed) if packed[0] == PACKED else packed)
