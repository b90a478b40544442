/** Sends calls with `fetch`, retries them, reads pages and event streams. */

import { ClientError, ReplyError, StatusError, UnreachableError } from "./errors.js";
import type {
  Message, MessagesReply, NewMessages, Recursion, SessionDocument, Signal, ToolResult, Turn, WritePlan,
} from "./types.js";

/** RFC 3339, a Date, or a day (YYYY-MM-DD), which means its end (UTC). */
export type Moment = string | Date;
export type InputRecord = Turn | Recursion | ToolResult | Signal | WritePlan;
export type Records = Iterable<InputRecord>;

/** Messages as OpenAI's APIs write them, and what is said of them. */
export interface Added extends Omit<NewMessages, "messages"> {
  messages: Iterable<Message | object>;
  prefer?: string;
  idempotency_key?: string;
}

/** The new document of a session. `id`: pass it as `last_event_id` to continue after it. */
export interface SessionEvent {
  id: string;
  session: SessionDocument;
}

/**
 * `tenant`: needed with a key of all tenants. `timeout`: milliseconds an attempt may take.
 * `retries`: further attempts after no answer, 429 or 503.
 */
export interface Options {
  tenant?: string;
  timeout?: number;
  retries?: number;
}

type Value = string | number | Date | undefined;

/** One request. `gives`: the statuses that are replies. */
interface Call {
  method: string;
  path: string;
  gives: number[];
  query?: Record<string, Value>;
  headers?: Record<string, string | undefined>;
  body?: unknown;
  records?: Records;
}

const RETRIED = [429, 503];
const FIRST_WAIT = 100;
const LONGEST_WAIT = 30_000;
/** Milliseconds without a byte after which a stream is broken; the server writes every 15 s. */
const SILENCE = 45_000;
/** Milliseconds without a byte after which an export is broken; the server gives up after 60 s. */
const PIECE = 90_000;

export class Sender {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;
  readonly #retries: number;

  /** `token`: a key made by `turnfold admin keys add`. */
  constructor(url: string, token?: string, options: Options = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#headers = {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(options.tenant === undefined ? {} : { "Turnfold-Tenant": options.tenant }),
    };
    this.#timeout = options.timeout ?? 35_000;
    this.#retries = options.retries ?? 4;
  }

  /**
   * Adds messages of a conversation. Each call has a key of its own, so that its attempts count
   * once, and the same words in another call count again.
   */
  add({ messages, prefer, idempotency_key, ...said }: Added): Promise<MessagesReply> {
    return this.send({
      method: "POST",
      path: "/v1/messages",
      gives: [200, 202],
      headers: { Prefer: prefer, "Idempotency-Key": idempotency_key },
      body: { ...said, messages: [...messages] },
    });
  }

  protected async send<T>(call: Call): Promise<T> {
    const response = await this.#answer(this.#request(call), call.gives);
    return (response.status === 204 ? null : await response.json()) as T;
  }

  /** The items of all pages. */
  protected async *pages<P extends { next: string | null }, T>(
    read: (cursor?: string) => Promise<P>,
    items: (page: P) => T[],
  ): AsyncGenerator<T> {
    let page = await read();
    yield* items(page);
    while (page.next !== null) {
      page = await read(page.next);
      yield* items(page);
    }
  }

  /** Connects again where the stream breaks, and continues after the newest event. */
  protected async *stream(call: Call): AsyncGenerator<SessionEvent> {
    let last = call.headers?.["Last-Event-ID"];
    let retry = 1000;
    for (;;) {
      const ending = new AbortController();
      const request = this.#request({ ...call, headers: { "Last-Event-ID": last } });
      try {
        const response = await this.#answer(request, call.gives, ending.signal);
        for await (const fields of blocks(response, ending)) {
          retry = Number(fields.get("retry") ?? retry);
          last = fields.get("id") ?? last;
          if (fields.get("event") === "gone") return;
          if (fields.get("event") === "session") {
            const session = JSON.parse(fields.get("data") ?? "") as SessionDocument;
            yield { id: last ?? "", session };
          }
        }
      } finally {
        ending.abort();
      }
      await sleep(retry);
    }
  }

  /** An export, line by line. Throws ReplyError where it breaks off: it is not whole then. */
  protected async *lines(call: Call): AsyncGenerator<string> {
    const ending = new AbortController();
    const unanswered = setTimeout(() => ending.abort(), PIECE);
    let rest = "";
    let line = "";
    try {
      const response = await this.#answer(this.#request(call), call.gives, ending.signal);
      clearTimeout(unanswered);
      for await (const text of texts(response, ending, PIECE)) {
        const whole = (rest + text).split("\n");
        rest = whole.pop() ?? "";
        for (line of whole) yield line;
      }
    } finally {
      clearTimeout(unanswered);
      ending.abort();
    }
    if (!line.startsWith('{"kind":"end",')) {
      throw new ReplyError("the export broke off; what came is not whole");
    }
  }

  /** The response, after retries. */
  async #answer(request: Request, gives: number[], signal?: AbortSignal): Promise<Response> {
    let wait = FIRST_WAIT;
    for (let left = this.#retries; ; left -= 1) {
      let asked: number | undefined;
      try {
        const within = signal ?? AbortSignal.timeout(this.#timeout);
        const response = await fetch(request.clone(), { signal: within });
        if (gives.includes(response.status)) return response;
        if (left === 0 || !RETRIED.includes(response.status)) throw await StatusError.of(response);
        asked = seconds(response.headers.get("retry-after"));
        await response.body?.cancel();
      } catch (error) {
        if (error instanceof StatusError) throw error;
        if (left === 0) throw new UnreachableError(unanswered(request, error), { cause: error });
      }
      await sleep(Math.min(asked ?? wait * (0.5 + Math.random() / 2), LONGEST_WAIT));
      wait *= 2;
    }
  }

  #request(call: Call): Request {
    const url = new URL(this.#url + call.path);
    for (const [name, value] of defined(call.query)) {
      url.searchParams.set(name, text(value instanceof Date ? value.toISOString() : String(value)));
    }
    const headers = new Headers(this.#headers);
    for (const [name, value] of defined(call.headers)) headers.set(name, text(String(value)));
    const records = call.records && Array.from(call.records, json);
    if (records || call.body !== undefined) {
      headers.set("Content-Type", records ? "application/x-ndjson" : "application/json");
      // with it a write can be sent twice; several records need none: each has an id
      if (!headers.has("Idempotency-Key") && (!records || records.length === 1)) {
        headers.set("Idempotency-Key", crypto.randomUUID());
      }
    }
    const body = records?.join("\n") ?? (call.body === undefined ? null : json(call.body));
    return new Request(url, { method: call.method, headers, body });
  }
}

