"""Long-term states: coexisting versions, each valid from one time to another.

A row `s/{state_id}` has the newest 16 versions of a state. A revision records the change of one
version, so the revisions alone give the states at any time. Rules: docs/rules.md, "Long-term
memory".
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import Any

from schemas.base import format_time
from schemas.dead_letters import Reason
from schemas.events import StateUpdate, WritePlan
from schemas.row import Row, replace
from streams.folds import end_facts
from streams.folds.constants import Rules
from streams.folds.effects import CHANGE, Effects, Refused, RowKind, Rows
from streams.folds.ids import make_id
from streams.folds.plan_order import (
    MAX_UPDATES,
    OF_RULES,
    SENT,
    Place,
    inserted,
    is_of_rules,
    sent_after,
)
from streams.folds.revisions import add_evidence, revise, time_or_none

MAX_VERSIONS = 16
DEFAULT_CONFIDENCE = 0.5
QUOTED = frozenset({"value", "evidence", "condition", "about_start", "about_end"})
"""Fields of a payload that describe the state's text; the others say what kind of state it is."""


class Over(Row, frozen=True):
    """The end that closes a version, and the version's fields without it."""

    end: end_facts.End
    valid_to: int | None
    evidence: tuple[str, ...]
    updated_at: int


class Version(Row, frozen=True):
    """Content of a state in [valid_from, valid_to); a later version ends it earlier. `over` is the
    end behind its `valid_to`, if an end closed it."""

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
    """Session of its evidence (`ends.retraction`)."""
    stated_at: int = 0
    """Time of the latest plan that stated it; a client's correction is no statement."""


Versions = tuple[Version, ...]


class Update(Row, frozen=True):
    """A plan's update of a state, with fields from its plan. `at`: the plan's time. `begins`: the
    `valid_from` of a new state. Updates of tidying: `tidy_close` closes at `valid_to`, `tidy_keep`
    sets `last_confirmed_at` to it."""

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

    The versions are `base` with the `updates` applied in order, closed by ends. Plans from clients
    arrive in order: until the first plan of another sort `base` and `updates` are empty.
    `is_ruled`: written by the rules.
    """

    state_id: str
    kind: str
    created_at: int
    versions: Versions
    updates: tuple[Update, ...] = ()
    base: Versions = ()
    is_ruled: bool = False


STATES = RowKind("s", State)


def of_rules(rows: Rows) -> Iterator[str]:
    """Ids of the states that only the rules have written."""
    for _, state in STATES.scan(rows):
        if is_of_rules(state.updates, has_base=bool(state.base)):
            yield state.state_id


def evidence_of(plan: WritePlan, named: Iterable[str]) -> tuple[str, ...]:
    """Returns the supporting events of an update, including the event of its plan."""
    own_event = (plan.event_id,) if plan.event_id else ()
    return tuple(dict.fromkeys((*named, *own_event)))


def default_from(plan: WritePlan, update: StateUpdate) -> int:
    """Returns `valid_from`, or `about_start`, or the plan's time."""
    if update.valid_from is not None:
        return update.valid_from
    notes = plan.event_annotations
    if notes and notes.about_start is not None:
        return notes.about_start
    return plan.occurred_at


def apply(rows: Rows, plan: WritePlan, ordinal: int, update: StateUpdate, out: Effects) -> None:
    """Applies a state update of a plan. Raises Refused for an unknown state or a wrong kind."""
    where = f"state_updates.{ordinal}"
    state_id = update.state_id or make_id("state", rows.tenant, rows.key, plan.plan_id, ordinal)
    state = rows.get(STATES.key(state_id))
    change = _update(plan, update, out)
    if state is not None and _is_corrected(state, change):
        return
    if state is not None and _is_changed(state.versions, change):
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
        return  # the id derived from this plan: it was applied before
    else:
        check_kind(rows, ordinal, update)
    put(rows, plan, state, change, update.reason or plan.extractor.name, out)


