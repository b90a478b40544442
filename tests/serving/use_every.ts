/** Calls each method of the client with what the test says; prints the status of each as JSON. */

import { StatusError, Turnfold } from "turnfold-client";

declare const process: { argv: string[]; stdout: { write(text: string): void } };

type Call = { name: string; given: unknown[] };

const [url, calls] = process.argv.slice(2) as [string, string];
const turnfold = new Turnfold(url) as unknown as Record<string, (...given: unknown[]) => unknown>;
const outcomes: Record<string, number> = {};
for (const { name, given } of JSON.parse(calls) as Call[]) {
  try {
    const reply = turnfold[name]!(...given);
    await (reply instanceof Promise ? reply : (reply as AsyncGenerator).next());
    outcomes[name] = 200;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    outcomes[name] = error.status;
  }
}
process.stdout.write(JSON.stringify(outcomes));
