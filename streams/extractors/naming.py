"""Extractors by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

Extract = Callable[[Any], dict[str, Any] | None]
"""A turn to the write plan that it gives rise to, as JSON, or None."""

OURS = ("rules",)
"""Those whose plans are made anew in a generation, not replayed."""
NAMES = ("none", *OURS)
MODEL = "llm"
"""What a run asks when all is folded; turns are not extracted by it while they are folded."""


def named(name: str) -> Extract | None:
    """The extractor of that name; None for "none"."""
    if name == "none":
        return None
    from streams.extractors import affect, rules

    return partial({"rules": rules.extract}[name], affect=affect.estimate)


def version_of(name: str) -> str | None:
    """The version of an extractor of ours; None for others."""
    if name not in OURS:
        return None
    from streams.extractors import rules

    return {"rules": rules.VERSION}[name]
