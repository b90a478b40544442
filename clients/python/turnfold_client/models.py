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
    """The record is stored, but processing had not finished before the timeout. `look` is the
    URL of the resource that the record updates."""

    id: str
    ending: Literal["accepted"]
    look: str


class Action(Open):
    """The action of one step of an agent's loop; `output` may have any shape."""

    action_type: Literal["CALL_TOOL", "RE_PLAN", "REFLECT", "ANSWER", "CLARIFY"]
    output: dict[str, Any] = Field(default_factory=dict)


class Vad(Open):
    """Valence, arousal, dominance; each is a finite number; values outside -1..+1 are
    clamped."""

    v: float
    a: float
    d: float


class Affect(Open):
    """One moment of affect: text, labels and numbers."""

    text: Text = ""
    labels: Annotated[list[Label], Field(max_length=6)] = Field(default_factory=list)
    vad: Vad
    confidence: float = 0.5


class Archive(RootModel[str]):
    """JSON Lines: a header, all data of the user, and a line of kind `end` (docs/erasure.md).
    An archive that lacks that line is incomplete."""


class ArtifactsMetadata(Open):
    """Location of the session's files."""

    workspace_root: Text | None = None
    sandbox_id: Text | None = None


class Claim(Open):
    """A claim about the subject (`subject`) or the goal (`object`) of a session."""

    content: Text
    source: Literal["user", "agent"] = "agent"
    confidence: Confidence = 0.5


class ContextItem(Closed):
    """One item of a pack. The text of the pack uses `cite` instead of `id`;
    `/v1/states/{cite}/why` accepts it. `detail` is a supplement, such as a date; `answer` is
    the agent's answer in a recalled turn. `source` is the speaker of the words that the item
    was derived from."""

    section: Literal[
        "identity", "constraints", "preferences", "facts", "tasks", "mood", "session", "turns"
    ]
    kind: Literal["state", "preference", "session_memory", "event"]
    id: str
    cite: str
    text: str
    detail: str = ""
    answer: str = ""
    source: Literal["user", "agent"]
    said_by: list[str | None] = Field(default_factory=list)
    session_id: str | None = None
    later: str = ""
    later_id: str | None = None


class ContextPack(Closed):
    """Memory of a user within a token budget. `text` is ready for a prompt and about `tokens`
    long. `known` is false without memory of the user. `left_out` counts the items that were
    omitted to stay within the budget. `missing` lists failed lookups and their reasons; usually
    it is empty."""

    user_id: str
    known: bool
    as_of: Micros
    known_at: Micros | None
    max_tokens: Annotated[int, Field(ge=1)]
    tokens: Annotated[int, Field(ge=0)]
    left_out: Annotated[int, Field(ge=0)]
    left_out_by_section: dict[str, int] = Field(default_factory=dict)
    missing: list[str] = Field(default_factory=list)
    text: str
    items: list[ContextItem]


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
    """Puts or removes a relation between two events."""

    op: Literal["put", "remove"] = "put"
    from_event_id: Id
    to_event_id: Id
    label: Literal["reply_to", "same_topic", "caused_by", "continuation"]
    confidence: Confidence = 0.5
    evidence_event_ids: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)
    reason: Text = ""


class ContextUpdates(Open):
    """Changes of threads and links."""

    threads: Annotated[list[ThreadUpdate], Field(max_length=200)] = Field(default_factory=list)
    links: Annotated[list[LinkUpdate], Field(max_length=200)] = Field(default_factory=list)


class Summary(Open):
    """Findings and decisions of the agent in one task."""

    content: Text = ""
    key_findings: Annotated[list[Text], Field(max_length=64)] = Field(default_factory=list)
    final_decisions: Annotated[list[Text], Field(max_length=64)] = Field(default_factory=list)


class Conversation(Closed):
    """One task of a session: message and answer. `task_index` counts from 1."""

    task_index: Annotated[int, Field(ge=1)]
    task_id: str
    user_input: str = ""
    agent_answer: str = ""
    status: Literal["running", "done", "error"]
    error: str | None = None
    summary: Summary | None = None


class CurrentRecursion(Closed):
    """The last recursion in order."""

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


class DeadLetterContent(Closed):
    """A dead letter with its content, as text or in base64 if it is not UTF-8."""

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


