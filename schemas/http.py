"""Request bodies and replies of the HTTP API (docs/http.md); documents are in other modules."""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, RootModel, WithJsonSchema, model_validator

from schemas.base import Confidence, Id, JsonObject, Label, Micros, Reply, Tenant, Wire
from schemas.events import Metadata
from schemas.memory_kinds import SEARCHED
from schemas.record import Ended
from schemas.time import DAY, EPOCH, parse_time
from schemas.turn import Artifact, Topic

Ending = Literal[Ended, "refused"]


def _moment(value: Any) -> int:
    return parse_time(value) if (day := _day(value)) is None else day + DAY - 1


def _since(value: Any) -> int:
    return parse_time(value) if (day := _day(value)) is None else day


def _day(value: Any) -> int | None:
    """Start of a date in microseconds, or None for any other text."""
    if isinstance(value, str) and len(value) == 10:
        return (date.fromisoformat(value) - EPOCH.date()).days * DAY
    return None


_TIME_OR_DATE = WithJsonSchema(
    {"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]}
)
Moment = Annotated[int, BeforeValidator(_moment), _TIME_OR_DATE]
"""A point in time in microseconds: RFC 3339, or a date, which means its end (UTC)."""
Since = Annotated[int, BeforeValidator(_since), _TIME_OR_DATE]
"""Start of a period: as `Moment`, but a date means its start."""


# --- bodies -----------------------------------------------------------------------------------


class Update(Wire):
    """Fields of both updates. `tenant` must match the API key; `occurred_at` defaults to the time
    of the request."""

    tenant: Tenant | None = Field(default=None, description="Tenant; must match the API key.")
    signal_id: Id | None = Field(
        default=None,
        description="Id of the signal. Default: derived from `Idempotency-Key`; without that "
        "header, a new id.",
    )
    occurred_at: Micros | None = Field(
        default=None,
        description="Time of the event. Default: the time of the request.",
    )


SingleIntent = Annotated[Label | None, Field(description="Intent of the user, such as `quiz`.")]


class SessionUpdate(Update):
    """The body of `POST /memory/session/update`."""

    session_id: Id = Field(description="Id of the session.")
    intent: SingleIntent = None
    topic: Topic = None
    artifact: Artifact = None


class UserEvent(Wire):
    """The user's latest activity."""

    intent: SingleIntent = None
    topic: Topic = None
    artifact: Artifact = None
    metadata: Metadata | None = Field(default=None, description="Result of a lesson.")


class UserUpdate(Update):
    """The body of `POST /memory/user/update`."""

    user_id: Id = Field(description="Id of the user.")
    event: UserEvent = Field(
        description="The activity: intent, topic, artifact and result of a lesson."
    )


class Correction(Wire):
    """The reason of a correction; subclasses add the fields that can change."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"minProperties": 2})

    reason: Annotated[str, Field(min_length=1, max_length=2000)] = Field(
        description="Reason of the correction; shown by `why`.",
    )

    @model_validator(mode="after")
    def _changes_something(self) -> "Correction":
        if not self.model_dump(exclude_none=True).keys() - {"reason"}:
            field = next(name for name in type(self).model_fields if name != "reason")
            raise ValueError(f"no field to correct; set `{field}` or another field")
        return self


class StateCorrection(Correction):
    """The body of `PATCH /v1/states/{state_id}`: the fields to change, and why."""

    body_text: Annotated[str, Field(min_length=1, max_length=10_000)] | None = Field(
        default=None,
        description="The fact as a sentence.",
    )
    payload: JsonObject | None = Field(
        default=None,
        description="Structured details; they replace all earlier ones.",
    )
    confidence: Confidence | None = Field(default=None, description="Confidence, 0 to 1.")
    entities: list[Label] | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="People, places and things that it mentions.",
    )
    valid_from: Micros | None = Field(
        default=None,
        description="Start of validity. A later time than the current one starts a new version.",
    )
    valid_to: Micros | None = Field(default=None, description="End of validity.")


class PreferenceCorrection(Correction):
    """The body of `PATCH /v1/preferences/{preference_id}`: the fields to change, and why."""

    subject: Annotated[str, Field(min_length=1, max_length=512)] | None = Field(
        default=None,
        description="The thing that the user likes or dislikes.",
    )
    polarity: Literal["like", "dislike"] | None = Field(
        default=None,
        description="`like` or `dislike`.",
    )
    domain: Label | None = Field(default=None, description="Domain, such as `food`.")
    confidence: Confidence | None = Field(default=None, description="Confidence, 0 to 1.")
    note: Annotated[str, Field(min_length=1, max_length=10_000)] | None = Field(
        default=None,
        description="Remark.",
    )


# --- replies ----------------------------------------------------------------------------------


class ProblemError(Reply):
    """One error: field, reason and, with several records, the record's position from 1."""

    field: str = Field(description="Path of the field.")
    reason: str = Field(description="Why the field is invalid.")
    position: int | None = Field(
        default=None,
        description="Position of the record among several, from 1; null for a single record.",
    )


class QuotaUsed(Reply):
    """A tenant's exceeded quota (docs/quotas.md)."""

    tenant: str = Field(description="Id of the tenant.")
    limit: Literal["records", "bytes"] = Field(description="The limit that was exceeded.")
    per_second: int = Field(description="Quota per second.")
    remaining: int = Field(
        description="Remaining quota; a negative number is the excess of the last request."
    )
    retry_after: int = Field(description="Seconds until quota is available again.")


class ProblemDocument(Reply):
    """A problem document (RFC 9457). docs/http.md explains each `type`."""

    type: str = Field(description="Problem type, such as `/problems/invalid`.")
    title: str = Field(description="Summary of the problem type.")
    status: int = Field(description="HTTP status.")
    detail: str = Field(description="Explanation, and how to fix it.")
    errors: list[ProblemError] | None = Field(
        default=None,
        description="Errors by field and record, if a field is invalid or there are several "
        "errors.",
    )
    quota: QuotaUsed | None = Field(
        default=None,
        description="Tenant, limit and remaining quota; only with `/problems/over-quota`.",
    )


class Accepted(Reply):
    """The record is stored, but processing had not finished before the timeout. `look` is the URL
    of the resource that the record updates."""

    id: str = Field(description="Id of the record.")
    ending: Literal["accepted"] = Field(
        description="Stored; processing had not finished before the timeout."
    )
    look: str = Field(description="URL of the resource that the record updates.")


class Extracted(Reply):
    """Progress of a model extractor through the stored turns."""

    status: Literal["done", "waiting"] = Field(
        description="`done`: the model has processed all stored turns; `waiting`: some are pending."
    )
    about: str = Field(description="Progress of the model requests, as text.")


class RecordResult(Reply):
    """The outcome of one record. `position` counts lines of NDJSON, or array elements, from 1.

    `refused`: not stored; `field` and `detail` give the reason. `dead`: stored as a dead letter.
    `accepted`: stored; processing had not finished before the timeout.
    """

    position: int = Field(description="Line of NDJSON, or array element, from 1.")
    id: str | None = Field(
        default=None,
        description="Id of the record; null if the record could not be parsed.",
    )
    ending: Ending = Field(description="Outcome of the record.")
    reason: str | None = Field(
        default=None,
        description="Reason code, if refused or dead; `waiting` for a tool result that arrived "
        "before its recursion ended.",
    )
    field: str | None = Field(default=None, description="Invalid field, if known.")
    detail: str | None = Field(default=None, description="Reason as text, if refused or dead.")


class RecordsReply(Reply):
    """Counts by outcome, and the result of each record. With `Prefer: return=minimal` only rejected
    and dead records are listed."""

    counts: dict[Ending, int] = Field(description="Number of records by outcome.")
    results: list[RecordResult] = Field(description="Result of each record.")


class StateVersion(Reply):
    """A state valid at `as_of`, as recorded at `known_at`."""

    owner_id: str = Field(description="Id of the user.")
    state_id: str = Field(description="Id of the state, the same for all its versions.")
    kind: str = Field(description="Kind of the state.")
    body_text: str = Field(description="The state as a sentence.")
    payload: JsonObject = Field(description="Structured details.")
    confidence: float = Field(description="Confidence, 0 to 1.")
    valid_from: Micros = Field(description="Start of validity.")
    valid_to: Micros | None = Field(
        description="End of validity, possibly in the future; null if no end is known.",
    )
    last_confirmed_at: Micros = Field(description="Time of the latest write plan that set it.")
    status: str = Field(
        description="`active`, `done` (a finished task) or `closed` (`valid_to` is set).",
    )
    evidence_event_ids: list[str] = Field(
        description="Ids of the supporting events, at most the 20 newest.",
    )
    updated_at: Micros = Field(description="Time of the write plan that last changed this version.")


class States(Reply):
    """A user's states. `next` is the cursor of the next page; null on the last page."""

    user_id: str = Field(description="Id of the user.")
    as_of: Micros = Field(description="Point in time of the states.")
    known_at: Micros | None = Field(
        description="Memory recorded up to this time is used; null: all memory."
    )
    states: list[StateVersion] = Field(description="States of the user.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class TimelineTurn(Reply):
    """A turn with its affect, if known."""

    occurred_at: Micros = Field(description="Time of the user's message.")
    event_id: str = Field(description="Id of the turn.")
    session_id: str = Field(description="Session of the turn.")
    user_id: str | None = Field(description="User of the turn; null if it has none.")
    source: str = Field(description="Kind of turn, such as `chat`.")
    status: str = Field(description="`running`, `done` or `error`.")
    user_input: str = Field(description="The user's message.")
    agent_answer: str = Field(description="The agent's answer.")
    error: str | None = Field(description="Error message; null if there was no error.")
    intent: str | None = Field(description="First intent; null if none.")
    topic: str | None = Field(description="Topic; null if none.")
    about_start: Micros | None = Field(
        description="Start of the first date mentioned by the user (docs/dates.md); null if none.",
    )
    about_end: Micros | None = Field(
        description="End of that date (exclusive); null if none.",
    )
    v: float | None = Field(description="Valence, -1 to +1; null without a moment of affect.")
    a: float | None = Field(description="Arousal, -1 to +1; null without a moment of affect.")
    d: float | None = Field(description="Dominance, -1 to +1; null without a moment of affect.")


class Timeline(Reply):
    """The turns of a session in order."""

    session_id: str = Field(description="Id of the session.")
    turns: list[TimelineTurn] = Field(description="Turns of the session, oldest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class RevisionWithEvidence(Reply):
    """A revision with one of its supporting events."""

    owner_id: str = Field(description="Owner of the changed memory: a session or a user.")
    entity_type: str = Field(
        description="`session`, `session_memory`, `state`, `preference`, `link` or `thread`.",
    )
    entity_id: str = Field(description="Id of the entity.")
    kind: str | None = Field(
        description="Kind of a state, domain of a preference, and so on (docs/tables.md).",
    )
    op: str = Field(description="Operation, such as `insert`, `update`, `supersede`, `close`.")
    before: JsonObject | None = Field(description="Value before; null if there was none.")
    after: JsonObject | None = Field(description="Value after; null if it was removed.")
    reason: str = Field(description="Reason of the change.")
    occurred_at: Micros = Field(description="Time of the record that made the change.")
    recorded_at: Micros = Field(description="Time at which the log received the record.")
    seq: int = Field(description="Position among the owner's revisions.")
    revision_id: str = Field(description="Id of the revision.")
    plan_id: str | None = Field(
        description="Write plan that made the change; null if another type of record made it.",
    )
    extractor_name: str | None = Field(
        description="Extractor of the plan; null without a plan.",
    )
    extractor_version: str | None = Field(
        description="Version of the extractor; for a correction through the API, the id of the "
        "API key.",
    )
    evidence_event_id: str | None = Field(
        description="Id of the supporting event; null if there is none."
    )
    evidence_session_id: str | None = Field(description="Session of that event.")
    evidence_occurred_at: Micros | None = Field(
        description="Time of that event; null if the event is unknown.",
    )
    user_input: str | None = Field(
        description="The user's message in that event; null if the event is unknown.",
    )
    agent_answer: str | None = Field(
        description="The agent's answer in that event; null if the event is unknown.",
    )


class Why(Reply):
    """The revisions of an entity, in order."""

    entity_id: str = Field(description="Id of the entity.")
    revisions: list[RevisionWithEvidence] = Field(
        description="Revisions in order, one for each supporting event.",
    )
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class SearchNeighbour(Reply):
    """A turn of the hit's session, `place` turns after it; before it: negative."""

    place: int = Field(description="Offset from the hit in turns; negative before it.")
    id: str = Field(description="Id of the turn.")
    user_id: str | None = Field(description="User; null if unknown.")
    at: Micros = Field(description="Time of the message.")
    text: str = Field(description="Text of the turn.")


class SearchHit(Reply):
    """An event, state, preference or session memory item. `matches` are the matching parts of
    `text`, as [start, end) in characters. `why` is the contribution of each ranking signal to
    `score`. `neighbours` are the turns around an event, oldest first, if requested."""

    kind: Annotated[str, WithJsonSchema({"enum": list(SEARCHED), "type": "string"})] = Field(
        description="Kind of the hit.",
    )
    id: str = Field(description="Id of the hit.")
    session_id: str | None = Field(description="Session; null if it has none.")
    user_id: str | None = Field(description="User; null if unknown.")
    at: Micros = Field(description="Time of the event, or start of validity.")
    valid_to: Micros | None = Field(description="End of validity of a state; otherwise null.")
    text: str = Field(description="Text of the hit.")
    matches: list[tuple[int, int]] = Field(
        description="Matching parts of `text`, as [start, end) in characters.",
    )
    score: float = Field(
        description="Relevance; greater is better. Comparable within one search only."
    )
    why: dict[str, float] = Field(description="Contribution of each ranking signal to `score`.")
    neighbours: list[SearchNeighbour] | None = Field(
        default=None,
        description="Turns around an event, oldest first; null if not requested.",
    )
    about_start: Micros | None = Field(
        default=None,
        description="Start of the date that it mentions, the first within `about`; missing if "
        "none.",
    )
    about_end: Micros | None = Field(
        default=None,
        description="End of that date (exclusive); missing if none.",
    )


class SearchPage(Reply):
    """A page of search hits, best first."""

    hits: list[SearchHit] = Field(description="Hits, best first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class DeadLetter(Reply):
    """A record that could not be applied."""

    id: str = Field(description="Id of the dead letter.")
    reason: str = Field(description="Reason code.")
    detail: str = Field(description="Reason as text.")
    key: str | None = Field(description="Kafka key or owner; null if unknown.")
    bytes: int = Field(description="Size of the record in bytes.")
    recorded_at: Micros = Field(description="Time at which the log received the record.")


class DeadLetters(Reply):
    """Dead letters, oldest first."""

    dead_letters: list[DeadLetter] = Field(description="Dead letters, oldest first.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class DeadLetterContent(Reply):
    """A dead letter with its content, as text or in base64 if it is not UTF-8."""

    id: str = Field(description="Id of the dead letter.")
    reason: str = Field(description="Reason code.")
    detail: str = Field(description="Reason as text.")
    key: str | None = Field(description="Kafka key or owner; null if unknown.")
    recorded_at: Micros = Field(description="Time at which the log received the record.")
    headers: str | None = Field(description="Kafka headers as JSON; null if there are none.")
    text: str | None = Field(
        default=None, description="Content of the record; null if it is not UTF-8."
    )
    base64: str | None = Field(
        default=None,
        description="Content in base64 if it is not UTF-8; otherwise null.",
    )


class Health(Reply):
    """Liveness. `generation` is the generation in use; null if none is loaded or the server has no
    history."""

    status: Literal["ok"]
    generation: str | None = Field(
        description="The generation in use; null if none is loaded or the server has no history.",
    )


class Ready(Reply):
    """Current readiness; accurate during a restore. `done` of `total` rows or bytes are restored.
    `generation` is the generation in use; null if none is loaded or the server has no history.
    `promoted` is a promoted generation that is not in use yet; usually null."""

    ready: bool = Field(description="Whether the server can serve requests.")
    about: str = Field(description="Pending step, as text.")
    done: int = Field(description="Rows or bytes restored.")
    total: int = Field(description="Rows or bytes to restore.")
    generation: str | None = Field(
        description="The generation in use; null if none is loaded or the server has no history.",
    )
    promoted: str | None = Field(
        description="A promoted generation that is not in use yet; usually null.",
    )


class Archive(RootModel[str]):
    """JSON Lines: a header, all data of the user, and a line of kind `end` (docs/erasure.md). An
    archive that lacks that line is incomplete."""


class EventStream(RootModel[str]):
    """Server-sent events: `id` is the document's hash, `event` is `session`, `data` a
    SessionDocument; `event: gone` if the session no longer exists. Comments keep the connection
    open."""
