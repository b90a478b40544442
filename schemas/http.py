"""Bodies and replies of the HTTP API, besides the documents of the other modules (docs/http.md)."""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, RootModel, WithJsonSchema

from schemas.base import Id, JsonObject, Label, Micros, Reply, Tenant, Wire
from schemas.events import Metadata
from schemas.memory_kinds import SEARCHED
from schemas.record import Ended
from schemas.time import DAY, EPOCH, parse_time

Ending = Literal[Ended, "refused"]


def _moment(value: Any) -> int:
    if isinstance(value, str) and len(value) == 10:
        return (date.fromisoformat(value) - EPOCH.date()).days * DAY + DAY - 1
    return parse_time(value)


Moment = Annotated[
    int,
    BeforeValidator(_moment),
    WithJsonSchema({"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]}),
]
"""A time to ask about, in microseconds: RFC 3339, or a date, which means its end (UTC)."""


# --- bodies -----------------------------------------------------------------------------------


class Update(Wire):
    """Fields of both updates. `tenant` must be the key's own; `occurred_at` defaults to the time of
    the request."""

    tenant: Tenant | None = None
    signal_id: Id | None = None
    occurred_at: Micros | None = None


class SessionUpdate(Update):
    """The body of `POST /memory/session/update`."""

    session_id: Id
    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None


class UserEvent(Wire):
    """What the user has just done."""

    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None


class UserUpdate(Update):
    """The body of `POST /memory/user/update`."""

    user_id: Id
    event: UserEvent


# --- replies ----------------------------------------------------------------------------------


class ProblemError(Reply):
    """One fault: the field, the reason, and for several records the record's position, from 1."""

    field: str
    reason: str
    position: int | None = None


class ProblemDocument(Reply):
    """A problem document (RFC 9457). docs/http.md explains each `type`."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = None


class Accepted(Reply):
    """The record is stored; its outcome was not known in time. `look` is the URL that will show its
    effect."""

    id: str
    ending: Literal["accepted"]
    look: str


class RecordResult(Reply):
    """The outcome of one record. `position` counts lines of NDJSON, or elements, from 1.

    `refused`: not stored; `field` and `detail` give the reason. `dead`: stored as a dead letter.
    `accepted`: stored; its outcome was not known in time.
    """

    position: int
    id: str | None = None
    ending: Ending
    reason: str | None = None
    field: str | None = None
    detail: str | None = None


class RecordsReply(Reply):
    """Counts by outcome, and the result of each record; with `Prefer: return=minimal` only of
    records that are refused or dead."""

    counts: dict[Ending, int]
    results: list[RecordResult]


class StateThen(Reply):
    """A state as it was true at one time and known at another."""

    owner_id: str
    state_id: str
    kind: str
    body_text: str
    payload: JsonObject
    confidence: float
    valid_from: Micros
    valid_to: Micros | None
    last_confirmed_at: Micros
    status: str
    evidence_event_ids: list[str]
    updated_at: Micros


class States(Reply):
    """A user's states. `next` is the cursor of the next page; null at the end."""

    user_id: str
    as_of: Micros
    known_at: Micros | None
    states: list[StateThen]
    next: str | None


class TimelineTurn(Reply):
    """A turn with its affect, if known."""

    occurred_at: Micros
    event_id: str
    session_id: str
    user_id: str | None
    source: str
    status: str
    user_input: str
    agent_answer: str
    error: str | None
    intent: str | None
    topic: str | None
    v: float | None
    a: float | None
    d: float | None


class Timeline(Reply):
    """The turns of a session in order."""

    session_id: str
    turns: list[TimelineTurn]
    next: str | None


class RevisionTold(Reply):
    """A change, with one of its evidence events."""

    owner_id: str
    entity_type: str
    entity_id: str
    kind: str | None
    op: str
    before: JsonObject | None
    after: JsonObject | None
    reason: str
    occurred_at: Micros
    recorded_at: Micros
    seq: int
    revision_id: str
    plan_id: str | None
    evidence_event_id: str | None
    evidence_session_id: str | None
    evidence_occurred_at: Micros | None
    user_input: str | None
    agent_answer: str | None


class Why(Reply):
    """The revisions of an entity, in order."""

    entity_id: str
    revisions: list[RevisionTold]
    next: str | None


class SearchHit(Reply):
    """An event, state, preference or session memory item. `matches` are the matching parts of
    `text`, as [start, end) in characters; `why` is what each signal adds to `score`."""

    kind: Annotated[str, WithJsonSchema({"enum": list(SEARCHED), "type": "string"})]
    id: str
    session_id: str | None
    user_id: str | None
    at: Micros
    valid_to: Micros | None
    text: str
    matches: list[tuple[int, int]]
    score: float
    why: dict[str, float]


class SearchPage(Reply):
    """The best hits first."""

    hits: list[SearchHit]
    next: str | None


class DeadLetter(Reply):
    """A record that could not be applied."""

    id: str
    reason: str
    detail: str
    key: str | None
    bytes: int
    recorded_at: Micros


class DeadLetters(Reply):
    """Dead letters, oldest first."""

    dead_letters: list[DeadLetter]
    next: str | None


class DeadLetterWhole(Reply):
    """A dead letter with its content: as text, or in base64 if it is not UTF-8."""

    id: str
    reason: str
    detail: str
    key: str | None
    recorded_at: Micros
    headers: str | None
    text: str | None = None
    base64: str | None = None


class Health(Reply):
    """Liveness. `generation` is the one that answers; null if none does or the server has no
    history."""

    status: Literal["ok"]
    generation: str | None


class Ready(Reply):
    """Current readiness; accurate during a restore. `done` of `total` rows or bytes are restored.
    `generation` is the one that answers; null if none does or the server has no history.
    `promoted` is a generation that was promoted and does not answer yet; usually null."""

    ready: bool
    about: str
    done: int
    total: int
    generation: str | None
    promoted: str | None


class EventStream(RootModel[str]):
    """Server-sent events: `id` the document's hash, `event: session`, `data` a SessionDocument;
    `event: gone` if the session no longer exists. Comments keep the connection open."""
