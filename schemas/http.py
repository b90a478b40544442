"""Bodies and replies of the HTTP API, besides the documents of the other modules (docs/http.md)."""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, RootModel, WithJsonSchema

from schemas.base import Id, JsonObject, Label, Micros, Reply, Tenant, Vad, Wire
from schemas.events import Metadata
from schemas.learner import UserLearningProfile
from schemas.memory import Preference, State
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
    """What both bodies of seed 004 may say besides. `tenant` can only be the key's own;
    `occurred_at` is the time of the request, if it is not given."""

    tenant: Tenant | None = None
    signal_id: Id | None = None
    occurred_at: Micros | None = None


class SessionUpdate(Update):
    """`POST /memory/session/update` (seed 004 §3.4)."""

    session_id: Id
    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None


class UserEvent(Wire):
    """What the user has just done (seed 004 §3.3)."""

    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None


class UserUpdate(Update):
    """`POST /memory/user/update` (seed 004 §3.3)."""

    user_id: Id
    event: UserEvent


# --- replies ----------------------------------------------------------------------------------


class ProblemError(Reply):
    """One fault: the field, what is wrong with it, and of several records which one, from 1."""

    field: str
    reason: str
    position: int | None = None


class ProblemDocument(Reply):
    """RFC 9457. `type` is explained in docs/http.md."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = None


class Accepted(Reply):
    """The record is in the log for good; what it ends as was not known in time. `look` is where
    its effect will be seen."""

    id: str
    ending: Literal["accepted"]
    look: str


class RecordResult(Reply):
    """What became of one record. `position` counts from 1: lines of NDJSON, or elements.

    `refused`: it was not taken, `field` and `detail` say why. `dead`: it was taken and is a dead
    letter now. `accepted`: it is in the log for good, its ending was not known in time.
    """

    position: int
    id: str | None = None
    ending: Ending
    reason: str | None = None
    field: str | None = None
    detail: str | None = None


class RecordsReply(Reply):
    """Counts by ending, and the result of each record (`Prefer: return=minimal`: of those alone
    that are refused or dead)."""

    counts: dict[Ending, int]
    results: list[RecordResult]


class MoodNow(Reply):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
    `at` is missing where nothing was ever felt."""

    text: str
    vad: Vad
    at: Micros | None = None
    baseline_vad: Vad
    shock_vad: Vad
    shock_halflife_seconds: float = Field(gt=0)
    shock_severity: float = Field(ge=0, le=1)
    last_at: Micros | None


class UserDocument(Reply):
    """Everything that is known of a user now."""

    user_id: str
    profile: UserLearningProfile | None
    states: list[State]
    preferences: list[Preference]
    mood: MoodNow | None


class StateThen(Reply):
    """A state as it was true at a time, as far as was known at another."""

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
    """What was held true of a user, and from where to go on (`cursor`); null at the end."""

    user_id: str
    as_of: Micros
    known_at: Micros | None
    states: list[StateThen]
    next: str | None


class TimelineTurn(Reply):
    """A turn with the feeling in it, where one is known."""

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
    """A change, and one event that it rests on, in the event's own words."""

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
    """How something came to be as it is."""

    entity_id: str
    revisions: list[RevisionTold]
    next: str | None


class SearchHit(Reply):
    """An event, state, preference or item of session memory. `matches` are the parts of `text`
    that matched, as [start, end) in characters; `why` what each part adds to `score`."""

    kind: Literal["event", "state", "preference", "session_memory"]
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
    """A dead letter with what was sent: as text, or in base64 where that is not UTF-8."""

    id: str
    reason: str
    detail: str
    key: str | None
    recorded_at: Micros
    headers: str | None
    text: str | None = None
    base64: str | None = None


class Health(Reply):
    """The process is alive. `generation` answers; null: none does now, or the server has no
    history."""

    status: Literal["ok"]
    generation: str | None


class Ready(Reply):
    """Whether questions are answered; `done` of `total` rows or bytes are restored. `generation`
    answers; null: none does now, or the server has no history. `promoted` is the generation that
    was promoted and does not answer yet; usually null."""

    ready: bool
    about: str
    done: int
    total: int
    generation: str | None
    promoted: str | None


class EventStream(RootModel[str]):
    """Server-sent events: `id` the document's hash, `event: session`, `data` a SessionDocument;
    `event: gone` where the session is no more. Comments keep the connection open."""
