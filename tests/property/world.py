"""Small records, and a memory in this process to fold them into and look at.

`World` drives the real `Applier` over real `Entity` rows; only the disk is left out (a `Store`
can be given instead). Times are minutes after `START`, ids short names (docs/records.md).
"""

import json
from typing import Any, cast

from schemas.base import MINUTE, format_time, parse_time
from schemas.rows import TABLES, Source
from streams.files.fold_batch import Applier
from streams.files.store import Store
from streams.folds import affect, documents, memory, preferences, states, task
from streams.folds import learner as learners
from streams.folds.constants import Rules
from streams.folds.expiry import expire
from streams.pipeline.entity import Entity

START = parse_time("2025-01-01T00:00:00Z")
HOURS = 60
DAYS = 24 * HOURS
OUTCOMES = ("applied", "duplicate", "dead", "withheld")
COLUMNS = {
    name: (*row.model_fields, *Source.model_fields) for name, row in TABLES.items()
}  # as the runtime writes them

Json = dict[str, Any]


def micros(minutes: float) -> int:
    """Minutes after START -> microseconds since 1970."""
    return START + round(minutes * MINUTE)


def when(minutes: float) -> str:
    """Minutes after START -> RFC 3339 text."""
    return format_time(micros(minutes))


def turn(event_id: str, at: float, **fields: Any) -> Json:
    return {
        "type": "turn", "event_id": event_id, "session_id": "s1", "occurred_at": when(at), **fields,
    }  # fmt: skip


def recursion(trace_id: str, index: int, at: float, action: str = "REFLECT", **fields: Any) -> Json:
    output = fields.pop("output", {})
    return {
        "type": "recursion", "session_id": "s1", "task_id": "t1", "trace_id": trace_id,
        "iteration_index": index, "occurred_at": when(at),
        "action": {"action_type": action, "output": output}, **fields,
    }  # fmt: skip


def result(trace_id: str, at: float, call: str | int, **fields: Any) -> Json:
    """A tool's answer; `call` is the call's id or its index."""
    which = {"tool_call_id": call} if isinstance(call, str) else {"call_index": call}
    return {
        "type": "tool_result", "session_id": "s1", "task_id": "t1", "trace_id": trace_id,
        "occurred_at": when(at), "result": "42", "success": True, **which, **fields,
    }  # fmt: skip


def signal(signal_id: str, at: float, scope: str = "user", **fields: Any) -> Json:
    key = {"user_id": "u1"} if scope == "user" else {"session_id": "s1"}
    return {
        "type": "signal", "signal_id": signal_id, "scope": scope, "occurred_at": when(at), **key,
        **fields,
    }  # fmt: skip


def plan(plan_id: str, at: float, *updates: Json, **fields: Any) -> Json:
    """A write plan made from the event `e-{plan_id}`, unless told otherwise."""
    return {
        "type": "write_plan", "plan_id": plan_id, "user_id": "u1", "event_id": f"e-{plan_id}",
        "extractor": {"name": "hand", "version": "1"}, "occurred_at": when(at),
        "state_updates": list(updates), **fields,
    }  # fmt: skip


def fact(state_id: str | None, body_text: str, **fields: Any) -> Json:
    named = {"state_id": state_id} if state_id else {}
    return {"op": "upsert", "kind": "fact", "body_text": body_text, **named, **fields}


def feeling(v: float, a: float = 0.0, d: float = 0.0, **fields: Any) -> Json:
    return {"text": "", "vad": {"v": v, "a": a, "d": d}, "confidence": 1.0, **fields}


def encode(record: Json | bytes) -> bytes:
    if isinstance(record, bytes):
        return record
    return json.dumps(record, ensure_ascii=False).encode()


class Tables:
    """The fold's tables without a disk: what `Applier` asks of a `Store`."""

    def __init__(self) -> None:
        self.entities: dict[tuple[str, str, str], Entity] = {}

    def entity(self, table: str, tenant: str, key: str) -> Entity:
        where = (table, tenant, key)
        if where not in self.entities:
            self.entities[where] = Entity(table, tenant, key, {})
        return self.entities[where]

    def keep(self, entity: Entity) -> None:
        entity.keep()

    def value(self, name: str) -> Any:
        return None


