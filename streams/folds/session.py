"""The session's fold: turns, recursions, tool results and session signals.

Rows of a session: `h` the header, `c/{task_id}` conversations, `m/{id}` session memory,
`r/{event_id}` turns that have not ended, `n/` turns that lost their link, `t/…`, `q/…` and `w/…`
tasks (task.py), `i/…`, `o/…`, `b/…` and `O/…` the indexes (index.py). So a turn writes two rows:
its conversation and the header.

The header and the conversations count ended turns only. A running turn is kept whole in a row of
its own and laid over them whenever they are looked at, so that the ended turn can replace it and
leave nothing of it behind (docs/rules.md, "One event").
"""

from typing import Any

from schemas.events import Recursion, Signal, ToolResult, Turn, first_intent
from schemas.row import replace
from streams.folds import log, session_memory, task
from streams.folds.affect import moment_of
from streams.folds.dating import dated
from streams.folds.ids import short_hash
from streams.folds.index import (
    Gap,
    Place,
    find_id,
    find_turn,
    is_running,
    put_id,
    put_turns,
    running,
    turn_hash,
)
from streams.folds.links import link
from streams.folds.revisions import revise
from streams.folds.rows import Effects, Input, Outcome, Refused, Rows, UserSignal
from streams.folds.rules import Rules
from streams.folds.session_state import (
    FAR,
    Conversation,
    Facts,
    Key,
    Said,
    Session,
    claim_document,
    contextualise,
    contribute,
    converse,
    facts_of,
    status_of,
    visible,
)


def fold(rows: Rows, given: Input, out: Effects) -> Outcome:
    """One record of a session. Raises Refused for a dead letter."""
    record = given.record
    header: Session | None = rows.get("h")
    if header is None:
        header = Session(undated=True)
    out.seq = header.seq
    if record.type == "turn":  # not by class: the runtime has a quicker one for plain turns
        return _turn(rows, header, record, given, out)  # type: ignore[arg-type]
    if isinstance(record, Signal):
        return _signal(rows, header, record, given, out)
    assert isinstance(record, Recursion | ToolResult)
    return _step(rows, header, record, given, out)


# --- turns ------------------------------------------------------------------------------------


def _turn(rows: Rows, header: Session, turn: Turn, given: Input, out: Effects) -> Outcome:
    rules = out.rules
    begun = turn.status == "running"
    if begun and turn.task_id and task.begin(rows, turn.task_id, turn.occurred_at):
        out.tasks[turn.task_id] = None
    known, place = _find(rows, header, turn.event_id)
    check = running(given.fingerprint) if begun else given.fingerprint
    replaced: Facts | None = None
    if known is not None:
        was_running = is_running(known)
        if known == check or (begun and not was_running):
            return "duplicate"
        if begun or not was_running:
            raise Refused("conflicting_duplicate", f"event_id {turn.event_id} has other content")
        replaced = rows.get(f"r/{turn.event_id}")
    elif given.plain and not begun and _comes_last(header, turn.occurred_at):
        return _append(rows, header, turn, given, out)

    facts: Facts = facts_of(turn) if begun or not given.plain else turn  # type: ignore[assignment]
    before = visible(rows, header, rules) if header.running else header
    changes: dict[str, Any] = {}
    runs = header.runs
    if replaced is not None:
        rows.delete(f"r/{turn.event_id}")
        header = replace(header, running=tuple(r for r in header.running if r != turn.event_id))
    if begun:
        rows.put(f"r/{facts.event_id}", facts)
        changes["running"] = (*header.running, facts.event_id)
    else:
        changes = contribute(header, facts, rules)
        runs, changes["window"], changes["older"] = _converse(rows, header, facts, runs, rules)
        if turn.observations or turn.session_memory_delta:
            session_memory.fold(rows, turn, out)
        if turn.user_id:
            out.signals.append(_user_signal(turn, facts))
    was_placed = replaced or (facts if known is not None else None)
    newest, neighbours, left = link(rows, header.newest, facts, check, was_placed, out)
    runs = put_turns(rows, runs, left)
    if find_turn(newest, facts.event_id) is None:  # it is, or has come, among older ones
        place = place or find_id(rows, runs, turn_hash(facts.event_id))[1]
        runs = put_id(rows, runs, place, check)
    after = replace(header, runs=runs, newest=newest, seq=out.seq, **changes)
    if len(after.running) > rules.max_running:
        after = _end_oldest(rows, after, out)
    shown = visible(rows, after, rules) if after.running else after
    if after.waiting:
        after, waiting = _answer_questions(rows, after, before.latest, shown.latest, out)
        shown = replace(shown, waiting=waiting)
    if replaced is not None:
        neighbours = (None, None)  # the running turn has told of its gaps
    _revise_turn(before, shown, facts, neighbours, out)
    rows.put("h", after if out.seq == after.seq else replace(after, seq=out.seq))
    log.turn(turn, given, out)
    out.session = True
    return "applied"


