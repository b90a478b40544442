"""A session of OpenAI's Agents SDK, kept by Turnfold
(`pip install 'turnfold-client[openai-agents]'`).

session = TurnfoldSession(memory, session_id="monday", user_id="maya")
result = await Runner.run(agent, "Where do I live?", session=session)

Items are restored equal and in order, in every process. Memory also reads them: `memory.context`
finds the user's words.
"""

import asyncio
from typing import TYPE_CHECKING, cast

from agents.memory import SessionSettings

from turnfold_client.session_log import Item, Json, SessionLog, text_of
from turnfold_client.sync_client import Turnfold

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

__all__ = ["TurnfoldSession"]


class TurnfoldSession:
    """The items of one session of one user: the SDK's protocol `Session`.

    `client` is shared by any number of sessions, and used in a thread. Methods raise
    `turnfold_client.ClientError`; NotKeptError for an item that would not come back equal.
    """

    def __init__(
        self,
        client: Turnfold,
        *,
        session_id: str,
        user_id: str,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._log = SessionLog(client, session_id, user_id)

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """The newest items, at most `limit` (default: the settings' limit, otherwise all), in
        order."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is None:
            return await asyncio.to_thread(self._log.all)
        return await asyncio.to_thread(self._log.newest, limit)

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Appends items: all or none."""
        made = [Item(item, _said(cast(Json, item))) for item in items]
        await asyncio.to_thread(self._log.add, made)

    async def pop_item(self) -> "TResponseInputItem | None":
        """Retracts and returns the newest item, or returns None without one. The memory derived
        from it stays."""
        return cast("TResponseInputItem | None", await asyncio.to_thread(self._log.pop))

    async def clear_session(self) -> None:
        """Retracts every item. The memory derived from them stays: `Turnfold` has methods to
        correct and to erase it."""
        await asyncio.to_thread(self._log.clear)


def _said(item: Json) -> Json | None:
    """The part of an item that memory reads, or None."""
    kind, role = item.get("type") or "message", item.get("role")
    call_id, name = item.get("call_id"), item.get("name")
    if kind == "message" and role in ("user", "assistant", "system", "developer"):
        text = text_of(item.get("content"))
        speaker = {"name": name} if isinstance(name, str) and name else {}
        return {"role": role, "content": text, **speaker} if text else None
    if kind == "function_call" and call_id and name:
        arguments = item.get("arguments")
        return {"type": kind, "call_id": call_id, "name": name, "arguments": arguments}
    if kind == "function_call_output" and call_id:
        return {"type": kind, "call_id": call_id, "output": text_of(item.get("output"))}
    return None