class EndUpdate(Open):
    """Closes the matching states and revokes the matching preferences, even if older records
    add them later. `families` match a state's `payload.family` (`payload.category` if it is
    missing) or `payload.slot`, or a preference's polarity. `value`: words that the value must
    contain; empty matches any value. `whose` matches `payload.whose`; empty matches the user's
    own. `at` is the time of the end, by default the plan's time."""

    families: Annotated[list[Id], Field(min_length=1, max_length=16)]
    value: Annotated[str, Field(max_length=512)] = ""
    whose: Label = ""
    at: Micros | None = None
    evidence_event_ids: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)
    reason: Text = ""


class ErasureReceipt(Closed):
    """Receipt of an erasure: counts and salted hashes, without ids of users, sessions or
    turns."""

    user_sha256: str | None = None
    sessions: int | None = None
    shared_sessions: int | None = None
    session_sha256: str | None = None
    turn_sha256: str | None = None
    users: int | None = None
    salt: str | None = None
    tables: dict[str, dict[str, int]]
    may_remain: dict[str, int] | None = None
    generations: dict[str, Any] | None = None


class Erasure(Closed):
    """A requested erasure. It contains no id of a user, session or turn."""

    id: str
    status: Literal["waiting", "done"]
    requested_at: Micros
    finished_at: Micros | None
    receipt: ErasureReceipt | None


class EventAnnotations(Open):
    """Time of the event, and its entities."""

    about_start: Micros | None = None
    about_end: Micros | None = None
    life_stage: Label | None = None
    entities: Annotated[list[Label], Field(max_length=64)] = Field(default_factory=list)


class EventStream(RootModel[str]):
    """Server-sent events: `id` is the document's hash, `event` is `session`, `data` a
    SessionDocument; `event: gone` if the session no longer exists. Comments keep the connection
    open."""


class EventUpdate(Open):
    """Retracts an event, as its message was edited, deleted or answered again; or restores it.
    Memory supported only by retracted events ends at the plan's time, including memory that
    older records add later. The latest of several updates of an event counts. `replace`: the
    event in `evidence_event_ids` is a later version of the message; only the latest version is
    in force. A plan with `event_updates` must not have other updates."""

    op: Literal["retract", "restore", "replace"]
    event_id: Id
    evidence_event_ids: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)
    reason: Text = ""


class Extracted(Closed):
    """Progress of a model extractor through the stored turns."""

    status: Literal["done", "waiting"]
    about: str


class Extraction(Open):
    """The model calls behind a plan: turns in the prompt, number of calls, tokens and cost. A
    record with `error` has no plan and becomes a dead letter with reason `extraction_failed`;
    `answer` is then the model's last answer."""

    event_ids: Annotated[list[Id], Field(max_length=1000)] = Field(default_factory=list)
    calls: Annotated[int, Field(ge=0, le=9007199254740992)] = 0
    prompt_tokens: Annotated[int, Field(ge=0, le=9007199254740992)] = 0
    completion_tokens: Annotated[int, Field(ge=0, le=9007199254740992)] = 0
    cost: Annotated[float, Field(ge=0)] = 0.0
    made_at: Micros | None = None
    error: Text | None = None
    answer: Text | None = None
    left_out: Text | None = None


class Extractor(Open):
    """The author of a plan."""

    name: Label
    version: Label = ""


class Health(Closed):
    """Liveness. `generation` is the generation in use; null if none is loaded or the server has
    no history."""

    status: Literal["ok"]
    generation: str | None


class LearnerHistory(Closed):
    """Counts of activities, and topics in order of first visit."""

    quiz_sessions: Annotated[int, Field(ge=0)] = 0
    homework_help_count: Annotated[int, Field(ge=0)] = 0
    topics_visited: Annotated[list[str], Field(max_length=500)] = Field(default_factory=list)


class LearnerPreferences(Closed):
    """Preferred artifact and difficulty, with their strength; null without enough lessons."""

    preferred_artifact: Literal["quiz", "explanation", "notes", "flashcards"] | None = None
    preferred_artifact_strength: Literal["weak", "medium", "strong"] | None = None
    difficulty_preference: Literal["easy", "medium", "hard"] | None = None
    difficulty_preference_strength: Literal["weak", "medium", "strong"] | None = None


class ListedSession(Closed):
    """A session with stored data."""

    session_id: str
    first_line: str | None
    user_id: str | None
    users: int
    started_at: Micros | None
    last_active: Micros
    turns: int
    memory_items: int


class ListedUser(Closed):
    """A user with stored data."""

    user_id: str
    last_active: Micros
    turns: int
    sessions: int
    states: int
    preferences: int


