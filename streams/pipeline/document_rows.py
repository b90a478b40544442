"""History rows of documents and dead letters."""

from typing import Any

import msgspec

from schemas.generated import history
from streams.folds import documents, learner, task
from streams.folds.constants import Rules
from streams.folds.session_state import HEADER, visible
from streams.pipeline.decode import Dead
from streams.pipeline.entity import Entity

_json = msgspec.json.Encoder().encode


def session_row(
    entity: Entity, rules: Rules, stored: dict[str, Any] | None = None, version: int = 0
) -> history.Session:
    """Returns a row of `sessions`; `stored` is the document, if it exists already."""
    document = stored or documents.session(entity, rules)
    header = visible(entity, entity[HEADER], rules)
    return history.Session(
        session_id=entity.key,
        user_id=document["user_id"],
        status=document["status"],
        closed_reason=document["closed_reason"],
        created_at=header.created_at,
        updated_at=header.updated_at,
        version=version,
        doc=_json(document).decode(),
    )


def task_row(entity: Entity, task_id: str, rules: Rules, version: int = 0) -> history.Task:
    """A row of `tasks`: the newest document."""
    latest = documents.latest_turn(entity, rules) if entity.get(HEADER) else None
    document = task.document(entity, rules, task_id, latest)
    machine = document["global"]
    return history.Task(
        session_id=entity.key,
        task_id=task_id,
        status=machine["status"],
        iteration=machine["iteration"],
        max_iteration=machine["max_iteration"],
        forced=machine["forced"],
        stalled=machine["stalled"],
        updated_at=entity[task.TASKS.key(task_id)].updated_at,
        version=version,
        doc=_json(document).decode(),
    )


def profile_row(entity: Entity, rules: Rules, version: int = 0) -> history.Profile:
    """A row of `profiles`: the newest document."""
    return history.Profile(
        user_id=entity.key,
        updated_at=entity[learner.LEARNER].updated_at,
        version=version,
        doc=_json(learner.document(entity, rules, entity.key)).decode(),
    )


def dead_row(dead: Dead, headers: str | None = None) -> history.DeadLetter:
    """A row of `dead_letters`."""
    return history.DeadLetter(
        reason=dead.reason,
        detail=dead.detail,
        payload=dead.payload,
        key=dead.key,
        headers=headers,
        settled_at=None,
    )
