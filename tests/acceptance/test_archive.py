"""`turnfold export`: a person takes along all that is held, and another history has it the same."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from sinks.digest import SOURCE, digest
from sinks.history import connect
from sinks.views import MEMORY_VIEWS
from streams.apps.export_person import export
from streams.apps.export_person import records as records_of
from streams.extractors.registry import named
from streams.files import file_runner
from streams.importers.base import ImportFault, Skipped
from streams.importers.convert import convert
from tests.acceptance import sgd
from tests.command import ndjson, turn, turnfold
from tests.property.test_folded_again import FEW, worlds
from tests.property.world import Json
from tests.shared_data import shared

pytestmark = pytest.mark.nightly

OWN_VIEWS = [view for view in MEMORY_VIEWS if view not in ("session_current", "task_current")]


def told(history: Path, user: str, views: list[str]) -> dict[str, list[str]]:
    """What the views say of a person, as text, whatever the order, the place and the time."""
    found = {}
    with connect(history) as db:
        for view in views:
            names = [name for name, *_ in db.execute(f"DESCRIBE {view}").fetchall()]
            owner = "owner_id" if "owner_id" in names else "user_id"
            if owner not in names:
                continue
            shown = ", ".join(f'"{name}"' for name in names if name not in SOURCE | {"seq"})
            sql = f"SELECT CAST(to_json(row({shown})) AS VARCHAR) FROM {view} WHERE {owner} = ?"
            found[view] = sorted(text for (text,) in db.execute(sql, [user]).fetchall())
    return found


def fold(file: Path, records: list[Json], history: Path) -> None:
    """Into a history, with what the rules find."""
    file_runner.run([str(ndjson(file, records))], history, choose=lambda: named("rules"))


def taken_along(history: Path, user: str, into: Path) -> Path:
    """A new history of what was exported."""
    archive = into / "archive.jsonl"
    archive.write_bytes(b"".join(export(history, "default", user)))
    file = ndjson(into / "said.ndjson", convert("turnfold", archive, Skipped()))
    file_runner.run([str(file)], into / "history")
    return into / "history"


def users_of(history: Path) -> Iterator[str]:
    with connect(history) as db:
        sql = "SELECT user_id FROM events UNION SELECT user_id FROM plans"
        yield from (user for (user,) in db.execute(sql).fetchall() if user)


@given(worlds())
@FEW
def test_what_a_person_takes_along_makes_the_same_memory(records: list[Json]) -> None:
    with TemporaryDirectory() as folder:
        history = Path(folder, "history")
        file_runner.run([str(ndjson(Path(folder, "all.ndjson"), records))], history)
        for number, user in enumerate(users_of(history)):
            into = Path(folder, str(number))
            into.mkdir()
            other = taken_along(history, user, into)
            assert told(other, user, OWN_VIEWS) == told(history, user, OWN_VIEWS)


@given(worlds())
@FEW
def test_every_record_of_a_history_makes_the_same_memory(records: list[Json]) -> None:
    """Also where some of them come a second time."""
    with TemporaryDirectory() as folder:
        history, other = Path(folder, "history"), Path(folder, "other")
        file_runner.run([str(ndjson(Path(folder, "all.ndjson"), records))], history)
        lines = list(records_of(history, None))
        for name, some in (("half", lines[: len(lines) // 2]), ("all", lines)):
            Path(folder, f"{name}.ndjson").write_bytes(b"".join(some))
            file_runner.run([str(Path(folder, f"{name}.ndjson"))], other)
        assert digest(other)["memory"] == digest(history)["memory"]


def test_records_of_every_tenant_or_of_one_are_exported(tmp_path: Path) -> None:
    history = tmp_path / "history"
    file = ndjson(tmp_path / "all.ndjson", [turn("1"), turn("2", tenant="acme")])
    file_runner.run([str(file)], history)
    for options, ids in (
        ((), {"1", "2"}),
        (("--tenant", "acme"), {"2"}),
        (("--tenant", "x"), set()),
    ):
        done = turnfold("export", "--records", "--history", history, *options)
        assert done.code == 0, done.err
        assert {json.loads(line)["event_id"] for line in done.out.splitlines()} == ids
    for wrong in ((), ("u", "--records")):
        done = turnfold("export", *wrong, "--history", history)
        assert done.code == 2 and "--records" in done.err and not done.out


def test_real_dialogues_of_one_person_have_an_equal_digest(tmp_path: Path) -> None:
    file = shared("data", "sgd", "train_part.jsonl.gz")
    records = list(islice(sgd.records(file, users=40), 600))
    history = tmp_path / "history"
    fold(tmp_path / "all.ndjson", records, history)
    users = sorted({one["user_id"] for one in records})[:3]
    for user in users:
        own = tmp_path / user
        own.mkdir()
        other = taken_along(history, user, own)
        theirs = [one for one in records if one["user_id"] == user]
        fold(own / "own.ndjson", theirs, own / "alone")
        assert digest(other)["memory"] == digest(own / "alone")["memory"]
        assert told(other, user, OWN_VIEWS) == told(history, user, OWN_VIEWS)


def test_of_a_shared_session_a_person_gets_their_own_turns_alone(tmp_path: Path) -> None:
    history = tmp_path / "history"
    records = [
        turn(
            "1", session_id="both", user_id="ada", user_input="I like tea.", agent_answer="Noted."
        ),
        turn("2", session_id="both", user_id="bo", user_input="My pin is Quillfeather."),
        turn("3", session_id="own", user_id="ada", user_input="I live in Ghent."),
        turn("4", session_id="own", user_id=None, user_input="nobody says who"),
    ]
    fold(tmp_path / "all.ndjson", records, history)
    lines = [json.loads(line) for line in export(history, "default", "ada")]
    assert lines[0]["kind"] == "header" and lines[0]["version"] == 1
    assert lines[-1] == {"kind": "end", "lines": len(lines)}
    said = [one["record"]["event_id"] for one in lines if one["kind"] == "record"
            and one["record"]["type"] == "turn"]  # fmt: skip
    assert sorted(said) == ["1", "3", "4"]
    assert "Quillfeather" not in json.dumps(lines)
    sessions = [one["document"]["session_id"] for one in lines if one["kind"] == "session"]
    assert sessions == ["own"]
    assert list(export(history, "default", "nobody")) == []
    assert list(export(history, "other", "ada")) == []


def test_steps_of_a_task_that_others_spoke_on_are_left_out(tmp_path: Path) -> None:
    """A step says of which task it is, and not for whom it was taken."""
    history = tmp_path / "history"

    def step(number: int, task: str, text: str) -> Json:
        return {
            "type": "recursion", "session_id": "both", "iteration_index": 0, "task_id": task,
            "trace_id": f"r{number}", "occurred_at": "2026-03-02T09:00:00Z",
            "action": {"action_type": "REFLECT", "output": {"answer": text}},
        }  # fmt: skip

    records = [
        turn("1", session_id="both", user_id="ada", task_id="own"),
        turn("2", session_id="both", user_id="ada", task_id="shared"),
        turn("3", session_id="both", user_id="bo", task_id="shared"),
        step(1, "own", "about ada"),
        step(2, "shared", "Quillfeather"),
    ]
    fold(tmp_path / "all.ndjson", records, history)
    with connect(history) as db:
        assert db.execute("SELECT count(*) FROM recursions").fetchone() == (2,)
    text = b"".join(export(history, "default", "ada")).decode()
    assert "about ada" in text and "Quillfeather" not in text


def test_the_commands_lead_from_one_history_to_another(tmp_path: Path) -> None:
    history = tmp_path / "history"
    records = [turn("1", user_input="I live in Ghent."), turn("2", user_input="I love tea.")]
    fold(tmp_path / "all.ndjson", records, history)
    archive = tmp_path / "archive.jsonl"
    done = turnfold("export", "u", "--history", history)
    assert done.code == 0, done.err
    archive.write_text(done.out)
    records_ = turnfold("import", "turnfold", archive)
    assert records_.code == 0, records_.err
    folded = turnfold("run", "-", "--history", tmp_path / "other", input=records_.out.encode())
    assert folded.code == 0, folded.err
    assert digest(tmp_path / "other")["memory"] == digest(history)["memory"]
    assert turnfold("export", "nobody", "--history", history).code == 4


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "breaks off"),
        (['{"kind":"header","format":"turnfold","version":1}'], "breaks off"),
        (['{"kind":"header","format":"turnfold","version":2}'], "version"),
        (['{"kind":"record","record":{}}'], "turnfold export"),
        (['{"kind":"header","format":"turnfold","version":1}', "{"], "item 2: not JSON"),
        (['{"kind":"header","format":"turnfold","version":1}', "[" * 100_000], "item 2: not JSON"),
        (
            ['{"kind":"header","format":"turnfold","version":1}', '{"kind":"record"}'],
            "item 2, field record",
        ),
        (
            ['{"kind":"header","format":"turnfold","version":1}', '{"kind":"end","lines":3}'],
            "breaks",
        ),
    ],
)
def test_what_is_no_whole_archive_is_refused(tmp_path: Path, lines: list[str], why: str) -> None:
    file = tmp_path / "archive.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(ImportFault, match=why):
        list(convert("turnfold", file, Skipped()))