/** An id as one segment of a path. Browsers and Node resolve "." and "..", even when escaped. */
export function inPath(id: string): string {
  if (id === "." || id === "..") throw new TypeError(`no URL can hold the id ${id}`);
  return encodeURIComponent(text(id));
}

/** Throws ClientError for half of a surrogate pair: a URL would replace it, JSON escape it. */
function text(value: string): string {
  if (/\p{Surrogate}/u.test(value)) {
    throw new ClientError("half of a surrogate pair is no text, so nothing was sent");
  }
  return value;
}

function json(value: unknown): string {
  return JSON.stringify(value, (name: string, part: unknown) => {
    text(name);
    return typeof part === "string" ? text(part) : part;
  });
}

function defined<T>(values: Record<string, T | undefined> = {}): [string, T][] {
  return Object.entries(values).filter((entry): entry is [string, T] => entry[1] !== undefined);
}

function seconds(text: string | null): number | undefined {
  return text !== null && /^\d+$/.test(text) ? Number(text) * 1000 : undefined;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}

function unanswered(request: Request, error: unknown): string {
  const { origin, pathname } = new URL(request.url);
  return (
    `${request.method} ${pathname}: no answer from ${origin} (${error}): ` +
    "check the address, and that `turnfold serve` runs there; then call again"
  );
}

/** The fields of each block of an event stream, until it ends, breaks off or falls silent. */
async function* blocks(
  response: Response,
  ending: AbortController,
): AsyncGenerator<Map<string, string>> {
  let rest = "";
  for await (const text of texts(response, ending, SILENCE)) {
    const parts = (rest + text).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) yield new Map(part.split("\n").map(field));
  }
}

/** A body's text, until it ends, breaks off or falls silent for so many milliseconds. */
async function* texts(
  response: Response,
  ending: AbortController,
  longest: number,
): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const silence = setTimeout(() => ending.abort(), longest);
    const { done, value } = await reader.read().catch(() => ({ done: true, value: "" }));
    clearTimeout(silence);
    if (done) return;
    yield value!;
  }
}

function field(line: string): [string, string] {
  const at = line.indexOf(":");
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
}
