/** The API's models. Made by scripts/generate from schemas/generated/openapi.json. */

/**
 * The record is stored; its outcome was not known in time. `look` is the URL that will show
 * its effect.
 */
export interface Accepted {
  id: string;
  ending: "accepted";
  look: string;
}

/** What one step of the loop did; `output` may have any form. */
export interface Action {
  action_type: "CALL_TOOL" | "RE_PLAN" | "REFLECT" | "ANSWER" | "CLARIFY";
  output?: Record<string, unknown>;
  [more: string]: unknown;
}

/** One moment of affect: text, labels and numbers. */
export interface Affect {
  text?: string;
  labels?: Array<string>;
  vad: Vad;
  confidence?: number;
  [more: string]: unknown;
}

/** Where the session's files are stored. */
export interface ArtifactsMetadata {
  workspace_root?: string | null;
  sandbox_id?: string | null;
  [more: string]: unknown;
}

/** A claim about what a session is about (`subject`) or for (`object`). */
export interface Claim {
  content: string;
  source?: "user" | "agent";
  confidence?: number;
  [more: string]: unknown;
}

/** Changes of threads and links. */
export interface ContextUpdates {
  threads?: Array<ThreadUpdate>;
  links?: Array<LinkUpdate>;
  [more: string]: unknown;
}

/** One task of a session: its question and its answer. `task_index` counts from 1. */
export interface Conversation {
  task_index: number;
  task_id: string;
  user_input?: string;
  agent_answer?: string;
  status: "running" | "done" | "error";
  error?: string | null;
  summary?: Summary | null;
}

/** The last recursion in order. */
export interface CurrentRecursion {
  trace_id: string;
  iteration_index: number;
  status: "running" | "done" | "error";
}

/** A record that could not be applied. */
export interface DeadLetter {
  id: string;
  reason: string;
  detail: string;
  key: string | null;
  bytes: number;
  recorded_at: string;
}

/** A dead letter with its content: as text, or in base64 if it is not UTF-8. */
export interface DeadLetterWhole {
  id: string;
  reason: string;
  detail: string;
  key: string | null;
  recorded_at: string;
  headers: string | null;
  text?: string | null;
  base64?: string | null;
}

/** Dead letters, oldest first. */
export interface DeadLetters {
  dead_letters: Array<DeadLetter>;
  next: string | null;
}

/** When the event happened and which entities it concerns. */
export interface EventAnnotations {
  about_start?: string | null;
  about_end?: string | null;
  life_stage?: string | null;
  entities?: Array<string>;
  [more: string]: unknown;
}

/**
 * Server-sent events: `id` the document's hash, `event: session`, `data` a SessionDocument;
 * `event: gone` if the session no longer exists. Comments keep the connection open.
 */
export type EventStream = string;

/**
 * How a model made a plan: the turns it read, its calls, their tokens and cost. With `error`
 * no plan could be made of these turns: the record becomes a dead letter with reason
 * `extraction_failed`. `answer` is the model's last answer.
 */
export interface Extraction {
  event_ids?: Array<string>;
  calls?: number;
  prompt_tokens?: number;
  completion_tokens?: number;
  cost?: number;
  made_at?: string | null;
  error?: string | null;
  answer?: string | null;
  [more: string]: unknown;
}

/** Who made a plan. */
export interface Extractor {
  name: string;
  version?: string;
  [more: string]: unknown;
}

/**
 * Liveness. `generation` is the one that answers; null if none does or the server has no
 * history.
 */
export interface Health {
  status: "ok";
  generation: string | null;
}

/** Counts of activities, and topics in order of first visit. */
export interface LearnerHistory {
  quiz_sessions?: number;
  homework_help_count?: number;
  topics_visited?: Array<string>;
}

/** What the learner uses most, and how clearly; null while there is too little to tell. */
export interface LearnerPreferences {
  preferred_artifact?: "quiz" | "explanation" | "notes" | "flashcards" | null;
  preferred_artifact_strength?: "weak" | "medium" | "strong" | null;
  difficulty_preference?: "easy" | "medium" | "hard" | null;
  difficulty_preference_strength?: "weak" | "medium" | "strong" | null;
}

