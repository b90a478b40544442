"""What may be spent: tokens and cost, of a run and of any hour.

A call reserves what it may come to at most, about, so that calls side by side do not overspend; its
answer says what it was.
"""

import time
from collections import deque
from collections.abc import Callable

from sinks.locations import Location
from streams.llm.settings import LlmSettings

HOUR = 3600.0
BYTES_A_TOKEN = 3
"""Of JSON text in mixed languages, on the safe side."""
RETURN_SECONDS = 1.0
"""Until a call under way may have come back."""
UNITS = ("tokens", "cost")

Amount = tuple[float, float]
"""Tokens and cost."""


class BudgetSpent(Exception):  # noqa: N818 - what happened
    """Nothing more may be spent; after `seconds` perhaps again (None: not in this run). `held`: it
    is only held for calls under way, which may come to less."""

    def __init__(self, text: str, seconds: float | None, held: bool) -> None:
        super().__init__(text)
        self.seconds = seconds
        self.held = held


class Budget:
    """The limits of `settings`, and what has been spent; `clock` is the wall's, in seconds."""

    def __init__(self, settings: LlmSettings, clock: Callable[[], float] = time.time) -> None:
        self._limits = {
            "run": (settings.budget_tokens, settings.budget_cost),
            "hour": (settings.hourly_tokens, settings.hourly_cost),
        }
        self._settings = settings
        self._clock = clock
        self._reserved: Amount = (0.0, 0.0)
        self._spent: dict[str, Amount] = {"run": (0.0, 0.0), "hour": (0.0, 0.0)}
        self._recent: deque[tuple[float, float, float]] = deque()  # when, tokens, cost

    def recall(self, at: float, tokens: int, cost: float) -> None:
        """What an earlier run has spent counts for the hour; oldest first."""
        self._recent.append((at, tokens, cost))
        self._spent["hour"] = _sum(self._spent["hour"], (tokens, cost))

    def reserve(self, request_bytes: int) -> Amount:
        """Tokens and cost of a call about to be made. Raises BudgetSpent."""
        sent, received = request_bytes // BYTES_A_TOKEN, self._settings.max_output_tokens
        wanted = (float(sent + received), self._settings.cost(sent, received))
        for name, unit, most, have in self._all():
            more, held = wanted[unit], self._reserved[unit]
            if have + held + more > most:
                is_held = have + more <= most
                raise BudgetSpent(
                    f"the budget of {'this run' if name == 'run' else 'an hour'} is used up: "
                    f"{have:g} of {most:g} {UNITS[unit]} spent, and the next call may need "
                    f"{more:g}",
                    RETURN_SECONDS if is_held else self._until_free(name),
                    is_held,
                )
        self._reserved = _sum(self._reserved, wanted)
        return wanted

    def settle(self, reserved: Amount, tokens: int, cost: float) -> None:
        """What the call came to; 0 where it was not answered."""
        self._reserved = _sum(self._reserved, reserved, -1)
        self._spent["run"] = _sum(self._spent["run"], (tokens, cost))
        if tokens:
            self.recall(self._clock(), tokens, cost)

    def used(self) -> list[tuple[str, str, float]]:
        """How much of each limit is spent, 0 to 1: run or hour, tokens or cost."""
        return [(name, UNITS[unit], have / most) for name, unit, most, have in self._all()]

    def _all(self) -> list[tuple[str, int, float, float]]:
        """Each limit: its name, the unit's place, the limit, what is spent of it."""
        while self._recent and self._recent[0][0] <= self._clock() - HOUR:
            _, tokens, cost = self._recent.popleft()
            self._spent["hour"] = _sum(self._spent["hour"], (tokens, cost), -1)
        return [
            (name, unit, most, self._spent[name][unit])
            for name, limits in self._limits.items()
            for unit, most in enumerate(limits)
            if most is not None
        ]

    def _until_free(self, name: str) -> float | None:
        """Seconds until something of the last hour is older, or a call may have come back; None
        where waiting changes nothing."""
        if name == "run" or not (self._recent or self._reserved[0]):
            return None
        since = self._recent[0][0] if self._recent else self._clock() - HOUR
        return max(RETURN_SECONDS, since + HOUR - self._clock())


def _sum(one: Amount, other: tuple[float, float], sign: int = 1) -> Amount:
    return one[0] + sign * other[0], one[1] + sign * other[1]


def recall_hour(budget: Budget, root: Location) -> None:
    """Counts what a history tells of the last hour, so that a process that is started again and
    again does not spend an hour's budget each time."""
    from streams.llm.history import spent_since

    for spent in spent_since(root, time.time() - HOUR):
        budget.recall(*spent)
