"""Selects the memory that a request shows: as of the event, within limits.

Half of the space is for the most recently confirmed items, half for the ones that share most words
with the turns, weighted by rarity among the remembered items.
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
from streams.search.stopwords import STOP, STOP_EAST
from streams.search.tokens import terms

Row = dict[str, Any]
Remembered = dict[str, list[Row]]
"""A user's memory as of a group's last turn: lists by `Prompted.name`, each newest first."""
PROMPTED = {kind.prompted.name: kind.prompted for kind in MEMORY_KINDS if kind.prompted}
REPLACED = "replaced"
"""The list of the rules' documents from the group's own turns, each with its `entity`: the plan
replaces them, so they are not shown."""
LONGEST = 1000
"""Maximum characters of a shown text."""

_encode = msgspec.json.Encoder().encode


class ShownMemory(NamedTuple):
    """The shown rows, best first, and the numbers of omitted ones, by list name. `replaced`: see
    `REPLACED`."""

    shown: Mapping[str, tuple[Row, ...]] = MappingProxyType({})
    left_out: Mapping[str, int] = MappingProxyType({})
    replaced: tuple[Row, ...] = ()

    def kinds(self) -> dict[str, str]:
        """Id -> kind of the states that an answer may name."""
        return {row["state_id"]: row["kind"] for row in self.shown.get("states", ())}

    def likes(self) -> set[tuple[str, str, str]]:
        """The preferences that an answer may revoke."""
        return {like_key(row) for row in self.shown.get("preferences", ())}


def like_key(row: Row) -> tuple[str, str, str]:
    """The unique key of a preference."""
    return row["domain"], normalise(row["subject"]), row["polarity"]


def choose(remembered: Remembered, text: str, most: int, most_bytes: int) -> ShownMemory:
    """Selects at most `most` rows and `most_bytes` of each list. `text`: the users' words."""
    words = _words(text)
    replaced = tuple(remembered.get(REPLACED, ()))
    replaced_ids = set(map(identity, replaced))
    selected, left_out = {}, {}
    for name, kind in PROMPTED.items():
        if name not in remembered:
            continue
        rows = [row for row in remembered[name] if identity(row) not in replaced_ids]
        ranked = _ranked(rows, kind.text, words)
        selected[name] = tuple(_bounded(ranked, kind.fields, most, most_bytes))
        left_out[name] = len(rows) - len(selected[name])
    return ShownMemory(selected, left_out, replaced)


def identity(row: Row) -> tuple[str, ...]:
    """The key of a state's version, or of a preference."""
    if "state_id" in row:
        return row["state_id"], str(row["valid_from"])
    return like_key(row)


def _ranked(rows: Sequence[Row], field: str, words: set[str]) -> Iterator[Row]:
    """Yields the newest and the most relevant rows in alternation, each once."""
    row_words = [_words(row[field]) for row in rows]
    counts = Counter(chain.from_iterable(row_words))

    def relevance(place: int) -> float:
        return -sum(math.log(1 + len(rows) / counts[word]) for word in row_words[place] & words)

    relevant = sorted(range(len(rows)), key=relevance)
    alternating = chain.from_iterable(zip(range(len(rows)), relevant, strict=True))
    return (rows[place] for place in dict.fromkeys(alternating))


def _words(text: str) -> set[str]:
    """The terms of a text without stop words."""
    return {term for term in terms(text) if term not in STOP and term not in STOP_EAST}


def _bounded(rows: Iterable[Row], names: Sequence[str], most: int, room: int) -> Iterator[Row]:
    for row in islice(rows, most):
        short = {name: cut(row[name]) for name in names if row[name] is not None}
        room -= len(_encode(short))
        if room < 0:
            return
        yield short


def cut(value: Any, longest: int = LONGEST) -> Any:
    """Cuts a text to `longest` characters and appends the number of omitted ones."""
    if not isinstance(value, str) or len(value) <= longest:
        return value
    return f"{value[:longest]}… [{len(value) - longest} characters left out]"