class MemoryItemPatch(Open):
    """Fields of a session memory item to change; omitted fields keep their values."""

    id: Id
    content: Text | None = None
    confidence: Confidence | None = None
    source: Literal["user", "joint", "agent"] | None = None
    decision: Text | None = None
    rationale: Text | None = None
    reversible: bool | None = None
    scope: Label | None = None


class MemoryItemWrite(Open):
    """An item that `session_memory_delta` adds. It needs no threshold."""

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
    """Mastery of the current topic. `known` is false before the first answer on it."""

    topic_hint: str | None = None
    user_mastery_hint: Literal["weak", "medium", "strong"] = "weak"
    known: bool = False
    recent_behavior: str


class MessagePart(Open):
    """A part of a message's content. Only the description of an image is stored, never its
    bytes."""

    type: str
    text: str | None = None
    refusal: str | None = None
    description: str | None = None


class Message(Open):
    """A message of OpenAI's Chat Completions API or an item of its Responses API. Other fields
    are ignored."""

    role: Literal["user", "assistant", "system", "developer", "tool", "function"] | None = None
    type: Literal["message", "function_call", "function_call_output", "reasoning"] | None = None
    name: str | None = None
    content: str | list[MessagePart] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    id: Id | None = None
    created_at: str | float | None = None
    replaces: Id | None = None
    original: Text | None = None
    status: str | None = None


class MessageTurn(Closed):
    """A turn that the messages started, continued or ended."""

    id: str
    status: Literal["running", "done"]
    ending: Literal["applied", "duplicate", "dead", "withheld", "accepted", "refused"]


class MessagesReply(Closed):
    """Outcome of the messages."""

    session_id: str
    message_ids: list[str]
    turns: list[MessageTurn]
    counts: dict[Literal["applied", "duplicate", "dead", "withheld", "accepted", "refused"], int]
    left_out: dict[str, int]


class Metadata(Open):
    """The result of a lesson. `correct_rate` is a share, 0 to 1."""

    difficulty: Literal["easy", "medium", "hard"] | None = None
    correct_rate: Confidence | None = None


class MoodNow(Closed):
    """The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
    `at` is missing if the user has no moment of affect."""

    text: str
    vad: Vad
    at: Micros | None = None
    baseline_vad: Vad
    shock_vad: Vad
    shock_halflife_seconds: Annotated[float, Field(gt=0)]
    shock_severity: Confidence
    last_at: Micros | None


class NewMessages(Closed):
    """The body of `POST /v1/messages`."""

    tenant: Tenant | None = None
    user_id: Id
    session_id: Id | None = None
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    client_id: Id | None = None
    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None


class Observation(Open):
    """A candidate for session memory, shown once its type's threshold is met
    (docs/rules.md)."""

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
    """A moment of affect in an event; by default in the plan's event."""

    text: Text = ""
    labels: Annotated[list[Label], Field(max_length=6)] = Field(default_factory=list)
    vad: Vad
    confidence: float = 0.5
    event_id: Id | None = None


class PlanStep(Open):
    """One step of a plan. A step without `status` keeps its current status."""

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


class PreferenceCorrection(Closed):
    """The body of `PATCH /v1/preferences/{preference_id}`: the fields to change, and why."""

    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    subject: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    polarity: Literal["like", "dislike"] | None = None
    domain: Label | None = None
    confidence: Confidence | None = None
    note: Annotated[str, Field(min_length=1, max_length=10000)] | None = None


class PreferenceUpdate(Open):
    """One change of a like or dislike; unique by (domain, normalised subject, polarity)."""

    op: Literal["upsert_candidate", "confirm", "revoke"]
    domain: Label
    polarity: Literal["like", "dislike"]
    subject: Annotated[str, Field(min_length=1, max_length=512)]
    confidence: Confidence = 0.5
    note: Text | None = None
    unchanged_since: Micros | None = None
    evidence_event_ids: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)
    reason: Text = ""


class ProblemError(Closed):
    """One error: field, reason and, with several records, the record's position from 1."""

    field: str
    reason: str
    position: int | None = None


class QuotaUsed(Closed):
    """A tenant's exceeded quota (docs/quotas.md)."""

    tenant: str
    limit: Literal["records", "bytes"]
    per_second: int
    remaining: int
    retry_after: int


