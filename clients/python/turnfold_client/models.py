"""Models of requests and replies. Made by scripts/generate from schemas/generated/openapi.json."""
# fmt: off

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from turnfold_client.base import Closed, Micros, Open

Id = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
Tenant = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f-\x9f/]+$")]
Label = Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
Text = Annotated[str, Field(max_length=1000000)]
Confidence = Annotated[float, Field(ge=0, le=1)]


class Accepted(Closed):
    """The record is in the log for good; what it ends as was not known in time. `look` is where
    its effect will be seen."""

    id: str
    ending: Literal["accepted"]
    look: str


class Action(Open):
    """What one step of the loop did (seed 002 §5.5); `output` is free in form."""

    action_type: Literal["CALL_TOOL", "RE_PLAN", "REFLECT", "ANSWER", "CLARIFY"]
    output: dict[str, Any] = Field(default_factory=dict)


class Vad(Open):
    """Valence, arousal, dominance; a finite number outside -1..+1 is clamped (seed 003 §5)."""

    v: float
    a: float
    d: float


class Affect(Open):
    """One moment of feeling: text and numbers (seed 003 §5)."""

    text: Text = ""
    labels: Annotated[list[Label], Field(max_length=6)] = Field(default_factory=list)
    vad: Vad
    confidence: float = 0.5


class ArtifactsMetadata(Open):
    """Where the session's files live, seed 000."""

    workspace_root: Text | None = None
    sandbox_id: Text | None = None


class Claim(Open):
    """What somebody says a session is about (`subject`) or for (`object`), seed 000."""

    content: Text
    source: Literal["user", "agent"] = "agent"
    confidence: Confidence = 0.5


class ThreadUpdate(Open):
    """Puts an event into a thread, takes it out, or merges a whole thread into another."""

    op: Literal["put", "remove", "merge_into"] = "put"
    thread_key: Label
    event_id: Id | None = None
    into: Label | None = None
    confidence: Confidence = 0.5
    evidence_event_ids: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)
    reason: Text = ""


class LinkUpdate(Open):
    """Puts or removes a relation between two events (seed 003 §4)."""

    op: Literal["put", "remove"] = "put"
    from_event_id: Id
    to_event_id: Id
    label: Literal["reply_to", "same_topic", "caused_by", "continuation"]
    confidence: Confidence = 0.5
    evidence_event_ids: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)
    reason: Text = ""


class ContextUpdates(Open):
    """Changes of the context graph (seed 003 §4)."""

    threads: Annotated[list[ThreadUpdate], Field(max_length=200)] = Field(default_factory=list)
    links: Annotated[list[LinkUpdate], Field(max_length=200)] = Field(default_factory=list)


class Summary(Open):
    """What the agent found and decided in one task, seed 000."""

    content: Text = ""
    key_findings: Annotated[list[Text], Field(max_length=64)] = Field(default_factory=list)
    final_decisions: Annotated[list[Text], Field(max_length=64)] = Field(default_factory=list)


class Conversation(Closed):
    """One task of a session: its question and its answer. `task_index` counts from 1."""

    task_index: Annotated[int, Field(ge=1)]
    task_id: str
    user_input: str = ""
    agent_answer: str = ""
    status: Literal["running", "done", "error"]
    error: str | None = None
    summary: Summary | None = None


class CurrentRecursion(Closed):
    """The greatest recursion in order (seed 002 §5.3)."""

    trace_id: str
    iteration_index: int
    status: Literal["running", "done", "error"]


class DeadLetter(Closed):
    """A record that could not be applied."""

    id: str
    reason: str
    detail: str
    key: str | None
    bytes: int
    recorded_at: Micros


class DeadLetterWhole(Closed):
    """A dead letter with what was sent: as text, or in base64 where that is not UTF-8."""

    id: str
    reason: str
    detail: str
    key: str | None
    recorded_at: Micros
    headers: str | None
    text: str | None = None
    base64: str | None = None


