"""A client of Turnfold's HTTP API, sync and async.

with Turnfold("http://localhost:8400", token) as turnfold:
    summary = turnfold.memory_summary(session_id="s456")
"""

from turnfold_client.async_client import AsyncTurnfold
from turnfold_client.errors import (
    BadRequestError,
    BusyError,
    ClientError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    LocalServerError,
    NoRoomError,
    NotFoundError,
    NotKeptError,
    NotReadyError,
    ReplyError,
    ServerError,
    SpoolError,
    StatusError,
    TooLargeError,
    UnauthorizedError,
    UnreachableError,
    UnsupportedError,
)
from turnfold_client.events import SessionEvent
from turnfold_client.models import SessionUpdate, StateCorrection, UserEvent, UserUpdate
from turnfold_client.sync_client import Turnfold
from turnfold_client.times import format_time, parse_time
from turnfold_client.version import __version__

__all__ = [
    "AsyncTurnfold",
    "BadRequestError",
    "BusyError",
    "ClientError",
    "ConflictError",
    "ForbiddenError",
    "InvalidError",
    "LocalServerError",
    "NoRoomError",
    "NotFoundError",
    "NotKeptError",
    "NotReadyError",
    "ReplyError",
    "ServerError",
    "SessionEvent",
    "SessionUpdate",
    "SpoolError",
    "StateCorrection",
    "StatusError",
    "TooLargeError",
    "Turnfold",
    "UnauthorizedError",
    "UnreachableError",
    "UnsupportedError",
    "UserEvent",
    "UserUpdate",
    "__version__",
    "format_time",
    "parse_time",
]
