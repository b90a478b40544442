/** Uses the TypeScript client as a program would; says what it found as JSON. */

import { StatusError, Turnfold, UnreachableError } from "turnfold-client";
import type { Recursion, Turn } from "turnfold-client";

declare const process: { argv: string[]; stdout: { write(text: string): void } };

const [url, behindFaults, brokenOff] = process.argv.slice(2) as [string, string, string];
const turnfold = new Turnfold(url);
const user_id = "ts-user";
const session_id = "ts/session 会话?#";

function turn(event_id: string): Turn {
  const occurred_at = new Date().toISOString();
  return { type: "turn", event_id, session_id, user_id, occurred_at, user_input: `tea ${event_id}` };
}

async function caught(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => null,
    (error: unknown) => {
      if (error instanceof StatusError) return error.problem;
      return error instanceof UnreachableError ? error.name : String(error);
    },
  );
}

const step: Recursion = {
  type: "recursion", session_id, task_id: "ts-task", trace_id: "ts-trace", iteration_index: 0,
  occurred_at: "2026-03-01T09:30:00Z", action: { action_type: "ANSWER", output: {} },
};
const posted = await turnfold.postRecords([turn("ts-1"), turn("ts-2"), step]);
const one = await turnfold.postRecords([turn("ts-3")], { prefer: "wait=5" });

// the history is written within seconds of the rows
let listed: string[] = [];
for (let left = 100; listed.length < 3 && left > 0; left -= 1) {
  await new Promise((done) => setTimeout(done, 200));
  listed = [];
  try {
    for await (const each of turnfold.iterTimeline(session_id, { limit: 1 })) listed.push(each.event_id);
  } catch (error) {
    if (!(error instanceof StatusError && error.status === 404)) throw error;
  }
}

const followed: number[] = [];
for await (const event of turnfold.events(session_id)) {
  followed.push(event.session.conversations?.length ?? 0);
  if (followed.length === 2) break;
  await turnfold.postRecords([turn("ts-4")]);
}

const context = await turnfold.updateSession({ session_id, topic: "数学", intent: "quiz" });
const flaky = new Turnfold(behindFaults, "unused", { retries: 4 });
const profile = await flaky.updateUser({ user_id, event: { intent: "quiz", topic: "数学", artifact: "quiz_set" } });
const summary = await turnfold.memorySummary({ session_id, user_id, accept_language: "zh" });
const hits = (await turnfold.search({ q: "tea", user_id, limit: 3 })).hits;
const question = { role: "user", content: "Where do I live?" } as const;
const answer = { role: "assistant", content: "In Oslo." } as const;
const chat = { user_id, session_id: "ts-chat" };
const added = await flaky.add({ user_id, session_id: "ts-flaky", messages: [question, answer] });
const asked = await turnfold.add({ ...chat, messages: new Set([question]) });
const answered = await turnfold.add({ ...chat, messages: [answer], prefer: "wait=20" });
const asOfNow = await turnfold.session("ts-chat", { as_of: new Date() });
const recalled = await turnfold.context(user_id, { q: "Where do I live?" });
const smell = { role: "user", content: [{ type: "smell" }] } as const;
const bad = await caught(turnfold.add({ user_id, messages: [smell] }));
const half = "x\ud83d";
const halves = [
  () => turnfold.add({ user_id, messages: [{ role: "user", content: half }] }),
  () => turnfold.add({ user_id: half, messages: [question] }),
  () => turnfold.postRecords([{ ...turn("ts-half"), user_input: half }]),
  () => turnfold.postRecords([{ ...turn("ts-half"), [half]: 1 } as Turn]),
  () => turnfold.session(half),
  () => turnfold.search({ q: half }),
  () => turnfold.memorySummary({ user_id, accept_language: half }),
];
const halfPairs = await Promise.all(halves.map((call) => caught((async () => call())())));
const exported: string[] = [];
for await (const line of turnfold.exportUser(user_id)) exported.push(JSON.parse(line).kind);
const exportOf = async (client: Turnfold) => { for await (const _ of client.exportUser("ts-nobody")); };
const nobody = new Turnfold("http://127.0.0.1:9", undefined, { retries: 0 });

process.stdout.write(JSON.stringify({
  posted: posted.counts,
  one: one.counts,
  listed,
  followed,
  context,
  profile,
  summary,
  hits: hits.length,
  session: (await turnfold.session(session_id)).session_id,
  task: (await turnfold.task("ts-task", { session_id })).global.task_id,
  mood: await caught(turnfold.mood("ts-nobody")),
  then: await caught(turnfold.session(session_id, { as_of: new Date("2020-01-01") })),
  missing: await caught(turnfold.session("nowhere")),
  dots: await caught((async () => turnfold.session(".."))()),
  nobody: await caught(nobody.healthz()),
  added: added.counts,
  asked: asked.turns.map((one) => one.status),
  answered: answered.turns.map((one) => one.status),
  as_of_now: asOfNow.conversations?.map((one) => one.agent_answer),
  recalled: recalled.text,
  bad,
  half_pairs: halfPairs,
  exported,
  unknown: await caught(exportOf(turnfold)),
  broken: await caught(exportOf(new Turnfold(brokenOff))),
  ready: (await turnfold.readyz()).ready,
}));
