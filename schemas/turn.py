"""A turn and its parts: what a user said, what the agent answered (docs/records.md)."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import Confidence, Id, Label, Wire
from schemas.record import Affect, Record, Text

ObservationType = Literal[
    "preference", "constraint", "background", "capability_assumption", "decision"
]


Intent = Annotated[
    Label | list[Label] | None,
    Field(description="What the user wants, such as `quiz`. Of several the first counts."),
]
Topic = Annotated[Label | None, Field(description="What it is about.")]
Artifact = Annotated[Label | None, Field(description="What was produced, such as `flashcards`.")]


class Claim(Wire):
    """A claim about what a session is about (`subject`) or for (`object`)."""

    content: Text = Field(description="The claim as a sentence.")
    source: Literal["user", "agent"] = Field(
        default="agent",
        description="Who says so. A user's claim beats any of the agent's.",
    )
    confidence: Confidence = Field(default=0.5, description="How sure; the greater wins.")


class Summary(Wire):
    """What the agent found and decided in one task."""

    content: Text = Field(default="", description="The summary.")
    key_findings: list[Text] = Field(
        default_factory=list,
        max_length=64,
        description="What was found out.",
    )
    final_decisions: list[Text] = Field(
        default_factory=list,
        max_length=64,
        description="What was decided.",
    )


class Metadata(Wire):
    """The result of a lesson. `correct_rate` is a share, 0..1."""

    difficulty: Literal["easy", "medium", "hard"] | None = Field(
        default=None,
        description="Difficulty of the lesson.",
    )
    correct_rate: Confidence | None = Field(default=None, description="Share of correct answers.")


class ArtifactsMetadata(Wire):
    """Where the session's files are stored."""

    workspace_root: Text | None = Field(
        default=None,
        description="Root folder of the session's files.",
    )
    sandbox_id: Text | None = Field(default=None, description="Id of the sandbox.")


class Observation(Wire):
    """Something worth remembering; shown once its type's threshold is met (docs/rules.md)."""

    type: ObservationType = Field(description="Kind of item.")
    content: Text = Field(
        default="",
        description="What was observed. Needed, except for a decision.",
    )
    explicit: bool = Field(
        default=False,
        description="The user said it in so many words: no threshold.",
    )
    environment: bool = Field(
        default=False,
        description="The environment demands it: no threshold for a constraint.",
    )
    confidence: Confidence = Field(default=0.5, description="How sure.")
    opposes: Text | None = Field(
        default=None,
        description="Content of the same type that no longer holds.",
    )
    decision: Text | None = Field(default=None, description="The decision. Default: `content`.")
    rationale: Text | None = Field(
        default=None,
        description="Why it was decided. Needed for a decision to show.",
    )
    source: Literal["user", "joint", "agent"] | None = Field(
        default=None,
        description="Who decided. Needed for a decision to show.",
    )
    reversible: bool = Field(
        default=True,
        description="If false, only a user's decision can replace it.",
    )
    supersedes: Text | None = Field(default=None, description="Decision that this one replaces.")

    @model_validator(mode="after")
    def _says_something(self) -> "Observation":
        if self.type == "decision":
            if not (self.decision or self.content).strip():
                raise ValueError("a decision needs `decision`")
        elif not self.content.strip():
            raise ValueError("an observation needs `content`")
        return self


class MemoryItemWrite(Wire):
    """An item that `session_memory_delta` adds. It needs no threshold."""

    id: Id = Field(description="Id of the item; your choice.")
    type: ObservationType = Field(description="Kind of item.")
    content: Text = Field(default="", description="What is to be remembered.")
    confidence: Confidence = Field(default=0.5, description="How sure.")
    source: Literal["user", "joint", "agent"] | None = Field(
        default=None,
        description="Who decided.",
    )
    decision: Text | None = Field(default=None, description="The decision.")
    rationale: Text | None = Field(default=None, description="Why it was decided.")
    reversible: bool = Field(
        default=True,
        description="If false, only a user's decision can replace it.",
    )
    scope: Label | None = Field(default=None, description="What it applies to.")


