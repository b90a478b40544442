"""The learner's profile and the summary for an intent router."""

from typing import Literal

from pydantic import Field

from schemas.base import Confidence, Micros, Reply

Mastery = Literal["weak", "medium", "strong"]
Strength = Literal["weak", "medium", "strong"]


class LearnerPreferences(Reply):
    """Preferred artifact and difficulty, with their strength; null without enough lessons."""

    preferred_artifact: Literal["quiz", "explanation", "notes", "flashcards"] | None = Field(
        default=None,
        description="The artifact used most; null if it is not clear.",
    )
    preferred_artifact_strength: Strength | None = Field(
        default=None,
        description="Strength of that preference; null if there is none.",
    )
    difficulty_preference: Literal["easy", "medium", "hard"] | None = Field(
        default=None,
        description="The difficulty chosen most; null if it is not clear.",
    )
    difficulty_preference_strength: Strength | None = Field(
        default=None,
        description="Strength of that preference; null if there is none.",
    )


class LearnerHistory(Reply):
    """Counts of activities, and topics in order of first visit."""

    quiz_sessions: int = Field(default=0, ge=0, description="Number of quizzes.")
    homework_help_count: int = Field(
        default=0,
        ge=0,
        description="Number of homework questions.",
    )
    topics_visited: list[str] = Field(
        default_factory=list,
        max_length=500,
        description="Topics in order of first visit.",
    )


class UserLearningProfile(Reply):
    """A user's learning profile. `mastery_score` is the score of each level, 0 to 1.

    `expected_correct` is the probability that the learner's next answer is correct, by topic;
    `expected_correct_elsewhere` the same for a topic without answers. It is null in documents of
    older versions.
    """

    user_id: str = Field(description="Id of the user.")
    mastery: dict[str, Mastery] = Field(default_factory=dict, description="Mastery level by topic.")
    mastery_score: dict[str, float] = Field(
        default_factory=dict,
        description="Score of each level, 0 to 1, by topic.",
    )
    expected_correct: dict[str, Confidence] = Field(
        default_factory=dict,
        description="Probability that the next answer is correct, by topic.",
    )
    expected_correct_elsewhere: Confidence | None = Field(
        default=None,
        description="The same probability for a topic without answers; null in documents of older "
        "versions.",
    )
    preferences: LearnerPreferences = Field(description="Preferred artifact and difficulty.")
    history: LearnerHistory = Field(description="Counts of activities.")
    updated_at: Micros = Field(description="Time of the latest lesson result.")


class MemorySummary(Reply):
    """Mastery of the current topic. `known` is false before the first answer on it."""

    topic_hint: str | None = Field(
        default=None,
        description="Current topic; null if there is none.",
    )
    user_mastery_hint: Mastery = Field(
        default="weak",
        description="The user's level in that topic; `weak` if unknown.",
    )
    known: bool = Field(default=False, description="Whether the user has answered on that topic.")
    recent_behavior: str = Field(
        description="The latest activity as text, in the language of the request.",
    )
