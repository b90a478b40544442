"""Every importer, given a file in which any one value has another shape: records that the fold
reads, or a fault that names the item. Never a traceback, and never a record that cannot be written.
"""

import copy
import json
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import ValidationError

from schemas.messages import NewMessages
from streams.importers import chatgpt_export, json_stream, openai_chat, session_messages
from streams.importers.base import UNREADABLE, ImportDefaults, ImportFault, Skipped
from streams.importers.convert import convert
from streams.importers.session_messages import Request
from streams.importers.turns import Place, as_message
from streams.pipeline.decode import Dead, decode
from streams.serving.http import message_bodies

DEFAULTS = ImportDefaults("ann", 1_767_225_600_000_000)
ODD: list[Any] = [
    None, True, False, 5, -1, 1.5, 1e300, 10**30, "", " ", "x", "\x00", "\ud83d",
    [], [None], [True], [[]], ["x"], ["\ud83d"], [{}], [{"type": {}}], [{"text": 5}],
    {}, {"x": 1}, {"id": []}, {"text": {}}, {"type": "text"}, {"\udc00": 1}, [[[[[[5]]]]]],
]  # fmt: skip

CALL = {"id": "c1", "type": "function", "function": {"name": "price", "arguments": "{}"}}
OPENAI: dict[str, Any] = {
    "session_id": "s", "user_id": "u", "created": 1767225600, "title": "Doors",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "A door?"}, "b",
         {"type": "image_url", "description": "a door", "image_url": {"url": "x"}}],
         "created": 1767225601, "name": "Ann"},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "hm",
         "audio": {"transcript": "t"}, "refusal": "no", "function_call": {"name": "price"}},
        {"role": "tool", "tool_call_id": "c1", "content": "5", "status": "error"},
        {"role": "function", "name": "price", "content": {"type": "text", "text": "5"}},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"},
         {"type": "thinking", "thinking": "t"}], "function_call": {"name": "f", "arguments": "{}"}},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "t"}],
         "content": [{"type": "reasoning_text", "text": "t"}]},
        {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2",
         "output": [{"type": "text", "text": "o"}]},
    ],
}  # fmt: skip
TAU: dict[str, Any] = {
    "task_id": 1, "info": {"task": {"user_id": "u"}}, "traj": [{"role": "user", "content": "hi"}],
}  # fmt: skip


def _node(parent: str | None, *children: str, **message: Any) -> dict[str, Any]:
    return {"id": "n", "parent": parent, "children": [*children], "message": message or None}


CHATGPT: dict[str, Any] = {
    "conversation_id": "c", "id": "c", "title": "Doors", "create_time": 1767225600.5,
    "current_node": "e",
    "mapping": {
        "root": _node(None, "a"),
        "a": _node("root", "b", "z", id="1", author={"role": "user", "name": None},
                   create_time=1767225601.5, recipient="all", metadata={},
                   content={"content_type": "text", "parts": ["A door?", {
                       "content_type": "image_asset_pointer",
                       "metadata": {"dalle": {"prompt": "a door"}}}]}),
        "z": _node("a", id="9", author={"role": "assistant"}, create_time=1767225601.7,
                   content={"content_type": "text", "parts": ["aside"]}),
        "b": _node("a", "c", id="2", author={"role": "assistant"}, create_time=1767225602,
                   content={"content_type": "thoughts",
                            "thoughts": [{"summary": "s", "content": "c"}]}),
        "c": _node("b", "d", id="3", author={"role": "assistant"}, create_time=1767225603,
                   recipient="python", content={"content_type": "code", "text": "1+1"}),
        "d": _node("c", "e", id="4", author={"role": "tool", "name": "python"},
                   create_time=1767225604, metadata={"is_visually_hidden_from_conversation": False},
                   content={"content_type": "system_error", "result": "2"}),
        "e": _node("d", id="5", author={"role": "assistant"}, create_time=1767225605,
                   content={"content_type": "text", "parts": ["Two."]}),
    },
}  # fmt: skip
LEAVES: dict[str, Any] = {**CHATGPT, "current_node": None}
MEM0: dict[str, Any] = {
    "results": [{
        "id": "m", "memory": "Ann lives in Oslo.", "user_id": "u", "metadata": {"a": 1},
        "categories": ["health", "x"], "created_at": "2026-01-05T09:00:00Z",
        "updated_at": "2026-01-05T09:00:00Z", "expiration_date": "2027-01-05",
    }],
    "relations": [{"source": "a"}],
}  # fmt: skip
ZEP: dict[str, Any] = {
    "thread_id": "t1", "user_id": "u", "thread_created_at": "2026-01-05T09:00:00Z",
    "messages": [{"uuid": "m1", "role": "user", "role_type": "user", "content": "hi",
                  "created_at": "2026-01-05T09:30:00.5Z", "metadata": {"a": 1}}],
    "nodes": [{}],
    "edges": [{"uuid": "e1", "name": "LIVES_IN", "fact": "Ann lives in Porto", "episodes": ["m1"],
               "created_at": "2026-01-05T09:32:00Z", "valid_at": "2026-01-05T09:30:00Z",
               "invalid_at": "2026-02-05T09:30:00Z", "attributes": {"a": 1}}],
}  # fmt: skip


