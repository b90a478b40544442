"""A state on a plane of two clocks: to the right when it is true, downwards when it was known.

Each revision adds what was believed from the moment it was learnt: a row of bars, until the next
revision. Places are shares of the width, in thousandths, so that a drawing needs no measuring.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from schemas.time import format_time, parse_time

WIDTH, MARGIN, ROOM = 1000, 0.04, 0.25
"""`MARGIN`: of the time shown, left free after it. `ROOM`: share of the width that a
version gets at least which has no end, so that its text can be read."""
ROWS, BARS = 12, 40
"""The newest that are drawn, and of each the last: a row repeats the bars of the one before."""


class Bar(NamedTuple):
    """What was believed for a while: from `x`, so wide; open if no end was known."""

    x: int
    width: int
    open: bool
    text: str


class Row(NamedTuple):
    """What was believed from `known_at` on, and until when (None: still)."""

    known_at: str
    until: str | None
    bars: list[Bar]


class Plane(NamedTuple):
    """`first` and `last` are the times at both ends of the width; `total` rows there are."""

    first: str
    last: str
    rows: list[Row]
    total: int


class _Version(NamedTuple):
    begins: int
    ends: int | None
    text: str


def plane(revisions: Sequence[dict[str, Any]], now: int) -> Plane | None:
    """Of a state's revisions in order (listing.why, one each); None where they have no times."""
    held: dict[str, _Version] = {}
    learnt: list[tuple[int, list[_Version]]] = []
    times_known = list(accumulate((parse_time(one["recorded_at"]) for one in revisions), max))
    rows = sorted(set(times_known))
    for one, known in zip(revisions, times_known, strict=True):
        document = one["after"] or one["before"]
        if not isinstance(document, dict) or "valid_from" not in document:
            return None
        if one["after"] is None:
            held.pop(document["valid_from"], None)
        else:
            held[document["valid_from"]] = _version(document)
        if known < rows[-ROWS:][0]:
            continue
        believed = _cut(sorted(held.values())[-BARS:])
        if learnt and learnt[-1][0] == known:
            learnt[-1] = known, believed
        else:
            learnt.append((known, believed))
    times = [at for _, some in learnt for one in some for at in (one.begins, one.ends) if at]
    if not times:
        return None
    first, last = min(times), max(*times, learnt[-1][0], min(now, max(times) + 1))
    wide = max(1, last - first)
    left, right = first, last + wide * MARGIN
    if begun := [one.begins for one in learnt[-1][1] if one.ends is None]:
        right = max(right, (max(begun) - ROOM * left) / (1 - ROOM))

    def place(at: float) -> int:
        return round(WIDTH * (at - left) / (right - left))

    found: list[Row] = []
    for (at, some), following in zip(learnt, [*learnt[1:], None], strict=True):
        bars = [
            Bar(
                place(one.begins),
                max(2, place(right if one.ends is None else one.ends) - place(one.begins)),
                one.ends is None,
                one.text,
            )
            for one in some
        ]
        found.append(Row(format_time(at), format_time(following[0]) if following else None, bars))
    return Plane(format_time(first), format_time(round(right)), found, len(rows))


def _version(document: dict[str, Any]) -> _Version:
    ends = document.get("valid_to")
    return _Version(
        parse_time(document["valid_from"]),
        parse_time(ends) if ends else None,
        document.get("body_text", ""),
    )


def _cut(versions: list[_Version]) -> list[_Version]:
    """A version ends at the latest where the next begins."""
    following = [*versions[1:], None]
    return [
        one
        if after is None or (one.ends is not None and one.ends <= after.begins)
        else one._replace(ends=after.begins)
        for one, after in zip(versions, following, strict=True)
    ]
