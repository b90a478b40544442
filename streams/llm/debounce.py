"""Debounces turns: the turns of a user in a session form groups, one request each.

A pure fold over turns in recording order. Its clock is `recorded_at` of the stream, which never
decreases: the same stream always results in the same groups, and groups that are done may be
omitted without an effect on the others.
"""

from collections.abc import Collection
from itertools import takewhile
from typing import Any, NamedTuple


class Turn(NamedTuple):
    """A turn of a request; times in microseconds. `offset`: in its partition; 0 in files.
    `tool_results`: the results of tools in it, if a history is available."""

    tenant: str
    session_id: str
    user_id: str
    event_id: str
    occurred_at: int
    recorded_at: int
    source: str = "chat"
    user_input: str = ""
    agent_answer: str = ""
    offset: int = 0
    tool_results: tuple[str, ...] = ()


Key = tuple[str, str, str]
"""Key of a group: tenant, session, user. In a group chat each user has a group."""
Owner = tuple[str, str]
"""Owner of memory: tenant and user."""


class Group(NamedTuple):
    """The turns of one request, in recording order; at least one. `part`: the partition of the
    turns, if their log has partitions."""

    turns: tuple[Turn, ...]
    part: Any = None

    @property
    def owner(self) -> Owner:
        """The owner of the memory that its plan changes."""
        return self.turns[0].tenant, self.turns[0].user_id

    @property
    def session_id(self) -> str:
        return self.turns[0].session_id

    @property
    def event_ids(self) -> list[str]:
        return [turn.event_id for turn in self.turns]

    @property
    def valid_at(self) -> int:
        """The time of its latest turn (microseconds)."""
        return max(turn.occurred_at for turn in self.turns)

    @property
    def known_at(self) -> int:
        """The recording time of its last turn: later knowledge must not be shown to the model."""
        return self.turns[-1].recorded_at


def speaks(turn: Any, sources: Collection[str]) -> bool:
    """Whether a turn of a record has a user's words: ended, from one of these sources, not empty.

    Text from a `meta_…` source is never a user's own.
    """
    return (
        turn.user_id is not None
        and turn.status != "running"
        and turn.source in sources
        and not turn.source.startswith("meta")
        and turn.user_input.strip() != ""
    )


class Debounce:
    """Closes a group after `most` turns, or after `idle` microseconds without a turn."""

    def __init__(self, most: int, idle: int) -> None:
        self._most = most
        self._idle = idle
        self._now = 0
        # ordered by the last turn: each turn reinserts its key, and the clock never decreases
        self._open: dict[Key, tuple[int, list[Turn]]] = {}

    def add(self, turn: Turn) -> list[Group]:
        """Adds a turn; returns the groups that it closes."""
        closed = self.advance(turn.recorded_at)
        key = (turn.tenant, turn.session_id, turn.user_id)
        _, turns = self._open.pop(key, (0, []))
        turns.append(turn)
        if len(turns) >= self._most:
            return [*closed, Group(tuple(turns))]
        self._open[key] = (self._now, turns)
        return closed

    def advance(self, now: int) -> list[Group]:
        """Closes and returns the groups that are idle at a time."""
        self._now = max(self._now, now)
        limit = self._now - self._idle
        idle = takewhile(lambda entry: entry[1][0] <= limit, self._open.items())
        return [self._close(key) for key in [key for key, _ in idle]]

    def flush(self) -> list[Group]:
        """Closes and returns all open groups."""
        return [self._close(key) for key in list(self._open)]

    def _close(self, key: Key) -> Group:
        return Group(tuple(self._open.pop(key)[1]))
