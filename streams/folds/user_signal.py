"""What an ended turn tells the user's fold."""

from schemas.events import Turn
from streams.folds.affect import moment_of
from streams.folds.rows import UserSignal
from streams.folds.session_state import Facts


def user_signal(turn: Turn, facts: Facts) -> UserSignal:
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
