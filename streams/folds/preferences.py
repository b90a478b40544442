"""Likes and dislikes of a user: candidates, confirmed, revoked.

See docs/rules.md, "Long-term memory".
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from schemas.base import format_time
from schemas.events import PreferenceUpdate, WritePlan
from schemas.row import Row, replace
from streams.folds import ends
from streams.folds.ids import make_id, normalise
from streams.folds.order import MAX_UPDATES, NEVER, SENT, Place, inserted, sent_after
from streams.folds.revisions import add_evidence, revise
from streams.folds.rows import Effects, Refused, RowKind, Rows
from streams.folds.rules import Rules
from streams.folds.states import evidence_of

OPPOSITE = {"like": "dislike", "dislike": "like"}


class Update(Row, frozen=True):
    """A plan's update of a preference. `at`: the plan's time."""

    place: Place
    op: str
    at: int
    subject: str
    confidence: float
    note: str | None
    evidence: tuple[str, ...]
    unchanged_since: int | None = None
    session_id: str | None = None


class Preference(Row, frozen=True):
    """Unique by (domain, normalised subject, polarity): its id is made from them.

    It is `base` with the `updates` applied in order, among those of its opposite, and revoked by
    ends. One without a status is not known. `over`: the end that revoked it.
    """

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
    updates: tuple[Update, ...] = ()
    base: "Preference | None" = None
    over: ends.End | None = None
    session_id: str | None = None
    """Of its evidence (`ends.retraction`)."""


PREFERENCES = RowKind("p", Preference)
Pair = tuple[Preference, Preference]
"""A preference and its opposite; either may not be known."""


def apply(rows: Rows, plan: WritePlan, update: PreferenceUpdate, out: Effects) -> None:
    """One preference update of a plan. Raises Refused for a revoke of what is not known."""
    known = _find(rows, update, update.polarity)
    if update.op == "revoke" and not known.status:
        if update.unchanged_since is not None:
            return
        what = f"{update.polarity} of {update.subject!r} in {update.domain!r}"
        raise Refused("unknown_preference", f"preference_updates: no {what} to revoke")
    told = Update(
        out.place,
        update.op,
        plan.occurred_at,
        update.subject,
        update.confidence,
        update.note or None,
        evidence_of(plan, update.evidence_event_ids),
        update.unchanged_since,
        plan.session_id,
    )
    out.place = out.place._replace(ordinal=out.place.ordinal + 1)
    if _is_corrected(known, told):
        return
    opposite = _find(rows, update, OPPOSITE[update.polarity])
    is_last = not ends.is_marked(rows) and all(
        not one.over and (not one.updates or one.updates[-1].place < told.place)
        for one in (known, opposite)
    )
    put = replace(known, updates=inserted(known.updates, told))
    if is_last:
        plain = _after((known, opposite), told, rows, out.rules)
    else:
        plain = _folded((put, opposite), rows, out.rules)
    if len(put.updates) > MAX_UPDATES:
        oldest = replace(put, updates=put.updates[:1])
        base, _ = _folded((oldest, _blank(opposite)), rows, out.rules)
        put = replace(put, updates=put.updates[1:], base=replace(base, updates=(), base=None))
    reason = update.reason or plan.extractor.name
    for before, kept, after in ((known, put, plain[0]), (opposite, opposite, plain[1])):
        _put(rows, plan, before, kept, after, reason, told.evidence, out)


def _is_corrected(known: Preference, update: Update) -> bool:
    """As `states._is_corrected`."""
    since = update.unchanged_since
    return since is not None and update.place.rank != SENT and sent_after(known.updates, since)


def _after(pair: Pair, update: Update, rows: Rows, rules: Rules) -> Pair:
    """Both after one more update of the first, of which the ends know nothing yet."""
    known, opposite = pair
    is_known = known.status != ""
    since = update.unchanged_since
    if is_known and since is not None and known.updated_at > since:
        return pair
    if update.op == "revoke":
        return (_changed(known, update, rules, status="revoked") if is_known else known), opposite
    sure = update.op == "confirm" or known.status == "confirmed"
    after = _changed(
        known,
        update,
        rules,
        subject=known.subject if is_known else update.subject,
        status="confirmed" if sure else "candidate",
        confidence=update.confidence,
        note=update.note or known.note,
        said_at=max(update.at, known.said_at),
    )
    if update.op == "confirm" and opposite.status == "confirmed":
        over = ends.first_after(rows, _said(after), after.said_at, update.place)
        if over is None:
            opposite = _changed(opposite, update, rules, status="revoked")
    return after, opposite


def _changed(known: Preference, update: Update, rules: Rules, **fields: Any) -> Preference:
    evidence = add_evidence(known.evidence, update.evidence, rules)
    session_id = known.session_id
    if update.evidence and session_id != update.session_id:
        session_id = ends.SEVERAL if known.evidence else update.session_id
    after = replace(known, evidence=evidence, session_id=session_id, **fields)
    if replace(after, said_at=known.said_at, session_id=known.session_id) == known:
        return after  # a later `said_at` or another session alone is no change to speak of
    return replace(after, updated_at=update.at)


def _folded(pair: Pair, rows: Rows, rules: Rules) -> Pair:
    """Both as their updates make them, in order, of which the ends know nothing yet. Those of
    retracted events count only for a preference that has no others: it has ended."""
    if not ends.is_marked(rows):
        return _all_folded(pair, rows, rules)
    standing = [replace(one, updates=_standing(rows, one)) for one in pair]
    first, second = _all_folded((standing[0], standing[1]), rows, rules)
    if not first.status:
        first, _ = _all_folded((pair[0], _blank(pair[1])), rows, rules)
    if not second.status:
        second, _ = _all_folded((pair[1], _blank(pair[0])), rows, rules)
    return first, second


def _standing(rows: Rows, known: Preference) -> tuple[Update, ...]:
    return tuple(
        one for one in known.updates if ends.retraction(rows, one.evidence, one.session_id) is None
    )


def _all_folded(pair: Pair, rows: Rows, rules: Rules) -> Pair:
    first, second = (one.base or _blank(one) for one in pair)
    placed = sorted(
        ((update.place, number, update) for number in (0, 1) for update in pair[number].updates),
        key=lambda one: one[:2],
    )
    for _, number, update in placed:
        if number == 0:
            first, second = _after((first, second), update, rows, rules)
        else:
            second, first = _after((second, first), update, rows, rules)
    return first, second


def _blank(known: Preference) -> Preference:
    return replace(
        known, status="", confidence=0.0, note=None, evidence=(), said_at=NEVER, updates=(),
        base=None, over=None,
    )  # fmt: skip


def _put(
    rows: Rows,
    plan: WritePlan,
    before: Preference,
    kept: Preference,
    made: Preference,
    reason: str,
    evidence: tuple[str, ...],
    out: Effects,
) -> None:
    """Puts a preference as the updates of `kept` have `made` it. What is known to be over by then
    is revoked, with a revision of its own."""
    plain = replace(made, updates=kept.updates, base=kept.base, over=None)
    after = _ended(rows, plain, before.over, out.rules)
    if after == before or not (before.status or after.status):
        return
    rows.put(PREFERENCES.key(after.preference_id), after)
    is_over = after.over is not None and before.over is None
    _revise(plan, before, plain if is_over else after, reason, evidence, rows, out)
    if is_over and after.over is not None:
        _revise(plan, plain, after, after.over.reason, after.over.evidence, rows, out)


def _revise(
    plan: WritePlan,
    before: Preference,
    after: Preference,
    reason: str,
    evidence: tuple[str, ...],
    rows: Rows,
    out: Effects,
) -> None:
    entity = ("preference", after.preference_id, after.domain)
    was = document(before) if before.status else None
    op = "insert" if was is None else "revoke" if after.status == "revoked" else "update"
    at = plan.occurred_at
    revise(out, rows.key, entity, op, was, document(after), reason, evidence, at, plan.plan_id)


# --- ends -------------------------------------------------------------------------------------


def _held(rows: Rows) -> Iterator[ends.Held]:
    """What all preferences are of."""
    for preference_id in PREFERENCES.ids(rows):
        yield preference_id, _said(rows.peek(PREFERENCES.key(preference_id)))


def end(rows: Rows, plan: WritePlan, over: ends.End, out: Effects) -> None:
    """One of a plan's `ends`, for preferences: revokes those that it concerns."""
    if not set(OPPOSITE).intersection(over.families):
        return
    for preference_id in ends.concerned(over, plan, PREFERENCES, partial(_held, rows), out):
        known = rows.peek(PREFERENCES.key(preference_id))
        if not ends.speaks_of(over, _said(known)):
            continue
        is_late = known.updates and over.place[:4] < known.updates[-1].place[:4]
        if known.over is None and not is_late and not ends.is_marked(rows):
            after = _revoked_by(known, over, out.rules)
            if after is not known:
                rows.put(PREFERENCES.key(after.preference_id), after)
                _revise(plan, known, after, over.reason, over.evidence, rows, out)
            continue
        # an end before it was applied already, or what it confirmed since then opposes no more
        opposite = _row(rows, known, OPPOSITE[known.polarity])
        made = _folded((known, opposite), rows, out.rules)
        for before, one in zip((known, opposite), made, strict=True):
            _put(rows, plan, before, before, one, over.reason, over.evidence, out)


