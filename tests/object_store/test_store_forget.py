"""A person is erased from a bucket, whoever writes there at the same time."""

import shutil
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from duckdb import DuckDBPyConnection

from sinks import maintenance
from sinks.delta import History
from sinks.digest import digest
from sinks.history import connect
from sinks.locations import Location
from sinks.maintenance import compact
from sinks.object_store import ObjectPath
from sinks.rewrite_files import rewrite
from sinks.sink_history import SharedHistory
from streams.apps.compact_and_forget import forget
from tests.acceptance import test_forgotten_late as late
from tests.acceptance.test_guarantees import ALICE, MARKS, alice_alone
from tests.command import turn
from tests.object_store.cli import turnfold
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import CAROL, CAROLS, Erased, Pieces, counted, read, sink, traces
from tests.tiers import soaked
from tests.unit.test_shared_history import OWNER


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    """Alice and Bob, each alone."""
    bob = turn("b9", session_id="bobs", user_id="bob", user_input="bob again")
    return read([*alice_alone(), bob], tmp_path_factory.mktemp("alone"))


def write(history: SharedHistory, pieces: Pieces, app: str = "a") -> int:
    """The rows of these, as from the partition of this app."""
    given = {name: [one._replace(app_id=app) for one in some] for name, some in pieces.items()}
    return history.write(given, {app: 1_000}, {})


@pytest.mark.component
def test_guarantee_8_a_bucket_holds_no_byte_of_who_is_forgotten(
    s3: S3Server, sunk: ObjectPath, erased: Erased
) -> None:
    command = ("forget", ALICE, "--yes", "-o", "json", "--history", str(sunk))
    assert traces(s3, sunk)
    done = turnfold(*command)
    assert done.code == 0, done.err
    receipt = done.json()
    assert traces(s3, sunk) == []
    assert ALICE not in done.out
    assert counted(receipt) == counted(erased.receipt)
    assert erased.receipt["elsewhere"] in receipt["elsewhere"]
    assert digest(sunk) == digest(erased.folder)
    keys = s3.objects(sunk.key)
    assert not [key for key in keys if "/_rewriting/" in key or "/_forgetting/" in key]
    again = turnfold(*command)
    assert (again.code, "nothing was erased" in again.err) == (0, True)
    assert digest(sunk) == digest(erased.folder)


@pytest.mark.nightly
def test_guarantee_8_a_commit_begun_before_is_refused_and_made_again_without_them(
    s3: S3Server, root: ObjectPath, alone: Pieces, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A sink stands still between its look at the list and its commit. Of a table in which nothing
    is erased meanwhile: a fence alone keeps it out."""
    sink(root, read([turn("b1", session_id="bobs", user_id="bob")], tmp_path))
    append, begun = SharedHistory._append, list[str]()

    def late(history: SharedHistory, table: str, *given: Any) -> None:
        if table == "events" and not begun:
            begun.append(table)
            forget(root, "default", ALICE)
        append(history, table, *given)

    monkeypatch.setattr(SharedHistory, "_append", late)
    with SharedHistory(root, OWNER) as history:
        write(history, {"events": alone["events"]}, "late")
    assert begun == ["events"]
    assert users(root) == ["bob", "bob"]
    assert [one.partition("/")[0] for one in traces(s3, root)] == ["events"]  # no commit names it
    forget(root, "default", ALICE)
    assert traces(s3, root) == []


@pytest.mark.soak
@pytest.mark.nightly
def test_guarantee_8_who_is_forgotten_stays_gone_while_sinks_and_compact_are_at_work(
    s3: S3Server, sunk: ObjectPath, alone: Pieces
) -> None:
    root = sunk
    ended, counts, failures = Event(), dict.fromkeys(("b", "c"), 0), list[BaseException]()

    def work(name: str) -> None:
        try:
            with SharedHistory(root, OWNER) as history:
                while not ended.is_set():
                    write(history, alone, f"{name}{counts[name]}")
                    counts[name] += 1
        except BaseException as error:
            failures.append(error)

    def merge() -> None:
        try:
            while not ended.is_set():
                compact(root)
        except BaseException as error:
            failures.append(error)

    threads = [*(Thread(target=work, args=[name]) for name in counts), Thread(target=merge)]
    for one in threads:
        one.start()
    while min(counts.values()) < 1 and not failures:
        ended.wait(0.05)
    receipt = forget(root, "default", ALICE)
    before = dict(counts)
    while any(counts[name] <= before[name] for name in counts) and not failures:
        ended.wait(0.05)
    ended.set()
    for one in threads:
        one.join()
    assert failures == []
    assert receipt["tables"]["events"]["erased"] > 3
    assert users(root) == ["bob"] * (2 + sum(counts.values())) + [CAROL, CAROL]
    assert traces(s3, root) == []


@pytest.mark.nightly
def test_guarantee_8_who_is_forgotten_stays_gone_though_files_are_merged_before_the_commit(
    s3: S3Server, sunk: ObjectPath, alone: Pieces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta's own check lets the erasure remove what the merge has removed: the merged files, with
    the person in them, would stay."""
    with SharedHistory(sunk, OWNER) as history:
        write(history, alone, "b")
    merged = list[str]()

    def late(history: History, db: DuckDBPyConnection, name: str, *rest: Any) -> None:
        if name == "events" and not merged:
            merged.append(name)
            compact(sunk)
        rewrite(history, db, name, *rest)

    monkeypatch.setattr(maintenance, "rewrite", late)
    forget(sunk, "default", ALICE)
    assert merged
    assert users(sunk) == ["bob", "bob", "bob", CAROL, CAROL]
    assert traces(s3, sunk) == []


@pytest.mark.nightly
def test_two_persons_are_erased_at_once(
    s3: S3Server, sunk: ObjectPath, erased: Erased, tmp_path: Path
) -> None:
    """Each makes their session again from what is left: not from what the other erases."""
    root = sunk
    failures = list[BaseException]()

    def erase(user_id: str) -> None:
        try:
            forget(root, "default", user_id)
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=erase, args=[one]) for one in (ALICE, CAROL)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    assert traces(s3, root, [*MARKS, *CAROLS]) == []
    shutil.copytree(erased.folder, tmp_path / "h")
    forget(tmp_path / "h", "default", CAROL)
    assert digest(root)["memory"] == digest(tmp_path / "h")["memory"]


def users(root: Location) -> list[str]:
    sql = "SELECT user_id FROM events WHERE tenant = 'default' ORDER BY ALL"
    with connect(root, views=["events"]) as db:
        return [one for (one,) in db.execute(sql).fetchall()]


@pytest.mark.nightly
@pytest.mark.parametrize("name", soaked([late.EVERYTHING, late.REST], 1))
def test_guarantee_8_what_comes_late_goes_with_the_second_call(
    name: str, s3: S3Server, root: ObjectPath, tmp_path: Path
) -> None:
    """Rows that do not say whose they are."""
    every = read(late.records(), tmp_path)
    sink(tmp_path / "h", every)
    forget(tmp_path / "h", "default", CAROL)
    before, after = late.split(every, late.late_of(name, every))
    sink(root, before)
    forget(root, "default", CAROL)
    late.sunk_late(root, after)
    assert traces(s3, root, [late.MARK])
    forget(root, "default", CAROL)
    assert traces(s3, root, [late.MARK]) == []
    assert all(traces(s3, root, [mark]) for mark in late.OTHERS)
    assert digest(root) == digest(tmp_path / "h")
