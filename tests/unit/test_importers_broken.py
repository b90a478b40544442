"""Every importer, given items that are broken in one place: the others are imported, it is named
and counted, and what comes of it can be folded. Never a traceback.

Items are broken in each of their fields by each of the values below, and as text. A broken one may
be imported all the same (a field that nobody reads), but never without a word.
"""

import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import ValidationError

from schemas.messages import NewMessages
from streams.importers import json_stream, session_messages
from streams.importers.base import UNREADABLE, ImportDefaults, ImportFault
from streams.importers.convert import convert
from streams.importers.report import Telling
from streams.importers.session_messages import Request
from streams.importers.turns import Place, as_message
from streams.pipeline.decode import Dead, decode
from streams.serving.http import message_bodies

Json = dict[str, Any]
DEFAULTS = ImportDefaults("ann", 1_767_225_600_000_000)
encode = msgspec.json.Encoder().encode

WRONG: list[Any] = [
    None, True, False, 0, 5, -1, 1.5, 1e300, 10**30, float("nan"), float("-inf"), "", " ", "x",
    "\x00", "\ud83d", "a" * 200, -62_135_596_801, -62_135_510_401.5, 253_402_300_800, -1e300,
    [], [None], [True], [[]], ["x"], ["\ud83d"], [{}], [{"type": {}}], [{"text": 5}],
    {}, {"x": 1}, {"x": "\udcff"}, [{"x": None}], {"a": [[[]]]}, {"id": []}, {"text": {}},
    {"type": "text"}, {"\udc00": 1}, [[[[[[5]]]]]],
]  # fmt: skip
"""Values in the place of any field."""
TEXTS: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda line: line[: len(line) // 2], "not JSON": lambda line: b"{oops",
    "text": lambda line: b'"what"', "number": lambda line: b"7", "null": lambda line: b"null",
    "empty object": lambda line: b"{}",
    "not UTF-8": lambda line: line.replace(b"hello", b"hel\xfflo"),
    "half a pair": lambda line: line.replace(b"hello", rb"hel\ud83dlo"),
    "deep": lambda line: b"[" * 5_000, "doubled": lambda line: line + line[:20],
    "infinite": lambda line: b'{"messages": [1e999]}',
    "half a byte": lambda line: line[:60] + b"\xff" + line[60:],
    "control": lambda line: line.replace(b"hello", b"hel\x01lo"),
}  # fmt: skip
"""What becomes of the text of the broken item."""
PARTS = 8


CALL = {"id": "c1", "type": "function", "function": {"name": "price", "arguments": "{}"}}


def chat(number: Any) -> Json:
    return {
        "session_id": f"s{number}", "user_id": f"u{number}", "created": 1767225600,
        "title": "Doors",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "hello"}, "b",
             {"type": "image_url", "description": "a door", "image_url": {"url": "x"}}],
             "created": 1767225601, "name": "Ann"},
            {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": "hm",
             "audio": {"transcript": "t"}, "refusal": "no", "function_call": {"name": "price"}},
            {"role": "tool", "tool_call_id": "c1", "content": "5", "status": "error"},
            {"role": "function", "name": "price", "content": {"type": "text", "text": "5"}},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"},
             {"type": "thinking", "thinking": "t"}],
         "function_call": {"name": "f", "arguments": "{}"}},
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "t"}],
             "content": [{"type": "reasoning_text", "text": "t"}]},
            {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c2",
             "output": [{"type": "text", "text": "o"}]},
        ],
    }  # fmt: skip


def tau(number: Any) -> Json:
    return {
        "session_id": f"s{number}", "task_id": 1, "info": {"task": {"user_id": "u"}},
        "traj": [{"role": "user", "content": "hello"}],
    }  # fmt: skip


def _node(parent: str | None, *children: str, **message: Any) -> Json:
    return {"id": "n", "parent": parent, "children": [*children], "message": message or None}


