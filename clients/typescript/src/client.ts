/** The client's methods. Made by scripts/generate from schemas/generated/openapi.json. */

import { Sender, inPath } from "./sender.js";
import type { Moment, Records, SessionEvent } from "./sender.js";
import type {
  Accepted, DeadLetter, DeadLetterWhole, DeadLetters, Health, MemorySummary, MoodNow, Ready,
  RecordsReply, RevisionTold, SearchHit, SearchPage, SessionContext, SessionDocument,
  SessionUpdate, StateThen, States, TaskDocument, Timeline, TimelineTurn, UserDocument,
  UserLearningProfile, UserUpdate, Why,
} from "./types.js";

/** A server's endpoints. Every method throws the errors of `errors.ts`. */
export class Turnfold extends Sender {
  /** The long-term learning profile of a user (seed 004 §3.1). */
  profile(user_id: string): Promise<UserLearningProfile> {
    return this.send({
      method: "GET",
      path: `/memory/user/${inPath(user_id)}`,
      gives: [200],
    });
  }

  /** The short-term memory of a session (seed 004 §3.2). */
  context(session_id: string): Promise<SessionContext> {
    return this.send({
      method: "GET",
      path: `/memory/session/${inPath(session_id)}`,
      gives: [200],
    });
  }

  /**
   * What an intent router is told before each answer (seed 004 §4). Give a session, a user, or
   * both; without a user the session's own. Somebody unknown is a new user, not an error.
   */
  memorySummary(options: { session_id?: string; user_id?: string; accept_language?: string } = {}): Promise<MemorySummary> {
    return this.send({
      method: "GET",
      path: `/memory/summary`,
      gives: [200],
      query: { session_id: options.session_id, user_id: options.user_id },
      headers: { "Accept-Language": options.accept_language },
    });
  }

  /**
   * Moves a user's profile: mastery, counts, preferences (seed 004 §3.3). The reply is the new
   * profile, once the write has been applied.
   */
  updateUser(body: UserUpdate, options: { prefer?: string; idempotency_key?: string } = {}): Promise<UserLearningProfile | Accepted | null> {
    return this.send({
      method: "POST",
      path: `/memory/user/update`,
      gives: [200, 202, 204],
      headers: { Prefer: options.prefer, "Idempotency-Key": options.idempotency_key },
      body,
    });
  }

  /**
   * Moves a session's context: intents, topic, last artifact (seed 004 §3.4). The reply is the
   * new context, once the write has been applied.
   */
  updateSession(body: SessionUpdate, options: { prefer?: string; idempotency_key?: string } = {}): Promise<SessionContext | Accepted | null> {
    return this.send({
      method: "POST",
      path: `/memory/session/update`,
      gives: [200, 202, 204],
      headers: { Prefer: options.prefer, "Idempotency-Key": options.idempotency_key },
      body,
    });
  }

  /**
   * Appends input records to the log (design 03): turns, recursions, tool results, signals,
   * write plans. 200: all have ended; 202: some are in the log for good, and not applied yet.
   */
  postRecords(records: Records, options: { prefer?: string; idempotency_key?: string } = {}): Promise<RecordsReply> {
    return this.send({
      method: "POST",
      path: `/v1/records`,
      gives: [200, 202],
      headers: { Prefer: options.prefer, "Idempotency-Key": options.idempotency_key },
      records,
    });
  }

  /** A session with its conversations, memory and context (seed 000), now or as of a time. */
  session(session_id: string, options: { as_of?: Moment } = {}): Promise<SessionDocument> {
    return this.send({
      method: "GET",
      path: `/v1/sessions/${inPath(session_id)}`,
      gives: [200],
      query: { as_of: options.as_of },
    });
  }

  /** The turns of a session in order, out of the history. */
  timeline(session_id: string, options: { limit?: number; cursor?: string } = {}): Promise<Timeline> {
    return this.send({
      method: "GET",
      path: `/v1/sessions/${inPath(session_id)}/timeline`,
      gives: [200],
      query: { limit: options.limit, cursor: options.cursor },
    });
  }

  /** The items of all pages of `timeline`. */
  iterTimeline(session_id: string, options: { limit?: number; cursor?: string } = {}): AsyncGenerator<TimelineTurn> {
    return this.pages(
      (cursor) => this.timeline(session_id, { ...options, cursor }),
      (page) => page.turns,
    );
  }

  /**
   * The session's document as server-sent events: now, and whenever it changes. A client that
   * comes back with `Last-Event-ID` gets it only if it has changed meanwhile.
   */
  events(session_id: string, options: { last_event_id?: string } = {}): AsyncGenerator<SessionEvent> {
    return this.stream({
      method: "GET",
      path: `/v1/sessions/${inPath(session_id)}/events`,
      gives: [200],
      headers: { "Last-Event-ID": options.last_event_id },
    });
  }

