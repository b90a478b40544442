"""Long-term state: versions that coexist, each true from one time to another.

A row `s/{state_id}` holds the newest 16 versions of a state. A revision tells the change of one
version; the history needs no other table to know what held when. The rules:
docs/rules.md, "Long-term memory".
"""

from collections.abc import Iterable
from typing import Any

from schemas.base import format_time
from schemas.dead_letters import Reason
from schemas.events import EndUpdate, StateUpdate, WritePlan
from schemas.row import Row, replace
from streams.folds import ends
from streams.folds.ids import make_id
from streams.folds.revisions import add_evidence, revise, time_or_none
from streams.folds.row_keys import RowKind
from streams.folds.rows import Effects, Refused, Rows
from streams.folds.rules import Rules

MAX_VERSIONS = 16
DEFAULT_CONFIDENCE = 0.5


class Version(Row, frozen=True):
    """What a state says of [valid_from, valid_to); a later version ends it earlier."""

    valid_from: int
    valid_to: int | None
    body_text: str
    payload: dict[str, Any]
    confidence: float
    entities: tuple[str, ...]
    last_confirmed_at: int
    evidence: tuple[str, ...]
    updated_at: int


class State(Row, frozen=True):
    """A state and its versions, oldest first; the last one is current."""

    state_id: str
    kind: str
    created_at: int
    versions: tuple[Version, ...]


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
    if _is_changed(state, update):
        return
    if update.op != "upsert":
        if state is None or update.kind == "long_mood_state":
            reason: Reason = "unknown_state" if state is None else "mood_cannot_close"
            raise Refused(reason, f"{where}.state_id: no state {state_id} to {update.op}")
        if update.op == "mark_done" and state.kind != "task":
            raise Refused("not_a_task", f"{where}.op: {state_id} is a {state.kind}")
        ended = _closed if update.op == "close" else _done
        _put(rows, plan, state, ended(state.versions[-1], plan, update, out.rules), update, out)
    elif state is None:
        assert update.kind is not None
        if not update.body_text:
            raise Refused(
                "unknown_state", f"{where}.state_id: no state {state_id}; a new one needs body_text"
            )
        state = State(state_id, update.kind, plan.occurred_at, ())
        _put(rows, plan, state, _new(plan, update), update, out)
    elif update.state_id is None:
        return  # the id this very plan made: it was applied before
    else:
        check_kind(rows, ordinal, update)
        _put(rows, plan, state, _upserted(state, plan, update, out.rules), update, out)


def check_kind(rows: Rows, ordinal: int, update: StateUpdate) -> None:
    """Raises Refused for an upsert that names a known state of another kind."""
    state = rows.get(STATES.key(update.state_id)) if update.state_id else None
    if state is not None and state.kind != update.kind:
        detail = f"state_updates.{ordinal}.kind: {state.state_id} is a {state.kind}"
        raise Refused("kind_differs", detail)


def _is_changed(state: State | None, update: StateUpdate) -> bool:
    """Whether an update comes too late: what it would change was updated after `unchanged_since`,
    or is not there to be ended."""
    if update.unchanged_since is None:
        return False
    if state is None:
        return update.op != "upsert"
    meant: Version | None = state.versions[-1]
    if update.op == "upsert" and update.valid_from is not None:
        named = (one for one in state.versions if one.valid_from == update.valid_from)
        meant = next(named, None)
    return meant is not None and meant.updated_at > update.unchanged_since


def _new(plan: WritePlan, update: StateUpdate) -> Version:
    payload = dict(update.payload or {})
    if update.kind == "task":
        payload.setdefault("status", "open")
    return Version(
        default_from(plan, update),
        update.valid_to,
        update.body_text,
        payload,
        DEFAULT_CONFIDENCE if update.confidence is None else update.confidence,
        tuple(update.entities or (_annotated(plan))),
        plan.occurred_at,
        evidence_of(plan, update.evidence_event_ids),
        plan.occurred_at,
    )


def _annotated(plan: WritePlan) -> list[str]:
    return plan.event_annotations.entities if plan.event_annotations else []


def _upserted(state: State, plan: WritePlan, update: StateUpdate, rules: Rules) -> Version:
    """A correction of the version that begins at valid_from, or a version of its own."""
    current = state.versions[-1]
    since = current.valid_from if update.valid_from is None else update.valid_from
    same = next((one for one in state.versions if one.valid_from == since), None)
    base = same or current
    fresh = evidence_of(plan, update.evidence_event_ids)
    kept_to = same.valid_to if same else None
    return Version(
        since,
        kept_to if update.valid_to is None else update.valid_to,
        update.body_text or base.body_text,
        _payload(state, base, update),
        base.confidence if update.confidence is None else update.confidence,
        tuple(update.entities) or base.entities,
        plan.occurred_at,
        add_evidence(same.evidence, fresh, rules) if same else fresh,
        plan.occurred_at,
    )