def export(number: Any) -> Json:
    return {
        "conversation_id": f"s{number}", "id": f"s{number}", "title": "Doors",
        "create_time": 1767225600.5, "current_node": "e",
        "mapping": {
            "root": _node(None, "a"),
            "a": _node("root", "b", "z", id="1", author={"role": "user", "name": None},
                       create_time=1767225601.5, recipient="all", metadata={},
                       content={"content_type": "text", "parts": ["hello", {
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
                       create_time=1767225604,
                       metadata={"is_visually_hidden_from_conversation": False},
                       content={"content_type": "system_error", "result": "2"}),
            "e": _node("d", id="5", author={"role": "assistant"}, create_time=1767225605,
                       content={"content_type": "text", "parts": ["Two."]}),
        },
    }  # fmt: skip


def leaves(number: Any) -> Json:
    return {**export(number), "current_node": None}


def memory(number: Any) -> Json:
    return {
        "id": f"s{number}", "memory": "hello", "user_id": f"u{number}", "metadata": {"a": 1},
        "categories": ["health", "x"], "created_at": "2026-01-05T09:00:00Z",
        "updated_at": "2026-01-06T09:00:00Z", "expiration_date": "2027-01-05",
    }  # fmt: skip


def thread(number: Any) -> Json:
    return {
        "thread_id": f"s{number}", "user_id": f"u{number}",
        "thread_created_at": "2026-01-05T09:00:00Z",
        "messages": [
            {"uuid": "m1", "role": "user", "role_type": "user", "name": "Ann", "content": "hello",
             "created_at": "2026-01-05T09:30:00.5Z", "metadata": {"a": 1}},
            {"role": "assistant", "content": "hi"},
        ],
        "nodes": [{}],
    }  # fmt: skip


def edge(number: Any) -> Json:
    return {
        "uuid": f"s{number}", "user_id": f"u{number}", "fact": "hello", "name": "IS",
        "created_at": "2026-01-05T09:00:00Z", "valid_at": "2026-01-05T09:00:00Z",
        "invalid_at": "2026-02-05T09:00:00Z", "episodes": ["e"], "attributes": {"a": 1},
    }  # fmt: skip


def facts(number: Any) -> Json:
    return {"user_id": f"u{number}", "edges": [edge(number)]}


FORMATS: dict[str, Any] = {
    "openai-chat": chat, "openai-chat tau": tau, "chatgpt-export": export,
    "chatgpt-export leaves": leaves, "mem0": memory, "zep threads": thread, "zep facts": facts,
    "zep edges": edge,
}  # fmt: skip


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value lies in an item."""
    if at:
        yield at
    inside: Any = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else inside:
        yield from paths(one, (*at, key))


def broken(item: Json) -> Iterator[tuple[str, Json]]:
    """The item with one value wrong, or left out."""
    for at in paths(item):
        for wrong in (*WRONG, ...):
            changed = deepcopy(item)
            holder: Any = changed
            for key in at[:-1]:
                holder = holder[key]
            if wrong is ...:
                del holder[at[-1]]
            else:
                holder[at[-1]] = wrong
            yield f"{'.'.join(map(str, at))} = {ascii(wrong)[:40]}", changed


class Faults(Telling):
    """Each fault names its place, and is one that the importer expects."""

    def refuse(self, fault: ImportFault) -> None:
        text = str(fault)
        assert fault.item or any(place in text for place in ("line", "thread", ".json")), text
        assert UNREADABLE not in text
        super().refuse(fault)


def imported(format: str, path: Path) -> tuple[set[str], list[str], bool]:
    """The sessions or memories that come of a file, what is told, and whether the command exits
    with 4. Each record can be written, and folded; those of an archive are as they were sent."""
    notes: list[str] = []
    told, ids = Faults(notes.append), list[str]()
    for record in convert(format, path, told, DEFAULTS):
        line = encode(record)
        verdict = decode(line, ("x", 0, 1))
        is_foldable = not isinstance(verdict, Dead) or "beyond 64 bits" in verdict.detail
        assert is_foldable or format == "turnfold", verdict
        one = json.loads(line)
        ids.append(str(one["session_id"] if "session_id" in one else _state(one)))
    told.sum_up()
    return set(ids), notes, told.refusal(len(ids)) is not None


def _state(plan: Json) -> Any:
    return plan["state_updates"][0]["state_id"] if "state_updates" in plan else None


def check(format: str, path: Path, why: str) -> None:
    ids, notes, is_refused = imported(format, path)
    assert {"s1", "s3"} <= ids, (why, ids, notes)
    if len(ids) < 3:
        assert notes, why
        assert is_refused or "without" in str(notes), (why, notes)


def whole_and_broken(make: Any, part: slice) -> tuple[list[Json], set[str], dict[str, str]]:
    """Some of the broken items between whole ones; the ids of the whole ones, and those of the
    broken ones with what is wrong with them."""
    items, whole, wrong = [make(0)], {"s0"}, dict[str, str]()
    for number, (why, item) in enumerate(list(broken(make("X")))[part], 1):
        items.append(json.loads(json.dumps(item).replace('"sX"', f'"b{number}"')))
        wrong[f"b{number}"] = why
        if number % 5 == 0:
            items.append(make(number))
            whole.add(f"s{number}")
    return items, whole, wrong


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", FORMATS)
def test_a_value_that_is_wrong_costs_no_other_item(tmp_path: Path, name: str, part: int) -> None:
    """In a file of lines, and in an array."""
    items, whole, wrong = whole_and_broken(FORMATS[name], slice(part, None, PARTS))
    file, lines = tmp_path / "data.json", [json.dumps(one) for one in items]
    file.write_text("[" + ",\n".join(lines) + "]" if part == 0 else "\n".join(lines))
    ids, notes, is_refused = imported(name.split()[0], file)
    assert sorted(whole - ids) == []
    assert is_refused
    unnamed = {id: why for id, why in wrong.items() if id not in ids}
    told = sum(int(count) if (count := note.rpartition(": ")[2]).isdigit() else 1 for note in notes)
    others = len(ids - whole - wrong.keys())  # it was the id that was wrong
    assert told >= len(unnamed) - others, (told, others, unnamed)


@pytest.mark.parametrize("how", TEXTS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_line_that_is_broken_costs_no_other_line(tmp_path: Path, name: str, how: str) -> None:
    make, file = FORMATS[name], tmp_path / "data.jsonl"
    one, two, three = (json.dumps(make(number)).encode() for number in (1, 2, 3))
    file.write_bytes(b"\n".join([one, TEXTS[how](two), three, b""]))
    check(name.split()[0], file, how)


def archive(*records: Any) -> list[bytes]:
    lines = [encode({"kind": "header", "format": "turnfold", "version": 1})]
    lines += [encode({"kind": "record", "record": one}) for one in records]
    return [*lines, encode({"kind": "end", "lines": len(lines) + 1})]


def said(number: Any) -> Json:
    return {
        "type": "turn", "event_id": "e", "session_id": f"s{number}", "user_id": "u",
        "occurred_at": "2026-01-01T00:00:00Z", "user_input": "hello", "metadata": {"a": [1]},
    }  # fmt: skip


def record_of(number: Any) -> Json:
    return {"kind": "record", "record": said(number)}


@pytest.mark.parametrize("how", TEXTS)
def test_a_broken_line_of_an_archive_costs_no_other(tmp_path: Path, how: str) -> None:
    lines = archive(*map(said, (1, 2, 3)))
    lines[2] = TEXTS[how](lines[2])
    file = tmp_path / "archive.jsonl"
    file.write_bytes(b"\n".join([*lines, b""]))
    check("turnfold", file, how)


def test_a_wrong_value_of_an_archive_costs_no_other(tmp_path: Path) -> None:
    """Lines of other kinds are left out: what memory made of the records is made again."""
    items, whole, _ = whole_and_broken(record_of, slice(None))
    header, end = archive()
    lines = [json.dumps(one).encode() for one in items]
    file = tmp_path / "archive.jsonl"
    end = encode({"kind": "end", "lines": len(lines) + 2})
    file.write_bytes(b"\n".join([header, *lines, end, b""]))
    ids, notes, is_refused = imported("turnfold", file)
    assert sorted(whole - ids) == []
    assert is_refused and any("field record" in note for note in notes)


def test_a_damaged_part_of_a_zip_costs_no_other_part(tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w") as made:
        for number in (1, 2, 3):
            made.writestr(f"conversations-00{number}.json", json.dumps([export(number)]))
    content = file.read_bytes()
    place = content.index(b"s2")
    file.write_bytes(content[:place] + b"??" + content[place + 2 :])
    ids, notes, is_refused = imported("chatgpt-export", file)
    assert ids == {"s1", "s3"} and is_refused
    assert "conversations-002.json in the archive cannot be read: Bad CRC-32" in str(notes)


def test_a_checkpoint_that_cannot_be_read_costs_no_other_thread(tmp_path: Path) -> None:
    """Messages of any form, in checkpoints that are cut or changed in any place."""
    file, whole = tmp_path / "graph.sqlite", set[str]()

    def put(thread: str, messages: Any) -> None:
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": messages}
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        saver.put(config, checkpoint, {"source": "loop", "step": 1, "user_id": "u"}, {})  # type: ignore[typeddict-unknown-key]

    messages = [
        {"type": "human", "content": "hi", "id": "1", "additional_kwargs": {}, "name": "Ann"},
        {"role": "ai", "content": [{"type": "text", "text": "o"}], "id": "2", "tool_calls": [
            {"name": "f", "args": {"x": 1}, "id": "c"}], "invalid_tool_calls": [],
         "additional_kwargs": {"refusal": "r", "function_call": {"name": "f"},
                               "reasoning_content": "r"}},
        {"type": "tool", "content": "5", "tool_call_id": "c", "status": "error", "id": "3"},
    ]  # fmt: skip
    with SqliteSaver.from_conn_string(str(file)) as saver:
        for number, (_, item) in enumerate(broken({"messages": messages})):
            try:
                put(f"b{number}", item.get("messages"))
            except (ValueError, TypeError):  # what no checkpoint can hold
                continue
            if number % 10 == 0:
                put(f"s{number}", messages)
                whole.add(f"s{number}")
        kept = saver.conn.execute("SELECT checkpoint FROM checkpoints LIMIT 1").fetchone()[0]
        draw = Random(7)
        for number in range(300):
            thread = f"damaged {number}"
            put(thread, messages)
            at, byte = draw.randrange(len(kept)), bytes([draw.randrange(256)])
            blob = kept[:at] if number % 2 else kept[:at] + byte + kept[at + 1 :]
            saver.conn.execute(
                "UPDATE checkpoints SET checkpoint = ? WHERE thread_id = ?", [blob, thread]
            )
        saver.conn.commit()
    ids, notes, is_refused = imported("langgraph", file)
    assert sorted(whole - ids) == []
    assert is_refused and len(notes) > 100


REASONING = [
    {"role": "user", "content": "a"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}], "content": None},
    {"type": "reasoning", "summary": "t", "content": [{"type": "reasoning_text", "text": "t"}]},
]


def test_a_value_of_another_shape_in_a_body_of_messages() -> None:
    """As `POST /v1/messages` reads it: faults with their places, or records."""
    assert not list(message_bodies._of_body({"messages": REASONING}))
    rows: Any = {}
    messages = [one | {"id": str(at)} for at, one in enumerate(chat(1)["messages"])]
    for _, variant in broken({"user_id": "u", "messages": messages}):
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
                encode(record)


@pytest.mark.parametrize("name", ["conversations.json", "user.json"])
@pytest.mark.parametrize("damage", ["bytes", "encrypted", "bomb", "method"])
def test_a_damaged_archive_of_chatgpt(
    name: str, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "MAX_VALUE", 1 << 20)
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archived:
        packed = b'{"id": "' + b"a" * 2_000_000 + b'"}'
        members = {
            "conversations.json": json.dumps([export(1)]).encode(),
            "user.json": b'{"id": "u"}',
        }
        for member, plain in members.items():
            archived.writestr(member, packed if damage == "bomb" and member == name else plain)
    content = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archived:
        local = archived.getinfo(name).header_offset
    central = content.rfind(name.encode()) - 46
    if damage == "bytes":
        content[local + 30 + len(name) + 5] ^= 0xFF
    elif damage == "encrypted":
        content[local + 6] |= 1
        content[central + 8] |= 1
    elif damage == "method":
        content[local + 8] = content[central + 10] = 99
    file.write_bytes(content)
    with suppress(ImportFault):
        ids, notes, is_refused = imported("chatgpt-export", file)
        assert is_refused and notes and not ids
