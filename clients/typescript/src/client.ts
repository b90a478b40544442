/** The client's methods. Made by scripts/generate from schemas/generated/openapi.json. */

import { Sender, inPath } from "./sender.js";
import type { Moment, Records, SessionEvent } from "./sender.js";
import type {
  Accepted, ContextPack, DeadLetter, DeadLetterContent, DeadLetters, Erasure, Extracted, Health,
  ListedSession, ListedUser, MemorySummary, MessagesReply, MoodNow, NewMessages, Preference,
  PreferenceCorrection, Ready, RecordsReply, RevisionWithEvidence, SearchHit, SearchPage,
  SessionContext, SessionDocument, SessionList, SessionMessages, SessionUpdate, State,
  StateCorrection, StateVersion, States, StoredMessage, TaskDocument, Timeline, TimelineTurn,
  UserDocument, UserLearningProfile, UserList, UserUpdate, Why,
} from "./types.js";

/** A server's endpoints. Every method throws the errors of `errors.ts`. */
export class Turnfold extends Sender {
  /** A user's learning profile. */
  profile(user_id: string): Promise<UserLearningProfile> {
    return this.send({
      method: "GET",
      path: `/memory/user/${inPath(user_id)}`,
      gives: [200],
    });
  }

  /** A session's context, for an agent before it answers. */
  sessionContext(session_id: string): Promise<SessionContext> {
    return this.send({
      method: "GET",
      path: `/memory/session/${inPath(session_id)}`,
      gives: [200],
    });
  }

  /**
   * A short summary of session and user, for an intent router. Pass `session_id`, `user_id` or
   * both; without `user_id` the session's user is taken. An unknown id gives an empty summary.
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
   * Updates a session's context: intent, topic, last artifact. Returns the new context once
   * the update has been applied.
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
   * Updates a user's profile: mastery, counts, preferences. Returns the new profile once the
   * update has been applied.
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
   * Appends input records to the log: turns, recursions, tool results, signals, write plans.
   * 200: every record has its outcome; 202: some are stored and not applied yet.
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

  /**
   * Adds messages of a conversation to memory: user messages, assistant answers, tool calls
   * and their results. They become turns; an answer belongs to the turn that waits for it. A
   * request is stored completely or not at all. 202: stored and not applied yet.
   */
  postMessages(body: NewMessages, options: { prefer?: string; idempotency_key?: string } = {}): Promise<MessagesReply> {
    return this.send({
      method: "POST",
      path: `/v1/messages`,
      gives: [200, 202],
      headers: { Prefer: options.prefer, "Idempotency-Key": options.idempotency_key },
      body,
    });
  }

  /**
   * Waits until the model has read all turns that are stored now. 202: some turns are unread,
   * `about` gives the reason; the server continues. 501: this server has no model.
   */
  extract(options: { prefer?: string } = {}): Promise<Extracted> {
    return this.send({
      method: "POST",
      path: `/v1/extract`,
      gives: [200, 202],
      headers: { Prefer: options.prefer },
    });
  }

  /**
   * Ends the facts and preferences that rest only on a user's message and its answer, and
   * hides the turn from search and context packs. The turn stays in the session and in the
   * history; erase the turn to remove it. 202: stored and not applied yet.
   */
  deleteMessage(message_id: string, options: { session_id: string; prefer?: string }): Promise<RecordsReply> {
    return this.send({
      method: "DELETE",
      path: `/v1/messages/${inPath(message_id)}`,
      gives: [200, 202],
      query: { session_id: options.session_id },
      headers: { Prefer: options.prefer },
    });
  }

  /** Lists users, with counts. Writes of the last one or two seconds may be missing. */
  users(options: { prefix?: string; from?: Moment; to?: Moment; order?: string; limit?: number; cursor?: string } = {}): Promise<UserList> {
    return this.send({
      method: "GET",
      path: `/v1/users`,
      gives: [200],
      query: { prefix: options.prefix, from: options.from, to: options.to, order: options.order, limit: options.limit, cursor: options.cursor },
    });
  }

  /** The items of all pages of `users`. */
  iterUsers(options: { prefix?: string; from?: Moment; to?: Moment; order?: string; limit?: number; cursor?: string } = {}): AsyncGenerator<ListedUser> {
    return this.pages(
      (cursor) => this.users({ ...options, cursor }),
      (page) => page.users,
    );
  }

  /** Lists sessions, with counts. Writes of the last one or two seconds may be missing. */
  sessions(options: { prefix?: string; user_id?: string; from?: Moment; to?: Moment; order?: string; limit?: number; cursor?: string } = {}): Promise<SessionList> {
    return this.send({
      method: "GET",
      path: `/v1/sessions`,
      gives: [200],
      query: { prefix: options.prefix, user_id: options.user_id, from: options.from, to: options.to, order: options.order, limit: options.limit, cursor: options.cursor },
    });
  }

  /** The items of all pages of `sessions`. */
  iterSessions(options: { prefix?: string; user_id?: string; from?: Moment; to?: Moment; order?: string; limit?: number; cursor?: string } = {}): AsyncGenerator<ListedSession> {
    return this.pages(
      (cursor) => this.sessions({ ...options, cursor }),
      (page) => page.sessions,
    );
  }

