"""A turn, i.e. a user's message and the agent's answer, and its parts (docs/records.md)."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import Confidence, Id, Label, Wire
from schemas.record import Affect, Record, Text

ObservationType = Literal[
    "preference", "constraint", "background", "capability_assumption", "decision"
]


Intent = Annotated[
    Label | list[Label] | None,
    Field(description="Intent of the user, such as `quiz`. The first of a list counts."),
]
Topic = Annotated[Label | None, Field(description="Topic.")]
Artifact = Annotated[
    Label | None, Field(description="Artifact that was produced, such as `flashcards`.")
]


class Claim(Wire):
    """A claim about the subject (`subject`) or the goal (`object`) of a session."""

    content: Text = Field(description="The claim as a sentence.")
    source: Literal["user", "agent"] = Field(
        default="agent",
        description="Author of the claim. A user's claim overrides any claim of the agent.",
    )
    confidence: Confidence = Field(default=0.5, description="Confidence, 0 to 1; the greater wins.")


class Summary(Wire):
    """Findings and decisions of the agent in one task."""

    content: Text = Field(default="", description="The summary.")
    key_findings: list[Text] = Field(
        default_factory=list,
        max_length=64,
        description="Findings.",
    )
    final_decisions: list[Text] = Field(
        default_factory=list,
        max_length=64,
        description="Decisions.",
    )


class Metadata(Wire):
    """The result of a lesson. `correct_rate` is a share, 0 to 1."""

    difficulty: Literal["easy", "medium", "hard"] | None = Field(
        default=None,
        description="Difficulty of the lesson.",
    )
    correct_rate: Confidence | None = Field(default=None, description="Share of correct answers.")


class ArtifactsMetadata(Wire):
    """Location of the session's files."""

    workspace_root: Text | None = Field(
        default=None,
        description="Root folder of the session's files.",
    )
    sandbox_id: Text | None = Field(default=None, description="Id of the sandbox.")


class Observation(Wire):
    """A candidate for session memory, shown once its type's threshold is met (docs/rules.md)."""

    type: ObservationType = Field(description="Kind of item.")
    content: Text = Field(
        default="",
        description="Content of the observation. Required except for a decision.",
    )
    explicit: bool = Field(
        default=False,
        description="Stated explicitly by the user: no threshold.",
    )
    environment: bool = Field(
        default=False,
        description="Required by the environment: no threshold for a constraint.",
    )
    confidence: Confidence = Field(default=0.5, description="Confidence, 0 to 1.")
    opposes: Text | None = Field(
        default=None,
        description="Content of the same type that this one contradicts and ends.",
    )
    decision: Text | None = Field(default=None, description="The decision. Default: `content`.")
    rationale: Text | None = Field(
        default=None,
        description="Rationale. A decision is shown only with it.",
    )
    source: Literal["user", "joint", "agent"] | None = Field(
        default=None,
        description="Decision maker. A decision is shown only with it.",
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

    id: Id = Field(description="Id of the item, chosen by you.")
    type: ObservationType = Field(description="Kind of item.")
    content: Text = Field(default="", description="Content of the item.")
    confidence: Confidence = Field(default=0.5, description="Confidence, 0 to 1.")
    source: Literal["user", "joint", "agent"] | None = Field(
        default=None,
        description="Decision maker.",
    )
    decision: Text | None = Field(default=None, description="The decision.")
    rationale: Text | None = Field(default=None, description="Rationale of the decision.")
    reversible: bool = Field(
        default=True,
        description="If false, only a user's decision can replace it.",
    )
    scope: Label | None = Field(default=None, description="Scope of the item.")


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
    """Direct writes to session memory. The operation of the latest turn wins per id."""

    add: list[MemoryItemWrite] = Field(
        default_factory=list,
        max_length=64,
        description="Items to add, or to replace entirely.",
    )
    update: list[MemoryItemPatch] = Field(
        default_factory=list,
        max_length=64,
        description="Fields of items to change.",
    )
    delete: list[Id] = Field(
        default_factory=list,
        max_length=64,
        description="Ids of items to delete.",
    )


class Turn(Record):
    """A user's message and the agent's answer. Key: tenant/session_id."""

    type: Literal["turn"] = "turn"
    event_id: Id = Field(
        description="Id of the turn, unique in its session. Send a running turn and its end with "
        "the same id.",
    )
    session_id: Id = Field(description="Session of the turn.")
    user_id: Id | None = Field(
        default=None,
        description="User of the turn. Without it the turn does not update any user's memory.",
    )
    client_id: Id | None = Field(
        default=None,
        description="Device or window. Turns of the same client reply to each other.",
    )
    task_id: Id | None = Field(
        default=None,
        description="Task of the turn. Default: a separate task.",
    )
    source: Label = Field(
        default="chat",
        description="Kind of turn. The rule extractor reads `chat` only; `meta_request` is not "
        "stored.",
    )
    user_input: Text = Field(default="", description="The user's message.")
    agent_answer: Text = Field(default="", description="The agent's answer.")
    replaces: Id | None = Field(
        default=None,
        description="Event id of the earlier turn of the session that this one replaces, after an "
        "edit or a regenerated answer. Facts and preferences supported only by that "
        "turn end when this turn has ended.",
    )
    status: Literal["running", "done", "error"] = Field(
        default="done",
        description="`running` until the answer is complete; then `done` or `error`.",
    )
    error: Text | None = Field(default=None, description="Error message of a failed turn.")
    intent: Intent = None
    topic: Topic = None
    artifact: Artifact = None
    metadata: Metadata | None = Field(
        default=None,
        description="Result of a lesson. Other fields are stored unchanged.",
    )
    image_summaries: list[Text] | None = Field(
        default=None,
        max_length=5,
        description="Descriptions of images. Stored in the history only.",
    )
    summary: Summary | None = Field(default=None, description="Summary of the task so far.")
    subject: Claim | None = Field(default=None, description="Subject of the session.")
    object: Claim | None = Field(default=None, description="Goal of the session.")
    session_status: Literal["active", "waiting_input", "closed"] | None = Field(
        default=None,
        description="Status of the session until its next turn.",
    )
    artifacts_metadata: ArtifactsMetadata | None = Field(
        default=None,
        description="Location of the session's files.",
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
            raise ValueError("`replaces` must differ from `event_id`")
        return self
