"""Guarantees that only show from outside: one memory whatever the files, and erasure."""

import gzip
import json
import random
import shutil
from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rocksdict import AccessType, Options, Rdict

from sinks.digest import digest
from streams.files import file_runner
from tests.acceptance import ledger, reflexion, sgd
from tests.command import (
    checked,
    environment,
    files_holding,
    folded,
    ndjson,
    process,
    rows,
    turn,
    turnfold,
)
from tests.conftest import LEDGER, REFLEXION
from tests.planned import CONVERSATIONS
from tests.shared_data import SGD, shared
from tests.tiers import soaked

pytestmark = pytest.mark.nightly

Record = dict[str, Any]
SETS = ("events", "recursions", "plans")


def real_records() -> list[Record]:
    """Some of every kind of real data, in no common order of time."""
    dialogues = islice(sgd.records(shared(*SGD)), 1500)
    return [*dialogues, *ledger.records(shared(*LEDGER)), *reflexion.records(shared(*REFLEXION))]


def shuffled(records: Iterable[Record], seed: int) -> list[Record]:
    """Another order; the plans of a user stay in theirs (plans apply in a partition's order)."""
    mixed = list(records)
    random.Random(seed).shuffle(mixed)
    plans = iter([one for one in records if one["type"] == "write_plan"])
    return [next(plans) if one["type"] == "write_plan" else one for one in mixed]


