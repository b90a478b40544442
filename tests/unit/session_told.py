"""One session for the tests of its rules: the real fold over real rows, from JSON bytes on.

Times are hours after `START`.
"""

import json
from typing import Any

from schemas.base import HOUR, format_time, parse_time
from schemas.generated.history import CausedRow, Link, Revision
from schemas.row import asdict
from schemas.session import SessionDocument
from streams.folds import documents, session
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, Refused, UserSignal
from streams.folds.expiry import expire
from streams.pipeline.decode import decode
from streams.pipeline.entity import Entity
from tests.reference.compared import differences, flat_rows, of_entity, wanted

START = parse_time("2026-01-01T00:00:00Z")

Json = dict[str, Any]
beside: list["Told"] = []


def micros(hours: float) -> int:
    return START + round(hours * HOUR)


def turn(event_id: str, hours: float, **fields: Any) -> Json:
    when = format_time(micros(hours))
    return {"type": "turn", "event_id": event_id, "session_id": "s", "occurred_at": when, **fields}


def signal(signal_id: str, hours: float, **fields: Any) -> Json:
    about = {"type": "signal", "signal_id": signal_id, "scope": "session", "session_id": "s"}
    return {**about, "occurred_at": format_time(micros(hours)), **fields}


def clarify(task_id: str, hours: float) -> Json:
    """A recursion that asks the user."""
    about = {"type": "recursion", "session_id": "s", "task_id": task_id, "trace_id": "asks"}
    action = {"action_type": "CLARIFY", "output": {"question": "which?"}}
    when = format_time(micros(hours))
    return {**about, "iteration_index": 0, "occurred_at": when, "action": action}


def encode(record: Json) -> bytes:
    return json.dumps(record).encode()


class Told:
    """A session and what its records did; `outcomes` holds a dead letter's reason as it is."""

    def __init__(self, *records: Json) -> None:
        self.rows = Entity("sessions", "default", "s", {})
        self.outcomes: list[str] = []
        self.warnings: list[str] = []
        self.signals: list[UserSignal] = []
        self.history: list[CausedRow] = []
        self.dead: list[str] = []
        self.records: list[Json] = []
        beside.append(self)
        self.say(*records)

    def say(self, *records: Json) -> "Told":
        for record in records:
            given = decode(encode(record), ("test", 0, len(self.outcomes) + 1))
            assert isinstance(given, Input), given
            self._fold(given)
            if self.outcomes[-1] != "conflicting_duplicate":
                self.records.append(record)
        return self

    def _fold(self, given: Input) -> None:
        out = Effects("s", ("default", "sessions", "s"), given.record, Rules())
        self.rows.keep()
        try:
            self.outcomes.append(session.fold(self.rows, given, out).ending)
        except Refused as refused:
            self.rows.rollback()
            self.outcomes.append(refused.reason)
            return
        self.warnings += out.warnings
        self.signals += out.signals
        self.history += out.history
        self.dead += [late.reason for late in out.late]

    def faults(self) -> list[str]:
        """Where it is not what the reference makes of the same records."""
        source = {"tenant": "default", "owner_id": "s"}
        links = [asdict(row) | source for row in self.history if isinstance(row, Link)]
        return differences(
            of_entity(wanted(self.records), self.rows), flat_rows([self.rows], links)
        )

    @property
    def document(self) -> Json:
        document = documents.session(self.rows, Rules())
        SessionDocument.model_validate(document)
        return document

    def asked_at(self, hours: float) -> Json:
        latest = documents.latest_turn(self.rows, Rules())
        return expire(self.document, latest, micros(hours), Rules())

    def revisions(self, kind: str) -> list[Json]:
        """The revisions of `status`, `subject`, `reply_to` or a type of session memory."""
        found = [asdict(row) for row in self.history if isinstance(row, Revision)]
        return [one for one in found if one["kind"] == kind]

    def statuses(self) -> list[tuple[str, str]]:
        """What each revision of the status did, and to what."""
        found = self.revisions("status")
        return [(one["op"], json.loads(one["after"])["status"]) for one in found]

    def replies(self) -> dict[str, str]:
        """event -> the event it provisionally replies to; the newest link stands."""
        links = (row for row in self.history if isinstance(row, Link))
        return {row.from_event_id: row.to_event_id for row in links}
