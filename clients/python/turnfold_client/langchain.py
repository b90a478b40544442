"""LangChain's chat history, kept by Turnfold (`pip install 'turnfold-client[langchain]'`).

history = TurnfoldChatMessageHistory(memory, session_id="monday", user_id="maya")
chain = RunnableWithMessageHistory(model, lambda session_id: history)

Messages are restored equal and in order, in every process. Memory also reads them:
`memory.context` finds the user's words.
"""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)

from turnfold_client.errors import NotKeptError
from turnfold_client.session_log import Item, Json, SessionLog, text_of
from turnfold_client.sync_client import Turnfold

__all__ = ["TurnfoldChatMessageHistory"]


class TurnfoldChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session of one user.

    `client` is shared by any number of histories; the methods that are awaited use it in a thread.
    Methods raise `turnfold_client.ClientError`; NotKeptError for a message that could not be
    restored equal. A placeholder replaces an image's bytes. `clear` retracts the messages.
    """

    def __init__(self, client: Turnfold, *, session_id: str, user_id: str) -> None:
        super().__init__()
        self._log = SessionLog(client, session_id, user_id)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # they declare a field
        """Every message in order."""
        return messages_from_dict(self._log.all())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages: all or none."""
        self._log.add([_item(message) for message in messages])

    def clear(self) -> None:
        """Retracts every message. The memory derived from them stays: `Turnfold` has methods to
        correct and to erase it."""
        self._log.clear()


def _item(message: BaseMessage) -> Item:
    """Raises NotKeptError."""
    original = message_to_dict(message)
    try:
        (again,) = messages_from_dict([original])
    except ValueError as error:
        raise NotKeptError(f"LangChain cannot read this message again: {error}") from error
    if again != message:
        raise NotKeptError(
            f"a {type(message).__name__} would not come back equal; give it only fields of "
            "LangChain's own message classes"
        )
    return Item(original, _said(message))


def _said(message: BaseMessage) -> Json | None:
    """The message in the form of OpenAI's chat API, or None if memory cannot use it."""
    text = text_of(message.content)
    if isinstance(message, ToolMessage):
        status = {"status": "error"} if message.status == "error" else {}
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text, **status}
    if isinstance(message, AIMessage):
        calls = [_call(one) for one in message.tool_calls if one["id"]]
        if not text and not calls:
            return None
        return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    if text and isinstance(message, HumanMessage | SystemMessage):
        role = "user" if isinstance(message, HumanMessage) else "system"
        return {"role": role, "content": text, **({"name": message.name} if message.name else {})}
    return None


def _call(call: Any) -> Json:
    function = {"name": call["name"], "arguments": json.dumps(call["args"], ensure_ascii=False)}
    return {"id": call["id"], "type": "function", "function": function}
