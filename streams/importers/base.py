"""What every importer shares: the fault it raises, the count of what it left out, times and ids."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from schemas.base import SECOND, JsonObject, parse_time

MAX_ID = 128
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
LAST_SECOND = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())


class Importer(Protocol):
    """Reads a foreign file and yields input records as JSON-ready dicts, counting what it skips."""

    def __call__(self, path: Path, skipped: "Skipped") -> Iterator[JsonObject]: ...


class ImportFault(ValueError):  # noqa: N818
    """A file that cannot be imported: where (item from 1, field), why, and what to do."""

    def __init__(self, reason: str, *, item: int | None = None, field: str | None = None) -> None:
        self.item, self.field, self.reason = item, field, reason
        places = [f"item {item}" if item else "", f"field {field}" if field else ""]
        place = ", ".join(part for part in places if part)
        super().__init__(f"{place}: {reason}" if place else reason)


class Skipped(Counter[str]):
    """What was not imported and how often: `{"image without a description": 2}`."""

    def refuse(self, fault: ImportFault) -> None:
        """One conversation cannot be imported: raises, unless who imports wants the others."""
        raise fault


def whole(item: Callable[[Skipped], Iterable[JsonObject]], skipped: Skipped) -> list[JsonObject]:
    """All records of one conversation, or none where it has a fault."""
    of_item = Skipped()
    try:
        records = list(item(of_item))
    except ImportFault as fault:
        skipped.refuse(fault)
        return []
    skipped.update(of_item)
    return records


def micros(value: Any, *, item: int, field: str) -> int:
    """Unix seconds or RFC 3339 text -> microseconds since 1970-01-01 UTC."""
    if isinstance(value, str):
        try:
            return parse_time(value)
        except ValueError as error:
            raise ImportFault(str(error), item=item, field=field) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ImportFault("expected Unix seconds or RFC 3339 text", item=item, field=field)
    if not abs(value) <= LAST_SECOND:  # also refuses NaN
        reason = f"{value} lies beyond the year 9999: give Unix seconds, not milliseconds"
        raise ImportFault(reason, item=item, field=field)
    return round(value * SECOND)


def identifier(value: Any, *, item: int, field: str) -> str | None:
    """An id as text of 1..128 characters; null and absent are None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ImportFault("expected text or an integer", item=item, field=field)
    text = str(value)
    if not 1 <= len(text) <= MAX_ID or CONTROL.search(text):
        reason = f"expected 1..{MAX_ID} characters, none of them a control character"
        raise ImportFault(reason, item=item, field=field)
    return text
