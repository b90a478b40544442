"""What a history's views say, beside what the reference says they should.

Both are flat, as in `compared`. `AS_OF` are the times at which `state_as_of` is asked.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from schemas.session import SessionDocument
from schemas.task import TaskDocument
from schemas.time import format_time, parse_time
from sinks.history import connect, read
from tests.reference.compared import Flat, Json, given
from tests.reference.records import Given, standing_turns
from tests.reference.session import sessions
from tests.reference.user import UserMemory, state_as_of, users
from tests.reference.worlds import START, when

MINUTE = 60_000_000
AS_OF = tuple(START + minutes * MINUTE for minutes in (0, 2, 40, 1500, 9000))
STATE = ("kind", "body_text", "payload", "confidence", "valid_from", "valid_to",
         "last_confirmed_at", "status", "evidence_event_ids", "updated_at")  # fmt: skip
MOMENT = ("v", "a", "d", "text", "labels", "confidence", "occurred_at", "from_plan")


def wanted(records: Sequence[Json]) -> Flat:
    """What the views should show of these records."""
    known = given(records)
    flat: dict[tuple[Any, ...], Any] = {}
    hidden = _answered_by_plans(known)
    for (tenant, session_id), session in sessions(known).items():
        flat["session", tenant, session_id] = session.document
        for task_id, document in session.tasks.items():
            flat["task", tenant, session_id, task_id] = _shaped(TaskDocument, document)
        for event, (to, at) in session.replies.items():
            if (tenant, session_id, event) not in hidden:
                flat["reply", tenant, session_id, event] = [to, format_time(at)]
    for (tenant, user_id), user in users(known).items():
        for key, document in _of_user(user):
            flat[key[0], tenant, user_id, *key[1:]] = document
    turns = standing_turns(known)
    for turn in turns:
        flat["event", turn.tenant, turn.session_id, turn.event_id] = [turn.status, turn.user_input]
    return _texts(flat)


def _of_user(user: UserMemory) -> Iterable[tuple[tuple[Any, ...], Any]]:
    yield ("profile",), user.profile
    for state_id, versions in user.states.items():
        yield ("state", state_id), _chosen(versions[-1], STATE)
        if versions[-1]["kind"] == "long_mood_state":
            yield ("mood", state_id), _chosen(versions[-1], STATE)
    for at in AS_OF:
        for state_id, version in state_as_of(user, at).items():
            yield ("as_of", at, state_id), _chosen(version, STATE)
    for preference_id, document in user.preferences.items():
        yield ("preference", preference_id), document
    for (thread, session_id, event), confidence in user.threads.items():
        yield ("thread", thread, event, session_id), confidence
    for (one, other, label, session_id), confidence in user.links.items():
        yield ("link", one, other, label, session_id), confidence
    for (_, event), moment in user.affects.items():
        chosen = _chosen(moment, MOMENT)
        yield ("affect", event, json.dumps(chosen, sort_keys=True)), chosen


def _answered_by_plans(known: Sequence[Given]) -> set[tuple[str, str, str]]:
    """The events whose provisional link a plan's reply_to hides: of the session it names; where
    that has no such event, or none is named, its user's own, else the only one of that id."""
    turns = standing_turns(known)
    hidden = set()
    for (tenant, user_id), user in users(known).items():
        for event, _, label, named in user.links:
            of_id = [one for one in turns if (one.tenant, one.event_id) == (tenant, event)]
            there = [one for one in of_id if one.session_id == named]
            own = [one for one in of_id if one.user_id == user_id]
            meant = there or own or (of_id if len(of_id) == 1 else [])
            if label == "reply_to":
                hidden |= {(tenant, one.session_id, event) for one in meant}
    return hidden


