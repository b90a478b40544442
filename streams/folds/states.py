"""Long-term state: versions that coexist, each true from one time to another.

A row `s/{state_id}` holds the newest 16 versions of a state. A revision tells the change of one
version; the history needs no other table to know what held when. The rules:
docs/rules.md, "Long-term memory".
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import Any

from schemas.base import format_time
from schemas.dead_letters import Reason
from schemas.events import StateUpdate, WritePlan
from schemas.row import Row, replace
from streams.folds import ends
from streams.folds.ids import make_id
from streams.folds.order import MAX_UPDATES, OF_RULES, SENT, Place, inserted, sent_after
from streams.folds.revisions import add_evidence, revise, time_or_none
from streams.folds.rows import Effects, Refused, RowKind, Rows
from streams.folds.rules import Rules

MAX_VERSIONS = 16
DEFAULT_CONFIDENCE = 0.5


class Over(Row, frozen=True):
    """The end that closes a version, and what the version has without it."""

    end: ends.End
    valid_to: int | None
    evidence: tuple[str, ...]
    updated_at: int


class Version(Row, frozen=True):
    """What a state says of [valid_from, valid_to); a later version ends it earlier. `over`: the end
    that its `valid_to` is of, if one closed it."""

    valid_from: int
    valid_to: int | None
    body_text: str
    payload: dict[str, Any]
    confidence: float
    entities: tuple[str, ...]
    last_confirmed_at: int
    evidence: tuple[str, ...]
    updated_at: int
    over: Over | None = None
    session_id: str | None = None
    """Of its evidence (`ends.retraction`)."""


Versions = tuple[Version, ...]


class Update(Row, frozen=True):
    """A plan's update of a state, with what its plan adds to it. `at`: the plan's time. `begins`:
    the `valid_from` of a new state. Tidying makes updates, too: `tidy_close` closes at `valid_to`,
    `tidy_keep` sets `last_confirmed_at` to it."""

    place: Place
    op: str
    at: int
    begins: int
    valid_from: int | None = None
    valid_to: int | None = None
    body_text: str = ""
    payload: dict[str, Any] | None = None
    confidence: float | None = None
    entities: tuple[str, ...] = ()
    annotated: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    unchanged_since: int | None = None
    session_id: str | None = None


class State(Row, frozen=True):
    """A state and its versions, oldest first; the last one is current.

    The versions are those of `base` with the `updates` applied in order, closed by ends. Plans that
    others send come in order: until the first of another sort there are no updates, and the
    versions are the base. `is_ruled`: rules have written it.
    """

    state_id: str
    kind: str
    created_at: int
    versions: Versions
    updates: tuple[Update, ...] = ()
    base: Versions = ()
    is_ruled: bool = False


STATES = RowKind("s", State)


def evidence_of(plan: WritePlan, named: Iterable[str]) -> tuple[str, ...]:
    """The events an update names, and the one its plan was made from."""
    own = (plan.event_id,) if plan.event_id else ()
    return tuple(dict.fromkeys((*named, *own)))


def default_from(plan: WritePlan, update: StateUpdate) -> int:
    """valid_from, else about_start, else the event's time."""
    if update.valid_from is not None:
        return update.valid_from
    notes = plan.event_annotations
    if notes and notes.about_start is not None:
        return notes.about_start
    return plan.occurred_at


def apply(rows: Rows, plan: WritePlan, ordinal: int, update: StateUpdate, out: Effects) -> None:
    """One state update of a plan. Raises Refused where it names what it may not."""
    where = f"state_updates.{ordinal}"
    state_id = update.state_id or make_id("state", rows.tenant, rows.key, plan.plan_id, ordinal)
    state = rows.get(STATES.key(state_id))
    told = _update(plan, update, out)
    if state is not None and _is_corrected(state, told):
        return
    if state is not None and _is_changed(state.versions, told):
        fits = (
            update.kind in (None, state.kind) if update.op != "mark_done" else state.kind == "task"
        )
        if not fits:
            return  # it changes nothing, so that nothing is refused
    if update.op != "upsert":
        if state is None and update.unchanged_since is not None:
            return
        if state is None or update.kind == "long_mood_state":
            reason: Reason = "unknown_state" if state is None else "mood_cannot_close"
            raise Refused(reason, f"{where}.state_id: no state {state_id} to {update.op}")
        if update.op == "mark_done" and state.kind != "task":
            raise Refused("not_a_task", f"{where}.op: {state_id} is a {state.kind}")
    elif state is None:
        assert update.kind is not None
        if not update.body_text:
            raise Refused(
                "unknown_state", f"{where}.state_id: no state {state_id}; a new one needs body_text"
            )
        state = State(state_id, update.kind, plan.occurred_at, ())
    elif update.state_id is None:
        return  # the id this very plan made: it was applied before
    else:
        check_kind(rows, ordinal, update)
    put(rows, plan, state, told, update.reason or plan.extractor.name, out)