/** Puts or removes a relation between two events. */
export interface LinkUpdate {
  op?: "put" | "remove";
  from_event_id: string;
  to_event_id: string;
  label: "reply_to" | "same_topic" | "caused_by" | "continuation";
  confidence?: number;
  evidence_event_ids?: Array<string>;
  reason?: string;
  [more: string]: unknown;
}

/** Fields of a session memory item to change; omitted fields keep their values. */
export interface MemoryItemPatch {
  id: string;
  content?: string | null;
  confidence?: number | null;
  source?: "user" | "joint" | "agent" | null;
  decision?: string | null;
  rationale?: string | null;
  reversible?: boolean | null;
  scope?: string | null;
  [more: string]: unknown;
}

/** An item that `session_memory_delta` adds. It needs no threshold. */
export interface MemoryItemWrite {
  id: string;
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  content?: string;
  confidence?: number;
  source?: "user" | "joint" | "agent" | null;
  decision?: string | null;
  rationale?: string | null;
  reversible?: boolean;
  scope?: string | null;
  [more: string]: unknown;
}

/** Mastery of the current topic. `known` is false if there is no answer on it yet. */
export interface MemorySummary {
  topic_hint?: string | null;
  user_mastery_hint?: "weak" | "medium" | "strong";
  known?: boolean;
  recent_behavior: string;
}

/** The result of a lesson. `correct_rate` is a share, 0..1. */
export interface Metadata {
  difficulty?: "easy" | "medium" | "hard" | null;
  correct_rate?: number | null;
  [more: string]: unknown;
}

/**
 * The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
 * `at` is missing if the user has no moment of affect.
 */
export interface MoodNow {
  text: string;
  vad: Vad;
  at?: string | null;
  baseline_vad: Vad;
  shock_vad: Vad;
  shock_halflife_seconds: number;
  shock_severity: number;
  last_at: string | null;
}

/** Something worth remembering; shown once its type's threshold is met (docs/rules.md). */
export interface Observation {
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  content?: string;
  explicit?: boolean;
  environment?: boolean;
  confidence?: number;
  opposes?: string | null;
  decision?: string | null;
  rationale?: string | null;
  source?: "user" | "joint" | "agent" | null;
  reversible?: boolean;
  supersedes?: string | null;
  [more: string]: unknown;
}

/** A moment of affect in an event; by default in the plan's own event. */
export interface PlanAffect {
  text?: string;
  labels?: Array<string>;
  vad: Vad;
  confidence?: number;
  event_id?: string | null;
  [more: string]: unknown;
}

/** One step of a plan. Without a status a known step keeps its current one. */
export interface PlanStep {
  step_id: string;
  description?: string;
  status?: "pending" | "running" | "done" | "error" | null;
  [more: string]: unknown;
}

/** A like or dislike; unique by (domain, normalised subject, polarity). */
export interface Preference {
  preference_id: string;
  domain: string;
  polarity: "like" | "dislike";
  subject: string;
  status: "candidate" | "confirmed" | "revoked";
  confidence: number;
  note?: string | null;
  evidence_event_ids?: Array<string>;
  updated_at: string;
}

/** One change of a like or dislike; unique by (domain, normalised subject, polarity). */
export interface PreferenceUpdate {
  op: "upsert_candidate" | "confirm" | "revoke";
  domain: string;
  polarity: "like" | "dislike";
  subject: string;
  confidence?: number;
  note?: string | null;
  evidence_event_ids?: Array<string>;
  reason?: string;
  [more: string]: unknown;
}

/** A problem document (RFC 9457). docs/http.md explains each `type`. */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  errors?: Array<ProblemError> | null;
}

/** One fault: the field, the reason, and for several records the record's position, from 1. */
export interface ProblemError {
  field: string;
  reason: string;
  position?: number | null;
}

/**
 * Current readiness; accurate during a restore. `done` of `total` rows or bytes are
 * restored. `generation` is the one that answers; null if none does or the server has no
 * history. `promoted` is a generation that was promoted and does not answer yet; usually
 * null.
 */
