"""What is kept of a session, and how one more turn changes it (seeds 000 and 004).

Every function here gives the same result for any order of turns (law 2): "latest" and "earliest"
go by (occurred_at, event_id), never by arrival.
"""

from functools import reduce
from typing import Any, NamedTuple

from schemas.base import HOUR
from schemas.events import Claim, Turn, first_intent
from streams.folds.index import Seen
from streams.folds.rows import Rows

MAX_INTENTS = 10
MAX_CONVERSATIONS = 20
MAX_RUNNING = 64
EXPIRY = 24 * HOUR

Said = tuple[int, str, str]  # occurred_at, id, value: the latest by (occurred_at, id) stands
Claimed = tuple[bool, float, int, str, str]  # from the user, confidence, occurred_at, id, content


class Session(NamedTuple):
    """A session's header: everything of it that is small."""

    created_at: int
    updated_at: int
    seq: int = 0
    seen: Seen = Seen()
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
    window: tuple[Said, ...] = ()  # first turn of each of the newest conversations
    older: int = 0  # conversations before the window
    waiting: tuple[tuple[str, int, bool], ...] = ()  # tasks that asked; when; whether they wait
    running: tuple[str, ...] = ()


class Conversation(NamedTuple):
    """One task's question and answer: input of its earliest turn, the rest of its latest."""

    first: tuple[int, str]
    last: tuple[int, str]
    asked: Said | None
    answer: str
    status: str
    error: str | None
    summary: dict[str, Any] | None


class Facts(NamedTuple):
    """What the header and the conversations take from a turn."""

    occurred_at: int
    event_id: str
    user_id: str | None
    client_id: str | None
    task_id: str | None
    user_input: str
    agent_answer: str
    status: str
    error: str | None
    intent: str | None
    topic: str | None
    artifact: str | None
    subject: Claimed | None
    object: Claimed | None
    summary: dict[str, Any] | None
    artifacts: dict[str, Any] | None
    session_status: str | None

    @property
    def conversation(self) -> str:
        return self.task_id or self.event_id


def facts_of(turn: Turn) -> Facts:
    """A turn without what only the log keeps."""
    key = turn.occurred_at, turn.event_id
    return Facts(
        turn.occurred_at,
        turn.event_id,
        turn.user_id,
        turn.client_id,
        turn.task_id,
        turn.user_input,
        turn.agent_answer,
        turn.status,
        turn.error,
        first_intent(turn.intent),
        turn.topic or None,
        turn.artifact or None,
        claimed(turn.subject, key) if turn.subject else None,
        claimed(turn.object, key) if turn.object else None,
        turn.summary.model_dump() if turn.summary else None,
        turn.artifacts_metadata.model_dump(exclude_none=True) if turn.artifacts_metadata else None,
        turn.session_status,
    )


def claimed(claim: Claim, key: tuple[int, str]) -> Claimed:
    """A claim in the order claims are compared by."""
    return (claim.source == "user", claim.confidence, *key, claim.content)


def contribute(header: Session, turn: Facts) -> Session:
    """The header with one more turn. Any order of turns gives the same header (law 2)."""
    at, event_id = key = turn.occurred_at, turn.event_id
    latest, user, message = header.latest, header.user, header.message
    if latest is None or key >= latest[:2]:
        latest = (at, event_id, turn.session_status)
    if turn.user_id and (user is None or key <= user[:2]):
        user = (at, event_id, turn.user_id)
    if turn.user_input and (message is None or key >= message[:2]):
        message = (at, event_id, turn.user_input)
    header = header._replace(
        created_at=min(header.created_at, at),
        updated_at=max(header.updated_at, at),
        user=user,
        latest=latest,
        message=message,
    )
    header = contextualise(header, key, turn.intent, turn.topic, turn.artifact)
    if turn.subject or turn.object or turn.artifacts:
        artifacts = header.artifacts
        if turn.artifacts and (artifacts is None or key >= artifacts[:2]):
            artifacts = (at, event_id, turn.artifacts)
        header = header._replace(
            subject=greater(header.subject, turn.subject),
            object=greater(header.object, turn.object),
            artifacts=artifacts,
        )
    return header


def greater(one: Claimed | None, other: Claimed | None) -> Claimed | None:
    """User over agent, then the surer, then the later."""
    return max((c for c in (one, other) if c is not None), default=None)


def contextualise(
    header: Session,
    key: tuple[int, str],
    intent: str | None,
    topic: str | None,
    artifact: str | None,
) -> Session:
    """The SessionContext's part of the header, which signals move too."""
    at, said_by = key
    intents, latest_topic, latest_artifact = header.intents, header.topic, header.artifact
    if intent:
        said = (at, said_by, intent)
        if not intents or said > intents[-1]:
            intents = (*intents, said)[-MAX_INTENTS:]
        else:
            intents = tuple(sorted({*intents, said}))[-MAX_INTENTS:]
    if topic and (latest_topic is None or key >= latest_topic[:2]):
        latest_topic = (at, said_by, topic)
    if artifact and (latest_artifact is None or key >= latest_artifact[:2]):
        latest_artifact = (at, said_by, artifact)
    return header._replace(
        context_at=at if header.context_at is None else max(header.context_at, at),
        intents=intents,
        topic=latest_topic,
        artifact=latest_artifact,
    )


def visible(rows: Rows, header: Session) -> Session:
    """The header with the turns that have not ended laid over it."""
    if not header.running:
        return header
    return reduce(contribute, (rows.get(f"r/{one}") for one in header.running), header)


def converse(row: Conversation | None, turn: Facts) -> Conversation:
    """A conversation with one more turn, in any order."""
    key = turn.occurred_at, turn.event_id
    asked = (*key, turn.user_input) if turn.user_input else None
    if row is None:
        return Conversation(
            key, key, asked, turn.agent_answer, turn.status, turn.error, turn.summary
        )
    if asked and (row.asked is None or asked[:2] <= row.asked[:2]):
        row = row._replace(asked=asked)
    if key >= row.last:
        row = row._replace(
            last=key,
            answer=turn.agent_answer,
            status=turn.status,
            error=turn.error,
            summary=turn.summary,
        )
    return row._replace(first=min(row.first, key))


def status_of(header: Session) -> str:
    """closed if the latest turn says so, else waiting_input if a task waits, else active."""
    if header.latest and header.latest[2] == "closed":
        return "closed"
    return "waiting_input" if waits(header) else "active"


def waits(header: Session) -> bool:
    """Whether a task of the session asked something after its latest turn."""
    latest = header.latest[0] if header.latest else None
    return any(still and (latest is None or latest <= asked) for _, asked, still in header.waiting)


def claim_document(claimed: Claimed | None) -> dict[str, Any] | None:
    """A claim as seed 000 writes it."""
    if claimed is None:
        return None
    by_user, confidence, _, _, content = claimed
    source = "user" if by_user else "agent"
    return {"content": content, "source": source, "confidence": confidence}
