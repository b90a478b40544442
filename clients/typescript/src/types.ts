/** The API's models. Made by scripts/generate from schemas/generated/openapi.json. */

/**
 * The record is stored; its outcome was not known in time. `look` is the URL that will show
 * its effect.
 */
export interface Accepted {
  /** Id of the record. */
  id: string;
  /** Stored; the outcome was not known in time. */
  ending: "accepted";
  /** URL that will show its effect. */
  look: string;
}

/** What one step of the loop did; `output` may have any form. */
export interface Action {
  /** What the step did. ANSWER ends the task, CLARIFY asks the user. */
  action_type: "CALL_TOOL" | "RE_PLAN" | "REFLECT" | "ANSWER" | "CLARIFY";
  /** Its output; `tool_calls` of CALL_TOOL, `plan` of RE_PLAN. */
  output?: Record<string, unknown>;
  [more: string]: unknown;
}

/** One moment of affect: text, labels and numbers. */
export interface Affect {
  /** The feeling in words. */
  text?: string;
  /** Such as `joy`. */
  labels?: Array<string>;
  /** The feeling in numbers. */
  vad: Vad;
  /** 0 to 1; other values are clamped. 0: does not change the mood. */
  confidence?: number;
  [more: string]: unknown;
}

/**
 * JSON lines: a header, everything that is held of the user, and a line of the kind `end`
 * (docs/erasure.md). Without that line it broke off.
 */
export type Archive = string;

/** Where the session's files are stored. */
export interface ArtifactsMetadata {
  /** Root folder of the session's files. */
  workspace_root?: string | null;
  /** Id of the sandbox. */
  sandbox_id?: string | null;
  [more: string]: unknown;
}

/** A claim about what a session is about (`subject`) or for (`object`). */
export interface Claim {
  /** The claim as a sentence. */
  content: string;
  /** Who says so. A user's claim beats any of the agent's. */
  source?: "user" | "agent";
  /** How sure; the greater wins. */
  confidence?: number;
  [more: string]: unknown;
}

/**
 * One item of a pack. `cite` stands for `id` in the text; `/v1/states/{cite}/why` takes it.
 * `detail` is what the pack adds, such as a date; `answer` is what the agent said in a
 * recalled turn. `source`: whose words the item goes back to.
 */
export interface ContextItem {
  /** Section that shows it. */
  section: "identity" | "constraints" | "preferences" | "facts" | "tasks" | "mood" | "session" | "turns";
  /** What it is. */
  kind: "state" | "preference" | "session_memory" | "event";
  /** Its id. */
  id: string;
  /** Short form of `id`, as the text has it; `/v1/states/{cite}/why` takes it. */
  cite: string;
  /** The item as it is shown. */
  text: string;
  /** What the pack adds, such as a date. */
  detail?: string;
  /** What the agent said in a recalled turn. */
  answer?: string;
  /** Whose words it goes back to. */
  source: "user" | "agent";
  /**
   * In a session of several users: who said it, if not this user alone; null for a turn that
   * names no user.
   */
  said_by?: Array<string | null>;
  /** Its session; null if it has none. */
  session_id?: string | null;
  /** Date and text of a later turn about the same subject, which may have overtaken the fact. */
  later?: string;
  /** Event id of that turn. */
  later_id?: string | null;
}

/**
 * What an agent should know of a user. `text` is ready for a prompt and about `tokens` long.
 * `known` is false if nothing is known of the user. `left_out` counts the items that the
 * budget did not hold. `missing` says what could not be looked up, and why; usually it is
 * empty.
 */
