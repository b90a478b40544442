"""`run` into a bucket: what it holds is what a folder would, whoever goes on with it."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from sinks.delta import History
from sinks.digest import digest
from sinks.errors import HistoryError
from sinks.history import connect
from sinks.locations import Location
from sinks.object_store import ObjectPath
from sinks.root import find_root
from streams.errors import ConfigurationError
from streams.extractors.naming import Extractor, named
from streams.files import batches, local, store_folder
from streams.files.access import writing
from streams.files.batches import InStore
from streams.files.extractor_choice import settle
from streams.files.run_log import Overtaken, RunLog
from streams.files.runner import Runner
from streams.files.upgrade import FORMAT, reached
from streams.llm.files import extract
from streams.llm.settings import LlmSettings
from streams.pipeline.row_formats import ROW_FORMAT
from streams.search import place
from streams.serving.backends.backend import NotReady
from streams.serving.backends.readonly import HistoryBackend
from streams.serving.http.problems import Problem
from streams.serving.http.route import Serving
from streams.serving.http.routes_erasure import erasures_of
from tests.acceptance.test_laws import ALICE, alice_alone, company, hearsay
from tests.command import ndjson, turn
from tests.object_store.cli import printed, refusal, turnfold
from tests.object_store.faulty_store import FaultyStore, Plan
from tests.object_store.run_history import (
    Lines,
    counted,
    doubled,
    grown,
    has_only_its_base,
    objects,
    parts,
    traces_on,
    traces_on_a_new_machine,
    values,
)
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import Pieces, sink, traces
from tests.object_store.sunk import counted as counted_receipt
from tests.tiers import soaked

pytestmark = pytest.mark.usefixtures("machine")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of some records."""
    monkeypatch.setattr(Runner, "batch_records", 64)


