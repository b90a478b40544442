"""What a sink has read and not yet written: rows by table and partition, as columns."""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import time
from collections import defaultdict

import msgspec
import pyarrow as pa

from schemas.base import DAY
from schemas.rows import SNAPSHOT_KEYS
from sinks.shared import Piece
from sinks.tables import COLUMNS, to_arrow
from streams.kafka.history_rows import Values, decode, to_columns
from streams.kafka.processing import Record

PACK_ROWS = 2_048
MISFIT = "bad_row"
"""The reason of a dead letter that the sink itself makes: a message that is no row."""

_KEYS = {
    table: tuple(COLUMNS[table].index(name) for name in key) for table, key in SNAPSHOT_KEYS.items()
}
_encode = msgspec.json.Encoder().encode


class Batch:
    """Rows since the last write. `upto`: app -> the last offset read; `bytes` of their messages.

    Of a document only the newest is kept (design 03, Snapshots). What does not fit its table
    becomes a row of `dead_letters` with its bytes: not lost, and nobody waits for it.
    """

    def __init__(self) -> None:
        self.upto: dict[str, int] = {}
        self.bytes = 0
        self.misfits = 0
        self.began = time.monotonic()
        self._rows: defaultdict[tuple[str, str], _Rows] = defaultdict(_Rows)
        self._newest: defaultdict[tuple[str, str], dict[Values, _Kept]] = defaultdict(dict)
        self._dead: defaultdict[str, list[tuple[int, Values]]] = defaultdict(list)

    def add(self, app_id: str, table: str, record: Record) -> None:
        """One message of a table."""
        self.bytes += record.serialized_value_size
        try:
            row = decode(table, record.value or b"")
        except ValueError as error:
            self._bury(app_id, table, record, error)
            return
        if table in _KEYS:
            newest = self._newest[table, app_id]
            key = tuple([row[place] for place in _KEYS[table]])
            newest.pop(key, None)  # offsets ascend
            newest[key] = (record, row)
            return
        rows = self._rows[table, app_id]
        rows.waiting.append((record, row))
        if len(rows.waiting) >= PACK_ROWS:
            self._pack(table, app_id, rows)

    def pieces(self) -> dict[str, list[Piece]]:
        """Table -> its rows; to be called once."""
        for (table, app_id), newest in self._newest.items():
            self._rows[table, app_id].waiting = list(newest.values())
        found: defaultdict[str, list[Piece]] = defaultdict(list)
        for (table, app_id), rows in self._rows.items():
            self._pack(table, app_id, rows)
            if rows.offsets:
                found[table].append(Piece(app_id, rows.offsets, pa.concat_tables(rows.packed)))
        for app_id, dead in self._dead.items():
            dead.sort(key=lambda one: one[0])
            letters = to_arrow("dead_letters", [row for _, row in dead])
            found["dead_letters"].append(Piece(app_id, [at for at, _ in dead], letters))
        return dict(found)

    def _pack(self, table: str, app_id: str, rows: _Rows) -> None:
        """Rows as columns: a tenth of the memory."""
        waiting, rows.waiting = rows.waiting, []
        if not waiting:
            return
        try:
            columns = to_columns(table, [row for _, row in waiting])
        except ValueError:
            waiting = [one for one in waiting if self._fits(table, app_id, one)]
            if not waiting:
                return
            columns = to_columns(table, [row for _, row in waiting])
        rows.packed.append(columns)
        rows.offsets += [record.offset for record, _ in waiting]

    def _fits(self, table: str, app_id: str, kept: _Kept) -> bool:
        record, row = kept
        try:
            to_columns(table, [row])
        except ValueError as error:
            self._bury(app_id, table, record, error)
            return False
        return True

    def _bury(self, app_id: str, table: str, record: Record, error: ValueError) -> None:
        self.misfits += 1
        self._dead[app_id].append((record.offset, _dead_letter(table, record, error)))


class _Rows:
    """Rows of one table and partition: the latest as they were decoded, the others packed."""

    __slots__ = ("offsets", "packed", "waiting")

    def __init__(self) -> None:
        self.waiting: list[_Kept] = []
        self.packed: list[pa.Table] = []
        self.offsets: list[int] = []


_Kept = tuple[Record, Values]


def _dead_letter(table: str, record: Record, error: ValueError) -> Values:
    headers = [(name, _text(value)) for name, value in record.headers]
    at = record.timestamp * 1000
    return (
        MISFIT,
        f"{table}: {error}"[:2_000],
        record.value or b"",
        None if record.key is None else _text(record.key),
        _encode(headers).decode(),
        "default",
        at,
        record.topic,
        record.partition,
        record.offset,
        at // DAY,
    )


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
