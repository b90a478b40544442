"""Validation of `POST /v1/messages`; each fault names its field."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from schemas.base import JsonObject
from schemas.messages import MAX_MESSAGES, NewMessages
from schemas.validation_text import faults
from streams.importers.content import CALL_TYPES, TEXT_TYPES, THOUGHT_TYPES
from streams.importers.turns import Place, as_message
from streams.pipeline import withheld
from streams.serving.http.content_type import json_of
from streams.serving.http.problems import Fault, invalid

MOST_FAULTS = 8
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
ITEMS = ("function_call", "function_call_output", "reasoning")
DROPPED = frozenset(
    {"input_audio", "audio", "file", "input_file", "document", "video", "video_url", "input_video"}
)
"""Parts that are not stored, like images without a description: the reply counts them."""


class MessageBody(NamedTuple):
    """A body, and its messages as the chat API writes them. `digest`: equal for equal JSON."""

    body: NewMessages
    messages: list[JsonObject]
    is_withheld: bool
    digest: bytes


def read(sent: bytes) -> MessageBody:
    """The body of a request. Raises Problem."""
    document = json_of(sent)
    errors = list(islice(_of_body(document), MOST_FAULTS))
    if not errors:
        try:
            body = NewMessages.model_validate(document)
        except ValidationError as error:
            errors = [Fault(_place(fault.place), fault.reason) for fault in faults(error)]
        else:
            messages = [
                as_message(message, Place(None, index))
                for index, message in enumerate(document["messages"])
            ]
            digest = blake2b(msgspec.json.encode(document, order="sorted"), digest_size=16).digest()
            return MessageBody(body, messages, withheld.is_said(sent), digest)
    raise invalid(errors[:MOST_FAULTS])


def _place(path: Sequence[int | str]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "body"


def _of_body(document: Any) -> Iterator[Fault]:
    messages = document.get("messages") if isinstance(document, dict) else None
    if not isinstance(messages, list) or not 1 <= len(messages) <= MAX_MESSAGES:
        return  # the model reports it
    ids: set[str] = set()
    for index, message in enumerate(messages):
        at = f"messages[{index}]"
        if not isinstance(message, dict):
            yield Fault(at, "expected an object with `role`")
            continue
        yield from _of_message(message, at)
        if message.get("replaces") is not None:
            yield from _of_replacing(message, at)
        message_id = message.get("id")
        if isinstance(message_id, str):
            if message_id in ids:
                yield Fault(f"{at}.id", "is the id of another message of this request")
            ids.add(message_id)
        if message.get("status") == "in_progress" and index + 1 < len(messages):
            yield Fault(f"{at}.status", "only the last message can be in progress")
    document = [index for index, message in enumerate(messages) if not _is_only_kept(message)]
    last = messages[document[-1]] if document else {}
    if (
        isinstance(last, dict)
        and last.get("role") in ("system", "developer")
        and last.get("original") is None
    ):
        at = f"messages[{document[-1]}].role"
        yield Fault(at, "a system message says nothing alone: send it before the user's message")


def _of_message(message: JsonObject, at: str) -> Iterator[Fault]:
    if _is_only_kept(message):
        return
    kind, role = message.get("type"), message.get("role")
    if kind in ITEMS:
        if kind != "reasoning" and not _is_text(message.get("call_id")):
            yield Fault(f"{at}.call_id", "expected the call's id")
        if kind == "function_call" and not _is_text(message.get("name")):
            yield Fault(f"{at}.name", "expected the function's name")
        if kind == "function_call_output" and isinstance(message.get("output"), list):
            yield from _of_content(message["output"], f"{at}.output")
        if kind == "reasoning":
            for name in ("summary", "content"):
                if not isinstance(message.get(name), str | list | None):
                    yield Fault(f"{at}.{name}", "expected text or an array of parts")
        return
    if kind not in (None, "message"):
        yield Fault(f"{at}.type", f"expected one of message, {', '.join(ITEMS)}")
    elif role not in ROLES:
        yield Fault(f"{at}.role", f"expected one of {', '.join(ROLES)}")
    else:
        yield from _of_content(message.get("content"), f"{at}.content")
        if message.get("content") is None and role != "assistant":
            yield Fault(f"{at}.content", "is missing")
        if role == "tool" and not _is_text(message.get("tool_call_id")):
            yield Fault(f"{at}.tool_call_id", "expected the call's id")
        yield from _of_calls(message.get("tool_calls"), f"{at}.tool_calls")


def _of_replacing(message: JsonObject, at: str) -> Iterator[Fault]:
    if message.get("role") != "user" or message.get("type") not in (None, "message"):
        reason = "only a user's message replaces another; for a new answer send both again"
        yield Fault(f"{at}.replaces", reason)
    elif message["replaces"] == message.get("id"):
        yield Fault(f"{at}.replaces", "is the message's own id: give the new version another one")


def _is_only_kept(message: Any) -> bool:
    """Whether the message is only stored, and not read by memory."""
    return (
        isinstance(message, dict)
        and message.get("original") is not None
        and message.get("role") is None
        and message.get("type") is None
    )


def _of_content(content: Any, at: str) -> Iterator[Fault]:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        yield Fault(at, "expected text or an array of parts")
        return
    for index, part in enumerate(content):
        if not isinstance(part, dict):
            yield Fault(f"{at}[{index}]", "expected an object with `type`")
        else:
            yield from _of_part(part, f"{at}[{index}]")


def _of_part(part: JsonObject, at: str) -> Iterator[Fault]:
    kind = part.get("type")
    if not isinstance(kind, str) or not kind:
        yield Fault(f"{at}.type", "expected the part's kind, such as `text`")
    elif kind in TEXT_TYPES and not isinstance(part.get("text"), str):
        yield Fault(f"{at}.text", "expected text")
    elif kind == "refusal" and not isinstance(part.get("refusal"), str):
        yield Fault(f"{at}.refusal", "expected text")
    elif not (
        kind in TEXT_TYPES | THOUGHT_TYPES | CALL_TYPES | DROPPED
        or kind == "refusal"
        or "image" in kind
    ):
        yield Fault(f"{at}.type", "is no kind of part that is known; send its text as `text`")


def _of_calls(calls: Any, at: str) -> Iterator[Fault]:
    if calls is None:
        return
    if not isinstance(calls, list):
        yield Fault(at, "expected an array of objects")
        return
    for index, call in enumerate(calls):
        if not isinstance(call, dict):
            yield Fault(f"{at}[{index}]", "expected an object with `id` and `function`")
        elif not _is_text(call.get("id")):
            yield Fault(f"{at}[{index}].id", "expected text")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""