@pytest.mark.nightly
def test_a_bucket_holds_what_a_folder_does_on_any_machine(
    root: ObjectPath, lines: Lines, machine: Path, tmp_path: Path, small: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A file that grows; after each run the machine is another one, or one that is behind."""
    monkeypatch.setattr(batches, "MANY", 4)
    file, folder = tmp_path / "records.ndjson", tmp_path / "folder"
    for number, part in enumerate(parts(lines[60:], 4)):
        grown(file, part)
        if number == 3:
            shutil.rmtree(machine)
            (tmp_path / "behind").rename(machine)
        here = counted(local.run([str(file)], folder, retention_days=1))
        assert counted(local.run([str(file)], root, retention_days=1)) == here
        assert digest(root) == digest(folder)
        if number == 0:
            shutil.rmtree(machine)
        if number == 1:
            shutil.copytree(machine, tmp_path / "behind")
    again = local.run([str(file)], root)
    assert (again["read"], again["read_before"]) == (0, len(lines[60:]))
    assert values(root)["counts"] == values(folder)["counts"]
    notes = [one for one in objects(root) if one.endswith(".json")]
    assert len(notes) > 10  # and what is before the newest base has gone
    assert len(objects(root)) - len(notes) < 10


@pytest.mark.nightly
def test_a_store_of_another_history_at_the_same_address_is_made_again(
    root: ObjectPath, tmp_path: Path
) -> None:
    """As far on as that one was: the same numbers, other batches."""
    for name in ("before", "after"):
        root.unlink_all(root.sizes())
        for number in range(2):
            given = [msgspec.json.encode(turn(f"{name} {number}", session_id=name))]
            local.run([str(grown(tmp_path / f"{name}.ndjson", given))], root)
    local.run([str(tmp_path / "after.ndjson")], tmp_path / "folder")
    assert digest(root)["memory"] == digest(tmp_path / "folder")["memory"]


# --- two at once, and one that stands still -------------------------------------------------------


def elsewhere(tmp_path: Path) -> dict[str, str]:
    return {store_folder.SETTING: str(tmp_path / "elsewhere")}


def run_elsewhere(file: Path, root: ObjectPath, tmp_path: Path) -> dict[str, Any]:
    """The same on another machine."""
    before = os.environ[store_folder.SETTING]
    os.environ |= elsewhere(tmp_path)
    try:
        return local.run([str(file)], root)
    finally:
        os.environ[store_folder.SETTING] = before


def once(action: Callable[[], Any]) -> Callable[[], None]:
    done = list[Any]()

    def first() -> None:
        if not done:
            done.append(None)
            action()

    return first


@pytest.fixture
def expected(lines: Lines, tmp_path: Path) -> tuple[Path, dict[str, object]]:
    """A file, and the digest of a folder made from it."""
    file = grown(tmp_path / "records.ndjson", lines)
    local.run([str(file)], tmp_path / "expected")
    return file, digest(tmp_path / "expected")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "point",
    soaked([(History, "append"), (InStore, "fill"), (Runner, "commit"), (InStore, "_written")], 1),
)
def test_law_6_one_that_stands_still_while_another_goes_on_ends(
    point: tuple[type, str], root: ObjectPath, expected: tuple[Path, dict[str, object]],
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Before its note, before its tables, between the state of a table and the commit that is made
    from it, after all of them."""
    where, name = point
    file, _ = expected
    local.run([str(grown(tmp_path / "first.ndjson", [msgspec.json.encode(turn("f"))]))], root)
    real = getattr(where, name)
    other = once(lambda: run_elsewhere(file, root, tmp_path))

    def late(self: Any, *given: Any) -> Any:
        other()
        return real(self, *given)

    monkeypatch.setattr(where, name, late)
    with pytest.raises(Overtaken, match="has written this history meanwhile") as overtaken:
        local.run([str(file)], root)
    assert overtaken.value.exit_code == 3
    monkeypatch.setattr(where, name, real)
    assert local.run([str(file)], root)["read"] == 0
    local.run([str(tmp_path / "first.ndjson"), str(file)], tmp_path / "both")
    assert digest(root) == digest(tmp_path / "both")
    assert doubled(root) == []


@pytest.mark.nightly
def test_an_outage_ends_the_command_and_the_next_goes_on(
    s3: S3Server, root: ObjectPath, expected: tuple[Path, dict[str, object]]
) -> None:
    """From its note on the store refuses everything."""
    file, memory = expected
    with FaultyStore(s3.port, from_note_on("00000002.json")) as store:
        environ = s3.environ(store.port)
        assert "the key may not do this" in refusal(
            "run", file, "--history", str(root), env=environ, code=1
        )
    assert any(name.endswith(".tables") for name in objects(root))
    local.run([str(file)], root)
    assert digest(root) == memory
    assert doubled(root) == []


def from_note_on(name: str) -> Plan:
    is_noted = False

    def plan(method: str, path: str, body: bytes) -> str:
        nonlocal is_noted
        if is_noted:
            return "denied"
        is_noted = method == "PUT" and name in path
        return "none"

    return plan


# --- rows of another version ----------------------------------------------------------------------


@pytest.mark.nightly
def test_rows_of_an_older_version_are_upgraded_for_every_machine(
    root: ObjectPath, machine: Path, tmp_path: Path
) -> None:
    file = grown(tmp_path / "records.ndjson", [msgspec.json.encode(turn("e1"))])
    local.run([str(file)], root)
    of_format(root, ROW_FORMAT - 1)
    grown(file, [msgspec.json.encode(turn("e2"))])
    local.run([str(file)], root)
    base = RunLog(root).newest().base
    shutil.rmtree(machine)
    with writing(root) as (store, _):
        assert reached(store).is_current
    of_format(root, ROW_FORMAT + 1)
    before = objects(root)
    with pytest.raises(ConfigurationError, match="a newer version has written them"):
        local.run([str(file)], root)
    assert objects(root) == before and RunLog(root).newest().base > base > 1


def of_format(root: ObjectPath, number: int) -> None:
    with writing(root) as (store, tables), InStore(store, tables, root).rewriting():
        store.write_values({FORMAT: number})


# --- who may write --------------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_bucket_is_run_s_or_that_of_sinks(
    root: ObjectPath, s3: S3Server, pieces: Pieces, tmp_path: Path
) -> None:
    file = grown(tmp_path / "records.ndjson", [msgspec.json.encode(turn("e1"))])
    local.run([str(file)], root)
    with pytest.raises(HistoryError, match="`turnfold run` writes this history"):
        sink(root, pieces)
    assert not any(one.endswith("_sink.json") for one in s3.objects(root.key))
    sinks = root.parent / f"{root.name}-sinks"
    sink(sinks, pieces)
    before = s3.objects(sinks.key)
    with pytest.raises(HistoryError, match="sinks write this history"):
        local.run([str(file)], sinks)
    assert s3.objects(sinks.key) == before
    copied = root.parent / f"{root.name}-copied"
    local.run([str(file)], tmp_path / "folder")
    shutil.copytree(tmp_path / "folder", s3.lies_at(copied.key))
    assert "has not written this history here" in refusal("run", file, "--history", str(copied))


@pytest.mark.nightly
def test_the_extractor_is_remembered_and_noted_by_who_goes_on_with_the_history(
    root: ObjectPath, tmp_path: Path
) -> None:
    said = [turn("e1", user_input="I live in Oslo."), turn("e2", user_input="I live in Bergen.")]
    first, more = [[msgspec.json.encode(one)] for one in said]
    file, folder = grown(tmp_path / "records.ndjson", first), tmp_path / "folder"
    for told in ("rules", None):
        for where in (root, folder):
            local.run([str(file)], where, choose=partial(chosen, where, told))
        grown(file, more)
    assert digest(root) == digest(folder)
    with connect(root, views=["plans"]) as db:
        assert db.execute("SELECT DISTINCT event_id FROM plans ORDER BY ALL").fetchall() == [
            ("e1",), ("e2",)
        ]  # fmt: skip
    why = refusal("run", file, "--history", str(root), "--extractor", "llm")
    assert "a model is not asked" in why


def chosen(where: Location, told: str | None, claim: Callable[[], None]) -> Extractor | None:
    choice = settle(where, told, lambda text: None, claim)
    assert choice.name == "rules"
    return named(choice.in_process)


