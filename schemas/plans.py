"""Write plans: updates of memory that an extractor derives from an event."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import AsWhole, Confidence, Id, JsonObject, Label, Micros, UnsignedZero, Wire
from schemas.record import Affect, Record, Text

Count = Annotated[int, Field(ge=0, le=2**53), AsWhole]


class Extractor(Wire):
    """The author of a plan."""

    name: Label = Field(
        description="Name of the program, such as `rules`, `llm` or your extractor's name."
    )
    version: Label = Field(default="", description="Version of the program.")


class StateUpdate(Wire):
    """One change of the long-term state."""

    op: Literal["upsert", "close", "mark_done"] = Field(
        default="upsert",
        description="`upsert` creates or corrects, `close` ends, `mark_done` finishes a task.",
    )
    kind: Literal["fact", "relation", "task", "summary", "long_mood_state"] | None = Field(
        default=None,
        description="Kind of state. Required for `upsert`.",
    )
    state_id: Id | None = Field(
        default=None,
        description="Id of the state. Default for `upsert`: a new state; required for other "
        "operations.",
    )
    body_text: Text = Field(
        default="",
        description="The state as a sentence. Required for a new state.",
    )
    payload: JsonObject | None = Field(
        default=None,
        description="Structured details. `ends` match `category`, `family`, `slot`, `value` and "
        "`whose`.",
    )
    confidence: Confidence | None = Field(
        default=None,
        description="Confidence, 0 to 1. Default: unchanged; 0.5 for a new state.",
    )
    valid_from: Micros | None = Field(
        default=None,
        description="Start of validity. A later time than the current one starts a new version. "
        "Default for a new state: `about_start`, otherwise the plan's time.",
    )
    valid_to: Micros | None = Field(
        default=None,
        description="End of validity. Default for `close`: `about_end`, otherwise the plan's time.",
    )
    entities: list[Label] = Field(
        default_factory=list,
        max_length=64,
        description="People, places and things that it mentions. Default: the entities of the "
        "annotations.",
    )
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Ids of the supporting events; the plan's `event_id` is added.",
    )
    unchanged_since: Micros | None = Field(
        default=None,
        description="Skip the update if the version was changed after this time. Not for moods.",
    )
    reason: Text = Field(
        default="", description="Reason, shown by `why`. Default: the extractor's name."
    )

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
            raise ValueError("`valid_to` is before `valid_from`")
        return self


class PreferenceUpdate(Wire):
    """One change of a like or dislike; unique by (domain, normalised subject, polarity)."""

    op: Literal["upsert_candidate", "confirm", "revoke"] = Field(
        description="`upsert_candidate` records an observation, `confirm` puts the preference in "
        "force, `revoke` ends it.",
    )
    domain: Label = Field(description="Domain, such as `food`.")
    polarity: Literal["like", "dislike"] = Field(
        description="`like` or `dislike`.",
    )
    subject: Annotated[str, Field(min_length=1, max_length=512)] = Field(
        description="The thing that the user likes or dislikes.",
    )
    confidence: Confidence = Field(default=0.5, description="Confidence, 0 to 1.")
    note: Text | None = Field(default=None, description="Remark, such as the user's sentence.")
    unchanged_since: Micros | None = Field(
        default=None,
        description="Skip the update if the preference was changed after this time.",
    )
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Ids of the supporting events; the plan's `event_id` is added.",
    )
    reason: Text = Field(
        default="", description="Reason, shown by `why`. Default: the extractor's name."
    )


class EndUpdate(Wire):
    """Closes the matching states and revokes the matching preferences, even if older records add
    them later.

    `families` match a state's `payload.family` (`payload.category` if it is missing) or
    `payload.slot`, or a preference's polarity. `value`: words that the value must contain; empty
    matches any value. `whose` matches `payload.whose`; empty matches the user's own. `at` is the
    time of the end, by default the plan's time.
    """

    families: list[Id] = Field(
        min_length=1,
        max_length=16,
        description="Families to end: a state's `payload.family`, `category` or `slot`, or a "
        "preference's polarity.",
    )
    value: Annotated[str, Field(max_length=512)] = Field(
        default="",
        description="Words that the value must contain. Default: any value.",
    )
    whose: Label = Field(
        default="",
        description="`payload.whose` to match. Default: the user's own.",
    )
    at: Micros | None = Field(
        default=None,
        description="Time of the end. Default: the plan's time.",
    )
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Ids of the supporting events; the plan's `event_id` is added.",
    )
    reason: Text = Field(
        default="", description="Reason, shown by `why`. Default: the extractor's name."
    )


class EventUpdate(Wire):
    """Retracts an event, as its message was edited, deleted or answered again; or restores it.

    Memory supported only by retracted events ends at the plan's time, including memory that older
    records add later. The latest of several updates of an event counts. `replace`: the event in
    `evidence_event_ids` is a later version of the message; only the latest version is in force. A
    plan with `event_updates` must not have other updates.
    """

    op: Literal["retract", "restore", "replace"] = Field(description="Operation.")
    event_id: Id = Field(description="Id of the event.")
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Ids of the supporting events; for `replace`, only the later version.",
    )
    reason: Text = Field(
        default="", description="Reason, shown by `why`. Default: the extractor's name."
    )

    @model_validator(mode="after")
    def _names_the_later_version(self) -> "EventUpdate":
        if self.op == "replace" and len({self.event_id, *self.evidence_event_ids}) != 2:
            raise ValueError("`replace` needs one other event in `evidence_event_ids`")
        return self


class ThreadUpdate(Wire):
    """Puts an event into a thread, takes it out, or merges a whole thread into another."""

    op: Literal["put", "remove", "merge_into"] = Field(default="put", description="Operation.")
    thread_key: Label = Field(description="Name of the thread.")
    event_id: Id | None = Field(
        default=None,
        description="Id of the event. Required except for `merge_into`.",
    )
    into: Label | None = Field(
        default=None,
        description="Thread that receives all events; required for `merge_into`.",
    )
    confidence: Confidence = Field(
        default=0.5,
        description="Confidence that the event belongs to the thread, 0 to 1.",
    )
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Ids of the supporting events. Default: the event itself.",
    )
    reason: Text = Field(
        default="", description="Reason, shown by `why`. Default: the extractor's name."
    )

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

    op: Literal["put", "remove"] = Field(default="put", description="Operation.")
    from_event_id: Id = Field(description="The later event, such as the reply.")
    to_event_id: Id = Field(description="The event that it refers to.")
    label: Literal["reply_to", "same_topic", "caused_by", "continuation"] = Field(
        description="Kind of relation.",
    )
    confidence: Confidence = Field(default=0.5, description="Confidence, 0 to 1.")
    evidence_event_ids: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Ids of the supporting events. Default: `from_event_id`.",
    )
    reason: Text = Field(
        default="", description="Reason, shown by `why`. Default: the extractor's name."
    )


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
    """Time of the event, and its entities."""

    about_start: Micros | None = Field(
        default=None,
        description="Start of the event. Default of `valid_from`.",
    )
    about_end: Micros | None = Field(
        default=None,
        description="End of the event. Default of `valid_to` for `close`.",
    )
    life_stage: Label | None = Field(
        default=None,
        description="Stage of life. Stored only.",
    )
    entities: list[Label] = Field(
        default_factory=list,
        max_length=64,
        description="People, places and things that it mentions. Default of `entities`.",
    )


class PlanAffect(Affect):
    """A moment of affect in an event; by default in the plan's event."""

    event_id: Id | None = Field(
        default=None,
        description="Event of the feeling. Default: the plan's event.",
    )


