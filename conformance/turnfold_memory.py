"""Turnfold: a history of files, asked in SQL. A history of the questions is a user, a fact a state.

Records are plans of an extractor, each with a turn as evidence; a retraction withdraws the turn.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conformance.memory import Origin
from conformance.oracle import Record
from sinks.locations import location_of
from sinks.lookup import Lookup
from streams.files import file_runner

VALUE = """SELECT body_text FROM state_as_of(?::TIMESTAMPTZ, ?::TIMESTAMPTZ) WHERE state_id = ?"""
WHY = """SELECT event_id, strftime(recorded_at, '%Y-%m-%dT%H:%M:%SZ')
    FROM state_as_of(?::TIMESTAMPTZ, ?::TIMESTAMPTZ) AS state
    JOIN plans ON list_contains(evidence_event_ids, event_id)
    WHERE state_id = ? AND doc ->> '$.state_updates[0].body_text' = body_text
    ORDER BY recorded_at DESC LIMIT 1"""
"""The newest evidence that says the value: other evidence is of its end."""


class TurnfoldMemory:
    def reset(self) -> None:
        self.records: list[Record] = []
        self.db: Any = None

    def add(self, history: str, record: Record) -> str:
        learned: str = record["learned_at"]
        event_id = f"{history}/{record['id']}"
        plan: Record = {"type": "write_plan", "plan_id": event_id, "user_id": history,
            "occurred_at": learned, "extractor": {"name": "conformance"}}  # fmt: skip
        if record["op"] == "retract":
            mark = {"op": "retract", "event_id": f"{history}/{record['record']}"}
            self.records.append(plan | {"event_updates": [mark]})
            return learned
        update = {"state_id": f"{history}/{record['fact']}"}
        if record["op"] == "end":
            update |= {"op": "close", "valid_to": record["from"]}
        else:
            times = {"valid_from": record["from"], "valid_to": record.get("to")}
            update |= {"op": "upsert", "kind": "fact", "body_text": record["value"], **times}
        plan |= {
            "event_id": event_id,
            "extraction": {"event_ids": [event_id]},
            "state_updates": [update],
        }
        self.records.append(plan)
        return learned

    def ask(self, history: str, fact: str, as_of: str, known_at: str) -> str | None:
        row = self._history().execute(VALUE, (as_of, known_at, f"{history}/{fact}")).fetchone()
        return None if row is None else str(row[0])

    def why(self, history: str, fact: str, as_of: str, known_at: str) -> Origin | None:
        row = self._history().execute(WHY, (as_of, known_at, f"{history}/{fact}")).fetchone()
        return None if row is None else Origin(row[0].partition("/")[2], row[1])

    def _history(self) -> Any:
        """The history with all records, in memory."""
        if self.db is None:
            with TemporaryDirectory() as name:
                records, history = Path(name) / "records.ndjson", Path(name) / "history"
                records.write_text("".join(json.dumps(record) + "\n" for record in self.records))
                file_runner.run([str(records)], history)
                lookup = Lookup(location_of(history), "default")
                for table in ("revisions", "plans"):
                    lookup.load(table, "true")
                self.db = lookup.define("state_as_of")
        return self.db
