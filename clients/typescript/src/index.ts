/** A client of Turnfold's HTTP API, for Node 20 and browsers (README.md). */

export { Turnfold } from "./client.js";
export * from "./errors.js";
export type { Added, InputRecord, Moment, Options, Records, SessionEvent } from "./sender.js";
export type * from "./types.js";
