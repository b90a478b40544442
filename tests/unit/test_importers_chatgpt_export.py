"""`chatgpt-export`: the branch that was taken becomes the session, the rest is counted."""

import json
import zipfile
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.extractors.registry import named
from streams.folds import states
from streams.importers import chatgpt_export
from streams.importers.base import ImportDefaults, ImportFault, Skipped
from streams.importers.convert import convert
from tests.unit.test_record_processor import Files, Kafka

Json = dict[str, Any]
HIDDEN = {"is_visually_hidden_from_conversation": True}


def node(key: str, parent: str | None, *children: str, message: Json | None = None) -> Json:
    return {"id": key, "parent": parent, "children": [*children], "message": message}


def said(role: str, content: str | Json, at: float | None = None, **fields: Any) -> Json:
    plain = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    name = fields.pop("name", None)
    author = {"role": role, "name": name, "metadata": {}}
    return {"id": f"m-{at}", "author": author, "create_time": at, "content": plain, **fields}


def chain(*messages: Json, **fields: Any) -> Json:
    """A conversation without branches."""
    keys = ["root", *(f"n{index}" for index in range(len(messages)))]
    mapping = {"root": node("root", None, *keys[1:2])}
    for index, message in enumerate(messages, 1):
        mapping[keys[index]] = node(
            keys[index], keys[index - 1], *keys[index + 1 : index + 2], message=message
        )
    return {
        "conversation_id": "c-1",
        "create_time": 1_700_000_000.5,
        "current_node": keys[-1],
        "mapping": mapping,
    } | fields


def parse(conversation: Json, skipped: Skipped | None = None) -> list[Json]:
    found = list(chatgpt_export.parse([conversation], skipped, user_id="u"))
    for record in found:
        model = RECORD_TYPES[record["type"]].model_validate(upcast(dict(record)))
        assert model.model_extra == {}
    return found


BRANCHED = chain(title="Doors") | {
    "current_node": "again",
    "mapping": {
        "root": node("root", None, "ask"),
        "ask": node("ask", "root", "first", "again", message=said("user", "A door?", 10.0)),
        "first": node("first", "ask", "more", message=said("assistant", "No.", 11.0)),
        "more": node("more", "first", message=said("user", "Why not?", 12.0)),
        "again": node("again", "ask", message=said("assistant", "A red one.", 20.25)),
    },
}


def test_the_branch_not_taken_stays_out_and_is_counted() -> None:
    skipped = Skipped()
    turn, answer, title, _ = parse(BRANCHED, skipped)
    assert (turn["user_input"], turn["agent_answer"]) == ("A door?", "A red one.")
    assert turn["session_id"] == "c-1"
    assert title["subject"] == {"content": "Doors", "source": "agent", "confidence": 0.5}
    assert answer["occurred_at"] == "1970-01-01T00:00:20.250000Z"
    assert skipped == {"message on a branch not taken": 2}


def remembered(running: Files | Kafka, exports: Iterable[Json]) -> set[str]:
    """What holds of the user after exports were imported one after the other."""
    for export in exports:
        for record in parse(export):
            assert running.give(record).ending in ("applied", "duplicate"), running.letters
    rows = running.rows("users", "u").items()
    versions = [(row, row.versions[-1]) for name, row in rows if name.startswith("s/")]
    return {one.body_text for row, one in versions if states.status_of(row, one) == "active"}


def branches(current: str, *messages: tuple[str, str, Json], **fields: float) -> Json:
    """A conversation of messages with their ids and parents, and where it stands."""
    mapping = {"root": node("root", None)}
    for key, parent, message in messages:
        mapping[parent]["children"].append(key)
        mapping[key] = node(key, parent, message=message | {"id": key})
    times = [message["create_time"] for _, _, message in messages]
    changed = {"update_time": max(times) + fields.pop("later", 0)}
    return chain() | changed | {"mapping": mapping, "current_node": current}


