"""`run` into a bucket: what it holds is what a folder would, whoever goes on with it."""

import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sinks.delta import History
from sinks.digest import digest
from sinks.errors import HistoryError
from sinks.history import connect
from sinks.locations import Location
from sinks.object_store import ObjectPath
from streams.errors import ConfigurationError
from streams.extractors.naming import Extract, named
from streams.files import batches, local, store_folder
from streams.files.access import writing
from streams.files.batches import InStore
from streams.files.extractor_choice import settle
from streams.files.run_log import Overtaken, RunLog
from streams.files.runner import Runner
from streams.files.upgrade import FORMAT, reached
from streams.pipeline.row_formats import ROW_FORMAT
from tests.acceptance import ledger, reflexion, sgd
from tests.command import checked, refused, turn
from tests.conftest import LEDGER, REFLEXION, SGD
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import company_and_others, sink
from tests.shared_data import shared
from tests.tiers import soaked

Lines = list[bytes]


@pytest.fixture(scope="module")
def lines() -> Lines:
    """Real turns, plans and recursions, copies of some, and what is no record."""
    records: list[Any] = list(islice(sgd.records(shared(*SGD)), 150))
    records += [
        *ledger.records(shared(*LEDGER)),
        *islice(reflexion.records(shared(*REFLEXION)), 60),
    ]
    records += records[100:140]
    return [*map(msgspec.json.encode, records), b"not JSON", b'{"type": "riddle"}']


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this machine's stores lie."""
    monkeypatch.setenv(store_folder.SETTING, str(tmp_path / "stores"))
    return tmp_path / "stores"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of some records."""
    monkeypatch.setattr(Runner, "batch_records", 64)


def grown(file: Path, lines: Sequence[bytes]) -> Path:
    with file.open("ab") as out:
        out.writelines(line + b"\n" for line in lines)
    return file


def counted(counts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in checked(counts).items() if name != "seconds"}


def parts(lines: Lines, count: int) -> list[Lines]:
    size = len(lines) // count + 1
    return [lines[at : at + size] for at in range(0, len(lines), size)]


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


def values(root: Any) -> dict[str, Any]:
    with writing(root) as (store, _):
        return {name: store.value(name) for name in ("counts", "batch")}


def objects(root: ObjectPath) -> list[str]:
    return sorted(one.rpartition("/")[2] for one in (root / "_run").sizes())


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
    with pytest.raises(Overtaken, match="has written this history meanwhile"):
        local.run([str(file)], root)
    monkeypatch.setattr(where, name, real)
    assert local.run([str(file)], root)["read"] == 0
    local.run([str(tmp_path / "first.ndjson"), str(file)], tmp_path / "both")
    assert digest(root) == digest(tmp_path / "both")
    assert doubled(root) == []


def doubled(root: ObjectPath) -> list[Any]:
    sql = "SELECT src_topic, src_offset FROM events GROUP BY ALL HAVING count(*) > 1"
    with connect(root, views=["events"]) as db:
        return db.execute(sql).fetchall()


@pytest.mark.nightly
def test_of_two_commands_at_once_one_says_in_a_line_that_it_has_ended(
    root: ObjectPath, settings: dict[str, str], expected: tuple[Path, dict[str, object]],
    tmp_path: Path,
) -> None:  # fmt: skip
    from tests.command import environment, start

    file, memory = expected
    machines = [str(tmp_path / "one"), str(tmp_path / "two")]
    running = [
        start("run", file, "--history", str(root), "--store-folder", one, env=environment())
        for one in machines
    ]
    ended = [(one.communicate()[1].decode(), one.returncode) for one in running]
    assert sorted(code for _, code in ended) in ([0, 0], [0, 3]), ended
    for said, code in ended:
        assert code == 0 or (said.count("\n") == 1 and "meanwhile" in said)
    local.run([str(file)], root)
    assert digest(root) == memory
    assert doubled(root) == []


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
def test_a_bucket_is_run_s_or_that_of_sinks(root: ObjectPath, s3: S3Server, tmp_path: Path) -> None:
    file = grown(tmp_path / "records.ndjson", [msgspec.json.encode(turn("e1"))])
    given = company_and_others(tmp_path)
    local.run([str(file)], root)
    with pytest.raises(HistoryError, match="`turnfold run` writes this history"):
        sink(root, given)
    assert not any(one.endswith("_sink.json") for one in s3.objects(root.key))
    sinks = root.parent / f"{root.name}-sinks"
    sink(sinks, given)
    before = s3.objects(sinks.key)
    with pytest.raises(HistoryError, match="sinks write this history"):
        local.run([str(file)], sinks)
    assert s3.objects(sinks.key) == before
    copied = root.parent / f"{root.name}-copied"
    local.run([str(file)], tmp_path / "folder")
    shutil.copytree(tmp_path / "folder", s3.folder / "memory" / copied.key)
    assert "has not written this history here" in refused("run", file, "--history", str(copied))


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
    why = refused("run", file, "--history", str(root), "--extractor", "llm")
    assert "a model is not asked" in why


def chosen(where: Location, told: str | None, claim: Callable[[], None]) -> Extract | None:
    choice = settle(where, told, lambda text: None, claim)
    assert choice.name == "rules"
    return named(choice.in_process)
