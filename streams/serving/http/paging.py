"""Pages of lists: `limit` is the length, `cursor` the end of the previous page (its `next`).

A pattern describes each cursor completely, for the OpenAPI document: `12` (a position in a list),
`1772355000000000:e1` (a time and an id).
"""

from collections.abc import Sequence
from typing import Any

from streams.history_documents import FAR
from streams.history_lists import Arrival

OFFSET = r"^[0-9]{1,15}$"
PLACE = r"^-?[0-9]{1,18}:[^\x00-\x1f\x7f]{1,128}$"
LETTER_PLACE = r"^-?[0-9]{1,18}:[^\x00-\x1f\x7f]{1,1900}:-?[0-9]{1,18}:-?[0-9]{1,18}$"
"""Cursor of a dead letter or a stored message: its time, topic, partition and offset."""

Place = tuple[int, str]
START: Place = (-FAR, "")
"""Before every time and id."""


def after(cursor: str | None) -> Place:
    """Time and id of a cursor that matches `PLACE` or `LETTER_PLACE`."""
    if cursor is None:
        return START
    at, _, name = cursor.partition(":")
    return int(at), name


def write(at: int, name: str) -> str:
    """The cursor after a time and an id."""
    return f"{at}:{name}"


def came(cursor: str) -> Arrival:
    """The record of a cursor that matches `LETTER_PLACE`."""
    at, _, rest = cursor.partition(":")
    topic, partition, offset = rest.rsplit(":", 2)
    return int(at), topic, int(partition), int(offset)


def window(
    items: Sequence[dict[str, Any]], limit: int, cursor: str | None
) -> tuple[Sequence[dict[str, Any]], str | None]:
    """A page of a list, and the cursor of the next one."""
    start = int(cursor or 0)
    end = start + limit
    return items[start:end], str(end) if end < len(items) else None
