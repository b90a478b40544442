/** The API's models. Made by scripts/generate from schemas/generated/openapi.json. */

/**
 * The record is in the log for good; what it ends as was not known in time. `look` is where
 * its effect will be seen.
 */
export interface Accepted {
  id: string;
  ending: "accepted";
  look: string;
}

/** What one step of the loop did (seed 002 §5.5); `output` is free in form. */
export interface Action {
  action_type: "CALL_TOOL" | "RE_PLAN" | "REFLECT" | "ANSWER" | "CLARIFY";
  output?: Record<string, unknown>;
  [more: string]: unknown;
}

/** One moment of feeling: text and numbers (seed 003 §5). */
export interface Affect {
  text?: string;
  labels?: Array<string>;
  vad: Vad;
  confidence?: number;
  [more: string]: unknown;
}

/** Where the session's files live, seed 000. */
export interface ArtifactsMetadata {
  workspace_root?: string | null;
  sandbox_id?: string | null;
  [more: string]: unknown;
}

/** What somebody says a session is about (`subject`) or for (`object`), seed 000. */
export interface Claim {
  content: string;
  source?: "user" | "agent";
  confidence?: number;
  [more: string]: unknown;
}

/** Changes of the context graph (seed 003 §4). */
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

/** The greatest recursion in order (seed 002 §5.3). */
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

/** A dead letter with what was sent: as text, or in base64 where that is not UTF-8. */
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

/** When the thing spoken of happened, and whom it is about. */
export interface EventAnnotations {
  about_start?: string | null;
  about_end?: string | null;
  life_stage?: string | null;
  entities?: Array<string>;
  [more: string]: unknown;
}

/**
 * Server-sent events: `id` the document's hash, `event: session`, `data` a SessionDocument;
 * `event: gone` where the session is no more. Comments keep the connection open.
 */
export type EventStream = string;

/**
 * How a model made a plan: the turns it saw, its calls, their tokens and cost. With `error`
 * there is no plan: the record says that none came of these turns, and ends as a dead
 * letter, reason `extraction_failed`. `answer` is what the model said last.
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
 * The process is alive. `generation` answers; null: none does now, or the server has no
 * history.
 */
export interface Health {
  status: "ok";
  generation: string | null;
}

/** Counts of what the learner did; topics in order of first visit. */
export interface LearnerHistory {
  quiz_sessions?: number;
  homework_help_count?: number;
  topics_visited?: Array<string>;
}

/** What the learner uses most; null until it shows. The strengths are ours. */
export interface LearnerPreferences {
  preferred_artifact?: "quiz" | "explanation" | "notes" | "flashcards" | null;
  preferred_artifact_strength?: "weak" | "medium" | "strong" | null;
  difficulty_preference?: "easy" | "medium" | "hard" | null;
  difficulty_preference_strength?: "weak" | "medium" | "strong" | null;
}

/** Puts or removes a relation between two events (seed 003 §4). */
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

/** Fields of a session memory item to change; those left out stay. */
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

/** One item of `session_memory_delta`: written as it is, without a threshold. */
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

/** Seed 004 §2.3. `known` is false where the topic's mastery is not known. */
export interface MemorySummary {
  topic_hint?: string | null;
  user_mastery_hint?: "weak" | "medium" | "strong";
  known?: boolean;
  recent_behavior: string;
}

/** What is known of an answer, seed 004. `correct_rate` is a share, 0..1. */
export interface Metadata {
  difficulty?: "easy" | "medium" | "hard" | null;
  correct_rate?: number | null;
  [more: string]: unknown;
}

/**
 * The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
 * `at` is missing where nothing was ever felt.
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

/** One hint at something worth remembering; written when its type's rule says so (design 04). */
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

/** A moment of feeling an extractor saw in an event; by default the plan's own. */
export interface PlanAffect {
  text?: string;
  labels?: Array<string>;
  vad: Vad;
  confidence?: number;
  event_id?: string | null;
  [more: string]: unknown;
}

/** One step of a plan (seed 002 §5.4). Without a status a known step keeps its own. */
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

/** RFC 9457. `type` is explained in docs/http.md. */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  errors?: Array<ProblemError> | null;
}

/** One fault: the field, what is wrong with it, and of several records which one, from 1. */
export interface ProblemError {
  field: string;
  reason: string;
  position?: number | null;
}

/**
 * Whether questions are answered; `done` of `total` rows or bytes are restored. `generation`
 * answers; null: none does now, or the server has no history. `promoted` is the generation
 * that was promoted and does not answer yet; usually null.
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
 * What became of one record. `position` counts from 1: lines of NDJSON, or elements.
 * `refused`: it was not taken, `field` and `detail` say why. `dead`: it was taken and is a
 * dead letter now. `accepted`: it is in the log for good, its ending was not known in time.
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
 * Counts by ending, and the result of each record (`Prefer: return=minimal`: of those alone
 * that are refused or dead).
 */
