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
        24.0, "Hours without a turn after which a session is closed as expired.", 0.01, 87_600
    )
    max_intents: int = _rule(10, "Maximum recent intents of a SessionContext.")
    max_conversations: int = _rule(20, "Maximum conversations of a session; the newest are kept.")
    max_running: int = _rule(64, "Maximum turns or tasks of a session that have not ended.")
    max_memory_items: int = _rule(200, "Maximum items of a session's memory.")
    max_candidates: int = _rule(100, "Maximum observations of a session below their threshold.")
    showings_needed: int = _rule(3, "Different turns needed to show a repeated observation.")
    max_evidence: int = _rule(
        20, "Maximum evidence event ids of an item or revision; the newest are kept."
    )
    # tasks
    max_iteration: int = _rule(10, "Iteration limit of a task that does not set its own.")
    max_recursions: int = _rule(200, "Maximum recursions kept whole in a task's document.")
    max_waiting_results: int = _rule(64, "Maximum tool results of a task that wait for their call.")
    max_plan_steps: int = _rule(100, "Maximum steps of a plan.")
    max_short_term: int = _rule(50, "Maximum entries of a task's short-term memory.")
    stalled_after: int = _rule(3, "Equal recursions in a row after which a task is stalled.", 2)
    step_errors: int = _rule(3, "Errors in a row after which a step fails.")
    # long-term memory
    tidy_first: int = _rule(
        10, "Number of a user's plans before the first tidying of equal states."
    )
    tidy_every: int = _rule(200, "Number of a user's plans between two tidyings.")
    max_tidied: int = _rule(200, "Maximum states closed by one tidying.")
    # affect
    max_moments: int = _rule(64, "Maximum moments kept to fold again when a late one arrives.")
    baseline_halflife_hours: float = _rule(
        24.0, "Half-life of the mood's baseline, in hours.", 0.01, 87_600
    )
    shock_halflife_hours: float = _rule(
        1.0, "Half-life of a minimal shock, in hours.", 0.01, 87_600
    )
    shock_halflife_range_hours: float = _rule(
        23.0, "Extra half-life of a maximal shock, in hours.", 0, 87_600
    )
    shock_weight: float = _rule(0.6, "Weight of a moment in a minimal shock.", 0, 1)
    shock_weight_range: float = _rule(0.3, "Extra weight of a moment in a maximal shock.", 0, 1)
    # learners
    mastery_halflife_days: float = _rule(
        30.0, "Half-life of an answer's weight, in days.", 0.1, 3_650
    )
    mastery_days: int = _rule(
        360, "Maximum age of an answer that counts, in days before the latest."
    )
    weak_below: float = _rule(0.5, "Mastery below this value is weak.", 0, 1)
    strong_from: float = _rule(0.8, "Mastery from this value on is strong.", 0, 1)
    max_topics: int = _rule(500, "Maximum topics of a learner; the newest are kept.")
    uses_needed: int = _rule(3, "Uses needed until an artifact or difficulty is a preference.")
    uses_share: float = _rule(0.5, "Share of all uses that it also needs.", 0, 1)

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