class ProblemDocument(Closed):
    """A problem document (RFC 9457). docs/http.md explains each `type`."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = None
    quota: QuotaUsed | None = None


class Ready(Closed):
    """Current readiness; accurate during a restore. `done` of `total` rows or bytes are
    restored. `generation` is the generation in use; null if none is loaded or the server has no
    history. `promoted` is a promoted generation that is not in use yet; usually null."""

    ready: bool
    about: str
    done: int
    total: int
    generation: str | None
    promoted: str | None


class RecordResult(Closed):
    """The outcome of one record. `position` counts lines of NDJSON, or array elements, from 1.
    `refused`: not stored; `field` and `detail` give the reason. `dead`: stored as a dead
    letter. `accepted`: stored; processing had not finished before the timeout."""

    position: int
    id: str | None = None
    ending: Literal["applied", "duplicate", "dead", "withheld", "accepted", "refused"]
    reason: str | None = None
    field: str | None = None
    detail: str | None = None


class RecordsReply(Closed):
    """Counts by outcome, and the result of each record. With `Prefer: return=minimal` only
    rejected and dead records are listed."""

    counts: dict[Literal["applied", "duplicate", "dead", "withheld", "accepted", "refused"], int]
    results: list[RecordResult]


class Recursion(Open):
    """One step of an agent's loop. Key: tenant/session_id."""

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


class RevisionWithEvidence(Closed):
    """A revision with one of its supporting events."""

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
    extractor_name: str | None
    extractor_version: str | None
    evidence_event_id: str | None
    evidence_session_id: str | None
    evidence_occurred_at: Micros | None
    user_input: str | None
    agent_answer: str | None


class SearchNeighbour(Closed):
    """A turn of the hit's session, `place` turns after it; before it: negative."""

    place: int
    id: str
    user_id: str | None
    at: Micros
    text: str


class SearchHit(Closed):
    """An event, state, preference or session memory item. `matches` are the matching parts of
    `text`, as [start, end) in characters. `why` is the contribution of each ranking signal to
    `score`. `neighbours` are the turns around an event, oldest first, if requested."""

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
    neighbours: list[SearchNeighbour] | None = None
    about_start: Micros | None = None
    about_end: Micros | None = None


class SearchPage(Closed):
    """A page of search hits, best first."""

    hits: list[SearchHit]
    next: str | None


class SessionContext(Closed):
    """The session's short-term memory; at most 10 recent intents, oldest first."""

    session_id: str
    current_topic: str | None = None
    recent_intents: Annotated[list[str], Field(max_length=10)] = Field(default_factory=list)
    last_artifact: str | None = None
    last_user_message: str = ""
    updated_at: Micros


class SessionMemoryItem(Closed):
    """An item of session memory; `evidence` lists at most the 20 newest events."""

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
    """The session: at most the 20 newest conversations and 200 memory items."""

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


class SessionList(Closed):
    """Sessions, the last active first. `next` is the cursor of the next page; null on the last
    page."""

    sessions: list[ListedSession]
    next: str | None


class SessionMemoryDelta(Open):
    """Direct writes to session memory. The operation of the latest turn wins per id."""

    add: Annotated[list[MemoryItemWrite], Field(max_length=64)] = Field(default_factory=list)
    update: Annotated[list[MemoryItemPatch], Field(max_length=64)] = Field(default_factory=list)
    delete: Annotated[list[Id], Field(max_length=64)] = Field(default_factory=list)


class StoredMessage(Closed):
    """A message of a session, as sent."""

    id: str
    at: Micros
    user_id: str | None
    original: str


class SessionMessages(Closed):
    """Messages of a session in order of arrival."""

    session_id: str
    messages: list[StoredMessage]
    next: str | None


class SessionUpdate(Open):
    """The body of `POST /memory/session/update`."""

    tenant: Tenant | None = None
    signal_id: Id | None = None
    occurred_at: Micros | None = None
    session_id: Id
    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None


class ShortTermMemory(Closed):
    """A note in short-term memory, and the recursion that added it."""

    trace_id: str
    memory: str


class Signal(Open):
    """An update of a session's context (scope `session`) or of a user's profile (scope `user`);
    or a message of a session, stored as sent."""

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
    subject: Claim | None = None
    metadata: Metadata | None = None
    message: Text | None = None
    takes_back: Id | None = None


class State(Closed):
    """A version of a state, valid in [valid_from, valid_to)."""

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


