"""What may be spent: tokens and cost, of a run and of any hour.

A call reserves what it may come to at most, about, so that calls side by side do not overspend; its
answer says what it was.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from sinks.locations import Location
from streams.llm.settings import LlmSettings

HOUR = 3600.0
BYTES_A_TOKEN = 3
"""Of JSON text in mixed languages, on the safe side."""
RETURN_SECONDS = 1.0
"""Until a call under way may have come back."""


class Spent(NamedTuple):
    """Something spent, or a limit (None: without one)."""

    tokens: float | None
    cost: float | None


class BudgetSpent(Exception):  # noqa: N818 - what happened
    """Nothing more may be spent; after `seconds` perhaps again (None: not in this run). `held`: it
    is only held for calls under way, which may come to less."""

    def __init__(self, text: str, seconds: float | None, held: bool = False) -> None:
        super().__init__(text)
        self.seconds = seconds
        self.held = held


class Budget:
    """The limits of `settings`, and what has been spent; `clock` is the wall's, in seconds."""

    def __init__(self, settings: LlmSettings, clock: Callable[[], float] = time.time) -> None:
        self._run = Spent(settings.budget_tokens, settings.budget_cost)
        self._hourly = Spent(settings.hourly_tokens, settings.hourly_cost)
        self._settings = settings
        self._clock = clock
        self._reserved = [0.0, 0.0]
        self._spent = [0.0, 0.0]
        self._recent: deque[tuple[float, float, float]] = deque()  # when, tokens, cost
        self._hour = [0.0, 0.0]  # of these together

    def recall(self, at: float, tokens: int, cost: float) -> None:
        """What an earlier run has spent counts for the hour; oldest first."""
        self._recent.append((at, tokens, cost))
        self._hour = [self._hour[0] + tokens, self._hour[1] + cost]

    def reserve(self, request_bytes: int) -> tuple[float, float]:
        """Tokens and cost of a call about to be made. Raises BudgetSpent."""
        sent, received = request_bytes // BYTES_A_TOKEN, self._settings.max_output_tokens
        wanted = (float(sent + received), self._settings.cost(sent, received))
        self._check(self._run, self._spent, wanted, "this run", None)
        recent = self._last_hour()
        left = self._until_free() if recent[0] or self._reserved[0] else None
        self._check(self._hourly, recent, wanted, "an hour", left)
        self._reserved = [have + want for have, want in zip(self._reserved, wanted, strict=True)]
        return wanted

    def settle(self, reserved: tuple[float, float], tokens: int, cost: float) -> None:
        """What the call came to; 0 where it was not answered."""
        self._reserved = [have - was for have, was in zip(self._reserved, reserved, strict=True)]
        self._spent = [self._spent[0] + tokens, self._spent[1] + cost]
        if tokens:
            self.recall(self._clock(), tokens, cost)

    def used(self) -> list[tuple[str, str, float]]:
        """How much of each limit is spent, 0 to 1: run or hour, tokens or cost."""
        budgets = (("run", self._run, self._spent), ("hour", self._hourly, self._last_hour()))
        return [
            (name, unit, have / most if most else 1.0)
            for name, limit, spent in budgets
            for unit, most, have in zip(Spent._fields, limit, spent, strict=True)
            if most is not None
        ]

    def _until_free(self) -> float:
        """Seconds until something of the last hour is older, or a call may have come back."""
        if not self._recent:
            return RETURN_SECONDS
        return max(RETURN_SECONDS, self._recent[0][0] + HOUR - self._clock())

    def _last_hour(self) -> list[float]:
        while self._recent and self._recent[0][0] <= self._clock() - HOUR:
            _, tokens, cost = self._recent.popleft()
            self._hour = [self._hour[0] - tokens, self._hour[1] - cost]
        return self._hour

    def _check(
        self,
        limit: Spent,
        spent: list[float],
        wanted: tuple[float, float],
        of: str,
        left: float | None,
    ) -> None:
        for name, most, have, under_way, more in zip(
            Spent._fields, limit, spent, self._reserved, wanted, strict=True
        ):
            if most is not None and have + under_way + more > most:
                held = have + more <= most
                raise BudgetSpent(
                    f"the budget of {of} is used up: {have:g} of {most:g} {name} spent, and the "
                    f"next call may need {more:g}",
                    RETURN_SECONDS if held else left,
                    held,
                )


def recall_hour(budget: Budget, root: Location) -> None:
    """Counts what a history tells of the last hour, so that a process that is started again and
    again does not spend an hour's budget each time."""
    from streams.llm.history import spent_since

    for spent in spent_since(root, time.time() - HOUR):
        budget.recall(*spent)
