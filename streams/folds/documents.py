"""Documents of a session: SessionDocument and SessionContext."""

from typing import Any

from schemas.base import format_time
from streams.folds import session_memory, task
from streams.folds.constants import Rules
from streams.folds.conversations import CONVERSATIONS
from streams.folds.effects import Rows
from streams.folds.ids import short_hash
from streams.folds.seen_ids import find_id
from streams.folds.session_state import (
    HEADER,
    RUNNING,
    Conversation,
    Key,
    Session,
    claim_document,
    converse,
    status_of,
    visible,
)
from streams.folds.session_status import status_document
from streams.folds.task_machine import settle

CONVERSATION_STATUS = {"completed": "done", "failed": "error"}


def latest_turn(rows: Rows, rules: Rules) -> int | None:
    """Returns the time of the session's latest turn, ended or not."""
    header = visible(rows, rows[HEADER], rules)
    return header.latest[0] if header.latest else None


def session(rows: Rows, rules: Rules) -> dict[str, Any]:
    """The session as folded, without expiry (schemas.session.SessionDocument)."""
    base = rows[HEADER]
    header = visible(rows, base, rules)
    latest = header.latest[0] if header.latest else None
    older, conversations = _conversations(rows, rules, base, latest)
    return {
        "session_id": rows.key,
        "user_id": header.user[2] if header.user else None,
        "subject": claim_document(header.subject),
        "object": claim_document(header.object),
        **status_document(status_of(header)),
        "artifacts_metadata": header.artifacts[2] if header.artifacts else {},
        "conversations": conversations,
        "conversation_count": older + len(conversations),
        "session_memory": session_memory.items(rows, rules),
        "created_at": format_time(header.created_at),
        "updated_at": format_time(header.updated_at),
        "context": _context(rows.key, header),
    }


def context(rows: Rows, rules: Rules) -> dict[str, Any] | None:
    """The SessionContext alone (schemas.session.SessionContext), or None without one."""
    base = rows.get(HEADER)
    return None if base is None else _context(rows.key, visible(rows, base, rules))


def _context(session_id: str, header: Session) -> dict[str, Any] | None:
    if header.context_at is None:
        return None
    return {
        "session_id": session_id,
        "current_topic": header.topic[2] if header.topic else None,
        "recent_intents": [intent for _, _, intent in header.intents],
        "last_artifact": header.artifact[2] if header.artifact else None,
        "last_user_message": header.message[2] if header.message else "",
        "updated_at": format_time(header.context_at),
    }


def _conversations(
    rows: Rows, rules: Rules, base: Session, latest: int | None
) -> tuple[int, list[dict[str, Any]]]:
    """Returns the number of conversations before the window, and the documents in it."""
    conversations: dict[str, tuple[Conversation, Key]] = {
        task_id: (rows.peek(CONVERSATIONS.key(task_id)), (at, event_id))
        for at, event_id, task_id in base.window
    }
    for event_id in base.running:
        turn = rows[RUNNING.key(event_id)]
        if (
            turn.task_id
            and turn.task_id not in conversations
            and _fell_out(rows, base, turn.task_id)
        ):
            continue
        row, first = conversations.get(turn.conversation, (None, None))
        conversations[turn.conversation] = converse(row, first, turn)
    order = list(conversations)  # the window's, unless a running turn changes it
    if base.running:
        order.sort(key=lambda task_id: (*conversations[task_id][1], task_id))
    excess = max(0, len(order) - rules.max_conversations)
    older = base.older + excess
    return older, [
        _conversation(rows, older + place, task_id, conversations[task_id][0], latest)
        for place, task_id in enumerate(order[excess:], 1)
    ]


def _fell_out(rows: Rows, base: Session, task_id: str) -> bool:
    """Whether a conversation that is not in the window was in it once."""
    return find_id(rows, base.runs, short_hash("c" + task_id))[0] is not None


def _conversation(
    rows: Rows, place: int, task_id: str, row: Conversation, latest: int | None
) -> dict[str, Any]:
    status, error = row.status, row.error
    task_row = rows.get(task.TASKS.key(task_id))
    machine = settle(task_row.tip, latest) if task_row else None
    if machine is not None and machine.outcome:
        status, error = CONVERSATION_STATUS[machine.outcome], machine.error
    return {
        "task_index": place,
        "task_id": task_id,
        "user_input": row.user_input,
        "agent_answer": row.answer,
        "status": status,
        "error": error,
        "summary": row.summary,
    }