def settle(rows: Rows, plan: WritePlan, out: Effects) -> None:
    """All preferences as they are by the marks of events that a plan has changed."""
    mark = plan.event_updates[0]
    reason, evidence = mark.reason or plan.extractor.name, tuple(mark.evidence_event_ids)
    for preference_id in PREFERENCES.ids(rows):
        known = rows.peek(PREFERENCES.key(preference_id))
        made, _ = _folded((known, _row(rows, known, OPPOSITE[known.polarity])), rows, out.rules)
        _put(rows, plan, known, known, made, reason, evidence, out)


def evidence(rows: Rows) -> Iterator[ends.Event]:
    """The events on which preferences rest."""
    for _, known in PREFERENCES.scan(rows):
        for one in (known, *known.updates, known.base, known.over):
            if one is not None:
                yield from ends.events_of(one)


def _ended(rows: Rows, plain: Preference, before: ends.End | None, rules: Rules) -> Preference:
    """A preference as the earliest end that concerns it revokes it: remembered, or applied."""
    if not plain.status:
        return plain
    over = ends.first_after(rows, _said(plain), plain.said_at)
    is_before = before is not None and before.families and before.at > plain.said_at
    if (
        before is not None
        and is_before
        and not ends.retraction(rows, before.evidence, before.session_id)
    ):
        over = before if over is None else min(over, before, key=ends.End.order)
    taken = ends.retraction(rows, plain.evidence, plain.session_id)
    if taken is None and plain.session_id == ends.SEVERAL and plain.base is None:
        taken = ends.retraction_of(rows, plain.updates)
    if taken is not None:
        taken = replace(taken, at=max(taken.at, plain.said_at + 1))
        over = taken if over is None else min(over, taken, key=ends.End.order)
    return plain if over is None else _revoked_by(plain, over, rules)


