/** Memory for the AI SDK (`ai`, version 7): a middleware of its language models (README.md). */

import type { LanguageModelMiddleware } from "ai";

import type { Turnfold } from "./client.js";
import { ClientError } from "./errors.js";
import type { Message } from "./types.js";

type Wrapped = Parameters<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>[0];
type Prompt = Wrapped["params"]["prompt"];
type Content = Awaited<ReturnType<Wrapped["doGenerate"]>>["content"];
type StreamPart = Awaited<ReturnType<Wrapped["doStream"]>>["stream"] extends ReadableStream<infer P>
  ? P
  : never;
type ToolOutput = Extract<
  Extract<Prompt[number], { role: "tool" }>["content"][number],
  { type: "tool-result" }
>["output"];
type Tail = (Message | object)[];

/**
 * `user_id`, `session_id`: whose conversation it is, and which. `max_tokens`: budget of what is
 * known of the user (default 800; 0: nothing is put into the prompt). `onError`: called where
 * memory cannot be asked or told, and the model answers all the same; without it the call throws.
 */
export interface MemoryOptions {
  user_id: string;
  session_id: string;
  max_tokens?: number;
  onError?: (error: ClientError) => void;
}

/**
 * Puts what is known of the user into the prompt, as a system message behind yours, and adds what
 * the user asked, tools returned and the model answered. Throws ClientError.
 */
export function turnfoldMemory(turnfold: Turnfold, options: MemoryOptions): LanguageModelMiddleware {
  const { user_id, session_id, max_tokens = 800, onError } = options;

  async function attempt<T>(call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (error) {
      if (!(error instanceof ClientError) || onError === undefined) throw error;
      onError(error);
      return undefined;
    }
  }

  async function add(messages: Tail): Promise<void> {
    if (messages.length > 0) await attempt(turnfold.add({ user_id, session_id, messages }));
  }

  return {
    async transformParams({ params }) {
      if (max_tokens === 0) return params;
      const q = question(params.prompt).slice(0, 2000) || undefined;
      const context = await attempt(turnfold.context(user_id, { q, session_id, max_tokens }));
      if (!context?.text) return params;
      const first = params.prompt.findIndex((message) => message.role !== "system");
      const at = first < 0 ? params.prompt.length : first;
      const known = { role: "system" as const, content: context.text };
      return { ...params, prompt: [...params.prompt.slice(0, at), known, ...params.prompt.slice(at)] };
    },

    async wrapGenerate({ doGenerate, params }) {
      await add(asked(params.prompt));
      const result = await doGenerate();
      await add(answered(result.content));
      return result;
    },

    async wrapStream({ doStream, params }) {
      await add(asked(params.prompt));
      const result = await doStream();
      return { ...result, stream: heard(result.stream, params.abortSignal, (content) => add(answered(content))) };
    },
  };
}

/**
 * The same stream; `tell` hears once what was said, at its end or where it is broken off: by the
 * signal, by an error, or by who reads it.
 */
function heard(
  stream: ReadableStream<StreamPart>,
  signal: AbortSignal | undefined,
  tell: (content: Content) => Promise<void>,
): ReadableStream<StreamPart> {
  const reader = stream.getReader();
  const content: Content = [];
  let told: Promise<void> | undefined;
  const end = () => (told ??= tell(content));
  const brokenOff = () => end().catch(() => undefined); // why it was broken off is thrown
  signal?.addEventListener("abort", () => void brokenOff(), { once: true });
  return new ReadableStream<StreamPart>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(async (error: unknown) => {
        await brokenOff();
        throw error;
      });
      if (done) {
        await end();
        controller.close();
        return;
      }
      if (value.type === "text-delta") content.push({ type: "text", text: value.delta });
      if (value.type === "tool-call") content.push(value);
      controller.enqueue(value);
    },
    async cancel(reason) {
      await reader.cancel(reason);
      await brokenOff();
    },
  }, { highWaterMark: 0 });
}

/** What the user says last. */
function question(prompt: Prompt): string {
  const last = prompt.findLast((message) => message.role === "user");
  return last?.role === "user" ? textOf(last.content) : "";
}

/** What is new in a prompt: what came after the model's last word. A step of a tool loop begins
 * with the results of the step before. */
function asked(prompt: Prompt): Tail {
  const last = prompt.findLastIndex((message) => message.role === "assistant");
  return prompt.slice(last + 1).flatMap((message): Tail => {
    if (message.role === "user") {
      const content = textOf(message.content);
      return content ? [{ role: "user", content }] : [];
    }
    if (message.role !== "tool") return [];
    return message.content.flatMap((part) =>
      part.type === "tool-result"
        ? [{ role: "tool", tool_call_id: part.toolCallId, ...outputOf(part.output) }]
        : [],
    );
  });
}

/** The model's answer; a tool that its provider runs is none of ours. */
function answered(parts: Content): Tail {
  const content = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const tool_calls = parts.flatMap((part) =>
    part.type === "tool-call" && !part.providerExecuted
      ? [{ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: part.input } }]
      : [],
  );
  if (!content && tool_calls.length === 0) return [];
  return [{ role: "assistant", content, ...(tool_calls.length > 0 ? { tool_calls } : {}) }];
}

function textOf(parts: readonly { type: string; text?: string }[]): string {
  return parts.flatMap((part) => (part.type === "text" && part.text ? [part.text] : [])).join("\n");
}

function outputOf(output: ToolOutput): { content: string; status?: string } {
  switch (output.type) {
    case "text":
      return { content: output.value };
    case "error-text":
      return { content: output.value, status: "error" };
    case "json":
      return { content: JSON.stringify(output.value) };
    case "error-json":
      return { content: JSON.stringify(output.value), status: "error" };
    case "execution-denied":
      return { content: output.reason ?? "not allowed", status: "error" };
    case "content":
      return { content: textOf(output.value) };
  }
}
