"""Changes of a session's status by a turn, with their revisions."""

from typing import Any

from schemas.row import replace
from streams.folds import task
from streams.folds.effects import Effects, Rows
from streams.folds.revisions import revise
from streams.folds.seen_ids import Gap
from streams.folds.session_state import Facts, Session, claim_document, status_of

Waiting = tuple[tuple[str, int, bool], ...]
LatestTurn = tuple[int, str, str | None] | None


def answer_questions(
    rows: Rows, header: Session, was: LatestTurn, now: LatestTurn, out: Effects
) -> tuple[Session, Waiting]:
    """Continues (or ends, after their last step) the tasks with a question before the latest turn;
    they wait again if that was a running turn that ended earlier. Returns the header with every
    question that no ended turn answers, and the current questions."""
    waiting = header.waiting
    answered = (
        question[0]
        for question in waiting
        if is_after(was, question[1]) != is_after(now, question[1])
    )
    for task_id in dict.fromkeys(answered):
        task.refold(rows, task_id, now[0] if now else None, out.rules)
        out.tasks[task_id] = None
        rest = (question for question in waiting if question[0] != task_id)
        waiting = (*rest, *((task_id, *question) for question in task.questions(rows, task_id)))
    unanswered = tuple(question for question in waiting if not is_after(header.latest, question[1]))
    return replace(header, waiting=unanswered), waiting


def is_after(latest: LatestTurn, question_at: int) -> bool:
    return latest is not None and latest[0] > question_at


def revise_turn(
    before: Session, after: Session, turn: Facts, neighbours: Gap, out: Effects
) -> None:
    at, evidence = turn.occurred_at, [turn.event_id]
    was, now = status_of(before), status_of(after)
    previous, follower = neighbours
    expiry = out.rules.session_expiry
    if previous and at - previous[0] > expiry and (follower or was != "closed"):
        reopened = was if follower else "active"
        _revise_gap(out, was, reopened, previous[0], at, evidence)
        was = reopened
    if follower and follower[0] - at > expiry:
        _revise_gap(out, was, was, at, follower[0], evidence)
    if was != now:
        is_named = now != "active" and after.latest is not None and after.latest[2] == now
        reason = "the latest turn says so" if is_named else "a turn came"
        revise_status(
            out, status_document(was), status_document(now), "update", reason, evidence, at
        )
    revise_claims(before, after, evidence, at, out)


def revise_claims(
    before: Session, after: Session, evidence: list[str], at: int, out: Effects
) -> None:
    """Appends revisions of the session's subject and object after a greater claim."""
    if before.subject is after.subject and before.object is after.object:
        return
    for kind in ("subject", "object"):
        revise(
            out,
            out.owner,
            ("session", out.owner, kind),
            "update",
            claim_document(getattr(before, kind)),
            claim_document(getattr(after, kind)),
            "a greater claim",
            evidence,
            at,
        )


def _revise_gap(
    out: Effects, was: str, reopened: str, gap_start: int, gap_end: int, evidence: list[str]
) -> None:
    """Appends the expiry and the reopening of a gap between turns: expiry is not written when it
    happens. After a late turn the status returns to `reopened`."""
    expired = {"status": "closed", "closed_reason": "expired"}
    reason = f"no turn for {out.rules.session_expiry_hours:g} h"
    end = gap_start + out.rules.session_expiry
    revise_status(out, status_document(was), expired, "expire", reason, evidence, end)
    reason = "a turn after the gap"
    revise_status(out, expired, status_document(reopened), "reopen", reason, evidence, gap_end)


def status_document(status: str) -> dict[str, Any]:
    """Returns the status fields of the session's document and revisions."""
    reason = "closed by the turn" if status == "closed" else None
    return {"status": status, "closed_reason": reason}


def revise_status(
    out: Effects,
    before: dict[str, Any],
    after: dict[str, Any],
    op: str,
    reason: str,
    evidence: list[str],
    at: int,
) -> None:
    entity = ("session", out.owner, "status")
    revise(out, out.owner, entity, op, before, after, reason, evidence, at)
