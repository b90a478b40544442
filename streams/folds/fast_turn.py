"""Fast path for nearly all turns: plain, ended, and later than all earlier ones.

`session.fold` passes new turns of this sort to `append`; `session` has the general version. Both
give the same rows, revisions, signals and documents (tests/property/test_fast_turn.py).
"""

from schemas.events import Turn
from schemas.row import replace
from streams.folds import history_rows
from streams.folds.conversations import add_turn
from streams.folds.effects import Effects, Input, Rows
from streams.folds.outcome import APPLIED, Outcome
from streams.folds.reply_links import link
from streams.folds.seen_ids import put_turns
from streams.folds.session_state import HEADER, Facts, Session, speakers
from streams.folds.session_status import revise_turn
from streams.folds.user_signal import user_signal


def comes_last(header: Session, at: int) -> bool:
    """Whether a turn at that time is later than all turns, and no turn or question is open."""
    return not (header.running or header.waiting) and (
        header.context_at is None or at > header.context_at
    )


def append(rows: Rows, header: Session, turn: Turn, input: Input, out: Effects) -> Outcome:
    """Folds a plain turn that comes last: `session._turn` without the cases excluded here."""
    rules = out.rules
    at, event_id, user_id = turn.occurred_at, turn.event_id, turn.user_id
    facts: Facts = turn  # type: ignore[assignment]  # a plain turn is its own facts
    runs, window, older = add_turn(rows, header, facts, header.runs, rules)
    if user_id:
        out.signals.append(user_signal(turn, facts))
    newest, (previous, _), overflow = link(rows, header.newest, facts, input.fingerprint, None, out)
    runs = put_turns(rows, runs, overflow)
    intents = header.intents
    if turn.intent:
        intents = (*intents[1 - rules.max_intents :], (at, event_id, turn.intent))  # type: ignore[arg-type]
    status, latest = turn.session_status, header.latest
    after = Session(
        at if header.undated else min(at, header.created_at),
        at if header.undated else max(at, header.updated_at),
        out.seq,
        runs,
        newest,
        header.user or ((at, event_id, user_id) if user_id else None),
        (at, event_id, status),
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
        users=header.users,
    )
    if user_id and header.user and user_id != header.user[2]:
        after = replace(after, users=speakers(header, user_id))
    expired = previous and at - previous[0] > rules.session_expiry
    if expired or status != (latest[2] if latest else None):
        revise_turn(header, after, facts, (previous, None), out)
        after = replace(after, seq=out.seq)
    rows.put(HEADER, after)
    history_rows.turn(turn, input, out)
    out.session = True
    return APPLIED
