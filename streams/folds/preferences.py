"""Preferences of a user: candidates, confirmed, revoked (docs/rules.md, "Long-term memory")."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from schemas.base import format_time
from schemas.events import PreferenceUpdate, WritePlan
from schemas.row import Row, replace
from streams.folds import end_facts
from streams.folds.constants import Rules
from streams.folds.effects import CHANGE, Effects, Refused, RowKind, Rows
from streams.folds.ids import make_id, normalise
from streams.folds.plan_order import (
    MAX_UPDATES,
    NEVER,
    SENT,
    Place,
    inserted,
    is_of_rules,
    sent_after,
)
from streams.folds.revisions import add_evidence, revise
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
    """Unique by (domain, normalised subject, polarity); its id is derived from them.

    It is `base` with the `updates` applied in order, together with the updates of its opposite, and
    revoked by ends. An empty status means not stored. `over` is the end that revoked it.
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
    over: end_facts.End | None = None
    session_id: str | None = None
    """Session of its evidence (`ends.retraction`)."""


PREFERENCES = RowKind("p", Preference)


def of_rules(rows: Rows) -> Iterator[str]:
    """Ids of the preferences that only the rules have written."""
    for _, preference in PREFERENCES.scan(rows):
        if is_of_rules(preference.updates, has_base=preference.base is not None):
            yield preference.preference_id


Pair = tuple[Preference, Preference]
"""A preference and its opposite; either may have an empty status."""


