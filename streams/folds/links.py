"""The links that are guessed: a turn answers the turn before it, of the same client (seed 003).

A turn that comes late, or ends at another time than it began, moves the links of those it now
stands between: a revision each (law 4).
"""

from streams.folds.ids import make_id
from streams.folds.index import (
    Block,
    Entry,
    Gap,
    Newest,
    check_turn,
    insert_turn,
    remove_turn,
)
from streams.folds.revisions import revise
from streams.folds.rows import Effects, Rows
from streams.folds.session_state import Facts

PROVISIONAL_CONFIDENCE = 0.5


def link(
    rows: Rows, newest: Newest, turn: Facts, check: bytes, replaced: Facts | None, out: Effects
) -> tuple[Newest, Gap, Block]:
    """The provisional reply_to of a turn and of those it now precedes, as `index.insert_turn`
    returns it: the newest turns, its neighbours, and those that are no longer among the newest."""
    client = turn.client_id
    entry = (turn.occurred_at, turn.event_id, client, check)
    answered: Entry | None = None
    if replaced is not None:
        old = (replaced.occurred_at, replaced.event_id, replaced.client_id, b"")
        if old[:3] == entry[:3]:
            return check_turn(newest, turn.event_id, check), (None, None), ()
        newest, answered = _unlink(rows, newest, old, out)
    newest, gap, left = insert_turn(rows, "", newest, entry)
    previous, follower = gap
    before, after = _insert_for_client(rows, entry) if client else gap
    _answer(rows, entry, answered, before, out)
    if follower and not follower[2]:
        _answer(rows, follower, previous, entry, out)
    if client and after:
        _answer(rows, after, before, entry, out)
    return newest, gap, left


def _insert_for_client(rows: Rows, entry: Entry) -> Gap:
    name = f"o/={entry[2]}"
    known = rows.get(name) or Newest()
    newest, gap, _ = insert_turn(rows, f"={entry[2]}", known, (*entry[:3], b""))
    rows.put(name, newest)
    return gap


def _remove_for_client(rows: Rows, entry: Entry) -> Gap:
    name = f"o/={entry[2]}"
    known: Newest = rows.get(name) or Newest()
    newest, gap = remove_turn(rows, f"={entry[2]}", known, entry)
    if newest is not known:
        rows.put(name, newest)
    return gap


def _unlink(rows: Rows, newest: Newest, old: Entry, out: Effects) -> tuple[Newest, Entry | None]:
    """A running turn ended at another time: what followed its old place follows what was before.
    Returns the newest turns and what it answered there."""
    newest, (before, after) = remove_turn(rows, "", newest, old)
    followers = [(after, before)] if after and not after[2] else []
    if old[2]:
        before, after = _remove_for_client(rows, old)
        followers += [(after, before)] if after else []
    for follower, now in followers:
        _answer(rows, follower, old, now, out)
    return newest, before


def _answer(rows: Rows, of: Entry, was: Entry | None, now: Entry | None, out: Effects) -> None:
    """One turn's provisional reply_to, which may move (a revision) or go."""
    to = now or was
    if to is None or (was and now and was[1] == now[1]):
        return
    at, event_id, _, _ = of
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
