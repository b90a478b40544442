"""The caps and constants of the memory rules (docs/constants.md) as one immutable value.

A fold gets them as `Effects.rules`, a document as a parameter. The manifest of a generation lists
changed constants, so that its writers and readers use the same values; two generations in one
process may differ.
"""

from collections.abc import Iterable, Mapping
from math import nan
from typing import Annotated, Any, NamedTuple, get_type_hints

from schemas.row import Row, set_derived
from schemas.task_limits import MAX_ITERATION
from schemas.time import HOUR

Number = int | float


class Bounds(NamedTuple):
    """Description and range of a constant."""

    about: str
    low: Number = 1
    high: Number = 100_000


class Rules(Row, frozen=True, kw_only=True):
    """Each field is a constant; an integer default requires an integer. `Rules()` has the defaults;
    `Rules.of` validates values."""

    # sessions
    session_expiry_hours: Annotated[
        float,
        Bounds("Hours without a turn after which a session is closed as expired.", 0.01, 87_600),
    ] = 24.0
    max_intents: Annotated[int, Bounds("Maximum recent intents of a SessionContext.")] = 10
    max_conversations: Annotated[
        int, Bounds("Maximum conversations of a session; the newest are kept.")
    ] = 20
    max_running: Annotated[
        int, Bounds("Maximum turns or tasks of a session that have not ended.")
    ] = 64
    max_memory_items: Annotated[int, Bounds("Maximum items of a session's memory.")] = 200
    max_candidates: Annotated[
        int, Bounds("Maximum observations of a session below their threshold.")
    ] = 100
    showings_needed: Annotated[
        int, Bounds("Different turns needed to show a repeated observation.")
    ] = 3
    max_evidence: Annotated[
        int, Bounds("Maximum evidence event ids of an item or revision; the newest are kept.")
    ] = 20
    # tasks
    max_iteration: Annotated[
        int, Bounds("Iteration limit of a task that does not set its own.")
    ] = MAX_ITERATION
    max_recursions: Annotated[
        int, Bounds("Maximum recursions kept whole in a task's document.")
    ] = 200
    max_waiting_results: Annotated[
        int, Bounds("Maximum tool results of a task that wait for their call.")
    ] = 64
    max_plan_steps: Annotated[int, Bounds("Maximum steps of a plan.")] = 100
    max_short_term: Annotated[int, Bounds("Maximum entries of a task's short-term memory.")] = 50
    stalled_after: Annotated[
        int, Bounds("Equal recursions in a row after which a task is stalled.", 2)
    ] = 3
    step_errors: Annotated[int, Bounds("Errors in a row after which a step fails.")] = 3
    # long-term memory
    tidy_first: Annotated[
        int, Bounds("Number of a user's plans before the first tidying of equal states.")
    ] = 10
    tidy_every: Annotated[int, Bounds("Number of a user's plans between two tidyings.")] = 200
    max_tidied: Annotated[int, Bounds("Maximum states closed by one tidying.")] = 200
    # affect
    max_moments: Annotated[
        int, Bounds("Maximum moments kept to fold again when a late one arrives.")
    ] = 64
    baseline_halflife_hours: Annotated[
        float, Bounds("Half-life of the mood's baseline, in hours.", 0.01, 87_600)
    ] = 24.0
    shock_halflife_hours: Annotated[
        float, Bounds("Half-life of a minimal shock, in hours.", 0.01, 87_600)
    ] = 1.0
    shock_halflife_range_hours: Annotated[
        float, Bounds("Extra half-life of a maximal shock, in hours.", 0, 87_600)
    ] = 23.0
    shock_weight: Annotated[float, Bounds("Weight of a moment in a minimal shock.", 0, 1)] = 0.6
    shock_weight_range: Annotated[
        float, Bounds("Extra weight of a moment in a maximal shock.", 0, 1)
    ] = 0.3
    # learners
    mastery_halflife_days: Annotated[
        float, Bounds("Half-life of an answer's weight, in days.", 0.1, 3_650)
    ] = 30.0
    mastery_days: Annotated[
        int, Bounds("Maximum age of an answer that counts, in days before the latest.")
    ] = 360
    weak_below: Annotated[float, Bounds("Mastery below this value is weak.", 0, 1)] = 0.5
    strong_from: Annotated[float, Bounds("Mastery from this value on is strong.", 0, 1)] = 0.8
    expected_prior: Annotated[
        float, Bounds("Share of right answers expected of a learner without answers.", 0, 1)
    ] = 0.66
    expected_prior_answers: Annotated[
        float, Bounds("Number of the learner's answers that this share weighs as much as.", 0.01)
    ] = 3.0
    expected_learner_halflife: Annotated[
        float, Bounds("Half-life of an answer in the learner's level, in answers.", 0.1)
    ] = 2.0
    expected_learner_answers: Annotated[
        float,
        Bounds("Number of a topic's answers that the learner's level weighs as much as.", 0.01),
    ] = 12.0
    expected_topic_halflife: Annotated[
        float, Bounds("Half-life of an answer in its topic's level, in answers.", 0.1)
    ] = 6.0
    max_answers: Annotated[
        int, Bounds("Maximum answers of a topic kept for what is expected; the newest are kept.")
    ] = 32
    max_topics: Annotated[int, Bounds("Maximum topics of a learner; the newest are kept.")] = 500
    uses_needed: Annotated[
        int, Bounds("Uses needed until an artifact or difficulty is a preference.")
    ] = 3
    uses_share: Annotated[float, Bounds("Share of all uses that it also needs.", 0, 1)] = 0.5

    session_expiry: int = 0
    """`session_expiry_hours` in microseconds, for each turn: derived, never set."""

    def __post_init__(self) -> None:
        set_derived(self, "session_expiry", int(self.session_expiry_hours * HOUR))

    @classmethod
    def of(cls, changes: Mapping[str, Any]) -> "Rules":
        """Returns the defaults with these changes, by name. Raises ValueError as `checked` does."""
        values: dict[str, Any] = {**checked(changes)}
        return cls(**values)

    def changed(self) -> dict[str, Number]:
        """Returns the constants that differ from their defaults."""
        values = {name: getattr(self, name) for name in CONSTANTS}
        return {name: value for name, value in values.items() if value != CONSTANTS[name].default}

    def shown(self) -> str:
        """Returns the changed constants as text: `max_intents=20, uses_share=0.25`."""
        changed = [f"{name}={value:g}" for name, value in sorted(self.changed().items())]
        return ", ".join(changed) or "the default constants"


class Constant(NamedTuple):
    """A constant's default, description and range."""

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
    """Validates constants by name; values may be text ("20").

    Raises ValueError with the constant and its range.
    """
    return {name: _checked(name, value) for name, value in changes.items()}


def parsed(texts: Iterable[str]) -> dict[str, Number]:
    """Parses constants from texts "NAME=VALUE". Raises ValueError as `checked` does."""
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{text}: expected CONSTANT=VALUE")
        values[name.strip()] = value.strip()
    return checked(values)


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
