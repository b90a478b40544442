"""The conversations of a session: a row each, and the window of the newest ones."""

from streams.folds.constants import Rules
from streams.folds.effects import RowKind, Rows
from streams.folds.ids import short_hash
from streams.folds.seen_ids import find_id, put_id
from streams.folds.session_state import Conversation, Facts, Key, Said, Session, converse

CONVERSATIONS = RowKind("c", Conversation)
"""By task_id, of a turn without one its event_id."""


def add_turn(
    rows: Rows, header: Session, turn: Facts, runs: int, rules: Rules
) -> tuple[int, tuple[Said, ...], int]:
    """Adds a turn to its conversation. Returns the number of runs of ids, the window, and the
    number of conversations before the window."""
    conversation = turn.task_id or turn.event_id
    name = CONVERSATIONS.key(conversation)
    row = rows.get(name)
    window, older = header.window, header.older
    if row is not None:
        first: Key = next(
            conversation_key[:2]
            for conversation_key in window
            if conversation_key[2] == conversation
        )
        merged, now = converse(row, first, turn)
        rows.put(name, merged)
        if now != first:
            rest = (
                conversation_key
                for conversation_key in window
                if conversation_key[2] != conversation
            )
            window = tuple(sorted((*rest, (*now, conversation))))
        return runs, window, older
    if turn.task_id:  # it may have fallen out of the window: then it is in the history alone
        stored_check, place = find_id(rows, runs, short_hash("c" + turn.task_id))
        if stored_check is not None:
            return runs, window, older
        runs = put_id(rows, runs, place, bytes(4))
    row, key = converse(None, None, turn)
    rows.put(name, row)
    window = (*window, (*key, conversation))
    if len(window) > 1 and window[-1] < window[-2]:
        window = tuple(sorted(window))
    if len(window) > rules.max_conversations:
        rows.delete(CONVERSATIONS.key(window[0][2]))
        window, older = window[1:], older + 1
    return runs, window, older
