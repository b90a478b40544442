"""`langgraph`: threads of a real SqliteSaver database as sessions."""

import builtins
import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.importers.base import ImportDefaults, ImportFault, NoUser, Skipped
from streams.importers.convert import convert

CALL = {"name": "price", "args": {"sku": "A1"}, "id": "c1"}
MESSAGES: list[BaseMessage] = [
    SystemMessage("No purchases.", id="m0"),
    HumanMessage("What does A1 cost?", id="m1"),
    AIMessage("", tool_calls=[CALL], id="m2"),
    ToolMessage("unreachable", tool_call_id="c1", status="error", id="m3"),
    AIMessage([{"type": "text", "text": "I could not find out."}], id="m4"),
]


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as made:
        yield made


def put(
    saver: SqliteSaver, thread: str, minute: int, values: dict[str, Any], namespace: str = ""
) -> None:
    """A checkpoint of a thread, taken at this minute."""
    checkpoint = empty_checkpoint()
    checkpoint["ts"] = f"2026-01-31T09:{minute:02}:00+00:00"
    checkpoint["channel_values"] = values
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
    saver.put(config, checkpoint, {"source": "loop", "step": minute, "user_id": "u"}, {})  # type: ignore[typeddict-unknown-key]


def test_a_thread_of_nobody_is_refused_unless_who_imports_names_one(
    saver: SqliteSaver, tmp_path: Path
) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"messages": MESSAGES}
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    saver.put(config, checkpoint, {"source": "loop", "step": 1}, {})
    with pytest.raises(NoUser):
        read(tmp_path)
    told = list(convert("langgraph", tmp_path / "graph.sqlite", defaults=ImportDefaults("ann")))
    assert told[0]["user_id"] == "ann"


def read(tmp_path: Path, skipped: Skipped | None = None) -> list[dict[str, Any]]:
    found = list(convert("langgraph", tmp_path / "graph.sqlite", skipped))
    for record in found:
        model = RECORD_TYPES[record["type"]].model_validate(upcast(dict(record)))
        assert model.model_extra == {}
    return found


def test_a_thread_is_a_session_with_the_messages_of_its_newest_checkpoint(
    saver: SqliteSaver, tmp_path: Path
) -> None:
    for minute, count in enumerate((2, 3, 4, 5), 1):
        put(saver, "t-1", minute, {"messages": MESSAGES[:count]})
    turn, called, result, answered = read(tmp_path)
    assert (turn["session_id"], turn["user_id"]) == ("t-1", "u")
    assert (turn["user_input"], turn["agent_answer"]) == (
        "What does A1 cost?",
        "I could not find out.",
    )
    assert called["action"]["output"]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "price", "arguments": '{"sku":"A1"}'}}
    ]
    assert called["constraints"] == ["No purchases."]
    assert (result["tool_call_id"], result["success"]) == ("c1", False)
    assert answered["action"]["action_type"] == "ANSWER"


def test_a_message_has_the_time_of_the_first_checkpoint_that_holds_it(
    saver: SqliteSaver, tmp_path: Path
) -> None:
    for minute, count in enumerate((2, 3, 4, 5), 1):
        put(saver, "t-1", minute, {"messages": MESSAGES[:count]})
    assert [record["occurred_at"] for record in read(tmp_path)] == [
        "2026-01-31T09:01:00.000001Z",  # in one checkpoint with the system message before it
        "2026-01-31T09:02:00Z",
        "2026-01-31T09:03:00Z",
        "2026-01-31T09:04:00Z",
    ]


def test_threads_come_oldest_first_and_subgraphs_are_left_out(
    saver: SqliteSaver, tmp_path: Path
) -> None:
    put(saver, "b", 1, {"messages": MESSAGES[:2]})
    put(saver, "a", 2, {"messages": MESSAGES[:2]})
    put(saver, "b", 3, {"messages": MESSAGES})
    put(saver, "a", 4, {"messages": MESSAGES}, namespace="child:1")
    put(saver, "c", 5, {"counter": 3})
    skipped = Skipped()
    records = read(tmp_path, skipped)
    turns = [(r["session_id"], r["agent_answer"]) for r in records if r["type"] == "turn"]
    assert turns == [("b", "I could not find out."), ("a", "")]
    assert skipped == {"thread without a messages channel": 1}


def test_the_file_is_not_written_to(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as saver:
        put(saver, "t-1", 1, {"messages": MESSAGES})
    with closing(sqlite3.connect(tmp_path / "graph.sqlite")) as plain:
        plain.execute("PRAGMA journal_mode=DELETE")  # what opening a saver over it would undo
    before = hashlib.sha256((tmp_path / "graph.sqlite").read_bytes()).digest()
    assert read(tmp_path)
    assert hashlib.sha256((tmp_path / "graph.sqlite").read_bytes()).digest() == before


def test_what_is_no_checkpoint_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("no database " * 100)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.execute("CREATE TABLE notes (text)")
    for name in ("text.sqlite", "other.sqlite"):
        with pytest.raises(ImportFault, match="not a SQLite file of LangGraph checkpoints"):
            list(convert("langgraph", tmp_path / name))
    with pytest.raises(FileNotFoundError):
        list(convert("langgraph", tmp_path / "absent.sqlite"))
    assert not (tmp_path / "absent.sqlite").exists()


def test_without_the_package_it_says_which_extra_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("langgraph"):
            raise ModuleNotFoundError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportFault, match=r"install turnfold\[langgraph\]"):
        list(convert("langgraph", tmp_path / "graph.sqlite"))