HELLO = (("a", "root", said("user", "Hi", 1.0)), ("b", "a", said("assistant", "Hello", 2.0)))
OLD = (
    ("c1", "b", said("user", "I live in Leeds. I have a dog called Rex.", 3.0)),
    ("d1", "c1", said("assistant", "Nice", 4.0)),
)
NEW = (
    ("c2", "b", said("user", "I live in York.", 100.0)),
    ("d2", "c2", said("assistant", "Lovely", 101.0)),
)
AGAIN = (
    ("d3", "c1", said("assistant", "Lovely", 50.0)),
    ("e3", "d3", said("user", "I have a cat called Tom.", 51.0)),
)
FIRST = branches("d1", *HELLO, *OLD)
"""The first export; in later ones the user has edited a message, had one answered again, gone back
to the first branch, and edited the first message."""
EDITED = branches("d2", *HELLO, *OLD, *NEW)
ANSWERED = branches("e3", *HELLO, *OLD, *AGAIN)
BACK = branches("d1", *HELLO, *OLD, *NEW, later=10)
RESTARTED = branches("x", *HELLO, *OLD, ("x", "root", said("user", "Good morning", 200.0)))
LEEDS, REX, YORK = "Lives in Leeds.", "Has a dog called Rex.", "Lives in York."


@pytest.fixture(scope="module")
def compiled() -> None:
    """The rules compile their patterns at the first turn, which is not a test's own time."""
    remembered(Files(named("rules")), [FIRST])


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("tier", [Files, Kafka])
@pytest.mark.parametrize(
    ("exports", "facts"),
    [
        pytest.param([FIRST], {LEEDS, REX}, id="one"),
        pytest.param([FIRST, EDITED], {YORK}, id="edited"),
        pytest.param([FIRST, ANSWERED], {LEEDS, REX, "Has a cat called Tom."}, id="answered again"),
        pytest.param([FIRST, EDITED, BACK], {LEEDS, REX}, id="went back"),
        pytest.param([FIRST, RESTARTED], set(), id="edited the first message"),
        pytest.param([FIRST, EDITED, BACK, RESTARTED], set(), id="all"),
    ],
)
def test_a_later_export_wins_in_any_order(
    tier: type[Files | Kafka], exports: list[Json], facts: set[str]
) -> None:
    for order in permutations(exports):
        assert remembered(tier(named("rules")), order) == facts
    assert remembered(tier(named("rules")), [*exports, *exports]) == facts


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("tier", [Files, Kafka])
def test_a_conversation_has_the_title_of_its_latest_export(tier: type[Files | Kafka]) -> None:
    renamed = [FIRST | {"title": "A"}, EDITED | {"title": "B"}, BACK | {"title": "A"}]
    for count in (1, 2, 3):
        for order in permutations(renamed[:count]):
            running = tier(named("rules"))
            remembered(running, order)
            remembered(running, order)
            assert running.rows("sessions", "c-1")["h"].subject[-1] == "ABA"[count - 1]


def test_a_retraction_names_the_turns_of_the_branch_not_taken() -> None:
    old = {one["event_id"] for one in parse(FIRST) if one["type"] == "turn"}
    new = {one["event_id"] for one in parse(EDITED) if one["type"] == "turn"}
    plan = parse(EDITED)[-1]
    ops = {one["event_id"]: one["op"] for one in plan["event_updates"]}
    assert {one for one in old if ops.get(one) == "retract"} == old - new
    assert {one for one in new if ops.get(one) == "restore"} == new - old
    assert plan["occurred_at"] == "1970-01-01T00:01:41Z"


def test_a_message_without_an_id_goes_by_its_node() -> None:
    unnamed = [(key, above, said | {"id": None}) for key, above, said in (*HELLO, *OLD)]
    export = branches("d1", *unnamed)
    for one in export["mapping"].values():
        if one["message"]:
            one["message"]["id"] = "same"
    assert [one.get("event_id") for one in parse(export)] == [
        one.get("event_id") for one in parse(FIRST)
    ]


def test_without_a_current_node_the_newest_leaf_is_where_it_stands() -> None:
    turn, *_ = parse(BRANCHED | {"current_node": None})
    assert turn["agent_answer"] == "A red one."


def test_a_message_to_a_tool_is_a_call_and_the_tool_s_message_its_result() -> None:
    code = {"content_type": "code", "language": "python", "text": "1/0"}
    output = {"content_type": "execution_output", "text": "ZeroDivisionError: division by zero"}
    turn, called, result, answered = parse(
        chain(
            said("user", "Divide.", 1.0),
            said("assistant", code, 2.0, recipient="python"),
            said("tool", output, 3.0, name="python"),
            said("assistant", "It cannot be done.", 4.0, recipient="all"),
        )
    )
    assert called["action"]["output"]["tool_calls"] == [
        {"id": "m-2.0", "type": "function", "function": {"name": "python", "arguments": "1/0"}}
    ]
    assert (result["tool_call_id"], result["success"]) == ("m-2.0", False)
    assert answered["action"]["action_type"] == "ANSWER"
    assert turn["agent_answer"] == "It cannot be done."


