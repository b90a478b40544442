"""The call of `add`: messages as OpenAI's APIs write them."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from turnfold_client import errors
from turnfold_client.calls import Call, without_none, written
from turnfold_client.models import MessagesReply
from turnfold_client.times import format_time

Messages = Iterable[BaseModel | Mapping[str, Any]]
"""JSON objects, or models, including OpenAI's own client's."""
TIMES = ("created_at", "created", "create_time", "timestamp")

AWAY = (errors.UnreachableError, errors.BusyError, errors.ServerError)
"""The server cannot take a request now."""
REFUSED = (errors.ConflictError, errors.TooLargeError, errors.InvalidError)
"""The server will never take it."""


def body(messages: Messages, fields: Mapping[str, Any], *, is_timed: bool = False) -> bytes:
    """The body of POST /v1/messages. `is_timed`: if all messages lack a time, the first one gets
    the present time, because it may be sent much later. Raises ClientError for invalid Unicode."""
    said = [_message(one) for one in messages]
    if is_timed and said and not any(one.get(name) for one in said for name in TIMES):
        said[0] = {**said[0], "created_at": format_time(time.time_ns() // 1000)}
    return written(to_json, {**without_none(fields), "messages": said})


def call(content: bytes, key: str, prefer: str | None = None) -> Call[MessagesReply]:
    """POST /v1/messages under a key, with which it can be sent again."""
    return Call(
        "POST",
        "/v1/messages",
        {200: MessagesReply, 202: MessagesReply},
        headers={"Prefer": prefer, "Idempotency-Key": key},
        content=content,
    )


def _message(one: BaseModel | Mapping[str, Any]) -> Mapping[str, Any]:
    return one.model_dump(mode="json", exclude_none=True) if isinstance(one, BaseModel) else one
