"""Long lists in pages: `limit` how long, `cursor` where the last one ended (its `next`)."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from streams.serving.problems import Fault, invalid

T = TypeVar("T")


def write(*place: int | str) -> str:
    """A place in a list as text that says nothing to people."""
    return urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def read(cursor: str | None, shape: Any, start: T) -> T:
    """The place behind a cursor, a tuple of that shape; `start` where none is given.

    Raises Problem.
    """
    if cursor is None:
        return start
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place: T = msgspec.json.decode(text, type=shape)
        return place
    except (ValueError, msgspec.MsgspecError):
        raise invalid([Fault("cursor", "is not one that a reply has given as `next`")]) from None


Offset = tuple[int]


def window(
    items: Sequence[dict[str, Any]], limit: int, cursor: str | None
) -> tuple[Sequence[dict[str, Any]], str | None]:
    """A page of a list that is at hand, and the cursor of the next one."""
    (start,) = read(cursor, Offset, (0,))
    end = max(0, start) + limit
    return items[max(0, start) : end], write(end) if end < len(items) else None
