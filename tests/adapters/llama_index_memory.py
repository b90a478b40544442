"""`TurnfoldMemory` with the real `llama-index-core` and a real server.

It needs the group `adapters`: `.ci/run` asks for it by name, pytest alone does not."""

import asyncio
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM

from turnfold_client import NotKeptError, Turnfold, UnreachableError
from turnfold_client.llama_index import TurnfoldMemory

Fresh = Callable[[], str]

MESSAGES = [
    ChatMessage("Be brief.", role=MessageRole.SYSTEM),
    ChatMessage("I live in Leeds.", additional_kwargs={"source": "web", "n": 2.0, "none": None}),
    ChatMessage(
        [
            ThinkingBlock(content="Let me look."),
            ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "利兹"}),
        ],
        role=MessageRole.ASSISTANT,
    ),
    ChatMessage("12°", role=MessageRole.TOOL, additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage([TextBlock(text="12"), TextBlock(text="degrees.")], role=MessageRole.ASSISTANT),
    ChatMessage([TextBlock(text="And?"), ImageBlock(url="https://example.org/a.png")]),
    ChatMessage("late", role=MessageRole.TOOL, additional_kwargs={"tool_call_id": "of-nothing"}),
    ChatMessage("", role=MessageRole.ASSISTANT),
]


def memory_of(client: Turnfold, session: str, **fields: Any) -> TurnfoldMemory:
    fields = {"max_tokens": 0} | fields
    return TurnfoldMemory.from_defaults(
        client=client, session_id=session, user_id=session, **fields
    )


def test_messages_come_back_equal_and_in_order(memory: Turnfold, fresh: Fresh) -> None:
    session = fresh()
    chat = memory_of(memory, session)
    for message in MESSAGES[:2]:
        chat.put(message)
    chat.put_messages(MESSAGES[2:])
    assert memory_of(memory, session).get_all() == MESSAGES
    assert memory_of(memory, session).get() == MESSAGES
    assert memory_of(memory, session, max_messages=3).get() == MESSAGES[-3:]
    assert memory_of(memory, session, max_messages=5).get() == MESSAGES[-4:], (
        "no result of a tool without its call"
    )


def test_set_and_reset_replace_them(memory: Turnfold, fresh: Fresh) -> None:
    session = fresh()
    chat = memory_of(memory, session)
    for history in (MESSAGES[:3], MESSAGES[:5], [MESSAGES[0], MESSAGES[4]], [], MESSAGES[1:3]):
        chat.set(history)
        assert memory_of(memory, session).get_all() == history
    chat.reset()
    assert memory_of(memory, session).get_all() == []


def test_awaited_methods_do_the_same(memory: Turnfold, fresh: Fresh) -> None:
    async def use() -> tuple[list[ChatMessage], ...]:
        chat = memory_of(memory, fresh())
        await chat.aput(MESSAGES[0])
        await chat.aput_messages(MESSAGES[1:])
        before = await chat.aget_all()
        await chat.aset(MESSAGES[:1])
        after = await chat.aget()
        await chat.areset()
        return before, after, await chat.aget_all()

    assert asyncio.run(use()) == (MESSAGES, MESSAGES[:1], [])


def test_what_is_known_of_the_user_stands_before_the_messages(
    memory: Turnfold, fresh: Fresh
) -> None:
    user = fresh()
    first = TurnfoldMemory(client=memory, session_id=fresh(), user_id=user)
    first.put_messages([ChatMessage("I live in Leeds."), MESSAGES[4]])
    second = TurnfoldMemory(client=memory, session_id=fresh(), user_id=user)
    question = ChatMessage("Where do I live?")
    second.put(question)
    known, *messages = second.get(input="Where do I live?")
    assert known.role is MessageRole.SYSTEM and "Lives in Leeds" in (known.content or "")
    assert messages == [question] == second.get_all()


def test_an_engine_uses_it(memory: Turnfold, fresh: Fresh) -> None:
    session = fresh()
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory_of(memory, session))
    said = str(engine.chat("I live in Leeds."))
    found = memory_of(memory, session).get_all()
    assert [one.role for one in found] == [MessageRole.USER, MessageRole.ASSISTANT]
    assert found[1].content == said
    assert memory.session(session).conversations[0].user_input == "I live in Leeds."


def test_what_cannot_be_kept_is_an_error_of_the_client(memory: Turnfold, fresh: Fresh) -> None:
    chat = memory_of(memory, fresh())
    for more in ({"day": date(2026, 3, 1)}, {"pair": (1, 2)}, {"raw": b"x"}):
        with pytest.raises(NotKeptError):
            chat.put_messages([MESSAGES[0], ChatMessage("x", additional_kwargs=more)])
    assert chat.get_all() == []
    with pytest.raises(UnreachableError):
        memory_of(Turnfold("http://127.0.0.1:9", retries=0), "s").get_all()


def test_an_image_is_an_item_without_bytes_and_another_speaker_is_not_the_user(
    memory: Turnfold, fresh: Fresh
) -> None:
    pixels = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 3
    session = f"room {fresh()}".translate({ord(digit): "x" for digit in "0123456789"})
    said = ChatMessage("I live in Pisa.", additional_kwargs={"name": "bob"})
    images = [
        ChatMessage([TextBlock(text="Look."), ImageBlock(image=pixels.encode())]),
        ChatMessage([ImageBlock(url=f"data:image/png;base64,{pixels}")]),
    ]
    memory_of(memory, session).put_messages([said, *images])
    first, *others = memory_of(memory, session).get_all()
    assert first == said and [len(one.blocks) for one in others] == [2, 1]
    assert pixels not in str(others)
    assert "Pisa" not in memory.context(session).text
