"""The caps and constants of the memory rules (docs/constants.md) as one immutable value.

A `Rules` travels with whatever folds or reads: `Effects.rules` for a fold, a parameter for a
document. A generation that was folded under other constants names them in its manifest, so that
whoever goes on with it, or reads it, uses the same; two generations in one process each have
their own.
"""

from collections.abc import Mapping
from math import nan
from typing import Annotated, Any, NamedTuple, get_type_hints

from schemas.row import Row, set_derived
from schemas.task_limits import MAX_ITERATION
from schemas.time import HOUR

Number = int | float


class Bounds(NamedTuple):
    """What a constant is about, and what it may be."""

    about: str
    low: Number = 1
    high: Number = 100_000


class Rules(Row, frozen=True, kw_only=True):
    """Each field is a constant by the name it is set by; one that is whole by default stays so.
    `Rules()` has the defaults; `Rules.of` checks values from outside."""

    # sessions
    session_expiry_hours: Annotated[
        float, Bounds("A session without a turn for so long is closed: expired.", 0.01, 87_600)
    ] = 24.0
    max_intents: Annotated[int, Bounds("Recent intents of a SessionContext.")] = 10
    max_conversations: Annotated[int, Bounds("Newest conversations a session keeps.")] = 20
    max_running: Annotated[int, Bounds("Turns or tasks of a session that have not ended.")] = 64
    max_memory_items: Annotated[int, Bounds("Items of a session's memory.")] = 200
    max_candidates: Annotated[int, Bounds("Observations of a session below their threshold.")] = 100
    showings_needed: Annotated[int, Bounds("Different turns that make an observation memory.")] = 3
    max_evidence: Annotated[int, Bounds("Newest evidence event ids of an item or revision.")] = 20
    # tasks
    max_iteration: Annotated[
        int, Bounds("Iterations of a task that does not say its own limit.")
    ] = MAX_ITERATION
    max_recursions: Annotated[int, Bounds("Recursions a task's document keeps whole.")] = 200
    max_waiting_results: Annotated[
        int, Bounds("Tool results of a task that wait for their call.")
    ] = 64
    max_plan_steps: Annotated[int, Bounds("Steps of a plan.")] = 100
    max_short_term: Annotated[int, Bounds("Entries of a task's short-term memory.")] = 50
    stalled_after: Annotated[
        int, Bounds("Equal recursions in a row that flag a task as stalled.", 2)
    ] = 3
    step_errors: Annotated[int, Bounds("Errors in a row that fail a step.")] = 3
    # long-term memory
    tidy_first: Annotated[
        int, Bounds("The plan of a user after which equal states are tidied first.")
    ] = 10
    tidy_every: Annotated[int, Bounds("Plans of a user between two tidyings.")] = 200
    max_tidied: Annotated[int, Bounds("States one tidying closes.")] = 200
    # affect
    max_moments: Annotated[
        int, Bounds("Newest moments that are folded anew when a late one comes.")
    ] = 64
    baseline_halflife_hours: Annotated[float, Bounds("Of the mood's baseline.", 0.01, 87_600)] = (
        24.0
    )
    shock_halflife_hours: Annotated[float, Bounds("Of the slightest shock.", 0.01, 87_600)] = 1.0
    shock_halflife_range_hours: Annotated[
        float, Bounds("By how much the gravest shock's is longer.", 0, 87_600)
    ] = 23.0
    shock_weight: Annotated[
        float, Bounds("Share of a moment that the slightest shock takes.", 0, 1)
    ] = 0.6
    shock_weight_range: Annotated[
        float, Bounds("By how much the gravest shock's is more.", 0, 1)
    ] = 0.3
    # learners
    mastery_halflife_days: Annotated[float, Bounds("Of an answer's weight.", 0.1, 3_650)] = 30.0
    mastery_days: Annotated[
        int, Bounds("Answers that are older than the latest by more do not count.")
    ] = 360
    weak_below: Annotated[float, Bounds("Mastery below it is weak.", 0, 1)] = 0.5
    strong_from: Annotated[float, Bounds("Mastery from it on is strong.", 0, 1)] = 0.8
    max_topics: Annotated[int, Bounds("Newest topics of a learner.")] = 500
    uses_needed: Annotated[
        int, Bounds("Uses that make an artifact or difficulty a preference.")
    ] = 3
    uses_share: Annotated[float, Bounds("Share of all uses it needs besides.", 0, 1)] = 0.5

    session_expiry: int = 0
    """`session_expiry_hours` in microseconds, which each turn asks for: derived, never set."""

    def __post_init__(self) -> None:
        set_derived(self, "session_expiry", int(self.session_expiry_hours * HOUR))

    @classmethod
    def of(cls, changes: Mapping[str, Any]) -> "Rules":
        """The defaults but for these constants, by name. Raises ValueError as `checked` does."""
        values: dict[str, Any] = {**checked(changes)}
        return cls(**values)

    def changed(self) -> dict[str, Number]:
        """Those that are not as they are by default."""
        values = {name: getattr(self, name) for name in CONSTANTS}
        return {name: value for name, value in values.items() if value != CONSTANTS[name].default}


class Constant(NamedTuple):
    """A constant's default, and its bounds."""

    default: Number
    about: str
    low: Number
    high: Number


def _declared() -> dict[str, Constant]:
    hints = get_type_hints(Rules, include_extras=True)
    defaults = Rules()
    return {
        name: Constant(getattr(defaults, name), *bounds)
        for name, hint in hints.items()
        for bounds in getattr(hint, "__metadata__", ())
    }


CONSTANTS = _declared()
"""Every constant by name, in the order of `Rules`."""


def checked(changes: Mapping[str, Any]) -> dict[str, Number]:
    """Constants by name, also as a person writes their values ("20").

    Raises ValueError naming the constant and what it may be.
    """
    return {name: _checked(name, value) for name, value in changes.items()}


def _checked(name: str, value: Any) -> Number:
    constant = CONSTANTS.get(name)
    if constant is None:
        raise ValueError(f"{name}: no such constant; there are {', '.join(sorted(CONSTANTS))}")
    low, high, is_whole = constant.low, constant.high, type(constant.default) is int
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = nan
    if isinstance(value, bool) or not low <= number <= high or (is_whole and number % 1):
        kind = "a whole number" if is_whole else "a number"
        raise ValueError(f"{name}: expected {kind} from {low:g} to {high:g}, not {value!r}")
    return int(number) if is_whole else number
