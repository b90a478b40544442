"""`run` into a bucket, killed at any request that changes something there, done or not done: the
next one goes on, on this machine or another. So over a store that fails."""

import os
import random
import shutil
import signal
import subprocess
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from sinks.digest import digest
from sinks.object_store import ObjectPath
from streams.files import local, store_folder
from streams.files.run_log import RunLog
from tests.command import PROGRAM, checked, environment, start, turnfold
from tests.object_store.faulty_store import FAULTS, FaultyStore, Plan, often
from tests.object_store.s3_server import S3Server
from tests.object_store.test_store_run import (
    Lines,
    doubled,
    grown,
    lines,
    machine,
    objects,
    parts,
    values,
)
from tests.tiers import soaked

__all__ = ["lines", "machine"]
pytestmark = pytest.mark.nightly
CHANGES = ("PUT", "POST", "DELETE")


class Killer:
    """A plan of a store: kills the process that asks for its nth change, which is `done` or not."""

    def __init__(self, nth: int, done: bool) -> None:
        self.left, self.done = nth, done
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self, method: str, path: str, body: bytes) -> str:
        self.left -= method in CHANGES
        if self.left or method not in CHANGES or self.process is None:
            return "none"
        self.process.kill()
        self.process.wait()
        return "none" if self.done else "denied"


def killed(s3: S3Server, file: Path, root: ObjectPath, nth: int, done: bool) -> bool:
    """Whether a run was killed at its nth change, before it ended."""
    plan = Killer(nth, done)
    with FaultyStore(s3.port, plan) as store:
        plan.process = subprocess.Popen(
            [PROGRAM, "run", str(file), "--history", str(root)],
            env=environment(**s3.environ(store.port), **here()),
            stdout=subprocess.DEVNULL,
        )
        code = plan.process.wait(120)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def here() -> dict[str, str]:
    return {store_folder.SETTING: os.environ[store_folder.SETTING]}


def check(root: ObjectPath, file: Path, folder: Path) -> None:
    """The next run ends it, and the bucket holds what a folder holds that nobody has disturbed."""
    local.run([str(file)], root)
    checked(local.run([str(file)], folder))
    assert digest(root) == digest(folder)
    assert doubled(root) == []
    assert values(root)["counts"] == values(folder)["counts"]
    log = RunLog(root)
    notes = [log.of(number) for number in range(1, log.newest().number + 1)]
    assert not any(log.tables(note) for note in notes)  # else it is what no note speaks of


Struck = tuple[int, bool, bool]
"""At which of the requests; whether that one was done; whether another machine goes on."""
SHOWN: list[Struck] = [(9, False, True)]
EVERY = [*product(range(1, 28, 2), (True, False), (True, False))]
SURELY = 15
"""So many requests a batch makes at least."""


@pytest.mark.parametrize(
    "struck", soaked([*SHOWN, *(one for one in EVERY if one not in SHOWN)], len(SHOWN))
)
def test_law_3_a_run_killed_at_a_request_goes_on(
    struck: Struck, s3: S3Server, root: ObjectPath, lines: Lines, machine: Path, tmp_path: Path
) -> None:
    """In its second batch."""
    nth, done, moves = struck
    first, more = parts(lines, 2)
    file = grown(tmp_path / "records.ndjson", first)
    local.run([str(file)], root)
    grown(file, more)
    assert killed(s3, file, root, nth, done) or nth > SURELY
    if moves:
        shutil.rmtree(machine)
    check(root, file, tmp_path / "folder")


@pytest.mark.soak
def test_law_3_the_first_run_killed_at_a_request_goes_on(
    s3: S3Server, root: ObjectPath, lines: Lines, tmp_path: Path
) -> None:
    """Where nothing is there yet: the marker, the first note, the tables that are made."""
    file = grown(tmp_path / "records.ndjson", lines[:40])
    for nth in (1, 2, 3, 5):
        assert killed(s3, file, root, nth, nth % 2 == 0)
    check(root, file, tmp_path / "folder")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(int(os.environ.get("RUN_SEEDS", "4"))))
def test_law_3_a_run_that_is_killed_again_and_again_over_a_store_that_fails(
    seed: int, s3: S3Server, root: ObjectPath, lines: Lines, machine: Path, tmp_path: Path
) -> None:
    """A file that grows; one request in thirty is throttled, fails before or after it was done, is
    slow or breaks off. Each third time another machine goes on."""
    dice = random.Random(seed)
    file, kills = tmp_path / "records.ndjson", 0
    with FaultyStore(s3.port, often(1 / 30, seed)) as store:
        for number, part in enumerate(parts(lines, 8)):
            grown(file, part)
            process = start(
                "run", file, "--history", str(root),
                env=environment(**s3.environ(store.port), **here()),
            )  # fmt: skip
            with suppress(subprocess.TimeoutExpired):
                process.wait(dice.uniform(1.0, 6.0))
            kills += process.poll() is None
            process.kill()
            said = process.communicate()[1].decode()
            assert process.returncode in (0, -signal.SIGKILL), said
            if number % 3 == 2:
                shutil.rmtree(machine, ignore_errors=True)  # it may not be there yet
    assert kills
    check(root, file, tmp_path / "folder")


def test_a_store_that_fails_loses_and_doubles_nothing(
    s3: S3Server, root: ObjectPath, lines: Lines, tmp_path: Path
) -> None:
    """As above, without kills. Half an upload is never taken for a whole one."""
    file = tmp_path / "records.ndjson"
    with FaultyStore(s3.port, often(1 / 12)) as store:
        done = turnfold(
            "run", grown(file, lines), "--history", str(root),
            env=environment(**s3.environ(store.port), **here()),
        )  # fmt: skip
    assert done.code == 0, done.err
    assert set(store.counts) == {"none", *FAULTS}, store.counts
    check(root, file, tmp_path / "folder")


def test_an_outage_ends_the_command_and_the_next_goes_on(
    s3: S3Server, root: ObjectPath, lines: Lines, tmp_path: Path
) -> None:
    """From its note on the store refuses everything."""
    file = grown(tmp_path / "records.ndjson", lines)
    with FaultyStore(s3.port, from_note_on("00000002.json")) as store:
        done = turnfold(
            "run", file, "--history", str(root),
            env=environment(**s3.environ(store.port), **here()),
        )  # fmt: skip
    assert done.code == 1 and done.err.count("\n") == 1, (done.code, done.err)
    assert any(one.endswith(".tables") for one in objects(root))
    check(root, file, tmp_path / "folder")


def from_note_on(name: str) -> Plan:
    seen = False

    def plan(method: str, path: str, body: bytes) -> str:
        nonlocal seen
        if seen:
            return "denied"
        seen = method == "PUT" and name in path
        return "none"

    return plan
