"""The learner's profile and the summary for an intent router."""

from typing import Literal

from pydantic import Field

from schemas.base import Micros, Reply

Mastery = Literal["weak", "medium", "strong"]
Strength = Literal["weak", "medium", "strong"]


class LearnerPreferences(Reply):
    """What the learner uses most, and how clearly; null while there is too little to tell."""

    preferred_artifact: Literal["quiz", "explanation", "notes", "flashcards"] | None = None
    preferred_artifact_strength: Strength | None = None
    difficulty_preference: Literal["easy", "medium", "hard"] | None = None
    difficulty_preference_strength: Strength | None = None


class LearnerHistory(Reply):
    """Counts of activities, and topics in order of first visit."""

    quiz_sessions: int = Field(default=0, ge=0)
    homework_help_count: int = Field(default=0, ge=0)
    topics_visited: list[str] = Field(default_factory=list, max_length=500)


class UserLearningProfile(Reply):
    """A user's learning profile. `mastery_score` is the number behind each level, 0..1."""

    user_id: str
    mastery: dict[str, Mastery] = Field(default_factory=dict)
    mastery_score: dict[str, float] = Field(default_factory=dict)
    preferences: LearnerPreferences
    history: LearnerHistory
    updated_at: Micros


class MemorySummary(Reply):
    """Mastery of the current topic. `known` is false if there is no answer on it yet."""

    topic_hint: str | None = None
    user_mastery_hint: Mastery = "weak"
    known: bool = False
    recent_behavior: str
