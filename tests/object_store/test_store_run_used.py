"""A bucket that `run` writes, in use: erased from, read, looked after."""

import asyncio
import json
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner
from rocksdict import AccessType, Options, Rdict

from sinks.digest import digest
from sinks.errors import HistoryError
from sinks.object_store import ObjectPath
from sinks.root import find_root
from streams import cli
from streams.apps.maintenance import forget
from streams.errors import ConfigurationError
from streams.files import local
from streams.files.access import writing
from streams.files.run_log import RunLog
from streams.generations import desk
from streams.llm.files import extract
from streams.llm.settings import LlmSettings
from streams.search import place
from streams.serving.backends.backend import NotReady
from streams.serving.backends.readonly import HistoryBackend
from streams.serving.http.problems import Problem
from streams.serving.http.route import Serving
from streams.serving.http.routes_erasure import erasures_of
from tests.acceptance.test_laws import ALICE, MARKS, alice_alone, company, hearsay
from tests.command import PROGRAM, environment, ndjson, refused, turn, turnfold
from tests.object_store.faulty_store import FaultyStore
from tests.object_store.s3_server import S3Server
from tests.object_store.test_store_forget import held
from tests.object_store.test_store_run import machine, objects
from tests.object_store.test_store_run_kills import Killer, here
from tests.tiers import soaked

__all__ = ["machine"]


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
    assert held(s3, root) and held_by(machine)
    shutil.copytree(machine, behind)
    here_ = turnfold("forget", ALICE, "--yes", "--json", "--history", folder).json()
    done = turnfold("forget", ALICE, "--yes", "--json", "--history", str(root), env=with_store())
    assert done.code == 0, done.err
    there = done.json()
    assert counted(there) == counted(here_) and "other machines' stores" in there["elsewhere"]
    assert "a file that `run` has yet to read" in there["elsewhere"]
    assert held(s3, root) == []
    assert held_by(machine) == of_a_new_machine(root, machine) == []
    assert {one[:8] for one in objects(root) if not one.endswith(".json")} == {base_of(root)}
    assert digest(root) == digest(folder)
    shutil.rmtree(machine)
    behind.rename(machine)
    for where in (root, folder):
        local.run([str(later)], where)
    assert digest(root) == digest(folder)
    assert held_by(machine) == []


def held_by(machine: Path) -> list[str]:
    """The keys and values of this machine's stores in which something of Alice stands."""
    found = list[str]()
    for path in machine.glob("*/rows"):
        store = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        try:
            assert {one.name for one in path.glob("*.sst")} == {
                Path(one["name"]).name for one in store.live_files()
            }, "a file that is no longer used may hold what was erased"
            parts = [part for item in store.items() for part in item if isinstance(part, bytes)]
        finally:
            store.close()
        found += [f"{path}: {mark}" for mark in MARKS if any(mark.encode() in one for one in parts)]
    return found


def of_a_new_machine(root: ObjectPath, machine: Path) -> list[str]:
    """What such a machine would hold."""
    shutil.rmtree(machine)
    with writing(root):
        pass
    return held_by(machine)


def base_of(root: ObjectPath) -> str:
    return f"{RunLog(root).newest().base:08}"


def with_store() -> dict[str, str]:
    return environment(**here())


def counted(receipt: dict[str, Any]) -> dict[str, Any]:
    tables = {name: one["erased"] for name, one in receipt["tables"].items()}
    return {**receipt, "tables": tables, "elsewhere": ""}


@pytest.mark.nightly
@pytest.mark.parametrize("nth", soaked([40, *range(5, 100, 10)], 1))
def test_law_8_a_killed_forget_keeps_run_out_until_another_has_ended_it(
    nth: int, s3: S3Server, root: ObjectPath, file: Path, machine: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    local.run([str(file)], root)
    local.run([str(file)], tmp_path / "folder")
    forget(tmp_path / "folder", "default", ALICE)
    if killed(s3, root, nth):
        assert "`turnfold forget` has begun here" in refused_run(file, root)
        looked = said("doctor", "--history", str(root))
        assert "a `forget` has begun, and not ended" in looked
    shutil.rmtree(machine)
    forget(root, "default", ALICE)
    assert held(s3, root) == held_by(machine) == of_a_new_machine(root, machine) == []
    assert {one[:8] for one in objects(root) if not one.endswith(".json")} == {base_of(root)}
    assert digest(root) == digest(tmp_path / "folder")


def refused_run(file: Path, root: ObjectPath) -> str:
    with pytest.raises(ConfigurationError) as refusal:
        local.run([str(file)], root)
    return str(refusal.value)


def killed(s3: S3Server, root: ObjectPath, nth: int) -> bool:
    """Whether a `forget` was killed at its nth change, before the last."""
    plan = Killer(nth, done=True)
    with FaultyStore(s3.port, plan) as store:
        plan.process = subprocess.Popen(
            [*(PROGRAM, "forget", ALICE, "--yes"), "--history", str(root)],
            env=environment(**s3.environ(store.port), **here()),
            stdout=subprocess.DEVNULL,
        )
        assert plan.process.wait(120) in (0, -signal.SIGKILL)
    return plan.process.returncode != 0


@pytest.mark.nightly
def test_what_reads_and_looks_after_a_bucket_knows_one_of_run(
    root: ObjectPath, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command says of the bucket what it says of a folder."""
    monkeypatch.setenv(desk.SETTING, str(tmp_path / "desks"))
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
        there, here_ = (said(*command, "--history", str(one), "--json") for one in (root, folder))
        assert there == here_, command
    exported, copied = (said("export", "bob", "--history", str(one)) for one in (root, folder))
    assert exported.splitlines()[1:] == copied.splitlines()[1:]  # the first says when it was made
    looked = said("doctor", "--history", str(root))
    assert "written by run; live generation: root" in looked and "batches: 2" in looked
    said("compact", "--history", str(root))
    assert digest(root) == digest(folder)
    said("backfill", "--generation", "plain", "--history", str(root))
    assert digest(ObjectPath(f"{root}/generations/plain"))["memory"] == digest(folder)["memory"]
    listed = json.loads(said("generations", "list", "--history", str(root), "--json"))
    assert [(one["name"], one["role"]) for one in listed] == [("root", "live"), ("plain", "")]
    assert "goes on writing this history" in refused("promote", "plain", "--history", str(root))
    said("generations", "drop", "plain", "--history", str(root))
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
    run = ("run", str(file), "--history", str(root))
    again = [CliRunner().invoke(cli.app, run).stderr for _ in range(2)][1]
    assert "nothing new" in again and "name another prefix" in again and "backfill" not in again
    with pytest.raises(ConfigurationError, match="fold the same files into a folder and extract"):
        extract(root, cast(LlmSettings, None))


def said(*command: str) -> str:
    """What a command says on stdout, called in this process."""
    done = CliRunner().invoke(cli.app, [*command])
    assert done.exit_code in (0, 1) if command[0] == "doctor" else done.exit_code == 0, done.output
    return done.stdout
