"""Whether a process answers, or reads on, and since when what it repeats has not succeeded."""

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, NamedTuple, Self

STALE_AFTER = 30.0
"""Seconds without a success after which a process is not ready."""

FETCH, COMMIT, WRITE = "fetch", "commit", "write"
"""What processes repeat: fetch records, commit what was folded, write to a table or a topic."""
FAILING = {
    FETCH: "no fetch was answered",
    COMMIT: "no commit succeeded",
    WRITE: "no write succeeded",
}


class Readiness(NamedTuple):
    """`done` of `total` rows or bytes are restored, where a restore is under way; `about` says it
    in words. `ages`: seconds since the last success of each act of the process; 0 for an act that
    has nothing to do. They are metrics, not part of a reply."""

    ready: bool
    about: str
    done: int = 0
    total: int = 0
    ages: Mapping[str, float] = {}

    def judged(self, ages: Mapping[str, float]) -> Self:
        """The same with these ages; not ready if one of them exceeds `STALE_AFTER`."""
        late = [f"{FAILING[act]} for {age:.0f} s" for act, age in ages.items() if age > STALE_AFTER]
        if not late:
            return self._replace(ages=ages)
        about = "; ".join([*late, self.about])
        return self._replace(ready=False, about=about, ages=ages)

    def reply(self) -> dict[str, Any]:
        """What `/readyz` returns."""
        return {name: value for name, value in self._asdict().items() if name != "ages"}


class Pending:
    """How long acts have been pending without a success; several may be pending at once. With
    `repeats` an act that has failed is pending until one succeeds, or there is nothing to do."""

    def __init__(self, *, repeats: bool = False) -> None:
        self._repeats = repeats
        self._count = 0
        self._failed = False
        self._since = 0.0

    def begin(self) -> None:
        """An act starts."""
        if not self._count and not self._failed:
            self._since = monotonic()
        self._count += 1

    def end(self, succeeded: bool) -> None:
        """An act that has started ends."""
        self._count -= 1
        self._failed = self._repeats and not succeeded
        if succeeded:
            self._since = monotonic()

    def rest(self) -> None:
        """There is nothing to do: what has failed is done, or is another's."""
        self._failed = False

    @property
    def age(self) -> float:
        """Seconds since the last success; 0 if nothing is pending."""
        return monotonic() - self._since if self._count or self._failed else 0.0


class Assignment:
    """Whether the group has assigned partitions to a process, and since when it waits for that."""

    def __init__(self) -> None:
        self._ended: float | None = monotonic()

    def begin(self) -> None:
        """The group has assigned partitions, be it none."""
        self._ended = None

    def end(self) -> None:
        """The group has taken them back, or the process has left it."""
        if self._ended is None:
            self._ended = monotonic()

    @property
    def stands(self) -> bool:
        """Whether the group has assigned them."""
        return self._ended is None

    def age(self, unheard: Callable[[], float]) -> float:
        """The age of a fetch: while it waits the seconds of that, else what `unheard` returns."""
        return unheard() if self._ended is None else monotonic() - self._ended


class Advance:
    """How long a position has not advanced although it had to. It is looked at now and then."""

    def __init__(self) -> None:
        self._position = -1
        self._since = 0.0

    def age(self, position: int, end: int) -> float:
        """Seconds since `position` was last seen to advance; 0 where it is at `end`."""
        if position != self._position or position >= end:
            self._position, self._since = position, monotonic()
        return monotonic() - self._since
