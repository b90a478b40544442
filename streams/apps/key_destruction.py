"""Destroys the keys of an erased user, and describes what becomes unreadable in Kafka."""

from collections.abc import Collection
from typing import Any

from streams.erasure_keys import open_store

SessionKey = tuple[str, str]
"""tenant, session_id"""
UNREADABLE = (
    "input topics, user-signals, changelogs, tables of workers and servers, documents, history and "
    "dead-letters: all records encrypted with these keys, since the keys are destroyed"
)
READABLE = (
    "records of shared sessions, memory of other users, ids in keys and headers, dead letters "
    "that name no owner, and records that were sent without keys: until their topics' retention"
)


def destroy_user_key(tenant: str, user_id: str) -> bool:
    """Destroys a user's key; False without a key store. Raises ConfigurationError, OSError."""
    store = open_store()
    if store is None:
        return False
    store.destroy([_entity("users", tenant, user_id)])
    return True


def destroy_session_keys(
    whole: Collection[SessionKey], shared: Collection[SessionKey]
) -> dict[str, Any]:
    """Destroys the keys of sessions that belong to the user alone, after the user's; returns the
    receipt's part about Kafka, empty without a key store."""
    store = open_store()
    if store is None:
        return {}
    store.destroy([_entity("sessions", *session) for session in sorted(whole)])
    return {
        "keys": {
            "users": 1,
            "sessions": len(whole),
            "unreadable": UNREADABLE,
            "shared_sessions": len(shared),
            "readable": READABLE,
        }
    }


def _entity(table: str, tenant: str, id: str) -> bytes:
    """As `streams.kafka.client.encryption.owner_of`."""
    return f"{table[0]}\0{tenant}\0{id}".encode()
