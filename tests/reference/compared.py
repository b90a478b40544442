"""The system's memory beside the reference's: what differs, named.

`wanted` computes the reference of records, `held` what the folds' rows, revisions and links say.
Both are flat: a name such as ("session", tenant, session_id) -> JSON text of what stands there, so
that 1 and true differ and a difference is one line.
"""

import json
from collections.abc import Iterable, Iterator
from math import copysign, isclose
from typing import Any

from schemas.learner import UserLearningProfile
from schemas.session import SessionDocument
from schemas.task import TaskDocument
from schemas.time import format_time
from streams.folds import affect, documents, learner, memory, preferences, states, task
from streams.folds.constants import Rules
from streams.folds.session_state import HEADER
from streams.pipeline.decode import decode
from streams.pipeline.entity import Entity
from tests.property.world import World, encode
from tests.reference.records import Given
from tests.reference.session import sessions
from tests.reference.user import users

Json = dict[str, Any]
Flat = dict[tuple[Any, ...], str]
SESSION_KINDS = ("session", "task", "reply")


def given(records: Iterable[Json]) -> list[Given]:
    """Records as the reference takes them: those that are valid, in this order."""
    read = [decode(encode(record), ("test", 0, 0)) for record in records]
    return [Given(one.record, one.doc) for one in read if not isinstance(one, str | tuple)]


def wanted(records: Iterable[Json]) -> Flat:
    """What memory holds by the rules."""
    known = given(records)
    flat: dict[tuple[Any, ...], Any] = {}
    for (tenant, session_id), session in sessions(known).items():
        flat["session", tenant, session_id] = session.document
        for task_id, document in session.tasks.items():
            flat["task", tenant, session_id, task_id] = _task(document)
        for replying, (to, at) in session.replies.items():
            flat["reply", tenant, session_id, replying] = [to, format_time(at)]
    for (tenant, user_id), user in users(known).items():
        flat["profile", tenant, user_id] = user.profile
        for state_id, versions in user.states.items():
            for version in versions:
                flat["state", tenant, user_id, state_id, version["valid_from"]] = version
        for preference_id, document in user.preferences.items():
            flat["preference", tenant, user_id, preference_id] = document
        for (thread, known_in, event), confidence in user.threads.items():
            flat["thread", tenant, user_id, thread, event, known_in] = confidence
        for (one, other, label, known_in), confidence in user.links.items():
            flat["link", tenant, user_id, one, other, label, known_in] = confidence
        for (_, event), moment in user.affects.items():
            flat["affect", tenant, user_id, event, _moment_key(moment)] = moment
    return _texts(flat)


def held(world: World) -> Flat:
    """What the folds' rows hold."""
    entities = [rows for _, rows in sorted(world.store.entities.items())]
    return flat_rows(entities, world.rows["links"])


def flat_rows(entities: Iterable[Entity], links: Iterable[Json]) -> Flat:
    """What the rows of sessions and users hold, with the rows of links in the order in which they
    were written."""
    flat: dict[tuple[Any, ...], Any] = {}
    for rows in entities:
        found = _of_session(rows) if rows.where[0] == "sessions" else _of_user(rows)
        for (kind, *rest), document in found:
            flat[kind, rows.tenant, rows.key, *rest] = document
    for row in links:
        if row["provisional"]:
            name = "reply", row["tenant"], row["owner_id"], row["from_event_id"]
            flat[name] = [row["to_event_id"], format_time(row["occurred_at"])]
            if row["op"] == "remove":
                del flat[name]
    return _texts(flat)


def of_entity(flat: Flat, rows: Entity) -> Flat:
    """What one session or user holds of it."""
    is_session, owner = rows.where[0] == "sessions", (rows.tenant, rows.key)
    return {
        name: text
        for name, text in flat.items()
        if (name[0] in SESSION_KINDS) is is_session and name[1:3] == owner
    }


def _of_session(rows: Entity) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if rows.get(HEADER) is not None:
        document = SessionDocument.model_validate(documents.session(rows, Rules()))
        yield ("session",), document.model_dump(mode="json")
    latest = documents.latest_turn(rows, Rules()) if rows.get(HEADER) is not None else None
    for name in rows.names("t/"):
        yield ("task", name[2:]), _task(task.document(rows, Rules(), name[2:], latest))


def _of_user(rows: Entity) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield ("profile",), learner.document(rows, Rules(), rows.key)
    state: states.State
    for _, state in rows.scan("s/"):
        for version in state.versions:
            document = states.document(state, version)
            yield ("state", state.state_id, document["valid_from"]), document
    mood = rows.get(affect.MOOD) or affect.MoodRow()
    mood_id = memory.mood_id(rows)
    for at in affect.begins(mood, -(2**62)):
        document = affect.version(mood, mood_id, at)
        yield ("state", mood_id, document["valid_from"]), document
    for _, preference in rows.scan("p/"):
        yield ("preference", preference.preference_id), preferences.document(preference)
    for prefix, kind, parts in (("x/", "thread", 2), ("k/", "link", 3)):
        for name, member in rows.scan(prefix):
            entry = name[2:].split("\x1f")
            session_id = entry[parts] if len(entry) > parts else None
            yield (kind, *entry[:parts], session_id), member.confidence
    for felt in mood.felt:
        moment = felt.moment
        document = {name: getattr(moment, name) for name in ("text", "confidence", "from_plan")}
        document |= {axis: getattr(moment, axis) for axis in "vad"}
        document |= {"labels": list(moment.labels), "occurred_at": format_time(moment.occurred_at)}
        yield ("affect", moment.event_id, _moment_key(document)), document


def _moment_key(document: Json) -> str:
    """Moments are told apart by what they say: of several sessions that are one event, either may
    stand for it."""
    return _text(document)


def _task(document: Json) -> Any:
    return TaskDocument.model_validate(document).model_dump(mode="json")


def _texts(flat: dict[tuple[Any, ...], Any]) -> Flat:
    return {name: _text(document) for name, document in flat.items() if document is not None}


def _text(document: Any) -> str:
    return json.dumps(document, sort_keys=True, ensure_ascii=False)


def differences(one: Flat, other: Flat) -> list[str]:
    """What is not the same, one line each: the name, what is wanted, what is held."""
    return [
        f"{name}\n  wanted {one.get(name)}\n  held   {other.get(name)}"
        for name in sorted(one.keys() | other.keys(), key=str)
        if not _equal(one.get(name), other.get(name))
    ]


def _equal(one: str | None, other: str | None) -> bool:
    return one == other or (
        one is not None and other is not None and _alike(*map(json.loads, (one, other)))
    )


def _alike(one: Any, other: Any) -> bool:
    """Equal but for the last bits of numbers: the rules fix no order of operations."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9) and copysign(1, one) == copysign(
            1, other
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return type(one) is type(other) and one == other


__all__ = ["UserLearningProfile", "differences", "given", "held", "wanted"]