export interface Ready {
  ready: boolean;
  about: string;
  done: number;
  total: number;
  generation: string | null;
  promoted: string | null;
}

/**
 * The outcome of one record. `position` counts lines of NDJSON, or elements, from 1.
 * `refused`: not stored; `field` and `detail` give the reason. `dead`: stored as a dead
 * letter. `accepted`: stored; its outcome was not known in time.
 */
export interface RecordResult {
  position: number;
  id?: string | null;
  ending: "applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused";
  reason?: string | null;
  field?: string | null;
  detail?: string | null;
}

/**
 * Counts by outcome, and the result of each record; with `Prefer: return=minimal` only of
 * records that are refused or dead.
 */
export interface RecordsReply {
  counts: Partial<Record<"applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused", number>>;
  results: Array<RecordResult>;
}

/** One step of an agent's loop. Key: tenant/session_id. */
export interface Recursion {
  schema_version?: number;
  type: "recursion";
  tenant?: string;
  occurred_at: string;
  recorded_at?: string | null;
  session_id: string;
  task_id: string;
  trace_id: string;
  iteration_index: number;
  status?: "running" | "done" | "error";
  step_id?: string | null;
  observe?: string;
  thought?: string;
  action: Action;
  objective?: string | null;
  constraints?: Array<string> | null;
  plan?: Array<PlanStep> | null;
  short_term_memory_append?: string | Array<string> | null;
  max_iteration?: number | null;
  error?: string | null;
  final?: boolean;
  [more: string]: unknown;
}

/** A change, with one of its evidence events. */
export interface RevisionTold {
  owner_id: string;
  entity_type: string;
  entity_id: string;
  kind: string | null;
  op: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  reason: string;
  occurred_at: string;
  recorded_at: string;
  seq: number;
  revision_id: string;
  plan_id: string | null;
  evidence_event_id: string | null;
  evidence_session_id: string | null;
  evidence_occurred_at: string | null;
  user_input: string | null;
  agent_answer: string | null;
}

/**
 * An event, state, preference or session memory item. `matches` are the matching parts of
 * `text`, as [start, end) in characters; `why` is what each signal adds to `score`.
 */
export interface SearchHit {
  kind: "event" | "state" | "preference" | "session_memory";
  id: string;
  session_id: string | null;
  user_id: string | null;
  at: string;
  valid_to: string | null;
  text: string;
  matches: Array<[number, number]>;
  score: number;
  why: Record<string, number>;
}

/** The best hits first. */
export interface SearchPage {
  hits: Array<SearchHit>;
  next: string | null;
}

/** The session's short-term memory; at most 10 recent intents, oldest first. */
export interface SessionContext {
  session_id: string;
  current_topic?: string | null;
  recent_intents?: Array<string>;
  last_artifact?: string | null;
  last_user_message?: string;
  updated_at: string;
}

/** The session: at most the 20 newest conversations and 200 memory items. */
export interface SessionDocument {
  session_id: string;
  user_id?: string | null;
  subject?: Claim | null;
  object?: Claim | null;
  status: "active" | "waiting_input" | "closed";
  closed_reason?: string | null;
  artifacts_metadata?: Record<string, unknown>;
  conversations?: Array<Conversation>;
  conversation_count?: number;
  session_memory?: Array<SessionMemoryItem>;
  created_at: string;
  updated_at: string;
  context?: SessionContext | null;
}

/** Direct writes to the session memory. Per id the latest turn's operation wins. */
export interface SessionMemoryDelta {
  add?: Array<MemoryItemWrite>;
  update?: Array<MemoryItemPatch>;
  delete?: Array<string>;
  [more: string]: unknown;
}

/** Something worth remembering in a session; `evidence` lists at most the 20 newest events. */
export interface SessionMemoryItem {
  id: string;
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  content?: string;
  confidence: number;
  source?: "user" | "joint" | "agent" | null;
  decision?: string | null;
  rationale?: string | null;
  reversible?: boolean | null;
  scope?: string | null;
  evidence?: Array<string>;
}

/** The body of `POST /memory/session/update`. */
export interface SessionUpdate {
  tenant?: string | null;
  signal_id?: string | null;
  occurred_at?: string | null;
  session_id: string;
  intent?: string | null;
  topic?: string | null;
  artifact?: string | null;
  [more: string]: unknown;
}