def check_kind(rows: Rows, ordinal: int, update: StateUpdate) -> None:
    """Raises Refused for an upsert of an existing state of another kind."""
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
    """Applies an update, without ends."""
    if not versions and (update.op != "upsert" or not update.body_text):
        return versions  # in this order nothing is there to change
    if versions and _is_changed(versions, update):
        return versions
    if not versions:
        version = _new(kind, update)
    elif update.op == "upsert":
        version = _upserted(kind, versions, update, rules)
    else:
        version = _ENDED[update.op](_target(versions, update), update, rules)
    if version.valid_to is not None and version.valid_to < version.valid_from:
        version = replace(version, valid_to=version.valid_from)
    before = _at(versions, version.valid_from)
    if update.evidence and version.session_id != update.session_id:
        is_merged = before is not None and before.evidence
        session_id = end_facts.SEVERAL if is_merged else update.session_id
        version = replace(version, session_id=session_id)
    replaced = {version.valid_from}
    is_statement = update.op == "upsert" and not (update.place.rank == SENT and before is not None)
    if is_statement:
        version = replace(version, stated_at=update.at)
    if update.op == "close" or (is_statement and version.valid_to is None):
        replaced.update(_contradicted(versions, version, update.at))
    rest = (earlier for earlier in versions if earlier.valid_from not in replaced)
    return tuple(sorted((*rest, version), key=lambda version: version.valid_from))[-MAX_VERSIONS:]


def _target(versions: Versions, update: Update) -> Version:
    """Returns the version that an update without a `valid_from` changes: the current one, and of a
    close the one that is valid at its time, or the first."""
    if update.op != "close" or update.valid_to is None:
        return versions[-1]
    until = update.valid_to
    started = (version for version in reversed(versions) if version.valid_from <= until)
    return next(started, versions[0])


def _contradicted(versions: Versions, version: Version, at: int) -> Iterator[int]:
    """Returns the starts of the versions that a plan of that time contradicts by a version without
    an end, or by a close, as it states what was so up to then: these were stated before, and start
    in between."""
    return (
        earlier.valid_from
        for earlier in versions
        if version.valid_from < earlier.valid_from <= at and earlier.updated_at < at
    )


def _is_corrected(state: State, update: Update) -> bool:
    """Whether a client's plan has changed the state after `unchanged_since`. Plans of extractors
    then do not change it, although their place is before that plan."""
    since = update.unchanged_since
    if since is None or update.place.rank == SENT:
        return False
    sent = state.base if state.updates else state.versions
    return any(version.updated_at > since for version in sent) or sent_after(state.updates, since)


def _is_changed(versions: Versions, update: Update) -> bool:
    """Whether the target version of an update was changed after `unchanged_since`."""
    if update.unchanged_since is None:
        return False
    target: Version | None = _target(versions, update)
    if update.op == "upsert" and update.valid_from is not None:
        target = _at(versions, update.valid_from)
    return target is not None and target.updated_at > update.unchanged_since


def _at(versions: Versions, valid_from: int) -> Version | None:
    return next((version for version in versions if version.valid_from == valid_from), None)


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
    """Returns a correction of the version that starts at `valid_from`, or a new version."""
    current = versions[-1]
    since = current.valid_from if update.valid_from is None else update.valid_from
    same = _at(versions, since)
    base = same or current
    kept_to = same.valid_to if same else None
    if kept_to == since and update.place.rank == OF_RULES:
        kept_to = None  # a model retracted a statement, and a later turn repeats it
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
        stated_at=base.stated_at,
    )


def _payload(kind: str, base: Version, update: Update) -> dict[str, Any]:
    """Returns the new payload; a task keeps its status if the update has none. Another text without
    a payload removes what the old payload quotes of the old text."""
    if update.payload is None:
        if update.body_text in ("", base.body_text):
            return base.payload
        return {name: value for name, value in base.payload.items() if name not in QUOTED}
    status = {"status": base.payload["status"]} if "status" in base.payload else {}
    return {**(status if kind == "task" else {}), **update.payload}


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
    """Inserts an update at its place and writes the state with its revisions. Versions that match
    an end are closed, with a separate revision."""
    old, rules = state.versions, out.rules
    plain = tuple(map(_unended, old))
    base, updates = state.base, state.updates
    if updates and update.place.rank == SENT and updates[-1].place > update.place:
        # clocks differ: an update of a client refers to the current version
        update = replace(update, place=update.place._replace(at=updates[-1].place.at))
    is_kept = bool(updates) or update.place.rank != SENT
    is_last = not updates or updates[-1].place <= update.place
    if is_kept:
        base, updates = base if updates else plain, inserted(updates, update)
    if is_kept and end_facts.is_marked(rows):
        versions = _standing(rows, state.kind, base, updates, rules)
    elif is_last:
        versions = _after(state.kind, plain, update, rules)
    else:
        versions = _folded(state.kind, base, updates, rules)
    if len(updates) > MAX_UPDATES:
        base, updates = _after(state.kind, base, updates[0], rules), updates[1:]
    own_updates = () if base else updates
    closed_versions = tuple(
        version if version in old else _ended(rows, version, old, own_updates, rules)
        for version in versions
    )
    ruled = state.is_ruled or update.place.rank == OF_RULES
    after = State(
        state.state_id, state.kind, state.created_at, closed_versions, updates, base, ruled
    )
    rows.put(STATES.key(state.state_id), after)
    _revise(rows, plan, after, old, versions, update, reason, out)


