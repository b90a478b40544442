"""The context graph from write plans: links between events, and threads of events.

They belong to the user: any plan of that user can remove them. Event ids are unique per session
only, so each entry has the session of its plan; a plan without a session refers to the id in any
session (docs/rules.md, Long-term memory). Provisional reply_to links belong to the session's fold.

Rows of a user: `x/{thread_key}␟{event_id}` and `k/{from}␟{to}␟{label}`, each followed by
`␟{session_id}` where the session is known.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from schemas.events import ContextUpdates, LinkUpdate, ThreadUpdate, WritePlan
from schemas.generated.history import Link, Thread
from schemas.row import Row
from streams.folds.effects import CHANGE, SEP, Effects, RowKey, RowKind, Rows
from streams.folds.ids import make_id
from streams.folds.revisions import revise
from streams.folds.states import evidence_of


class Member(Row, frozen=True):
    """An event in a thread, or a link; only its confidence is stored."""

    confidence: float


class Change(NamedTuple):
    """Cause of a change of an entry."""

    plan: WritePlan
    reason: str
    evidence: tuple[str, ...]
    out: Effects


THREADS = RowKind("x", Member)
LINKS = RowKind("k", Member)

Entry = tuple[str, ...]  # of a thread: key and event; of a link: from, to and label
Tell = Callable[[Rows, Change, Entry, str, float | None, float | None], None]


def apply(rows: Rows, plan: WritePlan, updates: ContextUpdates, out: Effects) -> None:
    """Applies the graph updates of one plan."""
    for thread in updates.threads:
        evidence = evidence_of(plan, thread.evidence_event_ids)
        if thread.op == "merge_into":
            reason = thread.reason or f"merged into {thread.into}"
            _merge(rows, thread, Change(plan, reason, evidence, out))
        else:
            assert thread.event_id
            reason = thread.reason or plan.extractor.name
            change = Change(plan, reason, evidence or (thread.event_id,), out)
            member = (thread.thread_key, thread.event_id)
            _update(rows, change, THREADS, member, _put_or_not(thread), _tell_thread)
    for link in updates.links:
        evidence = evidence_of(plan, link.evidence_event_ids) or (link.from_event_id,)
        change = Change(plan, link.reason or plan.extractor.name, evidence, out)
        entry = (link.from_event_id, link.to_event_id, link.label)
        _update(rows, change, LINKS, entry, _put_or_not(link), _tell_link)


def _put_or_not(update: ThreadUpdate | LinkUpdate) -> float | None:
    return update.confidence if update.op == "put" else None


def _update(
    rows: Rows,
    change: Change,
    kind: RowKind[Member],
    entry: Entry,
    confidence: float | None,
    tell: Tell,
) -> None:
    """Puts an entry, or removes it (confidence None), in every matching session."""
    session = change.plan.session_id or ""
    sessions = _matching(rows, kind, entry, session)
    for entry_session in sessions:
        if entry_session or not session or confidence is None:
            _set(rows, change, kind, entry, entry_session, confidence, tell)
        else:  # now its session is known
            _set(rows, change, kind, entry, entry_session, None, tell)
            _set(rows, change, kind, entry, session, confidence, tell)
    if not sessions:
        _set(rows, change, kind, entry, session, confidence, tell)


def _matching(rows: Rows, kind: RowKind[Member], entry: Entry, session: str) -> list[str]:
    """Returns the sessions of stored entries that match; "" for an entry without a session."""
    candidates = dict.fromkeys((session, ""))
    matches = [
        candidate for candidate in candidates if rows.get(_key(kind, entry, candidate)) is not None
    ]
    if session:
        return matches
    return [*matches, *kind.ids(rows, *entry)]


def _key(kind: RowKind[Member], entry: Entry, session: str) -> RowKey[Member]:
    return kind.key(*entry, session) if session else kind.key(*entry)


def _set(
    rows: Rows,
    change: Change,
    kind: RowKind[Member],
    entry: Entry,
    session: str,
    confidence: float | None,
    tell: Tell,
) -> None:
    key = _key(kind, entry, session)
    member = rows.get(key)
    before = member.confidence if member else None
    if before == confidence:
        return
    tell(rows, change, entry, session, before, confidence)
    if confidence is None:
        rows.delete(key)
    else:
        rows.put(key, Member(confidence))


def _merge(rows: Rows, thread: ThreadUpdate, change: Change) -> None:
    """Moves a thread's entries into another; the greater confidence counts."""
    assert thread.into
    for key, moved in list(THREADS.scan(rows, thread.thread_key)):
        change.out.spend(2 * CHANGE)  # one thread loses it, the other gets it
        _, event_id, session = f"{key}{SEP}".split(SEP)[:3]
        entry_change = change._replace(evidence=change.evidence or (event_id,))
        source, target = (thread.thread_key, event_id), (thread.into, event_id)
        _set(rows, entry_change, THREADS, source, session, None, _tell_thread)
        sessions = _matching(rows, THREADS, target, session)
        for target_session in sessions:
            member = rows[_key(THREADS, target, target_session)]
            confidence = max(moved.confidence, member.confidence)
            if session and not target_session:
                _set(rows, entry_change, THREADS, target, target_session, None, _tell_thread)
            _set(
                rows,
                entry_change,
                THREADS,
                target,
                target_session or session,
                confidence,
                _tell_thread,
            )
        if not sessions:
            _set(rows, entry_change, THREADS, target, session, moved.confidence, _tell_thread)


