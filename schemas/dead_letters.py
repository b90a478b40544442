"""Reason codes of dead letters (docs/operations.md)."""

from typing import Literal, get_args

Reason = Literal[
    "bad_json", "bad_utf8", "not_an_object", "unknown_type", "invalid", "too_large", "too_deep",
    "image", "conflicting_duplicate", "unmatched_tool_result", "too_many_waiting_results",
    "unknown_state", "unknown_preference", "kind_differs", "not_a_task", "mood_cannot_close",
    "extraction_failed",
    "null_value", "null_key", "wrong_key", "wrong_topic", "conflicting_headers", "wrong_partition",
    "bad_row", "fold_failed",
]  # fmt: skip
REASONS: tuple[Reason, ...] = get_args(Reason)