def apply(rows: Rows, plan: WritePlan, update: PreferenceUpdate, out: Effects) -> None:
    """Applies a preference update of a plan. Raises Refused for revoking an unknown preference."""
    preference = _find(rows, update, update.polarity)
    if update.op == "revoke" and not preference.status:
        if update.unchanged_since is not None:
            return
        description = f"{update.polarity} of {update.subject!r} in {update.domain!r}"
        raise Refused("unknown_preference", f"preference_updates: no {description} to revoke")
    change = Update(
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
    if _is_corrected(preference, change):
        return
    opposite = _find(rows, update, OPPOSITE[update.polarity])
    is_last = not end_facts.is_marked(rows) and all(
        not row.over and (not row.updates or row.updates[-1].place < change.place)
        for row in (preference, opposite)
    )
    put = replace(preference, updates=inserted(preference.updates, change))
    if is_last:
        plain = _after((preference, opposite), change, rows, out.rules)
    else:
        plain = _folded((put, opposite), rows, out.rules)
    if len(put.updates) > MAX_UPDATES:
        oldest = replace(put, updates=put.updates[:1])
        base, _ = _folded((oldest, _blank(opposite)), rows, out.rules)
        put = replace(put, updates=put.updates[1:], base=replace(base, updates=(), base=None))
    reason = update.reason or plan.extractor.name
    for before, stored, after in ((preference, put, plain[0]), (opposite, opposite, plain[1])):
        _put(rows, plan, before, stored, after, reason, change.evidence, out)


def _is_corrected(preference: Preference, update: Update) -> bool:
    """As `states._is_corrected`."""
    since = update.unchanged_since
    return since is not None and update.place.rank != SENT and sent_after(preference.updates, since)


def _after(pair: Pair, update: Update, rows: Rows, rules: Rules) -> Pair:
    """Applies an update to the first of a pair, without ends."""
    preference, opposite = pair
    is_known = preference.status != ""
    since = update.unchanged_since
    if is_known and since is not None and preference.updated_at > since:
        return pair
    if update.op == "revoke":
        return (
            _changed(preference, update, rules, status="revoked") if is_known else preference
        ), opposite
    sure = update.op == "confirm" or preference.status == "confirmed"
    after = _changed(
        preference,
        update,
        rules,
        subject=preference.subject if is_known else update.subject,
        status="confirmed" if sure else "candidate",
        confidence=update.confidence,
        note=update.note or preference.note,
        said_at=max(update.at, preference.said_at),
    )
    if update.op == "confirm" and opposite.status == "confirmed":
        over = end_facts.first_after(rows, _target(after), after.said_at, update.place)
        if over is None:
            opposite = _changed(opposite, update, rules, status="revoked")
    return after, opposite


def _changed(preference: Preference, update: Update, rules: Rules, **fields: Any) -> Preference:
    evidence = add_evidence(preference.evidence, update.evidence, rules)
    session_id = preference.session_id
    if update.evidence and session_id != update.session_id:
        session_id = end_facts.SEVERAL if preference.evidence else update.session_id
    after = replace(preference, evidence=evidence, session_id=session_id, **fields)
    if replace(after, said_at=preference.said_at, session_id=preference.session_id) == preference:
        return after  # a later `said_at` or another session alone does not count as a change
    return replace(after, updated_at=update.at)


def _folded(pair: Pair, rows: Rows, rules: Rules) -> Pair:
    """Applies the updates of both in order, without ends. Updates of retracted events count only
    for a preference without other updates, which has ended."""
    if not end_facts.is_marked(rows):
        return _all_folded(pair, rows, rules)
    standing = [replace(preference, updates=_standing(rows, preference)) for preference in pair]
    first, second = _all_folded((standing[0], standing[1]), rows, rules)
    if not first.status:
        first, _ = _all_folded((pair[0], _blank(pair[1])), rows, rules)
    if not second.status:
        second, _ = _all_folded((pair[1], _blank(pair[0])), rows, rules)
    return first, second


def _standing(rows: Rows, preference: Preference) -> tuple[Update, ...]:
    return tuple(
        update
        for update in preference.updates
        if end_facts.retraction(rows, update.evidence, update.session_id) is None
    )


def _all_folded(pair: Pair, rows: Rows, rules: Rules) -> Pair:
    first, second = (preference.base or _blank(preference) for preference in pair)
    placed = sorted(
        ((update.place, number, update) for number in (0, 1) for update in pair[number].updates),
        key=lambda entry: entry[:2],
    )
    for _, number, update in placed:
        if number == 0:
            first, second = _after((first, second), update, rows, rules)
        else:
            second, first = _after((second, first), update, rows, rules)
    return first, second


def _blank(preference: Preference) -> Preference:
    return replace(
        preference, status="", confidence=0.0, note=None, evidence=(), said_at=NEVER, updates=(),
        base=None, over=None,
    )  # fmt: skip


def _put(
    rows: Rows,
    plan: WritePlan,
    before: Preference,
    stored: Preference,
    folded: Preference,
    reason: str,
    evidence: tuple[str, ...],
    out: Effects,
) -> None:
    """Writes the preference `folded` from the updates of `stored`, and revokes it if an end
    matches, with a separate revision."""
    plain = replace(folded, updates=stored.updates, base=stored.base, over=None)
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


def _targets(rows: Rows) -> Iterator[end_facts.RowTarget]:
    """Targets of all preferences."""
    for preference_id in PREFERENCES.ids(rows):
        yield preference_id, _target(rows.peek(PREFERENCES.key(preference_id)))


def end(rows: Rows, plan: WritePlan, over: end_facts.End, out: Effects) -> None:
    """Applies one of a plan's `ends`: revokes the matching preferences."""
    if not set(OPPOSITE).intersection(over.families):
        return
    for preference_id in end_facts.concerned(over, plan, PREFERENCES, partial(_targets, rows), out):
        out.spend(1)
        preference = rows.peek(PREFERENCES.key(preference_id))
        if not end_facts.speaks_of(over, _target(preference)):
            continue
        out.spend(CHANGE)
        is_late = preference.updates and over.place[:4] < preference.updates[-1].place[:4]
        if preference.over is None and not is_late and not end_facts.is_marked(rows):
            after = _revoked_by(preference, over, out.rules)
            if after is not preference:
                rows.put(PREFERENCES.key(after.preference_id), after)
                _revise(plan, preference, after, over.reason, over.evidence, rows, out)
            continue
        # an earlier end was applied already, or a later confirmation no longer counts
        opposite = _row(rows, preference, OPPOSITE[preference.polarity])
        pair = _folded((preference, opposite), rows, out.rules)
        for before, folded in zip((preference, opposite), pair, strict=True):
            _put(rows, plan, before, before, folded, over.reason, over.evidence, out)


def settle(rows: Rows, plan: WritePlan, out: Effects) -> None:
    """Updates all preferences after a plan has changed marks of events."""
    mark = plan.event_updates[0]
    reason, evidence = mark.reason or plan.extractor.name, tuple(mark.evidence_event_ids)
    for preference_id in PREFERENCES.ids(rows):
        preference = rows.peek(PREFERENCES.key(preference_id))
        folded, _ = _folded(
            (preference, _row(rows, preference, OPPOSITE[preference.polarity])), rows, out.rules
        )
        _put(rows, plan, preference, preference, folded, reason, evidence, out)


def evidence(rows: Rows) -> Iterator[end_facts.Event]:
    """Returns the supporting events of all preferences."""
    for _, preference in PREFERENCES.scan(rows):
        for source in (preference, *preference.updates, preference.base, preference.over):
            if source is not None:
                yield from end_facts.events_of(source)


def _ended(rows: Rows, plain: Preference, before: end_facts.End | None, rules: Rules) -> Preference:
    """Revokes a preference by the earliest matching end, stored or applied before."""
    if not plain.status:
        return plain
    over = end_facts.first_after(rows, _target(plain), plain.said_at)
    is_before = before is not None and before.families and before.at > plain.said_at
    if (
        before is not None
        and is_before
        and not end_facts.retraction(rows, before.evidence, before.session_id)
    ):
        over = before if over is None else min(over, before, key=end_facts.End.order)
    retraction = end_facts.retraction(rows, plain.evidence, plain.session_id)
    if retraction is None and plain.session_id == end_facts.SEVERAL and plain.base is None:
        retraction = end_facts.retraction_of(rows, plain.updates)
    if retraction is not None:
        retraction = replace(retraction, at=max(retraction.at, plain.said_at + 1))
        over = retraction if over is None else min(over, retraction, key=end_facts.End.order)
    return plain if over is None else _revoked_by(plain, over, rules)


def _revoked_by(preference: Preference, over: end_facts.End, rules: Rules) -> Preference:
    """Revokes a preference by an end, if it is in force and was stated before the end."""
    if preference.status == "revoked" or over.at <= preference.said_at:
        return preference
    evidence = add_evidence(preference.evidence, over.evidence, rules)
    updated_at = max(preference.updated_at, over.told_at)
    return replace(
        preference, status="revoked", evidence=evidence, updated_at=updated_at, over=over
    )


def _target(preference: Preference) -> end_facts.Target:
    return end_facts.Target((preference.polarity,), preference.subject)


def _find(rows: Rows, update: PreferenceUpdate, polarity: str) -> Preference:
    return of_identity(rows, update.domain, update.subject, polarity)


def of_identity(rows: Rows, domain: str, subject: str, polarity: str) -> Preference:
    """Returns the preference with this identity, or a blank one with an empty status."""
    identity = Preference("", domain, polarity, subject, "", 0.0, None, (), 0, NEVER)
    return _row(rows, identity, polarity)


def _row(rows: Rows, identity: Preference, polarity: str) -> Preference:
    subject = normalise(identity.subject)
    preference_id = make_id("preference", rows.tenant, rows.key, identity.domain, subject, polarity)
    row = rows.get(PREFERENCES.key(preference_id))
    return row or _blank(replace(identity, preference_id=preference_id, polarity=polarity))


def document(preference: Preference) -> dict[str, Any]:
    """Returns the document of a preference (schemas.memory.Preference)."""
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
