"""The links that are guessed: a turn answers the turn before it, of the same client (seed 003).

A turn that comes late, or ends at another time than it began, moves the links of those it now
stands between: a revision each (law 4).
"""

from streams.folds.ids import make_id
from streams.folds.index import Entry, Gap, insert_turn, remove_turn
from streams.folds.revisions import revise
from streams.folds.rows import Effects, Rows
from streams.folds.session_state import Facts

PROVISIONAL_CONFIDENCE = 0.5


def link(rows: Rows, turn: Facts, replaced: Facts | None, out: Effects) -> Gap:
    """The provisional reply_to of a turn and of those it now precedes. Returns its neighbours."""
    client = turn.client_id
    entry = (turn.occurred_at, turn.event_id, client)
    answered: Entry | None = None
    if replaced is not None:
        old = (replaced.occurred_at, replaced.event_id, replaced.client_id)
        if old == entry:
            return None, None
        answered = _unlink(rows, old, out)
    gap = previous, follower = insert_turn(rows, "", entry)
    before, after = insert_turn(rows, "=" + client, entry) if client else gap
    _answer(rows, entry, answered, before, out)
    if follower and not follower[2]:
        _answer(rows, follower, previous, entry, out)
    if client and after:
        _answer(rows, after, before, entry, out)
    return gap


def _unlink(rows: Rows, old: Entry, out: Effects) -> Entry | None:
    """A running turn ended at another time: what followed its old place follows what was before.
    Returns what it answered there."""
    before, after = remove_turn(rows, "", old)
    followers = [(after, before)] if after and not after[2] else []
    if old[2]:
        before, after = remove_turn(rows, "=" + old[2], old)
        followers += [(after, before)] if after else []
    for follower, now in followers:
        _answer(rows, follower, old, now, out)
    return before


def _answer(rows: Rows, of: Entry, was: Entry | None, now: Entry | None, out: Effects) -> None:
    """One turn's provisional reply_to, which may move (a revision) or go."""
    to = now or was
    if to is None or (was and now and was[1] == now[1]):
        return
    at, event_id, _ = of
    op = "put" if now else "remove"
    row = (op, rows.key, event_id, to[1], "reply_to", PROVISIONAL_CONFIDENCE, True, out.seq, at)
    out.rows.append(("links", at, row))
    out.seq += 1
    if was is not None:
        entity = ("link", make_id("reply_to", rows.tenant, rows.key, event_id), "reply_to")
        shape = {"from_event_id": event_id, "label": "reply_to"}
        before = {**shape, "to_event_id": was[1]}
        after = {**shape, "to_event_id": now[1]} if now else None
        cause = out.record.event_id  # type: ignore[attr-defined]
        when = out.record.occurred_at
        op = "update" if now else "remove"
        revise(out, rows.key, entity, op, before, after, "a late turn came between", [cause], when)
