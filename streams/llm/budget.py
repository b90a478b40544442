"""Budgets of tokens and cost, per run and per hour.

A call reserves an estimate of its maximum, so that concurrent calls do not overspend; its reply
settles the real amount.
"""

import time
from collections import deque
from collections.abc import Callable

from streams.llm.settings import LlmSettings

HOUR = 3600.0
BYTES_A_TOKEN = 3
"""Conservative estimate for JSON text in mixed languages."""
UNITS = ("tokens", "cost")

Amount = tuple[float, float]
"""Tokens and cost."""


class BudgetSpent(Exception):  # noqa: N818 - what happened
    """The budget is spent; it may be free again after `seconds` (None: not in this run)."""

    def __init__(self, text: str, seconds: float | None) -> None:
        super().__init__(text)
        self.seconds = seconds


class Budget:
    """The limits of `settings`, and the amounts spent; `clock`: wall clock, in seconds."""

    def __init__(self, settings: LlmSettings, clock: Callable[[], float] = time.time) -> None:
        self._limits = {
            "run": (settings.budget_tokens, settings.budget_cost),
            "hour": (settings.hourly_tokens, settings.hourly_cost),
        }
        self._settings = settings
        self._clock = clock
        self._reserved: Amount = (0.0, 0.0)
        self._spent: dict[str, Amount] = {"run": (0.0, 0.0), "hour": (0.0, 0.0)}
        self._exhausted: tuple[str, int] | None = None
        """Limit and unit that the last call did not fit into."""
        self._recent: deque[tuple[float, float, float]] = deque()  # when, tokens, cost

    def recall(self, at: float, tokens: int, cost: float) -> None:
        """Counts an amount of an earlier run for the hour; call it oldest first."""
        self._recent.append((at, tokens, cost))
        self._spent["hour"] = _sum(self._spent["hour"], (tokens, cost))

    def reserve(self, request_bytes: int) -> Amount | None:
        """Reserves tokens and cost of a call. None if that must wait for calls in progress, which
        may cost less than is reserved for them. Raises BudgetSpent."""
        sent, received = request_bytes // BYTES_A_TOKEN, self._settings.max_output_tokens
        amount = (float(sent + received), self._settings.cost(sent, received))
        limits = self._all()
        for name, unit, limit, spent in limits:
            if spent + amount[unit] > limit:
                self._exhausted = name, unit
                raise BudgetSpent(
                    f"the budget of {'this run' if name == 'run' else 'an hour'} is used up: "
                    f"{spent:g} of {limit:g} {UNITS[unit]} spent, and the next call may need "
                    f"{amount[unit]:g}",
                    self._until_free(name),
                )
        if any(
            spent + self._reserved[unit] + amount[unit] > most for _, unit, most, spent in limits
        ):
            return None
        self._reserved = _sum(self._reserved, amount)
        self._exhausted = None
        return amount

    def settle(self, reserved: Amount, tokens: int, cost: float) -> None:
        """Replaces a reservation by the real amounts; 0 without a reply."""
        self._reserved = _sum(self._reserved, reserved, -1)
        self._spent["run"] = _sum(self._spent["run"], (tokens, cost))
        if tokens:
            self.recall(self._clock(), tokens, cost)

    def used(self) -> list[tuple[str, str, float]]:
        """Returns (run or hour, tokens or cost, spent share 0 to 1) of each limit; 1 where the rest
        is too small for the next call."""
        return [
            (name, UNITS[unit], 1.0 if self._exhausted == (name, unit) else spent / limit)
            for name, unit, limit, spent in self._all()
        ]

    def _all(self) -> list[tuple[str, int, float, float]]:
        """(name, index of the unit, limit, spent amount) of each limit."""
        while self._recent and self._recent[0][0] <= self._clock() - HOUR:
            _, tokens, cost = self._recent.popleft()
            self._spent["hour"] = _sum(self._spent["hour"], (tokens, cost), -1)
        return [
            (name, unit, limit, self._spent[name][unit])
            for name, limits in self._limits.items()
            for unit, limit in enumerate(limits)
            if limit is not None
        ]

    def _until_free(self, name: str) -> float | None:
        """Seconds until an amount of the last hour expires; None if waiting does not help."""
        if name == "run" or not self._recent:
            return None
        return max(1.0, self._recent[0][0] + HOUR - self._clock())


def _sum(first: Amount, second: tuple[float, float], sign: int = 1) -> Amount:
    return first[0] + sign * second[0], first[1] + sign * second[1]
