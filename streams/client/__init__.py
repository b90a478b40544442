"""A client of the HTTP API, sync and async (docs/clients.md).

with Turnfold("http://localhost:8400", token) as turnfold:
    summary = turnfold.memory_summary(session_id="s456")
"""

from schemas.http import SessionUpdate, UserEvent, UserUpdate
from streams.client.async_client import AsyncTurnfold
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
from streams.client.sync_client import Turnfold

__all__ = [
    "AsyncTurnfold",
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
    "Turnfold",
    "UnauthorizedError",
    "UnreachableError",
    "UserEvent",
    "UserUpdate",
]
