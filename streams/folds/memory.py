"""The user's fold: user signals of turns, and write plans.

Rows of a user: `u` the header, `s/{state_id}` states, `p/{id}` preferences, `k/…` links,
`x/…` thread members, `e/{family}` ends, `v` and `v/{event_id}` marks of events, `a` the mood, `l`
and `y/{topic}` the learner, `i/…` seen ids.
"""

from schemas.dead_letters import Reason
from schemas.events import Signal, StateUpdate, WritePlan, first_intent
from schemas.generated.history import Affect
from schemas.row import Row, replace
from streams.folds import (
    affect,
    end_facts,
    history_rows,
    learner,
    links_threads,
    states,
    tidy_memory,
)
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, Moment, Refused, RowKind, Rows, UserSignal
from streams.folds.ids import make_id, short_hash
from streams.folds.outcome import APPLIED, DUPLICATE, Outcome
from streams.folds.plan_order import NEVER, OF_RULES, SENT, place_of
from streams.folds.quote_reason import shortened
from streams.folds.revised_kinds import REVISED_KINDS
from streams.folds.revisions import revise
from streams.folds.seen_ids import find_id, put_id


class User(Row, frozen=True):
    """A user's header: numbers of revisions, runs of seen ids, and applied plans except the rules'
    plans. `clock` is the latest time of plans from clients (`order.place_of`)."""

    seq: int = 0
    runs: int = 0  # of the ids seen (index.py)
    plans: int = 0
    clock: int = NEVER


USERS = RowKind("u", User)
USER = USERS.key()


def fold_signal(rows: Rows, signal: UserSignal, out: Effects) -> None:
    """Folds the signal of one ended turn into its user. The session's fold has dropped duplicates;
    the user's effects are added to its effects `out`."""
    learner.fold(rows, signal, out.rules)
    if signal.affect is None:
        return
    header = rows.get(USER) or User()
    hop = Effects(rows.key, (rows.tenant, "users", rows.key), out.record, out.rules)
    hop.seq = header.seq
    _feel(rows, signal.affect, None, hop)
    if hop.seq != header.seq:
        rows.put(USER, replace(header, seq=hop.seq))
    out.history += hop.history
    out.warnings += hop.warnings


def fold(rows: Rows, input: Input, out: Effects) -> Outcome:
    """Folds a write plan or a signal of scope `user`. Raises Refused for a dead letter."""
    header = rows.get(USER) or User()
    out.seq = header.seq
    record = input.record
    assert isinstance(record, WritePlan | Signal)
    kind, record_id = (
        ("p", record.plan_id) if isinstance(record, WritePlan) else ("s", record.signal_id)
    )
    stored_check, place = find_id(rows, header.runs, short_hash(kind + record_id))
    if stored_check == input.fingerprint:
        return DUPLICATE
    if stored_check is not None:
        raise Refused("conflicting_duplicate", f"{record_id} has other content")
    header = replace(header, runs=put_id(rows, header.runs, place, input.fingerprint))
    if isinstance(record, WritePlan):
        header = _plan(rows, header, record, out)
    else:
        _lesson(rows, record, out.rules)
        out.user = True
    rows.put(USER, replace(header, seq=out.seq))
    history_rows.record(record, input, out)
    return APPLIED


def _lesson(rows: Rows, signal: Signal, rules: Rules) -> None:
    metadata = signal.metadata
    learner.fold(
        rows,
        UserSignal(
            signal.signal_id,
            rows.key,
            signal.session_id,
            signal.occurred_at,
            first_intent(signal.intent),
            signal.topic or None,
            signal.artifact or None,
            metadata.difficulty if metadata else None,
            metadata.correct_rate if metadata else None,
            None,
        ),
        rules,
    )


# --- write plans ------------------------------------------------------------------------------


def _plan(rows: Rows, header: User, plan: WritePlan, out: Effects) -> User:
    """Applies a plan. If an update is rejected, the runtime rolls back the whole plan."""
    if plan.extraction and plan.extraction.error:
        raise Refused("extraction_failed", plan.extraction.error)
    if plan.event_updates:
        _settle(rows, plan, out)
        return header  # it has no place among the plans: only its time counts
    out.place = place = place_of(plan, header.clock, header.plans)
    for ordinal, update in enumerate(plan.state_updates):
        if update.kind == "long_mood_state" and update.op == "upsert":
            states.check_kind(rows, ordinal, update)
            _mood_words(rows, plan, update, out)
        elif update.state_id == mood_id(rows):
            reason: Reason = "kind_differs" if update.op == "upsert" else "mood_cannot_close"
            raise Refused(reason, f"state_updates.{ordinal}.state_id: that is the user's mood")
        else:
            states.apply(rows, plan, ordinal, update, out)
    for kind in REVISED_KINDS:
        for kind_update in getattr(plan, kind.updates):
            kind.apply(rows, plan, kind_update, out)
    for ordinal, end_update in enumerate(plan.ends):
        end = end_facts.of(plan, ordinal, end_update, out.place)
        end_facts.remember(rows, end)
        if end_facts.retraction(rows, end.evidence, end.session_id):
            continue
        states.end(rows, plan, end, out)
        for kind in REVISED_KINDS:
            if kind.end:
                kind.end(rows, plan, end, out)
    if plan.context_updates:
        links_threads.apply(rows, plan, plan.context_updates, out)
    if plan.event_affect:
        plan_affect = plan.event_affect
        event_id = plan_affect.event_id or plan.event_id
        assert event_id
        moment = affect.moment_of(plan.occurred_at, event_id, plan_affect, True, plan.session_id)
        _feel(rows, moment, plan, out)
    if place.rank == OF_RULES:
        return header  # the rules' plans arrive in any order, so they are not counted
    plans = header.plans + 1
    if plans == out.rules.tidy_first or plans % out.rules.tidy_every == 0:
        tidy_memory.tidy(rows, plan, out)
    return replace(header, plans=plans, clock=place.at if place.rank == SENT else header.clock)


