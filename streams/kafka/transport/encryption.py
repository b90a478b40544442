"""Encrypts a lane's rows and messages with the keys of sessions and users.

Rows are encrypted in memory, on disk and in the changelog: a restore needs no keys, and rows of a
destroyed key are unreadable wherever they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from streams.kafka.client.encryption import owner_of
from streams.kafka.transport.interfaces import Output
from streams.kafka.transport.marker import TablePosition
from streams.kafka.transport.rows import Row, RowStore

if TYPE_CHECKING:
    from streams.erasure_keys.key_store import KeyStore


class EncryptedRows:
    """Implements `streams.kafka.transport.rows.RowStore` over another store."""

    has_keys = True

    def __init__(self, rows: RowStore, keys: "KeyStore") -> None:
        self._rows, self._keys = rows, keys
        self._known = len(keys.erased)
        self.entities = rows.entities

    def encrypted(self, rows: list[Row]) -> list[Row]:
        encrypt = self._keys.encrypt
        prefixes = [key.rpartition(b"\0")[0] for key, _ in rows]
        self._keys.prepare(prefixes)
        return [
            (key, None if value is None else encrypt(prefix, value))
            for prefix, (key, value) in zip(prefixes, rows, strict=True)
        ]

    def decrypted(self, value: bytes | None) -> bytes | None:
        return None if value is None else self._keys.decrypt(value)

    def erased(self, prefixes: Iterable[bytes]) -> Sequence[bytes]:
        self._keys.refresh()
        if self._known == len(self._keys.erased):
            return ()
        names = set(self._keys.erased[self._known :])
        self._known = len(self._keys.erased)
        return [prefix for prefix in prefixes if self._keys.name(prefix) in names]

    def erased_at(self, prefix: bytes) -> int | None:
        return self._keys.erased_at(prefix)

    def open(self) -> TablePosition | None:
        return self._rows.open()

    def read(self, prefix: bytes) -> dict[str, bytes]:
        rows = ((name, self._keys.decrypt(row)) for name, row in self._rows.read(prefix).items())
        return {name: row for name, row in rows if row is not None}

    def named(self, name: bytes) -> Iterator[Row]:
        return ((key, self.decrypted(value)) for key, value in self._rows.named(name))

    def keys(self, after: bytes) -> Iterator[bytes]:
        return self._rows.keys(after)

    def put(self, rows: Iterable[Row]) -> None:
        """Deletes rows of destroyed keys."""
        is_destroyed = self._keys.is_destroyed
        self._rows.put(
            (key, None if value is not None and is_destroyed(value) else value)
            for key, value in rows
        )

    def commit(self, standing: TablePosition) -> None:
        self._rows.commit(standing)

    async def rest(self) -> None:
        await self._rows.rest()

    def settle(self) -> None:
        self._rows.settle()

    def clear(self) -> None:
        self._rows.clear()

    def close(self) -> None:
        self._rows.close()


def encrypted(keys: "KeyStore", outputs: Sequence[Output], letter: bytes | None) -> list[Output]:
    """A lane's messages, encrypted with the keys of their owners. Call it right after the fold:
    a key may be destroyed later, and data derived from its records must not get a new one.
    `letter`: of the lane's entities."""
    owners = [output.owner or owner_of(output.topic, output.key, letter) for output in outputs]
    keys.prepare(owner for owner in owners if owner is not None)
    encrypt = keys.encrypt
    last: tuple[bytes | None, bytes | None, bytes] = (None, None, b"")
    messages: list[Output] = []
    for owner, output in zip(owners, outputs, strict=True):
        topic, partition, key, value, headers, timestamp, _ = output
        if owner is not None and value is not None:
            if value is not last[0] or owner != last[1]:  # a row may go to two topics
                last = value, owner, encrypt(owner, value)
            output = Output(topic, partition, key, last[2], headers, timestamp)
        messages.append(output)
    return messages


def with_keys(rows: RowStore, keys: "KeyStore | None") -> RowStore:
    """The store, encrypted if there are keys."""
    return rows if keys is None else EncryptedRows(rows, keys)
