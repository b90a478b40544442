"""What is kept of a session, and how one more turn changes it.

Every function here gives the same result for any order of turns: "latest" and "earliest"
go by (occurred_at, event_id), never by arrival.
"""

from typing import Any

from schemas.events import Claim, Turn, first_intent
from schemas.row import Row, replace
from streams.folds.index import Newest
from streams.folds.rows import RowKind, Rows
from streams.folds.rules import Rules

FAR = 2**62  # a time later than any
MOST_USERS = 64
"""Of a session that are remembered: the first ones by their ids."""

Key = tuple[int, str]  # of a turn: occurred_at, event_id
Said = tuple[int, str, str]  # occurred_at, id, value: the latest by (occurred_at, id) stands
Claimed = tuple[bool, float, int, str, str]  # from the user, confidence, occurred_at, id, content


class Session(Row, frozen=True):
    """A session's header: everything of it that is small."""

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
    """One task's question and answer: input of its earliest turn that has one, the rest of its
    latest. Its first turn stands in the header's window."""

    user_input: str
    answer: str
    status: str
    error: str | None
    summary: dict[str, Any] | None
    asked: Key | None = None  # the turn of the input; None too where there is but one turn
    last: Key | None = None  # None: there is but one turn, the first


class Facts(Row, frozen=True):
    """What the header and the conversations take from a turn, under a turn's names: a plain turn
    (`Input.plain`) is its own facts."""

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
        """The id of the task it belongs to; without one it is a task of its own."""
        return self.task_id or self.event_id


SESSIONS = RowKind("h", Session)
HEADER = SESSIONS.key()
RUNNING = RowKind("r", Facts)
"""Turns that have not ended, by event_id."""


def facts_of(turn: Turn) -> Facts:
    """A turn without what only the log keeps."""
    subject, object_, summary, where = (
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
        artifacts_metadata=where.model_dump(exclude_none=True) if where else None,
    )


def claimed(claim: Claim, key: tuple[int, str]) -> Claimed:
    """A claim as claims are compared: user over agent, then the surer, then the later."""
    return (claim.source == "user", claim.confidence, *key, claim.content)


def contribute(header: Session, turn: Facts, rules: Rules) -> dict[str, Any]:
    """What one more turn changes in the header; the same for any order of turns."""
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
        said, known = (at, event_id, turn.user_input), header.message
        if known is None or said > known:
            changes["message"] = said
    if turn.subject:
        changes["subject"] = max(header.subject or turn.subject, turn.subject)
    if turn.object:
        changes["object"] = max(header.object or turn.object, turn.object)
    where = turn.artifacts_metadata
    if where and (header.artifacts is None or (at, event_id) >= header.artifacts[:2]):
        changes["artifacts"] = (at, event_id, where)
    return changes


def speakers(header: Session, user_id: str) -> tuple[str, ...]:
    """Who has spoken once this user has, too; () where that is one alone."""
    known = header.users or ((header.user[2],) if header.user else (user_id,))
    if user_id in known:
        return header.users
    return tuple(sorted((*known, user_id)))[:MOST_USERS]


def speakers_in(rows: Rows) -> set[str]:
    """Who has spoken in a session so far, also in turns that have not ended."""
    header = rows.get(HEADER)
    if header is None:
        return set()
    users = {*header.users, *((header.user[2],) if header.user else ())}
    running = (rows[RUNNING.key(event_id)].user_id for event_id in header.running)
    return users | {user_id for user_id in running if user_id is not None}


def contextualise(
    header: Session,
    at: int,
    said_by: str,
    intent: str | None,
    topic: str | None,
    artifact: str | None,
    rules: Rules,
) -> dict[str, Any]:
    """What changes in the SessionContext's part of the header, which signals move too."""
    changes: dict[str, Any] = {}
    if header.context_at is None or at > header.context_at:
        changes["context_at"] = at
    if intent:
        said, intents = (at, said_by, intent), header.intents
        if not intents or said > intents[-1]:
            intents = (*intents, said)
        else:
            intents = tuple(sorted({*intents, said}))
        most = rules.max_intents
        changes["intents"] = intents if len(intents) <= most else intents[-most:]
    if topic:
        said, known = (at, said_by, topic), header.topic
        if known is None or said > known:
            changes["topic"] = said
    if artifact:
        said, known = (at, said_by, artifact), header.artifact
        if known is None or said > known:
            changes["artifact"] = said
    return changes


def visible(rows: Rows, header: Session, rules: Rules) -> Session:
    """The header with the turns that have not ended laid over it."""
    if not header.running:
        return header
    for event_id in header.running:
        header = replace(header, **contribute(header, rows[RUNNING.key(event_id)], rules))
    return header


def converse(row: Conversation | None, first: Key | None, turn: Facts) -> tuple[Conversation, Key]:
    """A conversation with one more turn, in any order, and its first turn."""
    key = turn.occurred_at, turn.event_id
    if row is None or first is None:
        row = Conversation(
            turn.user_input, turn.agent_answer, turn.status, turn.error, turn.summary
        )
        return row, key
    asked, last = row.asked, row.last
    if last is None:
        asked, last = (first if row.user_input else None), first
    if turn.user_input and (asked is None or key <= asked):
        row, asked = replace(row, user_input=turn.user_input), key
    if key >= last:
        last = key
        row = replace(
            row,
            answer=turn.agent_answer,
            status=turn.status,
            error=turn.error,
            summary=turn.summary,
        )
    return replace(row, asked=asked, last=last), min(first, key)


def status_of(header: Session) -> str:
    """closed or waiting_input if the latest turn says so, else waiting_input if a task waits, else
    active."""
    latest = header.latest
    if latest and latest[2] in ("closed", "waiting_input"):
        return latest[2]
    for _, asked, still in header.waiting:
        if still and (latest is None or latest[0] <= asked):
            return "waiting_input"
    return "active"


def claim_document(claimed: Claimed | None) -> dict[str, Any] | None:
    """A claim as documents show it."""
    if claimed is None:
        return None
    by_user, confidence, _, _, content = claimed
    source = "user" if by_user else "agent"
    return {"content": content, "source": source, "confidence": confidence}
