"""Stored state of a session, and its update by a turn.

Every function gives the same result for any order of turns: "latest" and "earliest" refer to
(occurred_at, event_id), not to arrival.
"""

from typing import Any

from schemas.events import Claim, Turn, first_intent
from schemas.row import Row, replace
from streams.folds.constants import Rules
from streams.folds.effects import RowKind, Rows
from streams.folds.seen_ids import Newest

FAR = 2**62  # a time later than any
MAX_USERS = 64
"""Stored users of a session: the first by id."""

Key = tuple[int, str]  # of a turn: occurred_at, event_id
Said = tuple[int, str, str]  # occurred_at, id, value: the latest by (occurred_at, id) counts
Claimed = tuple[bool, float, int, str, str]  # from the user, confidence, occurred_at, id, content


class Session(Row, frozen=True):
    """A session's header: all small fields."""

    created_at: int = FAR
    updated_at: int = -FAR
    seq: int = 0
    runs: int = 0  # of the ids seen (index.py)
    newest: Newest = Newest()  # turns of all clients
    user: Said | None = None  # of its earliest turn that names one
    latest: tuple[int, str, str | None] | None = None  # the latest turn and its session_status
    subject: Claimed | None = None
    object: Claimed | None = None
    artifacts: tuple[int, str, dict[str, Any]] | None = None
    context_at: int | None = None
    topic: Said | None = None
    intents: tuple[Said, ...] = ()
    artifact: Said | None = None
    message: Said | None = None
    window: tuple[Said, ...] = ()  # the newest conversations: first turn and id
    older: int = 0  # conversations before the window
    waiting: tuple[tuple[str, int, bool], ...] = ()  # tasks that asked; when; whether they wait
    running: tuple[str, ...] = ()
    undated: bool = False  # nothing has come, or tool results alone (dating.dated)
    users: tuple[str, ...] = ()  # who spoke, once they are several (`speakers`)


class Conversation(Row, frozen=True):
    """Message and answer of one task: the input of its earliest turn with one, the rest of its
    latest turn. The header's window has its first turn."""

    user_input: str
    answer: str
    status: str
    error: str | None
    summary: dict[str, Any] | None
    asked: Key | None = None  # the turn of the input; None too where there is but one turn
    last: Key | None = None  # None: there is but one turn, the first


class Facts(Row, frozen=True):
    """Fields of a turn for the header and the conversations, under the turn's names: a plain turn
    (`Input.plain`) is used directly."""

    occurred_at: int
    event_id: str
    user_id: str | None
    client_id: str | None
    task_id: str | None
    user_input: str
    agent_answer: str
    status: str
    error: str | None
    topic: str | None
    artifact: str | None
    session_status: str | None
    intent: str | None
    subject: Claimed | None
    object: Claimed | None
    summary: dict[str, Any] | None
    artifacts_metadata: dict[str, Any] | None
    doc: str | None = None  # of a running turn: its JSON, which whoever ends it may repeat
    images: tuple[str, ...] = ()  # the same of its image summaries, which the JSON leaves out

    @property
    def conversation(self) -> str:
        """Id of its task; a turn without one is a separate task."""
        return self.task_id or self.event_id


SESSIONS = RowKind("h", Session)
HEADER = SESSIONS.key()
RUNNING = RowKind("r", Facts)
"""Turns that have not ended, by event_id."""


def facts_of(turn: Turn) -> Facts:
    """Returns the fields of a turn that the session stores."""
    subject, object_, summary, artifacts = (
        turn.subject,
        turn.object,
        turn.summary,
        turn.artifacts_metadata,
    )
    key = turn.occurred_at, turn.event_id
    return Facts(
        occurred_at=turn.occurred_at,
        event_id=turn.event_id,
        user_id=turn.user_id,
        client_id=turn.client_id,
        task_id=turn.task_id,
        user_input=turn.user_input,
        agent_answer=turn.agent_answer,
        status=turn.status,
        error=turn.error,
        topic=turn.topic,
        artifact=turn.artifact,
        session_status=turn.session_status,
        intent=first_intent(turn.intent),
        subject=claimed(subject, key) if subject else None,
        object=claimed(object_, key) if object_ else None,
        summary=summary.model_dump() if summary else None,
        artifacts_metadata=artifacts.model_dump(exclude_none=True) if artifacts else None,
    )


def claimed(claim: Claim, key: tuple[int, str]) -> Claimed:
    """Converts a claim for comparison: user over agent, then the more confident, then the later."""
    return (claim.source == "user", claim.confidence, *key, claim.content)


