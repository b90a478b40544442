"""Long-term memory: what the write plans have made."""

from typing import Literal

from pydantic import Field

from schemas.base import JsonObject, Micros, Reply, Vad
from schemas.learner import UserLearningProfile

StateKind = Literal["fact", "relation", "task", "summary", "long_mood_state"]


class State(Reply):
    """A version of a state, valid in [valid_from, valid_to)."""

    state_id: str
    kind: StateKind
    body_text: str
    payload: JsonObject = Field(default_factory=dict)
    confidence: float
    entities: list[str] = Field(default_factory=list)
    valid_from: Micros
    valid_to: Micros | None = None
    last_confirmed_at: Micros
    status: Literal["active", "done", "closed"]
    evidence_event_ids: list[str] = Field(default_factory=list)
    updated_at: Micros


class Preference(Reply):
    """A like or dislike; unique by (domain, normalised subject, polarity)."""

    preference_id: str
    domain: str
    polarity: Literal["like", "dislike"]
    subject: str
    status: Literal["candidate", "confirmed", "revoked"]
    confidence: float
    note: str | None = None
    evidence_event_ids: list[str] = Field(default_factory=list)
    updated_at: Micros


class Mood(Reply):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`."""

    vad: Vad
    text: str = ""
    baseline_vad: Vad
    shock_vad: Vad
    shock_halflife_seconds: float = Field(gt=0)
    shock_severity: float = Field(ge=0, le=1)
    at: Micros


class Link(Reply):
    """A relation between two events; provisional until a plan confirms it."""

    from_event_id: str
    to_event_id: str
    label: Literal["reply_to", "same_topic", "caused_by", "continuation"]
    confidence: float
    provisional: bool


class ThreadMember(Reply):
    """An event in a thread."""

    thread_key: str
    event_id: str
    confidence: float


class MoodNow(Reply):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
    `at` is missing if the user has no moment of affect."""

    text: str
    vad: Vad
    at: Micros | None = None
    baseline_vad: Vad
    shock_vad: Vad
    shock_halflife_seconds: float = Field(gt=0)
    shock_severity: float = Field(ge=0, le=1)
    last_at: Micros | None


class UserDocument(Reply):
    """A user's profile, states, preferences and mood."""

    user_id: str
    profile: UserLearningProfile | None
    states: list[State]
    preferences: list[Preference]
    mood: MoodNow | None


DOCUMENTS: dict[str, type[Reply]] = {
    "state": State,
    "preference": Preference,
    "mood": Mood,
    "link": Link,
    "thread_member": ThreadMember,
}
"""The documents by name; those of kinds that revisions keep by the kind's (memory_kinds.py)."""
