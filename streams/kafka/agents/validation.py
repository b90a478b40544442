"""A Kafka record to a validated one, a dead letter, or nothing (withheld).

What `streams.pipeline.decode` asks of the bytes, and what Kafka adds: a value, a key that is the
payload's, its partition, the right topic, CloudEvents headers that say what the payload says.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

from schemas.dead_letters import Reason
from schemas.time import parse_time
from streams.folds.rows import Input
from streams.kafka.agents.encoding import to_json
from streams.kafka.client.partitions import partition_of
from streams.kinds import ID_FIELDS, KINDS, kind_of
from streams.pipeline import images, withheld
from streams.pipeline.decode import Dead, Withheld, decode, guarded

WRONG_PARTITION = (
    "partition {}: this key's is {}, by murmur2; elsewhere its owner's rows would be kept twice. "
    "Of a producer built on librdkafka set partitioner=murmur2_random; `admin dlq replay` sends it "
    "right"
)

HEADERS_KEPT = 64_000
"""Characters of a dead letter's headers; with more it may fit no topic."""


def read(record: Any, partitions: int, topic: str | None = None) -> Input | Dead | Withheld:
    """One record as the broker gave it (`transport.processing.Record`), of a topic with so many
    partitions. `topic`: which one of the topology it is, if not by its name."""
    value: bytes | None = record.value
    if record.headers and withheld.in_headers(record.headers):
        return "withheld"
    if value is None:
        return Dead("null_value", "no value: a record is one JSON object", b"")
    given = decode(value, (record.topic, record.partition, record.offset))
    if type(given) is not Input:
        return given
    said = given.record
    kind = kind_of(said)
    key = f"{said.tenant}/{getattr(said, kind.owner)}"
    if record.key != key.encode():
        return _dead(given, value, key, *_wrong_key(record.key, key))
    if record.partition != (right := partition_of(record.key, partitions)):
        detail = WRONG_PARTITION.format(record.partition, right)
        return _dead(given, value, key, "wrong_partition", detail)
    if kind.topic != (topic or record.topic):
        known = " and ".join(one.type for one in KINDS if one.topic == (topic or record.topic))
        whose = "a session" if kind.table == "sessions" else "a user"
        detail = f"{record.topic} takes {known}, not a {said.type} of {whose}"
        return _dead(given, value, key, "wrong_topic", detail)
    if record.headers and (conflict := _conflict(said, record.headers)):
        return _dead(given, value, key, "conflicting_headers", conflict)
    return given


def _dead(given: Input, value: bytes, key: str, reason: Reason, detail: str) -> Dead:
    dead = Dead(reason, detail, value, given.record.tenant, key, given.record.occurred_at)
    return guarded(dead, value, detail.encode())


def _wrong_key(key: bytes | None, expected: str) -> tuple[Reason, str]:
    if key is None:
        return "null_key", f"no key: expected {expected}"
    return "wrong_key", f"key {key_text(key)!r}: expected {expected!r}, the payload's"


def _conflict(said: Any, headers: Sequence[tuple[str, bytes]]) -> str | None:
    """The first CloudEvents header that contradicts the payload."""
    for name, value in headers:
        if (check := _CHECKS.get(name)) is None:
            continue
        try:
            expected = check(said, value.decode())
        except (ValueError, AttributeError) as error:
            return f"{name}: {error}"
        if expected is not None:
            return f"{name}: the payload says {expected}"
    return None


def _id(said: Any, text: str) -> str | None:
    own = getattr(said, ID_FIELDS[said.type])
    return None if own is None or own == text else f"{ID_FIELDS[said.type]} {own}"


def _type(said: Any, text: str) -> str | None:
    return None if said.type == text else f"type {said.type}"


def _time(said: Any, text: str) -> str | None:
    return None if parse_time(text) == said.occurred_at else "another occurred_at"


_CHECKS: dict[str, Callable[[Any, str], str | None]] = {
    "ce_id": _id,
    "ce_type": _type,
    "ce_time": _time,
}


# --- what dead letters keep -------------------------------------------------------------------


def key_text(key: bytes) -> str:
    """A key as text; what is not UTF-8 is escaped, image bytes are cut out."""
    return images.cut(key.decode("utf-8", "backslashreplace"))


def headers_text(headers: Sequence[tuple[str, bytes]]) -> str | None:
    """Headers as JSON text: [name, value] pairs in their order; a value is text, or
    {"base64": …} where it is not UTF-8. Instead of very many the text says how many."""
    if not headers:
        return None
    text = to_json([(name, _header_value(value)) for name, value in headers]).decode()
    if len(text) > HEADERS_KEPT:
        said = f"{len(headers)} headers, {len(text)} characters as JSON: not kept"
        text = to_json([("(headers)", said)]).decode()
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