/** A short-term memory, and the recursion that added it. */
export interface ShortTermMemory {
  trace_id: string;
  memory: string;
}

/** An update of a session's context (scope session) or of a user's profile (scope user). */
export interface Signal {
  schema_version?: number;
  type: "signal";
  tenant?: string;
  occurred_at: string;
  recorded_at?: string | null;
  signal_id: string;
  scope: "session" | "user";
  session_id?: string | null;
  user_id?: string | null;
  intent?: string | Array<string> | null;
  topic?: string | null;
  artifact?: string | null;
  metadata?: Metadata | null;
  [more: string]: unknown;
}

/** A version of a state, valid in [valid_from, valid_to). */
export interface State {
  state_id: string;
  kind: "fact" | "relation" | "task" | "summary" | "long_mood_state";
  body_text: string;
  payload?: Record<string, unknown>;
  confidence: number;
  entities?: Array<string>;
  valid_from: string;
  valid_to?: string | null;
  last_confirmed_at: string;
  status: "active" | "done" | "closed";
  evidence_event_ids?: Array<string>;
  updated_at: string;
}

/** A state as it was true at one time and known at another. */
export interface StateThen {
  owner_id: string;
  state_id: string;
  kind: string;
  body_text: string;
  payload: Record<string, unknown>;
  confidence: number;
  valid_from: string;
  valid_to: string | null;
  last_confirmed_at: string;
  status: string;
  evidence_event_ids: Array<string>;
  updated_at: string;
}

/** One change of the long-term state. */
export interface StateUpdate {
  op?: "upsert" | "close" | "mark_done";
  kind?: "fact" | "relation" | "task" | "summary" | "long_mood_state" | null;
  state_id?: string | null;
  body_text?: string;
  payload?: Record<string, unknown> | null;
  confidence?: number | null;
  valid_from?: string | null;
  valid_to?: string | null;
  entities?: Array<string>;
  evidence_event_ids?: Array<string>;
  reason?: string;
  [more: string]: unknown;
}

/** A user's states. `next` is the cursor of the next page; null at the end. */
export interface States {
  user_id: string;
  as_of: string;
  known_at: string | null;
  states: Array<StateThen>;
  next: string | null;
}

/** A step of the plan with the recursions that claim it. */
export interface StepView {
  step_id: string;
  description?: string;
  status: "pending" | "running" | "done" | "error";
  recursion_history?: Array<Record<string, unknown>>;
}

/** What the agent found and decided in one task. */
export interface Summary {
  content?: string;
  key_findings?: Array<string>;
  final_decisions?: Array<string>;
  [more: string]: unknown;
}

/** The task's objective, constraints, plan and short-term memory. */
export interface TaskContext {
  objective?: string | null;
  constraints?: Array<string>;
  plan?: Array<StepView>;
  memory: TaskMemory;
}

/**
 * The state of a task: the fold of its recursions in (iteration_index, trace_id) order. At
 * most 200 recursions are kept whole; `older_recursions` counts the others.
 */
export interface TaskDocument {
  global: TaskGlobal;
  current_recursion: CurrentRecursion | Record<string, unknown>;
  context: TaskContext;
  recursion_history?: Array<Record<string, unknown>>;
  older_recursions?: number;
}

/** The task's status, iterations and limit. */
export interface TaskGlobal {
  task_id: string;
  iteration: number;
  max_iteration: number;
  status: "pending" | "running" | "completed" | "failed" | "waiting_input";
  error?: string | null;
  forced?: boolean;
  stalled?: boolean;
  stalled_count?: number;
  created_at: string;
  updated_at: string;
}

/** At most the 50 newest short-term memories. */
export interface TaskMemory {
  short_term?: Array<ShortTermMemory>;
}

/** Puts an event into a thread, takes it out, or merges a whole thread into another. */
export interface ThreadUpdate {
  op?: "put" | "remove" | "merge_into";
  thread_key: string;
  event_id?: string | null;
  into?: string | null;
  confidence?: number;
  evidence_event_ids?: Array<string>;
  reason?: string;
  [more: string]: unknown;
}