export interface ContextPack {
  /** The user. */
  user_id: string;
  /** Whether anything is known of the user. */
  known: boolean;
  /** Time of the answer. */
  as_of: string;
  /** Time up to which memory is used; null: all of it. */
  known_at: string | null;
  /** The budget. */
  max_tokens: number;
  /** Tokens of `text`: an estimate, or your tokenizer's count. */
  tokens: number;
  /** Number of items for which the budget was too small. */
  left_out: number;
  /** The same, by section. */
  left_out_by_section?: Record<string, number>;
  /** What could not be looked up, and why; usually empty. */
  missing?: Array<string>;
  /** Text for a prompt. */
  text: string;
  /** The items of the text, in order. */
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

/** One task of a session: its question and its answer. `task_index` counts from 1. */
export interface Conversation {
  /** Number of the task in its session, from 1. */
  task_index: number;
  /** Id of the task. */
  task_id: string;
  /** What the user said. */
  user_input?: string;
  /** What the agent answered. */
  agent_answer?: string;
  /** `running`, `done` or `error`. */
  status: "running" | "done" | "error";
  /** Why it failed; null if it did not. */
  error?: string | null;
  /** What the agent found and decided; null if nothing was sent. */
  summary?: Summary | null;
}

/** The last recursion in order. */
export interface CurrentRecursion {
  /** Id of the recursion. */
  trace_id: string;
  /** Its iteration. */
  iteration_index: number;
  /** `running`, `done` or `error`. */
  status: "running" | "done" | "error";
}

/** A record that could not be applied. */
export interface DeadLetter {
  /** Id of the dead letter. */
  id: string;
  /** Code of the reason. */
  reason: string;
  /** The reason in words. */
  detail: string;
  /** Kafka key or owner; null if unknown. */
  key: string | null;
  /** Size of its content. */
  bytes: number;
  /** When the log took the record. */
  recorded_at: string;
}

/** A dead letter with its content: as text, or in base64 if it is not UTF-8. */
export interface DeadLetterWhole {
  /** Id of the dead letter. */
  id: string;
  /** Code of the reason. */
  reason: string;
  /** The reason in words. */
  detail: string;
  /** Kafka key or owner; null if unknown. */
  key: string | null;
  /** When the log took the record. */
  recorded_at: string;
  /** Kafka headers as JSON; null if there are none. */
  headers: string | null;
  /** Its content; null if it is not UTF-8. */
  text?: string | null;
  /** Its content in base64, if it is not UTF-8; else null. */
  base64?: string | null;
}

/** Dead letters, oldest first. */
export interface DeadLetters {
  /** Oldest first. */
  dead_letters: Array<DeadLetter>;
  /** Cursor of the next page; null at the end. */
  next: string | null;
}

/**
 * What is over: closes the states and revokes the likes that it names, known or still to
 * come. `families`: of states the `payload.family` (without one `payload.category`) or
 * `payload.slot`, of preferences the polarity. `value`: words that what ends has in its
 * value; empty: any value. `whose`: the `payload.whose` of what ends; empty: the user's own.
 * `at`: when it was over; the plan's time if missing.
 */
export interface EndUpdate {
  /**
   * Families of what ends: a state's `payload.family`, `category` or `slot`, a preference's
   * polarity.
   */
  families: Array<string>;
  /** Words that what ends has in its value. Default: any value. */
  value?: string;
  /** `payload.whose` of what ends. Default: the user's own. */
  whose?: string;
  /** When it was over. Default: the plan's time. */
  at?: string | null;
  /** Events that it rests on; the plan's own event is added. */
  evidence_event_ids?: Array<string>;
  /** Why, for `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** An erasure that was asked for. It names no user, session or turn. */
export interface Erasure {
  /** Id of the erasure. */
  id: string;
  /** `waiting`: it will be done; also after the server was killed. */
  status: "waiting" | "done";
  /** When it was first asked for. */
  requested_at: string;
  /** When it was done; null while it waits. */
  finished_at: string | null;
  /** What was erased; null while it waits. */
  receipt: ErasureReceipt | null;
}

/** What was erased. It names no user, session or turn. */
export interface ErasureReceipt {
  /** SHA-256 of `SALT/TENANT/USER`, in hex; null if no user was erased. */
  user_sha256?: string | null;
  /** Sessions that were erased with the user; null if no user was erased. */
  sessions?: number | null;
  /**
   * Sessions of several users, folded again from what the others said; null if no user was
   * erased.
   */
  shared_sessions?: number | null;
  /** SHA-256 of `SALT/TENANT/SESSION`, in hex; null if no session was erased. */
  session_sha256?: string | null;
  /** SHA-256 of `SALT/TENANT/SESSION/TURN`, in hex; null if no turn was erased. */
  turn_sha256?: string | null;
  /** Users whose memory was made again without the session or turn; null if a user was erased. */
  users?: number | null;
  /** Random salt of the hash, in hex; null in receipts of earlier versions. */
  salt?: string | null;
  /**
   * Rows erased from each table (`erased`), and its version from then on. `may_remain` of
   * `dead_letters`: letters that stay and may name what was erased.
   */
  tables: Record<string, Record<string, number>>;
  /**
   * Place -> how many things stay there that may name what was erased; empty if none do, null
   * in receipts of earlier versions (docs/erasure.md lists the places).
   */
  may_remain?: Record<string, number> | null;
  /** The tables of other generations of the memory, by name; null if none. */
  generations?: Record<string, unknown> | null;
}

/** When the event happened and which entities it concerns. */
export interface EventAnnotations {
  /** When the event began. Default of `valid_from`. */
  about_start?: string | null;
  /** When the event ended. Default of `valid_to` for `close`. */
  about_end?: string | null;
  /** Stage of life that it belongs to. Stored only. */
  life_stage?: string | null;
  /** People, places and things that it is about. Default of `entities`. */
  entities?: Array<string>;
  [more: string]: unknown;
}

/**
 * Server-sent events: `id` the document's hash, `event: session`, `data` a SessionDocument;
 * `event: gone` if the session no longer exists. Comments keep the connection open.
 */
export type EventStream = string;

/**
 * Takes an event back, as its message was edited, deleted or answered again; or restores it.
 * What was made of retracted events alone ends at the plan's time, known or still to come.
 * Of several updates of an event the latest counts. `replace`: the event in
 * `evidence_event_ids` is a later version of the message; of all versions the latest one
 * stands. A plan with `event_updates` has no other updates.
 */
export interface EventUpdate {
  /** What to do. */
  op: "retract" | "restore" | "replace";
  /** The event. */
  event_id: string;
  /** Events that it rests on; of `replace` the later version alone. */
  evidence_event_ids?: Array<string>;
  /** Why, for `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** How far a model has read the stored turns. */
export interface Extracted {
  /** `done`: the model has read all of them; `waiting`: not all of them yet. */
  status: "done" | "waiting";
  /** How the requests to the model stand, in words. */
  about: string;
}

/**
 * How a model made a plan: the turns it read, its calls, their tokens and cost. With `error`
 * no plan could be made of these turns: the record becomes a dead letter with reason
 * `extraction_failed`. `answer` is the model's last answer.
 */
export interface Extraction {
  /** Turns that the model read. */
  event_ids?: Array<string>;
  /** Calls of the model. */
  calls?: number;
  /** Tokens sent. */
  prompt_tokens?: number;
  /** Tokens received. */
  completion_tokens?: number;
  /** Cost, in the currency of the prices that were set. */
  cost?: number;
  /** When the plan was made. */
  made_at?: string | null;
  /** Why no plan could be made. */
  error?: string | null;
  /** The model's last answer. */
  answer?: string | null;
  /** Why updates of the answer were left out; the plan has the others. */
  left_out?: string | null;
  [more: string]: unknown;
}

/** Who made a plan. */
export interface Extractor {
  /** Name of the program, such as `rules`, `llm` or your own. */
  name: string;
  /** Its version. */
  version?: string;
  [more: string]: unknown;
}

/**
 * Liveness. `generation` is the one that answers; null if none does or the server has no
 * history.
 */
export interface Health {
  status: "ok";
  /** The generation that answers; null if none does or there is no history. */
  generation: string | null;
}

/** A message of a session, as it was sent. */
export interface KeptMessage {
  /** Id of the message. */
  id: string;
  /** When it was said. */
  at: string;
  /** User whose conversation it is. */
  user_id: string | null;
  /** The message, word for word. */
  original: string;
}

/** Counts of activities, and topics in order of first visit. */
export interface LearnerHistory {
  /** Number of quizzes. */
  quiz_sessions?: number;
  /** Number of questions about homework. */
  homework_help_count?: number;
  /** Topics in order of first visit. */
  topics_visited?: Array<string>;
}

/** What the learner uses most, and how clearly; null while there is too little to tell. */
export interface LearnerPreferences {
  /** What the learner uses most; null if it is not clear. */
  preferred_artifact?: "quiz" | "explanation" | "notes" | "flashcards" | null;
  /** How clearly; null if there is none. */
  preferred_artifact_strength?: "weak" | "medium" | "strong" | null;
  /** The difficulty that the learner chooses most; null if it is not clear. */
  difficulty_preference?: "easy" | "medium" | "hard" | null;
  /** How clearly; null if there is none. */
  difficulty_preference_strength?: "weak" | "medium" | "strong" | null;
}

/** Puts or removes a relation between two events. */
export interface LinkUpdate {
  /** What to do. */
  op?: "put" | "remove";
  /** The later event, such as the reply. */
  from_event_id: string;
  /** The event that it refers to. */
  to_event_id: string;
  /** Kind of relation. */
  label: "reply_to" | "same_topic" | "caused_by" | "continuation";
  /** How sure. */
  confidence?: number;
  /** Events that it rests on. Default: `from_event_id`. */
  evidence_event_ids?: Array<string>;
  /** Why, for `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** A session of which something is stored. */
export interface ListedSession {
  /** Id of the session. */
  session_id: string;
  /** User of its earliest turn that names one; null if none does. */
  user_id: string | null;
  /** How many users spoke in it. */
  users: number;
  /** Time of the first turn; null without turns. */
  started_at: string | null;
  /** Time of the latest turn; without turns, of the latest other record. */
  last_active: string;
  /** Its turns. */
  turns: number;
  /** Items of session memory that hold now. */
  memory_items: number;
}

/** A user of whom something is stored. */
export interface ListedUser {
  /** Id of the user. */
  user_id: string;
  /** Time of the latest turn; without turns, of the latest other record. */
  last_active: string;
  /** Turns in which the user spoke. */
  turns: number;
  /** Sessions in which the user spoke. */
  sessions: number;
  /** States that hold now, without the mood. */
  states: number;
  /** Preferences that hold now. */
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
  /** Id of the item; your choice. */
  id: string;
  /** Kind of item. */
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  /** What is to be remembered. */
  content?: string;
  /** How sure. */
  confidence?: number;
  /** Who decided. */
  source?: "user" | "joint" | "agent" | null;
  /** The decision. */
  decision?: string | null;
  /** Why it was decided. */
  rationale?: string | null;
  /** If false, only a user's decision can replace it. */
  reversible?: boolean;
  /** What it applies to. */
  scope?: string | null;
  [more: string]: unknown;
}

/** Mastery of the current topic. `known` is false if there is no answer on it yet. */
export interface MemorySummary {
  /** Current topic; null if there is none. */
  topic_hint?: string | null;
  /** The user's level in that topic; `weak` if unknown. */
  user_mastery_hint?: "weak" | "medium" | "strong";
  /** Whether there is an answer on that topic. */
  known?: boolean;
  /** The latest activity in words, in the language of the request. */
  recent_behavior: string;
}

/** A message of OpenAI's chat API, or an item of its Responses API. Other fields are ignored. */
export interface Message {
  /** Who speaks. Only items that `type` names have none. */
  role?: "user" | "assistant" | "system" | "developer" | "tool" | "function" | null;
  /** Kind of an item. Default: `message`. */
  type?: "message" | "function_call" | "function_call_output" | "reasoning" | null;
  /**
   * Of a user's message: who speaks. A name that has no word of `user_id` is that of somebody
   * else, whose words make no memory of the user. If `user_id` has a digit, a single name in a
   * request is the user's.
   */
  name?: string | null;
  /** What is said: text, or parts. */
  content?: string | Array<MessagePart> | null;
  /** Calls of an assistant, each with `id` and `function`. */
  tool_calls?: Array<Record<string, unknown>> | null;
  /** The call that a tool answers. */
  tool_call_id?: string | null;
  /** Id, unique in its session. Default: made from `Idempotency-Key` and position. */
  id?: string | null;
  /** When it was said: RFC 3339 or Unix seconds. Default: the time of the request. */
  created_at?: string | number | null;
  /**
   * Of a user's message: id of the earlier one that it takes the place of, which was edited or
   * answered again. What memory made of that one and its answer ends.
   */
  replaces?: string | null;
  /**
   * The message as your program has it, word for word, but for the bytes of images: `GET
   * /v1/sessions/{id}/messages` gives it back. With neither `role` nor `type` it is kept, and
   * nothing is remembered of it.
   */
  original?: string | null;
  /**
   * `in_progress`: an answer that is still streaming; only the last message. `error` for a
   * tool that failed.
   */
  status?: string | null;
  [more: string]: unknown;
}

/** A part of a message's content. Of an image its description is kept, never its bytes. */
export interface MessagePart {
  /**
   * `text`, `input_text`, `output_text`, `refusal`, `thinking`, `reasoning`, `image_url`,
   * `input_image`, `input_audio`, `file`, …
   */
  type: string;
  /** Text of a part that is one. */
  text?: string | null;
  /** Text of a refusal. */
  refusal?: string | null;
  /** What an image shows; also `alt_text` or `alt`. */
  description?: string | null;
  [more: string]: unknown;
}

/** A turn that the messages began, continued or ended. */
export interface MessageTurn {
  /** Id of the turn, and of its task: tool calls, results, steps. */
  id: string;
  /** `running`: it waits for the assistant's answer. */
  status: "running" | "done";
  /** Outcome of its records. */
  ending: "applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused";
}

/** What became of the messages. */
export interface MessagesReply {
  /** The session. */
  session_id: string;
  /** The id of each message. */
  message_ids: Array<string>;
  /** The turns, in order. */
  turns: Array<MessageTurn>;
  /** Number of records by outcome. */
  counts: Partial<Record<"applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused", number>>;
  /** What is not kept and how often, such as an image without a description. */
  left_out: Record<string, number>;
}

/** The result of a lesson. `correct_rate` is a share, 0..1. */
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
  /** The feeling in words; may be empty. */
  text: string;
  /** Baseline plus shock at `at`, each axis from -1 to +1. */
  vad: Vad;
  /** The time that was asked about; missing if there is no moment of affect. */
  at?: string | null;
  /** Slow part: moves towards each moment, with a half-life of 24 h by default. */
  baseline_vad: Vad;
  /** Fast part right after `last_at`; it halves every `shock_halflife_seconds`. */
  shock_vad: Vad;
  /** Half-life of the shock, in seconds. */
  shock_halflife_seconds: number;
  /** How far the last moment was from the baseline, 0 to 1. */
  shock_severity: number;
  /** Time of the last moment of affect; null if there is none. */
  last_at: string | null;
}

/** The body of `POST /v1/messages`. */
export interface NewMessages {
  /** Tenant; must be the key's own. */
  tenant?: string | null;
  /** User whose conversation it is. */
  user_id: string;
  /** Session. Default: one for each user and day (UTC); the reply names it. */
  session_id?: string | null;
  /** Messages in their order. */
  messages: Array<Message>;
  /** Device or window. */
  client_id?: string | null;
  /** What the user wants, such as `quiz`. */
  intent?: string | null;
  /** What the turns are about. */
  topic?: string | null;
  /** What was produced, such as `flashcards`. */
  artifact?: string | null;
  /** Result of a lesson. Other fields are kept as they are. */
  metadata?: Metadata | null;
}

/** Something worth remembering; shown once its type's threshold is met (docs/rules.md). */
export interface Observation {
  /** Kind of item. */
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  /** What was observed. Needed, except for a decision. */
  content?: string;
  /** The user said it in so many words: no threshold. */
  explicit?: boolean;
  /** The environment demands it: no threshold for a constraint. */
  environment?: boolean;
  /** How sure. */
  confidence?: number;
  /** Content of the same type that no longer holds. */
  opposes?: string | null;
  /** The decision. Default: `content`. */
  decision?: string | null;
  /** Why it was decided. Needed for a decision to show. */
  rationale?: string | null;
  /** Who decided. Needed for a decision to show. */
  source?: "user" | "joint" | "agent" | null;
  /** If false, only a user's decision can replace it. */
  reversible?: boolean;
  /** Decision that this one replaces. */
  supersedes?: string | null;
  [more: string]: unknown;
}

/** A moment of affect in an event; by default in the plan's own event. */
export interface PlanAffect {
  /** The feeling in words. */
  text?: string;
  /** Such as `joy`. */
  labels?: Array<string>;
  /** The feeling in numbers. */
  vad: Vad;
  /** 0 to 1; other values are clamped. 0: does not change the mood. */
  confidence?: number;
  /** Event in which the feeling shows. Default: the plan's event. */
  event_id?: string | null;
  [more: string]: unknown;
}

/** One step of a plan. Without a status a known step keeps its current one. */
export interface PlanStep {
  /** Id of the step, unique in its plan. */
  step_id: string;
  /** What is to be done. */
  description?: string;
  /** Status of the step. */
  status?: "pending" | "running" | "done" | "error" | null;
  [more: string]: unknown;
}

/** A like or dislike; unique by (domain, normalised subject, polarity). */
export interface Preference {
  /** Id, made from domain, subject and polarity. */
  preference_id: string;
  /** Field of life, such as `food`. */
  domain: string;
  /** Whether the user likes or dislikes it. */
  polarity: "like" | "dislike";
  /** What the user likes or dislikes, as it was first written. */
  subject: string;
  /** `candidate`: seen. `confirmed`: holds. `revoked`: no longer holds. */
  status: "candidate" | "confirmed" | "revoked";
  /** 0 to 1, as last written. */
  confidence: number;
  /** A remark, such as the sentence it was found in; null if none. */
  note?: string | null;
  /** Events that it rests on, at most the 20 newest. */
  evidence_event_ids?: Array<string>;
  /** Time of the plan that changed it last. */
  updated_at: string;
}

/** The body of `PATCH /v1/preferences/{preference_id}`: the fields to change, and why. */
export interface PreferenceCorrection {
  /** Why it is corrected; `why` shows it. */
  reason: string;
  /** What the user likes or dislikes. */
  subject?: string | null;
  /** Whether the user likes or dislikes it. */
  polarity?: "like" | "dislike" | null;
  /** Field of life, such as `food`. */
  domain?: string | null;
  /** How sure, 0 to 1. */
  confidence?: number | null;
  /** A remark. */
  note?: string | null;
}

/** One change of a like or dislike; unique by (domain, normalised subject, polarity). */
export interface PreferenceUpdate {
  /** `upsert_candidate`: seen; `confirm`: holds; `revoke`: no longer holds. */
  op: "upsert_candidate" | "confirm" | "revoke";
  /** Field of life, such as `food`. */
  domain: string;
  /** Whether the user likes or dislikes it. */
  polarity: "like" | "dislike";
  /** What the user likes or dislikes. */
  subject: string;
  /** How sure. */
  confidence?: number;
  /** A remark, such as the user's sentence. */
  note?: string | null;
  /** Change nothing if the preference was updated after this time. */
  unchanged_since?: string | null;
  /** Events that it rests on; the plan's own event is added. */
  evidence_event_ids?: Array<string>;
  /** Why, for `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** A problem document (RFC 9457). docs/http.md explains each `type`. */
export interface ProblemDocument {
  /** Kind of problem, such as `/problems/invalid`. */
  type: string;
  /** Kind of problem in words. */
  title: string;
  /** HTTP status. */
  status: number;
  /** What is wrong, and what to do. */
  detail: string;
  /** The faults one by one, if there are several or a field is at fault. */
  errors?: Array<ProblemError> | null;
  /** Of `/problems/over-quota`: the tenant, the limit and what is left. */
  quota?: QuotaUsed | null;
}

/** One fault: the field, the reason, and for several records the record's position, from 1. */
export interface ProblemError {
  /** The field. */
  field: string;
  /** What is wrong with it. */
  reason: string;
  /** Of several records: which one, from 1; else null. */
  position?: number | null;
}

/** The tenant's quota of which nothing is left (docs/quotas.md). */
export interface QuotaUsed {
  /** The tenant. */
  tenant: string;
  /** Which limit. */
  limit: "records" | "bytes";
  /** How much the tenant may write per second. */
  per_second: number;
  /** How much is left; below 0: what the last request took beyond the limit. */
  remaining: number;
  /** Seconds until something is left. */
  retry_after: number;
}

/**
 * Current readiness; accurate during a restore. `done` of `total` rows or bytes are
 * restored. `generation` is the one that answers; null if none does or the server has no
 * history. `promoted` is a generation that was promoted and does not answer yet; usually
 * null.
 */
export interface Ready {
  /** Whether the server can answer. */
  ready: boolean;
  /** What it waits for, in words. */
  about: string;
  /** Rows or bytes restored. */
  done: number;
  /** Rows or bytes to restore. */
  total: number;
  /** The generation that answers; null if none does or there is no history. */
  generation: string | null;
  /** A generation that was promoted and does not answer yet; usually null. */
  promoted: string | null;
}

/**
 * The outcome of one record. `position` counts lines of NDJSON, or elements, from 1.
 * `refused`: not stored; `field` and `detail` give the reason. `dead`: stored as a dead
 * letter. `accepted`: stored; its outcome was not known in time.
 */
export interface RecordResult {
  /** Line of NDJSON, or element, from 1. */
  position: number;
  /** Id of the record; null if it could not be read. */
  id?: string | null;
  /** Outcome of the record. */
  ending: "applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused";
  /**
   * Code of the reason, if refused or dead; `waiting` for a tool result that came before the
   * end of its recursion.
   */
  reason?: string | null;
  /** Field at fault, if known. */
  field?: string | null;
  /** The reason in words, if refused or dead. */
  detail?: string | null;
}

/**
 * Counts by outcome, and the result of each record; with `Prefer: return=minimal` only of
 * records that are refused or dead.
 */
export interface RecordsReply {
  /** Number of records by outcome. */
  counts: Partial<Record<"applied" | "duplicate" | "dead" | "withheld" | "accepted" | "refused", number>>;
  /** The result of each record. */
  results: Array<RecordResult>;
}

/** One step of an agent's loop. Key: tenant/session_id. */
export interface Recursion {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "recursion";
  /** Tenant; everything of two tenants is separate. */
  tenant?: string;
  /** When it happened, by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * When your log took the record; default: `occurred_at`. Read from files only: on Kafka it
   * is the append time, over HTTP the time of arrival.
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
  /** `running` while it works; then `done` or `error`. */
  status?: "running" | "done" | "error";
  /** Step of the plan that it works on. */
  step_id?: string | null;
  /** What the agent saw. */
  observe?: string;
  /** What the agent thought. */
  thought?: string;
  /** What the agent did. */
  action: Action;
  /** New objective of the task. */
  objective?: string | null;
  /** New constraints of the task, all of them. */
  constraints?: Array<string> | null;
  /** New plan of the task, whole. */
  plan?: Array<PlanStep> | null;
  /** Texts for the task's short-term memory. */
  short_term_memory_append?: string | Array<string> | null;
  /** New limit of ended steps. Default of a task: 10. */
  max_iteration?: number | null;
  /** Why it failed. */
  error?: string | null;
  /** With status `error`: the task has failed. */
  final?: boolean;
  [more: string]: unknown;
}

/** A change, with one of its evidence events. */
export interface RevisionTold {
  /** Whose memory changed: a session or a user. */
  owner_id: string;
  /** `session`, `session_memory`, `state`, `preference`, `link` or `thread`. */
  entity_type: string;
  /** The entity. */
  entity_id: string;
  /** Kind of a state, domain of a preference, and so on (docs/tables.md). */
  kind: string | null;
  /** What happened, such as `insert`, `update`, `supersede`, `close`. */
  op: string;
  /** Value before; null if there was none. */
  before: Record<string, unknown> | null;
  /** Value after; null if it was removed. */
  after: Record<string, unknown> | null;
  /** Why, in a few words. */
  reason: string;
  /** Time of the record that made the change. */
  occurred_at: string;
  /** When Turnfold learnt it. */
  recorded_at: string;
  /** Position among the owner's revisions. */
  seq: number;
  /** Id of the revision. */
  revision_id: string;
  /** Write plan that made the change; null if another record did. */
  plan_id: string | null;
  /** Extractor that made the plan; null without a plan. */
  extractor_name: string | null;
  /** Its version; of a correction through the API the id of the key. */
  extractor_version: string | null;
  /** The evidence event; null if there is none. */
  evidence_event_id: string | null;
  /** Its session. */
  evidence_session_id: string | null;
  /** When it happened; null if the event is unknown. */
  evidence_occurred_at: string | null;
  /** What the user said in it; null if the event is unknown. */
  user_input: string | null;
  /** What the agent answered; null if the event is unknown. */
  agent_answer: string | null;
}

/**
 * An event, state, preference or session memory item. `matches` are the matching parts of
 * `text`, as [start, end) in characters; `why` is what each signal adds to `score`;
 * `neighbours` are the turns around an event, if asked for, oldest first.
 */
export interface SearchHit {
  /** What was found. */
  kind: "event" | "state" | "preference" | "session_memory";
  /** Id of what was found. */
  id: string;
  /** Its session; null if it has none. */
  session_id: string | null;
  /** Its user; null if unknown. */
  user_id: string | null;
  /** When it was said, or became true. */
  at: string;
  /** When a state stopped being true; else null. */
  valid_to: string | null;
  /** The text that was found. */
  text: string;
  /** Matching parts of `text`, as [start, end) in characters. */
  matches: Array<[number, number]>;
  /** Rank; greater is better. Comparable within one search only. */
  score: number;
  /** What each signal adds to `score`. */
  why: Record<string, number>;
  /** Turns around an event, oldest first; null if not asked for. */
  neighbours?: Array<SearchNeighbour> | null;
  /** Start of the date that it names, the first in `about`; missing if none. */
  about_start?: string | null;
  /** Its end, which is no longer part of it; missing if none. */
  about_end?: string | null;
}

/** A turn of the hit's session, `place` turns after it; before it: negative. */
export interface SearchNeighbour {
  /** Turns after the hit; negative: before it. */
  place: number;
  /** Id of the turn. */
  id: string;
  /** Its user; null if unknown. */
  user_id: string | null;
  /** When it was said. */
  at: string;
  /** Its text. */
  text: string;
}

/** The best hits first. */
export interface SearchPage {
  /** The best hits first. */
  hits: Array<SearchHit>;
  /** Cursor of the next page; null at the end. */
  next: string | null;
}

/** The session's short-term memory; at most 10 recent intents, oldest first. */
export interface SessionContext {
  /** The session. */
  session_id: string;
  /** Latest topic; null if there was none. */
  current_topic?: string | null;
  /** At most the 10 latest intents, oldest first. */
  recent_intents?: Array<string>;
  /** Latest artifact, such as `flashcards`; null if there was none. */
  last_artifact?: string | null;
  /** What the user said last. */
  last_user_message?: string;
  /** Latest time of its records. */
  updated_at: string;
}

/** The session: at most the 20 newest conversations and 200 memory items. */
export interface SessionDocument {
  /** The session. */
  session_id: string;
  /** Its user; null if unknown. */
  user_id?: string | null;
  /** What the session is about; null if unknown. */
  subject?: Claim | null;
  /** What the session is for; null if unknown. */
  object?: Claim | null;
  /** `active`, `waiting_input` or `closed`. */
  status: "active" | "waiting_input" | "closed";
  /** Why it is closed: `expired`, or by a turn; null if it is not. */
  closed_reason?: string | null;
  /** Where the session's files are. */
  artifacts_metadata?: Record<string, unknown>;
  /** At most the 20 newest tasks, oldest first. */
  conversations?: Array<Conversation>;
  /** Number of all its tasks. */
  conversation_count?: number;
  /** What is worth remembering, at most 200 items. */
  session_memory?: Array<SessionMemoryItem>;
  /** Earliest time of its records. */
  created_at: string;
  /** Latest time of its records. */
  updated_at: string;
  /** Its context; null if it has only recursions. */
  context?: SessionContext | null;
}

/** Sessions, the last active first. `next` is the cursor of the next page; null at the end. */
export interface SessionList {
  /** The sessions, in the order asked for. */
  sessions: Array<ListedSession>;
  /** Cursor of the next page; null at the end. */
  next: string | null;
}

/** Direct writes to the session memory. Per id the latest turn's operation wins. */
export interface SessionMemoryDelta {
  /** Items to add, or to replace whole. */
  add?: Array<MemoryItemWrite>;
  /** Items to change in part. */
  update?: Array<MemoryItemPatch>;
  /** Ids of items to delete. */
  delete?: Array<string>;
  [more: string]: unknown;
}

/** Something worth remembering in a session; `evidence` lists at most the 20 newest events. */
export interface SessionMemoryItem {
  /** Id of the item. */
  id: string;
  /** Kind of item. */
  type: "preference" | "constraint" | "background" | "capability_assumption" | "decision";
  /** What is to be remembered. */
  content?: string;
  /** How sure, 0 to 1. */
  confidence: number;
  /** Who decided; null if it is not a decision. */
  source?: "user" | "joint" | "agent" | null;
  /** The decision; null if it is not one. */
  decision?: string | null;
  /** Why it was decided. */
  rationale?: string | null;
  /** If false, only a user's decision can replace it; null if it is not a decision. */
  reversible?: boolean | null;
  /** What it applies to; null if unknown. */
  scope?: string | null;
  /** Turns that it rests on, at most the 20 newest. */
  evidence?: Array<string>;
}

/** Messages of a session in the order in which they came. */
export interface SessionMessages {
  /** The session. */
  session_id: string;
  /** The messages. */
  messages: Array<KeptMessage>;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/** The body of `POST /memory/session/update`. */
export interface SessionUpdate {
  /** Tenant; must be the key's own. */
  tenant?: string | null;
  /** Id of the signal. Default: made from `Idempotency-Key`, else new. */
  signal_id?: string | null;
  /** When it happened. Default: the time of the request. */
  occurred_at?: string | null;
  /** The session. */
  session_id: string;
  /** What the user wants, such as `quiz`. */
  intent?: string | null;
  /** What it is about. */
  topic?: string | null;
  /** What was produced, such as `flashcards`. */
  artifact?: string | null;
  [more: string]: unknown;
}

/** A short-term memory, and the recursion that added it. */
export interface ShortTermMemory {
  /** The recursion that added it. */
  trace_id: string;
  /** What it noted. */
  memory: string;
}

/**
 * An update of a session's context (scope session) or of a user's profile (scope user); or a
 * message of a session, kept as it was sent.
 */
export interface Signal {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "signal";
  /** Tenant; everything of two tenants is separate. */
  tenant?: string;
  /** When it happened, by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * When your log took the record; default: `occurred_at`. Read from files only: on Kafka it
   * is the append time, over HTTP the time of arrival.
   */
  recorded_at?: string | null;
  /** Id of the signal, unique in its session or user. */
  signal_id: string;
  /** What it updates. */
  scope: "session" | "user";
  /** Session; needed if `scope` is `session`. */
  session_id?: string | null;
  /** User; needed if `scope` is `user`. */
  user_id?: string | null;
  /** What the user wants, such as `quiz`. Of several the first counts. */
  intent?: string | Array<string> | null;
  /** What it is about. */
  topic?: string | null;
  /** What was produced, such as `flashcards`. */
  artifact?: string | null;
  /** What the session is about, such as its title; of scope session. */
  subject?: Claim | null;
  /** Result of a lesson. */
  metadata?: Metadata | null;
  /**
   * A message of the session, word for word, for `GET /v1/sessions/{id}/messages`. Nothing is
   * remembered of it.
   */
  message?: string | null;
  /** Id of another signal of the session: its message is not listed any more. */
  takes_back?: string | null;
  [more: string]: unknown;
}

/** A version of a state, valid in [valid_from, valid_to). */
export interface State {
  /** Id of the state, the same for all its versions. */
  state_id: string;
  /** Kind of the state. */
  kind: "fact" | "relation" | "task" | "summary" | "long_mood_state";
  /** What holds, as a sentence. */
  body_text: string;
  /** Structured details; for a task `status`: `open` or `done`. */
  payload?: Record<string, unknown>;
  /** 0 to 1. */
  confidence: number;
  /** People, places and things that it is about. */
  entities?: Array<string>;
  /** When it became true. */
  valid_from: string;
  /** When it stopped, or will stop, being true; null if no end is known. */
  valid_to?: string | null;
  /** Time of the latest plan that wrote it. */
  last_confirmed_at: string;
  /**
   * `closed` if `valid_to` is set (even in the future), else `done` for a finished task, else
   * `active`.
   */
  status: "active" | "done" | "closed";
  /** Events that it rests on, at most the 20 newest. */
  evidence_event_ids?: Array<string>;
  /** Time of the plan that changed this version last. */
  updated_at: string;
}

/** The body of `PATCH /v1/states/{state_id}`: the fields to change, and why. */
export interface StateCorrection {
  /** Why it is corrected; `why` shows it. */
  reason: string;
  /** The fact, as a sentence. */
  body_text?: string | null;
  /** Structured details; they replace all the earlier ones. */
  payload?: Record<string, unknown> | null;
  /** How sure, 0 to 1. */
  confidence?: number | null;
  /** People, places and things that it is about. */
  entities?: Array<string> | null;
  /** When it became true. A later one than before begins a new version. */
  valid_from?: string | null;
  /** When it stops being true. */
  valid_to?: string | null;
}

/** A state as it was true at one time and known at another. */
export interface StateThen {
  /** The user. */
  owner_id: string;
  /** Id of the state, the same for all its versions. */
  state_id: string;
  /** Kind of the state. */
  kind: string;
  /** What held, as a sentence. */
  body_text: string;
  /** Structured details. */
  payload: Record<string, unknown>;
  /** 0 to 1. */
  confidence: number;
  /** When it became true. */
  valid_from: string;
  /** When it stopped, or will stop, being true; null if no end is known. */
  valid_to: string | null;
  /** Time of the latest plan that wrote it. */
  last_confirmed_at: string;
  /** `active`, `done` (a finished task) or `closed` (`valid_to` is set). */
  status: string;
  /** Events that it rests on, at most the 20 newest. */
  evidence_event_ids: Array<string>;
  /** Time of the plan that changed this version last. */
  updated_at: string;
}

/** One change of the long-term state. */
export interface StateUpdate {
  /** `upsert` creates or corrects, `close` ends, `mark_done` finishes a task. */
  op?: "upsert" | "close" | "mark_done";
  /** Kind of state. Needed for `upsert`. */
  kind?: "fact" | "relation" | "task" | "summary" | "long_mood_state" | null;
  /** Id of the state. Default for `upsert`: a new state; else needed. */
  state_id?: string | null;
  /** What holds, as a sentence. Needed for a new state. */
  body_text?: string;
  /**
   * Structured details; `category`, `family`, `slot`, `value`, `whose` are what `ends` look
   * at.
   */
  payload?: Record<string, unknown> | null;
  /** How sure. Default: as before; for a new state 0.5. */
  confidence?: number | null;
  /**
   * When it became true. A later one than before begins a new version. Default for a new
   * state: `about_start`, else the plan's time.
   */
  valid_from?: string | null;
  /** When it stops being true. Default for `close`: `about_end`, else the plan's time. */
  valid_to?: string | null;
  /** People, places and things that it is about. Default: those of the annotations. */
  entities?: Array<string>;
  /** Events that it rests on; the plan's own event is added. */
  evidence_event_ids?: Array<string>;
  /** Change nothing if the version was updated after this time. Not for moods. */
  unchanged_since?: string | null;
  /** Why, for `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** A user's states. `next` is the cursor of the next page; null at the end. */
export interface States {
  /** The user. */
  user_id: string;
  /** Time at which the states are true. */
  as_of: string;
  /** Time up to which memory is used; null: all of it. */
  known_at: string | null;
  /** The states. */
  states: Array<StateThen>;
  /** Cursor of the next page; null at the end. */
  next: string | null;
}

/** A step of the plan with the recursions that claim it. */
export interface StepView {
  /** Id of the step. */
  step_id: string;
  /** What the step does. */
  description?: string;
  /** Status of the step. */
  status: "pending" | "running" | "done" | "error";
  /** The recursions that claim the step, in order. */
  recursion_history?: Array<Record<string, unknown>>;
}

/** What the agent found and decided in one task. */
export interface Summary {
  /** The summary. */
  content?: string;
  /** What was found out. */
  key_findings?: Array<string>;
  /** What was decided. */
  final_decisions?: Array<string>;
  [more: string]: unknown;
}

/** The task's objective, constraints, plan and short-term memory. */
export interface TaskContext {
  /** What the task is for; null if unknown. */
  objective?: string | null;
  /** What it has to observe. */
  constraints?: Array<string>;
  /** The steps of its plan. */
  plan?: Array<StepView>;
  /** Its short-term memory. */
  memory: TaskMemory;
}

/**
 * The state of a task: the fold of its recursions in (iteration_index, trace_id) order. At
 * most 200 recursions are kept whole; `older_recursions` counts the others.
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
  /** Number of recursions before those. */
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
  /** Why it failed; null if it did not. */
  error?: string | null;
  /** Whether `max_iteration` ended it. */
  forced?: boolean;
  /** Whether its last recursions did the same with the same output. */
  stalled?: boolean;
  /** Number of such recursions; 0 if not stalled. */
  stalled_count?: number;
  /** Earliest time of its records. */
  created_at: string;
  /** Latest time of its records. */
  updated_at: string;
}

/** At most the 50 newest short-term memories. */
export interface TaskMemory {
  /** At most the 50 newest, oldest first. */
  short_term?: Array<ShortTermMemory>;
}

/** Puts an event into a thread, takes it out, or merges a whole thread into another. */
export interface ThreadUpdate {
  /** What to do. */
  op?: "put" | "remove" | "merge_into";
  /** Name of the thread. */
  thread_key: string;
  /** The event. Needed, except for `merge_into`. */
  event_id?: string | null;
  /** Thread that takes all events; needed for `merge_into`. */
  into?: string | null;
  /** How sure it is that the event belongs to the thread. */
  confidence?: number;
  /** Events that it rests on. Default: the event itself. */
  evidence_event_ids?: Array<string>;
  /** Why, for `why`. Default: the extractor's name. */
  reason?: string;
  [more: string]: unknown;
}

/** The turns of a session in order. */
export interface Timeline {
  /** The session. */
  session_id: string;
  /** Its turns, oldest first. */
  turns: Array<TimelineTurn>;
  /** Cursor of the next page; null at the end. */
  next: string | null;
}

/** A turn with its affect, if known. */
export interface TimelineTurn {
  /** When the user spoke. */
  occurred_at: string;
  /** Id of the turn. */
  event_id: string;
  /** Session of the turn. */
  session_id: string;
  /** User who spoke; null if the turn names none. */
  user_id: string | null;
  /** What kind of turn it is, such as `chat`. */
  source: string;
  /** `running`, `done` or `error`. */
  status: string;
  /** What the user said. */
  user_input: string;
  /** What the agent answered. */
  agent_answer: string;
  /** Why the turn failed; null if it did not. */
  error: string | null;
  /** First intent; null if none. */
  intent: string | null;
  /** Topic; null if none. */
  topic: string | null;
  /** Start of the first date that the user names (docs/dates.md); null if none. */
  about_start: string | null;
  /** Its end, which is no longer part of it; null if none. */
  about_end: string | null;
  /** Valence, -1 to +1; null if no feeling is known. */
  v: number | null;
  /** Arousal, -1 to +1; null if no feeling is known. */
  a: number | null;
  /** Dominance, -1 to +1; null if no feeling is known. */
  d: number | null;
}

/** The result of a tool call, which is put into that call. */
export interface ToolResult {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "tool_result";
  /** Tenant; everything of two tenants is separate. */
  tenant?: string;
  /** When it happened, by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * When your log took the record; default: `occurred_at`. Read from files only: on Kafka it
   * is the append time, over HTTP the time of arrival.
   */
  recorded_at?: string | null;
  /** Session of the task. */
  session_id: string;
  /** Task of the recursion. */
  task_id: string;
  /** Recursion that made the call. */
  trace_id: string;
  /** `id` of the call. This or `call_index` is needed. */
  tool_call_id?: string | null;
  /** Position of the call in `output.tool_calls`, from 0. */
  call_index?: number | null;
  /** The result; anything but text is stored as compact JSON. */
  result?: unknown;
  /** Whether the call succeeded. */
  success: boolean;
  [more: string]: unknown;
}

/** User input and answer: the unit of the event log. Key: tenant/session_id. */
export interface Turn {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "turn";
  /** Tenant; everything of two tenants is separate. */
  tenant?: string;
  /** When it happened, by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * When your log took the record; default: `occurred_at`. Read from files only: on Kafka it
   * is the append time, over HTTP the time of arrival.
   */
  recorded_at?: string | null;
  /** Id of the turn, unique in its session. Send a running turn and its end under one id. */
  event_id: string;
  /** Session of the turn. */
  session_id: string;
  /** User who speaks. Without it the turn makes no memory of a user. */
  user_id?: string | null;
  /** Device or window. Turns of one client reply to each other. */
  client_id?: string | null;
  /** Task of the turn. Default: a task of its own. */
  task_id?: string | null;
  /**
   * What kind of turn it is. Rules find memory in `chat` only; `meta_request`: nothing is
   * kept.
   */
  source?: string;
  /** What the user said. */
  user_input?: string;
  /** What the agent answered. */
  agent_answer?: string;
  /**
   * Event id of the earlier turn of the session that this one takes the place of: a message
   * was edited or answered again. Facts and preferences that rest on that turn alone end when
   * this one has ended.
   */
  replaces?: string | null;
  /** `running` while the agent works; then `done` or `error`. */
  status?: "running" | "done" | "error";
  /** Why the turn failed. */
  error?: string | null;
  /** What the user wants, such as `quiz`. Of several the first counts. */
  intent?: string | Array<string> | null;
  /** What it is about. */
  topic?: string | null;
  /** What was produced, such as `flashcards`. */
  artifact?: string | null;
  /** Result of a lesson. Other fields are kept as they are. */
  metadata?: Metadata | null;
  /** Descriptions of images. Kept in the history, shown nowhere else. */
  image_summaries?: Array<string> | null;
  /** Summary of the task so far. */
  summary?: Summary | null;
  /** What the session is about. */
  subject?: Claim | null;
  /** What the session is for. */
  object?: Claim | null;
  /** Status of the session until its next turn. */
  session_status?: "active" | "waiting_input" | "closed" | null;
  /** Where the session's files are. */
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
  /** The user. */
  user_id: string;
  /** What the user learns; null if there is no lesson. */
  profile: UserLearningProfile | null;
  /** States that are true at the time asked about. */
  states: Array<State>;
  /** All preferences, also revoked ones. */
  preferences: Array<Preference>;
  /** The mood; null if there is none. */
  mood: MoodNow | null;
}

/** What the user has just done. */
export interface UserEvent {
  /** What the user wants, such as `quiz`. */
  intent?: string | null;
  /** What it is about. */
  topic?: string | null;
  /** What was produced, such as `flashcards`. */
  artifact?: string | null;
  /** Result of a lesson. */
  metadata?: Metadata | null;
  [more: string]: unknown;
}

/**
 * A user's learning profile. `mastery_score` is the number behind each level, 0..1.
 * `expected_correct` is the probability that the learner's next answer in a topic is right,
 * by topic; `expected_correct_elsewhere` in a topic without answers. It is null in documents
 * written before it was known.
 */
export interface UserLearningProfile {
  /** The user. */
  user_id: string;
  /** Level by topic. */
  mastery?: Record<string, "weak" | "medium" | "strong">;
  /** The number behind each level, 0 to 1, by topic. */
  mastery_score?: Record<string, number>;
  /** Probability that the next answer is right, by topic. */
  expected_correct?: Record<string, number>;
  /** The same for a topic without answers; null in documents of older versions. */
  expected_correct_elsewhere?: number | null;
  /** What the learner uses most. */
  preferences: LearnerPreferences;
  /** Counts of activities. */
  history: LearnerHistory;
  /** Time of the latest lesson. */
  updated_at: string;
}

/** Users, the last active first. `next` is the cursor of the next page; null at the end. */
export interface UserList {
  /** The users, in the order asked for. */
  users: Array<ListedUser>;
  /** Cursor of the next page; null at the end. */
  next: string | null;
}

/** The body of `POST /memory/user/update`. */
export interface UserUpdate {
  /** Tenant; must be the key's own. */
  tenant?: string | null;
  /** Id of the signal. Default: made from `Idempotency-Key`, else new. */
  signal_id?: string | null;
  /** When it happened. Default: the time of the request. */
  occurred_at?: string | null;
  /** The user. */
  user_id: string;
  /** The activity: intent, topic, artifact, result of a lesson. */
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
  /** The entity. */
  entity_id: string;
  /** Its revisions in order, one for each evidence event. */
  revisions: Array<RevisionTold>;
  /** Cursor of the next page; null at the end. */
  next: string | null;
}

/**
 * What should be remembered of an event. Applies whole or not at all. Key: tenant/user_id.
 * `event_id` names the event it was made from; none when tidying.
 */
export interface WritePlan {
  /** 2 for new records; 1 also allows the older names. */
  schema_version?: number;
  type: "write_plan";
  /** Tenant; everything of two tenants is separate. */
  tenant?: string;
  /** When it happened, by your platform's clock. Memory is ordered by it. */
  occurred_at: string;
  /**
   * When your log took the record; default: `occurred_at`. Read from files only: on Kafka it
   * is the append time, over HTTP the time of arrival.
   */
  recorded_at?: string | null;
  /** Id of the plan, unique for its user. */
  plan_id: string;
  /** User whose memory it changes. */
  user_id: string;
  /** Session of the events that it names. Default: any session of the user. */
  session_id?: string | null;
  /** Event that it was made from; added to all evidence. */
  event_id?: string | null;
  /** Who made it. */
  extractor: Extractor;
  /** How a model made it. */
  extraction?: Extraction | null;
  /** Changes of states. */
  state_updates?: Array<StateUpdate>;
  /** Changes of preferences. */
  preference_updates?: Array<PreferenceUpdate>;
  /** What is over. */
  ends?: Array<EndUpdate>;
  /** Events that are retracted or restored. */
  event_updates?: Array<EventUpdate>;
  /** A moment of affect. */
  event_affect?: PlanAffect | null;
  /** Changes of threads and links. */
  context_updates?: ContextUpdates | null;
  /** When it happened, and whom it concerns. */
  event_annotations?: EventAnnotations | null;
  [more: string]: unknown;
}
