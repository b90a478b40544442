"""What a turn changes in a session's status, and the revisions that tell of it."""

from typing import Any

from schemas.row import replace
from streams.folds import task
from streams.folds.index import Gap
from streams.folds.revisions import revise
from streams.folds.rows import Effects, Rows
from streams.folds.session_state import Facts, Session, claim_document, status_of

Waiting = tuple[tuple[str, int, bool], ...]
LatestTurn = tuple[int, str, str | None] | None


def answer_questions(
    rows: Rows, header: Session, was: LatestTurn, now: LatestTurn, out: Effects
) -> tuple[Session, Waiting]:
    """Tasks go on that asked before the latest turn (or end, if that was their last step), and
    wait again if it was a running turn that ended earlier. Returns the header, which keeps every
    question that no ended turn answers, and the questions as they stand."""
    waiting = header.waiting
    answered = (one[0] for one in waiting if is_after(was, one[1]) != is_after(now, one[1]))
    for task_id in dict.fromkeys(answered):
        task.refold(rows, task_id, now[0] if now else None, out.rules)
        out.tasks[task_id] = None
        others = (one for one in waiting if one[0] != task_id)
        waiting = (*others, *((task_id, *one) for one in task.questions(rows, task_id)))
    kept = tuple(one for one in waiting if not is_after(header.latest, one[1]))
    return replace(header, waiting=kept), waiting


def is_after(latest: LatestTurn, asked: int) -> bool:
    return latest is not None and latest[0] > asked


def revise_turn(
    before: Session, after: Session, turn: Facts, neighbours: Gap, out: Effects
) -> None:
    at, evidence = turn.occurred_at, [turn.event_id]
    was, now = status_of(before), status_of(after)
    previous, follower = neighbours
    expiry = out.rules.session_expiry
    if previous and at - previous[0] > expiry and (follower or was != "closed"):
        back_to = was if follower else "active"
        _revise_gap(out, was, back_to, previous[0], at, evidence)
        was = back_to
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
    """What a session is about, and for, once a greater claim has come."""
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
    out: Effects, was: str, back_to: str, left: int, back: int, evidence: list[str]
) -> None:
    """Nobody wrote the expiry when it came; the turn that shows the gap tells of it. A late one
    tells of the past: what stands now is what it leads back to."""
    expired = {"status": "closed", "closed_reason": "expired"}
    reason = f"no turn for {out.rules.session_expiry_hours:g} h"
    end = left + out.rules.session_expiry
    revise_status(out, status_document(was), expired, "expire", reason, evidence, end)
    reason = "a turn after the gap"
    revise_status(out, expired, status_document(back_to), "reopen", reason, evidence, back)


def status_document(status: str) -> dict[str, Any]:
    """A status as the session's document and its revisions show it."""
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
