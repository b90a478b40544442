"""`TurnfoldChatMessageHistory` with the real `langchain-core` and a real server.

It needs the group `adapters`: `.ci/run` asks for it by name, pytest alone does not."""

import asyncio
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from turnfold_client import ClientError, NotKeptError, Turnfold, UnreachableError
from turnfold_client.langchain import TurnfoldChatMessageHistory

Fresh = Callable[[], str]

CALL = {"name": "weather", "args": {"city": "利兹", "days": 2.0, "more": None}, "id": "call-1"}
MESSAGES: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("I live in Leeds.", name="maya", additional_kwargs={"source": "web"}),
    AIMessage(
        [{"type": "text", "text": "Looking…"}],
        tool_calls=[CALL],
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        response_metadata={"model_name": "m", "logprobs": None},
        id="run-1",
    ),
    ToolMessage("12°", tool_call_id="call-1", artifact={"raw": [12, None, 1e-7]}, status="error"),
    AIMessage("", invalid_tool_calls=[{"name": "x", "args": "{", "id": None, "error": "bad"}]),
    AIMessageChunk(content="Wrap up warm."),
    HumanMessage(
        [
            {"type": "text", "text": "And this?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
            {"type": "holograph", "depth": 3},
        ]
    ),
    ToolMessage("late", tool_call_id="of-nothing"),
    ChatMessage(role="narrator", content="Meanwhile…"),
    SystemMessage("The end."),
]


def history(memory: Turnfold, session: str) -> TurnfoldChatMessageHistory:
    return TurnfoldChatMessageHistory(memory, session_id=session, user_id=session)


def exact(messages: list[BaseMessage]) -> list[tuple[type, dict[str, Any]]]:
    return [(type(one), one.model_dump()) for one in messages]


def test_messages_come_back_equal_and_in_order(memory: Turnfold, fresh: Fresh) -> None:
    session = fresh()
    for message in MESSAGES[:3]:
        history(memory, session).add_message(message)
    history(memory, session).add_messages(MESSAGES[3:])
    assert exact(history(memory, session).messages) == exact(MESSAGES)
    assert history(memory, fresh()).messages == []


def test_awaited_methods_do_the_same(memory: Turnfold, fresh: Fresh) -> None:
    async def use() -> tuple[list[BaseMessage], list[BaseMessage]]:
        chat = history(memory, fresh())
        await chat.aadd_messages(MESSAGES)
        before = await chat.aget_messages()
        await chat.aclear()
        return before, await chat.aget_messages()

    assert asyncio.run(use()) == (MESSAGES, [])


TEXT = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.builds(HumanMessage, TEXT, additional_kwargs=st.dictionaries(TEXT, VALUES, max_size=2))
        | st.builds(AIMessage, TEXT, response_metadata=st.dictionaries(TEXT, VALUES, max_size=2)),
        max_size=5,
    )
)
def test_any_messages_come_back_equal(
    memory: Turnfold, fresh: Fresh, messages: list[BaseMessage]
) -> None:
    chat = history(memory, fresh())
    chat.add_messages(messages)
    assert exact(chat.messages) == exact(messages)


def test_a_cleared_history_is_empty_and_goes_on(memory: Turnfold, fresh: Fresh) -> None:
    session = fresh()
    history(memory, session).add_messages(MESSAGES)
    history(memory, session).clear()
    assert history(memory, session).messages == []
    history(memory, session).clear()
    history(memory, session).add_messages(MESSAGES[:2])
    assert history(memory, session).messages == MESSAGES[:2]


def test_memory_reads_what_is_said(memory: Turnfold, fresh: Fresh) -> None:
    session, model = fresh(), FakeListChatModel(responses=["Noted.", "In Leeds."])
    chat = history(memory, session)
    for question in ("I live in Leeds.", "Where do I live?"):
        chat.add_user_message(question)
        chat.add_message(model.invoke(chat.messages))
    assert [one.content for one in chat.messages][1::2] == ["Noted.", "In Leeds."]
    assert "Leeds" in memory.context(session).text
    turns = memory.session(session).conversations
    assert [(one.user_input, one.agent_answer) for one in turns] == [
        ("I live in Leeds.", "Noted."), ("Where do I live?", "In Leeds."),
    ]  # fmt: skip


def test_tool_calls_become_steps(memory: Turnfold, fresh: Fresh) -> None:
    session = fresh()
    history(memory, session).add_messages(MESSAGES[:6])
    (turn,) = memory.session(session).conversations
    assert turn.agent_answer == "Wrap up warm."
    task = memory.task(turn.task_id, session_id=session)
    assert "city" in task.model_dump_json() and "12°" in task.model_dump_json()


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("x", additional_kwargs={"day": date(2026, 3, 1)}),
        HumanMessage("x", additional_kwargs={"pair": (1, 2)}),
        HumanMessage("x", additional_kwargs={1: "key"}),
        AIMessage("x", response_metadata={"raw": b"bytes"}),
        AIMessage("x", response_metadata={"score": float("nan")}),
        HumanMessage("half a pair: \ud83d"),
    ],
    ids=["date", "tuple", "key", "bytes", "nan", "surrogate"],
)
def test_what_would_change_is_refused_and_nothing_is_kept(
    memory: Turnfold, fresh: Fresh, message: BaseMessage
) -> None:
    chat = history(memory, fresh())
    with pytest.raises(NotKeptError):
        chat.add_messages([HumanMessage("before"), message])
    assert chat.messages == []


def test_what_the_server_does_not_keep_is_an_error(memory: Turnfold, fresh: Fresh) -> None:
    chat = history(memory, fresh())
    with pytest.raises(NotKeptError, match="meta_request"):
        chat.add_message(HumanMessage("x", additional_kwargs={"source": "meta_request"}))
    with pytest.raises(ClientError, match=r"messages\[0\]\.original.*1000000"):
        chat.add_message(HumanMessage("x" * 1_100_000))
    assert chat.messages == []


PIXELS = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 3
IMAGES: list[dict[str, Any]] = [
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}},
    {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PIXELS},
    {"type": "image", "base64": PIXELS, "mime_type": "image/png"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}},
]


@pytest.mark.parametrize("part", IMAGES, ids=lambda part: "-".join(part))
def test_an_image_is_an_item_without_bytes(
    memory: Turnfold, fresh: Fresh, part: dict[str, Any]
) -> None:
    chat, text = history(memory, fresh()), {"type": "text", "text": "I live in Leeds."}
    chat.add_messages([HumanMessage("before"), HumanMessage([text, part]), HumanMessage([part])])
    before, whole, alone = chat.messages
    assert before.content == "before"
    assert whole.content[0] == text and "image removed" in str(whole.content[1])
    assert "image removed" in str(alone.content) and PIXELS not in str(chat.messages)
    assert set(whole.content[1]) == set(part)


def test_another_speaker_is_not_the_user(memory: Turnfold, fresh: Fresh) -> None:
    session = f"room {fresh()}".translate({ord(digit): "x" for digit in "0123456789"})
    chat = TurnfoldChatMessageHistory(memory, session_id=session, user_id=session)
    chat.add_messages([HumanMessage("I live in Pisa.", name="bob"), AIMessage("Noted.")])
    assert [one.name for one in chat.messages] == ["bob", None]
    assert "Pisa" not in memory.context(session).text


def test_a_server_that_is_away_is_an_error_of_the_client(tmp_path: Path) -> None:
    chat = history(Turnfold("http://127.0.0.1:9", retries=0), "s")
    with pytest.raises(UnreachableError, match="turnfold serve"):
        chat.add_user_message("hello")
    with pytest.raises(UnreachableError):
        _ = chat.messages
