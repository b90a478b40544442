"""The rows of a session or user as documents. Expiry is as of `now`.

Each document is derived from an entity's rows and its generation's rules, as `Backend.rows` returns
them. Functions return None if the entity or the data is unknown.
"""

from collections.abc import Iterator
from typing import Any

from streams import history_documents
from streams.context.load import mood_document
from streams.context.pack_lines import ValidState
from streams.folds import affect, documents, learner, memory, preferences, states, task
from streams.folds.constants import Rules
from streams.folds.effects import Rows
from streams.folds.expiry import expire
from streams.folds.ids import short_hash
from streams.folds.revised_kinds import REVISED_KINDS
from streams.folds.seen_ids import find_id
from streams.folds.session_state import HEADER

Json = dict[str, Any]

profile = learner.document
context = documents.context


def session(rows: Rows, rules: Rules, now: int) -> Json | None:
    """The session's document with its SessionContext (schemas.session.SessionDocument)."""
    if rows.get(HEADER) is None:
        return None
    latest = documents.latest_turn(rows, rules)
    return expire(documents.session(rows, rules), latest, now, rules)


def task_of(rows: Rows, rules: Rules, task_id: str) -> Json | None:
    """The task's document (schemas.task.TaskDocument)."""
    if rows.get(task.TASKS.key(task_id)) is None:
        return None
    latest = documents.latest_turn(rows, rules) if rows.get(HEADER) else None
    return task.document(rows, rules, task_id, latest)


def user(rows: Rows, rules: Rules, now: int) -> Json | None:
    """A user's memory (schemas.memory.UserDocument)."""
    memories = {
        "profile": profile(rows, rules, rows.key),
        "states": [state for state in held(rows, now) if state["kind"] != "long_mood_state"],
        **_lists(rows),
        "mood": mood(rows, now),
    }
    return {"user_id": rows.key, **memories} if any(memories.values()) else None


def remembered(rows: Rows, rules: Rules, now: int) -> Json | None:
    """The input of a context pack (streams.context.load), or None for an unknown user."""
    if rows.get(memory.USER) is None and profile(rows, rules, rows.key) is None:
        return None
    feeling = _mood_state(rows, now)
    return {
        "states": [
            ValidState(
                state.state_id, state.kind, version.body_text, version.payload, version.evidence,
                version.valid_from, version.last_confirmed_at,
            )
            for state, version in _standing(rows, now)
        ],
        "preferences": [
            preferences.document(preference) for _, preference in preferences.PREFERENCES.scan(rows)
        ],
        "mood": mood_document(feeling, now) if feeling else None,
        "of_rules": history_documents.of_rules(rows),
    }  # fmt: skip


def _lists(rows: Rows) -> Json:
    """The lists of memory besides the states."""
    return {item.kind.listed.name: item.all(rows) for item in REVISED_KINDS if item.kind.listed}


def held(rows: Rows, now: int) -> list[Json]:
    """Currently valid states, with the mood (schemas.memory.State), by kind and time."""
    found_states = [states.document(state, version) for state, version in _standing(rows, now)]
    feeling = _mood_state(rows, now)
    if feeling is not None:
        found_states.append(feeling)
    return sorted(
        found_states, key=lambda state: (state["kind"], state["valid_from"], state["state_id"])
    )


def _standing(rows: Rows, now: int) -> Iterator[tuple[states.State, states.Version]]:
    """States that are currently valid, with their latest started version."""
    for _, state in states.STATES.scan(rows):
        for version in reversed(state.versions):
            if version.valid_from <= now:
                if version.valid_to is None or version.valid_to > now:
                    yield state, version
                break


def mood(rows: Rows, at: int) -> Json | None:
    """The mood at a time that is not before the latest moment (schemas.memory.MoodNow)."""
    state = _mood_state(rows, at)
    return history_documents.mood(state, at) if state else None


def mood_since(rows: Rows) -> int | None:
    """Start of the mood's latest version; earlier moods are only in the history."""
    row = rows.get(affect.MOOD)
    return affect.newest(row) if row else None


def _mood_state(rows: Rows, at: int) -> Json | None:
    row = rows.get(affect.MOOD)
    began = affect.standing(row, at + 1) if row else None
    if row is None or began is None:
        return None
    return affect.version(row, memory.mood_id(rows), began)


def knows_signal(rows: Rows, signal_id: str) -> bool:
    """Whether a signal of that id was applied to this session or user."""
    header = rows.get(HEADER) or rows.get(memory.USER)
    return header is not None and (
        find_id(rows, header.runs, short_hash("s" + signal_id))[0] is not None
    )