def _folded(kind: str, base: Versions, updates: Iterable[Update], rules: Rules) -> Versions:
    return reduce(lambda versions, update: _after(kind, versions, update, rules), updates, base)


def _standing(
    rows: Rows, kind: str, base: Versions, updates: tuple[Update, ...], rules: Rules
) -> Versions:
    """Returns the versions without the updates of retracted events. If none remain, returns the
    versions of all updates, which have ended."""
    standing = (
        update
        for update in updates
        if end_facts.retraction(rows, update.evidence, update.session_id) is None
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
    """Appends a revision per changed version, the version of the update first, and another one if
    an end closes it. `versions` are without ends."""
    entity, at, plan_id = ("state", state.state_id, state.kind), plan.occurred_at, plan.plan_id
    if update.op == "upsert" and update.valid_from is not None:
        updated_since = update.valid_from
    else:
        updated_since = _target(versions, update).valid_from if old else update.begins
    open_versions = {version.valid_from: version for version in versions}
    new_versions = {version.valid_from: version for version in state.versions}
    old_versions = {version.valid_from: version for version in old}
    changed = new_versions.keys() | _removed(old, state.versions)
    for since in sorted(changed, key=lambda since: (since != updated_since, since)):
        before, now = old_versions.get(since), new_versions.get(since)
        if before is now:
            continue
        source = before
        op = "remove" if now is None else "update"
        if before is None:  # a new version: its `before` is the version before it
            source = next(
                (version for version in reversed(old) if version.valid_from < since), None
            )
            op = "supersede" if source else "insert"
        if since == updated_since:
            op = OPS.get(update.op, op)
        over = None if now is None or (before and before.over) else now.over
        first = open_versions[since] if over else now
        source_document = None if source is None else document(state, source)
        after = None if first is None else document(state, first)
        revise(
            out, rows.key, entity, op, source_document, after, reason, update.evidence, at, plan_id
        )
        if over is not None and now is not None:
            by = over.end
            revise(out, rows.key, entity, "close", after, document(state, now), by.reason,
                   by.evidence, at, plan_id)  # fmt: skip


def _removed(old: Versions, new: Versions) -> set[int]:
    """Returns the starts of the versions that no longer exist. Versions over the cap stay in the
    history."""
    starts = {version.valid_from for version in old} - {version.valid_from for version in new}
    if len(new) < MAX_VERSIONS:
        return starts
    return {since for since in starts if since > new[0].valid_from}


# --- ends -------------------------------------------------------------------------------------


def _ended(
    rows: Rows, version: Version, old: Versions, updates: tuple[Update, ...], rules: Rules
) -> Version:
    """Closes a version by the earliest matching end, stored or applied before. `updates` are all
    updates of the versions; empty if a base exists."""
    target = end_facts.target_of(version.payload, version.body_text)
    end = end_facts.first_after(rows, target, version.valid_from, stated_at=version.stated_at)
    before = _at(old, version.valid_from)
    earlier_end = before.over.end if before is not None and before.over is not None else None
    if (
        earlier_end
        and end_facts.speaks_of(earlier_end, target)
        and not earlier_end.is_contradicted(version.stated_at)
        and not end_facts.retraction(rows, earlier_end.evidence, earlier_end.session_id)
    ):
        end = earlier_end if end is None else min(end, earlier_end, key=end_facts.End.order)
    retraction = end_facts.retraction(rows, version.evidence, version.session_id)
    if retraction is None and version.session_id == end_facts.SEVERAL:
        retraction = end_facts.retraction_of(rows, updates)
    if retraction is not None:
        retraction = replace(retraction, at=max(retraction.at, version.valid_from))
        end = retraction if end is None else min(end, retraction, key=end_facts.End.order)
    return version if end is None else _closed_by(version, end, rules)


def _closed_by(version: Version, end: end_facts.End, rules: Rules) -> Version:
    """Closes a version at an end, unless it starts later or is closed before. A retraction, which
    has no families, also closes a version that starts at the same time."""
    valid_to = version.valid_to
    begins = version.valid_from if end.families else version.valid_from - 1
    if end.at <= begins or (valid_to is not None and valid_to <= end.at):
        return version
    return replace(
        version,
        valid_to=end.at,
        evidence=add_evidence(version.evidence, end.evidence, rules),
        updated_at=max(version.updated_at, end.told_at),
        over=Over(end, valid_to, version.evidence, version.updated_at),
    )


def _unended(version: Version) -> Version:
    """Returns the version without the end that closes it."""
    over = version.over
    if over is None:
        return version
    return replace(
        version, valid_to=over.valid_to, evidence=over.evidence, updated_at=over.updated_at,
        over=None,
    )  # fmt: skip


def _targets(rows: Rows) -> Iterator[end_facts.RowTarget]:
    """Targets of the versions of all states."""
    for state_id in STATES.ids(rows):
        for version in rows.peek(STATES.key(state_id)).versions:
            yield state_id, end_facts.target_of(version.payload, version.body_text)


def end(rows: Rows, plan: WritePlan, over: end_facts.End, out: Effects) -> None:
    """Applies one of a plan's `ends`: closes the matching versions."""
    for state_id in end_facts.concerned(over, plan, STATES, partial(_targets, rows), out):
        state = rows.peek(STATES.key(state_id))
        for version in state.versions:
            out.spend(1)
            target = end_facts.target_of(version.payload, version.body_text)
            if not end_facts.speaks_of(over, target) or over.is_contradicted(version.stated_at):
                continue
            if version.over is not None and version.over.end.order() <= over.order():
                continue
            plain = _unended(version)
            closed = _closed_by(plain, over, out.rules)
            if closed is plain:
                continue
            versions = tuple(
                closed if state_version is version else state_version
                for state_version in state.versions
            )
            out.spend(CHANGE)
            state = replace(state, versions=versions)
            rows.put(STATES.key(state.state_id), state)
            entity, at = ("state", state.state_id, state.kind), plan.occurred_at
            was, now = document(state, version), document(state, closed)
            revise(out, rows.key, entity, "close", was, now, over.reason, over.evidence, at,
                   plan.plan_id)  # fmt: skip


def settle(rows: Rows, plan: WritePlan, out: Effects) -> None:
    """Updates all states after a plan has changed marks of events."""
    for state_id in STATES.ids(rows):
        state = rows.peek(STATES.key(state_id))
        old = state.versions
        if state.updates:
            plain = _standing(rows, state.kind, state.base, state.updates, out.rules)
        else:
            plain = tuple(map(_unended, old))
        updates = () if state.base else state.updates
        versions = tuple(_ended(rows, version, old, updates, out.rules) for version in plain)
        if versions == old:
            continue
        after = replace(state, versions=versions)
        rows.put(STATES.key(state_id), after)
        old_versions = {version.valid_from: version for version in old}
        new_versions = {version.valid_from: version for version in versions}
        for since in sorted(new_versions.keys() | _removed(old, versions)):
            _revise_settled(
                rows, plan, after, old_versions.get(since), new_versions.get(since), out
            )


def evidence(rows: Rows) -> Iterator[end_facts.Event]:
    """Returns the supporting events of all states."""
    for _, state in STATES.scan(rows):
        for update in state.updates:
            yield from end_facts.events_of(update)
        for version in (*state.base, *state.versions):
            yield from end_facts.events_of(_unended(version))
            if version.over is not None:
                yield from end_facts.events_of(version.over.end)


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
    """Returns `closed` with an end, `done` for a finished task, otherwise `active`."""
    if version.valid_to is not None:
        return "closed"
    is_done = state.kind == "task" and version.payload.get("status") == "done"
    return "done" if is_done else "active"


def document(state: State, version: Version) -> dict[str, Any]:
    """Returns the document of a version (schemas.memory.State)."""
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
