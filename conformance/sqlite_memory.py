"""A bitemporal table in SQLite, as baseline: each row is valid and known for a time.

A statement ends what is known of its interval, and writes the rest of it again, as `FOR PORTION OF`
of SQL:2011. A row does not say what it has replaced, so a record cannot be retracted.
"""

import sqlite3
from typing import Any

from conformance.memory import NotExpressibleError, Origin
from conformance.oracle import FOREVER, Record

TABLE = """CREATE TABLE statement (history, fact, record, value, started, learned_at,
    valid_from, valid_to, known_from, known_to)"""
OVERLAP = """history = ? AND fact = ? AND known_to = ? AND valid_from < ? AND valid_to > ?"""
AS_OF = """SELECT value, record, learned_at FROM statement WHERE history = ? AND fact = ?
    AND valid_from <= ? AND ? < valid_to AND known_from <= ? AND ? < known_to"""
INSERT = f"INSERT INTO statement VALUES ({', '.join('?' * 10)})"


class SqliteMemory:
    def reset(self) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(TABLE)

    def add(self, history: str, record: Record) -> str:
        if record["op"] == "retract":
            raise NotExpressibleError
        known, start, stop = record["learned_at"], record["from"], record.get("to", FOREVER)
        latest = stop if "to" in record else max(start, known)
        where = history, record["fact"], FOREVER, stop, start
        rows = self.db.execute(f"SELECT * FROM statement WHERE {OVERLAP}", where).fetchall()
        stated = (*where[:2], record["id"], record.get("value"), start, known)
        pieces = [(start, stop)]
        for *content, valid_from, valid_to, _, _ in rows:
            if is_announced(content, latest):
                pieces = [
                    part for piece in pieces for part in _outside(*piece, valid_from, valid_to)
                ]
                continue
            for part in _outside(valid_from, valid_to, start, stop):
                self.db.execute(INSERT, (*content, *part, known, FOREVER))
        self.db.execute(
            f"UPDATE statement SET known_to = ? WHERE {OVERLAP} AND known_from < ? "
            "AND (started <= ? OR value IS NULL)",
            (known, *where, known, latest),
        )
        for piece in pieces:
            self.db.execute(INSERT, (*stated, *piece, known, FOREVER))
        return str(known)

    def ask(self, history: str, fact: str, as_of: str, known_at: str) -> str | None:
        row = self._row(history, fact, as_of, known_at)
        return None if row is None else row[0]

    def why(self, history: str, fact: str, as_of: str, known_at: str) -> Origin | None:
        row = self._row(history, fact, as_of, known_at)
        return None if row is None else Origin(*row[1:])

    def _row(self, history: str, fact: str, as_of: str, known_at: str) -> Any:
        where = history, fact, as_of, as_of, known_at, known_at
        return self.db.execute(AS_OF, where).fetchone()


def is_announced(content: list[str | None], latest: str) -> bool:
    """Whether a row has a value that starts later than what is stated."""
    _, _, _, value, started, _ = content
    return value is not None and started is not None and started > latest


def _outside(start: str, stop: str, cut_from: str, cut_to: str) -> list[tuple[str, str]]:
    parts = (start, min(stop, cut_from)), (max(start, cut_to), stop)
    return [part for part in parts if part[0] < part[1]]
