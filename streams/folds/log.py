"""Input records as rows of the history: what was said, as it was said."""

from operator import attrgetter
from typing import Any, cast

from schemas.events import Record, Recursion, ToolResult, Turn, WritePlan, first_intent
from schemas.rows import RECORD_TABLES, TABLES
from streams.folds.ids import canonical
from streams.folds.rows import Effects, Input

_said = attrgetter(
    "event_id", "session_id", "user_id", "client_id", "task_id", "source", "occurred_at",
    "user_input", "agent_answer", "status", "error",
)  # fmt: skip


def turn(turn: Turn, given: Input, out: Effects) -> None:
    """A row of `events`."""
    metadata = turn.metadata
    row = (
        *_said(turn),
        first_intent(turn.intent),
        turn.topic,
        turn.artifact,
        None if metadata is None else metadata.difficulty,
        None if metadata is None else metadata.correct_rate,
        turn.image_summaries or (),
        given.metadata,
        given.extra,
        given.doc,
    )
    out.rows.append(("events", turn.occurred_at, row))


def record(record: Record, given: Input, out: Effects) -> None:
    """A row of the record's own table."""
    at = record.occurred_at
    if record.type == "turn":
        turn(cast(Turn, record), given, out)
    elif isinstance(record, Recursion):
        out.rows.append(("recursions", at, _recursion(record, given)))
    elif isinstance(record, ToolResult):
        out.rows.append(("tool_results", at, tool_result(record, record, given.doc)))
    elif isinstance(record, WritePlan):
        extractor = record.extractor
        made_from = (record.plan_id, record.user_id, record.event_id)
        row = (*made_from, extractor.name, extractor.version, at, given.doc)
        out.rows.append(("plans", at, row))
    else:
        table = RECORD_TABLES[record.type]
        out.rows.append((table, at, _fields(record, table, given)))


def _fields(record: Record, table: str, given: Input) -> tuple[object, ...]:
    """A row whose columns are fields of the record, and the record itself."""
    columns = TABLES[table].model_fields
    return tuple(given.doc if name == "doc" else getattr(record, name) for name in columns)


def _recursion(step: Recursion, given: Input) -> tuple[object, ...]:
    return (
        step.session_id,
        step.task_id,
        step.trace_id,
        step.iteration_index,
        step.status,
        step.step_id,
        step.observe,
        step.thought,
        step.action.action_type,
        canonical(step.action.output),
        step.error,
        step.occurred_at,
        given.doc,
    )


def tool_result(of: Recursion | ToolResult, result: Any, doc: str) -> tuple[object, ...]:
    """A row of `tool_results`: a result of the recursion that `of` names, and its JSON."""
    return (
        of.session_id,
        of.task_id,
        of.trace_id,
        result.tool_call_id,
        result.call_index,
        result.success,
        result.occurred_at,
        doc,
    )
