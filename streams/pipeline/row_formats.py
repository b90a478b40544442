"""How rows are kept, by number, and how an older version's become today's (docs/upgrades.md).

A migration is a pure function of all rows of one session or user. The tiers apply it to one after
the other, in the order of their keys, and write with the rows how far they are:

    format 4 ── "5, up to s1" ── "5, up to s9" ──> format 5

Killed anywhere, the next one goes on behind the last; who only reads applies it to what it reads.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from schemas.row import Row, replace
from streams.errors import ConfigurationError
from streams.pipeline.entity import COLD, PACKED, ROW_KINDS, pack_cold, unpack_cold

ROW_FORMAT = 6
"""Raised whenever a row's type changes, also if it only gains a field: a version that does not know
the field would drop it, so it must refuse the rows."""

Rows = Mapping[str, bytes]
"""All rows of an entity, by name. Those of a cold session are unpacked before a migration."""
Changed = dict[str, bytes | None]
"""Rows that are other ones in the next format; None: gone."""
Migration = Callable[[str, Rows], Changed]
"""From (table, rows of one format)."""


class PreferenceOf4(Row, frozen=True):
    """A preference; until some commits of format 4 without the last field."""

    preference_id: str
    domain: str
    polarity: str
    subject: str
    status: str
    confidence: float
    note: str | None
    evidence: tuple[str, ...]
    updated_at: int
    said_at: int | None = None


_encode = msgspec.msgpack.Encoder().encode
_preference = msgspec.msgpack.Decoder(PreferenceOf4).decode


def _to_5(table: str, rows: Rows) -> Changed:
    """A preference says when it was said last. Without that, whatever ended before it was said
    would revoke it. Its newest change is the last time that is known."""
    changed: Changed = {}
    for name, row in rows.items():
        if table == "users" and name.startswith("p/"):
            known = _preference(row)
            if known.said_at is None:
                changed[name] = _encode(replace(known, said_at=known.updated_at))
    return changed


def _to_6(table: str, rows: Rows) -> Changed:
    """States and preferences keep their newest updates. Of a row without any, what it says is what
    later updates apply to."""
    return {}


MIGRATIONS: dict[int, Migration] = {4: _to_5, 5: _to_6}
"""By the format that they begin with; each ends with the next one."""
OLDEST = min(MIGRATIONS)

TABLE_OF = {table[0].encode(): table for table in ROW_KINDS}
"""By the first byte of an entity's keys."""
ENTITIES, BYTES = 1_000, 2_000_000
"""Of one step of an upgrade, at most: some 20 ms, and a transaction of a size that is common."""


class Reached(NamedTuple):
    """The format that rows have. `after`: while they are upgraded, the key of the last session or
    user that has it; those behind have the format before. None where all have it."""

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
        """Why this version cannot continue them, and the way out; None where it can."""
        reads = f"this version reads {OLDEST} to {ROW_FORMAT}"
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
    """An entity's rows, of that format, as this version has them."""
    for step in range(format, ROW_FORMAT):
        rows = _with(rows, changes(table, rows, step))
    return rows


def changes(table: str, rows: Rows, format: int) -> Changed:
    """Which of an entity's stored rows are other ones in the next format."""
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
    """Rows to be written, and where they stand then. One write has both."""

    rows: list[tuple[bytes, bytes | None]]
    reached: Reached


def upgrade(
    reached: Reached,
    keys: Callable[[bytes], Iterable[bytes]],
    read: Callable[[bytes], dict[str, bytes]],
) -> Iterator[Step]:
    """All steps from there to today's format, one format after the other. `keys`: those of all
    entities behind one, in order; `read`: the rows of one, by name."""
    while not reached.is_current:
        to = reached.format if reached.after is not None else reached.format + 1
        rows: list[tuple[bytes, bytes | None]] = []
        count = size = 0
        for where in keys((reached.after or "").encode()):
            table = TABLE_OF.get(where[:1])
            for name, row in changes(table, read(where), to - 1).items() if table else ():
                rows.append((where + b"\0" + name.encode(), row))
                size += len(row or b"")
            count += 1
            if count >= ENTITIES or size >= BYTES:
                yield Step(rows, Reached(to, where.decode()))
                rows, count, size = [], 0, 0
        reached = Reached(to)
        yield Step(rows, reached)


class NewerRows(ConfigurationError):  # noqa: N818 - what they are
    """A newer version has written them."""


def check(where: str, reached: Reached, otherwise: str) -> None:
    """Raises NewerRows, or ConfigurationError for rows that are too old; `otherwise`: what to do
    with those."""
    if (why := reached.refusal()) is None:
        return
    if reached.format > ROW_FORMAT:
        raise NewerRows(f"{where} {why}")
    raise ConfigurationError(f"{where} {why}; {otherwise}")
