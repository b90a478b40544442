"""The model extractor: turns gathered to groups, one request each, write plans (docs/extract.md).

Pure: `groups`, `known`, `answers`, `plans`, `prompt`. Towards the endpoint: `client` with `breaker`
and `budget`, `completion` over the SDK. `maker` makes a group's record; `driver` is the one loop
that asks, over a log: `server` (a history) or `stream` (Kafka). `beside` runs it beside a process.
"""
