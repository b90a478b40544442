"""The context graph as write plans grow it: links between events, and threads of events.

They belong to the user: what one plan puts, another plan of that user can take away. Event ids are
unique in a session only, so beside each id stands the session its plan named; a plan that named
none speaks of that id in whatever session (docs/rules.md, Long-term memory). Provisional reply_to
links belong to the session's fold.

Rows of a user: `x/{thread_key}␟{event_id}` and `k/{from}␟{to}␟{label}`, each followed by
`␟{session_id}` where the session is known.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from schemas.events import ContextUpdates, LinkUpdate, ThreadUpdate, WritePlan
from schemas.row import Row
from streams.folds.ids import make_id
from streams.folds.revisions import revise
from streams.folds.rows import Effects, Rows
from streams.folds.states import evidence_of


class Member(Row, frozen=True):
    """An event's place in a thread, or a link: all there is to it is how sure it is."""

    confidence: float


class Change(NamedTuple):
    """Why an entry changes, and what tells of it."""

    plan: WritePlan
    reason: str
    evidence: tuple[str, ...]
    out: Effects


SEP = "\x1f"
Entry = tuple[str, ...]  # of a thread: key and event; of a link: from, to and label
Tell = Callable[[Rows, Change, Entry, str, float | None, float | None], None]


def apply(rows: Rows, plan: WritePlan, updates: ContextUpdates, out: Effects) -> None:
    """The graph's updates of one plan."""
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
            _update(rows, change, "x/", member, _put_or_not(thread), _tell_thread)
    for link in updates.links:
        evidence = evidence_of(plan, link.evidence_event_ids) or (link.from_event_id,)
        change = Change(plan, link.reason or plan.extractor.name, evidence, out)
        entry = (link.from_event_id, link.to_event_id, link.label)
        _update(rows, change, "k/", entry, _put_or_not(link), _tell_link)


def _put_or_not(update: ThreadUpdate | LinkUpdate) -> float | None:
    return update.confidence if update.op == "put" else None


def _update(
    rows: Rows, change: Change, prefix: str, entry: Entry, confidence: float | None, tell: Tell
) -> None:
    """Puts an entry, or takes it out (confidence None), in every session that is meant."""
    session = change.plan.session_id or ""
    known = _matching(rows, prefix, entry, session)
    for there in known:
        if there or not session or confidence is None:
            _set(rows, change, prefix, entry, there, confidence, tell)
        else:  # now its session is known
            _set(rows, change, prefix, entry, there, None, tell)
            _set(rows, change, prefix, entry, session, confidence, tell)
    if not known:
        _set(rows, change, prefix, entry, session, confidence, tell)


def _matching(rows: Rows, prefix: str, entry: Entry, session: str) -> list[str]:
    """The sessions under which an entry is known, that can be the one meant; "": under none."""
    either = dict.fromkeys((session, ""))
    known = [one for one in either if rows.get(_name(prefix, entry, one)) is not None]
    if session:
        return known
    name = _name(prefix, entry, "") + SEP
    return [*known, *(found[len(name) :] for found in rows.names(name))]


def _name(prefix: str, entry: Entry, session: str) -> str:
    return prefix + SEP.join((*entry, session) if session else entry)


def _set(
    rows: Rows,
    change: Change,
    prefix: str,
    entry: Entry,
    session: str,
    confidence: float | None,
    tell: Tell,
) -> None:
    name = _name(prefix, entry, session)
    known: Member | None = rows.get(name)
    before = known.confidence if known else None
    if before == confidence:
        return
    tell(rows, change, entry, session, before, confidence)
    if confidence is None:
        rows.delete(name)
    else:
        rows.put(name, Member(confidence))


def _merge(rows: Rows, thread: ThreadUpdate, change: Change) -> None:
    """Moves a thread's entries into another, where the greater confidence stands."""
    assert thread.into
    moved: Member
    for name, moved in list(rows.scan(f"x/{thread.thread_key}{SEP}")):
        _, event_id, session = f"{name}{SEP}".split(SEP)[:3]
        told = change._replace(evidence=change.evidence or (event_id,))
        source, target = (thread.thread_key, event_id), (thread.into, event_id)
        _set(rows, told, "x/", source, session, None, _tell_thread)
        known = _matching(rows, "x/", target, session)
        for there in known:
            member: Member = rows.get(_name("x/", target, there))
            surest = max(moved.confidence, member.confidence)
            if session and not there:
                _set(rows, told, "x/", target, there, None, _tell_thread)
            _set(rows, told, "x/", target, there or session, surest, _tell_thread)
        if not known:
            _set(rows, told, "x/", target, session, moved.confidence, _tell_thread)


# --- what tells of a change -------------------------------------------------------------------


def _tell_thread(
    rows: Rows, change: Change, entry: Entry, session: str, was: float | None, now: float | None
) -> None:
    thread_key, event_id = entry
    out, at = change.out, change.plan.occurred_at
    op, stated = _op(was, now)
    row = (op, rows.key, event_id, thread_key, stated, out.seq, at, session or None)
    out.rows.append(("threads", at, row))
    out.seq += 1
    shape = {"thread_key": thread_key, "event_id": event_id}
    _revise(rows, change, ("thread", thread_key, None), op, shape, session, was, now)


def _tell_link(
    rows: Rows, change: Change, entry: Entry, session: str, was: float | None, now: float | None
) -> None:
    from_id, to_id, label = entry
    out, at = change.out, change.plan.occurred_at
    op, stated = _op(was, now)
    row = (op, rows.key, from_id, to_id, label, stated, False, out.seq, at, session or None)
    out.rows.append(("links", at, row))
    out.seq += 1
    link_id = make_id("link", rows.tenant, rows.key, *entry, *((session,) if session else ()))
    shape = {"from_event_id": from_id, "to_event_id": to_id, "label": label}
    _revise(rows, change, ("link", link_id, label), op, shape, session, was, now)


def _op(was: float | None, now: float | None) -> tuple[str, float]:
    """A row's op and the confidence it states: of what is removed, the one it had."""
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
    before, after = (None if one is None else {**shape, "confidence": one} for one in (was, now))
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
