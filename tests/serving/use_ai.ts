/** Uses the middleware with the real `ai` package and a scripted model; says what it found as JSON. */

import { generateText, simulateReadableStream, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Turnfold, UnreachableError } from "turnfold-client";
import { turnfoldMemory } from "turnfold-client/ai";
import { z } from "zod";

declare const process: { argv: string[]; stdout: { write(text: string): void } };

type Generated = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
type Part =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;

const [url] = process.argv.slice(2) as [string];
const turnfold = new Turnfold(url);
const user_id = "ai-user";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const stop = { unified: "stop", raw: "stop" } as const;

function says(text: string): Generated {
  return { content: [{ type: "text", text }], finishReason: stop, usage, warnings: [] };
}

function scripted(...answers: Generated[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({ doGenerate: answers });
}

function remembering(model: MockLanguageModelV4, session_id: string, options: object = {}) {
  const middleware = turnfoldMemory(turnfold, { user_id, session_id, ...options });
  return wrapLanguageModel({ model, middleware });
}

async function turns(session_id: string) {
  const { conversations = [] } = await turnfold.session(session_id);
  return conversations.map((one) => [one.user_input, one.agent_answer, one.status]);
}

function systems(model: MockLanguageModelV4, call: number): string[] {
  const prompt = model.doGenerateCalls[call]?.prompt ?? [];
  return prompt.flatMap((message) => (message.role === "system" ? [message.content] : []));
}

// a chat, and another one that knows of it
const first = scripted(says("Noted."));
await generateText({ model: remembering(first, "ai-1"), instructions: "Be brief.", prompt: "I live in Leeds." });
const second = scripted(says("In Leeds."));
const told = await generateText({
  model: remembering(second, "ai-2"),
  instructions: "Be brief.",
  messages: [
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hello!" },
    { role: "user", content: [{ type: "text", text: "Where do I live?" }] },
  ],
});

// tools, in several steps
const call = { type: "tool-call", toolCallId: "c1", toolName: "weather", input: '{"city":"Leeds"}' } as const;
const third = scripted(
  { content: [call], finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage, warnings: [] },
  says("12 degrees."),
);
await generateText({
  model: remembering(third, "ai-3"),
  prompt: "Is it cold?",
  stopWhen: stepCountIs(3),
  tools: {
    weather: tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => ({ city, degrees: 12 }),
    }),
  },
});
const [asked] = (await turnfold.session("ai-3")).conversations ?? [];
const task = await turnfold.task(asked?.task_id ?? "", { session_id: "ai-3" });

// a stream
const chunks: Part[] = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "In " },
  { type: "text-delta", id: "t", delta: "Leeds." },
  { type: "text-end", id: "t" },
  { type: "finish", finishReason: stop, usage },
];
const streaming = new MockLanguageModelV4({
  doStream: async () => ({ stream: simulateReadableStream({ chunks }) }),
});
let streamed = "";
for await (const text of streamText({ model: remembering(streaming, "ai-4"), prompt: "And now?" }).textStream) {
  streamed += text;
}

// streams that are broken off: by who reads, by the signal, by an error
const slowly = () =>
  new MockLanguageModelV4({
    doStream: async () => ({
      stream: simulateReadableStream({ chunks, initialDelayInMs: 0, chunkDelayInMs: 150 }),
    }),
  });
const { stream } = await remembering(slowly(), "ai-7").doStream({
  prompt: [{ role: "user", content: [{ type: "text", text: "And?" }] }],
});
const reader = stream.getReader();
while ((await reader.read()).value?.type !== "text-delta");
await reader.cancel();
const abort = new AbortController();
const aborted = streamText({ model: remembering(slowly(), "ai-8"), prompt: "And?", abortSignal: abort.signal });
for await (const text of aborted.textStream) if (text) abort.abort();
const breaks = new MockLanguageModelV4({
  doStream: async () => {
    const left = chunks.slice(0, 3);
    return {
      stream: new ReadableStream<Part>({
        pull(controller) {
          const part = left.shift();
          if (part === undefined) controller.error(new Error("the line is broken"));
          else controller.enqueue(part);
        },
      }),
    };
  },
});
const broken = streamText({ model: remembering(breaks, "ai-9"), prompt: "And?", maxRetries: 0, onError() {} });
await broken.consumeStream();
const answers = async (session: string): Promise<string> => {
  for (let left = 100; left > 0; left--) {
    const { conversations } = await turnfold.session(session);
    const answer = conversations?.at(-1)?.agent_answer;
    if (answer) return answer;
    await new Promise((again) => setTimeout(again, 50));
  }
  return "none";
};
const cut = [await answers("ai-7"), await answers("ai-8"), await answers("ai-9")];

// without a context; and a server that is away
const plain = scripted(says("Yes."));
await generateText({ model: remembering(plain, "ai-5", { max_tokens: 0 }), prompt: "Are you there?" });
const nobody = new Turnfold("http://127.0.0.1:9", undefined, { retries: 0 });
const away = (options: object) =>
  wrapLanguageModel({
    model: scripted(says("All the same.")),
    middleware: turnfoldMemory(nobody, { user_id, session_id: "ai-6", ...options }),
  });
const thrown = await generateText({ model: away({}), prompt: "x", maxRetries: 0 }).catch((error: unknown) => error);
const errors: string[] = [];
const onError = (error: Error) => void errors.push(error.name);
const answer = await generateText({ model: away({ onError }), prompt: "x" });

process.stdout.write(JSON.stringify({
  first: systems(first, 0),
  second: systems(second, 0),
  told: told.text,
  chats: [await turns("ai-1"), await turns("ai-2"), await turns("ai-3"), await turns("ai-4"), await turns("ai-5")],
  task: JSON.stringify(task),
  streamed,
  cut,
  plain: systems(plain, 0),
  thrown: thrown instanceof UnreachableError || String(thrown),
  errors,
  answer: answer.text,
}));