def fold(history: Path, *files: Path) -> dict[str, Any]:
    """In process: the same runner that the command calls."""
    return checked(file_runner.run([str(file) for file in files], history))


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`records.ndjson` and `history`."""
    folder = tmp_path_factory.mktemp("guarantees")
    counts = fold(folder / "history", ndjson(folder / "records.ndjson", real_records()))
    assert counts["applied"] == counts["read"] > 3000
    return folder


def same_memory(one: Path, other: Path) -> None:
    """`memory` and the sets of events, recursions and plans agree."""
    first, second = digest(one), digest(other)
    tables, others = first["tables"], second["tables"]
    assert isinstance(tables, dict) and isinstance(others, dict)
    names = [name for name in tables if tables[name] != others[name]]
    assert first["memory"] == second["memory"], names
    assert not set(names).intersection(SETS)


def test_guarantee_1_many_files_are_one(one_file: Path, tmp_path: Path) -> None:
    records = real_records()
    files = [
        ndjson(tmp_path / f"{number}.ndjson", records[start : start + 500])
        for number, start in enumerate(range(0, len(records), 500))
    ]
    for file in files[:3]:
        fold(tmp_path / "history", file)
    counts = fold(tmp_path / "history", *files)
    assert counts["read"] == len(records) - 1500, "the first three were read before"
    assert digest(tmp_path / "history") == digest(one_file / "history")


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(6), 2))
def test_guarantee_2_the_sample_in_any_order_and_twice(tmp_path: Path, seed: int) -> None:
    lines = CONVERSATIONS.read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for name, made in (("given", records), ("mixed", shuffled(records * 2, seed))):
        fold(tmp_path / name, ndjson(tmp_path / f"{name}.ndjson", made))
    same_memory(tmp_path / "given", tmp_path / "mixed")


def test_guarantee_1_gzip_is_the_same(one_file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "records.ndjson.gz"
    packed.write_bytes(gzip.compress((one_file / "records.ndjson").read_bytes()))
    other_hashes = environment(PYTHONHASHSEED="1")
    done = process("run", packed, "--history", tmp_path / "history", "-o", "json", env=other_hashes)
    assert done.code == 0, done.err
    checked(done.json())
    assert digest(tmp_path / "history") == digest(one_file / "history")


def test_guarantee_1_parquet_is_the_same(one_file: Path, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(_with_all_columns(real_records()))
    pq.write_table(table, tmp_path / "records.parquet", row_group_size=700)
    counts = fold(tmp_path / "history", tmp_path / "records.parquet")
    assert counts["applied"] == counts["read"] == table.num_rows
    assert digest(tmp_path / "history") == digest(one_file / "history")
    again = fold(tmp_path / "history", tmp_path / "records.parquet")
    assert (again["read"], again["applied"]) == (0, 0)


def _with_all_columns(records: list[Record]) -> list[Record]:
    """`from_pylist` takes its columns from the first row."""
    columns = dict.fromkeys(name for record in records for name in record)
    return [dict.fromkeys(columns) | record for record in records]


def test_guarantee_1_stdin_is_the_same(one_file: Path, tmp_path: Path) -> None:
    content = (one_file / "records.ndjson").read_bytes()
    other_hashes = environment(PYTHONHASHSEED="2")
    run = partial(
        process, "run", "-", "--history", tmp_path / "history", "-o", "json", input=content
    )
    done = run(env=other_hashes)
    assert done.code == 0, done.err
    assert checked(done.json())["applied"] == content.count(b"\n")
    assert digest(tmp_path / "history") == digest(one_file / "history")
    again = run()
    assert checked(again.json())["duplicate"] == content.count(b"\n")
    assert digest(tmp_path / "history") == digest(one_file / "history")


def test_a_file_that_grows_is_read_on_and_a_changed_one_again(
    one_file: Path, tmp_path: Path
) -> None:
    lines = (one_file / "records.ndjson").read_bytes().splitlines(keepends=True)
    file = tmp_path / "growing.ndjson"
    file.write_bytes(b"".join(lines[:1000]))
    assert fold(tmp_path / "history", file)["read"] == 1000
    file.write_bytes(b"".join(lines))
    assert fold(tmp_path / "history", file)["read"] == len(lines) - 1000
    assert digest(tmp_path / "history") == digest(one_file / "history")
    file.write_bytes(b"".join(lines[5:]))
    counts = fold(tmp_path / "history", file)
    assert counts["read"] == counts["duplicate"] == len(lines) - 5
    assert digest(tmp_path / "history") == digest(one_file / "history")


ALICE = "alice-7f3a"
MARKS = (
    "zebrafish question", "zebrafish answer", "zebrafish plan text", "zebrafish preference",
    "zebrafish feeling", "zebrafish memory", "zebrafish tool output", "zebrafish refused",
    "zebrafish in company", "zebrafish goal", "zebrafish image", "zebrafish metadata",
    "zebrafish decision", "zebrafish thought", "zebrafish hearsay",
)  # fmt: skip


def alice_alone() -> list[Record]:
    at = {"occurred_at": "2026-01-01T10:00:00Z"}
    head = {"session_id": "alone", "task_id": "alone-t", "trace_id": "alone-r", **at}
    call = {"id": "c1", "name": "look"}
    return [
        turn(
            "a1", session_id="alone", user_id=ALICE, task_id="alone-t", user_input=MARKS[0],
            agent_answer=MARKS[1], image_summaries=[MARKS[10]], metadata={"note": MARKS[11]},
            topic="zebrafish-topic", intent="quiz",
            affect={"text": MARKS[4], "vad": {"v": 0.5, "a": 0, "d": 0}, "confidence": 1},
            object={"content": MARKS[9], "source": "user"},
            session_memory_delta={"add": [{"id": "m", "type": "background", "content": MARKS[5]}]},
        ),
        {
            "type": "recursion", **head, "iteration_index": 1, "thought": MARKS[13],
            "action": {"action_type": "CALL_TOOL", "output": {"tool_calls": [call]}},
        },
        {"type": "tool_result", **head, "tool_call_id": "c1", "result": MARKS[6], "success": True},
        {
            "type": "write_plan", "plan_id": "p1", "user_id": ALICE, "event_id": "a1", **at,
            "extractor": {"name": "test"},
            "state_updates": [{"kind": "fact", "state_id": "f", "body_text": MARKS[2]}],
            "preference_updates": [
                {"op": "confirm", "domain": "d", "polarity": "like", "subject": MARKS[3]}
            ],
            "context_updates": {"threads": [{"thread_key": "zebrafish-thread", "event_id": "a1"}]},
        },
        turn("a2", session_id="alone", user_id=ALICE, user_input=MARKS[7], status="lost"),
    ]  # fmt: skip


def hearsay() -> Record:
    """What Bob's memory has from a turn of Alice."""
    return {
        "type": "write_plan", "plan_id": "told", "user_id": "bob", "event_id": "a1",
        "occurred_at": "2026-01-01T10:00:00Z", "extractor": {"name": "test"},
        "state_updates": [{"kind": "fact", "state_id": "told", "body_text": MARKS[14]}],
    }  # fmt: skip


def company() -> list[Record]:
    """A session of Alice and Bob, and one of Bob alone."""
    decision = {"type": "decision", "decision": MARKS[12], "rationale": "so", "source": "user"}
    return [
        turn("g1", session_id="group", user_id=ALICE, user_input=MARKS[8], observations=[decision]),
        turn(
            "g2", session_id="group", user_id="bob", user_input="bob in company", topic="fish",
            occurred_at="2026-01-01T00:01:00Z",
        ),
        turn("b1", session_id="bobs", user_id="bob", user_input="bob alone", topic="nets"),
        {
            "type": "write_plan", "plan_id": "pb", "user_id": "bob", "event_id": "b1",
            "occurred_at": "2026-01-01T11:00:00Z", "extractor": {"name": "test"},
            "state_updates": [{"kind": "fact", "state_id": "fb", "body_text": "bob fishes"}],
        },
    ]  # fmt: skip