def _find(rows: Rows, header: Session, event_id: str) -> tuple[bytes | None, Place | None]:
    """The check remembered for a turn, or None; and where in the runs, if it was sought there."""
    check = find_turn(header.newest, event_id)
    if check is not None or not header.runs:
        return check, None
    return find_id(rows, header.runs, turn_hash(event_id))


def _comes_last(header: Session, at: int) -> bool:
    """Whether what comes at that time is later than all that was said, and nothing is open."""
    return not (header.running or header.waiting) and (
        header.context_at is None or at > header.context_at
    )


def _append(rows: Rows, header: Session, turn: Turn, given: Input, out: Effects) -> Outcome:
    """A plain turn that comes last, as nearly all do: `_turn` without what cannot be, in less
    time (tests/property/test_append.py: both do the same)."""
    rules = out.rules
    at, event_id, said_by = turn.occurred_at, turn.event_id, turn.user_id
    facts: Facts = turn  # type: ignore[assignment]  # a plain turn is its own facts
    runs, window, older = _converse(rows, header, facts, header.runs, rules)
    if said_by:
        out.signals.append(_user_signal(turn, facts))
    newest, (previous, _), left = link(rows, header.newest, facts, given.fingerprint, None, out)
    runs = put_turns(rows, runs, left)
    intents = header.intents
    if turn.intent:
        intents = (*intents[1 - rules.max_intents :], (at, event_id, turn.intent))  # type: ignore[arg-type]
    now, was = turn.session_status, header.latest
    after = Session(
        at if header.undated else min(at, header.created_at),
        at if header.undated else max(at, header.updated_at),
        out.seq,
        runs,
        newest,
        header.user or ((at, event_id, said_by) if said_by else None),
        (at, event_id, now),
        header.subject,
        header.object,
        header.artifacts,
        at,
        (at, event_id, turn.topic) if turn.topic else header.topic,
        intents,
        (at, event_id, turn.artifact) if turn.artifact else header.artifact,
        (at, event_id, turn.user_input) if turn.user_input else header.message,
        window,
        older,
    )
    expired = previous and at - previous[0] > rules.session_expiry
    if expired or now == "closed" or (was and was[2] == "closed"):
        _revise_turn(header, after, facts, (previous, None), out)
        after = replace(after, seq=out.seq)
    rows.put("h", after)
    log.turn(turn, given, out)
    out.session = True
    return "applied"


def _end_oldest(rows: Rows, header: Session, out: Effects) -> Session:
    """Over the cap the oldest running turn counts as ended; its end can add, but not take back."""
    name = f"r/{header.running[0]}"
    oldest: Facts = rows.get(name)
    rows.delete(name)
    out.warnings.append("running_turns_over_cap")
    changes = contribute(header, oldest, out.rules)
    runs, changes["window"], changes["older"] = _converse(
        rows, header, oldest, header.runs, out.rules
    )
    return replace(header, running=header.running[1:], runs=runs, **changes)


