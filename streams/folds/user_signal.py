"""The signal of an ended turn for the user's fold."""

from schemas.events import Turn
from streams.folds.affect import moment_of
from streams.folds.effects import UserSignal
from streams.folds.session_state import Facts


def user_signal(turn: Turn, facts: Facts) -> UserSignal:
    metadata, moment = turn.metadata, None
    if turn.affect:
        moment = moment_of(turn.occurred_at, turn.event_id, turn.affect, False, turn.session_id)
    return UserSignal(
        facts.event_id,
        facts.user_id,  # type: ignore[arg-type]  # checked by the caller
        turn.session_id,
        facts.occurred_at,
        facts.intent,
        facts.topic,
        facts.artifact,
        metadata.difficulty if metadata is not None else None,
        metadata.correct_rate if metadata is not None else None,
        moment,
    )
