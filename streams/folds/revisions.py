"""Revisions: one for each change (docs/guarantees.md), none for a write without effect."""

from collections.abc import Iterable
from typing import Any

from schemas.base import format_time
from schemas.generated.history import Revision
from streams.folds.constants import Rules
from streams.folds.effects import Effects
from streams.folds.ids import canonical, make_id, short_hash


def revise(
    out: Effects,
    owner: str,
    entity: tuple[str, str, str | None],
    op: str,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    reason: str,
    evidence: Iterable[str],
    occurred_at: int,
    plan_id: str | None = None,
) -> None:
    """Appends a revision of `entity` (type, id, kind), unless `before` and `after` are the same
    JSON, where 1 is not true."""
    was = None if before is None else canonical(before)
    now = None if after is None else canonical(after)
    if was == now:
        return
    entity_type, entity_id, kind = entity
    out.history.append(
        Revision(
            revision_id=make_id(
                "revision", *out.scope, *record_id(out.record, out.doc), out.ordinal
            ),
            owner_id=owner,
            entity_type=entity_type,
            entity_id=entity_id,
            kind=kind,
            op=op,
            before=was,
            after=now,
            reason=reason,
            evidence_event_ids=list(dict.fromkeys(evidence)),
            plan_id=plan_id,
            ordinal=out.ordinal,
            seq=out.seq,
            occurred_at=occurred_at,
        )
    )
    out.ordinal += 1
    out.seq += 1


def record_id(record: Any, doc: str) -> tuple[str, ...]:
    """Returns the record's id; recursions and tool results add a hash of `doc`, the canonical JSON,
    as one id may have several versions."""
    kind = record.type
    if kind == "turn":
        return (record.session_id, record.event_id, record.status)
    if kind == "write_plan":
        return ("plan", record.plan_id)
    if kind == "signal":
        return ("signal", record.signal_id)
    return (kind, record.task_id, record.trace_id, short_hash(doc).hex())


def add_evidence(event_ids: tuple[str, ...], new: Iterable[str], rules: Rules) -> tuple[str, ...]:
    """Newest last, each once, at most `max_evidence` (20)."""
    new_ids = tuple(dict.fromkeys(new))
    return (*(event_id for event_id in event_ids if event_id not in new_ids), *new_ids)[
        -rules.max_evidence :
    ]


def time_or_none(micros: int | None) -> str | None:
    """Returns RFC 3339 text, or None for an open time."""
    return None if micros is None else format_time(micros)