def check_kind(rows: Rows, ordinal: int, update: StateUpdate) -> None:
    """Raises Refused for an upsert that names a known state of another kind."""
    state = rows.get(STATES.key(update.state_id)) if update.state_id else None
    if state is not None and state.kind != update.kind:
        detail = f"state_updates.{ordinal}.kind: {state.state_id} is a {state.kind}"
        raise Refused("kind_differs", detail)


def _update(plan: WritePlan, update: StateUpdate, out: Effects) -> Update:
    notes, until = plan.event_annotations, update.valid_to
    if update.op == "close" and until is None:
        until = notes.about_end if notes and notes.about_end is not None else plan.occurred_at
    return Update(
        out.place,
        update.op,
        plan.occurred_at,
        default_from(plan, update),
        update.valid_from,
        until,
        update.body_text,
        update.payload,
        update.confidence,
        tuple(update.entities),
        tuple(notes.entities) if notes else (),
        evidence_of(plan, update.evidence_event_ids),
        update.unchanged_since,
        plan.session_id,
    )


# --- versions out of updates ------------------------------------------------------------------


def _after(kind: str, versions: Versions, update: Update, rules: Rules) -> Versions:
    """The versions after one more update, of which the ends know nothing yet."""
    if not versions and (update.op != "upsert" or not update.body_text):
        return versions  # in this order nothing is there to change
    if versions and _is_changed(versions, update):
        return versions
    if not versions:
        version = _new(kind, update)
    elif update.op == "upsert":
        version = _upserted(kind, versions, update, rules)
    else:
        version = _ENDED[update.op](versions[-1], update, rules)
    if version.valid_to is not None and version.valid_to < version.valid_from:
        version = replace(version, valid_to=version.valid_from)
    before = _at(versions, version.valid_from)
    if update.evidence and version.session_id != update.session_id:
        several = before is not None and before.evidence
        session_id = ends.SEVERAL if several else update.session_id
        version = replace(version, session_id=session_id)
    others = (one for one in versions if one.valid_from != version.valid_from)
    return tuple(sorted((*others, version), key=lambda one: one.valid_from))[-MAX_VERSIONS:]


def _is_corrected(state: State, update: Update) -> bool:
    """Whether a plan that somebody sent has changed the state after `unchanged_since`. What the
    product makes of turns then leaves it alone, although it stands before that plan."""
    since = update.unchanged_since
    if since is None or update.place.rank == SENT:
        return False
    sent = state.base if state.updates else state.versions
    return any(version.updated_at > since for version in sent) or sent_after(state.updates, since)


def _is_changed(versions: Versions, update: Update) -> bool:
    """Whether the version that an update would change was updated after `unchanged_since`."""
    if update.unchanged_since is None:
        return False
    meant: Version | None = versions[-1]
    if update.op == "upsert" and update.valid_from is not None:
        meant = _at(versions, update.valid_from)
    return meant is not None and meant.updated_at > update.unchanged_since


def _at(versions: Versions, valid_from: int) -> Version | None:
    return next((one for one in versions if one.valid_from == valid_from), None)


def _new(kind: str, update: Update) -> Version:
    payload = dict(update.payload or {})
    if kind == "task":
        payload.setdefault("status", "open")
    return Version(
        update.begins,
        update.valid_to,
        update.body_text,
        payload,
        DEFAULT_CONFIDENCE if update.confidence is None else update.confidence,
        update.entities or update.annotated,
        update.at,
        update.evidence,
        update.at,
        session_id=update.session_id,
    )