  /**
   * A task: plan, recursions, tool results and where it stands (seed 002). Without
   * `session_id` it is looked for in the history.
   */
  task(task_id: string, options: { session_id?: string } = {}): Promise<TaskDocument> {
    return this.send({
      method: "GET",
      path: `/v1/tasks/${inPath(task_id)}`,
      gives: [200],
      query: { session_id: options.session_id },
    });
  }

  /** Everything that is known of a user now: profile, states, preferences, mood. */
  user(user_id: string): Promise<UserDocument> {
    return this.send({
      method: "GET",
      path: `/v1/users/${inPath(user_id)}`,
      gives: [200],
    });
  }

  /**
   * What was held true of a user at `as_of`, as far as was known at `known_at`: two clocks,
   * both now unless given. Nothing of a user nobody knows: an empty list.
   */
  states(user_id: string, options: { as_of?: Moment; known_at?: Moment; limit?: number; cursor?: string } = {}): Promise<States> {
    return this.send({
      method: "GET",
      path: `/v1/users/${inPath(user_id)}/states`,
      gives: [200],
      query: { as_of: options.as_of, known_at: options.known_at, limit: options.limit, cursor: options.cursor },
    });
  }

  /** The items of all pages of `states`. */
  iterStates(user_id: string, options: { as_of?: Moment; known_at?: Moment; limit?: number; cursor?: string } = {}): AsyncGenerator<StateThen> {
    return this.pages(
      (cursor) => this.states(user_id, { ...options, cursor }),
      (page) => page.states,
    );
  }

  /** A user's mood, now or at a time: it fades between moments of feeling (seed 003 §5). */
  mood(user_id: string, options: { at?: Moment } = {}): Promise<MoodNow> {
    return this.send({
      method: "GET",
      path: `/v1/users/${inPath(user_id)}/mood`,
      gives: [200],
      query: { at: options.at },
    });
  }

  /**
   * How a state (or whatever else has revisions: a session, a preference, an item of session
   * memory, a link, a thread) came to be as it is, with the words it rests on.
   */
  why(state_id: string, options: { limit?: number; cursor?: string } = {}): Promise<Why> {
    return this.send({
      method: "GET",
      path: `/v1/states/${inPath(state_id)}/why`,
      gives: [200],
      query: { limit: options.limit, cursor: options.cursor },
    });
  }

  /** The items of all pages of `why`. */
  iterWhy(state_id: string, options: { limit?: number; cursor?: string } = {}): AsyncGenerator<RevisionTold> {
    return this.pages(
      (cursor) => this.why(state_id, { ...options, cursor }),
      (page) => page.revisions,
    );
  }

  /**
   * The events and states that a text is about (docs/search.md), best first. `matches` are the
   * parts of a hit's text that matched, as [start, end) in characters.
   */
  search(options: { q: string; user_id?: string; session_id?: string; kind?: string; from?: Moment; to?: Moment; as_of?: Moment; limit?: number; cursor?: string }): Promise<SearchPage> {
    return this.send({
      method: "GET",
      path: `/v1/search`,
      gives: [200],
      query: { q: options.q, user_id: options.user_id, session_id: options.session_id, kind: options.kind, from: options.from, to: options.to, as_of: options.as_of, limit: options.limit, cursor: options.cursor },
    });
  }

  /** The items of all pages of `search`. */
  iterSearch(options: { q: string; user_id?: string; session_id?: string; kind?: string; from?: Moment; to?: Moment; as_of?: Moment; limit?: number; cursor?: string }): AsyncGenerator<SearchHit> {
    return this.pages(
      (cursor) => this.search({ ...options, cursor }),
      (page) => page.hits,
    );
  }

  /** Records that could not be applied, oldest first. */
  deadLetters(options: { reason?: string; limit?: number; cursor?: string } = {}): Promise<DeadLetters> {
    return this.send({
      method: "GET",
      path: `/v1/dead-letters`,
      gives: [200],
      query: { reason: options.reason, limit: options.limit, cursor: options.cursor },
    });
  }

  /** The items of all pages of `deadLetters`. */
  iterDeadLetters(options: { reason?: string; limit?: number; cursor?: string } = {}): AsyncGenerator<DeadLetter> {
    return this.pages(
      (cursor) => this.deadLetters({ ...options, cursor }),
      (page) => page.dead_letters,
    );
  }

  /** One dead letter with what was sent. A slash in its id is written `%2F`. */
  deadLetter(letter_id: string): Promise<DeadLetterWhole> {
    return this.send({
      method: "GET",
      path: `/v1/dead-letters/${inPath(letter_id)}`,
      gives: [200],
    });
  }

  /** The process is alive, and which generation answers. */
  healthz(): Promise<Health> {
    return this.send({
      method: "GET",
      path: `/healthz`,
      gives: [200],
    });
  }

  /** Whether questions are answered; during a restore how far it is. */
  readyz(): Promise<Ready> {
    return this.send({
      method: "GET",
      path: `/readyz`,
      gives: [200, 503],
    });
  }
}