def _user_signal(turn: Turn, facts: Facts) -> UserSignal:
    metadata, felt = turn.metadata, None
    if turn.affect:
        felt = moment_of(turn.occurred_at, turn.event_id, turn.affect, False, turn.session_id)
    return UserSignal(
        facts.event_id,
        facts.user_id,  # type: ignore[arg-type]  # asked before
        turn.session_id,
        facts.occurred_at,
        facts.intent,
        facts.topic,
        facts.artifact,
        metadata.difficulty if metadata is not None else None,
        metadata.correct_rate if metadata is not None else None,
        felt,
    )


# --- conversations ----------------------------------------------------------------------------


def _converse(
    rows: Rows, header: Session, turn: Facts, runs: int, rules: Rules
) -> tuple[int, tuple[Said, ...], int]:
    """One more turn of a conversation; how many runs of ids there are, the window, and how many
    conversations are before it."""
    conversation = turn.task_id or turn.event_id
    name = f"c/{conversation}"
    row: Conversation | None = rows.get(name)
    window, older = header.window, header.older
    if row is not None:
        first: Key = next(one[:2] for one in window if one[2] == conversation)
        merged, now = converse(row, first, turn)
        rows.put(name, merged)
        if now != first:
            others = (one for one in window if one[2] != conversation)
            window = tuple(sorted((*others, (*now, conversation))))
        return runs, window, older
    if turn.task_id:  # it may have fallen out of the window: then it is in the history alone
        known, place = find_id(rows, runs, short_hash("c" + turn.task_id))
        if known is not None:
            return runs, window, older
        runs = put_id(rows, runs, place, bytes(4))
    row, key = converse(None, None, turn)
    rows.put(name, row)
    window = (*window, (*key, conversation))
    if len(window) > 1 and window[-1] < window[-2]:
        window = tuple(sorted(window))
    if len(window) > rules.max_conversations:
        rows.delete(f"c/{window[0][2]}")
        window, older = window[1:], older + 1
    return runs, window, older


# --- status and revisions ----------------------------------------------------------------------


Waiting = tuple[tuple[str, int, bool], ...]
LatestTurn = tuple[int, str, str | None] | None


def _answer_questions(
    rows: Rows, header: Session, was: LatestTurn, now: LatestTurn, out: Effects
) -> tuple[Session, Waiting]:
    """Tasks go on that asked before the latest turn (or end, if that was their last step), and
    wait again if it was a running turn that ended earlier. Returns the header, which keeps every
    question that no ended turn answers, and the questions as they stand."""
    waiting = header.waiting
    answered = (one[0] for one in waiting if _is_after(was, one[1]) != _is_after(now, one[1]))
    for task_id in dict.fromkeys(answered):
        task.refold(rows, task_id, now[0] if now else None, out.rules)
        out.tasks[task_id] = None
        others = (one for one in waiting if one[0] != task_id)
        waiting = (*others, *((task_id, *one) for one in task.questions(rows, task_id)))
    kept = tuple(one for one in waiting if not _is_after(header.latest, one[1]))
    return replace(header, waiting=kept), waiting


def _is_after(latest: LatestTurn, asked: int) -> bool:
    return latest is not None and latest[0] > asked


def _revise_turn(
    before: Session, after: Session, turn: Facts, neighbours: Gap, out: Effects
) -> None:
    at, evidence = turn.occurred_at, [turn.event_id]
    was, now = status_of(before), status_of(after)
    previous, follower = neighbours
    expiry = out.rules.session_expiry
    if previous and at - previous[0] > expiry and (follower or was != "closed"):
        back_to = was if follower else "active"
        _revise_gap(out, was, back_to, previous[0], at, evidence)
        was = back_to
    if follower and follower[0] - at > expiry:
        _revise_gap(out, was, was, at, follower[0], evidence)
    if was != now:
        reason = "the latest turn says so" if now == "closed" else "a turn came"
        _revise_status(out, _status(was), _status(now), "update", reason, evidence, at)
    if before.subject is after.subject and before.object is after.object:
        return
    for kind in ("subject", "object"):
        revise(
            out,
            out.owner,
            ("session", out.owner, kind),
            "update",
            claim_document(getattr(before, kind)),
            claim_document(getattr(after, kind)),
            "a greater claim",
            evidence,
            at,
        )