class StateCorrection(Closed):
    """The body of `PATCH /v1/states/{state_id}`: the fields to change, and why."""

    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    body_text: Annotated[str, Field(min_length=1, max_length=10000)] | None = None
    payload: dict[str, Any] | None = None
    confidence: Confidence | None = None
    entities: Annotated[list[Label], Field(min_length=1, max_length=64)] | None = None
    valid_from: Micros | None = None
    valid_to: Micros | None = None


class StateUpdate(Open):
    """One change of the long-term state."""

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
    unchanged_since: Micros | None = None
    reason: Text = ""


class StateVersion(Closed):
    """A state valid at `as_of`, as recorded at `known_at`."""

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


class States(Closed):
    """A user's states. `next` is the cursor of the next page; null on the last page."""

    user_id: str
    as_of: Micros
    known_at: Micros | None
    states: list[StateVersion]
    next: str | None


class StepView(Closed):
    """A step of the plan with its recursions."""

    step_id: str
    description: str = ""
    status: Literal["pending", "running", "done", "error"]
    recursion_history: list[dict[str, Any]] = Field(default_factory=list)


class TaskMemory(Closed):
    """At most the 50 newest notes of short-term memory."""

    short_term: Annotated[list[ShortTermMemory], Field(max_length=50)] = Field(default_factory=list)


class TaskContext(Closed):
    """The task's objective, constraints, plan and short-term memory."""

    objective: str | None = None
    constraints: list[str] = Field(default_factory=list)
    plan: Annotated[list[StepView], Field(max_length=100)] = Field(default_factory=list)
    memory: TaskMemory


class TaskGlobal(Closed):
    """The task's status, iterations and limit."""

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
    """The state of a task: the fold of its recursions in (iteration_index, trace_id) order. It
    contains at most 200 recursions; `older_recursions` counts the rest."""

    global_: TaskGlobal = Field(alias="global")
    current_recursion: CurrentRecursion | dict[str, Any]
    context: TaskContext
    recursion_history: list[dict[str, Any]] = Field(default_factory=list)
    older_recursions: Annotated[int, Field(ge=0)] = 0


class TimelineTurn(Closed):
    """A turn with its affect, if known."""

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
    about_start: Micros | None
    about_end: Micros | None
    v: float | None
    a: float | None
    d: float | None


class Timeline(Closed):
    """The turns of a session in order."""

    session_id: str
    turns: list[TimelineTurn]
    next: str | None


class ToolResult(Open):
    """The result of a tool call. It is stored in that call."""

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
    """A user's message and the agent's answer. Key: tenant/session_id."""

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
    replaces: Id | None = None
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
    """A user's learning profile. `mastery_score` is the score of each level, 0 to 1.
    `expected_correct` is the probability that the learner's next answer is correct, by topic;
    `expected_correct_elsewhere` the same for a topic without answers. It is null in documents
    of older versions."""

    user_id: str
    mastery: dict[str, Literal["weak", "medium", "strong"]] = Field(default_factory=dict)
    mastery_score: dict[str, float] = Field(default_factory=dict)
    expected_correct: dict[str, Confidence] = Field(default_factory=dict)
    expected_correct_elsewhere: Confidence | None = None
    preferences: LearnerPreferences
    history: LearnerHistory
    updated_at: Micros


class UserDocument(Closed):
    """A user's profile, states, preferences and mood."""

    user_id: str
    profile: UserLearningProfile | None
    states: list[State]
    preferences: list[Preference]
    mood: MoodNow | None


class UserEvent(Open):
    """The user's latest activity."""

    intent: Label | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None


class UserList(Closed):
    """Users, the last active first. `next` is the cursor of the next page; null on the last
    page."""

    users: list[ListedUser]
    next: str | None


class UserUpdate(Open):
    """The body of `POST /memory/user/update`."""

    tenant: Tenant | None = None
    signal_id: Id | None = None
    occurred_at: Micros | None = None
    user_id: Id
    event: UserEvent


class Why(Closed):
    """The revisions of an entity, in order."""

    entity_id: str
    revisions: list[RevisionWithEvidence]
    next: str | None


class WritePlan(Open):
    """Updates of a user's memory, derived from an event. Applied atomically. Key:
    tenant/user_id. `event_id` is the event that it is derived from; missing when tidying."""

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
    ends: Annotated[list[EndUpdate], Field(max_length=200)] = Field(default_factory=list)
    event_updates: Annotated[list[EventUpdate], Field(max_length=200)] = Field(default_factory=list)
    event_affect: PlanAffect | None = None
    context_updates: ContextUpdates | None = None
    event_annotations: EventAnnotations | None = None
