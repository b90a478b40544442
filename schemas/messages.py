"""The body and the reply of `POST /v1/messages`: messages as OpenAI's APIs write them."""

from typing import Literal

from pydantic import ConfigDict, Field

from schemas.base import Id, JsonObject, Label, Micros, Reply, Tenant, Wire
from schemas.http import Ending
from schemas.record import Text
from schemas.turn import Metadata

MAX_MESSAGES = 1_000


class MessagePart(Wire):
    """A part of a message's content. Of an image its description is kept, never its bytes."""

    type: str = Field(
        description="`text`, `input_text`, `output_text`, `refusal`, `thinking`, `reasoning`, "
        "`image_url`, `input_image`, `input_audio`, `file`, …"
    )
    text: str | None = Field(default=None, description="Text of a part that is one.")
    refusal: str | None = Field(default=None, description="Text of a refusal.")
    description: str | None = Field(
        default=None, description="What an image shows; also `alt_text` or `alt`."
    )


class Message(Wire):
    """A message of OpenAI's chat API, or an item of its Responses API. Other fields are ignored."""

    role: Literal["user", "assistant", "system", "developer", "tool", "function"] | None = Field(
        default=None, description="Who speaks. Only items that `type` names have none."
    )
    type: Literal["message", "function_call", "function_call_output", "reasoning"] | None = Field(
        default=None, description="Kind of an item. Default: `message`."
    )
    name: str | None = Field(
        default=None,
        description="Of a user's message: who speaks. A name that has no word of `user_id` is that "
        "of somebody else, whose words make no memory of the user. If `user_id` has a digit, a "
        "single name in a request is the user's.",
    )
    content: str | list[MessagePart] | None = Field(
        default=None, description="What is said: text, or parts."
    )
    tool_calls: list[JsonObject] | None = Field(
        default=None, description="Calls of an assistant, each with `id` and `function`."
    )
    tool_call_id: str | None = Field(default=None, description="The call that a tool answers.")
    id: Id | None = Field(
        default=None,
        description="Id, unique in its session. Default: made from `Idempotency-Key` and position.",
    )
    created_at: str | float | None = Field(
        default=None,
        description="When it was said: RFC 3339 or Unix seconds. Default: the time of the request.",
    )
    replaces: Id | None = Field(
        default=None,
        description="Of a user's message: id of the earlier one that it takes the place of, which "
        "was edited or answered again. What memory made of that one and its answer ends.",
    )
    original: Text | None = Field(
        default=None,
        description="The message as your program has it, word for word, but for the bytes of "
        "images: `GET /v1/sessions/{id}/messages` gives it back. With neither `role` nor `type` it "
        "is kept, and nothing is remembered of it.",
    )
    status: str | None = Field(
        default=None,
        description="`in_progress`: an answer that is still streaming; only the last message. "
        "`error` for a tool that failed.",
    )


class NewMessages(Wire):
    """The body of `POST /v1/messages`."""

    model_config = ConfigDict(extra="forbid")

    tenant: Tenant | None = Field(default=None, description="Tenant; must be the key's own.")
    user_id: Id = Field(description="User whose conversation it is.")
    session_id: Id | None = Field(
        default=None,
        description="Session. Default: one for each user and day (UTC); the reply names it.",
    )
    messages: list[Message] = Field(
        min_length=1, max_length=MAX_MESSAGES, description="Messages in their order."
    )
    client_id: Id | None = Field(default=None, description="Device or window.")
    intent: Label | None = Field(default=None, description="What the user wants, such as `quiz`.")
    topic: Label | None = Field(default=None, description="What the turns are about.")
    artifact: Label | None = Field(
        default=None, description="What was produced, such as `flashcards`."
    )
    metadata: Metadata | None = Field(
        default=None, description="Result of a lesson. Other fields are kept as they are."
    )


class KeptMessage(Reply):
    """A message of a session, as it was sent."""

    id: str = Field(description="Id of the message.")
    at: Micros = Field(description="When it was said.")
    user_id: str | None = Field(description="User whose conversation it is.")
    original: str = Field(description="The message, word for word.")


class SessionMessages(Reply):
    """Messages of a session in the order in which they came."""

    session_id: str = Field(description="The session.")
    messages: list[KeptMessage] = Field(description="The messages.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class MessageTurn(Reply):
    """A turn that the messages began, continued or ended."""

    id: str = Field(description="Id of the turn, and of its task: tool calls, results, steps.")
    status: Literal["running", "done"] = Field(
        description="`running`: it waits for the assistant's answer."
    )
    ending: Ending = Field(description="Outcome of its records.")


class MessagesReply(Reply):
    """What became of the messages."""

    session_id: str = Field(description="The session.")
    message_ids: list[str] = Field(description="The id of each message.")
    turns: list[MessageTurn] = Field(description="The turns, in order.")
    counts: dict[Ending, int] = Field(description="Number of records by outcome.")
    left_out: dict[str, int] = Field(
        description="What is not kept and how often, such as an image without a description."
    )
