"""Shared parts of importers: faults, counts of omitted content, times and ids."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from schemas.base import SECOND, JsonObject, parse_time
from schemas.time import FIRST, LAST
from streams.pipeline.withheld import says

Shape = TypeVar("Shape", dict[str, Any], list[Any], str)
SHAPES = {dict: "an object", list: "an array", str: "text"}
UNREADABLE = "has a shape that is not read"
MAX_ID = 128
STDIN = "-"
LIKELY = int(datetime(1990, 1, 1, tzinfo=UTC).timestamp())
"""Seconds. What archives made to be reproducible give their files is earlier: 1970 or 1980."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
SURROGATE = re.compile("[\ud800-\udfff]")
HALF_PAIR = "half of a surrogate pair: no text"
UNEXPECTED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a value of an unexpected type raises where it is read as another."""
_encode = msgspec.json.Encoder().encode


class Importer(Protocol):
    """Reads a foreign file and yields input records as JSON-ready dicts, counting skipped items."""

    def __call__(
        self, path: Path, skipped: "Skipped", defaults: "ImportDefaults" = ...
    ) -> Iterator[JsonObject]: ...


class ImportDefaults(NamedTuple):
    """Defaults for fields that a file may lack.

    `user` is the user of conversations without one. `created` is the start of conversations
    without any time, in microseconds; `dated_by` is the origin of that time.
    """

    user: str | None = None
    created: int | None = None
    dated_by: str = "--created"

    def of(self, path: Path) -> "ImportDefaults":
        """Fills in `created`: the file's time of modification in whole seconds, which copies with
        preserved times share; for stdin the present. `created` is None if that time is
        implausible."""
        if self.created is not None:
            return self
        if str(path) == STDIN:
            return self._replace(created=time.time_ns() // 1000, dated_by="now")
        modified = int(path.stat().st_mtime) if path.exists() else 0
        if modified < LIKELY:
            return self
        return self._replace(created=modified * SECOND, dated_by="the file's modification time")


class ImportFault(ValueError):  # noqa: N818
    """A fault in a file: place (item from 1, field), reason, and how to fix it."""

    def __init__(self, reason: str, *, item: int | None = None, field: str | None = None) -> None:
        self.item, self.field, self.reason = item, field, reason
        places = [f"item {item}" if item else "", f"field {field}" if field else ""]
        place = ", ".join(part for part in places if part)
        super().__init__(f"{place}: {reason}" if place else reason)


NOTHING = ImportDefaults()


class NoUser(ImportFault):
    """A conversation without a user: it could not update any memory."""

    def __init__(self, item: int) -> None:
        reason = "names no user, so nothing would be remembered of it: give --user NAME"
        super().__init__(reason, item=item, field="user_id")


class Skipped(Counter[str]):
    """Counts of omitted content: `{"image without a description": 2}`."""

    dated: ImportDefaults | None = None
    """Defaults that dated a conversation without times, if any did."""

    def date(self, defaults: ImportDefaults) -> None:
        """Records that a conversation without times is dated by `defaults`."""
        self.dated = defaults

    def refuse(self, fault: ImportFault) -> None:
        """Handles a conversation that cannot be imported; raises, unless overridden to continue."""
        raise fault


def spoken(items: Iterable[Any], skipped: Skipped) -> Iterator[tuple[int, Any]]:
    """Returns the conversations with their numbers from 1, without withheld ones and without
    invalid JSON (`json_stream`)."""
    for number, item in enumerate(items, 1):
        if isinstance(item, ImportFault):
            skipped.refuse(item)
        elif says(item):
            skipped["withheld"] += 1
        else:
            yield number, item


def whole(
    item: Callable[[Skipped], Iterable[JsonObject]], number: int, skipped: Skipped
) -> list[JsonObject]:
    """Returns all records of one conversation, or none if it has a fault. An unexpected shape is a
    fault of that conversation only."""
    of_item = Skipped()
    try:
        records = list(item(of_item))
        for record in records:
            _check(record, number)
    except ImportFault as fault:
        skipped.refuse(fault)
        return []
    except UnicodeEncodeError as error:
        skipped.refuse(ImportFault(_unwritable(error), item=number))
        return []
    except UNEXPECTED as error:
        reason = f"{UNREADABLE}: {type(error).__name__}: {error}"
        skipped.refuse(ImportFault(reason, item=number))
        return []
    skipped.update(of_item)
    if of_item.dated:
        skipped.date(of_item.dated)
    return records


def _check(record: JsonObject, number: int) -> None:
    """Raises ImportFault if a value cannot be written as JSON."""
    try:
        _encode(record)
    except (UnicodeEncodeError, OverflowError, ValueError, RecursionError) as error:
        raise ImportFault(_unwritable(error), item=number) from None


def _unwritable(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        around = error.object[max(0, error.start - 20) : error.start]
        return f"{HALF_PAIR}, after {around!r}" if around else HALF_PAIR
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error)


def micros(value: Any, *, item: int, field: str) -> int:
    """Unix seconds or RFC 3339 text -> microseconds since 1970-01-01 UTC."""
    if isinstance(value, str):
        try:
            return parse_time(value)
        except ValueError as error:
            raise ImportFault(str(error), item=item, field=field) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ImportFault("expected Unix seconds or RFC 3339 text", item=item, field=field)
    # also rejects NaN
    since = round(value * SECOND) if abs(value) <= LAST // SECOND else LAST
    if not FIRST <= since < LAST:
        reason = f"{value} lies outside the years 1 to 9999: give Unix seconds, not milliseconds"
        raise ImportFault(reason, item=item, field=field)
    return since


def is_identifier(text: str) -> bool:
    """Whether a text has the length of an id, and no control characters."""
    return 1 <= len(text) <= MAX_ID and CONTROL.search(text) is None


def identifier(value: Any, *, item: int, field: str) -> str | None:
    """Returns an id as text of 1 to 128 characters, or None for null or a missing one."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ImportFault("expected text or an integer", item=item, field=field)
    text = str(value)
    if not is_identifier(text):
        reason = f"expected 1..{MAX_ID} characters, none of them a control character"
        raise ImportFault(reason, item=item, field=field)
    if not text.isascii() and SURROGATE.search(text):
        raise ImportFault(HALF_PAIR, item=item, field=field)
    return text


def shaped(value: Any, kind: type[Shape], *, item: int | None, field: str) -> Shape:
    """Returns an object, array or text; empty if missing. Raises ImportFault for another type."""
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise ImportFault(f"expected {SHAPES[kind]}", item=item, field=field)
    return value
