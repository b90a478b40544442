"""What a request says of the user: what was remembered as of the event, bounded.

Half of the room goes to what was confirmed last, half to what shares most with the turns: words
count as search counts them, the rarer among what is remembered, the more.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from schemas.memory_kinds import MEMORY_KINDS
from streams.folds.ids import normalise
from streams.search.tokens import terms
from streams.search.words import STOP, STOP_EAST

Row = dict[str, Any]
Remembered = dict[str, list[Row]]
"""All that was known of a user as of a group's last turn: each list (`Prompted.name`) newest first.
"""
PROMPTED = {kind.prompted.name: kind.prompted for kind in MEMORY_KINDS if kind.prompted}
REPLACED = "replaced"
"""The list of what rules made of the group's own turns (documents, each with its `entity`): the
plan replaces it, so it is not shown."""
LONGEST = 1000
"""Characters shown of one text."""

_encode = msgspec.json.Encoder().encode


class Known(NamedTuple):
    """What is shown, best first; of the rest, how many. By the names of the lists. `replaced`: see
    `REPLACED`."""

    shown: Mapping[str, tuple[Row, ...]] = MappingProxyType({})
    left_out: Mapping[str, int] = MappingProxyType({})
    replaced: tuple[Row, ...] = ()

    def kinds(self) -> dict[str, str]:
        """The kind of each state that an answer may name."""
        return {row["state_id"]: row["kind"] for row in self.shown.get("states", ())}

    def likes(self) -> set[tuple[str, str, str]]:
        """The preferences that an answer may revoke."""
        return {like_key(row) for row in self.shown.get("preferences", ())}


def like_key(row: Row) -> tuple[str, str, str]:
    """What a preference is unique by."""
    return row["domain"], normalise(row["subject"]), row["polarity"]


def choose(remembered: Remembered, said: str, most: int, most_bytes: int) -> Known:
    """What to show of lists given newest first: so many of each, of so many bytes."""
    wanted = _words(said)
    replaced = tuple(remembered.get(REPLACED, ()))
    gone = set(map(identity, replaced))
    shown, left_out = {}, {}
    for name, kind in PROMPTED.items():
        if name not in remembered:
            continue
        rows = [row for row in remembered[name] if identity(row) not in gone]
        ranked = _ranked(rows, kind.text, wanted)
        shown[name] = tuple(_bounded(ranked, kind.fields, most, most_bytes))
        left_out[name] = len(rows) - len(shown[name])
    return Known(shown, left_out, replaced)


def identity(row: Row) -> tuple[str, ...]:
    """What a version of a state, or a preference, is known by."""
    if "state_id" in row:
        return row["state_id"], str(row["valid_from"])
    return like_key(row)


def _ranked(rows: Sequence[Row], text: str, wanted: set[str]) -> Iterator[Row]:
    """Newest and most relevant in turn, each once."""
    words = [_words(row[text]) for row in rows]
    common = Counter(word for some in words for word in some)

    def shared(place: int) -> float:
        return -sum(math.log(1 + len(rows) / common[word]) for word in words[place] & wanted)

    relevant = sorted(range(len(rows)), key=shared)
    both = chain.from_iterable(zip(range(len(rows)), relevant, strict=True))
    return (rows[place] for place in dict.fromkeys(both))


def _words(text: str) -> set[str]:
    """The terms of a text that say something."""
    found = terms(text)
    return {term for term in found if term not in STOP and term not in STOP_EAST}


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
