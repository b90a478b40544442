"""LlamaIndex's memory, kept by Turnfold (`pip install 'turnfold-client[llama-index]'`).

chat = TurnfoldMemory(client=memory, session_id="monday", user_id="maya")
answer = await agent.run("Where do I live?", memory=chat)

Messages are restored equal and in order, in every process, after the user's context from memory.
"""

from collections.abc import Sequence
from itertools import dropwhile
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.memory import BaseMemory

from turnfold_client.errors import NotKeptError
from turnfold_client.session_log import Item, Json, SessionLog, encoded
from turnfold_client.sync_client import Turnfold

__all__ = ["TurnfoldMemory"]

ROLES = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
}
RESULTS = (MessageRole.TOOL, MessageRole.FUNCTION)


class TurnfoldMemory(BaseMemory):
    """The messages of one session of one user, and that user's context from memory.

    `get` returns the newest messages, at most `max_messages` (None: all), behind a system message
    with the user's context within `max_tokens` (0: without it). Methods raise
    `turnfold_client.ClientError`; NotKeptError for a message that could not be restored equal. The
    methods that are awaited use the same client in a thread.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    client: Turnfold = Field(exclude=True, description="The server's client.")
    session_id: str = Field(description="The session.")
    user_id: str = Field(description="Whose conversation it is.")
    max_tokens: int = Field(default=800, ge=0, description="Budget of the user's context.")
    max_messages: int | None = Field(default=None, ge=1, description="Messages that `get` gives.")
    _log: SessionLog = PrivateAttr()

    def model_post_init(self, _: Any) -> None:
        self._log = SessionLog(self.client, self.session_id, self.user_id)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows it."""
        return "TurnfoldMemory"

    @classmethod
    def from_defaults(cls, **fields: Any) -> "TurnfoldMemory":
        """As the constructor."""
        return cls(**fields)

    def get(self, input: str | None = None, **_: Any) -> list[ChatMessage]:
        """The user's context from memory (for `input`, if given) and the newest messages, without
        leading tool results, as models reject a result without its call."""
        newest = self._messages(self.max_messages)
        if self.max_messages is not None:
            newest = list(dropwhile(lambda one: one.role in RESULTS, newest))
        return [*self._known(input), *newest]

    def get_all(self) -> list[ChatMessage]:
        """Every message in order."""
        return self._messages(None)

    def put(self, message: ChatMessage) -> None:
        """Appends a message."""
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Appends messages: all or none."""
        self._log.add([_item(message) for message in messages])

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Replaces all messages with these. The common prefix stays, the other stored messages are
        retracted, and the new ones are appended."""
        items = [_item(message) for message in messages]
        self._log.replace(items)

    def reset(self) -> None:
        """Retracts every message. The memory derived from them stays: `Turnfold` has methods to
        correct and to erase it."""
        self._log.clear()

    def _known(self, query: str | None) -> list[ChatMessage]:
        if not self.max_tokens:
            return []
        text = self.client.context(
            self.user_id,
            query=query[:2000] if query else None,
            session_id=self.session_id,
            max_tokens=self.max_tokens,
        ).text
        return [ChatMessage(text, role=MessageRole.SYSTEM)] if text else []

    def _messages(self, most: int | None) -> list[ChatMessage]:
        kept = self._log.all() if most is None else self._log.newest(most)
        return [ChatMessage.model_validate(one) for one in kept]


def _item(message: ChatMessage) -> Item:
    """Raises NotKeptError."""
    original = message.model_dump(mode="json")
    encoded(original, "message")
    if ChatMessage.model_validate(original) != message:
        raise NotKeptError(
            "a ChatMessage would not come back equal; give it only blocks of LlamaIndex, and "
            "additional_kwargs of text, numbers, booleans, None, lists and dictionaries"
        )
    return Item(original, _said(message))


def _said(message: ChatMessage) -> Json | None:
    """The message in the form of OpenAI's chat API, or None if memory cannot use it."""
    text = message.content or ""
    call_id = message.additional_kwargs.get("tool_call_id")
    if message.role in RESULTS:
        return {"role": "tool", "tool_call_id": call_id, "content": text} if call_id else None
    calls = [_call(one) for one in message.blocks if isinstance(one, ToolCallBlock)]
    calls = [one for one in calls if one["id"]]
    role = ROLES.get(message.role)
    if role is None or not (text or (role == "assistant" and calls)):
        return None
    name = message.additional_kwargs.get("name")
    speaker = {"name": name} if isinstance(name, str) and name else {}
    return {"role": role, "content": text, **speaker, **({"tool_calls": calls} if calls else {})}


def _call(block: ToolCallBlock) -> Json:
    given = block.tool_kwargs
    arguments = given if isinstance(given, str) else encoded(given, "arguments")
    function = {"name": block.tool_name, "arguments": arguments}
    return {"id": block.tool_call_id, "type": "function", "function": function}
