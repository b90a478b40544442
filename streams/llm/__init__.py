"""The model extractor: turns gathered to groups, one request each, write plans (docs/extract.md).

Pure: `groups`, `known`, `answers`, `plans`, `prompt`. Towards the endpoint: `client` with `breaker`
and `budget`. `maker` makes a group's record; `files` and `stream` are the two shells.
"""
