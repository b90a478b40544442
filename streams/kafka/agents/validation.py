"""Decodes and validates a Kafka message: a record, a dead letter, or withheld.

Adds Kafka's checks to `streams.pipeline.decode`: there is a value, the key is the payload's, the
partition is the key's, the topic fits, and CloudEvents headers agree with the payload.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from schemas.dead_letters import Reason
from schemas.time import parse_time
from streams.erasure_keys.encrypted_values import check_plain
from streams.folds.effects import Input
from streams.kafka.agents.encoding import to_json
from streams.kafka.client.encryption import ERASED
from streams.kafka.client.partitions import partition_of
from streams.pipeline import images, withheld
from streams.pipeline.decode import Dead, Withheld, decode, guarded
from streams.record_kinds import ID_FIELDS, KINDS, kind_of

WRONG_PARTITION = (
    "partition {}: this key's is {}, by murmur2; elsewhere its owner's rows would be kept twice. "
    "Of a producer built on librdkafka set partitioner=murmur2_random; `admin dlq replay` sends it "
    "right"
)

HEADERS_KEPT = 64_000
"""Maximum characters of a dead letter's headers; more might exceed the topic's message size."""


def validate(message: Any, partitions: int, topic: str | None = None) -> Input | Dead | Withheld:
    """Validates one message of a topic with this number of partitions. `topic`: its name in the
    topology, if different. Raises ConfigurationError for an encrypted message."""
    value: bytes | None = message.value
    if message.headers and withheld.in_headers(message.headers):
        return "withheld"
    if value is None:
        if ERASED in message.headers:
            return "withheld"
        return Dead("null_value", "no value: a record is one JSON object", b"")
    decoded = decode(value, (message.topic, message.partition, message.offset))
    if type(decoded) is not Input:
        check_plain(value, f"{message.topic}/{message.partition}/{message.offset}")
        return decoded
    record = decoded.record
    kind = kind_of(record)
    key = f"{record.tenant}/{getattr(record, kind.owner)}"
    if message.key != key.encode():
        return _dead(decoded, value, key, *_wrong_key(message.key, key))
    if message.partition != (expected := partition_of(message.key, partitions)):
        detail = WRONG_PARTITION.format(message.partition, expected)
        return _dead(decoded, value, key, "wrong_partition", detail)
    if kind.topic != (topic or message.topic):
        types = " and ".join(
            accepted.type for accepted in KINDS if accepted.topic == (topic or message.topic)
        )
        owner = "a session" if kind.table == "sessions" else "a user"
        detail = f"{message.topic} takes {types}, not a {record.type} of {owner}"
        return _dead(decoded, value, key, "wrong_topic", detail)
    if message.headers and (conflict := _conflict(record, message.headers)):
        return _dead(decoded, value, key, "conflicting_headers", conflict)
    return decoded


def _dead(decoded: Input, value: bytes, key: str, reason: Reason, detail: str) -> Dead:
    dead = Dead(reason, detail, value, decoded.record.tenant, key, decoded.record.occurred_at)
    return guarded(dead, value, detail.encode())


def _wrong_key(key: bytes | None, expected: str) -> tuple[Reason, str]:
    if key is None:
        return "null_key", f"no key: expected {expected}"
    return "wrong_key", f"key {key_text(key)!r}: expected {expected!r}, the payload's"


def _conflict(record: Any, headers: Sequence[tuple[str, bytes]]) -> str | None:
    """The first CloudEvents header that contradicts the payload."""
    for name, value in headers:
        if (check := _CHECKS.get(name)) is None:
            continue
        try:
            expected = check(record, value.decode())
        except (ValueError, AttributeError) as error:
            return f"{name}: {error}"
        if expected is not None:
            return f"{name}: the payload says {expected}"
    return None


def _id(record: Any, text: str) -> str | None:
    payload_id = getattr(record, ID_FIELDS[record.type])
    return (
        None
        if payload_id is None or payload_id == text
        else f"{ID_FIELDS[record.type]} {payload_id}"
    )


def _type(record: Any, text: str) -> str | None:
    return None if record.type == text else f"type {record.type}"


def _time(record: Any, text: str) -> str | None:
    return None if parse_time(text) == record.occurred_at else "another occurred_at"


_CHECKS: dict[str, Callable[[Any, str], str | None]] = {
    "ce_id": _id,
    "ce_type": _type,
    "ce_time": _time,
}


# --- what dead letters keep -------------------------------------------------------------------


def key_text(key: bytes) -> str:
    """Key as text: bytes that are not UTF-8 are escaped, image bytes removed."""
    return images.cut(key.decode("utf-8", "backslashreplace"))


def headers_text(headers: Sequence[tuple[str, bytes]]) -> str | None:
    """Headers as JSON: [name, value] pairs in order; a value is text, or {"base64": …} if it is not
    UTF-8. Too many headers are replaced by their number."""
    if not headers:
        return None
    text = to_json([(name, _header_value(value)) for name, value in headers]).decode()
    if len(text) > HEADERS_KEPT:
        summary = f"{len(headers)} headers, {len(text)} characters as JSON: not kept"
        text = to_json([("(headers)", summary)]).decode()
    return text


def _header_value(value: bytes | None) -> str | dict[str, str] | None:
    if value is None:
        return None
    if images.is_image(value):
        return images.stand_in(value)
    try:
        return images.cut(value.decode())
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}