def bobs(history: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that is Bob's alone and not from Alice's turns, and the other tenant's event."""
    queries = {
        "events": "SELECT event_id, doc FROM events WHERE user_id = 'bob' ORDER BY 1",
        "session": "SELECT doc FROM session_current WHERE session_id = 'bobs'",
        "states": "SELECT state_id, body_text FROM state_current "
        "WHERE owner_id = 'bob' AND state_id <> 'told'",
        "profile": "SELECT doc FROM profile_current WHERE user_id = 'bob'",
        "plans": "SELECT doc FROM plans WHERE user_id = 'bob' AND event_id <> 'a1'",
        "other tenant": "SELECT event_id FROM events WHERE tenant = 'elsewhere'",
    }
    return {name: rows(history, sql) for name, sql in queries.items()}


def store_holds(history: Path, text: str) -> bool:
    """Whether a text is in a key or value of the fold's tables, unpacked."""
    options = Options(raw_mode=True)
    store = Rdict(str(history / "_store"), options, access_type=AccessType.read_only())
    try:
        on_disk = {path.name for path in (history / "_store").glob("*.sst")}
        live = {Path(one["name"]).name for one in store.live_files()}
        assert on_disk == live, "a file that is no longer used may hold what was erased"
        parts = [part for item in store.items() for part in item]
        return any(isinstance(part, bytes) and text.encode() in part for part in parts)
    finally:
        store.close()


@pytest.fixture(scope="module")
def forgotten(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """`before`, a copy of the history, and `history`, where Alice was forgotten; the receipt."""
    folder = tmp_path_factory.mktemp("forget")
    elsewhere = turn("x1", tenant="elsewhere", session_id="alone", user_id=ALICE, user_input="hi")
    file = ndjson(folder / "records.ndjson", [*alice_alone(), hearsay(), *company(), elsewhere])
    counts = folded(file, history=folder / "history")
    assert counts["dead"] == 1
    shutil.copytree(folder / "history", folder / "before")
    done = turnfold("forget", ALICE, "--history", folder / "history", "--yes", "-o", "json")
    assert done.code == 0, done.err
    file.unlink()
    return folder, done.json()


@pytest.mark.component
def test_guarantee_8_forget_leaves_no_byte_of_what_was_said(
    forgotten: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = forgotten
    for mark in MARKS:
        assert files_holding(folder / "before", mark), (
            f"{mark} was never there: this proves nothing"
        )
        assert files_holding(folder / "history", mark) == []
        assert not store_holds(folder / "history", mark), mark
    assert store_holds(folder / "before", MARKS[9])


def test_guarantee_8_forget_names_the_person_by_hash_alone(
    forgotten: tuple[Path, dict[str, Any]],
) -> None:
    _, receipt = forgotten
    assert ALICE not in json.dumps(receipt)
    assert receipt["sessions"] == 1 and receipt["shared_sessions"] == 1
    erased = {name: one["erased"] for name, one in receipt["tables"].items()}
    for name in ("events", "recursions", "tool_results", "plans", "affects", "dead_letters"):
        assert erased[name] > 0, name


@pytest.mark.component
def test_guarantee_8_forget_leaves_others_as_they_were(
    forgotten: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = forgotten
    assert bobs(folder / "history") == bobs(folder / "before")
    assert bobs(folder / "history")["other tenant"] == [("x1",)]


def test_guarantee_8_forget_lets_new_records_in(
    forgotten: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, _ = forgotten
    history = tmp_path / "history"
    shutil.copytree(folder / "history", history)
    later = turn(
        "g3",
        session_id="group",
        user_id="bob",
        user_input="later",
        occurred_at="2026-01-02T00:00:00Z",
    )
    records = [*company()[1:], later, turn("a9", session_id="new", user_id=ALICE)]
    counts = folded(ndjson(tmp_path / "records.ndjson", records), history=history)
    assert (counts["duplicate"], counts["applied"]) == (3, 2)
    shown = turnfold("show", "session", "group", "--history", history, "-o", "json").json()
    assert [one["user_input"] for one in shown["conversations"]] == ["bob in company", "later"]
