"""Write plans: what should be remembered of an event."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import AsWhole, Confidence, Id, JsonObject, Label, Micros, UnsignedZero, Wire
from schemas.record import Affect, Record, Text

Count = Annotated[int, Field(ge=0, le=2**53), AsWhole]


class Extractor(Wire):
    """Who made a plan."""

    name: Label = Field(description="Name of the program, such as `rules`, `llm` or your own.")
    version: Label = Field(default="", description="Its version.")


class StateUpdate(Wire):
    """One change of the long-term state."""

    op: Literal["upsert", "close", "mark_done"] = Field(
        default="upsert",
        description="`upsert` creates or corrects, `close` ends, `mark_done` finishes a task.",
    )
    kind: Literal["fact", "relation", "task", "summary", "long_mood_state"] | None = Field(
        default=None,
        description="Kind of state. Needed for `upsert`.",
    )
    state_id: Id | None = Field(
        default=None,
        description="Id of the state. Default for `upsert`: a new state; else needed.",
    )
    body_text: Text = Field(
        default="",
        description="What holds, as a sentence. Needed for a new state.",
    )
    payload: JsonObject | None = Field(
        default=None,
        description="Structured details; `category`, `family`, `slot`, `value`, `whose` are what "
        "`ends` look at.",
    )
    confidence: Confidence | None = Field(
        default=None,
        description="How sure. Default: as before; for a new state 0.5.",
    )
    valid_from: Micros | None = Field(
        default=None,
        description="When it became true. A later one than before begins a new version. Default "
        "for a new state: `about_start`, else the plan's time.",
    )
    valid_to: Micros | None = Field(
        default=None,
        description="When it stops being true. Default for `close`: `about_end`, else the plan's "
        "time.",
    )
    entities: list[Label] = Field(
        default_factory=list,
        max_length=64,
        description="People, places and things that it is about. Default: those of the "
        "annotations.",
    )
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Events that it rests on; the plan's own event is added.",
    )
    unchanged_since: Micros | None = Field(
        default=None,
        description="Change nothing if the version was updated after this time. Not for moods.",
    )
    reason: Text = Field(default="", description="Why, for `why`. Default: the extractor's name.")

    @model_validator(mode="after")
    def _is_whole(self) -> "StateUpdate":
        if self.op == "upsert":
            if self.kind is None:
                raise ValueError("an upsert needs `kind`")
            if self.state_id is None and self.kind != "long_mood_state" and not self.body_text:
                raise ValueError("a new state needs `body_text`")
        elif self.state_id is None:
            raise ValueError(f"{self.op} needs `state_id`")
        if self.unchanged_since is not None and self.kind == "long_mood_state":
            raise ValueError("`unchanged_since` is not for a mood")
        if (
            self.valid_from is not None
            and self.valid_to is not None
            and self.valid_to < self.valid_from
        ):
            raise ValueError("`valid_to` lies before `valid_from`")
        return self


class PreferenceUpdate(Wire):
    """One change of a like or dislike; unique by (domain, normalised subject, polarity)."""

    op: Literal["upsert_candidate", "confirm", "revoke"] = Field(
        description="`upsert_candidate`: seen; `confirm`: holds; `revoke`: no longer holds.",
    )
    domain: Label = Field(description="Field of life, such as `food`.")
    polarity: Literal["like", "dislike"] = Field(
        description="Whether the user likes or dislikes it.",
    )
    subject: Annotated[str, Field(min_length=1, max_length=512)] = Field(
        description="What the user likes or dislikes.",
    )
    confidence: Confidence = Field(default=0.5, description="How sure.")
    note: Text | None = Field(default=None, description="A remark, such as the user's sentence.")
    unchanged_since: Micros | None = Field(
        default=None,
        description="Change nothing if the preference was updated after this time.",
    )
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Events that it rests on; the plan's own event is added.",
    )
    reason: Text = Field(default="", description="Why, for `why`. Default: the extractor's name.")


class EndUpdate(Wire):
    """What is over: closes the states and revokes the likes that it names, known or still to come.

    `families`: of states the `payload.family` (without one `payload.category`) or `payload.slot`,
    of preferences the polarity. `value`: words that what ends has in its value; empty: any value.
    `whose`: the `payload.whose` of what ends; empty: the user's own. `at`: when it was over; the
    plan's time if missing.
    """

    families: list[Id] = Field(
        min_length=1,
        max_length=16,
        description="Families of what ends: a state's `payload.family`, `category` or `slot`, a "
        "preference's polarity.",
    )
    value: Annotated[str, Field(max_length=512)] = Field(
        default="",
        description="Words that what ends has in its value. Default: any value.",
    )
    whose: Label = Field(
        default="",
        description="`payload.whose` of what ends. Default: the user's own.",
    )
    at: Micros | None = Field(
        default=None,
        description="When it was over. Default: the plan's time.",
    )
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Events that it rests on; the plan's own event is added.",
    )
    reason: Text = Field(default="", description="Why, for `why`. Default: the extractor's name.")


class EventUpdate(Wire):
    """Takes an event back, as its message was edited, deleted or answered again; or restores it.

    What was made of retracted events alone ends at the plan's time, known or still to come. Of
    several updates of an event the latest counts. `replace`: the event in `evidence_event_ids` is a
    later version of the message; of all versions the latest one stands. A plan with
    `event_updates` has no other updates.
    """

    op: Literal["retract", "restore", "replace"] = Field(description="What to do.")
    event_id: Id = Field(description="The event.")
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Events that it rests on; of `replace` the later version alone.",
    )
    reason: Text = Field(default="", description="Why, for `why`. Default: the extractor's name.")

    @model_validator(mode="after")
    def _names_the_later_version(self) -> "EventUpdate":
        if self.op == "replace" and len({self.event_id, *self.evidence_event_ids}) != 2:
            raise ValueError("`replace` needs one other event in `evidence_event_ids`")
        return self


class ThreadUpdate(Wire):
    """Puts an event into a thread, takes it out, or merges a whole thread into another."""

    op: Literal["put", "remove", "merge_into"] = Field(default="put", description="What to do.")
    thread_key: Label = Field(description="Name of the thread.")
    event_id: Id | None = Field(
        default=None,
        description="The event. Needed, except for `merge_into`.",
    )
    into: Label | None = Field(
        default=None,
        description="Thread that takes all events; needed for `merge_into`.",
    )
    confidence: Confidence = Field(
        default=0.5,
        description="How sure it is that the event belongs to the thread.",
    )
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Events that it rests on. Default: the event itself.",
    )
    reason: Text = Field(default="", description="Why, for `why`. Default: the extractor's name.")

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

    op: Literal["put", "remove"] = Field(default="put", description="What to do.")
    from_event_id: Id = Field(description="The later event, such as the reply.")
    to_event_id: Id = Field(description="The event that it refers to.")
    label: Literal["reply_to", "same_topic", "caused_by", "continuation"] = Field(
        description="Kind of relation.",
    )
    confidence: Confidence = Field(default=0.5, description="How sure.")
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Events that it rests on. Default: `from_event_id`.",
    )
    reason: Text = Field(default="", description="Why, for `why`. Default: the extractor's name.")


class ContextUpdates(Wire):
    """Changes of threads and links."""

    threads: list[ThreadUpdate] = Field(
        default_factory=list,
        max_length=200,
        fail_fast=True,
        description="Changes of threads.",
    )
    links: list[LinkUpdate] = Field(
        default_factory=list,
        max_length=200,
        fail_fast=True,
        description="Changes of links.",
    )


class EventAnnotations(Wire):
    """When the event happened and which entities it concerns."""

    about_start: Micros | None = Field(
        default=None,
        description="When the event began. Default of `valid_from`.",
    )
    about_end: Micros | None = Field(
        default=None,
        description="When the event ended. Default of `valid_to` for `close`.",
    )
    life_stage: Label | None = Field(
        default=None,
        description="Stage of life that it belongs to. Stored only.",
    )
    entities: list[Label] = Field(
        default_factory=list,
        max_length=64,
        description="People, places and things that it is about. Default of `entities`.",
    )


class PlanAffect(Affect):
    """A moment of affect in an event; by default in the plan's own event."""

    event_id: Id | None = Field(
        default=None,
        description="Event in which the feeling shows. Default: the plan's event.",
    )