CHECKPOINT: dict[str, Any] = {
    "messages": [
        {"type": "human", "content": "hi", "id": "1", "additional_kwargs": {}, "name": "Ann"},
        {"role": "ai", "content": [{"type": "text", "text": "o"}], "id": "2", "tool_calls": [
            {"name": "f", "args": {"x": 1}, "id": "c"}], "invalid_tool_calls": [],
         "additional_kwargs": {"refusal": "r", "function_call": {"name": "f"},
                               "reasoning_content": "r"}},
        {"type": "tool", "content": "5", "tool_call_id": "c", "status": "error", "id": "3"},
    ],
}  # fmt: skip
ARCHIVE: list[dict[str, Any]] = [
    {"kind": "header", "format": "turnfold", "version": 1},
    {"kind": "record", "record": {"type": "turn", "event_id": "e", "session_id": "s"}},
    {"kind": "state", "state": {}},
    {"kind": "end", "lines": 4},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a value."""
    yield path
    inside: Any = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    for name, inner in inside:
        yield from places(inner, (*path, name))


def with_odd(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """A copy in which one value is another."""
    if not path:
        return odd
    copied = copy.deepcopy(value)
    at = copied
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = odd
    return copied


def without(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy in which one value is missing."""
    copied = copy.deepcopy(value)
    at = copied
    for name in path[:-1]:
        at = at[name]
    del at[path[-1]]
    return copied


REASONING = [
    {"role": "user", "content": "a"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}], "content": None},
    {"type": "reasoning", "summary": "t", "content": [{"type": "reasoning_text", "text": "t"}]},
]


class Missing:
    """Instead of a value: its field is left out."""

    def __repr__(self) -> str:
        return "missing"


MISSING = Missing()


def variants(sample: Any, odd: Any) -> Iterator[Any]:
    """The sample with this value at each place in turn."""
    for path in places(sample):
        if odd is not MISSING:
            yield with_odd(sample, path, odd)
        elif path:
            yield without(sample, path)


