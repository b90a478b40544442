/** The API's models. Made by scripts/generate from schemas/generated/openapi.json. */

/**
 * The record is stored, but processing had not finished before the timeout. `look` is the
 * URL of the resource that the record updates.
 */
export interface Accepted {
  /** Id of the record. */
  id: string;
  /** Stored; processing had not finished before the timeout. */
  ending: "accepted";
  /** URL of the resource that the record updates. */
  look: string;
}

/** The action of one step of an agent's loop; `output` may have any shape. */
export interface Action {
  /** Type of the action. ANSWER ends the task; CLARIFY is a question to the user. */
  action_type: "CALL_TOOL" | "RE_PLAN" | "REFLECT" | "ANSWER" | "CLARIFY";
  /** Output of the action: `tool_calls` of CALL_TOOL, `plan` of RE_PLAN. */
  output?: Record<string, unknown>;
  [more: string]: unknown;
}

/** One moment of affect: text, labels and numbers. */
export interface Affect {
  /** The feeling as text. */
  text?: string;
  /** Labels, such as `joy`. */
  labels?: Array<string>;
  /** The feeling as numbers. */
  vad: Vad;
  /** Confidence, 0 to 1; other values are clamped. 0 does not change the mood. */
  confidence?: number;
  [more: string]: unknown;
}

/**
 * JSON Lines: a header, all data of the user, and a line of kind `end` (docs/erasure.md). An
 * archive that lacks that line is incomplete.
 */
export type Archive = string;

/** Location of the session's files. */
export interface ArtifactsMetadata {
  /** Root folder of the session's files. */
  workspace_root?: string | null;
  /** Id of the sandbox. */
  sandbox_id?: string | null;
  [more: string]: unknown;
}

/** A claim about the subject (`subject`) or the goal (`object`) of a session. */
export interface Claim {
  /** The claim as a sentence. */
  content: string;
  /** Author of the claim. A user's claim overrides any claim of the agent. */
  source?: "user" | "agent";
  /** Confidence, 0 to 1; the greater wins. */
  confidence?: number;
  [more: string]: unknown;
}

/**
 * One item of a pack. The text of the pack uses `cite` instead of `id`;
 * `/v1/states/{cite}/why` accepts it. `detail` is a supplement, such as a date; `answer` is
 * the agent's answer in a recalled turn. `source` is the speaker of the words that the item
 * was derived from.
 */
export interface ContextItem {
  /** Section of the item. */
  section: "identity" | "constraints" | "preferences" | "facts" | "tasks" | "mood" | "session" | "turns";
  /** Kind of the item. */
  kind: "state" | "preference" | "session_memory" | "event";
  /** Id of the item. */
  id: string;
  /** Short form of `id`, used in `text` of the pack; `/v1/states/{cite}/why` accepts it. */
  cite: string;
  /** Text of the item. */
  text: string;
  /** Supplement, such as a date. */
  detail?: string;
  /** The agent's answer in a recalled turn. */
  answer?: string;
  /** Speaker of the words that it was derived from. */
  source: "user" | "agent";
  /**
   * Session of several users: ids of the speakers, unless this user is the only one; null for
   * a turn without a user.
   */
  said_by?: Array<string | null>;
  /** Session; null if it has none. */
  session_id?: string | null;
  /** Date and text of a later turn about the same subject; it may have made the fact obsolete. */
  later?: string;
  /** Event id of that turn. */
  later_id?: string | null;
}

/**
 * Memory of a user within a token budget. `text` is ready for a prompt and about `tokens`
 * long. `known` is false without memory of the user. `left_out` counts the items that were
 * omitted to stay within the budget. `missing` lists failed lookups and their reasons;
 * usually it is empty.
 */
export interface ContextPack {
  /** Id of the user. */
  user_id: string;
  /** Whether memory of the user exists. */
  known: boolean;
  /** Point in time of the pack. */
  as_of: string;
  /** Memory recorded up to this time is used; null: all memory. */
  known_at: string | null;
  /** Token budget. */
  max_tokens: number;
  /** Length of `text` in tokens: an estimate, or the count of your tokenizer. */
  tokens: number;
  /** Number of items omitted to stay within the budget. */
  left_out: number;
  /** `left_out` by section. */
  left_out_by_section?: Record<string, number>;
  /** Failed lookups, each with its reason; usually empty. */
  missing?: Array<string>;
  /** Text for a prompt. */
  text: string;
  /** The items of `text`, in order. */
  items: Array<ContextItem>;
}

/** Changes of threads and links. */
export interface ContextUpdates {
  /** Changes of threads. */
  threads?: Array<ThreadUpdate>;
  /** Changes of links. */
  links?: Array<LinkUpdate>;
  [more: string]: unknown;
}

/** One task of a session: message and answer. `task_index` counts from 1. */
export interface Conversation {
  /** Number of the task in its session, from 1. */
  task_index: number;
  /** Id of the task. */
  task_id: string;
  /** The user's message. */
  user_input?: string;
  /** The agent's answer. */
  agent_answer?: string;
  /** `running`, `done` or `error`. */
  status: "running" | "done" | "error";
  /** Error message; null if there was no error. */
  error?: string | null;
  /** Findings and decisions of the agent; null if none were sent. */
  summary?: Summary | null;
}

/** The last recursion in order. */
export interface CurrentRecursion {
  /** Id of the recursion. */
  trace_id: string;
  /** Iteration of the recursion. */
  iteration_index: number;
  /** `running`, `done` or `error`. */
  status: "running" | "done" | "error";
}

/** A record that could not be applied. */
export interface DeadLetter {
  /** Id of the dead letter. */
  id: string;
  /** Reason code. */
  reason: string;
  /** Reason as text. */
  detail: string;
  /** Kafka key or owner; null if unknown. */
  key: string | null;
  /** Size of the record in bytes. */
  bytes: number;
  /** Time at which the log received the record. */
  recorded_at: string;
}

/** A dead letter with its content, as text or in base64 if it is not UTF-8. */
export interface DeadLetterContent {
  /** Id of the dead letter. */
  id: string;
  /** Reason code. */
  reason: string;
  /** Reason as text. */
  detail: string;
  /** Kafka key or owner; null if unknown. */
  key: string | null;
  /** Time at which the log received the record. */
  recorded_at: string;
  /** Kafka headers as JSON; null if there are none. */
  headers: string | null;
  /** Content of the record; null if it is not UTF-8. */
  text?: string | null;
  /** Content in base64 if it is not UTF-8; otherwise null. */
  base64?: string | null;
}

