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
from streams.folds.session_state import HEADER, Facts, Session, contribute
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
    at = turn.occurred_at
    facts: Facts = turn  # type: ignore[assignment]  # a plain turn is its own facts
    runs, window, older = add_turn(rows, header, facts, header.runs, rules)
    if turn.user_id:
        out.signals.append(user_signal(turn, facts))
    newest, (previous, _), overflow = link(rows, header.newest, facts, input.fingerprint, None, out)
    runs = put_turns(rows, runs, overflow)
    status, latest = turn.session_status, header.latest
    after = replace(
        header,
        seq=out.seq,
        runs=runs,
        newest=newest,
        window=window,
        older=older,
        **contribute(header, facts, rules),
    )
    expired = previous and at - previous[0] > rules.session_expiry
    if expired or status != (latest[2] if latest else None):
        revise_turn(header, after, facts, (previous, None), out)
        after = replace(after, seq=out.seq)
    rows.put(HEADER, after)
    history_rows.turn(turn, input, out)
    out.session = True
    return APPLIED