# --- a bucket of `run` in use: erased from, read, looked after ------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Alice alone, and with others; more of these come later."""
    bob = turn("b9", session_id="bobs", user_id="bob", user_input="bob again")
    return ndjson(tmp_path / "records.ndjson", [*alice_alone(), hearsay(), *company(), bob])


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """What comes of a shared session after the erasure; some of it once more."""
    more = turn("g9", session_id="group", user_id="bob", user_input="bob in company once more",
                occurred_at="2026-01-03T00:00:00Z")  # fmt: skip
    bobs = [one for one in company() if one.get("user_id") == "bob"]
    return ndjson(tmp_path / "later.ndjson", [*bobs, more])


@pytest.mark.soak
@pytest.mark.nightly
def test_law_8_a_bucket_of_run_holds_no_byte_of_who_is_forgotten(
    s3: S3Server, root: ObjectPath, file: Path, later: Path, machine: Path, tmp_path: Path
) -> None:
    """Nor do the stores of machines, once they have looked."""
    folder, behind = tmp_path / "folder", tmp_path / "behind"
    for where in (root, folder):
        local.run([str(file)], where)
    assert traces(s3, root) and traces_on(machine)
    shutil.copytree(machine, behind)
    here_ = turnfold("forget", ALICE, "--yes", "--json", "--history", folder).json()
    done = turnfold("forget", ALICE, "--yes", "--json", "--history", str(root))
    assert done.code == 0, done.err
    there = done.json()
    assert (
        counted_receipt(there) == counted_receipt(here_)
        and "other machines' stores" in there["elsewhere"]
    )
    assert "a file that `run` has yet to read" in there["elsewhere"]
    assert traces(s3, root) == []
    assert traces_on(machine) == []
    assert traces_on_a_new_machine(root, machine) == []
    assert has_only_its_base(root)
    assert digest(root) == digest(folder)
    shutil.rmtree(machine)
    behind.rename(machine)
    for where in (root, folder):
        local.run([str(later)], where)
    assert digest(root) == digest(folder)
    assert traces_on(machine) == []


@pytest.mark.nightly
def test_what_reads_and_looks_after_a_bucket_knows_one_of_run(
    root: ObjectPath,
    file: Path,
    desks: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each command says of the bucket what it says of a folder."""
    monkeypatch.setenv(place.SETTING, str(tmp_path / "search"))
    folder = tmp_path / "folder"
    for where in (root, folder):
        local.run([str(file)], where)
    asked: list[tuple[str, ...]] = [
        ("sql", "SELECT event_id, user_id, user_input FROM event_current ORDER BY ALL"),
        ("user", "bob"), ("session", "group"),
        ("search", "company", "--user", "bob"), ("dlq", "list"), ("digest",),
    ]  # fmt: skip
    for command in asked:
        there, here_ = (
            printed(*command, "--history", str(one), "--json") for one in (root, folder)
        )
        assert there == here_, command
    exported, copied = (printed("export", "bob", "--history", str(one)) for one in (root, folder))
    assert exported.splitlines()[1:] == copied.splitlines()[1:]  # the first says when it was made
    looked = turnfold("doctor", "--history", str(root)).out
    assert "written by run; live generation: root" in looked and "batches: 2" in looked
    printed("compact", "--history", str(root))
    assert digest(root) == digest(folder)
    printed("backfill", "--generation", "plain", "--history", str(root))
    assert digest(ObjectPath(f"{root}/generations/plain"))["memory"] == digest(folder)["memory"]
    listed = json.loads(printed("generations", "list", "--history", str(root), "--json"))
    assert [(one["name"], one["role"]) for one in listed] == [("root", "live"), ("plain", "")]
    assert "goes on writing this history" in refusal("promote", "plain", "--history", str(root))
    printed("generations", "drop", "plain", "--history", str(root))
    local.run([str(ndjson(tmp_path / "more.ndjson", [turn("m1")]))], root)
    local.run([str(tmp_path / "more.ndjson")], folder)
    assert digest(root) == digest(folder)


def test_a_server_says_that_run_writes_it_and_how(root: ObjectPath, file: Path) -> None:
    local.run([str(file)], root)
    backend = HistoryBackend(root)
    assert backend.readiness().about == "ready to read; `turnfold run` writes this history"
    with pytest.raises(NotReady, match="fold a file of these records by `turnfold run FILE"):
        asyncio.run(backend.submit([], 0.0))
    with pytest.raises(Problem) as refusal:
        erasures_of(cast(Serving, SimpleNamespace(backend=backend)))
    assert (
        "`turnfold run` writes this history: call `turnfold forget" in refusal.value.body.decode()
    )


def test_what_cannot_be_done_there_is_told_with_what_can(root: ObjectPath, file: Path) -> None:
    with pytest.raises(HistoryError, match=f"no history here; `turnfold run FILE --history {root}"):
        find_root(root)
    again = [turnfold("run", file, "--history", str(root)).err for _ in range(2)][1]
    assert "nothing new" in again and "name another prefix" in again and "backfill" not in again
    with pytest.raises(ConfigurationError, match="fold the same files into a folder and extract"):
        extract(root, cast(LlmSettings, None))
