"""What a request says of the user: states and preferences as of the event, bounded (issue 6).

Half of the room goes to what was confirmed last, half to what shares most with the turns.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from streams.folds.ids import normalise

Row = dict[str, Any]
STATE = ("state_id", "kind", "body_text", "confidence", "valid_from", "last_confirmed_at", "status")
PREFERENCE = ("domain", "polarity", "subject", "status", "confidence")
LONGEST = 1000
"""Characters shown of one text."""

_encode = msgspec.json.Encoder().encode


class Known(NamedTuple):
    """What is shown, best first; the rest only counts."""

    states: tuple[Row, ...] = ()
    preferences: tuple[Row, ...] = ()
    states_left_out: int = 0
    preferences_left_out: int = 0

    def kinds(self) -> dict[str, str]:
        """The kind of each state that an answer may name."""
        return {row["state_id"]: row["kind"] for row in self.states}

    def likes(self) -> set[tuple[str, str, str]]:
        """The preferences that an answer may revoke."""
        return {like_key(row) for row in self.preferences}


def like_key(row: Row) -> tuple[str, str, str]:
    """What a preference is unique by."""
    return row["domain"], normalise(row["subject"]), row["polarity"]


def choose(
    states: Sequence[Row], preferences: Sequence[Row], said: str, most: int, most_bytes: int
) -> Known:
    """What to show of rows given newest first: so many of each kind, of so many bytes."""
    wanted = _pieces(said)
    shown = tuple(_bounded(_ranked(states, "body_text", wanted), STATE, most, most_bytes))
    likes = tuple(_bounded(_ranked(preferences, "subject", wanted), PREFERENCE, most, most_bytes))
    return Known(shown, likes, len(states) - len(shown), len(preferences) - len(likes))


def _ranked(rows: Sequence[Row], text: str, wanted: set[str]) -> Iterator[Row]:
    """Newest and most relevant in turn, each once."""

    def shared(place: int) -> int:
        return -len(wanted & _pieces(rows[place][text]))

    relevant = sorted(range(len(rows)), key=shared)
    both = chain.from_iterable(zip(range(len(rows)), relevant, strict=True))
    return (rows[place] for place in dict.fromkeys(both))


def _pieces(text: str) -> set[str]:
    """Pairs of letters: they are shared by words of one root, and need no word boundaries."""
    plain = normalise(text[:LONGEST])
    return {plain[at : at + 2] for at in range(len(plain) - 1)}


def _bounded(rows: Iterable[Row], names: Sequence[str], most: int, room: int) -> Iterator[Row]:
    for row in islice(rows, most):
        short = {name: cut(row[name]) for name in names if row[name] is not None}
        room -= len(_encode(short))
        if room < 0:
            return
        yield short


def cut(value: Any, longest: int = LONGEST) -> Any:
    """A text of so many characters at most, with a word on what is missing."""
    if not isinstance(value, str) or len(value) <= longest:
        return value
    return f"{value[:longest]}… [{len(value) - longest} characters left out]"
