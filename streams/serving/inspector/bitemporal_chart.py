"""A state on two time axes: horizontally its validity, vertically when it was known.

Each revision adds a row of bars, which is shown until the next revision. Positions are in
thousandths of the width, so a drawing needs no measuring.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import msgspec

from schemas.time import format_time, parse_time

WIDTH, MARGIN, ROOM = 1000, 0.04, 0.25
"""`MARGIN`: of the time shown, left free after it. `ROOM`: share of the width that a
version gets at least which has no end, so that its text can be read."""
ROWS, BARS = 12, 40
"""The newest that are drawn, and of each the last: a row repeats the bars of the one before."""


class Bar(msgspec.Struct, frozen=True):
    """A believed version: from `x`, with this width; open without a known end."""

    x: int
    width: int
    open: bool
    text: str


class ChartRow(msgspec.Struct, frozen=True):
    """The versions believed from `known_at` on, and until when (None: still)."""

    known_at: str
    until: str | None
    bars: list[Bar]


class Plane(msgspec.Struct, frozen=True):
    """`first` and `last` are the times at both ends of the width; `total` rows there are."""

    first: str
    last: str
    rows: list[ChartRow]
    total: int


class _ChartVersion(NamedTuple):
    begins: int
    ends: int | None
    text: str


def plane(revisions: Sequence[dict[str, Any]], now: int) -> Plane | None:
    """The chart of a state's revisions in order (history_lists.why, one each), or None if they have
    no times."""
    versions: dict[str, _ChartVersion] = {}
    learnt: list[tuple[int, list[_ChartVersion]]] = []
    times_known = list(
        accumulate((parse_time(revision["recorded_at"]) for revision in revisions), max)
    )
    rows = sorted(set(times_known))
    for revision, recorded_at in zip(revisions, times_known, strict=True):
        document = revision["after"] or revision["before"]
        if not isinstance(document, dict) or "valid_from" not in document:
            return None
        if revision["after"] is None:
            versions.pop(document["valid_from"], None)
        else:
            versions[document["valid_from"]] = _version(document)
        if recorded_at < rows[-ROWS:][0]:
            continue
        believed = _cut(sorted(versions.values())[-BARS:])
        if learnt and learnt[-1][0] == recorded_at:
            learnt[-1] = recorded_at, believed
        else:
            learnt.append((recorded_at, believed))
    times = [
        at
        for _, belief in learnt
        for version in belief
        for at in (version.begins, version.ends)
        if at
    ]
    if not times:
        return None
    first, last = min(times), max(*times, learnt[-1][0], min(now, max(times) + 1))
    wide = max(1, last - first)
    start, end = first, last + wide * MARGIN
    if starts := [version.begins for version in learnt[-1][1] if version.ends is None]:
        end = max(end, (max(starts) - ROOM * start) / (1 - ROOM))

    def place(at: float) -> int:
        return round(WIDTH * (at - start) / (end - start))

    chart_rows: list[ChartRow] = []
    for (at, belief), following in zip(learnt, [*learnt[1:], None], strict=True):
        bars = [
            Bar(
                place(version.begins),
                max(
                    2, place(end if version.ends is None else version.ends) - place(version.begins)
                ),
                version.ends is None,
                version.text,
            )
            for version in belief
        ]
        chart_rows.append(
            ChartRow(format_time(at), format_time(following[0]) if following else None, bars)
        )
    return Plane(format_time(first), format_time(round(end)), chart_rows, len(rows))


def _version(document: dict[str, Any]) -> _ChartVersion:
    ends = document.get("valid_to")
    return _ChartVersion(
        parse_time(document["valid_from"]),
        parse_time(ends) if ends else None,
        document.get("body_text", ""),
    )


def _cut(versions: list[_ChartVersion]) -> list[_ChartVersion]:
    """Ends each version at the latest at the start of the next."""
    following = [*versions[1:], None]
    return [
        version
        if after is None or (version.ends is not None and version.ends <= after.begins)
        else version._replace(ends=after.begins)
        for version, after in zip(versions, following, strict=True)
    ]
