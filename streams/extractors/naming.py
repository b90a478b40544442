"""Extractors by name.

To add one: a module with `VERSION` and `extract(turn, affect)`, and a line in `MODULES`.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

Extract = Callable[[Any], dict[str, Any] | None]
"""A turn to the write plan that it gives rise to, as JSON, or None."""

MODULES = {"rules": "rules"}
"""Name -> module of this folder, loaded when turns are extracted by it."""
OURS = tuple(MODULES)
"""Those whose plans are made again in a generation, not replayed."""
NAMES = ("none", *OURS)
MODEL = "llm"
"""What is asked when turns are folded; they are not extracted by it while they are."""


def check_choice(name: str | None) -> str | None:
    """The name as it is, for settings. Raises ValueError for one that there is not."""
    if name is not None and name not in (*NAMES, MODEL):
        raise ValueError(f"unknown extractor {name!r}: use one of {', '.join((*NAMES, MODEL))}")
    return name


def in_process(name: str) -> str:
    """What extracts while turns are folded. Where a model is asked afterwards, the rules come
    first: its plans replace theirs."""
    if name == MODEL:
        return OURS[0]
    return name if name in NAMES else NAMES[0]


def named(name: str) -> Extract | None:
    """The extractor of that name; None for "none"."""
    if name == "none":
        return None
    from streams.extractors import affect

    return partial(_module(name).extract, affect=affect.estimate)


def version_of(name: str) -> str | None:
    """The version of an extractor of ours; None for others."""
    if name not in MODULES:
        return None
    version: str = _module(name).VERSION
    return version


def _module(name: str) -> Any:
    return import_module(f"streams.extractors.{MODULES[name]}")