class DeadLetters(Closed):
    """Dead letters, oldest first."""

    dead_letters: list[DeadLetter]
    next: str | None


class EventAnnotations(Open):
    """When the thing spoken of happened, and whom it is about."""

    about_start: Micros | None = None
    about_end: Micros | None = None
    life_stage: Label | None = None
    entities: Annotated[list[Label], Field(max_length=64)] = Field(default_factory=list)


class EventStream(RootModel[str]):
    """Server-sent events: `id` the document's hash, `event: session`, `data` a SessionDocument;
    `event: gone` where the session is no more. Comments keep the connection open."""


class Extraction(Open):
    """How a model made a plan: the turns it saw, its calls, their tokens and cost. With `error`
    there is no plan: the record says that none came of these turns, and ends as a dead letter,
    reason `extraction_failed`. `answer` is what the model said last."""

    event_ids: Annotated[list[Id], Field(max_length=1000)] = Field(default_factory=list)
    calls: Annotated[int, Field(ge=0, le=9007199254740992)] = 0
    prompt_tokens: Annotated[int, Field(ge=0, le=9007199254740992)] = 0
    completion_tokens: Annotated[int, Field(ge=0, le=9007199254740992)] = 0
    cost: Annotated[float, Field(ge=0)] = 0.0
    made_at: Micros | None = None
    error: Text | None = None
    answer: Text | None = None


class Extractor(Open):
    """Who made a plan."""

    name: Label
    version: Label = ""


class Health(Closed):
    """The process is alive. `generation` answers; null: none does now, or the server has no
    history."""

    status: Literal["ok"]
    generation: str | None


class LearnerHistory(Closed):
    """Counts of what the learner did; topics in order of first visit."""

    quiz_sessions: Annotated[int, Field(ge=0)] = 0
    homework_help_count: Annotated[int, Field(ge=0)] = 0
    topics_visited: Annotated[list[str], Field(max_length=500)] = Field(default_factory=list)


class LearnerPreferences(Closed):
    """What the learner uses most; null until it shows. The strengths are ours."""

    preferred_artifact: Literal["quiz", "explanation", "notes", "flashcards"] | None = None
    preferred_artifact_strength: Literal["weak", "medium", "strong"] | None = None
    difficulty_preference: Literal["easy", "medium", "hard"] | None = None
    difficulty_preference_strength: Literal["weak", "medium", "strong"] | None = None


class MemoryItemPatch(Open):
    """Fields of a session memory item to change; those left out stay."""

    id: Id
    content: Text | None = None
    confidence: Confidence | None = None
    source: Literal["user", "joint", "agent"] | None = None
    decision: Text | None = None
    rationale: Text | None = None
    reversible: bool | None = None
    scope: Label | None = None


class MemoryItemWrite(Open):
    """One item of `session_memory_delta`: written as it is, without a threshold."""

    id: Id
    type: Literal["preference", "constraint", "background", "capability_assumption", "decision"]
    content: Text = ""
    confidence: Confidence = 0.5
    source: Literal["user", "joint", "agent"] | None = None
    decision: Text | None = None
    rationale: Text | None = None
    reversible: bool = True
    scope: Label | None = None


class MemorySummary(Closed):
    """Seed 004 §2.3. `known` is false where the topic's mastery is not known."""

    topic_hint: str | None = None
    user_mastery_hint: Literal["weak", "medium", "strong"] = "weak"
    known: bool = False
    recent_behavior: str


class Metadata(Open):
    """What is known of an answer, seed 004. `correct_rate` is a share, 0..1."""

    difficulty: Literal["easy", "medium", "hard"] | None = None
    correct_rate: Confidence | None = None