# --- what tells of a change -------------------------------------------------------------------


def _tell_thread(
    rows: Rows, change: Change, entry: Entry, session: str, was: float | None, now: float | None
) -> None:
    thread_key, event_id = entry
    out, at = change.out, change.plan.occurred_at
    op, stated = _op(was, now)
    out.history.append(
        Thread(
            op=op,
            owner_id=rows.key,
            event_id=event_id,
            thread_key=thread_key,
            confidence=stated,
            seq=out.seq,
            occurred_at=at,
            session_id=session or None,
        )
    )
    out.seq += 1
    shape = {"thread_key": thread_key, "event_id": event_id}
    _revise(rows, change, ("thread", thread_key, None), op, shape, session, was, now)


def _tell_link(
    rows: Rows, change: Change, entry: Entry, session: str, was: float | None, now: float | None
) -> None:
    from_id, to_id, label = entry
    out, at = change.out, change.plan.occurred_at
    op, stated = _op(was, now)
    out.history.append(
        Link(
            op=op,
            owner_id=rows.key,
            from_event_id=from_id,
            to_event_id=to_id,
            label=label,
            confidence=stated,
            provisional=False,
            seq=out.seq,
            occurred_at=at,
            session_id=session or None,
        )
    )
    out.seq += 1
    link_id = make_id("link", rows.tenant, rows.key, *entry, *((session,) if session else ()))
    shape = {"from_event_id": from_id, "to_event_id": to_id, "label": label}
    _revise(rows, change, ("link", link_id, label), op, shape, session, was, now)


def _op(was: float | None, now: float | None) -> tuple[Literal["put", "remove"], float]:
    """Returns the op and confidence of a history row; a removal has the earlier confidence."""
    return ("remove", was or 0.0) if now is None else ("put", now)


def _revise(
    rows: Rows,
    change: Change,
    entity: tuple[str, str, str | None],
    op: str,
    shape: dict[str, Any],
    session: str,
    was: float | None,
    now: float | None,
) -> None:
    if session:
        shape = {**shape, "session_id": session}
    before, after = (
        None if confidence is None else {**shape, "confidence": confidence}
        for confidence in (was, now)
    )
    plan = change.plan
    revise(
        change.out,
        rows.key,
        entity,
        op,
        before,
        after,
        change.reason,
        change.evidence,
        plan.occurred_at,
        plan.plan_id,
    )
