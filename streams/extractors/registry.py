"""Extractors by name: `rules`, and those of installed packages.

A package adds one by an entry point of the group `turnfold.extractors`: its value is a module with
`VERSION` and `extract(turn, affect)`.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple

from streams.errors import ConfigurationError

Plan = dict[str, Any]


class Extractor(NamedTuple):
    """Finds memory in turns. `extract` returns a turn's write plan as JSON, or None; whatever it
    raises ends as a dead letter of the turn (`failure`)."""

    name: str
    extract: Callable[[Any], Plan | None]


NONE = "none"
DEFAULT = "rules"
"""The extractor until another one is chosen."""
MODEL = "llm"
"""A model, which is asked after turns are folded, not while."""
OPERATOR, MESSAGES = "operator", "messages"
"""Authors of plans besides extractors: a correction through the API, and an edited or deleted
message."""
OWN_WORDS = (DEFAULT, OPERATOR, MESSAGES)
"""Authors of plans that rest on the user's words or a person's correction alone."""
OWN = {DEFAULT: "streams.extractors.rules"}
BUILT_IN = (NONE, *OWN, MODEL)
GROUP = "turnfold.extractors"
"""Entry points of other packages' extractors."""


@cache
def modules() -> dict[str, str]:
    """Name -> module of each extractor that runs while turns are folded. A generation makes their
    plans again. Raises ConfigurationError for an entry point with the name of another extractor."""
    from importlib.metadata import entry_points  # slow to load, and reads all packages

    extractors = dict(OWN)
    for entry in entry_points(group=GROUP):
        if entry.name in (*BUILT_IN, *extractors):
            package = entry.dist.name if entry.dist else entry.value
            raise ConfigurationError(
                f"package {package}: the name of its extractor {entry.name!r} is taken; rename "
                f"its entry point of the group {GROUP}, or uninstall it"
            )
        extractors[entry.name] = entry.value
    return extractors


def choices(model: bool = True) -> tuple[str, ...]:
    """All names that may be chosen; without `model`, those that run while turns are folded."""
    return (NONE, *modules(), *([MODEL] if model else []))


def is_choice(name: str, model: bool = True) -> bool:
    """Whether the name is one of `choices`. Looks for packages only if it is not our own."""
    return (name in BUILT_IN or name in modules()) and (model or name != MODEL)


def check_choice(name: str | None, model: bool = True) -> str | None:
    """Returns the name unchanged. Raises ValueError for an unknown one."""
    if name is not None and not is_choice(name, model):
        raise ValueError(f"unknown extractor {name!r}: use one of {', '.join(choices(model))}")
    return name


def chosen(option: str | None, stored: str | None) -> str:
    """What finds memory in turns: the extractor of an option or setting, otherwise the stored
    choice of the history or lane, otherwise `DEFAULT`. All tiers decide it here."""
    return option or stored or DEFAULT


def in_process(name: str) -> str:
    """What extracts while turns are folded. Where a model is asked afterwards, the rules come
    first: its plans replace theirs."""
    if name == MODEL:
        return DEFAULT
    return name if is_choice(name) else NONE


def named(name: str) -> Extractor | None:
    """The extractor of that name; None for "none"."""
    if name == NONE:
        return None
    from streams.extractors import affect

    return Extractor(name, partial(module(name).extract, affect=affect.estimate))


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
    """The version of an extractor that runs while turns are folded; None for others."""
    if name in (NONE, MODEL) or not is_choice(name):
        return None
    version: str = module(name).VERSION
    return version


@cache
def module(name: str) -> Any:
    """Module of an extractor. Raises ConfigurationError if it cannot be loaded or lacks a part."""
    if not is_choice(name):
        raise ConfigurationError(f"unknown extractor {name!r}: use one of {', '.join(choices())}")
    try:
        extractor = import_module(OWN.get(name) or modules()[name])
    except Exception as error:
        raise ConfigurationError(f"extractor {name!r}: {type(error).__name__}: {error}") from error
    lacking = [field for field in ("VERSION", "extract") if not hasattr(extractor, field)]
    if lacking:
        raise ConfigurationError(
            f"extractor {name!r}: module {extractor.__name__} has no {' and no '.join(lacking)}"
        )
    return extractor