class MoodNow(Closed):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
    `at` is missing where nothing was ever felt."""

    text: str
    vad: Vad
    at: Micros | None = None
    baseline_vad: Vad
    shock_vad: Vad
    shock_halflife_seconds: Annotated[float, Field(gt=0)]
    shock_severity: Confidence
    last_at: Micros | None


class Observation(Open):
    """One hint at something worth remembering; written when its type's rule says so (design
    04)."""

    type: Literal["preference", "constraint", "background", "capability_assumption", "decision"]
    content: Text = ""
    explicit: bool = False
    environment: bool = False
    confidence: Confidence = 0.5
    opposes: Text | None = None
    decision: Text | None = None
    rationale: Text | None = None
    source: Literal["user", "joint", "agent"] | None = None
    reversible: bool = True
    supersedes: Text | None = None


class PlanAffect(Open):
    """A moment of feeling an extractor saw in an event; by default the plan's own."""

    text: Text = ""
    labels: Annotated[list[Label], Field(max_length=6)] = Field(default_factory=list)
    vad: Vad
    confidence: float = 0.5
    event_id: Id | None = None


class PlanStep(Open):
    """One step of a plan (seed 002 §5.4). Without a status a known step keeps its own."""

    step_id: Id
    description: Text = ""
    status: Literal["pending", "running", "done", "error"] | None = None


class Preference(Closed):
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


class PreferenceUpdate(Open):
    """One change of a like or dislike; unique by (domain, normalised subject, polarity)."""

    op: Literal["upsert_candidate", "confirm", "revoke"]
    domain: Label
    polarity: Literal["like", "dislike"]
    subject: Annotated[str, Field(min_length=1, max_length=512)]
    confidence: Confidence = 0.5
    note: Text | None = None
    evidence_event_ids: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)
    reason: Text = ""


class ProblemError(Closed):
    """One fault: the field, what is wrong with it, and of several records which one, from 1."""

    field: str
    reason: str
    position: int | None = None


class ProblemDocument(Closed):
    """RFC 9457. `type` is explained in docs/http.md."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = None


class Ready(Closed):
    """Whether questions are answered; `done` of `total` rows or bytes are restored.
    `generation` answers; null: none does now, or the server has no history. `promoted` is the
    generation that was promoted and does not answer yet; usually null."""

    ready: bool
    about: str
    done: int
    total: int
    generation: str | None
    promoted: str | None


class RecordResult(Closed):
    """What became of one record. `position` counts from 1: lines of NDJSON, or elements.
    `refused`: it was not taken, `field` and `detail` say why. `dead`: it was taken and is a
    dead letter now. `accepted`: it is in the log for good, its ending was not known in time."""

    position: int
    id: str | None = None
    ending: Literal["applied", "duplicate", "dead", "withheld", "accepted", "refused"]
    reason: str | None = None
    field: str | None = None
    detail: str | None = None


class RecordsReply(Closed):
    """Counts by ending, and the result of each record (`Prefer: return=minimal`: of those alone
    that are refused or dead)."""

    counts: dict[Literal["applied", "duplicate", "dead", "withheld", "accepted", "refused"], int]
    results: list[RecordResult]


class Recursion(Open):
    """One step of an agent's loop (seed 002). Key: tenant/session_id."""

    schema_version: Annotated[int, Field(ge=1, le=2)] = 1
    type: Literal["recursion"] = "recursion"
    tenant: Tenant = "default"
    occurred_at: Micros
    recorded_at: Micros | None = None
    session_id: Id
    task_id: Id
    trace_id: Id
    iteration_index: Annotated[int, Field(ge=0, le=1000000000)]
    status: Literal["running", "done", "error"] = "done"
    step_id: Id | None = None
    observe: Text = ""
    thought: Text = ""
    action: Action
    objective: Text | None = None
    constraints: Annotated[list[Text], Field(max_length=100)] | None = None
    plan: Annotated[list[PlanStep], Field(max_length=1000)] | None = None
    short_term_memory_append: Text | list[Text] | None = None
    max_iteration: Annotated[int, Field(ge=1, le=1000000)] | None = None
    error: Text | None = None
    final: bool = False