class Faults(Skipped):
    """Continues after a fault and keeps it."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[ImportFault] = []

    def refuse(self, fault: ImportFault) -> None:
        self.faults.append(fault)


def check(records: Iterator[Any], faults: Faults, variant: Any) -> None:
    """Every record can be folded; every fault names its place and is expected."""
    for record in records:
        verdict = decode(msgspec.json.encode(record), ("x", 0, 1))
        is_kept = not isinstance(verdict, Dead) or "beyond 64 bits" in verdict.detail
        assert is_kept, (verdict, variant)
    for fault in faults.faults:
        assert UNREADABLE not in str(fault), (str(fault), variant)
        assert fault.item or "line" in str(fault) or "thread" in str(fault), (str(fault), variant)


@pytest.mark.parametrize("odd", [*ODD, MISSING], ids=repr)
@pytest.mark.parametrize("sample", [OPENAI, TAU], ids=["openai", "tau"])
def test_a_value_of_another_shape_in_a_chat(sample: Any, odd: Any) -> None:
    for variant in variants(sample, odd):
        faults = Faults()
        check(openai_chat.parse([variant], faults, DEFAULTS), faults, variant)


@pytest.mark.parametrize("odd", [*ODD, MISSING], ids=repr)
def test_a_value_of_another_shape_in_a_body_of_messages(odd: Any) -> None:
    """As `POST /v1/messages` reads it: faults with their places, or records."""
    assert not list(message_bodies._of_body({"messages": REASONING}))
    rows: Any = {}
    messages = [one | {"id": str(at)} for at, one in enumerate(OPENAI["messages"])]
    for variant in variants({"user_id": "u", "messages": messages}, odd):
        try:
            if list(message_bodies._of_body(variant)):
                continue
            body = NewMessages.model_validate(variant)
        except ValidationError:
            continue
        read = [as_message(one, Place(None, at)) for at, one in enumerate(variant["messages"])]
        ids = [str(at) for at in range(len(read))]
        request = Request("s", body.user_id, ids, read, {})
        with suppress(ImportFault):
            for _, record in session_messages.records(rows, request, lambda: 10**15).made:
                msgspec.json.encode(record)


@pytest.mark.parametrize("odd", [*ODD, MISSING], ids=repr)
@pytest.mark.parametrize("sample", [CHATGPT, LEAVES], ids=["current", "leaves"])
def test_a_value_of_another_shape_in_an_export_of_chatgpt(sample: Any, odd: Any) -> None:
    for variant in variants(sample, odd):
        faults = Faults()
        check(chatgpt_export.parse([variant], faults, defaults=DEFAULTS), faults, variant)


@pytest.mark.parametrize("odd", [*ODD, MISSING], ids=repr)
@pytest.mark.parametrize(
    ("format", "sample"), [("mem0", MEM0), ("zep", ZEP), ("openai-chat", [OPENAI["messages"]])]
)
def test_a_value_of_another_shape_in_a_file(
    format: str, sample: Any, odd: Any, tmp_path: Path
) -> None:
    file = tmp_path / "file.json"
    for variant in variants(sample, odd):
        file.write_text(json.dumps(variant))
        faults = Faults()
        check(convert(format, file, faults, DEFAULTS), faults, variant)


@pytest.mark.parametrize("odd", [*ODD, MISSING], ids=repr)
def test_a_value_of_another_shape_in_a_person_s_archive(odd: Any, tmp_path: Path) -> None:
    file = tmp_path / "archive.ndjson"
    for line in range(len(ARCHIVE)):
        for variant in variants(ARCHIVE[line], odd):
            lines = [*ARCHIVE[:line], variant, *ARCHIVE[line + 1 :]]
            file.write_text("".join(json.dumps(one) + "\n" for one in lines))
            faults = Faults()
            try:
                records = list(convert("turnfold", file, faults, DEFAULTS))
            except ImportFault:
                continue
            for record in records:
                msgspec.json.encode(record)


@pytest.mark.parametrize("odd", [*ODD, MISSING], ids=repr)
def test_a_value_of_another_shape_in_a_checkpoint(odd: Any, tmp_path: Path) -> None:
    file = tmp_path / "graph.sqlite"
    count = 0
    with SqliteSaver.from_conn_string(str(file)) as saver:
        saver.setup()
        for count, variant in enumerate(variants(CHECKPOINT, odd), 1):
            checkpoint = {**empty_checkpoint(), "channel_values": variant}
            config: Any = {"configurable": {"thread_id": f"t{count}", "checkpoint_ns": ""}}
            with suppress(TypeError, ValueError):  # the saver does not write each
                saver.put(config, checkpoint, {"source": "loop", "step": 1}, {})  # type: ignore[arg-type]
    faults = Faults()
    check(convert("langgraph", file, faults, DEFAULTS), faults, odd)


@pytest.mark.parametrize("name", ["conversations.json", "user.json"])
@pytest.mark.parametrize("damage", ["bytes", "encrypted", "bomb", "method"])
def test_a_damaged_archive_of_chatgpt(
    name: str, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "MAX_VALUE", 1 << 20)
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as export:
        packed = b'{"id": "' + b"a" * 2_000_000 + b'"}'
        members = {
            "conversations.json": json.dumps([CHATGPT]).encode(),
            "user.json": b'{"id": "u"}',
        }
        for member, plain in members.items():
            export.writestr(member, packed if damage == "bomb" and member == name else plain)
    content = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as export:
        local = export.getinfo(name).header_offset
    central = content.rfind(name.encode()) - 46
    if damage == "bytes":
        content[local + 30 + len(name) + 5] ^= 0xFF
    elif damage == "encrypted":
        content[local + 6] |= 1
        content[central + 8] |= 1
    elif damage == "method":
        content[local + 8] = content[central + 10] = 99
    file.write_bytes(content)
    faults = Faults()
    try:
        records = list(convert("chatgpt-export", file, faults, DEFAULTS))
    except ImportFault:
        return
    assert faults.faults and not records


def test_a_broken_line_costs_itself_alone(tmp_path: Path) -> None:
    good = [json.dumps(OPENAI | {"session_id": f"s{number}"}) for number in range(4)]
    broken = [
        good[0][:-1], good[0][: len(good[0]) // 2], "}{", "x", '{"messages": [1e999]}',
        json.dumps(OPENAI)[:60] + "\udcff" + json.dumps(OPENAI)[60:],
    ]  # fmt: skip
    file = tmp_path / "chats.jsonl"
    for line in broken:
        text = "\n".join([good[1], line, good[2], good[3]]) + "\n"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        faults = Faults()
        sessions = {one["session_id"] for one in convert("openai-chat", file, faults, DEFAULTS)}
        assert sessions == {"s1", "s2", "s3"}, line
        assert len(faults.faults) == 1 and "2" in str(faults.faults[0]), (line, faults.faults)