def shown(root: Path) -> Flat:
    """What the views of a history show."""
    flat: dict[tuple[Any, ...], Any] = {}
    with connect(root) as db:

        def rows(sql: str) -> list[Json]:
            return read(db, sql).objects()

        for row in rows("SELECT tenant, session_id, doc FROM session_current"):
            document = _shaped(SessionDocument, json.loads(row["doc"]))
            flat["session", row["tenant"], row["session_id"]] = document
        for row in rows("SELECT tenant, session_id, task_id, doc FROM task_current"):
            name = "task", row["tenant"], row["session_id"], row["task_id"]
            flat[name] = _shaped(TaskDocument, json.loads(row["doc"]))
        for row in rows("SELECT tenant, user_id, doc FROM profile_current"):
            flat["profile", row["tenant"], row["user_id"]] = json.loads(row["doc"])
        for view, kind in (("state_current", "state"), ("mood_current", "mood")):
            for row in rows(f"SELECT * FROM {view}"):
                flat[kind, row["tenant"], row["owner_id"], row["state_id"]] = _state(row)
        flat |= as_of(rows)
        for row in rows("SELECT * FROM preference_current"):
            document = {name: row[name] for name in PREFERENCE}
            flat["preference", row["tenant"], row["owner_id"], row["preference_id"]] = document
        for row in rows("SELECT * FROM thread_current"):
            entry = row["thread_key"], row["event_id"], row["session_id"]
            flat["thread", row["tenant"], row["owner_id"], *entry] = row["confidence"]
        for row in rows("SELECT * FROM link_current"):
            owner, ends = (
                (row["tenant"], row["owner_id"]),
                (row["from_event_id"], row["to_event_id"]),
            )
            if row["provisional"]:
                flat["reply", *owner, ends[0]] = [ends[1], row["occurred_at"]]
            else:
                flat["link", *owner, *ends, row["label"], row["session_id"]] = row["confidence"]
        for row in rows("SELECT * FROM affect_current"):
            chosen = _chosen(row, MOMENT)
            key = row["tenant"], row["user_id"], row["event_id"]
            flat["affect", *key, json.dumps(chosen, sort_keys=True)] = chosen
        for row in rows("SELECT * FROM event_current"):
            key = row["tenant"], row["session_id"], row["event_id"]
            flat["event", *key] = [row["status"], row["user_input"]]
    return _texts(flat)


PREFERENCE = ("preference_id", "domain", "polarity", "subject", "status", "confidence", "note",
              "evidence_event_ids", "updated_at")  # fmt: skip


def as_of(rows: Any, known_at: int | None = None) -> dict[tuple[Any, ...], Any]:
    """`state_as_of` at each of `AS_OF`, as known at a time."""
    known = "NULL" if known_at is None else f"make_timestamptz({known_at})"
    return {
        ("as_of", row["tenant"], row["owner_id"], at, row["state_id"]): _state(row)
        for at in AS_OF
        for row in rows(f"SELECT * FROM state_as_of(make_timestamptz({at}), {known})")
    }


def known_then(root: Path, known_at: int) -> Flat:
    """What `state_as_of` says was known at a time."""
    with connect(root) as db:
        return _texts(as_of(lambda sql: read(db, sql).objects(), known_at))


def only_as_of(flat: Flat) -> Flat:
    return {name: text for name, text in flat.items() if name[0] == "as_of"}


def _state(row: Json) -> Json:
    return _chosen(row | {"payload": json.loads(row["payload"])}, STATE)


def _chosen(document: Json, names: Sequence[str]) -> Json:
    return {name: document[name] for name in names}


def _shaped(model: Any, document: Json) -> Json:
    shaped: Json = model.model_validate(document).model_dump(mode="json")
    return shaped


def _texts(flat: dict[tuple[Any, ...], Any]) -> Flat:
    return {
        name: json.dumps(document, sort_keys=True, ensure_ascii=False)
        for name, document in flat.items()
        if document is not None
    }


__all__ = ["known_then", "only_as_of", "parse_time", "shown", "wanted", "when"]
