"""The session's fold: turns, recursions, tool results and session signals.

Rows of a session: `h` the header, `c/{task_id}` conversations, `m/{id}` session memory,
`r/{event_id}` turns that have not ended, `n/` turns that lost their link, `t/…`, `q/…` and `w/…`
tasks (task.py), `i/…`, `o/…`, `b/…` and `O/…` the indexes (index.py), `k` the number of messages
that are kept. So a turn writes two rows: its conversation and the header.

The header and the conversations contain ended turns only. A running turn is stored in a separate
row and merged on reading, so that the ended turn replaces it completely (docs/rules.md, "One
event").
"""

from typing import Any

from schemas.events import Recursion, Signal, ToolResult, Turn, first_intent
from schemas.row import replace
from streams.folds import fast_turn, history_rows, kept_messages, session_memory, task
from streams.folds.conversations import add_turn
from streams.folds.effects import Effects, Input, Refused, Rows
from streams.folds.ids import short_hash
from streams.folds.outcome import APPLIED, DUPLICATE, Outcome
from streams.folds.reply_links import link
from streams.folds.seen_ids import (
    Place,
    find_id,
    find_turn,
    is_running,
    put_id,
    put_turns,
    running,
    turn_hash,
)
from streams.folds.session_state import (
    FAR,
    HEADER,
    RUNNING,
    Facts,
    Session,
    claimed,
    contextualise,
    contribute,
    facts_of,
    status_of,
    visible,
)
from streams.folds.session_status import (
    answer_questions,
    is_after,
    revise_claims,
    revise_status,
    revise_turn,
    status_document,
)
from streams.folds.timestamps import dated
from streams.folds.user_signal import user_signal


def fold(rows: Rows, input: Input, out: Effects) -> Outcome:
    """Folds one record of a session. Raises Refused for a dead letter."""
    record = input.record
    header = rows.get(HEADER)
    if header is None:
        header = Session(undated=True)
    out.seq = header.seq
    if record.type == "turn":  # not by class: plain turns have a faster class
        return _turn(rows, header, record, input, out)  # type: ignore[arg-type]
    if isinstance(record, Signal):
        return _signal(rows, header, record, input, out)
    assert isinstance(record, Recursion | ToolResult)
    return _step(rows, header, record, input, out)


# --- turns ------------------------------------------------------------------------------------


def _turn(rows: Rows, header: Session, turn: Turn, input: Input, out: Effects) -> Outcome:
    rules = out.rules
    is_unfinished = turn.status == "running"
    if is_unfinished and turn.task_id and task.begin(rows, turn.task_id, turn.occurred_at):
        out.tasks[turn.task_id] = None
    stored_check, place = _find(rows, header, turn.event_id)
    check = running(input.fingerprint) if is_unfinished else input.fingerprint
    replaced: Facts | None = None
    if stored_check is not None:
        was_running = is_running(stored_check)
        if (
            is_unfinished and not was_running and out.tasks
        ):  # stored: a rebuild also has to start the task
            history_rows.turn(turn, input, out)
            return APPLIED
        if stored_check == check or (is_unfinished and not was_running):
            return DUPLICATE
        if is_unfinished or not was_running:
            raise Refused("conflicting_duplicate", f"event_id {turn.event_id} has other content")
        replaced = rows.get(RUNNING.key(turn.event_id))
    elif input.plain and not is_unfinished and fast_turn.comes_last(header, turn.occurred_at):
        return fast_turn.append(rows, header, turn, input, out)

    facts: Facts = facts_of(turn) if is_unfinished or not input.plain else turn  # type: ignore[assignment]
    before = visible(rows, header, rules) if header.running else header
    changes: dict[str, Any] = {}
    runs = header.runs
    if replaced is not None:
        rows.delete(RUNNING.key(turn.event_id))
        header = replace(
            header,
            running=tuple(event_id for event_id in header.running if event_id != turn.event_id),
        )
    if is_unfinished:
        running_turn = replace(facts, doc=input.doc, images=tuple(turn.image_summaries or ()))
        rows.put(RUNNING.key(facts.event_id), running_turn)
        changes["running"] = (*header.running, facts.event_id)
    else:
        changes = contribute(header, facts, rules)
        runs, changes["window"], changes["older"] = add_turn(rows, header, facts, runs, rules)
        if turn.observations or turn.session_memory_delta:
            session_memory.fold(rows, turn, out)
        if turn.user_id:
            out.signals.append(user_signal(turn, facts))
    was_placed = replaced or (facts if stored_check is not None else None)
    newest, neighbours, overflow = link(rows, header.newest, facts, check, was_placed, out)
    runs = put_turns(rows, runs, overflow)
    if find_turn(newest, facts.event_id) is None:  # it is among older turns
        place = place or find_id(rows, runs, turn_hash(facts.event_id))[1]
        runs = put_id(rows, runs, place, check)
    after = replace(header, runs=runs, newest=newest, seq=out.seq, **changes)
    if len(after.running) > rules.max_running:
        after = _end_oldest(rows, after, out)
    visible_header = visible(rows, after, rules) if after.running else after
    if after.waiting:
        after, waiting = answer_questions(rows, after, before.latest, visible_header.latest, out)
        visible_header = replace(visible_header, waiting=waiting)
    if replaced is not None:
        neighbours = (None, None)  # the running turn has recorded its gaps
    revise_turn(before, visible_header, facts, neighbours, out)
    rows.put(HEADER, after if out.seq == after.seq else replace(after, seq=out.seq))
    history_rows.turn(turn, input, out)
    out.session = True
    return APPLIED