class RevisionTold(Closed):
    """A change, and one event that it rests on, in the event's own words."""

    owner_id: str
    entity_type: str
    entity_id: str
    kind: str | None
    op: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    reason: str
    occurred_at: Micros
    recorded_at: Micros
    seq: int
    revision_id: str
    plan_id: str | None
    evidence_event_id: str | None
    evidence_session_id: str | None
    evidence_occurred_at: Micros | None
    user_input: str | None
    agent_answer: str | None


class SearchHit(Closed):
    """An event, state, preference or item of session memory. `matches` are the parts of `text`
    that matched, as [start, end) in characters; `why` what each part adds to `score`."""

    kind: Literal["event", "state", "preference", "session_memory"]
    id: str
    session_id: str | None
    user_id: str | None
    at: Micros
    valid_to: Micros | None
    text: str
    matches: list[tuple[int, int]]
    score: float
    why: dict[str, float]


class SearchPage(Closed):
    """The best hits first."""

    hits: list[SearchHit]
    next: str | None


class SessionContext(Closed):
    """The short-term memory of seed 004 §2.2; ≤ 10 recent intents, oldest first."""

    session_id: str
    current_topic: str | None = None
    recent_intents: Annotated[list[str], Field(max_length=10)] = Field(default_factory=list)
    last_artifact: str | None = None
    last_user_message: str = ""
    updated_at: Micros


class SessionMemoryItem(Closed):
    """Something worth remembering within a session; `evidence` names ≤ 20 newest events."""

    id: str
    type: Literal["preference", "constraint", "background", "capability_assumption", "decision"]
    content: str = ""
    confidence: Confidence
    source: Literal["user", "joint", "agent"] | None = None
    decision: str | None = None
    rationale: str | None = None
    reversible: bool | None = None
    scope: str | None = None
    evidence: Annotated[list[str], Field(max_length=20)] = Field(default_factory=list)


class SessionDocument(Closed):
    """The session as seed 000 writes it. ≤ 20 newest conversations, ≤ 200 memory items."""

    session_id: str
    user_id: str | None = None
    subject: Claim | None = None
    object: Claim | None = None
    status: Literal["active", "waiting_input", "closed"]
    closed_reason: str | None = None
    artifacts_metadata: dict[str, Any] = Field(default_factory=dict)
    conversations: Annotated[list[Conversation], Field(max_length=20)] = Field(default_factory=list)
    conversation_count: Annotated[int, Field(ge=0)] = 0
    session_memory: Annotated[list[SessionMemoryItem], Field(max_length=200)] = Field(
        default_factory=list
    )
    created_at: Micros
    updated_at: Micros
    context: SessionContext | None = None


class SessionMemoryDelta(Open):
    """Direct writes to the session memory: per id the latest turn's op wins."""

    add: Annotated[list[MemoryItemWrite], Field(max_length=64)] = Field(default_factory=list)
    update: Annotated[list[MemoryItemPatch], Field(max_length=64)] = Field(default_factory=list)
    delete: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)


class SessionUpdate(Open):
    """`POST /memory/session/update` (seed 004 §3.4)."""

    tenant: Tenant | None = None
    signal_id: Id | None = None
    occurred_at: Micros | None = None
    session_id: Id
    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None


class ShortTermMemory(Closed):
    """What a recursion asked to be remembered."""

    trace_id: str
    memory: str


class Signal(Open):
    """What one of seed 004's two POSTs says; moves the session's context or the user's
    profile."""

    schema_version: Annotated[int, Field(ge=1, le=2)] = 1
    type: Literal["signal"] = "signal"
    tenant: Tenant = "default"
    occurred_at: Micros
    recorded_at: Micros | None = None
    signal_id: Id
    scope: Literal["session", "user"]
    session_id: Id | None = None
    user_id: Id | None = None
    intent: Label | list[Label] | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None