class MemoryItemPatch(Wire):
    """Fields of a session memory item to change; omitted fields keep their values."""

    id: Id = Field(description="Id of the item.")
    content: Text | None = Field(default=None, description="New content.")
    confidence: Confidence | None = Field(default=None, description="New confidence.")
    source: Literal["user", "joint", "agent"] | None = Field(
        default=None,
        description="New source.",
    )
    decision: Text | None = Field(default=None, description="New decision.")
    rationale: Text | None = Field(default=None, description="New rationale.")
    reversible: bool | None = Field(default=None, description="New value of `reversible`.")
    scope: Label | None = Field(default=None, description="New scope.")


class SessionMemoryDelta(Wire):
    """Direct writes to the session memory. Per id the latest turn's operation wins."""

    add: list[MemoryItemWrite] = Field(
        default_factory=list,
        max_length=64,
        description="Items to add, or to replace whole.",
    )
    update: list[MemoryItemPatch] = Field(
        default_factory=list,
        max_length=64,
        description="Items to change in part.",
    )
    delete: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Ids of items to delete.",
    )


class Turn(Record):
    """User input and answer: the unit of the event log. Key: tenant/session_id."""

    type: Literal["turn"] = "turn"
    event_id: Id = Field(
        description="Id of the turn, unique in its session. Send a running turn and its end under "
        "one id.",
    )
    session_id: Id = Field(description="Session of the turn.")
    user_id: Id | None = Field(
        default=None,
        description="User who speaks. Without it the turn makes no memory of a user.",
    )
    client_id: Id | None = Field(
        default=None,
        description="Device or window. Turns of one client reply to each other.",
    )
    task_id: Id | None = Field(
        default=None,
        description="Task of the turn. Default: a task of its own.",
    )
    source: Label = Field(
        default="chat",
        description="What kind of turn it is. Rules find memory in `chat` only; `meta_request`: "
        "nothing is kept.",
    )
    user_input: Text = Field(default="", description="What the user said.")
    agent_answer: Text = Field(default="", description="What the agent answered.")
    replaces: Id | None = Field(
        default=None,
        description="Event id of the earlier turn of the session that this one takes the place of: "
        "a message was edited or answered again. Facts and preferences that rest on that turn "
        "alone end when this one has ended.",
    )
    status: Literal["running", "done", "error"] = Field(
        default="done",
        description="`running` while the agent works; then `done` or `error`.",
    )
    error: Text | None = Field(default=None, description="Why the turn failed.")
    intent: Intent = None
    topic: Topic = None
    artifact: Artifact = None
    metadata: Metadata | None = Field(
        default=None,
        description="Result of a lesson. Other fields are kept as they are.",
    )
    image_summaries: list[Text] | None = Field(
        default=None,
        max_length=5,
        description="Descriptions of images. Kept in the history, shown nowhere else.",
    )
    summary: Summary | None = Field(default=None, description="Summary of the task so far.")
    subject: Claim | None = Field(default=None, description="What the session is about.")
    object: Claim | None = Field(default=None, description="What the session is for.")
    session_status: Literal["active", "waiting_input", "closed"] | None = Field(
        default=None,
        description="Status of the session until its next turn.",
    )
    artifacts_metadata: ArtifactsMetadata | None = Field(
        default=None,
        description="Where the session's files are.",
    )
    session_memory_delta: SessionMemoryDelta | None = Field(
        default=None,
        description="Direct writes to session memory.",
    )
    observations: list[Observation] | None = Field(
        default=None,
        max_length=64,
        description="Candidates for session memory.",
    )
    affect: Affect | None = Field(default=None, description="The user's feeling in this turn.")

    @model_validator(mode="after")
    def _replaces_another(self) -> "Turn":
        if self.replaces == self.event_id:
            raise ValueError("`replaces` is the turn's own event_id")
        return self
