"""Rows of the history that no fold makes: newest documents, and dead letters."""

from typing import Any

import msgspec

from schemas.base import DAY
from streams.folds import documents, learner, task
from streams.folds.rules import Rules
from streams.folds.session_state import visible
from streams.pipeline.decode import Dead
from streams.pipeline.entity import Entity

Row = tuple[Any, ...]
Suffix = tuple[str, int, str, int, int]
"""A row's last columns but its date: tenant, recorded_at, src_topic, src_partition, src_offset."""

_json = msgspec.json.Encoder().encode


def session_row(
    entity: Entity, suffix: Suffix, rules: Rules, known: dict[str, Any] | None = None
) -> Row:
    """A row of `sessions`: the newest document, where it is not `known`."""
    document = known or documents.session(entity, rules)
    header = visible(entity, entity.get("h"), rules)
    created_at, updated_at = header.created_at, header.updated_at
    keys = (entity.key, document["user_id"], document["status"], document["closed_reason"])
    return (*keys, created_at, updated_at, _json(document).decode(), *suffix, updated_at // DAY)


def task_row(entity: Entity, task_id: str, suffix: Suffix, rules: Rules) -> Row:
    """A row of `tasks`: the newest document."""
    latest = documents.latest_turn(entity, rules) if entity.get("h") else None
    document = task.document(entity, rules, task_id, latest)
    machine = document["global"]
    updated_at = entity.get(f"t/{task_id}").updated_at
    keys = (entity.key, task_id, machine["status"], machine["iteration"], machine["max_iteration"])
    flags = (machine["forced"], machine["stalled"], updated_at)
    return (*keys, *flags, _json(document).decode(), *suffix, updated_at // DAY)


def profile_row(entity: Entity, suffix: Suffix, rules: Rules) -> Row:
    """A row of `profiles`: the newest document."""
    document = learner.document(entity, rules, entity.key)
    updated_at = entity.get("l").updated_at
    return (entity.key, updated_at, _json(document).decode(), *suffix, updated_at // DAY)


def dead_row(dead: Dead, suffix: Suffix, headers: str | None = None) -> Row:
    """A row of `dead_letters`; its date is that of what the record says, if it says when."""
    at = suffix[1] if dead.occurred_at is None else dead.occurred_at
    return (dead.reason, dead.detail, dead.payload, dead.key, headers, *suffix, at // DAY)