/** Dead letters, oldest first. */
export interface DeadLetters {
  /** Dead letters, oldest first. */
  dead_letters: Array<DeadLetter>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/**
 * Closes the matching states and revokes the matching preferences, even if older records add
 * them later. `families` match a state's `payload.family` (`payload.category` if it is
 * missing) or `payload.slot`, or a preference's polarity. `value`: words that the value must
 * contain; empty matches any value. `whose` matches `payload.whose`; empty matches the
 * user's own. `at` is the time of the end, by default the plan's time.
 */
export interface EndUpdate {
  /**
   * Families to end: a state's `payload.family`, `category` or `slot`, or a preference's
   * polarity.
   */
  families: Array<string>;
  /** Words that the value must contain. Default: any value. */
  value?: string;
  /** `payload.whose` to match. Default: the user's own. */
  whose?: string;
  /** Time of the end. Default: the plan's time. */
  at?: string | null;
  /** Ids of the supporting events; the plan's `event_id` is added. */
  evidence_event_ids?: Array<string>;
  /** Reason, shown by `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** A requested erasure. It contains no id of a user, session or turn. */
export interface Erasure {
  /** Id of the erasure. */
  id: string;
  /** `waiting`: pending, even if the server was killed; `done`: finished. */
  status: "waiting" | "done";
  /** Time of the first request. */
  requested_at: string;
  /** Time at which it finished; null while it is waiting. */
  finished_at: string | null;
  /** Erased data in numbers; null while it is waiting. */
  receipt: ErasureReceipt | null;
}

/** Receipt of an erasure: counts and salted hashes, without ids of users, sessions or turns. */
export interface ErasureReceipt {
  /** SHA-256 of `SALT/TENANT/USER`, in hex; null if no user was erased. */
  user_sha256?: string | null;
  /** Sessions erased with the user; null if no user was erased. */
  sessions?: number | null;
  /**
   * Sessions of several users, rebuilt from the turns of the other users; null if no user was
   * erased.
   */
  shared_sessions?: number | null;
  /** SHA-256 of `SALT/TENANT/SESSION`, in hex; null if no session was erased. */
  session_sha256?: string | null;
  /** SHA-256 of `SALT/TENANT/SESSION/TURN`, in hex; null if no turn was erased. */
  turn_sha256?: string | null;
  /**
   * Number of users with memory rebuilt without the session or turn; null if a user was
   * erased.
   */
  users?: number | null;
  /** Random salt of the hash, in hex; null in receipts of earlier versions. */
  salt?: string | null;
  /**
   * Per table: number of erased rows (`erased`) and the table version after the erasure.
   * `may_remain` of `dead_letters`: dead letters that stay and may mention the erased data.
   */
  tables: Record<string, Record<string, number>>;
  /**
   * Location -> number of entries that stay there and may mention the erased data; empty if
   * there are none, null in receipts of earlier versions (docs/erasure.md lists the
   * locations).
   */
  may_remain?: Record<string, number> | null;
  /** Erased rows in the tables of other generations, by name; null if there are none. */
  generations?: Record<string, unknown> | null;
}

/** Time of the event, and its entities. */
export interface EventAnnotations {
  /** Start of the event. Default of `valid_from`. */
  about_start?: string | null;
  /** End of the event. Default of `valid_to` for `close`. */
  about_end?: string | null;
  /** Stage of life. Stored only. */
  life_stage?: string | null;
  /** People, places and things that it mentions. Default of `entities`. */
  entities?: Array<string>;
  [more: string]: unknown;
}

/**
 * Server-sent events: `id` is the document's hash, `event` is `session`, `data` a
 * SessionDocument; `event: gone` if the session no longer exists. Comments keep the
 * connection open.
 */
export type EventStream = string;

/**
 * Retracts an event, as its message was edited, deleted or answered again; or restores it.
 * Memory supported only by retracted events ends at the plan's time, including memory that
 * older records add later. The latest of several updates of an event counts. `replace`: the
 * event in `evidence_event_ids` is a later version of the message; only the latest version
 * is in force. A plan with `event_updates` must not have other updates.
 */
export interface EventUpdate {
  /** Operation. */
  op: "retract" | "restore" | "replace";
  /** Id of the event. */
  event_id: string;
  /** Ids of the supporting events; for `replace`, only the later version. */
  evidence_event_ids?: Array<string>;
  /** Reason, shown by `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** Progress of a model extractor through the stored turns. */
export interface Extracted {
  /** `done`: the model has processed all stored turns; `waiting`: some are pending. */
  status: "done" | "waiting";
  /** Progress of the model requests, as text. */
  about: string;
}

/**
 * The model calls behind a plan: turns in the prompt, number of calls, tokens and cost. A
 * record with `error` has no plan and becomes a dead letter with reason `extraction_failed`;
 * `answer` is then the model's last answer.
 */
export interface Extraction {
  /** Ids of the turns in the prompt. */
  event_ids?: Array<string>;
  /** Number of model calls. */
  calls?: number;
  /** Prompt tokens. */
  prompt_tokens?: number;
  /** Completion tokens. */
  completion_tokens?: number;
  /** Cost, in the currency of the configured prices. */
  cost?: number;
  /** Time at which the plan was made. */
  made_at?: string | null;
  /** Error message, if no plan could be made. */
  error?: string | null;
  /** The model's last answer. */
  answer?: string | null;
  /** Why some updates of the answer were omitted; the plan contains the rest. */
  left_out?: string | null;
  [more: string]: unknown;
}

/** The author of a plan. */
export interface Extractor {
  /** Name of the program, such as `rules`, `llm` or your extractor's name. */
  name: string;
  /** Version of the program. */
  version?: string;
  [more: string]: unknown;
}

/**
 * Liveness. `generation` is the generation in use; null if none is loaded or the server has
 * no history.
 */
export interface Health {
  status: "ok";
  /** The generation in use; null if none is loaded or the server has no history. */
  generation: string | null;
}

/** Counts of activities, and topics in order of first visit. */
export interface LearnerHistory {
  /** Number of quizzes. */
  quiz_sessions?: number;
  /** Number of homework questions. */
  homework_help_count?: number;
  /** Topics in order of first visit. */
  topics_visited?: Array<string>;
}

/** Preferred artifact and difficulty, with their strength; null without enough lessons. */
export interface LearnerPreferences {
  /** The artifact used most; null if it is not clear. */
  preferred_artifact?: "quiz" | "explanation" | "notes" | "flashcards" | null;
  /** Strength of that preference; null if there is none. */
  preferred_artifact_strength?: "weak" | "medium" | "strong" | null;
  /** The difficulty chosen most; null if it is not clear. */
  difficulty_preference?: "easy" | "medium" | "hard" | null;
  /** Strength of that preference; null if there is none. */
  difficulty_preference_strength?: "weak" | "medium" | "strong" | null;
}

/** Puts or removes a relation between two events. */
export interface LinkUpdate {
  /** Operation. */
  op?: "put" | "remove";
  /** The later event, such as the reply. */
  from_event_id: string;
  /** The event that it refers to. */
  to_event_id: string;
  /** Kind of relation. */
  label: "reply_to" | "same_topic" | "caused_by" | "continuation";
  /** Confidence, 0 to 1. */
  confidence?: number;
  /** Ids of the supporting events. Default: `from_event_id`. */
  evidence_event_ids?: Array<string>;
  /** Reason, shown by `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** A session with stored data. */
export interface ListedSession {
  /** Id of the session. */
  session_id: string;
  /**
   * Start of the first turn's words, up to 120 characters; null if that turn has none, asks
   * not to be kept, or is retracted.
   */
  first_line: string | null;
  /** User of the earliest turn that has one; null if none has. */
  user_id: string | null;
  /** Number of users who spoke in it. */
  users: number;
  /** Time of the first turn; null without turns. */
  started_at: string | null;
  /** Time of the latest turn; without turns, of the latest other record. */
  last_active: string;
  /** Number of turns. */
  turns: number;
  /** Current items of session memory. */
  memory_items: number;
}

/** A user with stored data. */
export interface ListedUser {
  /** Id of the user. */
  user_id: string;
  /** Time of the latest turn; without turns, of the latest other record. */
  last_active: string;
  /** Turns in which the user spoke. */
  turns: number;
  /** Sessions in which the user spoke. */
  sessions: number;
  /** Current states, without the mood. */
  states: number;
  /** Current preferences. */
  preferences: number;
}

/** Fields of a session memory item to change; omitted fields keep their values. */
export interface MemoryItemPatch {
  /** Id of the item. */
  id: string;
  /** New content. */
  content?: string | null;
  /** New confidence. */
  confidence?: number | null;
  /** New source. */
  source?: "user" | "joint" | "agent" | null;
  /** New decision. */
  decision?: string | null;
  /** New rationale. */
  rationale?: string | null;
  /** New value of `reversible`. */
  reversible?: boolean | null;
  /** New scope. */
  scope?: string | null;
  [more: string]: unknown;
}

/** An item that `session_memory_delta` adds. It needs no threshold. */
export interface MemoryItemWrite {
  /** Id of the item, chosen by you. */
  id: string;
  /** Kind of item. */
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  /** Content of the item. */
  content?: string;
  /** Confidence, 0 to 1. */
  confidence?: number;
  /** Decision maker. */
  source?: "user" | "joint" | "agent" | null;
  /** The decision. */
  decision?: string | null;
  /** Rationale of the decision. */
  rationale?: string | null;
  /** If false, only a user's decision can replace it. */
  reversible?: boolean;
  /** Scope of the item. */
  scope?: string | null;
  [more: string]: unknown;
}

/** Mastery of the current topic. `known` is false before the first answer on it. */
export interface MemorySummary {
  /** Current topic; null if there is none. */
  topic_hint?: string | null;
  /** The user's level in that topic; `weak` if unknown. */
  user_mastery_hint?: "weak" | "medium" | "strong";
  /** Whether the user has answered on that topic. */
  known?: boolean;
  /** The latest activity as text, in the language of the request. */
  recent_behavior: string;
}

/**
 * A message of OpenAI's Chat Completions API or an item of its Responses API. Other fields
 * are ignored.
 */
export interface Message {
  /** Speaker. May be missing only if `type` is set. */
  role?: "user" | "assistant" | "system" | "developer" | "tool" | "function" | null;
  /** Kind of an item. Default: `message`. */
  type?: "message" | "function_call" | "function_call_output" | "reasoning" | null;
  /**
   * Speaker of a user's message. A name without any word of `user_id` is another person's, and
   * the message does not update the user's memory. If `user_id` contains a digit and the
   * request has only one name, it is the user's.
   */
  name?: string | null;
  /** Content: text or a list of parts. */
  content?: string | Array<MessagePart> | null;
  /** Tool calls of an assistant, each with `id` and `function`. */
  tool_calls?: Array<Record<string, unknown>> | null;
  /** Id of the call that a tool message answers. */
  tool_call_id?: string | null;
  /** Id, unique in its session. Default: derived from `Idempotency-Key` and position. */
  id?: string | null;
  /** Time of the message: RFC 3339 or Unix seconds. Default: the time of the request. */
  created_at?: string | number | null;
  /**
   * Id of the earlier user message that this one replaces, after an edit or a regenerated
   * answer. Memory derived only from the earlier message and its answer ends.
   */
  replaces?: string | null;
  /**
   * The message in your program's format, verbatim except for the bytes of images; `GET
   * /v1/sessions/{id}/messages` returns it. Without `role` and `type` it is only stored and
   * does not update memory.
   */
  original?: string | null;
  /**
   * `in_progress`: an answer that is still streaming; only the last message. `error` for a
   * tool that failed.
   */
  status?: string | null;
  [more: string]: unknown;
}

/**
 * A part of a message's content. Only the description of an image is stored, never its
 * bytes.
 */
export interface MessagePart {
  /**
   * `text`, `input_text`, `output_text`, `refusal`, `thinking`, `reasoning`, `image_url`,
   * `input_image`, `input_audio`, `file`, …
   */
  type: string;
  /** Text of a text part. */
  text?: string | null;
  /** Text of a refusal. */
  refusal?: string | null;
  /** Description of an image; `alt_text` and `alt` are accepted as well. */
  description?: string | null;
  [more: string]: unknown;
}

/** A turn that the messages started, continued or ended. */
export interface MessageTurn {
  /** Id of the turn, and of its task: tool calls, results, steps. */
  id: string;
  /** `running`: waiting for the assistant's answer. */
  status: "running" | "done";
  /** Outcome of its records. */
  ending: "applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused";
}

/** Outcome of the messages. */
export interface MessagesReply {
  /** Id of the session. */
  session_id: string;
  /** Id of each message. */
  message_ids: Array<string>;
  /** The turns, in order. */
  turns: Array<MessageTurn>;
  /** Number of records by outcome. */
  counts: Partial<Record<"applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused", number>>;
  /** Content that was not stored, with counts, such as an image without a description. */
  left_out: Record<string, number>;
}

/** The result of a lesson. `correct_rate` is a share, 0 to 1. */
export interface Metadata {
  /** Difficulty of the lesson. */
  difficulty?: "easy" | "medium" | "hard" | null;
  /** Share of correct answers. */
  correct_rate?: number | null;
  [more: string]: unknown;
}

/**
 * The mood at a moment: baseline + shock, the shock halving every `shock_halflife_seconds`.
 * `at` is missing if the user has no moment of affect.
 */
export interface MoodNow {
  /** The feeling as text; may be empty. */
  text: string;
  /** Baseline plus shock at `at`, each axis from -1 to +1. */
  vad: Vad;
  /** The requested time; missing if there is no moment of affect. */
  at?: string | null;
  /** Slow part: moves towards each moment, with a half-life of 24 h by default. */
  baseline_vad: Vad;
  /** Fast part right after `last_at`; it halves every `shock_halflife_seconds`. */
  shock_vad: Vad;
  /** Half-life of the shock, in seconds. */
  shock_halflife_seconds: number;
  /** Distance of the last moment from the baseline, 0 to 1. */
  shock_severity: number;
  /** Time of the last moment of affect; null if there is none. */
  last_at: string | null;
}

/** The body of `POST /v1/messages`. */
export interface NewMessages {
  /** Tenant; must match the API key. */
  tenant?: string | null;
  /** User of the conversation. */
  user_id: string;
  /** Session. Default: one per user and day (UTC); the reply contains its id. */
  session_id?: string | null;
  /** Messages in order. */
  messages: Array<Message>;
  /** Device or window. */
  client_id?: string | null;
  /** Intent of the user, such as `quiz`. */
  intent?: string | null;
  /** Topic of the turns. */
  topic?: string | null;
  /** Artifact that was produced, such as `flashcards`. */
  artifact?: string | null;
  /** Result of a lesson. Other fields are stored unchanged. */
  metadata?: Metadata | null;
}

/** A candidate for session memory, shown once its type's threshold is met (docs/rules.md). */
export interface Observation {
  /** Kind of item. */
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  /** Content of the observation. Required except for a decision. */
  content?: string;
  /** Stated explicitly by the user: no threshold. */
  explicit?: boolean;
  /** Required by the environment: no threshold for a constraint. */
  environment?: boolean;
  /** Confidence, 0 to 1. */
  confidence?: number;
  /** Content of the same type that this one contradicts and ends. */
  opposes?: string | null;
  /** The decision. Default: `content`. */
  decision?: string | null;
  /** Rationale. A decision is shown only with it. */
  rationale?: string | null;
  /** Decision maker. A decision is shown only with it. */
  source?: "user" | "joint" | "agent" | null;
  /** If false, only a user's decision can replace it. */
  reversible?: boolean;
  /** Decision that this one replaces. */
  supersedes?: string | null;
  [more: string]: unknown;
}

/** A moment of affect in an event; by default in the plan's event. */
export interface PlanAffect {
  /** The feeling as text. */
  text?: string;
  /** Labels, such as `joy`. */
  labels?: Array<string>;
  /** The feeling as numbers. */
  vad: Vad;
  /** Confidence, 0 to 1; other values are clamped. 0 does not change the mood. */
  confidence?: number;
  /** Event of the feeling. Default: the plan's event. */
  event_id?: string | null;
  [more: string]: unknown;
}

/** One step of a plan. A step without `status` keeps its current status. */
export interface PlanStep {
  /** Id of the step, unique in its plan. */
  step_id: string;
  /** Text of the step. */
  description?: string;
  /** Status of the step. */
  status?: "pending" | "running" | "done" | "error" | null;
  [more: string]: unknown;
}

/** A like or dislike; unique by (domain, normalised subject, polarity). */
export interface Preference {
  /** Id, derived from domain, subject and polarity. */
  preference_id: string;
  /** Domain, such as `food`. */
  domain: string;
  /** `like` or `dislike`. */
  polarity: "like" | "dislike";
  /** The thing that the user likes or dislikes, as first written. */
  subject: string;
  /**
   * `candidate`: observed, not confirmed. `confirmed`: in force. `revoked`: no longer in
   * force.
   */
  status: "candidate" | "confirmed" | "revoked";
  /** Confidence, 0 to 1, as last written. */
  confidence: number;
  /** Remark, such as the sentence that states it; null if none. */
  note?: string | null;
  /** Ids of the supporting events, at most the 20 newest. */
  evidence_event_ids?: Array<string>;
  /** Time of the write plan that last changed it. */
  updated_at: string;
}

/** The body of `PATCH /v1/preferences/{preference_id}`: the fields to change, and why. */
export interface PreferenceCorrection {
  /** Reason of the correction; shown by `why`. */
  reason: string;
  /** The thing that the user likes or dislikes. */
  subject?: string | null;
  /** `like` or `dislike`. */
  polarity?: "like" | "dislike" | null;
  /** Domain, such as `food`. */
  domain?: string | null;
  /** Confidence, 0 to 1. */
  confidence?: number | null;
  /** Remark. */
  note?: string | null;
}

/** One change of a like or dislike; unique by (domain, normalised subject, polarity). */
export interface PreferenceUpdate {
  /**
   * `upsert_candidate` records an observation, `confirm` puts the preference in force,
   * `revoke` ends it.
   */
  op: "upsert_candidate" | "confirm" | "revoke";
  /** Domain, such as `food`. */
  domain: string;
  /** `like` or `dislike`. */
  polarity: "like" | "dislike";
  /** The thing that the user likes or dislikes. */
  subject: string;
  /** Confidence, 0 to 1. */
  confidence?: number;
  /** Remark, such as the user's sentence. */
  note?: string | null;
  /** Skip the update if the preference was changed after this time. */
  unchanged_since?: string | null;
  /** Ids of the supporting events; the plan's `event_id` is added. */
  evidence_event_ids?: Array<string>;
  /** Reason, shown by `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** A problem document (RFC 9457). docs/http.md explains each `type`. */
export interface ProblemDocument {
  /** Problem type, such as `/problems/invalid`. */
  type: string;
  /** Summary of the problem type. */
  title: string;
  /** HTTP status. */
  status: number;
  /** Explanation, and how to fix it. */
  detail: string;
  /** Errors by field and record, if a field is invalid or there are several errors. */
  errors?: Array<ProblemError> | null;
  /** Tenant, limit and remaining quota; only with `/problems/over-quota`. */
  quota?: QuotaUsed | null;
}

/** One error: field, reason and, with several records, the record's position from 1. */
export interface ProblemError {
  /** Path of the field. */
  field: string;
  /** Why the field is invalid. */
  reason: string;
  /** Position of the record among several, from 1; null for a single record. */
  position?: number | null;
}

/** A tenant's exceeded quota (docs/quotas.md). */
export interface QuotaUsed {
  /** Id of the tenant. */
  tenant: string;
  /** The limit that was exceeded. */
  limit: "records" | "bytes";
  /** Quota per second. */
  per_second: number;
  /** Remaining quota; a negative number is the excess of the last request. */
  remaining: number;
  /** Seconds until quota is available again. */
  retry_after: number;
}

/**
 * Current readiness; accurate during a restore. `done` of `total` rows or bytes are
 * restored. `generation` is the generation in use; null if none is loaded or the server has
 * no history. `promoted` is a promoted generation that is not in use yet; usually null.
 */
export interface Ready {
  /** Whether the server can serve requests. */
  ready: boolean;
  /** Pending step, as text. */
  about: string;
  /** Rows or bytes restored. */
  done: number;
  /** Rows or bytes to restore. */
  total: number;
  /** The generation in use; null if none is loaded or the server has no history. */
  generation: string | null;
  /** A promoted generation that is not in use yet; usually null. */
  promoted: string | null;
}

/**
 * The outcome of one record. `position` counts lines of NDJSON, or array elements, from 1.
 * `refused`: not stored; `field` and `detail` give the reason. `dead`: stored as a dead
 * letter. `accepted`: stored; processing had not finished before the timeout.
 */
export interface RecordResult {
  /** Line of NDJSON, or array element, from 1. */
  position: number;
  /** Id of the record; null if the record could not be parsed. */
  id?: string | null;
  /** Outcome of the record. */
  ending: "applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused";
  /**
   * Reason code, if refused or dead; `waiting` for a tool result that arrived before its
   * recursion ended.
   */
  reason?: string | null;
  /** Invalid field, if known. */
  field?: string | null;
  /** Reason as text, if refused or dead. */
  detail?: string | null;
}

/**
 * Counts by outcome, and the result of each record. With `Prefer: return=minimal` only
 * rejected and dead records are listed.
 */
export interface RecordsReply {
  /** Number of records by outcome. */
  counts: Partial<Record<"applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused", number>>;
  /** Result of each record. */
  results: Array<RecordResult>;
}

/** One step of an agent's loop. Key: tenant/session_id. */
export interface Recursion {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "recursion";
  /** Tenant; all data is separated by tenant. */
  tenant?: string;
  /** Time of the event by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * Time at which your log received the record; default: `occurred_at`. Used in files only:
   * Kafka sets the append time, the HTTP API the time of arrival.
   */
  recorded_at?: string | null;
  /** Session of the task. */
  session_id: string;
  /** Id of the task, unique in its session. */
  task_id: string;
  /** Id of the recursion, unique in its task. */
  trace_id: string;
  /** Position in the task. */
  iteration_index: number;
  /** `running` until it ends; then `done` or `error`. */
  status?: "running" | "done" | "error";
  /** Step of the plan that it works on. */
  step_id?: string | null;
  /** The agent's observation. */
  observe?: string;
  /** The agent's reasoning. */
  thought?: string;
  /** The agent's action. */
  action: Action;
  /** New objective of the task. */
  objective?: string | null;
  /** New constraints of the task; they replace all earlier ones. */
  constraints?: Array<string> | null;
  /** New plan of the task; it replaces the earlier one. */
  plan?: Array<PlanStep> | null;
  /** Texts to append to the task's short-term memory. */
  short_term_memory_append?: string | Array<string> | null;
  /** New limit of finished recursions. Default of a task: 10. */
  max_iteration?: number | null;
  /** Error message. */
  error?: string | null;
  /** With status `error`: the whole task failed. */
  final?: boolean;
  [more: string]: unknown;
}

/** A revision with one of its supporting events. */
export interface RevisionWithEvidence {
  /** Owner of the changed memory: a session or a user. */
  owner_id: string;
  /** `session`, `session_memory`, `state`, `preference`, `link` or `thread`. */
  entity_type: string;
  /** Id of the entity. */
  entity_id: string;
  /** Kind of a state, domain of a preference, and so on (docs/tables.md). */
  kind: string | null;
  /** Operation, such as `insert`, `update`, `supersede`, `close`. */
  op: string;
  /** Value before; null if there was none. */
  before: Record<string, unknown> | null;
  /** Value after; null if it was removed. */
  after: Record<string, unknown> | null;
  /** Reason of the change. */
  reason: string;
  /** Time of the record that made the change. */
  occurred_at: string;
  /** Time at which the log received the record. */
  recorded_at: string;
  /** Position among the owner's revisions. */
  seq: number;
  /** Id of the revision. */
  revision_id: string;
  /** Write plan that made the change; null if another type of record made it. */
  plan_id: string | null;
  /** Extractor of the plan; null without a plan. */
  extractor_name: string | null;
  /** Version of the extractor; for a correction through the API, the id of the API key. */
  extractor_version: string | null;
  /** Id of the supporting event; null if there is none. */
  evidence_event_id: string | null;
  /** Session of that event. */
  evidence_session_id: string | null;
  /** Time of that event; null if the event is unknown. */
  evidence_occurred_at: string | null;
  /** The user's message in that event; null if the event is unknown. */
  user_input: string | null;
  /** The agent's answer in that event; null if the event is unknown. */
  agent_answer: string | null;
}

/**
 * An event, state, preference or session memory item. `matches` are the matching parts of
 * `text`, as [start, end) in characters. `why` is the contribution of each ranking signal to
 * `score`. `neighbours` are the turns around an event, oldest first, if requested.
 */
export interface SearchHit {
  /** Kind of the hit. */
  kind: "event" | "state" | "preference" | "session_memory";
  /** Id of the hit. */
  id: string;
  /** Session; null if it has none. */
  session_id: string | null;
  /** User; null if unknown. */
  user_id: string | null;
  /** Time of the event, or start of validity. */
  at: string;
  /** End of validity of a state; otherwise null. */
  valid_to: string | null;
  /** Text of the hit. */
  text: string;
  /** Matching parts of `text`, as [start, end) in characters. */
  matches: Array<[number, number]>;
  /** Relevance; greater is better. Comparable within one search only. */
  score: number;
  /** Contribution of each ranking signal to `score`. */
  why: Record<string, number>;
  /** Turns around an event, oldest first; null if not requested. */
  neighbours?: Array<SearchNeighbour> | null;
  /** Start of the date that it mentions, the first within `about`; missing if none. */
  about_start?: string | null;
  /** End of that date (exclusive); missing if none. */
  about_end?: string | null;
}

/** A turn of the hit's session, `place` turns after it; before it: negative. */
export interface SearchNeighbour {
  /** Offset from the hit in turns; negative before it. */
  place: number;
  /** Id of the turn. */
  id: string;
  /** User; null if unknown. */
  user_id: string | null;
  /** Time of the message. */
  at: string;
  /** Text of the turn. */
  text: string;
}

/** A page of search hits, best first. */
export interface SearchPage {
  /** Hits, best first. */
  hits: Array<SearchHit>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/** The session's short-term memory; at most 10 recent intents, oldest first. */
export interface SessionContext {
  /** Id of the session. */
  session_id: string;
  /** Latest topic; null if there was none. */
  current_topic?: string | null;
  /** At most the 10 latest intents, oldest first. */
  recent_intents?: Array<string>;
  /** Latest artifact, such as `flashcards`; null if there was none. */
  last_artifact?: string | null;
  /** The latest user message. */
  last_user_message?: string;
  /** Time of the latest record. */
  updated_at: string;
}

/** The session: at most the 20 newest conversations and 200 memory items. */
export interface SessionDocument {
  /** Id of the session. */
  session_id: string;
  /** User; null if unknown. */
  user_id?: string | null;
  /** Subject of the session; null if unknown. */
  subject?: Claim | null;
  /** Goal of the session; null if unknown. */
  object?: Claim | null;
  /** `active`, `waiting_input` or `closed`. */
  status: "active" | "waiting_input" | "closed";
  /** Reason of the closing, `expired` or set by a turn; null if it is open. */
  closed_reason?: string | null;
  /** Location of the session's files. */
  artifacts_metadata?: Record<string, unknown>;
  /** At most the 20 newest tasks, oldest first. */
  conversations?: Array<Conversation>;
  /** Number of all tasks. */
  conversation_count?: number;
  /** Session memory, at most 200 items. */
  session_memory?: Array<SessionMemoryItem>;
  /** Time of the earliest record. */
  created_at: string;
  /** Time of the latest record. */
  updated_at: string;
  /** Context of the session; null if it has only recursions. */
  context?: SessionContext | null;
}

/**
 * Sessions, the last active first. `next` is the cursor of the next page; null on the last
 * page.
 */
export interface SessionList {
  /** Sessions in the requested order. */
  sessions: Array<ListedSession>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/** Direct writes to session memory. The operation of the latest turn wins per id. */
export interface SessionMemoryDelta {
  /** Items to add, or to replace entirely. */
  add?: Array<MemoryItemWrite>;
  /** Fields of items to change. */
  update?: Array<MemoryItemPatch>;
  /** Ids of items to delete. */
  delete?: Array<string>;
  [more: string]: unknown;
}

/** An item of session memory; `evidence` lists at most the 20 newest events. */
export interface SessionMemoryItem {
  /** Id of the item. */
  id: string;
  /** Kind of item. */
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  /** Content of the item. */
  content?: string;
  /** Confidence, 0 to 1. */
  confidence: number;
  /** Decision maker; null if it is not a decision. */
  source?: "user" | "joint" | "agent" | null;
  /** The decision; null if it is not one. */
  decision?: string | null;
  /** Rationale of the decision. */
  rationale?: string | null;
  /** If false, only a user's decision can replace it; null if it is not a decision. */
  reversible?: boolean | null;
  /** Scope of the item; null if unknown. */
  scope?: string | null;
  /** Ids of the supporting turns, at most the 20 newest. */
  evidence?: Array<string>;
}

/** Messages of a session in order of arrival. */
export interface SessionMessages {
  /** Id of the session. */
  session_id: string;
  /** The messages. */
  messages: Array<StoredMessage>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/** The body of `POST /memory/session/update`. */
export interface SessionUpdate {
  /** Tenant; must match the API key. */
  tenant?: string | null;
  /** Id of the signal. Default: derived from `Idempotency-Key`; without that header, a new id. */
  signal_id?: string | null;
  /** Time of the event. Default: the time of the request. */
  occurred_at?: string | null;
  /** Id of the session. */
  session_id: string;
  /** Intent of the user, such as `quiz`. */
  intent?: string | null;
  /** Topic. */
  topic?: string | null;
  /** Artifact that was produced, such as `flashcards`. */
  artifact?: string | null;
  [more: string]: unknown;
}

/** A note in short-term memory, and the recursion that added it. */
export interface ShortTermMemory {
  /** Recursion that added it. */
  trace_id: string;
  /** Text of the note. */
  memory: string;
}

/**
 * An update of a session's context (scope `session`) or of a user's profile (scope `user`);
 * or a message of a session, stored as sent.
 */
export interface Signal {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "signal";
  /** Tenant; all data is separated by tenant. */
  tenant?: string;
  /** Time of the event by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * Time at which your log received the record; default: `occurred_at`. Used in files only:
   * Kafka sets the append time, the HTTP API the time of arrival.
   */
  recorded_at?: string | null;
  /** Id of the signal, unique in its session or user. */
  signal_id: string;
  /** Target of the update. */
  scope: "session" | "user";
  /** Session; required if `scope` is `session`. */
  session_id?: string | null;
  /** User; required if `scope` is `user`. */
  user_id?: string | null;
  /** Intent of the user, such as `quiz`. The first of a list counts. */
  intent?: string | Array<string> | null;
  /** Topic. */
  topic?: string | null;
  /** Artifact that was produced, such as `flashcards`. */
  artifact?: string | null;
  /** Subject of the session, such as its title; only with scope `session`. */
  subject?: Claim | null;
  /** Result of a lesson. */
  metadata?: Metadata | null;
  /**
   * A message of the session, verbatim, for `GET /v1/sessions/{id}/messages`. It does not
   * update memory.
   */
  message?: string | null;
  /** Id of another signal of the session; its message is no longer listed. */
  takes_back?: string | null;
  [more: string]: unknown;
}

/** A version of a state, valid in [valid_from, valid_to). */
export interface State {
  /** Id of the state, the same for all its versions. */
  state_id: string;
  /** Kind of the state. */
  kind: "fact" | "relation" | "task" | "summary" | "long_mood_state";
  /** The state as a sentence. */
  body_text: string;
  /**
   * Structured details, in tables as JSON text (`payload->>'family'`); for a task `status`:
   * `open` or `done`.
   */
  payload?: Record<string, unknown>;
  /** Confidence, 0 to 1. */
  confidence: number;
  /** People, places and things that it mentions. */
  entities?: Array<string>;
  /** Start of validity. */
  valid_from: string;
  /** End of validity, possibly in the future; null if no end is known. */
  valid_to?: string | null;
  /** Time of the latest write plan that set it. */
  last_confirmed_at: string;
  /**
   * `closed` if `valid_to` is set (even in the future), otherwise `done` for a finished task,
   * otherwise `active`.
   */
  status: "active" | "done" | "closed";
  /** Ids of the supporting events, at most the 20 newest. */
  evidence_event_ids?: Array<string>;
  /** Time of the write plan that last changed this version. */
  updated_at: string;
}

/** The body of `PATCH /v1/states/{state_id}`: the fields to change, and why. */
export interface StateCorrection {
  /** Reason of the correction; shown by `why`. */
  reason: string;
  /** The fact as a sentence. */
  body_text?: string | null;
  /** Structured details; they replace all earlier ones. */
  payload?: Record<string, unknown> | null;
  /** Confidence, 0 to 1. */
  confidence?: number | null;
  /** People, places and things that it mentions. */
  entities?: Array<string> | null;
  /** Start of validity. A later time than the current one starts a new version. */
  valid_from?: string | null;
  /** End of validity. */
  valid_to?: string | null;
}

/** One change of the long-term state. */
export interface StateUpdate {
  /** `upsert` creates or corrects, `close` ends, `mark_done` finishes a task. */
  op?: "upsert" | "close" | "mark_done";
  /** Kind of state. Required for `upsert`. */
  kind?: "fact" | "relation" | "task" | "summary" | "long_mood_state" | null;
  /** Id of the state. Default for `upsert`: a new state; required for other operations. */
  state_id?: string | null;
  /** The state as a sentence. Required for a new state. */
  body_text?: string;
  /** Structured details. `ends` match `category`, `family`, `slot`, `value` and `whose`. */
  payload?: Record<string, unknown> | null;
  /** Confidence, 0 to 1. Default: unchanged; 0.5 for a new state. */
  confidence?: number | null;
  /**
   * Start of validity. A later time than the current one starts a new version. Default for a
   * new state: `about_start`, otherwise the plan's time.
   */
  valid_from?: string | null;
  /** End of validity. Default for `close`: `about_end`, otherwise the plan's time. */
  valid_to?: string | null;
  /** People, places and things that it mentions. Default: the entities of the annotations. */
  entities?: Array<string>;
  /** Ids of the supporting events; the plan's `event_id` is added. */
  evidence_event_ids?: Array<string>;
  /** Skip the update if the version was changed after this time. Not for moods. */
  unchanged_since?: string | null;
  /** Reason, shown by `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** A state valid at `as_of`, as recorded at `known_at`. */
export interface StateVersion {
  /** Id of the user. */
  owner_id: string;
  /** Id of the state, the same for all its versions. */
  state_id: string;
  /** Kind of the state. */
  kind: string;
  /** The state as a sentence. */
  body_text: string;
  /** Structured details. */
  payload: Record<string, unknown>;
  /** Confidence, 0 to 1. */
  confidence: number;
  /** Start of validity. */
  valid_from: string;
  /** End of validity, possibly in the future; null if no end is known. */
  valid_to: string | null;
  /** Time of the latest write plan that set it. */
  last_confirmed_at: string;
  /** `active`, `done` (a finished task) or `closed` (`valid_to` is set). */
  status: string;
  /** Ids of the supporting events, at most the 20 newest. */
  evidence_event_ids: Array<string>;
  /** Time of the write plan that last changed this version. */
  updated_at: string;
}

/** A user's states. `next` is the cursor of the next page; null on the last page. */
export interface States {
  /** Id of the user. */
  user_id: string;
  /** Point in time of the states. */
  as_of: string;
  /** Memory recorded up to this time is used; null: all memory. */
  known_at: string | null;
  /** States of the user. */
  states: Array<StateVersion>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/** A step of the plan with its recursions. */
export interface StepView {
  /** Id of the step. */
  step_id: string;
  /** Text of the step. */
  description?: string;
  /** Status of the step. */
  status: "pending" | "running" | "done" | "error";
  /** Recursions with this step id, in order. */
  recursion_history?: Array<Record<string, unknown>>;
}

/** A message of a session, as sent. */
export interface StoredMessage {
  /** Id of the message. */
  id: string;
  /** Time of the message. */
  at: string;
  /** User of the conversation. */
  user_id: string | null;
  /** The message, verbatim. */
  original: string;
}

/** Findings and decisions of the agent in one task. */
export interface Summary {
  /** The summary. */
  content?: string;
  /** Findings. */
  key_findings?: Array<string>;
  /** Decisions. */
  final_decisions?: Array<string>;
  [more: string]: unknown;
}

/** The task's objective, constraints, plan and short-term memory. */
export interface TaskContext {
  /** Objective of the task; null if unknown. */
  objective?: string | null;
  /** Constraints of the task. */
  constraints?: Array<string>;
  /** Steps of the plan. */
  plan?: Array<StepView>;
  /** Short-term memory of the task. */
  memory: TaskMemory;
}

/**
 * The state of a task: the fold of its recursions in (iteration_index, trace_id) order. It
 * contains at most 200 recursions; `older_recursions` counts the rest.
 */
export interface TaskDocument {
  /** Status, iterations and limit. */
  global: TaskGlobal;
  /** The last recursion in order; empty if there is none. */
  current_recursion: CurrentRecursion | Record<string, unknown>;
  /** Objective, constraints, plan and short-term memory. */
  context: TaskContext;
  /** At most the 200 newest recursions, in order. */
  recursion_history?: Array<Record<string, unknown>>;
  /** Number of recursions before those in `recursion_history`. */
  older_recursions?: number;
}

/** The task's status, iterations and limit. */
export interface TaskGlobal {
  /** Id of the task. */
  task_id: string;
  /** Iterations so far. */
  iteration: number;
  /** Iteration that ends the task as failed. */
  max_iteration: number;
  /** Status of the task. */
  status: "pending" | "running" | "completed" | "failed" | "waiting_input";
  /** Error message; null if there was no error. */
  error?: string | null;
  /** Whether `max_iteration` ended it. */
  forced?: boolean;
  /** Whether the last recursions repeated the same action with the same output. */
  stalled?: boolean;
  /** Number of such recursions; 0 if not stalled. */
  stalled_count?: number;
  /** Time of the earliest record. */
  created_at: string;
  /** Time of the latest record. */
  updated_at: string;
}

/** At most the 50 newest notes of short-term memory. */
export interface TaskMemory {
  /** At most the 50 newest, oldest first. */
  short_term?: Array<ShortTermMemory>;
}

/** Puts an event into a thread, takes it out, or merges a whole thread into another. */
export interface ThreadUpdate {
  /** Operation. */
  op?: "put" | "remove" | "merge_into";
  /** Name of the thread. */
  thread_key: string;
  /** Id of the event. Required except for `merge_into`. */
  event_id?: string | null;
  /** Thread that receives all events; required for `merge_into`. */
  into?: string | null;
  /** Confidence that the event belongs to the thread, 0 to 1. */
  confidence?: number;
  /** Ids of the supporting events. Default: the event itself. */
  evidence_event_ids?: Array<string>;
  /** Reason, shown by `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** The turns of a session in order. */
export interface Timeline {
  /** Id of the session. */
  session_id: string;
  /** Turns of the session, oldest first. */
  turns: Array<TimelineTurn>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/** A turn with its affect, if known. */
export interface TimelineTurn {
  /** Time of the user's message. */
  occurred_at: string;
  /** Id of the turn. */
  event_id: string;
  /** Session of the turn. */
  session_id: string;
  /** User of the turn; null if it has none. */
  user_id: string | null;
  /** Kind of turn, such as `chat`. */
  source: string;
  /** `running`, `done` or `error`. */
  status: string;
  /** The user's message. */
  user_input: string;
  /** The agent's answer. */
  agent_answer: string;
  /** Error message; null if there was no error. */
  error: string | null;
  /** First intent; null if none. */
  intent: string | null;
  /** Topic; null if none. */
  topic: string | null;
  /** Start of the first date mentioned by the user (docs/dates.md); null if none. */
  about_start: string | null;
  /** End of that date (exclusive); null if none. */
  about_end: string | null;
  /** Valence, -1 to +1; null without a moment of affect. */
  v: number | null;
  /** Arousal, -1 to +1; null without a moment of affect. */
  a: number | null;
  /** Dominance, -1 to +1; null without a moment of affect. */
  d: number | null;
}

/** The result of a tool call. It is stored in that call. */
export interface ToolResult {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "tool_result";
  /** Tenant; all data is separated by tenant. */
  tenant?: string;
  /** Time of the event by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * Time at which your log received the record; default: `occurred_at`. Used in files only:
   * Kafka sets the append time, the HTTP API the time of arrival.
   */
  recorded_at?: string | null;
  /** Session of the task. */
  session_id: string;
  /** Task of the recursion. */
  task_id: string;
  /** Recursion that made the call. */
  trace_id: string;
  /** `id` of the call. Required without `call_index`. */
  tool_call_id?: string | null;
  /** Position of the call in `output.tool_calls`, from 0. */
  call_index?: number | null;
  /** The result. Text is stored as it is, any other type as compact JSON. */
  result?: unknown;
  /** Whether the call succeeded. */
  success: boolean;
  [more: string]: unknown;
}

/** A user's message and the agent's answer. Key: tenant/session_id. */
export interface Turn {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "turn";
  /** Tenant; all data is separated by tenant. */
  tenant?: string;
  /** Time of the event by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * Time at which your log received the record; default: `occurred_at`. Used in files only:
   * Kafka sets the append time, the HTTP API the time of arrival.
   */
  recorded_at?: string | null;
  /** Id of the turn, unique in its session. Send a running turn and its end with the same id. */
  event_id: string;
  /** Session of the turn. */
  session_id: string;
  /** User of the turn. Without it the turn does not update any user's memory. */
  user_id?: string | null;
  /** Device or window. Turns of the same client reply to each other. */
  client_id?: string | null;
  /** Task of the turn. Default: a separate task. */
  task_id?: string | null;
  /** Kind of turn. The rule extractor reads `chat` only; `meta_request` is not stored. */
  source?: string;
  /** The user's message. */
  user_input?: string;
  /** The agent's answer. */
  agent_answer?: string;
  /**
   * Event id of the earlier turn of the session that this one replaces, after an edit or a
   * regenerated answer. Facts and preferences supported only by that turn end when this turn
   * has ended.
   */
  replaces?: string | null;
  /** `running` until the answer is complete; then `done` or `error`. */
  status?: "running" | "done" | "error";
  /** Error message of a failed turn. */
  error?: string | null;
  /** Intent of the user, such as `quiz`. The first of a list counts. */
  intent?: string | Array<string> | null;
  /** Topic. */
  topic?: string | null;
  /** Artifact that was produced, such as `flashcards`. */
  artifact?: string | null;
  /** Result of a lesson. Other fields are stored unchanged. */
  metadata?: Metadata | null;
  /** Descriptions of images. Stored in the history only. */
  image_summaries?: Array<string> | null;
  /** Summary of the task so far. */
  summary?: Summary | null;
  /** Subject of the session. */
  subject?: Claim | null;
  /** Goal of the session. */
  object?: Claim | null;
  /** Status of the session until its next turn. */
  session_status?: "active" | "waiting_input" | "closed" | null;
  /** Location of the session's files. */
  artifacts_metadata?: ArtifactsMetadata | null;
  /** Direct writes to session memory. */
  session_memory_delta?: SessionMemoryDelta | null;
  /** Candidates for session memory. */
  observations?: Array<Observation> | null;
  /** The user's feeling in this turn. */
  affect?: Affect | null;
  [more: string]: unknown;
}

/** A user's profile, states, preferences and mood. */
export interface UserDocument {
  /** Id of the user. */
  user_id: string;
  /** Learning profile; null if there are no lessons. */
  profile: UserLearningProfile | null;
  /** States valid at the requested time. */
  states: Array<State>;
  /** All preferences, including revoked ones. */
  preferences: Array<Preference>;
  /** The mood; null if there is none. */
  mood: MoodNow | null;
}

/** The user's latest activity. */
export interface UserEvent {
  /** Intent of the user, such as `quiz`. */
  intent?: string | null;
  /** Topic. */
  topic?: string | null;
  /** Artifact that was produced, such as `flashcards`. */
  artifact?: string | null;
  /** Result of a lesson. */
  metadata?: Metadata | null;
  [more: string]: unknown;
}

/**
 * A user's learning profile. `mastery_score` is the score of each level, 0 to 1.
 * `expected_correct` is the probability that the learner's next answer is correct, by topic;
 * `expected_correct_elsewhere` the same for a topic without answers. It is null in documents
 * of older versions.
 */
export interface UserLearningProfile {
  /** Id of the user. */
  user_id: string;
  /** Mastery level by topic. */
  mastery?: Record<string, "weak" | "medium" | "strong">;
  /** Score of each level, 0 to 1, by topic. */
  mastery_score?: Record<string, number>;
  /** Probability that the next answer is correct, by topic. */
  expected_correct?: Record<string, number>;
  /** The same probability for a topic without answers; null in documents of older versions. */
  expected_correct_elsewhere?: number | null;
  /** Preferred artifact and difficulty. */
  preferences: LearnerPreferences;
  /** Counts of activities. */
  history: LearnerHistory;
  /** Time of the latest lesson result. */
  updated_at: string;
}

/**
 * Users, the last active first. `next` is the cursor of the next page; null on the last
 * page.
 */
export interface UserList {
  /** Users in the requested order. */
  users: Array<ListedUser>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/** The body of `POST /memory/user/update`. */
export interface UserUpdate {
  /** Tenant; must match the API key. */
  tenant?: string | null;
  /** Id of the signal. Default: derived from `Idempotency-Key`; without that header, a new id. */
  signal_id?: string | null;
  /** Time of the event. Default: the time of the request. */
  occurred_at?: string | null;
  /** Id of the user. */
  user_id: string;
  /** The activity: intent, topic, artifact and result of a lesson. */
  event: UserEvent;
  [more: string]: unknown;
}

/** Valence, arousal, dominance; each is a finite number; values outside -1..+1 are clamped. */
export interface Vad {
  /** Valence: -1 unpleasant, +1 pleasant. */
  v: number;
  /** Arousal: -1 calm, +1 excited. */
  a: number;
  /** Dominance: -1 powerless, +1 in control. */
  d: number;
  [more: string]: unknown;
}

/** The revisions of an entity, in order. */
export interface Why {
  /** Id of the entity. */
  entity_id: string;
  /** Revisions in order, one for each supporting event. */
  revisions: Array<RevisionWithEvidence>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/**
 * Updates of a user's memory, derived from an event. Applied atomically. Key:
 * tenant/user_id. `event_id` is the event that it is derived from; missing when tidying.
 */
export interface WritePlan {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "write_plan";
  /** Tenant; all data is separated by tenant. */
  tenant?: string;
  /** Time of the event by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * Time at which your log received the record; default: `occurred_at`. Used in files only:
   * Kafka sets the append time, the HTTP API the time of arrival.
   */
  recorded_at?: string | null;
  /** Id of the plan, unique for its user. */
  plan_id: string;
  /** Id of the user; the plan changes this user's memory. */
  user_id: string;
  /** Session of the referenced events. Default: any session of the user. */
  session_id?: string | null;
  /** Event that the plan is derived from; added to all evidence. */
  event_id?: string | null;
  /** Author of the plan. */
  extractor: Extractor;
  /** Model calls behind the plan. */
  extraction?: Extraction | null;
  /** Changes of states. */
  state_updates?: Array<StateUpdate>;
  /** Changes of preferences. */
  preference_updates?: Array<PreferenceUpdate>;
  /** States and preferences to end. */
  ends?: Array<EndUpdate>;
  /** Retracted, restored or replaced events. */
  event_updates?: Array<EventUpdate>;
  /** A moment of affect. */
  event_affect?: PlanAffect | null;
  /** Changes of threads and links. */
  context_updates?: ContextUpdates | null;
  /** Time and entities of the event. */
  event_annotations?: EventAnnotations | null;
  [more: string]: unknown;
}
