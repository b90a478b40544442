"""Write plans: what should be remembered of an event."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import AsWhole, Confidence, Id, JsonObject, Label, Micros, UnsignedZero, Wire
from schemas.record import Affect, Record, Text

Count = Annotated[int, Field(ge=0, le=2**53), AsWhole]


class Extractor(Wire):
    """Who made a plan."""

    name: Label
    version: Label = ""


class StateUpdate(Wire):
    """One change of the long-term state."""

    op: Literal["upsert", "close", "mark_done"] = "upsert"
    kind: Literal["fact", "relation", "task", "summary", "long_mood_state"] | None = None
    state_id: Id | None = None
    body_text: Text = ""
    payload: JsonObject | None = None
    confidence: Confidence | None = None
    valid_from: Micros | None = None
    valid_to: Micros | None = None
    entities: list[Label] = Field(default_factory=list, max_length=64)
    evidence_event_ids: list[Id] = Field(default_factory=list, max_length=64)
    reason: Text = ""

    @model_validator(mode="after")
    def _is_whole(self) -> "StateUpdate":
        if self.op == "upsert":
            if self.kind is None:
                raise ValueError("an upsert needs `kind`")
            if self.state_id is None and self.kind != "long_mood_state" and not self.body_text:
                raise ValueError("a new state needs `body_text`")
        elif self.state_id is None:
            raise ValueError(f"{self.op} needs `state_id`")
        if (
            self.valid_from is not None
            and self.valid_to is not None
            and self.valid_to < self.valid_from
        ):
            raise ValueError("`valid_to` lies before `valid_from`")
        return self


class PreferenceUpdate(Wire):
    """One change of a like or dislike; unique by (domain, normalised subject, polarity)."""

    op: Literal["upsert_candidate", "confirm", "revoke"]
    domain: Label
    polarity: Literal["like", "dislike"]
    subject: Annotated[str, Field(min_length=1, max_length=512)]
    confidence: Confidence = 0.5
    note: Text | None = None
    evidence_event_ids: list[Id] = Field(default_factory=list, max_length=64)
    reason: Text = ""


class ThreadUpdate(Wire):
    """Puts an event into a thread, takes it out, or merges a whole thread into another."""

    op: Literal["put", "remove", "merge_into"] = "put"
    thread_key: Label
    event_id: Id | None = None
    into: Label | None = None
    confidence: Confidence = 0.5
    evidence_event_ids: list[Id] = Field(default_factory=list, max_length=64)
    reason: Text = ""

    @model_validator(mode="after")
    def _is_whole(self) -> "ThreadUpdate":
        if not self.thread_key:
            raise ValueError("`thread_key` is empty")
        if self.op == "merge_into":
            if not self.into or self.into == self.thread_key:
                raise ValueError("merge_into needs `into`, another thread's key")
        elif self.event_id is None:
            raise ValueError(f"{self.op} needs `event_id`")
        return self


class LinkUpdate(Wire):
    """Puts or removes a relation between two events."""

    op: Literal["put", "remove"] = "put"
    from_event_id: Id
    to_event_id: Id
    label: Literal["reply_to", "same_topic", "caused_by", "continuation"]
    confidence: Confidence = 0.5
    evidence_event_ids: list[Id] = Field(default_factory=list, max_length=64)
    reason: Text = ""


class ContextUpdates(Wire):
    """Changes of threads and links."""

    threads: list[ThreadUpdate] = Field(default_factory=list, max_length=200)
    links: list[LinkUpdate] = Field(default_factory=list, max_length=200)


class EventAnnotations(Wire):
    """When the event happened and which entities it concerns."""

    about_start: Micros | None = None
    about_end: Micros | None = None
    life_stage: Label | None = None
    entities: list[Label] = Field(default_factory=list, max_length=64)


class PlanAffect(Affect):
    """A moment of affect in an event; by default in the plan's own event."""

    event_id: Id | None = None


class Extraction(Wire):
    """How a model made a plan: the turns it read, its calls, their tokens and cost.

    With `error` no plan could be made of these turns: the record becomes a dead letter with reason
    `extraction_failed`. `answer` is the model's last answer.
    """

    event_ids: list[Id] = Field(default_factory=list, max_length=1000)
    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False), UnsignedZero] = 0.0
    made_at: Micros | None = None
    error: Text | None = None
    answer: Text | None = None


class WritePlan(Record):
    """What should be remembered of an event. Applies whole or not at all.

    Key: tenant/user_id. `event_id` names the event it was made from; none when tidying.
    """

    type: Literal["write_plan"] = "write_plan"
    plan_id: Id
    user_id: Id
    session_id: Id | None = None
    event_id: Id | None = None
    extractor: Extractor
    extraction: Extraction | None = None
    state_updates: list[StateUpdate] = Field(default_factory=list, max_length=200)
    preference_updates: list[PreferenceUpdate] = Field(default_factory=list, max_length=200)
    event_affect: PlanAffect | None = None
    context_updates: ContextUpdates | None = None
    event_annotations: EventAnnotations | None = None

    @model_validator(mode="after")
    def _affect_has_an_event(self) -> "WritePlan":
        if self.event_affect and not (self.event_affect.event_id or self.event_id):
            raise ValueError("`event_affect` needs `event_id`")
        return self