class State(Closed):
    """A version of a state, valid in [valid_from, valid_to); its text in the persona's
    voice."""

    state_id: str
    kind: Literal["fact", "relation", "task", "summary", "long_mood_state"]
    body_text: str
    payload: dict[str, Any] = Field(default_factory=dict)
    confidence: float
    entities: list[str] = Field(default_factory=list)
    valid_from: Micros
    valid_to: Micros | None = None
    last_confirmed_at: Micros
    status: Literal["active", "done", "closed"]
    evidence_event_ids: list[str] = Field(default_factory=list)
    updated_at: Micros


class StateThen(Closed):
    """A state as it was true at a time, as far as was known at another."""

    owner_id: str
    state_id: str
    kind: str
    body_text: str
    payload: dict[str, Any]
    confidence: float
    valid_from: Micros
    valid_to: Micros | None
    last_confirmed_at: Micros
    status: str
    evidence_event_ids: list[str]
    updated_at: Micros


class StateUpdate(Open):
    """One change of the long-term state (seed 003 §2)."""

    op: Literal["upsert", "close", "mark_done"] = "upsert"
    kind: Literal["fact", "relation", "task", "summary", "long_mood_state"] | None = None
    state_id: Id | None = None
    body_text: Text = ""
    payload: dict[str, Any] | None = None
    confidence: Confidence | None = None
    valid_from: Micros | None = None
    valid_to: Micros | None = None
    entities: Annotated[list[Label], Field(max_length=64)] = Field(default_factory=list)
    evidence_event_ids: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)
    reason: Text = ""


class States(Closed):
    """What was held true of a user, and from where to go on (`cursor`); null at the end."""

    user_id: str
    as_of: Micros
    known_at: Micros | None
    states: list[StateThen]
    next: str | None


class StepView(Closed):
    """A step of the plan with the recursions that claim it (seed 002 §5.4)."""

    step_id: str
    description: str = ""
    status: Literal["pending", "running", "done", "error"]
    recursion_history: list[dict[str, Any]] = Field(default_factory=list)


class TaskMemory(Closed):
    """≤ 50 short-term memories, oldest out."""

    short_term: Annotated[list[ShortTermMemory], Field(max_length=50)] = Field(default_factory=list)


class TaskContext(Closed):
    """What the task is about and how it is to be done (seed 002 §5.4)."""

    objective: str | None = None
    constraints: list[str] = Field(default_factory=list)
    plan: Annotated[list[StepView], Field(max_length=100)] = Field(default_factory=list)
    memory: TaskMemory


class TaskGlobal(Closed):
    """Where the task stands (seed 002 §5.2)."""

    task_id: str
    iteration: Annotated[int, Field(ge=0)]
    max_iteration: Annotated[int, Field(ge=1)]
    status: Literal["pending", "running", "completed", "failed", "waiting_input"]
    error: str | None = None
    forced: bool = False
    stalled: bool = False
    stalled_count: Annotated[int, Field(ge=0)] = 0
    created_at: Micros
    updated_at: Micros


class TaskDocument(Closed):
    """The whole machine: the fold of its recursions in (iteration_index, trace_id) order. ≤ 200
    recursions are kept whole; `older_recursions` counts the others."""

    global_: TaskGlobal = Field(alias="global")
    current_recursion: CurrentRecursion | dict[str, Any]
    context: TaskContext
    recursion_history: list[dict[str, Any]] = Field(default_factory=list)
    older_recursions: Annotated[int, Field(ge=0)] = 0


class TimelineTurn(Closed):
    """A turn with the feeling in it, where one is known."""

    occurred_at: Micros
    event_id: str
    session_id: str
    user_id: str | None
    source: str
    status: str
    user_input: str
    agent_answer: str
    error: str | None
    intent: str | None
    topic: str | None
    v: float | None
    a: float | None
    d: float | None


