"""The model extractor: groups of turns are sent to a model and become write plans
(docs/extract.md).

Pure: `groups`, `known`, `answers`, `plans`, `prompt`. HTTP: `client` with `breaker` and `budget`,
`completion` over the SDK. `maker` creates the record of a group; `driver` is the loop over a turn
log: `server` (a history) or `stream` (Kafka). `beside` runs it in a thread of another process.
"""