def _settle(rows: Rows, plan: WritePlan, out: Effects) -> None:
    """Retracts or restores events, and updates the memory that they support."""
    for ordinal, update in enumerate(plan.event_updates):
        end_facts.mark(rows, plan, ordinal, update)
    states.settle(rows, plan, out)
    for kind in REVISED_KINDS:
        if kind.settle:
            kind.settle(rows, plan, out)
    end_facts.trim_marks(rows, lambda: _evidence(rows))


def _evidence(rows: Rows) -> set[end_facts.Event]:
    """Returns the supporting events of states and revised kinds."""
    evidence = set(states.evidence(rows))
    for kind in REVISED_KINDS:
        if kind.evidence:
            evidence.update(kind.evidence(rows))
    return evidence


def mood_id(rows: Rows) -> str:
    """Returns the id of a user's long_mood_state."""
    return make_id("long_mood_state", rows.tenant, rows.key)


def _mood_words(rows: Rows, plan: WritePlan, update: StateUpdate, out: Effects) -> None:
    """Upserts long_mood_state: only text and confidence; the numbers come from the moments."""
    row = rows.get(affect.MOOD) or affect.MoodRow()
    since = states.default_from(plan, update)
    evidence = states.evidence_of(plan, update.evidence_event_ids)
    words = affect.Words(since, update.body_text, update.confidence, plan.occurred_at, evidence)
    reason = update.reason or "a plan wrote the mood"
    after = affect.put_words(row, words, out.rules)
    _revise_mood(rows, row, after, since, reason, words.evidence, plan, out)


def _feel(rows: Rows, moment: Moment, plan: WritePlan | None, out: Effects) -> None:
    """Appends a moment of affect to `affects` and folds it into the mood."""
    at = moment.occurred_at
    out.history.append(
        Affect(
            event_id=moment.event_id,
            user_id=rows.key,
            session_id=moment.session_id,
            v=moment.v,
            a=moment.a,
            d=moment.d,
            text=moment.text,
            labels=list(moment.labels),
            confidence=moment.confidence,
            from_plan=moment.from_plan,
            occurred_at=at,
        )
    )
    row = rows.get(affect.MOOD) or affect.MoodRow()
    put = affect.put_moment(row, moment, out.rules)
    if put is None:
        out.warnings.append("moment_leaves_mood")
        return
    plan_id = plan.plan_id if plan else None
    for number, old in enumerate(put.gone):  # several, if a plan has no session
        entity = ("affect", moment.event_id, old.session_id)
        is_followed = number == 0 and old.session_id == put.stands.session_id
        op, now = ("update", _moment(put.stands)) if is_followed else ("remove", None)
        revise(out, rows.key, entity, op, _moment(old), now,
               "another moment of the same event", [moment.event_id], at, plan_id)  # fmt: skip
    since = min(at, *(version_moment.occurred_at for version_moment in (put.stands, *put.gone)))
    reason = shortened(moment.text) or "a moment of feeling"
    _revise_mood(rows, row, put.row, since, reason, (moment.event_id,), plan, out)


def _moment(moment: Moment) -> dict[str, object]:
    numbers = {"v": moment.v, "a": moment.a, "d": moment.d}
    labels = list(moment.labels)
    return {
        "vad": numbers,
        "text": moment.text,
        "labels": labels,
        "confidence": moment.confidence,
    }


def _revise_mood(
    rows: Rows,
    before: affect.MoodRow,
    after: affect.MoodRow,
    since: int,
    reason: str,
    evidence: tuple[str, ...],
    plan: WritePlan | None,
    out: Effects,
) -> None:
    state_id = mood_id(rows)
    old_starts, starts = affect.begins(before, since), affect.begins(after, since)
    for at in (*sorted(starts), *sorted(old_starts - starts)):
        row, old = (before, at) if at in old_starts else (after, affect.standing(after, at))
        was = None if old is None else affect.version(row, state_id, old)
        now = affect.version(after, state_id, at) if at in starts else None  # its moment moved
        op = "insert" if was is None else "update" if at in old_starts else "supersede"
        op = op if now else "remove"
        entity = ("state", state_id, "long_mood_state")
        plan_id = plan.plan_id if plan else None
        when = plan.occurred_at if plan else at
        revise(out, rows.key, entity, op, was, now, reason, evidence, when, plan_id)
    rows.put(affect.MOOD, affect.trim(after, out.rules))
