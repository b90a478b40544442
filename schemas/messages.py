"""Body and reply of `POST /v1/messages`: messages in the format of OpenAI's APIs."""

from typing import Literal

from pydantic import ConfigDict, Field

from schemas.base import Id, JsonObject, Label, Micros, Reply, Tenant, Wire
from schemas.http import Ending
from schemas.record import Text
from schemas.turn import Metadata

MAX_MESSAGES = 1_000


class MessagePart(Wire):
    """A part of a message's content. Only the description of an image is stored, never its
    bytes."""

    type: str = Field(
        description="`text`, `input_text`, `output_text`, `refusal`, `thinking`, `reasoning`, "
        "`image_url`, `input_image`, `input_audio`, `file`, …"
    )
    text: str | None = Field(default=None, description="Text of a text part.")
    refusal: str | None = Field(default=None, description="Text of a refusal.")
    description: str | None = Field(
        default=None,
        description="Description of an image; `alt_text` and `alt` are accepted as well.",
    )


class Message(Wire):
    """A message of OpenAI's Chat Completions API or an item of its Responses API. Other fields are
    ignored."""

    role: Literal["user", "assistant", "system", "developer", "tool", "function"] | None = Field(
        default=None, description="Speaker. May be missing only if `type` is set."
    )
    type: Literal["message", "function_call", "function_call_output", "reasoning"] | None = Field(
        default=None, description="Kind of an item. Default: `message`."
    )
    name: str | None = Field(
        default=None,
        description="Speaker of a user's message. A name without any word of `user_id` is another "
        "person's, and the message does not update the user's memory. If `user_id` "
        "contains a digit and the request has only one name, it is the user's.",
    )
    content: str | list[MessagePart] | None = Field(
        default=None, description="Content: text or a list of parts."
    )
    tool_calls: list[JsonObject] | None = Field(
        default=None, description="Tool calls of an assistant, each with `id` and `function`."
    )
    tool_call_id: str | None = Field(
        default=None, description="Id of the call that a tool message answers."
    )
    id: Id | None = Field(
        default=None,
        description="Id, unique in its session. Default: derived from `Idempotency-Key` and "
        "position.",
    )
    created_at: str | float | None = Field(
        default=None,
        description="Time of the message: RFC 3339 or Unix seconds. Default: the time of the "
        "request.",
    )
    replaces: Id | None = Field(
        default=None,
        description="Id of the earlier user message that this one replaces, after an edit or a "
        "regenerated answer. Memory derived only from the earlier message and its "
        "answer ends.",
    )
    original: Text | None = Field(
        default=None,
        description="The message in your program's format, verbatim except for the bytes of "
        "images; `GET /v1/sessions/{id}/messages` returns it. Without `role` and "
        "`type` it is only stored and does not update memory.",
    )
    status: str | None = Field(
        default=None,
        description="`in_progress`: an answer that is still streaming; only the last message. "
        "`error` for a tool that failed.",
    )


class NewMessages(Wire):
    """The body of `POST /v1/messages`."""

    model_config = ConfigDict(extra="forbid")

    tenant: Tenant | None = Field(default=None, description="Tenant; must match the API key.")
    user_id: Id = Field(description="User of the conversation.")
    session_id: Id | None = Field(
        default=None,
        description="Session. Default: one per user and day (UTC); the reply contains its id.",
    )
    messages: list[Message] = Field(
        min_length=1, max_length=MAX_MESSAGES, description="Messages in order."
    )
    client_id: Id | None = Field(default=None, description="Device or window.")
    intent: Label | None = Field(default=None, description="Intent of the user, such as `quiz`.")
    topic: Label | None = Field(default=None, description="Topic of the turns.")
    artifact: Label | None = Field(
        default=None, description="Artifact that was produced, such as `flashcards`."
    )
    metadata: Metadata | None = Field(
        default=None, description="Result of a lesson. Other fields are stored unchanged."
    )


class StoredMessage(Reply):
    """A message of a session, as sent."""

    id: str = Field(description="Id of the message.")
    at: Micros = Field(description="Time of the message.")
    user_id: str | None = Field(description="User of the conversation.")
    original: str = Field(description="The message, verbatim.")


class SessionMessages(Reply):
    """Messages of a session in order of arrival."""

    session_id: str = Field(description="Id of the session.")
    messages: list[StoredMessage] = Field(description="The messages.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class MessageTurn(Reply):
    """A turn that the messages started, continued or ended."""

    id: str = Field(description="Id of the turn, and of its task: tool calls, results, steps.")
    status: Literal["running", "done"] = Field(
        description="`running`: waiting for the assistant's answer."
    )
    ending: Ending = Field(description="Outcome of its records.")


class MessagesReply(Reply):
    """Outcome of the messages."""

    session_id: str = Field(description="Id of the session.")
    message_ids: list[str] = Field(description="Id of each message.")
    turns: list[MessageTurn] = Field(description="The turns, in order.")
    counts: dict[Ending, int] = Field(description="Number of records by outcome.")
    left_out: dict[str, int] = Field(
        description="Content that was not stored, with counts, such as an image without a "
        "description."
    )