def _upserted(kind: str, versions: Versions, update: Update, rules: Rules) -> Version:
    """A correction of the version that begins at valid_from, or a version of its own."""
    current = versions[-1]
    since = current.valid_from if update.valid_from is None else update.valid_from
    same = _at(versions, since)
    base = same or current
    kept_to = same.valid_to if same else None
    if kept_to == since and update.place.rank == OF_RULES:
        kept_to = None  # a model took a statement back, and a later turn makes it again
    return Version(
        since,
        kept_to if update.valid_to is None else update.valid_to,
        update.body_text or base.body_text,
        _payload(kind, base, update),
        base.confidence if update.confidence is None else update.confidence,
        update.entities or base.entities,
        update.at,
        add_evidence(same.evidence, update.evidence, rules) if same else update.evidence,
        update.at,
    )


def _payload(kind: str, base: Version, update: Update) -> dict[str, Any]:
    """A new payload leaves a task's status as it was, unless it says one."""
    if update.payload is None:
        return base.payload
    kept = {"status": base.payload["status"]} if "status" in base.payload else {}
    return {**(kept if kind == "task" else {}), **update.payload}


def _closed(version: Version, update: Update, rules: Rules) -> Version:
    return replace(_confirmed(version, update, rules), valid_to=update.valid_to)


def _done(version: Version, update: Update, rules: Rules) -> Version:
    payload = {**version.payload, "status": "done"}
    return replace(_confirmed(version, update, rules), payload=payload)


def _confirmed(version: Version, update: Update, rules: Rules) -> Version:
    return replace(
        version,
        last_confirmed_at=update.at,
        evidence=add_evidence(version.evidence, update.evidence, rules),
        updated_at=update.at,
    )


def _tidy_closed(version: Version, update: Update, _: Rules) -> Version:
    return replace(version, valid_to=update.valid_to, updated_at=update.at)


def _tidy_kept(version: Version, update: Update, _: Rules) -> Version:
    return replace(version, last_confirmed_at=update.valid_to, updated_at=update.at)


_ENDED: dict[str, Callable[[Version, Update, Rules], Version]] = {
    "close": _closed,
    "mark_done": _done,
    "tidy_close": _tidy_closed,
    "tidy_keep": _tidy_kept,
}
OPS = {"close": "close", "mark_done": "done", "tidy_close": "close", "tidy_keep": "update"}


def put(
    rows: Rows, plan: WritePlan, state: State, update: Update, reason: str, out: Effects
) -> None:
    """Puts an update in its place; revisions tell what changed by it. What is known to be over by
    then is closed, with a revision of its own."""
    old, rules = state.versions, out.rules
    plain = tuple(map(_unended, old))
    base, updates = state.base, state.updates
    if updates and update.place.rank == SENT and updates[-1].place > update.place:
        # it names what was read, and clocks differ: what it corrects or ends is what is there
        update = replace(update, place=update.place._replace(at=updates[-1].place.at))
    is_kept = bool(updates) or update.place.rank != SENT
    is_last = not updates or updates[-1].place <= update.place
    if is_kept:
        base, updates = base if updates else plain, inserted(updates, update)
    if is_kept and ends.is_marked(rows):
        versions = _standing(rows, state.kind, base, updates, rules)
    elif is_last:
        versions = _after(state.kind, plain, update, rules)
    else:
        versions = _folded(state.kind, base, updates, rules)
    if len(updates) > MAX_UPDATES:
        base, updates = _after(state.kind, base, updates[0], rules), updates[1:]
    own = () if base else updates
    shown = tuple(one if one in old else _ended(rows, one, old, own, rules) for one in versions)
    ruled = state.is_ruled or update.place.rank == OF_RULES
    after = State(state.state_id, state.kind, state.created_at, shown, updates, base, ruled)
    rows.put(STATES.key(state.state_id), after)
    _revise(rows, plan, after, old, versions, update, reason, out)


def _folded(kind: str, base: Versions, updates: Iterable[Update], rules: Rules) -> Versions:
    return reduce(lambda versions, one: _after(kind, versions, one, rules), updates, base)


