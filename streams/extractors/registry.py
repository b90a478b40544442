"""Extractors by name.

To add one: a module with `VERSION` and `extract(turn, affect)`, and a line in `MODULES`.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

Plan = dict[str, Any]


class Extractor(NamedTuple):
    """Finds memory in turns. `extract` returns a turn's write plan as JSON, or None; whatever it
    raises ends as a dead letter of the turn (`failure`)."""

    name: str
    extract: Callable[[Any], Plan | None]


MODULES = {"rules": "rules"}
"""Name -> module of this folder, loaded when turns are extracted by it."""
OURS = tuple(MODULES)
"""Those whose plans are made again in a generation, not replayed."""
NAMES = ("none", *OURS)
DEFAULT = OURS[0]
"""What finds memory in turns until another one is chosen."""
MODEL = "llm"
"""What is asked when turns are folded; they are not extracted by it while they are."""


def check_choice(name: str | None) -> str | None:
    """The name as it is, for settings. Raises ValueError for one that there is not."""
    if name is not None and name not in (*NAMES, MODEL):
        raise ValueError(f"unknown extractor {name!r}: use one of {', '.join((*NAMES, MODEL))}")
    return name


def chosen(option: str | None, stored: str | None) -> str:
    """What finds memory in turns: the extractor of an option or setting, otherwise the stored
    choice of the history or lane, otherwise `DEFAULT`. All tiers decide it here."""
    return option or stored or DEFAULT


def in_process(name: str) -> str:
    """What extracts while turns are folded. Where a model is asked afterwards, the rules come
    first: its plans replace theirs."""
    if name == MODEL:
        return OURS[0]
    return name if name in NAMES else NAMES[0]


def named(name: str) -> Extractor | None:
    """The extractor of that name; None for "none"."""
    if name == "none":
        return None
    from streams.extractors import affect

    return Extractor(name, partial(_module(name).extract, affect=affect.estimate))


def failure(name: str, turn: Any, error: Exception) -> Plan | None:
    """The plan of a turn for which an extractor raised, or returned no JSON: its error becomes a
    dead letter (extraction_failed). None where no user could have it."""
    from schemas.base import format_time
    from streams.folds.ids import make_id

    if turn.user_id is None:
        return None
    return {
        "type": "write_plan",
        "tenant": turn.tenant,
        "plan_id": make_id("plan", name, turn.tenant, turn.session_id, turn.event_id),
        "user_id": turn.user_id,
        "session_id": turn.session_id,
        "event_id": turn.event_id,
        "occurred_at": format_time(turn.occurred_at),
        "extractor": {"name": name, "version": version_of(name)},
        "extraction": {
            "event_ids": [turn.event_id],
            "error": _text(error),
        },
    }


def _text(error: Exception) -> str:
    """What can always be encoded: an error's words may have half a surrogate pair, or raise."""
    try:
        words = f"{type(error).__name__}: {error}"
    except Exception:
        words = type(error).__name__
    return words[:2000].encode("utf-8", "replace").decode()


def version_of(name: str) -> str | None:
    """The version of an extractor of ours; None for others."""
    if name not in MODULES:
        return None
    version: str = _module(name).VERSION
    return version


def _module(name: str) -> Any:
    return import_module(f"streams.extractors.{MODULES[name]}")