def _find(rows: Rows, header: Session, event_id: str) -> tuple[bytes | None, Place | None]:
    """Returns the stored check of a turn, or None; and its place in the runs, if searched there."""
    check = find_turn(header.newest, event_id)
    if check is not None or not header.runs:
        return check, None
    return find_id(rows, header.runs, turn_hash(event_id))


def _end_oldest(rows: Rows, header: Session, out: Effects) -> Session:
    """Counts the oldest running turn over the cap as ended: its end can add fields, not remove."""
    key = RUNNING.key(header.running[0])
    oldest = rows[key]
    rows.delete(key)
    out.warnings.append("running_turns_over_cap")
    changes = contribute(header, oldest, out.rules)
    runs, changes["window"], changes["older"] = add_turn(
        rows, header, oldest, header.runs, out.rules
    )
    return replace(header, running=header.running[1:], runs=runs, **changes)


# --- signals and steps ------------------------------------------------------------------------


def _signal(rows: Rows, header: Session, signal: Signal, input: Input, out: Effects) -> Outcome:
    """Updates the SessionContext and the session's subject; conversations, links and memory stay
    (docs/rules.md, Sessions)."""
    stored_check, place = find_id(rows, header.runs, short_hash("s" + signal.signal_id))
    if stored_check == input.fingerprint:
        return DUPLICATE
    if stored_check is not None:
        raise Refused("conflicting_duplicate", f"signal_id {signal.signal_id} has other content")
    at, said_by, intent = signal.occurred_at, signal.signal_id, first_intent(signal.intent)
    changes = contextualise(header, at, said_by, intent, signal.topic, signal.artifact, out.rules)
    runs = put_id(rows, header.runs, place, input.fingerprint)
    after = replace(dated(header, at), runs=runs, **changes)
    if signal.subject:
        claim = claimed(signal.subject, (at, said_by))
        after = replace(after, subject=max(after.subject or claim, claim))
        before, now = visible(rows, header, out.rules), visible(rows, after, out.rules)
        revise_claims(before, now, [said_by], at, out)
    rows.put(HEADER, replace(after, seq=out.seq))
    if signal.keeps_a_message:
        kept_messages.add(rows)
    history_rows.record(signal, input, out)
    out.session = True
    return APPLIED


def _step(
    rows: Rows, header: Session, record: Recursion | ToolResult, input: Input, out: Effects
) -> Outcome:
    """Folds a recursion or tool result into its task, and updates the session's status."""
    visible_header = visible(rows, header, out.rules)
    latest = visible_header.latest[0] if visible_header.latest else None
    outcome, runs = task.fold(rows, record, input, header.runs, latest, out)
    if outcome is DUPLICATE:
        touched = dated(header, record.occurred_at, isinstance(record, ToolResult))
        if touched != header and header.created_at != FAR:
            rows.put(HEADER, touched)
            out.session = True
        if not (out.session or out.tasks):
            return DUPLICATE
        history_rows.record(record, input, out)  # it lost, but its time counts in a rebuild
        return APPLIED
    before = status_of(visible_header)
    waiting = tuple(question for question in header.waiting if question[0] != record.task_id)
    for question_at, is_waiting in task.questions(rows, record.task_id):
        if not is_after(header.latest, question_at):
            waiting = (*waiting, (record.task_id, question_at, is_waiting))[
                -out.rules.max_running :
            ]
    header = replace(header, runs=runs, waiting=waiting)
    header = dated(header, record.occurred_at, isinstance(record, ToolResult))
    after = status_of(replace(visible_header, waiting=waiting))
    if before != after:
        reason = "a task asked" if after == "waiting_input" else "the task went on"
        revise_status(
            out,
            status_document(before),
            status_document(after),
            "update",
            reason,
            [record.trace_id],
            record.occurred_at,
        )
    rows.put(HEADER, replace(header, seq=out.seq))
    history_rows.record(record, input, out)
    out.session = True
    out.tasks[record.task_id] = None
    return outcome
