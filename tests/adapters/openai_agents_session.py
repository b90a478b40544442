"""`TurnfoldSession` with the real `openai-agents` and a real server.

It needs the group `adapters`: `.ci/run` asks for it by name, pytest alone does not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.memory import Session, SessionSettings
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from turnfold_client import NotKeptError, Turnfold, UnreachableError
from turnfold_client.openai_agents import TurnfoldSession

Fresh = Callable[[], str]

ITEMS: list[Any] = [
    {"role": "user", "content": "I live in Leeds."},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA",
     "content": None},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather",
     "arguments": '{"city": "利兹"}', "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": "12°"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed",
     "action": {"type": "search", "query": "Leeds", "score": 1.0}},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "12 degrees.", "annotations": []}]},
    {"role": "user", "content": [
        {"type": "input_text", "text": "And here?"},
        {"type": "input_image", "image_url": "https://example.org/map.png", "detail": "auto"}]},
    {"type": "function_call_output", "call_id": "of-nothing",
     "output": [{"type": "input_text", "text": "late"}]},
    {"role": "developer", "content": "Be brief."},
]  # fmt: skip


def session_of(memory: Turnfold, session: str, **settings: Any) -> TurnfoldSession:
    return TurnfoldSession(memory, session_id=session, user_id=session, **settings)


def test_it_is_a_session(memory: Turnfold) -> None:
    assert isinstance(session_of(memory, "s"), Session)


async def _use(memory: Turnfold, session: str) -> None:
    chat = session_of(memory, session)
    await chat.add_items([])
    assert await chat.get_items() == [] and await chat.pop_item() is None
    for at in range(0, len(ITEMS), 4):
        await chat.add_items(ITEMS[at : at + 4])
    assert await session_of(memory, session).get_items() == ITEMS
    for limit in (0, 1, 4, 100):
        assert await chat.get_items(limit) == (ITEMS[-limit:] if limit else [])
    few = session_of(memory, session, session_settings=SessionSettings(limit=2))
    assert await few.get_items() == ITEMS[-2:] and await few.get_items(3) == ITEMS[-3:]
    assert await chat.pop_item() == ITEMS[-1] and await chat.pop_item() == ITEMS[-2]
    assert await session_of(memory, session).get_items() == ITEMS[:-2]
    await chat.add_items(ITEMS[-2:])
    assert await chat.get_items() == ITEMS, "what was popped can be added again"
    await chat.clear_session()
    assert await session_of(memory, session).get_items() == []
    await chat.add_items(ITEMS[:1])
    assert await chat.get_items() == ITEMS[:1]


def test_items_come_back_equal_until_they_are_popped_or_cleared(
    memory: Turnfold, fresh: Fresh
) -> None:
    asyncio.run(_use(memory, fresh()))


def test_of_those_who_pop_at_once_each_gets_another_item(memory: Turnfold, fresh: Fresh) -> None:
    async def use() -> list[Any]:
        chat = session_of(memory, fresh())
        await chat.add_items(cast(Any, [{"role": "user", "content": str(n)} for n in range(6)]))
        popped = await asyncio.gather(*(chat.pop_item() for _ in range(4)))
        return [*popped, *await chat.get_items()]

    found = asyncio.run(use())
    assert sorted(one["content"] for one in found) == [str(n) for n in range(6)]


class Scripted(Model):
    """A model that plays its part, and notes what it was given."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs = list(outputs)
        self.given: list[Any] = []

    async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
        self.given.append(more["input"] if "input" in more else given[1])
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **more: Any) -> AsyncIterator[Any]:
        raise AssertionError("this test does not stream")


def says(text: str, id: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id=id, type="message", role="assistant", status="completed", content=[part]
    )


@function_tool
def weather(city: str) -> str:
    """The weather of a city."""
    return f"12 degrees in {city}"


def test_the_runner_goes_on_where_another_process_left_off(memory: Turnfold, fresh: Fresh) -> None:
    session = fresh()
    call = ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="weather", arguments='{"city": "Leeds"}', id="fc"
    )
    model = Scripted(call, says("12 degrees.", "m1"), says("In Leeds.", "m2"))
    agent = Agent(name="helper", model=model, tools=[weather])
    quiet = RunConfig(tracing_disabled=True)

    async def ask(question: str) -> str:
        chat = session_of(memory, session)
        result = await Runner.run(agent, question, session=chat, run_config=quiet)
        return str(result.final_output)

    assert asyncio.run(ask("I live in Leeds. Is it cold?")) == "12 degrees."
    assert asyncio.run(ask("Where do I live?")) == "In Leeds."
    kinds = [one.get("type", "message") for one in model.given[-1]]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message"]
    assert "Leeds" in memory.context(session).text
    turns = memory.session(session).conversations
    assert [one.agent_answer for one in turns] == ["12 degrees.", "In Leeds."]


def test_what_cannot_be_kept_is_an_error_of_the_client(memory: Turnfold, fresh: Fresh) -> None:
    async def use() -> list[Any]:
        chat = session_of(memory, fresh())
        with pytest.raises(NotKeptError, match="message 1"):
            await chat.add_items([ITEMS[0], cast(Any, {"role": "user", "content": {1, 2}})])
        return list(await chat.get_items())

    assert asyncio.run(use()) == []
    away = session_of(Turnfold("http://127.0.0.1:9", retries=0), "s")
    with pytest.raises(UnreachableError):
        asyncio.run(away.get_items())


def test_an_image_is_an_item_without_bytes_and_another_speaker_is_not_the_user(
    memory: Turnfold, fresh: Fresh
) -> None:
    pixels = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 3
    session = f"room {fresh()}".translate({ord(digit): "x" for digit in "0123456789"})
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{pixels}"}
    items: list[Any] = [
        {"role": "user", "name": "bob", "content": "I live in Pisa."},
        {"role": "user", "content": [image]},
    ]

    async def use() -> list[Any]:
        await session_of(memory, session).add_items(items)
        return list(await session_of(memory, session).get_items())

    said, shown = asyncio.run(use())
    assert said == items[0]
    assert "image removed" in str(shown) and pixels not in str(shown)
    assert "Pisa" not in memory.context(session).text
