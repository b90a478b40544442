"""Unwraps events: plain JSON, CloudEvents (binary or structured), or row changes of Debezium.

Each reader returns the object for expressions, or None for messages that are not events:
tombstones, deleted rows.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from schemas.dead_letters import Reason
from schemas.upcast import number
from streams.mapping.definition import SourceRule

Headers = Sequence[tuple[str, bytes | None]]
_decode = msgspec.json.Decoder(float_hook=number).decode


class Message(NamedTuple):
    """Properties of a Kafka message besides its value; empty for a line of a file. `timestamp` in
    milliseconds."""

    topic: str
    timestamp: int | None = None
    key: bytes | None = None
    headers: Headers = ()


class NotAnEvent(ValueError):  # noqa: N818 - what it is
    """The bytes do not match the format; the text is the reason."""

    reason: Reason = "invalid"


class NotAnObject(NotAnEvent):
    """JSON, but not an object."""

    reason = "not_an_object"


Unwrap = Callable[[bytes | None, Message], dict[str, Any] | None]
"""Raises NotAnEvent, and msgspec's errors of invalid JSON."""


Read = Callable[[bytes], Any]
"""Decoder of a source's encoding: bytes -> JSON value."""


def unwrapper(source: SourceRule, decode: Read = _decode) -> Unwrap:
    """Reader of a source's format; `decode` decodes its values."""
    if source.format == "cloudevents":
        return _cloud_events(decode, is_json=source.encoding == "json")
    if source.format == "debezium":
        return _changes(decode, maps_deletes=source.deletes == "map")
    return lambda value, message: _plain(value, decode)


def _plain(value: bytes | None, decode: Read) -> dict[str, Any] | None:
    """The value as event, an object."""
    return None if value is None else _object(decode(value))


def _object(event: Any) -> dict[str, Any] | None:
    if event is None or type(event) is dict:
        return event
    raise NotAnObject("expected one JSON object")


# --- CloudEvents ----------------------------------------------------------------------------------

PREFIX = "ce_"
STRUCTURED, BATCH = "application/cloudevents", "application/cloudevents-batch"
JSON = re.compile(r"(application|text)/([\w.!#$&^-]+\+)?json\s*(;.*)?", re.ASCII | re.IGNORECASE)


def _cloud_events(decode: Read, is_json: bool) -> Unwrap:
    """Reader of CloudEvents: attributes and `data`."""

    def unwrap(value: bytes | None, message: Message) -> dict[str, Any] | None:
        headers = {name.lower(): header for name, header in message.headers}
        content = _text("content-type", headers.get("content-type"))
        if content.lower().startswith(BATCH):
            raise NotAnEvent("a batch of CloudEvents: send one event a message")
        if f"{PREFIX}specversion" in headers and not content.lower().startswith(STRUCTURED):
            if is_json and content and value is not None and not JSON.fullmatch(content):
                raise NotAnEvent("content-type: the data of an event must be JSON")
            return _binary(None if value is None else decode(value), headers, content)
        event = None if value is None else _object(_decode(value))
        return None if event is None else _checked(dict(event))

    return unwrap


def _binary(data: Any, headers: dict[str, bytes | None], content: str) -> dict[str, Any]:
    event: dict[str, Any] = {
        name.removeprefix(PREFIX): _text(name, header)
        for name, header in headers.items()
        if name.startswith(PREFIX) and header is not None
    }
    if wrong := event.keys() & {"data", "data_base64"}:
        raise NotAnEvent(f"header {PREFIX}{min(wrong)}: the data are the message's value")
    if content:
        event["datacontenttype"] = content
    if data is not None:
        event["data"] = data
    return _checked(event)


def _checked(event: dict[str, Any]) -> dict[str, Any]:
    if event.get("specversion") != "1.0":
        raise NotAnEvent("specversion: expected 1.0, of CloudEvents")
    packed = event.pop("data_base64", None)
    if packed is not None:
        if "data" in event:
            raise NotAnEvent("data_base64: an event has either it or data")
        try:
            event["data"] = _decode(b64decode(packed, validate=True))
        except (ValueError, TypeError):
            raise NotAnEvent("data_base64: expected JSON in base64") from None
    return event


def _text(name: str, header: bytes | None) -> str:
    try:
        return "" if header is None else header.decode()
    except UnicodeDecodeError:
        raise NotAnEvent(f"header {name}: not UTF-8") from None


# --- Debezium -------------------------------------------------------------------------------------

PASSED_OVER = ("t", "m")
"""Operations that do not concern a row: truncate, and messages in the database's log."""


def _changes(decode: Read, maps_deletes: bool) -> Unwrap:
    def unwrap(value: bytes | None, message: Message) -> dict[str, Any] | None:
        envelope = _plain(value, decode)
        if envelope is not None and "schema" in envelope and "payload" in envelope:
            envelope = _object(envelope["payload"])
        if envelope is None:
            return None
        op = envelope.get("op")
        if op in PASSED_OVER or (op == "d" and not maps_deletes):
            return None
        if op not in ("c", "r", "u", "d"):
            raise NotAnEvent("op: expected c, r, u or d, of a change by Debezium")
        image = "before" if op == "d" else "after"
        row = envelope.get(image)
        if type(row) is not dict:
            raise NotAnEvent(f"{image}: expected an object, the row")
        return {**row, "__op": op, "__ts_ms": envelope.get("ts_ms"), "__deleted": op == "d"}

    return unwrap