class Extraction(Wire):
    """The model calls behind a plan: turns in the prompt, number of calls, tokens and cost.

    A record with `error` has no plan and becomes a dead letter with reason `extraction_failed`;
    `answer` is then the model's last answer.
    """

    event_ids: list[Id] = Field(
        default_factory=list,
        max_length=1000,
        description="Ids of the turns in the prompt.",
    )
    calls: Count = Field(default=0, description="Number of model calls.")
    prompt_tokens: Count = Field(default=0, description="Prompt tokens.")
    completion_tokens: Count = Field(default=0, description="Completion tokens.")
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False), UnsignedZero] = Field(
        default=0.0,
        description="Cost, in the currency of the configured prices.",
    )
    made_at: Micros | None = Field(default=None, description="Time at which the plan was made.")
    error: Text | None = Field(default=None, description="Error message, if no plan could be made.")
    answer: Text | None = Field(default=None, description="The model's last answer.")
    left_out: Text | None = Field(
        default=None,
        description="Why some updates of the answer were omitted; the plan contains the rest.",
    )


class WritePlan(Record):
    """Updates of a user's memory, derived from an event. Applied atomically.

    Key: tenant/user_id. `event_id` is the event that it is derived from; missing when tidying.
    """

    # `fail_fast` reports the first invalid element of each list: 200 have up to 800 errors
    type: Literal["write_plan"] = "write_plan"
    plan_id: Id = Field(description="Id of the plan, unique for its user.")
    user_id: Id = Field(description="Id of the user; the plan changes this user's memory.")
    session_id: Id | None = Field(
        default=None,
        description="Session of the referenced events. Default: any session of the user.",
    )
    event_id: Id | None = Field(
        default=None,
        description="Event that the plan is derived from; added to all evidence.",
    )
    extractor: Extractor = Field(description="Author of the plan.")
    extraction: Extraction | None = Field(default=None, description="Model calls behind the plan.")
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
        description="States and preferences to end.",
    )
    event_updates: list[EventUpdate] = Field(
        default_factory=list,
        max_length=200,
        fail_fast=True,
        description="Retracted, restored or replaced events.",
    )
    event_affect: PlanAffect | None = Field(default=None, description="A moment of affect.")
    context_updates: ContextUpdates | None = Field(
        default=None,
        description="Changes of threads and links.",
    )
    event_annotations: EventAnnotations | None = Field(
        default=None,
        description="Time and entities of the event.",
    )

    @model_validator(mode="after")
    def _marks_stand_alone(self) -> "WritePlan":
        sections = (
            self.state_updates,
            self.preference_updates,
            self.ends,
            self.event_affect,
            self.context_updates != ContextUpdates() and self.context_updates,
        )
        if self.event_updates and any(sections):
            raise ValueError("`event_updates` need a plan without other updates")
        return self

    @model_validator(mode="after")
    def _affect_has_an_event(self) -> "WritePlan":
        if self.event_affect and not (self.event_affect.event_id or self.event_id):
            raise ValueError("`event_affect` needs `event_id`")
        return self
