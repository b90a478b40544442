"""A person is erased from a bucket, whoever writes there meanwhile and whoever is killed."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
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
from sinks.rewriting import rewrite
from sinks.shared import SharedHistory
from streams.apps.maintenance import forget
from streams.files.manifest import Settings
from streams.generations import desk
from streams.generations.in_store import backfill_in_store
from tests.acceptance import test_forgotten_late as late
from tests.acceptance.test_laws import ALICE, MARKS, alice_alone
from tests.command import PROGRAM, environment, files_holding, turn, turnfold
from tests.object_store.faulty_store import FaultyStore, often
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import CAROL, CAROLS, Pieces, company_and_others, read, sink
from tests.tiers import soaked
from tests.unit.test_shared_history import OWNER

CHANGES = ("PUT", "POST", "DELETE")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    return company_and_others(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    """Alice and Bob, each alone."""
    bob = turn("b9", session_id="bobs", user_id="bob", user_input="bob again")
    return read([*alice_alone(), bob], tmp_path_factory.mktemp("alone"))


def write(history: SharedHistory, pieces: Pieces, app: str = "a") -> int:
    """The rows of these, as from the partition of this app."""
    given = {name: [one._replace(app_id=app) for one in some] for name, some in pieces.items()}
    return history.write(given, {app: 1_000}, {})


def held(s3: S3Server, root: ObjectPath, marks: Sequence[str] = MARKS) -> list[str]:
    """The objects below the history in which something of Alice still stands."""
    below = s3.folder / "memory" / root.key
    return sorted({file for mark in marks for file in files_holding(below, mark)})


@pytest.fixture(scope="module")
def erased(pieces: Pieces, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same history in a folder, without Alice."""
    folder = tmp_path_factory.mktemp("erased") / "h"
    sink(folder, pieces)
    forget(folder, "default", ALICE)
    return folder


@pytest.mark.nightly
def test_law_8_a_bucket_holds_no_byte_of_who_is_forgotten(
    s3: S3Server, root: ObjectPath, pieces: Pieces, erased: Path, tmp_path: Path
) -> None:
    sink(root, pieces)
    sink(tmp_path / "h", pieces)
    assert held(s3, root)
    here = turnfold("forget", ALICE, "--yes", "--json", "--history", tmp_path / "h").json()
    done = turnfold("forget", ALICE, "--yes", "--json", "--history", str(root))
    assert done.code == 0, done.err
    there = done.json()
    assert held(s3, root) == []
    assert ALICE not in done.out
    assert counted(there) == counted(here)
    assert here["elsewhere"] in there["elsewhere"]
    assert digest(root) == digest(erased) == digest(tmp_path / "h")
    assert not [
        one for one in s3.objects(root.key) if "/_rewriting/" in one or "/_forgetting/" in one
    ]
    again = turnfold("forget", ALICE, "--yes", "--json", "--history", str(root))
    assert (again.code, "nothing was erased" in again.err) == (0, True)
    assert digest(root) == digest(erased)


def counted(receipt: dict[str, Any]) -> dict[str, Any]:
    tables = {name: one["erased"] for name, one in receipt["tables"].items()}
    return {**receipt, "tables": tables, "elsewhere": ""}


