"""The context graph as write plans grow it (seed 003 §4): links between events, and threads.

Provisional reply_to links belong to the session's fold; what a plan says stands over them.
"""

from schemas.events import ContextUpdates, LinkUpdate, ThreadUpdate, WritePlan
from schemas.row import Row
from streams.folds.ids import make_id
from streams.folds.revisions import revise
from streams.folds.rows import Effects, Rows
from streams.folds.states import evidence_of


class Member(Row, frozen=True):
    """An event's place in a thread, or a link: all there is to it is how sure it is."""

    confidence: float


def apply(rows: Rows, plan: WritePlan, updates: ContextUpdates, out: Effects) -> None:
    """The graph's updates of one plan."""
    for thread in updates.threads:
        evidence = evidence_of(plan, thread.evidence_event_ids)
        if thread.op == "merge_into":
            _merge(rows, plan, thread, evidence, out)
        else:
            assert thread.event_id
            put = thread.op == "put"
            confidence = thread.confidence if put else None
            where = (thread.thread_key, thread.event_id)
            _place(rows, plan, where, confidence, thread.reason, evidence, out)
    for link in updates.links:
        _link(rows, plan, link, out)


def _merge(
    rows: Rows, plan: WritePlan, thread: ThreadUpdate, evidence: tuple[str, ...], out: Effects
) -> None:
    assert thread.into
    reason = thread.reason or f"merged into {thread.into}"
    for name, member in list(rows.scan(f"x/{thread.thread_key}\x1f")):
        event_id = name.split("\x1f", 1)[1]
        there: Member | None = rows.get(f"x/{thread.into}\x1f{event_id}")
        confidence = max(member.confidence, there.confidence if there else 0.0)
        _place(rows, plan, (thread.thread_key, event_id), None, reason, evidence, out)
        _place(rows, plan, (thread.into, event_id), confidence, reason, evidence, out)


def _place(
    rows: Rows,
    plan: WritePlan,
    where: tuple[str, str],
    confidence: float | None,
    reason: str,
    evidence: tuple[str, ...],
    out: Effects,
) -> None:
    """Puts an event into a thread, or takes it out (confidence None)."""
    thread_key, event_id = where
    name = f"x/{thread_key}\x1f{event_id}"
    known: Member | None = rows.get(name)
    if (known.confidence if known else None) == confidence:
        return
    shape = {"thread_key": thread_key, "event_id": event_id}
    was = {**shape, "confidence": known.confidence} if known else None
    now = None if confidence is None else {**shape, "confidence": confidence}
    owner, at = plan.session_id or rows.key, plan.occurred_at
    op, stated = ("remove", known.confidence if known else 0.0) if now is None else (
        "put", confidence or 0.0)  # fmt: skip
    out.rows.append(("threads", at, (op, owner, event_id, thread_key, stated, out.seq, at)))
    out.seq += 1
    entity = ("thread", thread_key, None)
    reason = reason or plan.extractor.name
    revise(out, owner, entity, op, was, now, reason, evidence or (event_id,), at, plan.plan_id)
    if now is None:
        rows.delete(name)
    else:
        rows.put(name, Member(stated))


def _link(rows: Rows, plan: WritePlan, link: LinkUpdate, out: Effects) -> None:
    name = f"k/{link.from_event_id}\x1f{link.to_event_id}\x1f{link.label}"
    known: Member | None = rows.get(name)
    confidence = link.confidence if link.op == "put" else None
    if (known.confidence if known else None) == confidence:
        return
    ends = (link.from_event_id, link.to_event_id, link.label)
    shape = dict(zip(("from_event_id", "to_event_id", "label"), ends, strict=True))
    was = {**shape, "confidence": known.confidence} if known else None
    now = None if confidence is None else {**shape, "confidence": confidence}
    owner, at = plan.session_id or rows.key, plan.occurred_at
    stated = confidence if confidence is not None else known.confidence if known else 0.0
    out.rows.append(("links", at, (link.op, owner, *ends, stated, False, out.seq, at)))
    out.seq += 1
    evidence = evidence_of(plan, link.evidence_event_ids) or (link.from_event_id,)
    entity = ("link", make_id("link", rows.tenant, rows.key, *ends), link.label)
    reason = link.reason or plan.extractor.name
    revise(out, owner, entity, link.op, was, now, reason, evidence, at, plan.plan_id)
    if now is None:
        rows.delete(name)
    else:
        rows.put(name, Member(link.confidence))
