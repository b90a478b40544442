"""Long-term memory: what the write plans have made."""

from typing import Literal

from pydantic import Field

from schemas.base import JsonObject, Micros, Reply, Vad
from schemas.learner import UserLearningProfile

StateKind = Literal["fact", "relation", "task", "summary", "long_mood_state"]


class State(Reply):
    """A version of a state, valid in [valid_from, valid_to)."""

    state_id: str = Field(description="Id of the state, the same for all its versions.")
    kind: StateKind = Field(description="Kind of the state.")
    body_text: str = Field(description="What holds, as a sentence.")
    payload: JsonObject = Field(
        default_factory=dict,
        description="Structured details; for a task `status`: `open` or `done`.",
    )
    confidence: float = Field(description="0 to 1.")
    entities: list[str] = Field(
        default_factory=list,
        description="People, places and things that it is about.",
    )
    valid_from: Micros = Field(description="When it became true.")
    valid_to: Micros | None = Field(
        default=None,
        description="When it stopped, or will stop, being true; null if no end is known.",
    )
    last_confirmed_at: Micros = Field(description="Time of the latest plan that wrote it.")
    status: Literal["active", "done", "closed"] = Field(
        description="`closed` if `valid_to` is set (even in the future), else `done` for a "
        "finished task, else `active`.",
    )
    evidence_event_ids: list[str] = Field(
        default_factory=list,
        description="Events that it rests on, at most the 20 newest.",
    )
    updated_at: Micros = Field(description="Time of the plan that changed this version last.")


class Preference(Reply):
    """A like or dislike; unique by (domain, normalised subject, polarity)."""

    preference_id: str = Field(description="Id, made from domain, subject and polarity.")
    domain: str = Field(description="Field of life, such as `food`.")
    polarity: Literal["like", "dislike"] = Field(
        description="Whether the user likes or dislikes it.",
    )
    subject: str = Field(description="What the user likes or dislikes, as it was first written.")
    status: Literal["candidate", "confirmed", "revoked"] = Field(
        description="`candidate`: seen. `confirmed`: holds. `revoked`: no longer holds.",
    )
    confidence: float = Field(description="0 to 1, as last written.")
    note: str | None = Field(
        default=None,
        description="A remark, such as the sentence it was found in; null if none.",
    )
    evidence_event_ids: list[str] = Field(
        default_factory=list,
        description="Events that it rests on, at most the 20 newest.",
    )
    updated_at: Micros = Field(description="Time of the plan that changed it last.")


class Mood(Reply):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`."""

    vad: Vad = Field(description="Baseline plus shock at `at`, each axis from -1 to +1.")
    text: str = Field(default="", description="The feeling in words; may be empty.")
    baseline_vad: Vad = Field(
        description="Slow part: moves towards each moment, with a half-life of 24 h by default.",
    )
    shock_vad: Vad = Field(
        description="Fast part at `at`; it halves every `shock_halflife_seconds`.",
    )
    shock_halflife_seconds: float = Field(gt=0, description="Half-life of the shock, in seconds.")
    shock_severity: float = Field(
        ge=0,
        le=1,
        description="How far the last moment was from the baseline, 0 to 1.",
    )
    at: Micros = Field(description="Time of the last moment of affect.")


class Link(Reply):
    """A relation between two events; provisional until a plan confirms it."""

    from_event_id: str = Field(description="The later event, such as the reply.")
    to_event_id: str = Field(description="The event that it refers to.")
    label: Literal["reply_to", "same_topic", "caused_by", "continuation"] = Field(
        description="Kind of relation.",
    )
    confidence: float = Field(description="0 to 1; 0.5 if provisional.")
    provisional: bool = Field(
        description="True: assumed from the order of turns. False: a write plan says so.",
    )


class ThreadMember(Reply):
    """An event in a thread."""

    thread_key: str = Field(description="Name of the thread.")
    event_id: str = Field(description="The event.")
    confidence: float = Field(description="0 to 1.")


class MoodNow(Reply):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
    `at` is missing if the user has no moment of affect."""

    text: str = Field(description="The feeling in words; may be empty.")
    vad: Vad = Field(description="Baseline plus shock at `at`, each axis from -1 to +1.")
    at: Micros | None = Field(
        default=None,
        description="The time that was asked about; missing if there is no moment of affect.",
    )
    baseline_vad: Vad = Field(
        description="Slow part: moves towards each moment, with a half-life of 24 h by default.",
    )
    shock_vad: Vad = Field(
        description="Fast part right after `last_at`; it halves every `shock_halflife_seconds`.",
    )
    shock_halflife_seconds: float = Field(gt=0, description="Half-life of the shock, in seconds.")
    shock_severity: float = Field(
        ge=0,
        le=1,
        description="How far the last moment was from the baseline, 0 to 1.",
    )
    last_at: Micros | None = Field(
        description="Time of the last moment of affect; null if there is none.",
    )


class UserDocument(Reply):
    """A user's profile, states, preferences and mood."""

    user_id: str = Field(description="The user.")
    profile: UserLearningProfile | None = Field(
        description="What the user learns; null if there is no lesson.",
    )
    states: list[State] = Field(description="States that are true at the time asked about.")
    preferences: list[Preference] = Field(description="All preferences, also revoked ones.")
    mood: MoodNow | None = Field(description="The mood; null if there is none.")


DOCUMENTS: dict[str, type[Reply]] = {
    "state": State,
    "preference": Preference,
    "mood": Mood,
    "link": Link,
    "thread_member": ThreadMember,
}
"""The documents by name; those of kinds that revisions keep by the kind's (memory_kinds.py)."""