def contribute(header: Session, turn: Facts, rules: Rules) -> dict[str, Any]:
    """Returns the changed header fields of one more turn, for any order of turns."""
    at, event_id = turn.occurred_at, turn.event_id
    changes = contextualise(header, at, event_id, turn.intent, turn.topic, turn.artifact, rules)
    if header.undated:
        changes |= {"created_at": at, "updated_at": at, "undated": False}
    elif at < header.created_at:
        changes["created_at"] = at
    elif at > header.updated_at:
        changes["updated_at"] = at
    latest = header.latest
    if latest is None or at > latest[0] or (at, event_id) >= latest[:2]:
        changes["latest"] = (at, event_id, turn.session_status)
    if turn.user_id and (header.user is None or at <= header.user[0]):
        user = (at, event_id, turn.user_id)
        changes["user"] = min(header.user or user, user)
    if turn.user_id and header.user and turn.user_id != header.user[2]:
        changes["users"] = speakers(header, turn.user_id)
    if turn.user_input:
        message, latest_message = (at, event_id, turn.user_input), header.message
        if latest_message is None or message > latest_message:
            changes["message"] = message
    if turn.subject:
        changes["subject"] = max(header.subject or turn.subject, turn.subject)
    if turn.object:
        changes["object"] = max(header.object or turn.object, turn.object)
    artifacts = turn.artifacts_metadata
    if artifacts and (header.artifacts is None or (at, event_id) >= header.artifacts[:2]):
        changes["artifacts"] = (at, event_id, artifacts)
    return changes


def speakers(header: Session, user_id: str) -> tuple[str, ...]:
    """Returns the speakers including this user; () for a single one."""
    users = header.users or ((header.user[2],) if header.user else (user_id,))
    if user_id in users:
        return header.users
    return tuple(sorted((*users, user_id)))[:MAX_USERS]


def speakers_in(rows: Rows) -> set[str]:
    """Returns the users of a session, including turns that have not ended."""
    header = rows.get(HEADER)
    if header is None:
        return set()
    users = {*header.users, *((header.user[2],) if header.user else ())}
    running = (rows[RUNNING.key(event_id)].user_id for event_id in header.running)
    return users | {user_id for user_id in running if user_id is not None}


def contextualise(
    header: Session,
    at: int,
    record_id: str,
    intent: str | None,
    topic: str | None,
    artifact: str | None,
    rules: Rules,
) -> dict[str, Any]:
    """Returns the changed header fields of the SessionContext, for turns and signals."""
    changes: dict[str, Any] = {}
    if header.context_at is None or at > header.context_at:
        changes["context_at"] = at
    if intent:
        stamped, intents = (at, record_id, intent), header.intents
        if not intents or stamped > intents[-1]:
            intents = (*intents, stamped)
        else:
            intents = tuple(sorted({*intents, stamped}))
        limit = rules.max_intents
        changes["intents"] = intents if len(intents) <= limit else intents[-limit:]
    if topic:
        stamped, latest = (at, record_id, topic), header.topic
        if latest is None or stamped > latest:
            changes["topic"] = stamped
    if artifact:
        stamped, latest = (at, record_id, artifact), header.artifact
        if latest is None or stamped > latest:
            changes["artifact"] = stamped
    return changes


def visible(rows: Rows, header: Session, rules: Rules) -> Session:
    """Returns the header merged with the turns that have not ended."""
    if not header.running:
        return header
    for event_id in header.running:
        header = replace(header, **contribute(header, rows[RUNNING.key(event_id)], rules))
    return header


def converse(row: Conversation | None, first: Key | None, turn: Facts) -> tuple[Conversation, Key]:
    """Adds a turn to a conversation, in any order; returns it with its first turn."""
    key = turn.occurred_at, turn.event_id
    if row is None or first is None:
        row = Conversation(
            turn.user_input, turn.agent_answer, turn.status, turn.error, turn.summary
        )
        return row, key
    input_key, last = row.asked, row.last
    if last is None:
        input_key, last = (first if row.user_input else None), first
    if turn.user_input and (input_key is None or key <= input_key):
        row, input_key = replace(row, user_input=turn.user_input), key
    if key >= last:
        last = key
        row = replace(
            row,
            answer=turn.agent_answer,
            status=turn.status,
            error=turn.error,
            summary=turn.summary,
        )
    return replace(row, asked=input_key, last=last), min(first, key)


def status_of(header: Session) -> str:
    """Returns `closed` or `waiting_input` if the latest turn sets it, `waiting_input` if a task is
    waiting, otherwise `active`."""
    latest = header.latest
    if latest and latest[2] in ("closed", "waiting_input"):
        return latest[2]
    for _, question_at, is_waiting in header.waiting:
        if is_waiting and (latest is None or latest[0] <= question_at):
            return "waiting_input"
    return "active"


def claim_document(claimed: Claimed | None) -> dict[str, Any] | None:
    """Returns the document of a claim."""
    if claimed is None:
        return None
    by_user, confidence, _, _, content = claimed
    source = "user" if by_user else "agent"
    return {"content": content, "source": source, "confidence": confidence}