/** The turns of a session in order. */
export interface Timeline {
  session_id: string;
  turns: Array<TimelineTurn>;
  next: string | null;
}

/** A turn with its affect, if known. */
export interface TimelineTurn {
  occurred_at: string;
  event_id: string;
  session_id: string;
  user_id: string | null;
  source: string;
  status: string;
  user_input: string;
  agent_answer: string;
  error: string | null;
  intent: string | null;
  topic: string | null;
  v: number | null;
  a: number | null;
  d: number | null;
}

/** The result of a tool call, which is put into that call. */
export interface ToolResult {
  schema_version?: number;
  type: "tool_result";
  tenant?: string;
  occurred_at: string;
  recorded_at?: string | null;
  session_id: string;
  task_id: string;
  trace_id: string;
  tool_call_id?: string | null;
  call_index?: number | null;
  result?: unknown;
  success: boolean;
  [more: string]: unknown;
}

/** User input and answer: the unit of the event log. Key: tenant/session_id. */
export interface Turn {
  schema_version?: number;
  type: "turn";
  tenant?: string;
  occurred_at: string;
  recorded_at?: string | null;
  event_id: string;
  session_id: string;
  user_id?: string | null;
  client_id?: string | null;
  task_id?: string | null;
  source?: string;
  user_input?: string;
  agent_answer?: string;
  status?: "running" | "done" | "error";
  error?: string | null;
  intent?: string | Array<string> | null;
  topic?: string | null;
  artifact?: string | null;
  metadata?: Metadata | null;
  image_summaries?: Array<string> | null;
  summary?: Summary | null;
  subject?: Claim | null;
  object?: Claim | null;
  session_status?: "active" | "waiting_input" | "closed" | null;
  artifacts_metadata?: ArtifactsMetadata | null;
  session_memory_delta?: SessionMemoryDelta | null;
  observations?: Array<Observation> | null;
  affect?: Affect | null;
  [more: string]: unknown;
}

/** A user's profile, states, preferences and mood. */
export interface UserDocument {
  user_id: string;
  profile: UserLearningProfile | null;
  states: Array<State>;
  preferences: Array<Preference>;
  mood: MoodNow | null;
}

/** What the user has just done. */
export interface UserEvent {
  intent?: string | null;
  topic?: string | null;
  artifact?: string | null;
  metadata?: Metadata | null;
  [more: string]: unknown;
}

/** A user's learning profile. `mastery_score` is the number behind each level, 0..1. */
export interface UserLearningProfile {
  user_id: string;
  mastery?: Record<string, "weak" | "medium" | "strong">;
  mastery_score?: Record<string, number>;
  preferences: LearnerPreferences;
  history: LearnerHistory;
  updated_at: string;
}

/** The body of `POST /memory/user/update`. */
export interface UserUpdate {
  tenant?: string | null;
  signal_id?: string | null;
  occurred_at?: string | null;
  user_id: string;
  event: UserEvent;
  [more: string]: unknown;
}

/** Valence, arousal, dominance; each is a finite number; values outside -1..+1 are clamped. */
export interface Vad {
  v: number;
  a: number;
  d: number;
  [more: string]: unknown;
}

/** The revisions of an entity, in order. */
export interface Why {
  entity_id: string;
  revisions: Array<RevisionTold>;
  next: string | null;
}

/**
 * What should be remembered of an event. Applies whole or not at all. Key: tenant/user_id.
 * `event_id` names the event it was made from; none when tidying.
 */
export interface WritePlan {
  schema_version?: number;
  type: "write_plan";
  tenant?: string;
  occurred_at: string;
  recorded_at?: string | null;
  plan_id: string;
  user_id: string;
  session_id?: string | null;
  event_id?: string | null;
  extractor: Extractor;
  extraction?: Extraction | null;
  state_updates?: Array<StateUpdate>;
  preference_updates?: Array<PreferenceUpdate>;
  event_affect?: PlanAffect | null;
  context_updates?: ContextUpdates | null;
  event_annotations?: EventAnnotations | null;
  [more: string]: unknown;
}
