"""Documents of long-term memory, which write plans update."""

from typing import Literal

from pydantic import Field

from schemas.base import JsonObject, Micros, Reply, Vad
from schemas.learner import UserLearningProfile

StateKind = Literal["fact", "relation", "task", "summary", "long_mood_state"]


class State(Reply):
    """A version of a state, valid in [valid_from, valid_to)."""

    state_id: str = Field(description="Id of the state, the same for all its versions.")
    kind: StateKind = Field(description="Kind of the state.")
    body_text: str = Field(description="The state as a sentence.")
    payload: JsonObject = Field(
        default_factory=dict,
        description="Structured details, in tables as JSON text (`payload->>'family'`); for a task "
        "`status`: `open` or `done`.",
    )
    confidence: float = Field(description="Confidence, 0 to 1.")
    entities: list[str] = Field(
        default_factory=list,
        description="People, places and things that it mentions.",
    )
    valid_from: Micros = Field(description="Start of validity.")
    valid_to: Micros | None = Field(
        default=None,
        description="End of validity, possibly in the future; null if no end is known.",
    )
    last_confirmed_at: Micros = Field(description="Time of the latest write plan that set it.")
    status: Literal["active", "done", "closed"] = Field(
        description="`closed` if `valid_to` is set (even in the future), otherwise `done` for a "
        "finished task, otherwise `active`.",
    )
    evidence_event_ids: list[str] = Field(
        default_factory=list,
        description="Ids of the supporting events, at most the 20 newest.",
    )
    updated_at: Micros = Field(description="Time of the write plan that last changed this version.")


class Preference(Reply):
    """A like or dislike; unique by (domain, normalised subject, polarity)."""

    preference_id: str = Field(description="Id, derived from domain, subject and polarity.")
    domain: str = Field(description="Domain, such as `food`.")
    polarity: Literal["like", "dislike"] = Field(
        description="`like` or `dislike`.",
    )
    subject: str = Field(description="The thing that the user likes or dislikes, as first written.")
    status: Literal["candidate", "confirmed", "revoked"] = Field(
        description="`candidate`: observed, not confirmed. `confirmed`: in force. `revoked`: no "
        "longer in force.",
    )
    confidence: float = Field(description="Confidence, 0 to 1, as last written.")
    note: str | None = Field(
        default=None,
        description="Remark, such as the sentence that states it; null if none.",
    )
    evidence_event_ids: list[str] = Field(
        default_factory=list,
        description="Ids of the supporting events, at most the 20 newest.",
    )
    updated_at: Micros = Field(description="Time of the write plan that last changed it.")


class Mood(Reply):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`."""

    vad: Vad = Field(description="Baseline plus shock at `at`, each axis from -1 to +1.")
    text: str = Field(default="", description="The feeling as text; may be empty.")
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
        description="Distance of the last moment from the baseline, 0 to 1.",
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
        description="True: inferred from the order of turns. False: set by a write plan.",
    )


class ThreadMember(Reply):
    """An event in a thread."""

    thread_key: str = Field(description="Name of the thread.")
    event_id: str = Field(description="Id of the event.")
    confidence: float = Field(description="Confidence, 0 to 1.")


class MoodNow(Reply):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
    `at` is missing if the user has no moment of affect."""

    text: str = Field(description="The feeling as text; may be empty.")
    vad: Vad = Field(description="Baseline plus shock at `at`, each axis from -1 to +1.")
    at: Micros | None = Field(
        default=None,
        description="The requested time; missing if there is no moment of affect.",
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
        description="Distance of the last moment from the baseline, 0 to 1.",
    )
    last_at: Micros | None = Field(
        description="Time of the last moment of affect; null if there is none.",
    )


class UserDocument(Reply):
    """A user's profile, states, preferences and mood."""

    user_id: str = Field(description="Id of the user.")
    profile: UserLearningProfile | None = Field(
        description="Learning profile; null if there are no lessons.",
    )
    states: list[State] = Field(description="States valid at the requested time.")
    preferences: list[Preference] = Field(description="All preferences, including revoked ones.")
    mood: MoodNow | None = Field(description="The mood; null if there is none.")


DOCUMENTS: dict[str, type[Reply]] = {
    "state": State,
    "preference": Preference,
    "mood": Mood,
    "link": Link,
    "thread_member": ThreadMember,
}
"""Documents by name. A document stored in revisions has the name of its kind (memory_kinds.py)."""