def _standing(
    rows: Rows, kind: str, base: Versions, updates: tuple[Update, ...], rules: Rules
) -> Versions:
    """The versions without the updates of retracted events; with them, if none are left: these
    versions have ended."""
    standing = (
        one for one in updates if ends.retraction(rows, one.evidence, one.session_id) is None
    )
    return _folded(kind, base, standing, rules) or _folded(kind, base, updates, rules)


def _revise(
    rows: Rows,
    plan: WritePlan,
    state: State,
    old: Versions,
    versions: Versions,
    update: Update,
    reason: str,
    out: Effects,
) -> None:
    """One revision for each version that differs, that of the update first, and one more where an
    end closes it. `versions`: without the ends."""
    entity, at, plan_id = ("state", state.state_id, state.kind), plan.occurred_at, plan.plan_id
    if update.op == "upsert" and update.valid_from is not None:
        own = update.valid_from
    else:
        own = versions[-1].valid_from if old else update.begins
    plain = {one.valid_from: one for one in versions}
    shown = {one.valid_from: one for one in state.versions}
    was = {one.valid_from: one for one in old}
    gone = [since for since in was.keys() - shown.keys() if since > state.versions[0].valid_from]
    for since in sorted({*shown, *gone}, key=lambda since: (since != own, since)):
        before, now = was.get(since), shown.get(since)
        if before is now:
            continue
        source = before
        op = "remove" if now is None else "update"
        if before is None:  # it begins: what it is told from is the version before it
            source = next((one for one in reversed(old) if one.valid_from < since), None)
            op = "supersede" if source else "insert"
        if since == own:
            op = OPS.get(update.op, op)
        over = None if now is None or (before and before.over) else now.over
        first = plain[since] if over else now
        told = None if source is None else document(state, source)
        after = None if first is None else document(state, first)
        revise(out, rows.key, entity, op, told, after, reason, update.evidence, at, plan_id)
        if over is not None and now is not None:
            by = over.end
            revise(out, rows.key, entity, "close", after, document(state, now), by.reason,
                   by.evidence, at, plan_id)  # fmt: skip


# --- ends -------------------------------------------------------------------------------------


def _ended(
    rows: Rows, version: Version, old: Versions, updates: tuple[Update, ...], rules: Rules
) -> Version:
    """A version as the earliest end closes it that concerns it, remembered or applied before.
    `updates`: of which alone the versions are made."""
    said = ends.said_in(version.payload, version.body_text)
    end = ends.first_after(rows, said, version.valid_from)
    before = _at(old, version.valid_from)
    known = before.over.end if before is not None and before.over is not None else None
    if (
        known
        and ends.speaks_of(known, said)
        and not ends.retraction(rows, known.evidence, known.session_id)
    ):
        end = known if end is None else min(end, known, key=ends.End.order)
    taken = ends.retraction(rows, version.evidence, version.session_id)
    if taken is None and version.session_id == ends.SEVERAL:
        taken = ends.retraction_of(rows, updates)
    if taken is not None:
        taken = replace(taken, at=max(taken.at, version.valid_from))
        end = taken if end is None else min(end, taken, key=ends.End.order)
    return version if end is None else _closed_by(version, end, rules)


def _closed_by(version: Version, end: ends.End, rules: Rules) -> Version:
    """A version closed at an end, unless it begins later or is closed by then. A retraction, which
    has no families, closes where it begins, too."""
    known = version.valid_to
    begins = version.valid_from if end.families else version.valid_from - 1
    if end.at <= begins or (known is not None and known <= end.at):
        return version
    return replace(
        version,
        valid_to=end.at,
        evidence=add_evidence(version.evidence, end.evidence, rules),
        updated_at=max(version.updated_at, end.told_at),
        over=Over(end, known, version.evidence, version.updated_at),
    )


def _unended(version: Version) -> Version:
    """The version without the end that closes it."""
    over = version.over
    if over is None:
        return version
    return replace(
        version, valid_to=over.valid_to, evidence=over.evidence, updated_at=over.updated_at,
        over=None,
    )  # fmt: skip


