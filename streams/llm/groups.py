"""Debounce: the turns of a user in a session gather, so that one request serves many.

A pure fold over turns in the order they were recorded. Its clock is `recorded_at`, the stream's
own, which never runs back: the same stream falls into the same groups however it is read, and
groups that are done may be left out without moving the others.
"""

from collections.abc import Collection
from itertools import takewhile
from typing import NamedTuple, Protocol


class Turn(NamedTuple):
    """What a request says of a turn. `offset` is its place in a partition; in files 0.
    `tool_results`: what tools told the agent in it, as far as a history is there to tell."""

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
"""Whose turns gather: tenant, session, user. In a group chat each user has a group."""
Owner = tuple[str, str]
"""Whose memory it is: tenant and user."""


class Group(NamedTuple):
    """Turns that one request serves, in the order they were recorded; at least one."""

    turns: tuple[Turn, ...]

    @property
    def owner(self) -> Owner:
        """Whose memory a plan of it changes."""
        return self.turns[0].tenant, self.turns[0].user_id

    @property
    def session_id(self) -> str:
        return self.turns[0].session_id

    @property
    def event_ids(self) -> list[str]:
        return [turn.event_id for turn in self.turns]

    @property
    def valid_at(self) -> int:
        """The time the request is about: that of its latest turn."""
        return max(turn.occurred_at for turn in self.turns)

    @property
    def known_at(self) -> int:
        """When its last turn was recorded; what was learnt later the model must not see."""
        return self.turns[-1].recorded_at


class Told(Protocol):
    """A turn as records have it (schemas.events.Turn, streams.pipeline.plain.PlainTurn)."""

    user_id: str | None
    source: str
    user_input: str

    @property
    def status(self) -> str: ...


def speaks(turn: Told, sources: Collection[str]) -> bool:
    """Whether a user says something in it: ended, of one of these sources, not empty.

    What a `meta_…` source says is never a user's own word.
    """
    return (
        turn.user_id is not None
        and turn.status != "running"
        and turn.source in sources
        and not turn.source.startswith("meta")
        and not turn.user_input.isspace()
        and turn.user_input != ""
    )


class Debounce:
    """A group is closed by its last turn (`most`), or when nothing came for `idle` microseconds."""

    def __init__(self, most: int, idle: int) -> None:
        self._most = most
        self._idle = idle
        self._now = 0
        # oldest last turn first: each turn puts its key in again, and the clock never runs back
        self._open: dict[Key, tuple[int, list[Turn]]] = {}

    def add(self, turn: Turn) -> list[Group]:
        """The groups that this turn closes."""
        closed = self.advance(turn.recorded_at)
        key = (turn.tenant, turn.session_id, turn.user_id)
        _, turns = self._open.pop(key, (0, []))
        turns.append(turn)
        if len(turns) >= self._most:
            return [*closed, Group(tuple(turns))]
        self._open[key] = (self._now, turns)
        return closed

    def advance(self, now: int) -> list[Group]:
        """The groups that are idle at a time."""
        self._now = max(self._now, now)
        limit = self._now - self._idle
        idle = takewhile(lambda one: one[1][0] <= limit, self._open.items())
        return [self._close(key) for key in [key for key, _ in idle]]

    def flush(self) -> list[Group]:
        """The groups that still gather."""
        return [self._close(key) for key in list(self._open)]

    def _close(self, key: Key) -> Group:
        return Group(tuple(self._open.pop(key)[1]))
