"""Whatever is broken in one item of a file, the others are imported, and it is named and counted.

The middle one of three items is broken: in each of its fields by each of the values below, and as
text. It may be imported all the same (a field that nobody reads), but never without a word.
"""

import json
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from streams.importers.base import ImportDefaults
from streams.importers.convert import convert
from streams.importers.report import Telling

Json = dict[str, Any]
DEFAULTS = ImportDefaults("ann", 1_767_225_600_000_000)
encode = msgspec.json.Encoder().encode

WRONG: list[Any] = [
    None, True, 0, -1, 1e300, 10**30, float("nan"), "", "x", "\x00", "\ud83d", "a" * 200,
    -62_135_596_801, -62_135_510_401.5, 253_402_300_800, -1e300, float("-inf"),
    [], [None], [[]], {}, {"x": "\udcff"}, [{"x": None}], {"a": [[[]]]},
]  # fmt: skip
"""Values in the place of any field."""
TEXTS: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda line: line[: len(line) // 2],
    "not JSON": lambda line: b"{oops",
    "text": lambda line: b'"what"',
    "number": lambda line: b"7",
    "null": lambda line: b"null",
    "empty object": lambda line: b"{}",
    "not UTF-8": lambda line: line.replace(b"hello", b"hel\xfflo"),
    "half a pair": lambda line: line.replace(b"hello", rb"hel\ud83dlo"),
    "deep": lambda line: b"[" * 5_000,
    "doubled": lambda line: line + line[:20],
    "control": lambda line: line.replace(b"hello", b"hel\x01lo"),
}
"""What becomes of the text of the broken item."""


def chat(number: Any) -> Json:
    return {
        "session_id": f"s{number}", "user_id": f"u{number}", "created": 1_767_225_600,
        "title": "a title",
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": [{"type": "text", "text": "hello"}],
             "created": 1_767_225_601},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "noon"},
            {"role": "assistant", "content": "hi", "reasoning_content": "hm"},
        ],
    }  # fmt: skip


def _node(id: str, parent: str | None, children: list[str], role: str, text: str) -> Json:
    return {
        "id": id, "parent": parent, "children": children,
        "message": {
            "id": id, "author": {"role": role, "name": None, "metadata": {}},
            "create_time": 1_767_225_601.5, "recipient": "all", "metadata": {},
            "content": {"content_type": "text", "parts": [text]},
        },
    }  # fmt: skip


def export(number: Any) -> Json:
    return {
        "conversation_id": f"s{number}", "title": "a title", "create_time": 1_767_225_600.0,
        "current_node": "b",
        "mapping": {
            "a": _node("a", None, ["b"], "user", "hello"),
            "b": _node("b", "a", [], "assistant", "hi"),
        },
    }  # fmt: skip


def memory(number: Any) -> Json:
    return {
        "id": f"s{number}", "memory": "hello", "user_id": f"u{number}", "categories": ["food"],
        "created_at": "2026-01-05T09:00:00Z", "updated_at": "2026-01-06T09:00:00Z",
        "expiration_date": "2027-01-05", "metadata": {"a": 1},
    }  # fmt: skip


def thread(number: Any) -> Json:
    return {
        "thread_id": f"s{number}", "user_id": f"u{number}", "created_at": "2026-01-05T09:00:00Z",
        "messages": [
            {"role": "user", "name": "Ann", "content": "hello",
             "created_at": "2026-01-05T09:00:00Z"},
            {"role": "assistant", "content": "hi", "metadata": {"a": 1}},
        ],
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
    "openai-chat": chat, "chatgpt-export": export, "mem0": memory, "zep threads": thread,
    "zep facts": facts, "zep edges": edge,
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


def imported(format: str, path: Path) -> tuple[set[str], list[str], bool]:
    """The sessions or memories that come of a file, what is told, and whether the command exits
    with 4. As the command does, each record is written."""
    notes: list[str] = []
    told = Telling(notes.append)
    records = [json.loads(encode(record)) for record in convert(format, path, told, DEFAULTS)]
    told.sum_up()
    ids = {str(one["session_id"] if "session_id" in one else _state(one)) for one in records}
    return ids, notes, told.refusal(len(records)) is not None


def _state(plan: Json) -> Any:
    return plan["state_updates"][0]["state_id"] if "state_updates" in plan else None


def check(format: str, path: Path, why: str) -> None:
    ids, notes, is_refused = imported(format, path)
    assert {"s1", "s3"} <= ids, (why, ids, notes)
    if len(ids) < 3:
        assert notes, why
        assert is_refused or "without" in str(notes), (why, notes)


def whole_and_broken(make: Any) -> tuple[list[Json], set[str], dict[str, str]]:
    """Broken items between whole ones; the ids of the whole ones, and those of the broken ones with
    what is wrong with them."""
    items, whole, wrong = [make(0)], {"s0"}, dict[str, str]()
    for number, (why, item) in enumerate(broken(make("X")), 1):
        named = json.loads(json.dumps(item).replace('"sX"', f'"b{number}"'))
        items += [named, make(number)]
        whole.add(f"s{number}")
        wrong[f"b{number}"] = why
    return items, whole, wrong


@pytest.mark.parametrize("form", ["lines", "an array"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_value_that_is_wrong_costs_no_other_item(tmp_path: Path, name: str, form: str) -> None:
    items, whole, wrong = whole_and_broken(FORMATS[name])
    assert len(wrong) > 100
    file, lines = tmp_path / "data.json", [json.dumps(one) for one in items]
    file.write_text("\n".join(lines) if form == "lines" else "[" + ",\n".join(lines) + "]")
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


@pytest.mark.parametrize("how", TEXTS)
def test_a_broken_line_of_an_archive_costs_no_other(tmp_path: Path, how: str) -> None:
    lines = archive(*map(said, (1, 2, 3)))
    lines[2] = TEXTS[how](lines[2])
    file = tmp_path / "archive.jsonl"
    file.write_bytes(b"\n".join([*lines, b""]))
    check("turnfold", file, how)


def test_a_wrong_value_of_an_archive_costs_no_other(tmp_path: Path) -> None:
    """Lines of other kinds are left out: what memory made of the records is made again."""
    items, whole, _ = whole_and_broken(lambda number: {"kind": "record", "record": said(number)})
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
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    file, whole = tmp_path / "graph.sqlite", set[str]()

    def put(thread: str, messages: Any) -> None:
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": messages}
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        saver.put(config, checkpoint, {"source": "loop", "step": 1, "user_id": "u"}, {})  # type: ignore[typeddict-unknown-key]

    messages = [
        {"role": "user", "content": "hello", "id": "m1"},
        {"role": "assistant", "content": "hi", "tool_calls": [{"name": "f", "args": {}, "id": "c"}],
         "additional_kwargs": {}, "id": "m2"},
    ]  # fmt: skip
    with SqliteSaver.from_conn_string(str(file)) as saver:
        for number, (_, item) in enumerate(broken({"messages": messages})):
            try:
                put(f"b{number}", item.get("messages"))
            except (ValueError, TypeError):  # what no checkpoint can hold
                continue
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
