"""One user's memory for the tests of its rules: JSON records folded into rows, without a store.

Times are days of January 2026 (`day(3)`), revisions and rows are shown under their column names.
"""

import json
from collections.abc import Iterator
from typing import Any

from schemas.base import DAY, format_time, parse_time
from schemas.row import asdict
from streams.folds import memory, preferences, states
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, Refused, UserSignal
from streams.pipeline.decode import decode
from streams.pipeline.entity import Entity
from tests.reference.compared import differences, flat_rows, of_entity, wanted

Json = dict[str, Any]
SOURCE = ("records.ndjson", 0, 1)
beside: list["Memory"] = []


def day(number: float) -> str:
    """A time in January 2026: day 1.5 is noon of the first."""
    return format_time(parse_time("2026-01-01T00:00:00Z") + round((number - 1) * DAY))


def plan(plan_id: str = "p1", at: float = 1, **fields: Any) -> Json:
    return {
        "type": "write_plan", "plan_id": plan_id, "user_id": "u", "occurred_at": day(at),
        "extractor": {"name": "extractor"}, **fields,
    }  # fmt: skip


def says(body_text: str = "I live in Kyoto", kind: str = "fact", **fields: Any) -> Json:
    """An upsert of a state."""
    return {"op": "upsert", "kind": kind, "body_text": body_text, **fields}


def given(record: Json) -> Input:
    """The record as the fold gets it; the tests' own must be valid."""
    read = decode(json.dumps(record).encode(), SOURCE)
    assert isinstance(read, Input), read
    return read


def prefers(op: str, subject: str = "tea", polarity: str = "like", **fields: Any) -> Json:
    return {"op": op, "domain": "food", "polarity": polarity, "subject": subject, **fields}


def link(op: str = "put", label: str = "caused_by", **fields: Any) -> Json:
    return {"op": op, "from_event_id": "e2", "to_event_id": "e1", "label": label, **fields}


class Memory:
    """One user's rows, and the history rows the records caused."""

    def __init__(self, user_id: str = "u") -> None:
        self.rows = Entity("users", "default", user_id, {})
        self.records: list[Json] = []
        beside.append(self)
        self.history: list[tuple[str, Json]] = []
        self.warnings: list[str] = []

    def give(self, record: Json) -> str:
        """Folds one record; raises Refused, with the rows as they were."""
        read = given(record)
        self.records.append(record)
        out = self._effects(read)
        try:
            outcome = memory.fold(self.rows, read, out)
        except Refused:
            self.rows.rollback()
            raise
        self._keep(out)
        return outcome.ending

    def hear(self, record: Json, signal: UserSignal) -> None:
        """What an ended turn means for the user."""
        self.records.append(record)
        out = self._effects(given(record))
        memory.fold_signal(self.rows, signal, out)
        self._keep(out)

    def tell(self, *updates: Json, plan_id: str = "p1", at: float = 1, **fields: Any) -> list[Json]:
        """A plan of state updates; returns the revisions it made."""
        return self.made(plan(plan_id, at, state_updates=list(updates), **fields))

    def made(self, record: Json) -> list[Json]:
        """Gives a record that must apply; returns the revisions it made."""
        before = len(self.table("revisions"))
        assert self.give(record) == "applied"
        return self.table("revisions")[before:]

    def table(self, name: str) -> list[Json]:
        """The rows of one table of the history."""
        return [row for table, row in self.history if table == name]

    def states(self) -> dict[str, Json]:
        """The current version of every state by its id."""
        found: Iterator[tuple[str, states.State]] = self.rows.scan("s/")
        return {row.state_id: states.document(row, row.versions[-1]) for _, row in found}

    def state(self) -> Json:
        """The only state there is."""
        (only,) = self.states().values()
        return only

    def preferences(self) -> dict[tuple[str, str], str]:
        """(polarity, subject) -> status."""
        found: Iterator[tuple[str, preferences.Preference]] = self.rows.scan("p/")
        return {(row.polarity, row.subject): row.status for _, row in found}

    def faults(self) -> list[str]:
        """Where it is not what the reference makes of the same records."""
        return differences(of_entity(wanted(self.records), self.rows), flat_rows([self.rows], []))

    def _effects(self, read: Input) -> Effects:
        self.rows.keep()
        return Effects(self.rows.key, self.rows.where, read.record, Rules())

    def _keep(self, out: Effects) -> None:
        for said in out.history:
            row = asdict(said)
            for name in {"before", "after"} & row.keys():
                row[name] = None if row[name] is None else json.loads(row[name])
            self.history.append((said.table, row))
        self.warnings += out.warnings
