"""Encrypts the values of messages with the key of their session or user, and decrypts them.

Producers and consumers with `keys` do it, so that all other code sees plain records. A record that
cannot be decrypted any more arrives without value and with the header ERASED.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes

from streams.topology import TOPICS

if TYPE_CHECKING:
    from streams.erasure_keys.key_store import KeyStore

ERASED = ("turnfold_erased", b"1")
"""Header of a received record with a destroyed key."""
OWNERS = {"session_id": b"s", "user_id": b"u"}
"""The letter of a table's rows, by the field in its keys."""


def letter_of(template: str) -> bytes | None:
    """The letter of the owner in a template of keys (`streams.topology`), if it names one."""
    owner = "".join(template.split("/")[1:2])
    return OWNERS.get(owner.strip("{}"))


LETTERS = {topic.name: letter for topic in TOPICS if (letter := letter_of(topic.key))}
"""Topic -> letter of its messages' owners; other topics have sessions' and users' messages."""
WITH_PART = frozenset(topic.name for topic in TOPICS if topic.key.count("/") == 2)
"""Topics with keys of three parts, the last one within the owner."""


class DecryptedRecord(NamedTuple):
    """As `aiokafka_internals.RawMessage`."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]
    checksum: int | None = None


@lru_cache(100_000)
def owner_of(topic: str, key: bytes | None, letter: bytes | None = None) -> bytes | None:
    """The owner of a topic's message, as the prefix of its rows in a changelog, or None for a
    foreign topic or a key without an owner. `letter`: in topics of sessions and users. Topics of a
    generation are named TOPIC.NAME."""
    stem = topic.partition(".")[0]
    letter = LETTERS.get(stem, letter)
    tenant, slash, id = (key or b"").partition(b"/")
    if letter is None or not slash:
        return None
    if stem in WITH_PART:
        id = unquote_to_bytes(id.partition(b"/")[0])
    return b"\0".join((letter, tenant, id))


def encrypted(keys: "KeyStore", topic: str, key: bytes | None, value: bytes) -> bytes:
    """The value of a message with a topic's key; plain if that has no owner."""
    owner = owner_of(topic, key)
    return value if owner is None else keys.encrypt(owner, value)


def decrypting(keys: "KeyStore", convert: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """aiokafka's conversion of a fetched record, for encrypted ones."""

    def converted(partition: Any, record: Any) -> Any:
        value: bytes | None = record.value
        if value is not None:
            keys.refresh()
            plain = keys.decrypt(value)
            if plain is not value:
                record = _with_value(record, plain)
        return convert(partition, record)

    return converted


def _with_value(record: Any, value: bytes | None) -> DecryptedRecord:
    headers = record.headers if value is not None else [*record.headers, ERASED]
    return DecryptedRecord(
        record.offset, record.timestamp, record.timestamp_type, record.key, value, headers
    )