def test_results_find_the_nearest_call_to_their_tool() -> None:
    def call(name: str, at: float) -> Json:
        return said("assistant", "{}", at, recipient=name)

    records = parse(
        chain(
            said("user", "Both.", 1.0),
            call("browser", 2.0),
            call("bio", 3.0),
            said("tool", "a page", 4.0, name="browser"),
            said("tool", "noted", 5.0, name="bio"),
        )
    )
    results = [record for record in records if record["type"] == "tool_result"]
    assert [(r["tool_call_id"], r["result"]) for r in results] == [
        ("m-2.0", "a page"),
        ("m-3.0", "noted"),
    ]


def test_hidden_messages_are_counted_and_thoughts_belong_to_the_answer() -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Doors", "content": "Red?"}]}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 2s"}
    skipped = Skipped()
    turn, answer = parse(
        chain(
            said("system", "", 0.5, metadata=HIDDEN),
            said("user", "profile", 0.6, metadata=HIDDEN),
            said("user", "A door?", 1.0),
            said("assistant", thoughts, 2.0),
            said("assistant", recap, 3.0),
            said("assistant", "A red one.", 4.0),
        ),
        skipped,
    )
    assert turn["agent_answer"] == "A red one."
    assert answer["thought"] == "Doors: Red?"
    assert skipped == {"hidden message": 1, "reasoning recap": 1}


def test_images_are_counted_and_drawn_ones_described() -> None:
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"}
    drawn = pointer | {"metadata": {"dalle": {"prompt": "a red door"}}}
    skipped = Skipped()
    records = parse(
        chain(
            said("user", {"content_type": "multimodal_text", "parts": ["Draw this", pointer]}, 1.0),
            said("assistant", "{}", 2.0, recipient="dalle.text2im"),
            said(
                "tool",
                {"content_type": "multimodal_text", "parts": [drawn]},
                3.0,
                name="dalle.text2im",
            ),
        ),
        skipped,
    )
    assert records[0]["user_input"] == "Draw this"
    assert records[-1]["result"] == "[image: a red door]"
    assert "file-service" not in json.dumps(records)
    assert skipped == {"image without a description": 1}


def test_a_message_without_a_time_follows_the_one_before() -> None:
    turn, answer = parse(chain(said("user", "A door?"), said("assistant", "Red.", None)))
    assert turn["occurred_at"] == "2023-11-14T22:13:20.500000Z"
    assert answer["occurred_at"] == "2023-11-14T22:13:21.500000Z"


@pytest.mark.parametrize("broken", [{"mapping": None}, {"current_node": "gone"}])
def test_a_tree_that_does_not_hold_is_refused(broken: Json) -> None:
    with pytest.raises(ImportFault, match=r"item 1, field mapping"):
        parse(BRANCHED | broken)


def test_a_loop_in_the_tree_is_refused() -> None:
    mapping = BRANCHED["mapping"] | {"root": node("root", "again", "ask")}
    with pytest.raises(ImportFault, match="loop"):
        parse(BRANCHED | {"mapping": mapping})


def test_the_export_is_read_as_json_and_as_the_zip_itself(tmp_path: Path) -> None:
    conversations = [BRANCHED, chain(said("user", "Hi", 1.0), conversation_id="c-2")]
    plain = tmp_path / "conversations.json"
    plain.write_text(json.dumps(conversations), encoding="utf-8")
    export = tmp_path / "export.zip"
    with zipfile.ZipFile(export, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(plain, "export/conversations.json")
        file.writestr("export/user.json", json.dumps({"id": "user-7"}))
    skipped = Skipped()
    of_json = list(convert("chatgpt-export", plain, skipped, ImportDefaults("ann")))
    of_zip = list(convert("chatgpt-export", export))
    assert [record["session_id"] for record in of_json] == ["c-1"] * 4 + ["c-2"]
    assert [r["user_id"] for r in of_zip if r["type"] == "turn"] == ["user-7", "user-7"]
    for record in (*of_zip, *of_json):
        record.pop("user_id", None)
    assert of_zip == of_json
    assert skipped == {"message on a branch not taken": 2}


def test_a_zip_without_conversations_says_so(tmp_path: Path) -> None:
    export = tmp_path / "export.zip"
    with zipfile.ZipFile(export, "w") as file:
        file.writestr("notes.txt", "")
    with pytest.raises(ImportFault, match="is it a ChatGPT export"):
        list(convert("chatgpt-export", export))
