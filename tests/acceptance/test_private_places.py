"""Erasure, by a scan of all bytes: a person's id and words come into a history by every way,
commands that write it are killed, `forget` erases, and then no byte of either is left but where the
receipt counts it. Every file lies in a place that `streams.apps.personal_data` declares."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sinks import scratch
from streams.apps.erasure_requests import FOLDER as ERASURES
from streams.apps.personal_data import PLACES, of_file
from streams.files.inbox import FOLDER as INBOX
from streams.files.inbox import Inbox
from streams.files.inbox_recovery import committed_of
from streams.files.store import Store
from tests.acceptance.test_guarantees import Record
from tests.command import answer, ndjson, turn
from tests.fault.doomed_command import called
from tests.scanning import holding
from tests.tiers import soaked

PERSON, WORD = "zqpersonquaggazephyrzq", "zqwordquaggazephyrzq"
MARKS = (PERSON, WORD)


def of_person(number: int, **fields: Any) -> Record:
    return turn(
        f"p{number}",
        session_id=f"own-{PERSON}",
        user_id=PERSON,
        user_input=f"I live in {WORD} {number}.",
        **fields,
    )


def records() -> list[Any]:
    at = "2026-01-02T00:00:00Z"
    return [
        *(of_person(number, metadata={"note": WORD}) for number in range(3)),
        turn("g1", session_id="group", user_id=PERSON, user_input=f"I love {WORD}."),
        turn("g2", session_id="group", user_id="bob", user_input="I live in Oslo.", occurred_at=at),
        turn("b1", session_id="bobs", user_id="bob", user_input="I hate rain."),
        {
            "type": "write_plan", "plan_id": "told", "user_id": "bob", "event_id": "p1",
            "session_id": f"own-{PERSON}", "occurred_at": at, "extractor": {"name": "test"},
            "state_updates": [{"kind": "fact", "state_id": "told", "body_text": WORD}],
        },
        {"type": "turn", "user_id": PERSON, "unknown": WORD},
        {"specversion": "1.0", "subject": PERSON, "data": {"text": WORD}},
        [{"who": PERSON, "said": WORD}],
    ]  # fmt: skip


def call(*words: str, folder: Path) -> None:
    code, _ = called([*words, "--history", "h"], folder)
    assert code == 0, words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a history in `h` that has two generations and a search index; only to be copied."""
    folder = tmp_path_factory.mktemp("places")
    ndjson(folder / "records.ndjson", records())
    ndjson(folder / "more.ndjson", [of_person(number) for number in range(10, 15)])
    call("run", "records.ndjson", "--extractor", "rules", folder=folder)
    call("search", WORD, folder=folder)
    call("generation", "create", "other", "--extractor", "none", folder=folder)
    (folder / "records.ndjson").unlink()
    return folder


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


def check_declared(history: Path) -> None:
    files = [one for one in history.rglob("*") if one.is_file()]
    paths = [str(one.relative_to(history)) for one in files]
    assert [path for path in paths if not list(of_file(path))] == []


def forget(copied: Path) -> dict[str, Any]:
    """The receipt of `forget`, behind which no byte is left that it does not count."""
    check_declared(copied / "h")
    (copied / "more.ndjson").unlink(missing_ok=True)
    code, _ = called(["forget", PERSON, "--history", "h", "--yes", "-o", "json"], copied)
    assert code == 0, (copied / "err").read_text()
    receipt: dict[str, Any] = json.loads((copied / "out").read_text())
    (copied / "err").unlink()  # it may name whom nothing was found of
    counted = receipt["may_remain"]
    assert counted.keys() <= {one.name for one in PLACES}
    for path, marks in holding(copied, MARKS).items():
        names = {one.name for one in of_file(path.removeprefix("h/"))}
        assert names & counted.keys(), (path, marks, counted)
    return receipt


def posted(history: Path) -> None:
    """Records that a server took, and was killed before it committed them."""
    store = Store(history / "_store")
    committed = committed_of(store)
    store.close()
    (history / INBOX).mkdir(exist_ok=True)
    Inbox(history / INBOX, committed).append([json.dumps(of_person(20)).encode()])


def requested(history: Path) -> None:
    """Erasures that a server was asked for: one waits, two files cannot be read, one was being
    written."""
    (history / ERASURES).mkdir(exist_ok=True)
    asked = {"id": "1", "tenant": "default", "requested_at": 1, "user_id": PERSON}
    text = json.dumps(asked)
    (history / ERASURES / "1.json").write_text(text)
    (history / ERASURES / "2.broken").write_text(text.replace('"requested_at": 1', '"x": 0'))
    (history / ERASURES / "3.broken").write_text(text[:-2])
    (history / ERASURES / ".4.json-0a1b2c3d").write_text(text)