@pytest.mark.nightly
def test_law_8_a_commit_begun_before_is_refused_and_made_again_without_them(
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
    assert [one.partition("/")[0] for one in held(s3, root)] == ["events"]  # no commit names it
    forget(root, "default", ALICE)
    assert held(s3, root) == []


@pytest.mark.soak
@pytest.mark.nightly
def test_law_8_who_is_forgotten_stays_gone_while_sinks_and_compact_are_at_work(
    s3: S3Server, root: ObjectPath, pieces: Pieces, alone: Pieces
) -> None:
    sink(root, pieces)
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
    assert held(s3, root) == []


@pytest.mark.nightly
def test_law_8_who_is_forgotten_stays_gone_though_files_are_merged_before_the_commit(
    s3: S3Server, root: ObjectPath, pieces: Pieces, alone: Pieces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta's own check lets the erasure remove what the merge has removed: the merged files, with
    the person in them, would stay."""
    sink(root, pieces)
    with SharedHistory(root, OWNER) as history:
        write(history, alone, "b")
    merged = list[str]()

    def late(history: History, db: DuckDBPyConnection, name: str, *given: Any) -> None:
        if name not in merged:
            merged.append(name)
            compact(root)
        rewrite(history, db, name, *given)

    monkeypatch.setattr(maintenance, "rewrite", late)
    forget(root, "default", ALICE)
    assert "events" in merged
    assert users(root) == ["bob", "bob", "bob", CAROL, CAROL]
    assert held(s3, root) == []


@pytest.mark.nightly
def test_two_persons_are_erased_at_once(
    s3: S3Server, root: ObjectPath, pieces: Pieces, tmp_path: Path
) -> None:
    """Each makes their session again from what is left: not from what the other erases."""
    sink(root, pieces)
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
    assert held(s3, root, [*MARKS, *CAROLS]) == []
    sink(tmp_path / "h", pieces)
    for user_id in (ALICE, CAROL):
        forget(tmp_path / "h", "default", user_id)
    assert digest(root)["memory"] == digest(tmp_path / "h")["memory"]


def users(root: Location) -> list[str]:
    sql = "SELECT user_id FROM events WHERE tenant = 'default' ORDER BY ALL"
    with connect(root, views=["events"]) as db:
        return [one for (one,) in db.execute(sql).fetchall()]


@pytest.mark.nightly
@pytest.mark.parametrize("name", soaked([late.EVERYTHING, late.REST], 1))
def test_law_8_what_comes_late_goes_with_the_second_call(
    name: str, s3: S3Server, root: ObjectPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that do not say whose they are. A generation that `backfill` has made of them, too."""
    monkeypatch.setenv(desk.SETTING, str(tmp_path / "desks"))
    every = read(late.records(), tmp_path)
    sink(tmp_path / "h", every)
    forget(tmp_path / "h", "default", CAROL)
    before, after = late.split(every, late.late_of(name, every))
    sink(root, before)
    forget(root, "default", CAROL)
    late.sunk_late(root, after)
    backfill_in_store(root, "plain", Settings(extractor="none"))
    assert {one.partition("/")[0] for one in held(s3, root, [late.MARK])} > {"generations"}
    forget(root, "default", CAROL)
    assert held(s3, root, [late.MARK]) == []
    assert all(held(s3, root, [mark]) for mark in late.OTHERS)
    assert digest(root) == digest(tmp_path / "h")
    receipt = forget(root, "default", CAROL)
    assert {one["erased"] for one in receipt["tables"].values()} <= {0}


# --- killed, and over a store that fails ----------------------------------------------------------


class Killer:
    """A plan of a store: kills the process that asks for its nth change."""

    def __init__(self, nth: int) -> None:
        self.left = nth
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self, method: str, path: str, body: bytes) -> str:
        self.left -= method in CHANGES
        if not self.left and self.process is not None:
            self.process.kill()
        return "none"


def killed(s3: S3Server, root: ObjectPath, nth: int, *asked: str, **more: str) -> tuple[bool, int]:
    """Whether a command (default: `forget`) was killed at its nth change, and how many it made."""
    plan = Killer(nth)
    with FaultyStore(s3.port, plan) as store:
        plan.process = subprocess.Popen(
            [PROGRAM, *(asked or ("forget", ALICE, "--yes")), "--history", str(root)],
            env=environment(**s3.environ(store.port), **more),
            stdout=subprocess.DEVNULL,
        )
        code = plan.process.wait(120)
    assert code in (0, -signal.SIGKILL)
    return code != 0, nth - plan.left


@pytest.mark.nightly
def test_law_8_a_killed_forget_is_ended_by_the_next(
    s3: S3Server, root: ObjectPath, pieces: Pieces, erased: Path
) -> None:
    """Killed at points of its whole way, each time over a history that has all of her."""
    sink(root, pieces)
    whole = s3.folder / "memory" / root.key
    _, changes = killed(s3, copy_of(root, whole, "whole"), 10_000)
    assert changes > 60
    kills = int(os.environ.get("FORGET_KILLS", "3"))
    for turn_ in range(kills):
        at = copy_of(root, whole, str(turn_))
        assert killed(s3, at, 1 + turn_ * changes // kills)[0]
        forget(at, "default", ALICE)
        assert held(s3, at) == []
        assert digest(at) == digest(erased)


@pytest.mark.soak
@pytest.mark.nightly
def test_law_8_a_forget_that_is_killed_again_and_again_ends(
    s3: S3Server, root: ObjectPath, pieces: Pieces, erased: Path
) -> None:
    sink(root, pieces)
    kills, nth = 0, 24
    while killed(s3, root, nth)[0]:
        kills, nth = kills + 1, nth + 24
    assert kills > 2
    assert held(s3, root) == []
    assert digest(root) == digest(erased)


@pytest.mark.soak
@pytest.mark.nightly
def test_law_8_a_store_that_fails_keeps_nothing(
    s3: S3Server, root: ObjectPath, pieces: Pieces, erased: Path
) -> None:
    """One request in thirty is throttled, fails before or after it was done, is slow or breaks
    off."""
    sink(root, pieces)
    with FaultyStore(s3.port, often(1 / 30)) as store:
        there = environment(**s3.environ(store.port))
        done = turnfold("forget", ALICE, "--yes", "--history", str(root), env=there)
    assert done.code == 0, done.err
    assert sum(store.counts.values()) - store.counts["none"] > 10
    assert held(s3, root) == []
    assert digest(root) == digest(erased)


def copy_of(root: ObjectPath, folder: Path, name: str) -> ObjectPath:
    """Another history of the same objects."""
    shutil.copytree(folder, folder.with_name(f"{folder.name}-{name}"))
    return ObjectPath(f"{root}-{name}", root.store)
