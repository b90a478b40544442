"""A client of the HTTP API, sync and async (docs/clients.md).

with Turnstone("http://localhost:8400", token) as turnstone:
    summary = turnstone.memory_summary(session_id="s456")
"""

from schemas.http import SessionUpdate, UserEvent, UserUpdate
from streams.client.async_client import AsyncTurnstone
from streams.client.errors import (
    BadRequestError,
    BusyError,
    ClientError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NoHistoryError,
    NoRoomError,
    NotFoundError,
    NotReadyError,
    ReplyError,
    ServerError,
    StatusError,
    TooLargeError,
    UnauthorizedError,
    UnreachableError,
)
from streams.client.events import SessionEvent
from streams.client.sync_client import Turnstone

__all__ = [
    "AsyncTurnstone",
    "BadRequestError",
    "BusyError",
    "ClientError",
    "ConflictError",
    "ForbiddenError",
    "InvalidError",
    "NoHistoryError",
    "NoRoomError",
    "NotFoundError",
    "NotReadyError",
    "ReplyError",
    "ServerError",
    "SessionEvent",
    "SessionUpdate",
    "StatusError",
    "TooLargeError",
    "Turnstone",
    "UnauthorizedError",
    "UnreachableError",
    "UserEvent",
    "UserUpdate",
]
