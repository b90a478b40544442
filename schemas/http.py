"""Bodies and replies of the HTTP API, besides the documents of the other modules (docs/http.md)."""

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
    """The beginning of a date; None for any other text."""
    if isinstance(value, str) and len(value) == 10:
        return (date.fromisoformat(value) - EPOCH.date()).days * DAY
    return None


_TIME_OR_DATE = WithJsonSchema(
    {"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]}
)
Moment = Annotated[int, BeforeValidator(_moment), _TIME_OR_DATE]
"""A time to ask about, in microseconds: RFC 3339, or a date, which means its end (UTC)."""
Since = Annotated[int, BeforeValidator(_since), _TIME_OR_DATE]
"""The beginning of a period: as `Moment`, but a date means its beginning."""


# --- bodies -----------------------------------------------------------------------------------


class Update(Wire):
    """Fields of both updates. `tenant` must be the key's own; `occurred_at` defaults to the time of
    the request."""

    tenant: Tenant | None = Field(default=None, description="Tenant; must be the key's own.")
    signal_id: Id | None = Field(
        default=None,
        description="Id of the signal. Default: made from `Idempotency-Key`, else new.",
    )
    occurred_at: Micros | None = Field(
        default=None,
        description="When it happened. Default: the time of the request.",
    )


OneIntent = Annotated[Label | None, Field(description="What the user wants, such as `quiz`.")]


class SessionUpdate(Update):
    """The body of `POST /memory/session/update`."""

    session_id: Id = Field(description="The session.")
    intent: OneIntent = None
    topic: Topic = None
    artifact: Artifact = None


class UserEvent(Wire):
    """What the user has just done."""

    intent: OneIntent = None
    topic: Topic = None
    artifact: Artifact = None
    metadata: Metadata | None = Field(default=None, description="Result of a lesson.")


class UserUpdate(Update):
    """The body of `POST /memory/user/update`."""

    user_id: Id = Field(description="The user.")
    event: UserEvent = Field(
        description="The activity: intent, topic, artifact, result of a lesson."
    )


class Correction(Wire):
    """Why something is corrected; a kind of it adds the fields that can change."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"minProperties": 2})

    reason: Annotated[str, Field(min_length=1, max_length=2000)] = Field(
        description="Why it is corrected; `why` shows it.",
    )

    @model_validator(mode="after")
    def _changes_something(self) -> "Correction":
        if not self.model_dump(exclude_none=True).keys() - {"reason"}:
            field = next(name for name in type(self).model_fields if name != "reason")
            raise ValueError(f"nothing to correct; give `{field}` or another field")
        return self


class StateCorrection(Correction):
    """The body of `PATCH /v1/states/{state_id}`: the fields to change, and why."""

    body_text: Annotated[str, Field(min_length=1, max_length=10_000)] | None = Field(
        default=None,
        description="The fact, as a sentence.",
    )
    payload: JsonObject | None = Field(
        default=None,
        description="Structured details; they replace all the earlier ones.",
    )
    confidence: Confidence | None = Field(default=None, description="How sure, 0 to 1.")
    entities: list[Label] | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="People, places and things that it is about.",
    )
    valid_from: Micros | None = Field(
        default=None,
        description="When it became true. A later one than before begins a new version.",
    )
    valid_to: Micros | None = Field(default=None, description="When it stops being true.")


class PreferenceCorrection(Correction):
    """The body of `PATCH /v1/preferences/{preference_id}`: the fields to change, and why."""

    subject: Annotated[str, Field(min_length=1, max_length=512)] | None = Field(
        default=None,
        description="What the user likes or dislikes.",
    )
    polarity: Literal["like", "dislike"] | None = Field(
        default=None,
        description="Whether the user likes or dislikes it.",
    )
    domain: Label | None = Field(default=None, description="Field of life, such as `food`.")
    confidence: Confidence | None = Field(default=None, description="How sure, 0 to 1.")
    note: Annotated[str, Field(min_length=1, max_length=10_000)] | None = Field(
        default=None,
        description="A remark.",
    )


# --- replies ----------------------------------------------------------------------------------


class ProblemError(Reply):
    """One fault: the field, the reason, and for several records the record's position, from 1."""

    field: str = Field(description="The field.")
    reason: str = Field(description="What is wrong with it.")
    position: int | None = Field(
        default=None,
        description="Of several records: which one, from 1; else null.",
    )


class QuotaUsed(Reply):
    """The tenant's quota of which nothing is left (docs/quotas.md)."""

    tenant: str = Field(description="The tenant.")
    limit: Literal["records", "bytes"] = Field(description="Which limit.")
    per_second: int = Field(description="How much the tenant may write per second.")
    remaining: int = Field(
        description="How much is left; below 0: what the last request took beyond the limit."
    )
    retry_after: int = Field(description="Seconds until something is left.")


class ProblemDocument(Reply):
    """A problem document (RFC 9457). docs/http.md explains each `type`."""

    type: str = Field(description="Kind of problem, such as `/problems/invalid`.")
    title: str = Field(description="Kind of problem in words.")
    status: int = Field(description="HTTP status.")
    detail: str = Field(description="What is wrong, and what to do.")
    errors: list[ProblemError] | None = Field(
        default=None,
        description="The faults one by one, if there are several or a field is at fault.",
    )
    quota: QuotaUsed | None = Field(
        default=None,
        description="Of `/problems/over-quota`: the tenant, the limit and what is left.",
    )


class Accepted(Reply):
    """The record is stored; its outcome was not known in time. `look` is the URL that will show its
    effect."""

    id: str = Field(description="Id of the record.")
    ending: Literal["accepted"] = Field(description="Stored; the outcome was not known in time.")
    look: str = Field(description="URL that will show its effect.")


class Extracted(Reply):
    """How far a model has read the stored turns."""

    status: Literal["done", "waiting"] = Field(
        description="`done`: the model has read all of them; `waiting`: not all of them yet."
    )
    about: str = Field(description="How the requests to the model stand, in words.")


class RecordResult(Reply):
    """The outcome of one record. `position` counts lines of NDJSON, or elements, from 1.

    `refused`: not stored; `field` and `detail` give the reason. `dead`: stored as a dead letter.
    `accepted`: stored; its outcome was not known in time.
    """

    position: int = Field(description="Line of NDJSON, or element, from 1.")
    id: str | None = Field(
        default=None,
        description="Id of the record; null if it could not be read.",
    )
    ending: Ending = Field(description="Outcome of the record.")
    reason: str | None = Field(
        default=None,
        description="Code of the reason, if refused or dead; `waiting` for a tool result that came "
        "before the end of its recursion.",
    )
    field: str | None = Field(default=None, description="Field at fault, if known.")
    detail: str | None = Field(default=None, description="The reason in words, if refused or dead.")


class RecordsReply(Reply):
    """Counts by outcome, and the result of each record; with `Prefer: return=minimal` only of
    records that are refused or dead."""

    counts: dict[Ending, int] = Field(description="Number of records by outcome.")
    results: list[RecordResult] = Field(description="The result of each record.")


class StateThen(Reply):
    """A state as it was true at one time and known at another."""

    owner_id: str = Field(description="The user.")
    state_id: str = Field(description="Id of the state, the same for all its versions.")
    kind: str = Field(description="Kind of the state.")
    body_text: str = Field(description="What held, as a sentence.")
    payload: JsonObject = Field(description="Structured details.")
    confidence: float = Field(description="0 to 1.")
    valid_from: Micros = Field(description="When it became true.")
    valid_to: Micros | None = Field(
        description="When it stopped, or will stop, being true; null if no end is known.",
    )
    last_confirmed_at: Micros = Field(description="Time of the latest plan that wrote it.")
    status: str = Field(
        description="`active`, `done` (a finished task) or `closed` (`valid_to` is set).",
    )
    evidence_event_ids: list[str] = Field(
        description="Events that it rests on, at most the 20 newest.",
    )
    updated_at: Micros = Field(description="Time of the plan that changed this version last.")


class States(Reply):
    """A user's states. `next` is the cursor of the next page; null at the end."""

    user_id: str = Field(description="The user.")
    as_of: Micros = Field(description="Time at which the states are true.")
    known_at: Micros | None = Field(description="Time up to which memory is used; null: all of it.")
    states: list[StateThen] = Field(description="The states.")
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class TimelineTurn(Reply):
    """A turn with its affect, if known."""

    occurred_at: Micros = Field(description="When the user spoke.")
    event_id: str = Field(description="Id of the turn.")
    session_id: str = Field(description="Session of the turn.")
    user_id: str | None = Field(description="User who spoke; null if the turn names none.")
    source: str = Field(description="What kind of turn it is, such as `chat`.")
    status: str = Field(description="`running`, `done` or `error`.")
    user_input: str = Field(description="What the user said.")
    agent_answer: str = Field(description="What the agent answered.")
    error: str | None = Field(description="Why the turn failed; null if it did not.")
    intent: str | None = Field(description="First intent; null if none.")
    topic: str | None = Field(description="Topic; null if none.")
    about_start: Micros | None = Field(
        description="Start of the first date that the user names (docs/dates.md); null if none.",
    )
    about_end: Micros | None = Field(
        description="Its end, which is no longer part of it; null if none.",
    )
    v: float | None = Field(description="Valence, -1 to +1; null if no feeling is known.")
    a: float | None = Field(description="Arousal, -1 to +1; null if no feeling is known.")
    d: float | None = Field(description="Dominance, -1 to +1; null if no feeling is known.")


class Timeline(Reply):
    """The turns of a session in order."""

    session_id: str = Field(description="The session.")
    turns: list[TimelineTurn] = Field(description="Its turns, oldest first.")
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class RevisionTold(Reply):
    """A change, with one of its evidence events."""

    owner_id: str = Field(description="Whose memory changed: a session or a user.")
    entity_type: str = Field(
        description="`session`, `session_memory`, `state`, `preference`, `link` or `thread`.",
    )
    entity_id: str = Field(description="The entity.")
    kind: str | None = Field(
        description="Kind of a state, domain of a preference, and so on (docs/tables.md).",
    )
    op: str = Field(description="What happened, such as `insert`, `update`, `supersede`, `close`.")
    before: JsonObject | None = Field(description="Value before; null if there was none.")
    after: JsonObject | None = Field(description="Value after; null if it was removed.")
    reason: str = Field(description="Why, in a few words.")
    occurred_at: Micros = Field(description="Time of the record that made the change.")
    recorded_at: Micros = Field(description="When Turnfold learnt it.")
    seq: int = Field(description="Position among the owner's revisions.")
    revision_id: str = Field(description="Id of the revision.")
    plan_id: str | None = Field(
        description="Write plan that made the change; null if another record did.",
    )
    extractor_name: str | None = Field(
        description="Extractor that made the plan; null without a plan.",
    )
    extractor_version: str | None = Field(
        description="Its version; of a correction through the API the id of the key.",
    )
    evidence_event_id: str | None = Field(description="The evidence event; null if there is none.")
    evidence_session_id: str | None = Field(description="Its session.")
    evidence_occurred_at: Micros | None = Field(
        description="When it happened; null if the event is unknown.",
    )
    user_input: str | None = Field(
        description="What the user said in it; null if the event is unknown.",
    )
    agent_answer: str | None = Field(
        description="What the agent answered; null if the event is unknown.",
    )


class Why(Reply):
    """The revisions of an entity, in order."""

    entity_id: str = Field(description="The entity.")
    revisions: list[RevisionTold] = Field(
        description="Its revisions in order, one for each evidence event.",
    )
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class SearchNeighbour(Reply):
    """A turn of the hit's session, `place` turns after it; before it: negative."""

    place: int = Field(description="Turns after the hit; negative: before it.")
    id: str = Field(description="Id of the turn.")
    user_id: str | None = Field(description="Its user; null if unknown.")
    at: Micros = Field(description="When it was said.")
    text: str = Field(description="Its text.")


class SearchHit(Reply):
    """An event, state, preference or session memory item. `matches` are the matching parts of
    `text`, as [start, end) in characters; `why` is what each signal adds to `score`; `neighbours`
    are the turns around an event, if asked for, oldest first."""

    kind: Annotated[str, WithJsonSchema({"enum": list(SEARCHED), "type": "string"})] = Field(
        description="What was found.",
    )
    id: str = Field(description="Id of what was found.")
    session_id: str | None = Field(description="Its session; null if it has none.")
    user_id: str | None = Field(description="Its user; null if unknown.")
    at: Micros = Field(description="When it was said, or became true.")
    valid_to: Micros | None = Field(description="When a state stopped being true; else null.")
    text: str = Field(description="The text that was found.")
    matches: list[tuple[int, int]] = Field(
        description="Matching parts of `text`, as [start, end) in characters.",
    )
    score: float = Field(description="Rank; greater is better. Comparable within one search only.")
    why: dict[str, float] = Field(description="What each signal adds to `score`.")
    neighbours: list[SearchNeighbour] | None = Field(
        default=None,
        description="Turns around an event, oldest first; null if not asked for.",
    )
    about_start: Micros | None = Field(
        default=None,
        description="Start of the date that it names, the first in `about`; missing if none.",
    )
    about_end: Micros | None = Field(
        default=None,
        description="Its end, which is no longer part of it; missing if none.",
    )


class SearchPage(Reply):
    """The best hits first."""

    hits: list[SearchHit] = Field(description="The best hits first.")
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class DeadLetter(Reply):
    """A record that could not be applied."""

    id: str = Field(description="Id of the dead letter.")
    reason: str = Field(description="Code of the reason.")
    detail: str = Field(description="The reason in words.")
    key: str | None = Field(description="Kafka key or owner; null if unknown.")
    bytes: int = Field(description="Size of its content.")
    recorded_at: Micros = Field(description="When the log took the record.")


class DeadLetters(Reply):
    """Dead letters, oldest first."""

    dead_letters: list[DeadLetter] = Field(description="Oldest first.")
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class DeadLetterWhole(Reply):
    """A dead letter with its content: as text, or in base64 if it is not UTF-8."""

    id: str = Field(description="Id of the dead letter.")
    reason: str = Field(description="Code of the reason.")
    detail: str = Field(description="The reason in words.")
    key: str | None = Field(description="Kafka key or owner; null if unknown.")
    recorded_at: Micros = Field(description="When the log took the record.")
    headers: str | None = Field(description="Kafka headers as JSON; null if there are none.")
    text: str | None = Field(default=None, description="Its content; null if it is not UTF-8.")
    base64: str | None = Field(
        default=None,
        description="Its content in base64, if it is not UTF-8; else null.",
    )


class Health(Reply):
    """Liveness. `generation` is the one that answers; null if none does or the server has no
    history."""

    status: Literal["ok"]
    generation: str | None = Field(
        description="The generation that answers; null if none does or there is no history.",
    )


class Ready(Reply):
    """Current readiness; accurate during a restore. `done` of `total` rows or bytes are restored.
    `generation` is the one that answers; null if none does or the server has no history.
    `promoted` is a generation that was promoted and does not answer yet; usually null."""

    ready: bool = Field(description="Whether the server can answer.")
    about: str = Field(description="What it waits for, in words.")
    done: int = Field(description="Rows or bytes restored.")
    total: int = Field(description="Rows or bytes to restore.")
    generation: str | None = Field(
        description="The generation that answers; null if none does or there is no history.",
    )
    promoted: str | None = Field(
        description="A generation that was promoted and does not answer yet; usually null.",
    )


class Archive(RootModel[str]):
    """JSON lines: a header, everything that is held of the user, and a line of the kind `end`
    (docs/erasure.md). Without that line it broke off."""


class EventStream(RootModel[str]):
    """Server-sent events: `id` the document's hash, `event: session`, `data` a SessionDocument;
    `event: gone` if the session no longer exists. Comments keep the connection open."""