export interface RecordsReply {
  counts: Partial<Record<"applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused", number>>;
  results: Array<RecordResult>;
}

/** One step of an agent's loop (seed 002). Key: tenant/session_id. */
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

/** A change, and one event that it rests on, in the event's own words. */
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
 * An event, state, preference or item of session memory. `matches` are the parts of `text`
 * that matched, as [start, end) in characters; `why` what each part adds to `score`.
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

/** The short-term memory of seed 004 §2.2; ≤ 10 recent intents, oldest first. */
export interface SessionContext {
  session_id: string;
  current_topic?: string | null;
  recent_intents?: Array<string>;
  last_artifact?: string | null;
  last_user_message?: string;
  updated_at: string;
}

/** The session as seed 000 writes it. ≤ 20 newest conversations, ≤ 200 memory items. */
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

/** Direct writes to the session memory: per id the latest turn's op wins. */
export interface SessionMemoryDelta {
  add?: Array<MemoryItemWrite>;
  update?: Array<MemoryItemPatch>;
  delete?: Array<string>;
  [more: string]: unknown;
}

/** Something worth remembering within a session; `evidence` names ≤ 20 newest events. */
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

/** `POST /memory/session/update` (seed 004 §3.4). */
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

/** What a recursion asked to be remembered. */
export interface ShortTermMemory {
  trace_id: string;
  memory: string;
}

/** What one of seed 004's two POSTs says; moves the session's context or the user's profile. */
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

/** A version of a state, valid in [valid_from, valid_to); its text in the persona's voice. */
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

/** A state as it was true at a time, as far as was known at another. */
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

/** One change of the long-term state (seed 003 §2). */
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

/** What was held true of a user, and from where to go on (`cursor`); null at the end. */
export interface States {
  user_id: string;
  as_of: string;
  known_at: string | null;
  states: Array<StateThen>;
  next: string | null;
}

/** A step of the plan with the recursions that claim it (seed 002 §5.4). */
export interface StepView {
  step_id: string;
  description?: string;
  status: "pending" | "running" | "done" | "error";
  recursion_history?: Array<Record<string, unknown>>;
}

/** What the agent found and decided in one task, seed 000. */
export interface Summary {
  content?: string;
  key_findings?: Array<string>;
  final_decisions?: Array<string>;
  [more: string]: unknown;
}

/** What the task is about and how it is to be done (seed 002 §5.4). */
export interface TaskContext {
  objective?: string | null;
  constraints?: Array<string>;
  plan?: Array<StepView>;
  memory: TaskMemory;
}

/**
 * The whole machine: the fold of its recursions in (iteration_index, trace_id) order. ≤ 200
 * recursions are kept whole; `older_recursions` counts the others.
 */
export interface TaskDocument {
  global: TaskGlobal;
  current_recursion: CurrentRecursion | Record<string, unknown>;
  context: TaskContext;
  recursion_history?: Array<Record<string, unknown>>;
  older_recursions?: number;
}

/** Where the task stands (seed 002 §5.2). */
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

/** ≤ 50 short-term memories, oldest out. */
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

/** A turn with the feeling in it, where one is known. */
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

/** What a tool answered, to be put into the call it answers (seed 002 §5.5). */
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

/** User input and answer: the unit of the event log (seed 003 §1). Key: tenant/session_id. */
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

/** Everything that is known of a user now. */
export interface UserDocument {
  user_id: string;
  profile: UserLearningProfile | null;
  states: Array<State>;
  preferences: Array<Preference>;
  mood: MoodNow | null;
}

/** What the user has just done (seed 004 §3.3). */
export interface UserEvent {
  intent?: string | null;
  topic?: string | null;
  artifact?: string | null;
  metadata?: Metadata | null;
  [more: string]: unknown;
}

/** Seed 004 §2.1. `mastery_score` (ours) is the number behind each word, 0..1. */
export interface UserLearningProfile {
  user_id: string;
  mastery?: Record<string, "weak" | "medium" | "strong">;
  mastery_score?: Record<string, number>;
  preferences: LearnerPreferences;
  history: LearnerHistory;
  updated_at: string;
}

/** `POST /memory/user/update` (seed 004 §3.3). */
export interface UserUpdate {
  tenant?: string | null;
  signal_id?: string | null;
  occurred_at?: string | null;
  user_id: string;
  event: UserEvent;
  [more: string]: unknown;
}

/** Valence, arousal, dominance; a finite number outside -1..+1 is clamped (seed 003 §5). */
export interface Vad {
  v: number;
  a: number;
  d: number;
  [more: string]: unknown;
}

/** How something came to be as it is. */
export interface Why {
  entity_id: string;
  revisions: Array<RevisionTold>;
  next: string | null;
}

/**
 * What should be remembered of an event (seed 003 §4). Applies whole or not at all. Key:
 * tenant/user_id. `event_id` names the event it was made from; none when tidying.
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
