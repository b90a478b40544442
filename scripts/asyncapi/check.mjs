// node check.mjs FILE: reads an AsyncAPI document as AsyncAPI's own parser does; fails on any error.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const ERROR = 0; // of the parser's severities; 1 is a warning, 2 and 3 are advice
const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], "utf8"));
for (const { severity, path, message } of diagnostics) {
  if (severity <= 1) console.error(`${severity === ERROR ? "error" : "warning"} ${path.join(".")}: ${message}`);
}
if (!document || diagnostics.some(({ severity }) => severity === ERROR)) process.exit(1);
const counts = [document.channels(), document.operations(), document.messages()].map((all) => all.length);
console.log("AsyncAPI: %d channels, %d operations, %d messages", ...counts);