class Extraction(Wire):
    """How a model made a plan: the turns it read, its calls, their tokens and cost.

    With `error` no plan could be made of these turns: the record becomes a dead letter with reason
    `extraction_failed`. `answer` is the model's last answer.
    """

    event_ids: list[Id] = Field(
        default_factory=list,
        max_length=1000,
        description="Turns that the model read.",
    )
    calls: Count = Field(default=0, description="Calls of the model.")
    prompt_tokens: Count = Field(default=0, description="Tokens sent.")
    completion_tokens: Count = Field(default=0, description="Tokens received.")
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False), UnsignedZero] = Field(
        default=0.0,
        description="Cost, in the currency of the prices that were set.",
    )
    made_at: Micros | None = Field(default=None, description="When the plan was made.")
    error: Text | None = Field(default=None, description="Why no plan could be made.")
    answer: Text | None = Field(default=None, description="The model's last answer.")
    left_out: Text | None = Field(
        default=None,
        description="Why updates of the answer were left out; the plan has the others.",
    )


class WritePlan(Record):
    """What should be remembered of an event. Applies whole or not at all.

    Key: tenant/user_id. `event_id` names the event it was made from; none when tidying.
    """

    # `fail_fast`: of each list the first bad item is named, as 200 have up to 800 faults
    type: Literal["write_plan"] = "write_plan"
    plan_id: Id = Field(description="Id of the plan, unique for its user.")
    user_id: Id = Field(description="User whose memory it changes.")
    session_id: Id | None = Field(
        default=None,
        description="Session of the events that it names. Default: any session of the user.",
    )
    event_id: Id | None = Field(
        default=None,
        description="Event that it was made from; added to all evidence.",
    )
    extractor: Extractor = Field(description="Who made it.")
    extraction: Extraction | None = Field(default=None, description="How a model made it.")
    state_updates: list[StateUpdate] = Field(
        default_factory=list,
        max_length=200,
        fail_fast=True,
        description="Changes of states.",
    )
    preference_updates: list[PreferenceUpdate] = Field(
        default_factory=list,
        max_length=200,
        fail_fast=True,
        description="Changes of preferences.",
    )
    ends: list[EndUpdate] = Field(
        default_factory=list,
        max_length=200,
        fail_fast=True,
        description="What is over.",
    )
    event_updates: list[EventUpdate] = Field(
        default_factory=list,
        max_length=200,
        fail_fast=True,
        description="Events that are retracted or restored.",
    )
    event_affect: PlanAffect | None = Field(default=None, description="A moment of affect.")
    context_updates: ContextUpdates | None = Field(
        default=None,
        description="Changes of threads and links.",
    )
    event_annotations: EventAnnotations | None = Field(
        default=None,
        description="When it happened, and whom it concerns.",
    )

    @model_validator(mode="after")
    def _marks_stand_alone(self) -> "WritePlan":
        others = (
            self.state_updates,
            self.preference_updates,
            self.ends,
            self.event_affect,
            self.context_updates != ContextUpdates() and self.context_updates,
        )
        if self.event_updates and any(others):
            raise ValueError("`event_updates` need a plan without other updates")
        return self

    @model_validator(mode="after")
    def _affect_has_an_event(self) -> "WritePlan":
        if self.event_affect and not (self.event_affect.event_id or self.event_id):
            raise ValueError("`event_affect` needs `event_id`")
        return self
