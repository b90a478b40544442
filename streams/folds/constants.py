"""The caps and constants of the memory rules (docs/rules.md), with their defaults.

One set a process: `use` is called before the first record is folded or read, as code is loaded
before it runs (docs/laws.md, Deterministic). A history that was folded under other constants names
them, so that whoever goes on with it, or reads it, uses the same.
"""

from collections.abc import Mapping
from math import nan
from typing import Any, NamedTuple

from schemas.time import HOUR

Number = int | float


class Rule(NamedTuple):
    """What a constant is unless it is set, and what it may be. One that is whole by default stays
    so."""

    default: Number
    about: str
    low: Number
    high: Number


def _rule(default: Number, about: str, low: Number = 1, high: Number = 100_000) -> Any:
    return Rule(default, about, low, high)


class Constants:
    """Each attribute is a constant by the name it is set by."""

    # sessions
    session_expiry_hours: float = _rule(
        24.0, "A session without a turn for so long is closed: expired.", 0.01, 87_600
    )
    max_intents: int = _rule(10, "Recent intents of a SessionContext.")
    max_conversations: int = _rule(20, "Newest conversations a session keeps.")
    max_running: int = _rule(64, "Turns or tasks of a session that have not ended.")
    max_memory_items: int = _rule(200, "Items of a session's memory.")
    max_candidates: int = _rule(100, "Observations of a session below their threshold.")
    showings_needed: int = _rule(3, "Different turns that make an observation memory.")
    max_evidence: int = _rule(20, "Newest evidence event ids of an item or revision.")
    # tasks
    max_iteration: int = _rule(10, "Iterations of a task that does not say its own limit.")
    max_recursions: int = _rule(200, "Recursions a task's document keeps whole.")
    max_waiting_results: int = _rule(64, "Tool results of a task that wait for their call.")
    max_plan_steps: int = _rule(100, "Steps of a plan.")
    max_short_term: int = _rule(50, "Entries of a task's short-term memory.")
    stalled_after: int = _rule(3, "Equal recursions in a row that flag a task as stalled.", 2)
    step_errors: int = _rule(3, "Errors in a row that fail a step.")
    # long-term memory
    tidy_first: int = _rule(10, "The plan of a user after which equal states are tidied first.")
    tidy_every: int = _rule(200, "Plans of a user between two tidyings.")
    max_tidied: int = _rule(200, "States one tidying closes.")
    # affect
    max_moments: int = _rule(64, "Newest moments that are folded anew when a late one comes.")
    baseline_halflife_hours: float = _rule(24.0, "Of the mood's baseline.", 0.01, 87_600)
    shock_halflife_hours: float = _rule(1.0, "Of the slightest shock.", 0.01, 87_600)
    shock_halflife_range_hours: float = _rule(
        23.0, "By how much the gravest shock's is longer.", 0, 87_600
    )
    shock_weight: float = _rule(0.6, "Share of a moment that the slightest shock takes.", 0, 1)
    shock_weight_range: float = _rule(0.3, "By how much the gravest shock's is more.", 0, 1)
    # learners
    mastery_halflife_days: float = _rule(30.0, "Of an answer's weight.", 0.1, 3_650)
    mastery_days: int = _rule(360, "Answers that are older than the latest by more do not count.")
    weak_below: float = _rule(0.5, "Mastery below it is weak.", 0, 1)
    strong_from: float = _rule(0.8, "Mastery from it on is strong.", 0, 1)
    max_topics: int = _rule(500, "Newest topics of a learner.")
    uses_needed: int = _rule(3, "Uses that make an artifact or difficulty a preference.")
    uses_share: float = _rule(0.5, "Share of all uses it needs besides.", 0, 1)

    session_expiry: int
    """`session_expiry_hours` in microseconds, which each turn asks for."""


RULES: dict[str, Rule] = {
    name: rule for name, rule in vars(Constants).items() if isinstance(rule, Rule)
}

CONSTANTS = Constants()
"""This process's."""


def use(changes: Mapping[str, Any]) -> None:
    """Sets constants by name, the others to their defaults, for the rest of the process.

    Raises ValueError as `checked` does; nothing is set then.
    """
    given = checked(changes)
    for name, rule in RULES.items():
        setattr(CONSTANTS, name, given.get(name, rule.default))
    CONSTANTS.session_expiry = int(CONSTANTS.session_expiry_hours * HOUR)


def changed() -> dict[str, Number]:
    """Those that are not as they are by default."""
    return {
        name: getattr(CONSTANTS, name)
        for name, rule in RULES.items()
        if getattr(CONSTANTS, name) != rule.default
    }


def checked(changes: Mapping[str, Any]) -> dict[str, Number]:
    """Constants by name, also as a person writes their values ("20").

    Raises ValueError naming the constant and what it may be.
    """
    return {name: _checked(name, value) for name, value in changes.items()}


def _checked(name: str, value: Any) -> Number:
    rule = RULES.get(name)
    if rule is None:
        raise ValueError(f"{name}: no such constant; there are {', '.join(sorted(RULES))}")
    low, high, is_whole = rule.low, rule.high, type(rule.default) is int
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = nan
    if isinstance(value, bool) or not low <= number <= high or (is_whole and number % 1):
        what = "a whole number" if is_whole else "a number"
        raise ValueError(f"{name}: expected {what} from {low:g} to {high:g}, not {value!r}")
    return int(number) if is_whole else number


use({})
