"""Readiness of a process, and the ages of its repeated acts."""

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, NamedTuple, Self

STALE_AFTER = 30.0
"""Seconds without a success after which a process is not ready."""

FETCH, COMMIT, WRITE = "fetch", "commit", "write"
"""Repeated acts: fetch records, commit a batch, write to a table or a topic."""
FAILING = {
    FETCH: "no fetch was answered",
    COMMIT: "no commit succeeded",
    WRITE: "no write succeeded",
}


class Readiness(NamedTuple):
    """`done` of `total` rows or bytes are restored, during a restore; `about`: status text. `ages`:
    seconds since the last success of each act; 0 for an idle act. They are metrics, not part of a
    reply."""

    ready: bool
    about: str
    done: int = 0
    total: int = 0
    ages: Mapping[str, float] = {}

    def judged(self, ages: Mapping[str, float]) -> Self:
        """Sets the ages; not ready if one exceeds `STALE_AFTER`."""
        late = [f"{FAILING[act]} for {age:.0f} s" for act, age in ages.items() if age > STALE_AFTER]
        if not late:
            return self._replace(ages=ages)
        about = "; ".join([*late, self.about])
        return self._replace(ready=False, about=about, ages=ages)

    def reply(self) -> dict[str, Any]:
        """The response of `/readyz`."""
        return {name: value for name, value in self._asdict().items() if name != "ages"}


class Pending:
    """Measures how long acts are pending without a success; several may be pending at once. With
    `repeats` a failed act is pending until one succeeds, or until `rest`."""

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
        """An act ends."""
        self._count -= 1
        self._failed = self._repeats and not succeeded
        if succeeded:
            self._since = monotonic()

    def rest(self) -> None:
        """All work is done: the failed act has succeeded or belongs to another process."""
        self._failed = False

    @property
    def age(self) -> float:
        """Seconds since the last success; 0 if nothing is pending."""
        return monotonic() - self._since if self._count or self._failed else 0.0


class Assignment:
    """Whether the group has assigned partitions to a process, and since when it waits for them."""

    def __init__(self) -> None:
        self._ended: float | None = monotonic()

    def begin(self) -> None:
        """The group has assigned partitions, possibly none."""
        self._ended = None

    def end(self) -> None:
        """The group has revoked them, or the process has left it."""
        if self._ended is None:
            self._ended = monotonic()

    @property
    def stands(self) -> bool:
        """Whether partitions are assigned."""
        return self._ended is None

    def age(self, unheard: Callable[[], float]) -> float:
        """The age of a fetch: seconds without an assignment, otherwise the result of `unheard`."""
        return unheard() if self._ended is None else monotonic() - self._ended


class Advance:
    """Measures how long a position has not advanced before its end, at each call of `age`."""

    def __init__(self) -> None:
        self._position = -1
        self._since = 0.0

    def age(self, position: int, end: int) -> float:
        """Seconds since `position` last advanced; 0 at `end`."""
        if position != self._position or position >= end:
            self._position, self._since = position, monotonic()
        return monotonic() - self._since
