"""History rows of input records."""

from typing import Any, cast

from schemas.events import Record, Recursion, ToolResult, Turn, WritePlan, first_intent
from schemas.generated import history
from schemas.record_kinds import RECORD_TABLES
from streams.folds.effects import Effects, Input
from streams.folds.ids import canonical


def turn(turn: Turn, input: Input, out: Effects) -> None:
    """Appends a row of `events`."""
    metadata = turn.metadata
    out.history.append(
        history.Event(  # by position, for speed: tests/contract/test_row_names.py has the names
            turn.event_id,
            turn.session_id,
            turn.user_id,
            turn.client_id,
            turn.task_id,
            turn.source,
            turn.occurred_at,
            turn.user_input,
            turn.agent_answer,
            turn.status,
            turn.error,
            first_intent(turn.intent),
            turn.topic,
            turn.artifact,
            None if metadata is None else metadata.difficulty,
            None if metadata is None else metadata.correct_rate,
            turn.image_summaries or (),
            input.metadata,
            input.extra,
            input.doc,
        )
    )


def record(record: Record, input: Input, out: Effects) -> None:
    """Appends a row to the table of the record's type."""
    if record.type == "turn":
        turn(cast(Turn, record), input, out)
    elif isinstance(record, Recursion):
        out.history.append(_recursion(record, input))
    elif isinstance(record, ToolResult):
        out.history.append(tool_result(record, record, input.doc))
    elif isinstance(record, WritePlan):
        out.history.append(_plan(record, input))
    else:
        out.history.append(_fields(record, input))


def _fields(record: Record, input: Input) -> history.CausedRow:
    """Row with fields of the record, and the record as JSON."""
    row = history.ROWS[RECORD_TABLES[record.type]]
    columns: dict[str, Any] = {
        name: input.doc if name == "doc" else getattr(record, name)
        for name in row.__struct_fields__
    }
    return row(**columns)


def _plan(plan: WritePlan, input: Input) -> history.Plan:
    return history.Plan(
        plan_id=plan.plan_id,
        user_id=plan.user_id,
        event_id=plan.event_id,
        extractor_name=plan.extractor.name,
        extractor_version=plan.extractor.version,
        occurred_at=plan.occurred_at,
        doc=input.doc,
    )


def _recursion(step: Recursion, input: Input) -> history.Recursion:
    return history.Recursion(
        session_id=step.session_id,
        task_id=step.task_id,
        trace_id=step.trace_id,
        iteration_index=step.iteration_index,
        status=step.status,
        step_id=step.step_id,
        observe=step.observe,
        thought=step.thought,
        action_type=step.action.action_type,
        output=canonical(step.action.output),
        error=step.error,
        occurred_at=step.occurred_at,
        doc=input.doc,
    )


def tool_result(recursion: Recursion | ToolResult, result: Any, doc: str) -> history.ToolResult:
    """Returns a row of `tool_results`; ids are taken from `recursion`, `doc` is the JSON."""
    return history.ToolResult(
        session_id=recursion.session_id,
        task_id=recursion.task_id,
        trace_id=recursion.trace_id,
        tool_call_id=result.tool_call_id,
        call_index=result.call_index,
        success=result.success,
        occurred_at=result.occurred_at,
        doc=doc,
    )