def _payload(state: State, base: Version, update: StateUpdate) -> dict[str, Any]:
    """A new payload leaves a task's status as it was, unless it says one."""
    if update.payload is None:
        return base.payload
    kept = {"status": base.payload["status"]} if "status" in base.payload else {}
    return {**(kept if state.kind == "task" else {}), **update.payload}


def _closed(version: Version, plan: WritePlan, update: StateUpdate, rules: Rules) -> Version:
    notes = plan.event_annotations
    until = update.valid_to
    if until is None:
        until = notes.about_end if notes and notes.about_end is not None else plan.occurred_at
    return replace(_confirmed(version, plan, update, rules), valid_to=until)


def _done(version: Version, plan: WritePlan, update: StateUpdate, rules: Rules) -> Version:
    payload = {**version.payload, "status": "done"}
    return replace(_confirmed(version, plan, update, rules), payload=payload)


def _confirmed(version: Version, plan: WritePlan, update: StateUpdate, rules: Rules) -> Version:
    fresh = evidence_of(plan, update.evidence_event_ids)
    return replace(
        version,
        last_confirmed_at=plan.occurred_at,
        evidence=add_evidence(version.evidence, fresh, rules),
        updated_at=plan.occurred_at,
    )


OPS = {"close": "close", "mark_done": "done"}


def _put(
    rows: Rows, plan: WritePlan, state: State, version: Version, update: StateUpdate, out: Effects
) -> None:
    """Puts a version in its place; the revision tells it from the version it corrects or ends.

    A `valid_to` before its `valid_from` (either may come from elsewhere) is an empty interval.
    What is known to be over by then is closed, with a revision of its own.
    """
    same = next((one for one in state.versions if one.valid_from == version.valid_from), None)
    earlier = [one for one in state.versions if one.valid_from < version.valid_from]
    before = same or (earlier[-1] if earlier else None)
    if version.valid_to is not None and version.valid_to < version.valid_from:
        version = replace(version, valid_to=version.valid_from)
    op = OPS.get(update.op) or ("insert" if before is None else "update" if same else "supersede")
    others = (one for one in state.versions if one is not same)
    versions = tuple(sorted((*others, version), key=lambda one: one.valid_from))[-MAX_VERSIONS:]
    put = replace(state, versions=versions)
    rows.put(STATES.key(state.state_id), put)
    revise(
        out,
        rows.key,
        ("state", state.state_id, state.kind),
        op,
        document(state, before) if before else None,
        document(state, version),
        update.reason or plan.extractor.name,
        evidence_of(plan, update.evidence_event_ids),
        plan.occurred_at,
        plan.plan_id,
    )
    said = ends.said_in(version.payload, version.body_text)
    over = ends.first_after(rows, said, version.valid_from)
    if over is not None:
        _end(rows, put, version, over, plan, out)


def end(rows: Rows, plan: WritePlan, ordinal: int, update: EndUpdate, out: Effects) -> None:
    """One of a plan's `ends`, for states: closes every version that it concerns."""
    over, families = ends.of(plan, ordinal, update), set(update.families)
    for state_id in STATES.ids(rows):
        state = rows.peek(STATES.key(state_id))
        for version in state.versions:
            said = ends.said_in(version.payload, version.body_text)
            if families.intersection(said.families) and ends.concerns(over, said):
                state = _end(rows, state, version, over, plan, out)


def _end(
    rows: Rows, state: State, version: Version, over: ends.End, plan: WritePlan, out: Effects
) -> State:
    """The state with a version closed at an end, unless it begins later or is closed by then."""
    known = version.valid_to
    if over.at <= version.valid_from or (known is not None and known <= over.at):
        return state
    evidence = add_evidence(version.evidence, over.evidence, out.rules)
    closed = replace(version, valid_to=over.at, evidence=evidence, updated_at=plan.occurred_at)
    versions = tuple(closed if one is version else one for one in state.versions)
    after = replace(state, versions=versions)
    rows.put(STATES.key(state.state_id), after)
    entity, was = ("state", state.state_id, state.kind), document(state, version)
    now, at = document(state, closed), plan.occurred_at
    revise(out, rows.key, entity, "close", was, now, over.reason, over.evidence, at, plan.plan_id)
    return after


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
