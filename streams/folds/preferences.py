"""Likes and dislikes of a user: candidates, confirmed, revoked.

See docs/rules.md, "Long-term memory".
"""

from typing import Any

from schemas.base import format_time
from schemas.events import EndUpdate, PreferenceUpdate, WritePlan
from schemas.row import Row, replace
from streams.folds import ends
from streams.folds.ids import make_id, normalise
from streams.folds.revisions import add_evidence, revise
from streams.folds.row_keys import RowKind
from streams.folds.rows import Effects, Refused, Rows
from streams.folds.states import evidence_of

OPPOSITE = {"like": "dislike", "dislike": "like"}


class Preference(Row, frozen=True):
    """Unique by (domain, normalised subject, polarity): its id is made from them."""

    preference_id: str
    domain: str
    polarity: str
    subject: str
    status: str
    confidence: float
    note: str | None
    evidence: tuple[str, ...]
    updated_at: int
    said_at: int = 0
    """The latest time of a plan that made it a candidate or confirmed it."""


PREFERENCES = RowKind("p", Preference)


def apply(rows: Rows, plan: WritePlan, update: PreferenceUpdate, out: Effects) -> None:
    """One preference update of a plan. Raises Refused for a revoke of what is not known."""
    known = _find(rows, update, update.polarity)
    since = update.unchanged_since
    if since is not None and (update.op == "revoke" if known is None else known.updated_at > since):
        return
    if update.op == "revoke":
        if known is None:
            what = f"{update.polarity} of {update.subject!r} in {update.domain!r}"
            raise Refused("unknown_preference", f"preference_updates: no {what} to revoke")
        _put(rows, plan, update, known, replace(known, status="revoked"), out)
        return
    status = "confirmed" if update.op == "confirm" else "candidate"
    if known is not None and known.status == "confirmed":
        status = "confirmed"  # a candidate never demotes
    blank = Preference(
        _id(rows, update, update.polarity), update.domain, update.polarity, update.subject,
        status, 0.0, None, (), plan.occurred_at,
    )  # fmt: skip
    fresh = replace(
        known or blank,
        status=status,
        confidence=update.confidence,
        note=update.note or (known or blank).note,
        said_at=max(plan.occurred_at, known.said_at if known else plan.occurred_at),
    )
    put = _put(rows, plan, update, known, fresh, out)
    over = ends.first_after(rows, _said(put), put.said_at)
    if over is not None:
        _end(rows, plan, put, over, out)
        return
    opposite = _find(rows, update, OPPOSITE[update.polarity])
    if update.op == "confirm" and opposite is not None and opposite.status == "confirmed":
        _put(rows, plan, update, opposite, replace(opposite, status="revoked"), out)


def end(rows: Rows, plan: WritePlan, ordinal: int, update: EndUpdate, out: Effects) -> None:
    """One of a plan's `ends`, for preferences: revokes those that it concerns."""
    over = ends.of(plan, ordinal, update)
    if not set(OPPOSITE).intersection(update.families):
        return
    for preference_id in PREFERENCES.ids(rows):
        known = rows.peek(PREFERENCES.key(preference_id))
        if known.polarity in update.families and ends.concerns(over, _said(known)):
            _end(rows, plan, known, over, out)


def _said(known: Preference) -> ends.Said:
    return ends.Said((known.polarity,), known.subject)


def _end(rows: Rows, plan: WritePlan, known: Preference, over: ends.End, out: Effects) -> None:
    """Revokes a preference that was said before the end."""
    if known.status == "revoked" or over.at <= known.said_at:
        return
    after = replace(
        known,
        status="revoked",
        evidence=add_evidence(known.evidence, over.evidence, out.rules),
        updated_at=plan.occurred_at,
    )
    rows.put(PREFERENCES.key(after.preference_id), after)
    entity, was, now = ("preference", after.preference_id, after.domain), known, after
    at, reason = plan.occurred_at, over.reason
    revise(out, rows.key, entity, "revoke", document(was), document(now), reason, over.evidence,
           at, plan.plan_id)  # fmt: skip


def _id(rows: Rows, update: PreferenceUpdate, polarity: str) -> str:
    subject = normalise(update.subject)
    return make_id("preference", rows.tenant, rows.key, update.domain, subject, polarity)


def _find(rows: Rows, update: PreferenceUpdate, polarity: str) -> Preference | None:
    return rows.get(PREFERENCES.key(_id(rows, update, polarity)))


def _put(
    rows: Rows,
    plan: WritePlan,
    update: PreferenceUpdate,
    before: Preference | None,
    after: Preference,
    out: Effects,
) -> Preference:
    """Writes what changed; a later `said_at` alone is no change to speak of."""
    evidence = evidence_of(plan, update.evidence_event_ids)
    after = replace(after, evidence=add_evidence(after.evidence, evidence, out.rules))
    if before is not None and replace(after, said_at=before.said_at) == before:
        if after != before:
            rows.put(PREFERENCES.key(after.preference_id), after)
        return after
    after = replace(after, updated_at=plan.occurred_at)
    rows.put(PREFERENCES.key(after.preference_id), after)
    entity = ("preference", after.preference_id, after.domain)
    op = "insert" if before is None else "revoke" if after.status == "revoked" else "update"
    was = document(before) if before else None
    reason = update.reason or plan.extractor.name
    at = plan.occurred_at
    revise(out, rows.key, entity, op, was, document(after), reason, evidence, at, plan.plan_id)
    return after


def document(preference: Preference) -> dict[str, Any]:
    """A preference as revisions and replies show it (schemas.memory.Preference)."""
    return {
        "preference_id": preference.preference_id,
        "domain": preference.domain,
        "polarity": preference.polarity,
        "subject": preference.subject,
        "status": preference.status,
        "confidence": preference.confidence,
        "note": preference.note,
        "evidence_event_ids": list(preference.evidence),
        "updated_at": format_time(preference.updated_at),
    }
