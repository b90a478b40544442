"""CloudEvents 1.0 over HTTP as input records: structured, batched, and in binary mode.

`data` is the record. The attributes say again what it says, or for the first time: `type`, `id`
(the record's own id) and `time` (`occurred_at`). One that contradicts the record is refused; the
others, `source` among them, are not looked at.
"""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from schemas.time import parse_time
from streams.record_kinds import ID_FIELDS

PREFIX = "ce-"


class NotAnEvent(ValueError):  # noqa: N818 - what it is
    """An event that cannot be read as a record; `field` is the attribute."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field


class Event(msgspec.Struct):
    """One event; any type, so that what is wrong can be said of each by itself."""

    specversion: Any = None
    type: Any = None
    id: Any = None
    time: Any = None
    data: Any = None
    data_base64: Any = None

    def line(self) -> bytes:
        """The record. Raises NotAnEvent."""
        if self.specversion != "1.0":
            raise NotAnEvent("specversion", "expected 1.0")
        data = self._data()
        for field, value in self._attributes(data):
            known = data.setdefault(field, value)
            if not _same(field, known, value):
                raise NotAnEvent(field, "the event's attribute says something else")
        try:
            return msgspec.json.encode(data)
        except RecursionError:
            raise NotAnEvent("data", "nested too deep") from None

    def _data(self) -> dict[str, Any]:
        data = self.data
        if self.data_base64 is not None:
            try:
                data = msgspec.json.decode(b64decode(self.data_base64, validate=True))
            except (ValueError, TypeError, RecursionError):
                raise NotAnEvent("data_base64", "expected JSON in base64") from None
        if not isinstance(data, dict):
            raise NotAnEvent("data", "expected one JSON object, the record")
        return dict(data)

    def _attributes(self, data: dict[str, Any]) -> list[tuple[str, Any]]:
        kind = data.get("type", self.type)
        name = ID_FIELDS.get(kind) if isinstance(kind, str) else None
        given = [("type", self.type), (name, self.id), ("occurred_at", self.time)]
        return [(field, value) for field, value in given if field and value is not None]


def _same(field: str, known: Any, value: Any) -> bool:
    if known == value or field != "occurred_at":
        return bool(known == value)
    try:
        return parse_time(known) == parse_time(value)
    except ValueError:
        return False


def of_headers(headers: Mapping[str, str], body: bytes) -> Event:
    """An event in binary mode: attributes as `ce-` headers, the data as the body."""
    said = {name: unquote(headers[PREFIX + name]) for name in ("specversion", "type", "id", "time")
            if PREFIX + name in headers}  # fmt: skip
    return Event(**said, data=msgspec.json.decode(body))