  /** A session with its conversations, memory and context, now or as of a time. */
  session(session_id: string, options: { as_of?: Moment } = {}): Promise<SessionDocument> {
    return this.send({
      method: "GET",
      path: `/v1/sessions/${inPath(session_id)}`,
      gives: [200],
      query: { as_of: options.as_of },
    });
  }

  /**
   * Permanently deletes a session of all its users, and everything derived from it. Other
   * sessions of its users stay, and their memory is rebuilt without this one. A request that
   * was answered is completed, even if the server is killed. 202: the erasure is not finished;
   * `Location` returns its status.
   */
  forgetSession(session_id: string, options: { prefer?: string } = {}): Promise<Erasure> {
    return this.send({
      method: "DELETE",
      path: `/v1/sessions/${inPath(session_id)}`,
      gives: [200, 202],
      headers: { Prefer: options.prefer },
    });
  }

  /** The turns of a session in order, from the history. */
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
   * The session's document as server-sent events: once now, then on every change. With `Last-
   * Event-ID` the first event is sent only if the document has changed since.
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
   * A task: plan, recursions, tool results and status. The history is searched for it if
   * `session_id` is omitted.
   */
  task(task_id: string, options: { session_id?: string } = {}): Promise<TaskDocument> {
    return this.send({
      method: "GET",
      path: `/v1/tasks/${inPath(task_id)}`,
      gives: [200],
      query: { session_id: options.session_id },
    });
  }

  /** A user's profile, states, preferences and mood, now. */
  user(user_id: string): Promise<UserDocument> {
    return this.send({
      method: "GET",
      path: `/v1/users/${inPath(user_id)}`,
      gives: [200],
    });
  }

  /**
   * Permanently deletes a user from all tables, files and the search index, as `turnfold
   * forget` does, without confirmation. A request that was answered is completed, even if the
   * server is killed. 202: the erasure is not finished; `Location` returns its status.
   */
  forgetUser(user_id: string, options: { prefer?: string } = {}): Promise<Erasure> {
    return this.send({
      method: "DELETE",
      path: `/v1/users/${inPath(user_id)}`,
      gives: [200, 202],
      headers: { Prefer: options.prefer },
    });
  }

  /**
   * A user's states that were true at `as_of`, as known at `known_at`; both default to now. An
   * unknown user has an empty list.
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
  iterStates(user_id: string, options: { as_of?: Moment; known_at?: Moment; limit?: number; cursor?: string } = {}): AsyncGenerator<StateVersion> {
    return this.pages(
      (cursor) => this.states(user_id, { ...options, cursor }),
      (page) => page.states,
    );
  }

  /** A user's mood, now or at a time. It fades between moments of affect. */
  mood(user_id: string, options: { at?: Moment } = {}): Promise<MoodNow> {
    return this.send({
      method: "GET",
      path: `/v1/users/${inPath(user_id)}/mood`,
      gives: [200],
      query: { at: options.at },
    });
  }

  /**
   * The revisions of a state, preference, session, session memory item, link or thread, each
   * with the text of its evidence events. A cited turn without effect has no revisions.
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
  iterWhy(state_id: string, options: { limit?: number; cursor?: string } = {}): AsyncGenerator<RevisionWithEvidence> {
    return this.pages(
      (cursor) => this.why(state_id, { ...options, cursor }),
      (page) => page.revisions,
    );
  }

  /**
   * Searches events, states, preferences and session memory, best hits first. `matches` are
   * the matching parts of a hit's text, as [start, end) in characters.
   */
  search(options: { q: string; user_id?: string; session_id?: string; kind?: string; from?: Moment; to?: Moment; as_of?: Moment; limit?: number; cursor?: string; neighbours?: number; about?: string }): Promise<SearchPage> {
    return this.send({
      method: "GET",
      path: `/v1/search`,
      gives: [200],
      query: { q: options.q, user_id: options.user_id, session_id: options.session_id, kind: options.kind, from: options.from, to: options.to, as_of: options.as_of, limit: options.limit, cursor: options.cursor, neighbours: options.neighbours, about: options.about },
    });
  }

  /** The items of all pages of `search`. */
  iterSearch(options: { q: string; user_id?: string; session_id?: string; kind?: string; from?: Moment; to?: Moment; as_of?: Moment; limit?: number; cursor?: string; neighbours?: number; about?: string }): AsyncGenerator<SearchHit> {
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

  /** One dead letter with its content. Write a slash in its id as `%2F`. */
  deadLetter(letter_id: string): Promise<DeadLetterContent> {
    return this.send({
      method: "GET",
      path: `/v1/dead-letters/${inPath(letter_id)}`,
      gives: [200],
    });
  }

  /**
   * The messages of a session that were sent with `original`, word for word, in order of
   * arrival. Every message that was answered with 200 is included; an unknown session has
   * none.
   */
  sessionMessages(session_id: string, options: { order?: string; limit?: number; cursor?: string } = {}): Promise<SessionMessages> {
    return this.send({
      method: "GET",
      path: `/v1/sessions/${inPath(session_id)}/messages`,
      gives: [200],
      query: { order: options.order, limit: options.limit, cursor: options.cursor },
    });
  }

  /** The items of all pages of `sessionMessages`. */
  iterSessionMessages(session_id: string, options: { order?: string; limit?: number; cursor?: string } = {}): AsyncGenerator<StoredMessage> {
    return this.pages(
      (cursor) => this.sessionMessages(session_id, { ...options, cursor }),
      (page) => page.messages,
    );
  }

  /**
   * A context pack: the part of a user's memory that matters for the next answer, as text for
   * a prompt. An unknown user has an empty pack.
   */
  context(user_id: string, options: { q?: string; session_id?: string; max_tokens?: number; as_of?: Moment; known_at?: Moment; sections?: string; format?: string } = {}): Promise<ContextPack> {
    return this.send({
      method: "GET",
      path: `/v1/users/${inPath(user_id)}/context`,
      gives: [200],
      query: { q: options.q, session_id: options.session_id, max_tokens: options.max_tokens, as_of: options.as_of, known_at: options.known_at, sections: options.sections, format: options.format },
    });
  }

  /**
   * Exports all data of a user (JSON Lines). `turnfold import turnfold` imports it on another
   * server; the last line has the kind `end`.
   */
  exportUser(user_id: string): AsyncGenerator<string> {
    return this.lines({
      method: "GET",
      path: `/v1/users/${inPath(user_id)}/export`,
      gives: [200],
    });
  }

  /**
   * Corrects a state. Omitted fields stay unchanged; another `valid_from` starts a new
   * version. Returns the state once the correction has been applied.
   */
  correctState(state_id: string, body: StateCorrection, options: { user_id?: string; prefer?: string; idempotency_key?: string } = {}): Promise<State | Accepted> {
    return this.send({
      method: "PATCH",
      path: `/v1/states/${inPath(state_id)}`,
      gives: [200, 202],
      query: { user_id: options.user_id },
      headers: { Prefer: options.prefer, "Idempotency-Key": options.idempotency_key },
      body,
    });
  }

  /**
   * Ends a state: it was true until `at`. Its text stays in the history. Returns the state
   * once the end has been applied; an ended state is unchanged.
   */
  endState(state_id: string, options: { reason: string; at?: Moment; user_id?: string; prefer?: string }): Promise<State | Accepted> {
    return this.send({
      method: "DELETE",
      path: `/v1/states/${inPath(state_id)}`,
      gives: [200, 202],
      query: { reason: options.reason, at: options.at, user_id: options.user_id },
      headers: { Prefer: options.prefer },
    });
  }

  /**
   * Corrects and confirms a preference. Omitted fields stay unchanged. A different `subject`,
   * `polarity` or `domain` ends it and creates another preference. Returns the resulting
   * preference once the correction has been applied.
   */
  correctPreference(preference_id: string, body: PreferenceCorrection, options: { user_id?: string; prefer?: string; idempotency_key?: string } = {}): Promise<Preference | Accepted> {
    return this.send({
      method: "PATCH",
      path: `/v1/preferences/${inPath(preference_id)}`,
      gives: [200, 202],
      query: { user_id: options.user_id },
      headers: { Prefer: options.prefer, "Idempotency-Key": options.idempotency_key },
      body,
    });
  }

  /**
   * Ends (revokes) a preference. Its messages stay in the history. Returns the preference once
   * the end has been applied; an ended preference is unchanged.
   */
  endPreference(preference_id: string, options: { reason: string; user_id?: string; prefer?: string }): Promise<Preference | Accepted> {
    return this.send({
      method: "DELETE",
      path: `/v1/preferences/${inPath(preference_id)}`,
      gives: [200, 202],
      query: { reason: options.reason, user_id: options.user_id },
      headers: { Prefer: options.prefer },
    });
  }

  /**
   * Permanently deletes a turn of a session: message, answer, task steps, and everything
   * derived from it. Memory of the session and its users is rebuilt without the turn. A
   * request that was answered is completed, even if the server is killed. 202: the erasure is
   * not finished; `Location` returns its status.
   */
  forgetTurn(session_id: string, event_id: string, options: { prefer?: string } = {}): Promise<Erasure> {
    return this.send({
      method: "DELETE",
      path: `/v1/sessions/${inPath(session_id)}/turns/${inPath(event_id)}`,
      gives: [200, 202],
      headers: { Prefer: options.prefer },
    });
  }

  /** An erasure: its status, and its receipt, which names no user, session or turn. */
  erasure(erasure_id: string): Promise<Erasure> {
    return this.send({
      method: "GET",
      path: `/v1/erasures/${inPath(erasure_id)}`,
      gives: [200],
    });
  }

  /** Liveness, and the generation that answers. */
  healthz(): Promise<Health> {
    return this.send({
      method: "GET",
      path: `/healthz`,
      gives: [200],
    });
  }

  /** Current readiness; during a restore also its progress. */
  readyz(): Promise<Ready> {
    return this.send({
      method: "GET",
      path: `/readyz`,
      gives: [200, 503],
    });
  }
}
