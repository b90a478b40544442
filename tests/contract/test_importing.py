"""`import` as a command: whose conversations they are, when they were, what is left out."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command import Done, folded, turnfold

pytestmark = pytest.mark.nightly

AT = 1_767_225_600  # 2026-01-01T00:00:00Z
SAID = [{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "Nice."}]


def chats(folder: Path, *items: Any, name: str = "chats.json") -> Path:
    """A file of items, written at AT."""
    file = folder / name
    file.write_text(json.dumps(items))
    os.utime(file, (AT, AT))
    return file


def imported(file: Path | str, *words: str, **options: Any) -> Done:
    return turnfold("import", "openai-chat", file, *words, **options)


def times(done: Done) -> list[str]:
    return [json.loads(line)["occurred_at"] for line in done.out.splitlines()]


def users(done: Done) -> list[str]:
    records = map(json.loads, done.out.splitlines())
    return [record["user_id"] for record in records if record["type"] == "turn"]


@pytest.mark.parametrize("format", ["openai-chat", "chatgpt-export"])
def test_conversations_of_nobody_are_refused_with_the_option_to_give(
    tmp_path: Path, format: str
) -> None:
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hi"]}}
    tree = {"mapping": {"a": {"id": "a", "message": message}}, "current_node": "a"}
    item = {"session_id": "s", "messages": SAID} if format == "openai-chat" else tree
    file = chats(tmp_path, item, item | {"id": "b", "session_id": "b"})
    done = turnfold("import", format, file)
    assert (done.code, done.out) == (4, "")
    assert "2 conversations name no user" in done.err and "give --user NAME" in done.err
    assert done.err.count("\n") == 2, "one line for the first, one for all"
    done = turnfold("import", format, file, "--user", "ann")
    assert (done.code, users(done)) == (0, ["ann", "ann"])


def test_the_others_are_imported_where_some_name_their_user(tmp_path: Path) -> None:
    nobody, ann = {"session_id": "a", "messages": SAID}, {"session_id": "b", "messages": SAID}
    done = imported(chats(tmp_path, nobody, ann | {"user_id": "ann"}))
    assert (done.code, users(done)) == (4, ["ann"])
    assert "1 conversation names no user" in done.err and "the rest was imported" in done.err
    done = imported(chats(tmp_path, nobody, ann | {"user_id": "ann"}), "--user", "bo")
    assert (done.code, users(done)) == (0, ["bo", "ann"])


def test_times_that_are_missing_are_the_files_and_it_is_reported(tmp_path: Path) -> None:
    file = chats(tmp_path, {"user_id": "u", "messages": SAID})
    done = imported(file)
    assert times(done) == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"]
    assert "modification time" in done.err and "--created 2026-01-01T00:00:00Z" in done.err
    given = imported(file, "--created", "2026-02-01")
    assert times(given) == ["2026-02-01T00:00:00Z", "2026-02-01T00:00:01Z"]
    own = imported(chats(tmp_path, {"user_id": "u", "messages": SAID, "created": AT + 60}))
    assert times(own)[0] == "2026-01-01T00:01:00Z" and own.err == ""
    assert imported(file, "--created", "yesterday").code == 2


def test_a_file_that_says_1970_has_no_time(tmp_path: Path) -> None:
    file = chats(tmp_path, {"user_id": "u", "messages": SAID})
    os.utime(file, (0, 0))
    done = imported(file)
    assert (done.code, done.out) == (4, "") and "give --created TIME" in done.err
    assert imported(file, "--created", "2026-02-01").code == 0


def test_stdin_is_dated_by_the_present(tmp_path: Path) -> None:
    text = json.dumps({"user_id": "u", "messages": SAID}).encode()
    done = imported("-", input=text)
    assert done.code == 0 and times(done)[0] > "2026-01-01" and " by now" in done.err


def test_a_file_imported_twice_makes_duplicates_and_a_copy_with_other_times_no_doubles(
    tmp_path: Path,
) -> None:
    file = chats(tmp_path, {"user_id": "u", "messages": SAID})
    kept = Path(shutil.copy2(file, tmp_path / "kept.json"))
    touched = Path(shutil.copyfile(file, tmp_path / "touched.json"))
    created = ("--created", "2026-01-01T00:00:00Z")
    history = tmp_path / "history"

    def fold(name: str, done: Done) -> dict[str, int]:
        (tmp_path / name).write_text(done.out)
        return folded(tmp_path / name, history=history)

    assert fold("1", imported(file))["applied"] == 2
    for name, again in (("2", file), ("3", kept)):
        assert fold(name, imported(again))["duplicate"] == 2
    assert fold("4", imported(touched, *created))["duplicate"] == 2
    counts = fold("5", imported(touched))
    assert counts["dead"] == 1, "the turn: its id is known with another time"
    found = turnfold("sql", "SELECT count(*) n FROM event_current", "--history", history,
                      "-o", "json")  # fmt: skip
    assert found.json() == [{"n": 1}]


@pytest.mark.parametrize("text", ["", "[]", '[{"user_id": "u", "messages": []}]'])
def test_a_file_without_a_message_is_no_success(tmp_path: Path, text: str) -> None:
    (tmp_path / "none.json").write_text(text)
    done = imported(tmp_path / "none.json")
    assert done.code == 4 and "holds no conversation with a message" in done.err


def test_an_empty_user_is_none(tmp_path: Path) -> None:
    assert imported(chats(tmp_path, {"messages": SAID}), "--user", "").code == 2
    assert imported(chats(tmp_path, {"user_id": "", "messages": SAID})).code == 4