class Timeline(Closed):
    """The turns of a session in order."""

    session_id: str
    turns: list[TimelineTurn]
    next: str | None


class ToolResult(Open):
    """What a tool answered, to be put into the call it answers (seed 002 §5.5)."""

    schema_version: Annotated[int, Field(ge=1, le=2)] = 1
    type: Literal["tool_result"] = "tool_result"
    tenant: Tenant = "default"
    occurred_at: Micros
    recorded_at: Micros | None = None
    session_id: Id
    task_id: Id
    trace_id: Id
    tool_call_id: Id | None = None
    call_index: Annotated[int, Field(ge=0, le=10000)] | None = None
    result: Any = None
    success: bool


class Turn(Open):
    """User input and answer: the unit of the event log (seed 003 §1). Key:
    tenant/session_id."""

    schema_version: Annotated[int, Field(ge=1, le=2)] = 1
    type: Literal["turn"] = "turn"
    tenant: Tenant = "default"
    occurred_at: Micros
    recorded_at: Micros | None = None
    event_id: Id
    session_id: Id
    user_id: Id | None = None
    client_id: Id | None = None
    task_id: Id | None = None
    source: Label = "chat"
    user_input: Text = ""
    agent_answer: Text = ""
    status: Literal["running", "done", "error"] = "done"
    error: Text | None = None
    intent: Label | list[Label] | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None
    image_summaries: Annotated[list[Text], Field(max_length=5)] | None = None
    summary: Summary | None = None
    subject: Claim | None = None
    object: Claim | None = None
    session_status: Literal["active", "waiting_input", "closed"] | None = None
    artifacts_metadata: ArtifactsMetadata | None = None
    session_memory_delta: SessionMemoryDelta | None = None
    observations: Annotated[list[Observation], Field(max_length=64)] | None = None
    affect: Affect | None = None


class UserLearningProfile(Closed):
    """Seed 004 §2.1. `mastery_score` (ours) is the number behind each word, 0..1."""

    user_id: str
    mastery: dict[str, Literal["weak", "medium", "strong"]] = Field(default_factory=dict)
    mastery_score: dict[str, float] = Field(default_factory=dict)
    preferences: LearnerPreferences
    history: LearnerHistory
    updated_at: Micros


class UserDocument(Closed):
    """Everything that is known of a user now."""

    user_id: str
    profile: UserLearningProfile | None
    states: list[State]
    preferences: list[Preference]
    mood: MoodNow | None


class UserEvent(Open):
    """What the user has just done (seed 004 §3.3)."""

    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None


class UserUpdate(Open):
    """`POST /memory/user/update` (seed 004 §3.3)."""

    tenant: Tenant | None = None
    signal_id: Id | None = None
    occurred_at: Micros | None = None
    user_id: Id
    event: UserEvent


class Why(Closed):
    """How something came to be as it is."""

    entity_id: str
    revisions: list[RevisionTold]
    next: str | None


class WritePlan(Open):
    """What should be remembered of an event (seed 003 §4). Applies whole or not at all. Key:
    tenant/user_id. `event_id` names the event it was made from; none when tidying."""

    schema_version: Annotated[int, Field(ge=1, le=2)] = 1
    type: Literal["write_plan"] = "write_plan"
    tenant: Tenant = "default"
    occurred_at: Micros
    recorded_at: Micros | None = None
    plan_id: Id
    user_id: Id
    session_id: Id | None = None
    event_id: Id | None = None
    extractor: Extractor
    extraction: Extraction | None = None
    state_updates: Annotated[list[StateUpdate], Field(max_length=200)] = Field(default_factory=list)
    preference_updates: Annotated[list[PreferenceUpdate], Field(max_length=200)] = Field(
        default_factory=list
    )
    event_affect: PlanAffect | None = None
    context_updates: ContextUpdates | None = None
    event_annotations: EventAnnotations | None = None
