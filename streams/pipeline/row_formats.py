"""Numbered formats of stored rows, and migrations from older ones (docs/upgrades.md).

A migration is a pure function of all rows of one session or user. The tiers apply it to one after
the other, in the order of their keys, and write their progress with the rows:

    format 1 ── "2, up to s1" ── "2, up to s9" ──> format 2

After a kill, the next run continues after the last one; readers apply it to the rows that they
read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from streams.errors import ConfigurationError
from streams.pipeline.entity import COLD, PACKED, ROW_KINDS, pack_cold, unpack_cold

ROW_FORMAT = 1
"""Incremented whenever a row's type changes, even if it only gains a field: a version that does not
know the field would drop it, so it must reject the rows."""

Rows = Mapping[str, bytes]
"""All rows of an entity, by name. A cold session's are unpacked before a migration."""
Changed = dict[str, bytes | None]
"""Rows that differ in the next format (None: deleted)."""
Migration = Callable[[str, Rows], Changed]
"""From (table, rows of one format)."""


_encode = msgspec.msgpack.Encoder().encode

MIGRATIONS: dict[int, Migration] = {}
"""Source format -> migration to the next format."""
OLDEST = min(MIGRATIONS, default=ROW_FORMAT)

TABLE_OF = {table[0].encode(): table for table in ROW_KINDS}
"""By the first byte of an entity's keys."""
ENTITIES, BYTES = 1_000, 2_000_000
"""Maximum per step of an upgrade: about 20 ms, and a transaction of usual size."""


class Reached(NamedTuple):
    """The format of stored rows. During an upgrade `after` is the key of the last upgraded session
    or user; later keys have the previous format. After the upgrade `after` is None."""

    format: int = ROW_FORMAT
    after: str | None = None

    @property
    def is_current(self) -> bool:
        return self == CURRENT

    def of(self, where: bytes) -> int:
        """The format of the rows with this key."""
        return self.format - (self.after is not None and where > self.after.encode())

    def told(self) -> str:
        """What is to be done, for the log."""
        if self.after is None:
            return f"its rows have format {self.format}; upgrades them to {ROW_FORMAT}"
        return f"not all of its rows have format {self.format} yet; upgrades the others"

    def refusal(self) -> str | None:
        """Why this version cannot continue them, and the remedy, or None if it can."""
        reads = "this version reads "
        reads += f"{OLDEST} to {ROW_FORMAT}" if OLDEST < ROW_FORMAT else f"{ROW_FORMAT}"
        if self.format > ROW_FORMAT:
            return (
                f"have format {self.format}, {reads}: a newer version has written them; use that "
                'version, or see docs/upgrades.md, "Going back"'
            )
        if self.format - (self.after is not None) < OLDEST:
            return f"have format {self.format}, {reads}"
        return None


CURRENT = Reached()


def upgraded(table: str, rows: dict[str, bytes], format: int) -> dict[str, bytes]:
    """Upgrades an entity's rows from a format to the current one."""
    for step in range(format, ROW_FORMAT):
        rows = _with(rows, changes(table, rows, step))
    return rows


def changes(table: str, rows: Rows, format: int) -> Changed:
    """Rows that differ in the next format."""
    cold = rows.get(COLD)
    if cold is None:
        return MIGRATIONS[format](table, rows)
    whole = unpack_cold(cold)
    changed = MIGRATIONS[format](table, whole)
    if not changed:
        return {}
    packed = _encode(_with(whole, changed))
    return {COLD: pack_cold(packed) if cold[0] == PACKED else packed}


def _with(rows: Rows, changed: Changed) -> dict[str, bytes]:
    return {name: row for name, row in {**rows, **changed}.items() if row is not None}


class Step(NamedTuple):
    """Rows to write and the progress after them; one write has both."""

    rows: list[tuple[bytes, bytes | None]]
    reached: Reached


def upgrade(
    reached: Reached,
    keys: Callable[[bytes], Iterable[bytes]],
    read_rows: Callable[[bytes], dict[str, bytes]],
) -> Iterator[Step]:
    """All steps to the current format, one format after the other. `keys` returns the keys of all
    entities after a key, in order; `read_rows` the rows of an entity by name."""
    while not reached.is_current:
        to = reached.format if reached.after is not None else reached.format + 1
        rows: list[tuple[bytes, bytes | None]] = []
        count = size = 0
        for where in keys((reached.after or "").encode()):
            table = TABLE_OF.get(where[:1])
            for name, row in changes(table, read_rows(where), to - 1).items() if table else ():
                rows.append((where + b"\0" + name.encode(), row))
                size += len(row or b"")
            count += 1
            if count >= ENTITIES or size >= BYTES:
                yield Step(rows, Reached(to, where.decode()))
                rows, count, size = [], 0, 0
        reached = Reached(to)
        yield Step(rows, reached)


class NewerRows(ConfigurationError):  # noqa: N818 - what they are
    """The rows were written by a newer version."""


def check(where: str, reached: Reached, otherwise: str) -> None:
    """Raises NewerRows, or ConfigurationError for rows that are too old; `otherwise`: how to fix
    that."""
    if (why := reached.refusal()) is None:
        return
    if reached.format > ROW_FORMAT:
        raise NewerRows(f"{where} {why}")
    raise ConfigurationError(f"{where} {why}; {otherwise}")
