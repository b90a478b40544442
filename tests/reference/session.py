"""Sessions: what the turns, signals and tasks of one session say together.

Assumed of the input, so that no cap is modelled but those that a document always shows: at most 64
running turns, 200 memory items and 100 candidates a session, 200 recursions and 64 tool results a
task; no two contents of one id but a running and an ended turn, and versions of recursions and
tool results; no retention. Expiry depends on when one asks: documents are without it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas.events import Signal, Turn, first_intent
from schemas.session import SessionDocument
from schemas.time import format_time
from tests.reference import constants
from tests.reference.records import (
    Given,
    ended_turns,
    is_withheld,
    once,
    order,
    standing_turns,
    times,
)
from tests.reference.session_memory import session_memory
from tests.reference.task import tasks

Documents = dict[str, dict[str, Any]]


class SessionMemory(NamedTuple):
    """`document` as SessionDocument, with its context; `tasks`: TaskDocument by task id.

    `replies`: by event id the event that it replies to, provisionally, and its own time. Documents
    are JSON with all fields of their models; the system's may leave out those that are null.
    """

    document: dict[str, Any]
    tasks: Documents
    replies: dict[str, tuple[str, int]]


def sessions(given: Sequence[Given]) -> dict[tuple[str, str], SessionMemory]:
    """By tenant and session id."""
    keys = {key for item in given if (key := session_key(item.record)) is not None}
    by_key = {key: [item for item in given if session_key(item.record) == key] for key in keys}
    return {key: session(key, of_session) for key, of_session in by_key.items()}


def session_key(record: Any) -> tuple[str, str] | None:
    """The session of a record; a write plan and a signal of scope `user` are of none."""
    is_of_user = record.type == "write_plan" or (record.type == "signal" and record.scope == "user")
    return None if is_of_user or is_withheld(record) else (record.tenant, record.session_id)


def session(key: tuple[str, str], given: Sequence[Given]) -> SessionMemory:
    """All of one session, from all of its records."""
    turns, signals = standing_turns(given), once(given, "signal")
    of_tasks = tasks(given, max((turn.occurred_at for turn in turns), default=None))
    talks = conversations(turns, of_tasks)
    dated = [*turns, *signals, *once(given, "recursion")]  # all versions of recursions
    said = [turn.artifacts_metadata for turn in turns if turn.artifacts_metadata is not None]
    files = [where for one in said if (where := one.model_dump(exclude_none=True))]
    document = {
        "session_id": key[1],
        "user_id": next((turn.user_id for turn in turns if turn.user_id), None),
        "subject": strongest_claim([*turns, *signals], "subject"),
        "object": strongest_claim(turns, "object"),
        # with its unknown fields, for the document has it in free form
        "artifacts_metadata": files[-1] if files else {},
        "conversations": talks[-constants.MAX_CONVERSATIONS :],
        "conversation_count": len(talks),
        "session_memory": session_memory(key, ended_turns(given)),
        "context": context(key[1], turns, signals),
    }
    document |= status(turns, of_tasks) | times(dated, otherwise=once(given, "tool_result"))
    shaped = SessionDocument.model_validate(document).model_dump(mode="json")
    return SessionMemory(shaped, of_tasks, reply_links(turns))


def strongest_claim(made: Sequence[Turn | Signal], field: str) -> dict[str, Any] | None:
    """The greatest claim by user over agent, confidence, time, id, content."""
    claims = [(said(one), claim) for one in made if (claim := getattr(one, field)) is not None]
    ranked = sorted(
        claims,
        key=lambda made: (made[1].source == "user", made[1].confidence, made[0], made[1].content),
    )
    # fields of a claim that the document does not know are in the history only
    return ranked[-1][1].model_dump(include={"content", "source", "confidence"}) if ranked else None


def said(one: Turn | Signal) -> tuple[int, str]:
    return one.occurred_at, one.signal_id if isinstance(one, Signal) else one.event_id


def status(turns: Sequence[Turn], of_tasks: Documents) -> dict[str, Any]:
    """Closed or waiting if the latest turn says so; else a task that waits makes it wait."""
    latest = turns[-1].session_status if turns else None
    if latest == "closed":
        return {"status": "closed", "closed_reason": constants.CLOSED_REASON}
    waits = any(task["global"]["status"] == "waiting_input" for task in of_tasks.values())
    return {"status": "waiting_input" if waits or latest == "waiting_input" else "active"}


def conversations(turns: Sequence[Turn], of_tasks: Documents) -> list[dict[str, Any]]:
    """One for each task, in the order of their first turns; a turn without a task is the task of
    its own event id."""
    ids = [turn.task_id or turn.event_id for turn in turns]
    shown = []
    for index, id in enumerate(dict.fromkeys(ids), start=1):
        of_it = [turn for turn, its_id in zip(turns, ids, strict=True) if its_id == id]
        talk = {"task_index": index, "task_id": id} | conversation(of_it)
        shown.append(talk | (outcome(of_tasks[id]) if id in of_tasks else {}))
    return shown


def conversation(turns: Sequence[Turn]) -> dict[str, Any]:
    """The first question and the latest answer."""
    question = next((turn.user_input for turn in turns if turn.user_input), "")
    answer, summary = turns[-1], turns[-1].summary
    # fields of a summary that the document does not know are in the history only
    known = {"content", "key_findings", "final_decisions"}
    return {
        "user_input": question,
        "agent_answer": answer.agent_answer,
        "status": answer.status,
        "error": answer.error,
        "summary": summary.model_dump(include=known) if summary is not None else None,
    }


def outcome(task: dict[str, Any]) -> dict[str, Any]:
    """What a task that has ended says of its conversation, whatever the turns say."""
    ends = {"completed": "done", "failed": "error"}
    how, error = task["global"]["status"], task["global"]["error"]
    return {"status": ends[how], "error": error} if how in ends else {}


def context(
    session_id: str, turns: Sequence[Turn], signals: Sequence[Signal]
) -> dict[str, Any] | None:
    """The SessionContext, of turns and signals together; None where there are neither."""
    statements: list[tuple[int, str, Any]] = [(*order(turn), turn) for turn in turns]
    statements += [(signal.occurred_at, signal.signal_id, signal) for signal in signals]

    def texts_of(field: str) -> list[str]:
        """What was said, oldest first; of one time and id the greater text is the later,
        and equal ones are one."""
        texts = [(at, id, first_intent(getattr(record, field))) for at, id, record in statements]
        return [text or "" for _, _, text in sorted({text for text in texts if text[2]})]

    if not statements:
        return None
    return {
        "session_id": session_id,
        "current_topic": texts_of("topic")[-1] if texts_of("topic") else None,
        "recent_intents": texts_of("intent")[-constants.MAX_INTENTS :],
        "last_artifact": texts_of("artifact")[-1] if texts_of("artifact") else None,
        "last_user_message": ([turn.user_input for turn in turns if turn.user_input] or [""])[-1],
        "updated_at": format_time(max(at for at, _, _ in statements)),
    }


def reply_links(turns: Sequence[Turn]) -> dict[str, tuple[str, int]]:
    """Each turn replies to the one before it; one with a client, to that client's before it."""
    links = {}
    for position, turn in enumerate(turns):
        for earlier in turns[:position]:  # the last one is what stays
            if turn.client_id in (None, earlier.client_id):
                links[turn.event_id] = (earlier.event_id, turn.occurred_at)
    return links