def _revoked_by(known: Preference, over: ends.End, rules: Rules) -> Preference:
    """A preference revoked by an end, if it was said before that and still holds."""
    if known.status == "revoked" or over.at <= known.said_at:
        return known
    evidence = add_evidence(known.evidence, over.evidence, rules)
    updated_at = max(known.updated_at, over.told_at)
    return replace(known, status="revoked", evidence=evidence, updated_at=updated_at, over=over)


def _said(known: Preference) -> ends.Said:
    return ends.Said((known.polarity,), known.subject)


def _find(rows: Rows, update: PreferenceUpdate, polarity: str) -> Preference:
    return of_identity(rows, update.domain, update.subject, polarity)


def of_identity(rows: Rows, domain: str, subject: str, polarity: str) -> Preference:
    """The row of what makes a preference's id, or one that says that it is not known."""
    wanted = Preference("", domain, polarity, subject, "", 0.0, None, (), 0, NEVER)
    return _row(rows, wanted, polarity)


def _row(rows: Rows, like: Preference, polarity: str) -> Preference:
    subject = normalise(like.subject)
    made = make_id("preference", rows.tenant, rows.key, like.domain, subject, polarity)
    known = rows.get(PREFERENCES.key(made))
    return known or _blank(replace(like, preference_id=made, polarity=polarity))


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