def _held(rows: Rows) -> Iterator[ends.Held]:
    """What the versions of all states say."""
    for state_id in STATES.ids(rows):
        for version in rows.peek(STATES.key(state_id)).versions:
            yield state_id, ends.said_in(version.payload, version.body_text)


def end(rows: Rows, plan: WritePlan, over: ends.End, out: Effects) -> None:
    """One of a plan's `ends`, for states: closes every version that it concerns."""
    for state_id in ends.concerned(over, plan, STATES, partial(_held, rows), out):
        state = rows.peek(STATES.key(state_id))
        for version in state.versions:
            said = ends.said_in(version.payload, version.body_text)
            if not ends.speaks_of(over, said):
                continue
            if version.over is not None and version.over.end.order() <= over.order():
                continue
            plain = _unended(version)
            closed = _closed_by(plain, over, out.rules)
            if closed is plain:
                continue
            versions = tuple(closed if one is version else one for one in state.versions)
            state = replace(state, versions=versions)
            rows.put(STATES.key(state.state_id), state)
            entity, at = ("state", state.state_id, state.kind), plan.occurred_at
            was, now = document(state, version), document(state, closed)
            revise(out, rows.key, entity, "close", was, now, over.reason, over.evidence, at,
                   plan.plan_id)  # fmt: skip


def settle(rows: Rows, plan: WritePlan, out: Effects) -> None:
    """All states as they are by the marks of events that a plan has changed."""
    for state_id in STATES.ids(rows):
        state = rows.peek(STATES.key(state_id))
        old = state.versions
        if state.updates:
            plain = _standing(rows, state.kind, state.base, state.updates, out.rules)
        else:
            plain = tuple(map(_unended, old))
        updates = () if state.base else state.updates
        versions = tuple(_ended(rows, one, old, updates, out.rules) for one in plain)
        if versions == old:
            continue
        after = replace(state, versions=versions)
        rows.put(STATES.key(state_id), after)
        was = {one.valid_from: one for one in old}
        now = {one.valid_from: one for one in versions}
        for since in sorted(was.keys() | now.keys()):
            _revise_settled(rows, plan, after, was.get(since), now.get(since), out)


def evidence(rows: Rows) -> Iterator[ends.Event]:
    """The events on which states rest."""
    for _, state in STATES.scan(rows):
        for update in state.updates:
            yield from ends.events_of(update)
        for version in (*state.base, *state.versions):
            yield from ends.events_of(_unended(version))
            if version.over is not None:
                yield from ends.events_of(version.over.end)


def _revise_settled(
    rows: Rows,
    plan: WritePlan,
    state: State,
    before: Version | None,
    now: Version | None,
    out: Effects,
) -> None:
    over = now.over.end if now is not None and now.over is not None else None
    is_closed = over is not None and (before is None or before.over is None)
    op = "remove" if now is None else "close" if is_closed else "update" if before else "insert"
    mark = plan.event_updates[0]
    reason, evidence = mark.reason or plan.extractor.name, tuple(mark.evidence_event_ids)
    if over is not None and is_closed:
        reason, evidence = over.reason, over.evidence
    was = None if before is None else document(state, before)
    stands = None if now is None else document(state, now)
    entity = ("state", state.state_id, state.kind)
    revise(out, rows.key, entity, op, was, stands, reason, evidence, plan.occurred_at, plan.plan_id)


def status_of(state: State, version: Version) -> str:
    """closed once it has an end, else done for a task done, else active."""
    if version.valid_to is not None:
        return "closed"
    done = state.kind == "task" and version.payload.get("status") == "done"
    return "done" if done else "active"


def document(state: State, version: Version) -> dict[str, Any]:
    """One version as revisions and replies show it (schemas.memory.State)."""
    return {
        "state_id": state.state_id,
        "kind": state.kind,
        "body_text": version.body_text,
        "payload": version.payload,
        "confidence": version.confidence,
        "entities": list(version.entities),
        "valid_from": format_time(version.valid_from),
        "valid_to": time_or_none(version.valid_to),
        "last_confirmed_at": format_time(version.last_confirmed_at),
        "status": status_of(state, version),
        "evidence_event_ids": list(version.evidence),
        "updated_at": format_time(version.updated_at),
    }
