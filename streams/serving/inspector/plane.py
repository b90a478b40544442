"""A state on a plane of two clocks: to the right when it is true, downwards when it was known.

Each revision adds what was believed from the moment it was learnt: a row of bars, until the next
revision. Places are shares of the width, in thousandths, so that a drawing needs no measuring.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas.time import format_time, parse_time

WIDTH, MARGIN = 1000, 0.04


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
    """`first` and `last` are the times at both ends of the width."""

    first: str
    last: str
    rows: list[Row]


class _Version(NamedTuple):
    begins: int
    ends: int | None
    text: str


def plane(revisions: Sequence[dict[str, Any]], now: int) -> Plane | None:
    """Of a state's revisions in order (listing.why, one each); None where they have no times."""
    held: dict[str, _Version] = {}
    learnt: list[tuple[int, list[_Version]]] = []
    known = 0
    for one in revisions:
        document = one["after"] or one["before"]
        if not isinstance(document, dict) or "valid_from" not in document:
            return None
        if one["after"] is None:
            held.pop(document["valid_from"], None)
        else:
            held[document["valid_from"]] = _version(document)
        known = max(known, parse_time(one["recorded_at"]))
        believed = _cut(sorted(held.values()))
        if learnt and learnt[-1][0] == known:
            learnt[-1] = known, believed
        else:
            learnt.append((known, believed))
    times = [at for _, some in learnt for one in some for at in (one.begins, one.ends) if at]
    if not times:
        return None
    first, last = min(times), max(*times, learnt[-1][0], min(now, max(times) + 1))
    wide = max(1, last - first)
    left, right = first - wide * MARGIN, last + wide * MARGIN

    def place(at: float) -> int:
        return round(WIDTH * (at - left) / (right - left))

    found = []
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
    return Plane(format_time(first), format_time(last), found)


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
