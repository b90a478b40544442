"""Provisional links: a turn replies to the turn before it, of the same client.

A late turn, or a turn that ends at another time than it started, moves the links of its neighbours,
each with a revision.
"""

from schemas.generated.history import Link
from streams.folds.effects import Effects, RowKind, Rows
from streams.folds.ids import make_id
from streams.folds.revisions import revise
from streams.folds.seen_ids import (
    NEWEST,
    Block,
    Entry,
    Gap,
    Newest,
    check_turn,
    insert_turn,
    remove_turn,
)
from streams.folds.session_state import Facts

PROVISIONAL_CONFIDENCE = 0.5
LOST_LINKS = RowKind("n", tuple[str, ...])
LOST = LOST_LINKS.key("")
"""Turns that lost their link, so that a restored link has a revision."""
MOST_LOST = 64


def link(
    rows: Rows, newest: Newest, turn: Facts, check: bytes, replaced: Facts | None, out: Effects
) -> tuple[Newest, Gap, Block]:
    """Links a turn and its followers. Returns, as `index.insert_turn`, the newest turns, the turn's
    neighbours, and the turns that are no longer among the newest."""
    client = turn.client_id
    entry = (turn.occurred_at, turn.event_id, client, check)
    if replaced is None:
        newest, gap, overflow = insert_turn(rows, "", newest, entry)
        previous, follower = gap
        before, after = _insert_for_client(rows, entry) if client else gap
        _answer(rows, entry, None, before, out, is_new=True)
        if follower and not follower[2]:
            _answer(rows, follower, previous, entry, out)
        if client and after:
            _answer(rows, after, before, entry, out)
        return newest, gap, overflow
    old = (replaced.occurred_at, replaced.event_id, replaced.client_id, b"")
    if old[:3] == entry[:3]:
        return check_turn(newest, turn.event_id, check), (None, None), ()
    return _move(rows, newest, old, entry, out)


def _move(
    rows: Rows, newest: Newest, old: Entry, entry: Entry, out: Effects
) -> tuple[Newest, Gap, Block]:
    """Moves a running turn that ended at another time or for another client. Its link and the links
    around its old and new place change once each."""
    moves: dict[str, tuple[Entry, Entry | None, Entry | None]] = {}

    def move(reply: Entry, was: Entry | None, now: Entry | None) -> None:
        moves[reply[1]] = (reply, moves[reply[1]][1] if reply[1] in moves else was, now)

    newest, (before, after) = remove_turn(rows, "", newest, old)
    if after and not after[2]:
        move(after, old, before)
    if old[2]:
        before, after = _remove_for_client(rows, old)
        if after:
            move(after, old, before)
    answered = before
    newest, gap, overflow = insert_turn(rows, "", newest, entry)
    previous, follower = gap
    before, after = _insert_for_client(rows, entry) if entry[2] else gap
    if follower and not follower[2]:
        move(follower, previous, entry)
    if entry[2] and after:
        move(after, before, entry)
    _answer(rows, entry, answered, before, out, is_moved=old[0] != entry[0])
    for reply, was, now in moves.values():
        _answer(rows, reply, was, now, out)
    return newest, gap, overflow


def _insert_for_client(rows: Rows, entry: Entry) -> Gap:
    client = f"={entry[2]}"
    key = NEWEST.key(client)
    stored = rows.get(key) or Newest()
    newest, gap, _ = insert_turn(rows, client, stored, (*entry[:3], b""))
    rows.put(key, newest)
    return gap


def _remove_for_client(rows: Rows, entry: Entry) -> Gap:
    client = f"={entry[2]}"
    key = NEWEST.key(client)
    stored = rows.get(key) or Newest()
    newest, gap = remove_turn(rows, client, stored, entry)
    if newest is not stored:
        rows.put(key, newest)
    return gap


def _answer(
    rows: Rows,
    reply: Entry,
    was: Entry | None,
    now: Entry | None,
    out: Effects,
    is_new: bool = False,
    is_moved: bool = False,
) -> None:
    """Sets a turn's provisional reply_to. A moved, lost or restored link has a revision. `is_new`:
    the turn's first link. `is_moved`: the turn, and so its link, has another time."""
    to = now or was
    if to is None:
        return
    is_same = was is not None and now is not None and was[1] == now[1]
    if is_same and not is_moved:
        return
    at, event_id, _, _ = reply
    lost = () if is_new else rows.get(LOST) or ()
    came_back = was is None and event_id in lost
    out.history.append(
        Link(  # by position, as in `log.turn`
            "put" if now else "remove",
            rows.key,
            event_id,
            to[1],
            "reply_to",
            PROVISIONAL_CONFIDENCE,
            True,
            out.seq,
            at,
            rows.key,
        )
    )
    out.seq += 1
    if (was is not None and not is_same) or came_back:
        entity = ("link", make_id("reply_to", rows.tenant, rows.key, event_id), "reply_to")
        shape = {"from_event_id": event_id, "label": "reply_to"}
        before = {**shape, "to_event_id": was[1]} if was else None
        after = {**shape, "to_event_id": now[1]} if now else None
        cause = out.record.event_id  # type: ignore[attr-defined]
        when = out.record.occurred_at
        op = "insert" if was is None else "update" if now else "remove"
        if op != "update":
            rest = tuple(lost_id for lost_id in lost if lost_id != event_id)
            rows.put(LOST, (*rest, event_id)[-MOST_LOST:] if now is None else rest)
        revise(out, rows.key, entity, op, before, after, "a late turn came between", [cause], when)
