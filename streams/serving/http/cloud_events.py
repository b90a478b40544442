"""CloudEvents 1.0 over HTTP as input records: structured, batched, and in binary mode.

`data` is the record. The attributes `type`, `id` (the record's id) and `time` (`occurred_at`)
repeat or set its fields; a contradiction is rejected. Other attributes, such as `source`, are
ignored.
"""

from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from schemas.time import parse_time
from streams.record_kinds import ID_FIELDS

PREFIX = "ce-"


class InvalidCloudEvent(ValueError):  # noqa: N818 - what it is
    """An event that cannot be read as a record; `field` is the attribute."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field


class CloudEvent(msgspec.Struct):
    """One event. Fields are untyped, so that each error is reported separately."""

    specversion: Any = None
    type: Any = None
    id: Any = None
    time: Any = None
    data: Any = None
    data_base64: Any = None

    def line(self) -> bytes:
        """The record. Raises NotAnEvent."""
        if self.specversion != "1.0":
            raise InvalidCloudEvent("specversion", "expected 1.0")
        data = self._data()
        for field, value in self._attributes(data):
            stored = data.setdefault(field, value)
            if not _same(field, stored, value):
                raise InvalidCloudEvent(field, "the event's attribute says something else")
        try:
            return msgspec.json.encode(data)
        except RecursionError:
            raise InvalidCloudEvent("data", "nested too deep") from None

    def _data(self) -> dict[str, Any]:
        data = self.data
        if self.data_base64 is not None:
            try:
                data = msgspec.json.decode(b64decode(self.data_base64, validate=True))
            except (ValueError, TypeError, RecursionError):
                raise InvalidCloudEvent("data_base64", "expected JSON in base64") from None
        if not isinstance(data, dict):
            raise InvalidCloudEvent("data", "expected one JSON object, the record")
        return dict(data)

    def _attributes(self, data: dict[str, Any]) -> list[tuple[str, Any]]:
        kind = data.get("type", self.type)
        name = ID_FIELDS.get(kind) if isinstance(kind, str) else None
        attributes = [("type", self.type), (name, self.id), ("occurred_at", self.time)]
        return [(field, value) for field, value in attributes if field and value is not None]


def _same(field: str, stored: Any, value: Any) -> bool:
    if stored == value or field != "occurred_at":
        return bool(stored == value)
    try:
        return parse_time(stored) == parse_time(value)
    except ValueError:
        return False


def of_headers(headers: Mapping[str, str], body: bytes) -> CloudEvent:
    """An event in binary mode: attributes as `ce-` headers, the data as the body."""
    names = ("specversion", "type", "id", "time")
    attributes = {
        name: unquote(headers[PREFIX + name]) for name in names if PREFIX + name in headers
    }
    return CloudEvent(**attributes, data=msgspec.json.decode(body))