def replacing(history: Path) -> None:
    for name in ("_forgetting.json", "_extractor.json", "_forgotten.json"):
        (history / f".{name}-0a1b2c3d").write_text(json.dumps({"whole": [["default", PERSON]]}))
    (history / f".turnfold.json-{77}").write_text(PERSON)


def data_files(history: Path) -> None:
    """What killed writers of Parquet leave: under a name of the store's library, a copy that was
    being made, a file that no commit names, one of a table that has never been made."""
    (file,) = list((history / "events").glob("date=2026-01-01/*.parquet"))[:1]
    for name in (f"{file.name}#1", f".{file.name}", "part-00009-c000.zstd.parquet", "rest.tmp"):
        shutil.copy(file, file.with_name(name))
    shutil.rmtree(history / "recursions", ignore_errors=True)
    never = history / "recursions" / "date=2026-01-01"
    never.mkdir(parents=True)
    shutil.copy(file, never / file.name)


def indexes(history: Path) -> None:
    """A search index that was being built, and what SQLite leaves beside one."""
    index = next((history / "_search").glob("*.sqlite"))
    for suffix in (".making", ".sqlite-journal", ".sqlite-wal"):
        index.with_suffix(suffix).write_text(WORD)


def generations(history: Path) -> None:
    """A generation that was being removed, one that was being made."""
    made = history / "generations"
    shutil.copytree(made / "other", made / ".gone")
    (made / "other" / "_source").mkdir()
    (made / "other" / "_source" / "records.parquet").write_text(WORD)


def scratched(history: Path) -> None:
    """Rows that a killed command has spilled."""
    folder = history.parent / "tmp" / f"{scratch.PREFIX}ab12"
    folder.mkdir(parents=True)
    (folder / "duckdb_temp_storage.tmp").write_text(WORD)


WAYS: list[Callable[[Path], None]] = [
    posted, requested, replacing, data_files, indexes, generations, scratched,
]  # fmt: skip


@pytest.mark.component
def test_guarantee_8_no_byte_is_left_of_what_came_by_any_way(copied: Path) -> None:
    for way in WAYS:
        way(copied / "h")
    before = holding(copied, MARKS)
    places = {place.name for path in before for place in of_file(path.removeprefix("h/"))}
    assert len(before) > 25 and len(places) >= 8, before
    receipt = forget(copied)
    assert receipt["may_remain"] == {}, "each of these can be told to be the person's"
    waiting = json.loads((copied / "h" / ERASURES / "1.json").read_text())
    assert (waiting["user_id"], waiting["receipt"]["sessions"]) == (None, 1)
    bobs = answer("show", "user", "bob", "--history", copied / "h")
    assert "rain" in json.dumps(bobs)


@pytest.mark.component
def test_what_may_remain_is_counted(copied: Path) -> None:
    history = copied / "h"
    (history / ERASURES).mkdir()
    (history / ERASURES / "1.broken").write_text(f'{{"user_id": "{PERSON[:-2]}')
    (history / "_local").mkdir()
    (history / "_local" / "server.log").write_text(f"a\nGET /v1/users/{PERSON}\n")
    counts = forget(copied)["may_remain"]
    assert counts == {"requests of erasure": 1, "a local server": 1}


COMMANDS = {
    "run": ["run", "more.ndjson", "--history", "h"],
    "backfill": ["generation", "create", "fresh", "--history", "h"],
    "promote": ["generation", "promote", "other", "--history", "h"],
    "compact": ["admin", "compact", "--history", "h"],
    "search": ["search", WORD, "--rebuild", "--history", "h"],
    "forget": ["forget", PERSON, "--yes", "--history", "h"],
}
PARTS = 6
"""Of a command's changes, at each of which it is killed."""


@pytest.mark.nightly
@pytest.mark.parametrize("part", soaked(range(PARTS), 2))
@pytest.mark.parametrize("name", COMMANDS)
def test_guarantee_8_no_byte_is_left_of_a_killed_command(
    name: str, part: int, copied: Path
) -> None:
    whole = copied / "whole"
    shutil.copytree(copied / "h", whole / "h")
    shutil.copy(copied / "more.ndjson", whole)
    code, changes = called(COMMANDS[name], whole)
    assert code == 0 and changes
    shutil.rmtree(whole)
    at = 1 + (2 * part + 1) * len(changes) // (2 * PARTS)
    code, _ = called(COMMANDS[name], copied, die_at=at)
    assert code == -9, f"{name}: not killed at change {at}"
    code, _ = called(["forget", PERSON, "--history", "h", "--yes", "-o", "json"], copied)
    if code == 3:  # a generation is half-way, and the line says what to do first
        assert "first repeat the command" in (copied / "err").read_text()
        assert called(COMMANDS[name], copied)[0] == 0
    forget(copied)