def _revise_gap(
    out: Effects, was: str, back_to: str, left: int, back: int, evidence: list[str]
) -> None:
    """Nobody wrote the expiry when it came; the turn that shows the gap tells of it. A late one
    tells of the past: what stands now is what it leads back to."""
    expired = _status("closed", "expired")
    reason = f"no turn for {out.rules.session_expiry_hours:g} h"
    end = left + out.rules.session_expiry
    _revise_status(out, _status(was), expired, "expire", reason, evidence, end)
    reason = "a turn after the gap"
    _revise_status(out, expired, _status(back_to), "reopen", reason, evidence, back)


def _status(status: str, reason: str | None = None) -> dict[str, Any]:
    return {"status": status, "closed_reason": reason}


def _revise_status(
    out: Effects,
    before: dict[str, Any],
    after: dict[str, Any],
    op: str,
    reason: str,
    evidence: list[str],
    at: int,
) -> None:
    entity = ("session", out.owner, "status")
    revise(out, out.owner, entity, op, before, after, reason, evidence, at)


# --- signals and steps ------------------------------------------------------------------------


def _signal(rows: Rows, header: Session, signal: Signal, given: Input, out: Effects) -> Outcome:
    """Moves the SessionContext alone: no conversation, link or memory (docs/rules.md, Sessions)."""
    known, place = find_id(rows, header.runs, short_hash("s" + signal.signal_id))
    if known == given.fingerprint:
        return "duplicate"
    if known is not None:
        raise Refused("conflicting_duplicate", f"signal_id {signal.signal_id} has other content")
    at, said_by, intent = signal.occurred_at, signal.signal_id, first_intent(signal.intent)
    changes = contextualise(header, at, said_by, intent, signal.topic, signal.artifact, out.rules)
    runs = put_id(rows, header.runs, place, given.fingerprint)
    header = replace(dated(header, signal.occurred_at), runs=runs, **changes)
    rows.put("h", header)
    log.record(signal, given, out)
    out.session = True
    return "applied"


def _step(
    rows: Rows, header: Session, record: Recursion | ToolResult, given: Input, out: Effects
) -> Outcome:
    """A recursion or a tool result: the task's fold, and what its waiting means here."""
    shown = visible(rows, header, out.rules)
    latest = shown.latest[0] if shown.latest else None
    outcome, runs = task.fold(rows, record, given, header.runs, latest, out)
    if outcome == "duplicate":  # a version that lost was still seen at its time
        touched = dated(header, record.occurred_at, isinstance(record, ToolResult))
        if touched != header and header.created_at != FAR:
            rows.put("h", touched)
            out.session = True
        return outcome
    before = status_of(shown)
    waiting = tuple(one for one in header.waiting if one[0] != record.task_id)
    for asked, still in task.questions(rows, record.task_id):
        if not _is_after(header.latest, asked):
            waiting = (*waiting, (record.task_id, asked, still))[-out.rules.max_running :]
    header = replace(header, runs=runs, waiting=waiting)
    header = dated(header, record.occurred_at, isinstance(record, ToolResult))
    after = status_of(replace(shown, waiting=waiting))
    if before != after:
        reason = "a task asked" if after == "waiting_input" else "the task went on"
        _revise_status(
            out,
            _status(before),
            _status(after),
            "update",
            reason,
            [record.trace_id],
            record.occurred_at,
        )
    rows.put("h", replace(header, seq=out.seq))
    log.record(record, given, out)
    out.session = True
    out.tasks[record.task_id] = None
    return outcome