class World:
    """Records in, documents and history rows out. `rows` holds every row by its table's name."""

    def __init__(self, store: Store | None = None, rules: Rules | None = None) -> None:
        self.store = cast(Any, Tables() if store is None else store)
        self.rules = rules or Rules()
        self.applier = Applier(self.store, rules=self.rules)
        self.rows: dict[str, list[Json]] = {name: [] for name in TABLES}
        self.line = 0

    def say(self, *records: Json | bytes) -> list[str]:
        """Folds records in this order; what each ended as."""
        return [self._one(record) for record in records]

    def _one(self, record: Json | bytes) -> str:
        self.line += 1
        (outcome,) = self.applier.apply([(encode(record), ("test", 0, self.line))])
        for name, some in self.applier.take_rows().items():
            self.rows[name] += [dict(zip(COLUMNS[name], row, strict=True)) for row in some]
        return outcome.ending

    def documents(self) -> dict[str, list[Json]]:
        """The snapshots a commit would write now."""
        documents: dict[str, list[Json]] = {}
        for taken in self.applier.take_documents(limit=2):
            for name, some in taken.items():
                rows = [dict(zip(COLUMNS[name], row, strict=True)) for row in some]
                documents.setdefault(name, []).extend(rows)
        return documents

    @property
    def counts(self) -> dict[str, int]:
        return dict(self.applier.counts)

    @property
    def warnings(self) -> dict[str, int]:
        return dict(self.applier.warnings)

    @property
    def reasons(self) -> list[str]:
        """Why each dead letter is one."""
        return [row["reason"] for row in self.rows["dead_letters"]]

    def revisions(self, entity_type: str, entity_id: str | None = None) -> list[Json]:
        """Revisions in order, `before` and `after` decoded."""
        return [
            {**row, "before": _read(row["before"]), "after": _read(row["after"])}
            for row in self.rows["revisions"]
            if row["entity_type"] == entity_type and entity_id in (None, row["entity_id"])
        ]

    # what stands

    def rows_of(self, table: str, key: str, tenant: str = "default") -> Entity:
        return self.store.entity(table, tenant, key)  # type: ignore[no-any-return]

    def session(self, session_id: str = "s1") -> Json:
        return documents.session(self.rows_of("sessions", session_id), self.rules)

    def asked_at(self, minutes: float, session_id: str = "s1") -> Json:
        """The session as somebody sees it who asks then."""
        rows = self.rows_of("sessions", session_id)
        latest = documents.latest_turn(rows, self.rules)
        return expire(self.session(session_id), latest, micros(minutes), self.rules)

    def task(self, task_id: str = "t1", session_id: str = "s1") -> Json:
        rows = self.rows_of("sessions", session_id)
        latest = documents.latest_turn(rows, self.rules)
        return task.document(rows, self.rules, task_id, latest)

    def profile(self, user_id: str = "u1") -> Json | None:
        return learners.document(self.rows_of("users", user_id), self.rules, user_id)

    def mood(self, user_id: str = "u1") -> Json | None:
        """The newest version of the user's long_mood_state."""
        rows = self.rows_of("users", user_id)
        row = rows.get(affect.MOOD)
        if row is None:
            return None
        begun = affect.standing(row, 2**62)
        return None if begun is None else affect.version(row, memory.mood_id(rows), begun)

    def states(self, user_id: str = "u1") -> dict[str, list[Json]]:
        """The versions of each state, oldest first."""
        return {
            state.state_id: [states.document(state, one) for one in state.versions]
            for _, state in self.rows_of("users", user_id).scan("s/")
        }

    def preferences(self, user_id: str = "u1") -> dict[tuple[str, str, str], str]:
        """(domain, polarity, subject) -> status."""
        shown = [preferences.document(one) for _, one in self.rows_of("users", user_id).scan("p/")]
        return {(p["domain"], p["polarity"], p["subject"]): p["status"] for p in shown}

    def members(self, thread_key: str, user_id: str = "u1") -> dict[str, float]:
        """The events of a thread and how sure their place is."""
        found = self.rows_of("users", user_id).scan(f"x/{thread_key}\x1f")
        return {name.split("\x1f")[1]: one.confidence for name, one in found}

    def replies(self, session_id: str = "s1") -> dict[str, str]:
        """event -> the event it provisionally replies to; the newest link stands."""
        rows = (one for one in self.rows["links"] if one["provisional"])
        mine = sorted((one["seq"], one) for one in rows if one["owner_id"] == session_id)
        return {one["from_event_id"]: one["to_event_id"] for _, one in mine}

    def items(self, session_id: str = "s1") -> list[Json]:
        """The session memory."""
        memory_items: list[Json] = self.session(session_id)["session_memory"]
        return memory_items

    def contents(self, session_id: str = "s1") -> list[str]:
        """What the session memory says, sorted."""
        return sorted(one.get("decision") or one["content"] for one in self.items(session_id))


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def world(*records: Json | bytes) -> World:
    """A memory of these records."""
    made = World()
    made.say(*records)
    return made
