"""The model extractor: groups of turns are sent to a model and become write plans
(docs/extract.md).

Pure: `debounce`, `prompted_memory`, `answers`, `plans`, `prompt`. HTTP: `client` with `budget`,
`completion` over the SDK. `extractor` creates the record of a group; `driver` is the loop
over a turn log: `history_log` or `kafka_log`. `background` runs it in a thread of another process.
"""
