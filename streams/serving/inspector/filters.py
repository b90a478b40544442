"""Formats of values in pages: times, numbers, matches. All times are UTC."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec
from markupsafe import Markup, escape

from schemas.time import SECOND, parse_time

UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def moment(at: str | None) -> Markup:
    """A time, to the minute; exact in the element's `datetime`."""
    if not at:
        return Markup("")
    return Markup(
        '<time datetime="{0}" title="{0}">{1} <span class="clock">{2}</span></time>'
    ).format(at, at[:10], at[11:16])


def day(at: str | None) -> Markup:
    """A time's date."""
    return (
        Markup('<time datetime="{0}" title="{0}">{1}</time>').format(at, at[:10])
        if at
        else Markup("")
    )


def number(value: float | int) -> str:
    """Whole numbers with spaces between thousands, others with two digits."""
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return f"{value:.2f}"


def size(count: int) -> str:
    """Bytes, in the unit that keeps them short."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count} {unit}"
        count = round(count / 1000)
    return f"{number(count)} GB"


def said(text: str) -> Markup:
    """A quoted text: escaped, with its own direction."""
    return Markup('<bdi dir="auto">{}</bdi>').format(text)


def short(id: str) -> Markup:
    """An id; of a UUID the first eight digits, whole in the element's `title`."""
    if UUID_TEXT.fullmatch(id):
        return Markup('<bdi title="{}">{}…</bdi>').format(id, id[:8])
    return said(id)


def marked(text: str, matches: Iterable[Sequence[int]]) -> Markup:
    """A text with its matching parts marked; `matches` are [start, end) in characters."""
    parts, last = [], 0
    for start, end in matches:
        parts += [escape(text[last:start]), Markup("<mark>{}</mark>").format(text[start:end])]
        last = end
    parts.append(escape(text[last:]))
    return Markup('<bdi dir="auto">{}</bdi>').format(Markup("").join(parts))


PAUSES = (("days", 86_400), ("hours", 3_600))


def pause(at: str, before: str) -> tuple[str, int] | None:
    """The pause before a turn, in its largest unit, or None below an hour."""
    seconds = (parse_time(at) - parse_time(before)) // SECOND
    return next(((unit, seconds // each) for unit, each in PAUSES if seconds >= each), None)


def signed(value: float) -> str:
    """A number with its sign, two digits."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def plain(value: Any) -> str:
    """A value for display: text unchanged, empty values as a dash, others as JSON."""
    if value is None or value == "":
        return "–"
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def called(call: Any) -> str:
    """The name of the called tool, in the agents' various forms."""
    if not isinstance(call, dict):
        return str(call)
    function = call.get("function")
    inner = function.get("name") if isinstance(function, dict) else function
    return str(call.get("name") or call.get("tool") or inner or "?")


def in_order(items: Iterable[dict[str, Any]], name: str) -> list[tuple[Any, list[dict[str, Any]]]]:
    """Groups neighbours with the same value of a field."""
    return [
        (value, list(neighbours))
        for value, neighbours in groupby(items, key=lambda item: item[name])
    ]


def topics(mastery: Iterable[dict[str, Any]]) -> list[str]:
    """All topics of some lessons, in order of first appearance."""
    return list(dict.fromkeys(topic for lesson in mastery for topic in lesson["scores"]))


def place(steps: Sequence[str], at: str | None) -> int:
    """The number of times before a slider's position; all for None, which means now."""
    return len(steps) if at is None else max(bisect_right(steps, at) - 1, 0)


def erased_from(receipt: dict[str, Any]) -> list[tuple[str, dict[str, int] | str]]:
    """For the live generation (without a name) and each other: erased rows per table, or another
    result."""
    every = {"": receipt.get("tables", {}), **receipt.get("generations", {})}
    return [
        (
            name,
            tables
            if isinstance(tables, str)
            else {
                table: counts["erased"]
                for table, counts in sorted(tables.items())
                if counts["erased"]
            },
        )
        for name, tables in every.items()
    ]


FILTERS: dict[str, Any] = {
    "short": short,
    "moment": moment, "day": day, "number": number, "size": size, "said": said, "marked": marked,
    "signed": signed, "plain": plain, "called": called, "groupby_order": in_order, "topics": topics,
    "place": place, "pause": pause,
    "erased_from": erased_from,
}  # fmt: skip
