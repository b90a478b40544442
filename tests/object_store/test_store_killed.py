"""A command that is killed at any request that changes a bucket, done or not done, is ended by the
next one, on this machine or another. So is one over a store that fails, and nothing is lost or
doubled."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from sinks.digest import digest
from sinks.generation import DROPPED, FOLDER, names
from sinks.history_root import is_marked
from sinks.object_store import ObjectPath
from tests.acceptance.test_guarantees import ALICE
from tests.object_store.cli import printed, refusal
from tests.object_store.faulty_store import often
from tests.object_store.killing import NEVER, Ending, kill
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import Erased, sink, traces
from tests.tiers import soaked

pytestmark = pytest.mark.nightly

Kill = tuple[int, bool]
"""At which of its changes; whether that one is done."""


@dataclass
class Bucket:
    """A history in a bucket, and what the commands are given."""

    root: ObjectPath
    s3: S3Server
    written: str
    folder: Path
    erased: Erased
    local: Path


class Case:
    """A command, the history it is called on, and what has to be there at its end."""

    command: tuple[str | Path, ...]
    kills: ClassVar[tuple[Kill, Kill]]
    """Of one call, and of the next."""
    step: ClassVar[int] = 12
    """How many changes more each call may make that is killed again and again."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket, self.root = bucket, bucket.root

    def prepare(self) -> None:
        self.bucket.s3.copy(self.bucket.written, self.root.key)

    def between(self) -> None:
        """What others see of it that was killed."""

    def end(self) -> None:
        printed(*self.command, "--history", str(self.root))

    def check(self) -> None:
        raise NotImplementedError

    def killed(self, nth: int, *, done: bool = True, faults: float = 0.0) -> Ending:
        otherwise = {"otherwise": often(faults)} if faults else {}
        return kill(self.bucket.s3, self.root, self.command, nth, done=done, **otherwise)


class Forget(Case):
    """What sinks have written is erased."""

    command = ("forget", ALICE, "--yes")
    kills = (10, False), (45, True)
    step = 24

    def check(self) -> None:
        assert traces(self.bucket.s3, self.root) == []
        assert digest(self.root) == digest(self.bucket.erased.folder)


class Drop(Case):
    """A dropped generation leaves nothing, and its name is free again."""

    command = ("generation", "drop", "--yes", "new", "--keep-topics")
    kills = (1, True), (3, False)
    step = 2

    def prepare(self) -> None:
        super().prepare()
        self.bucket.s3.copy(self.bucket.written, f"{self.root.key}/{FOLDER}/new")

    def between(self) -> None:
        new = self.root / FOLDER / "new"
        if is_marked(new) and (new / DROPPED).exists():
            assert "is being dropped" in refusal(
                "generation", "promote", "new", "--history", str(self.root)
            )

    def check(self) -> None:
        new = self.root / FOLDER / "new"
        assert names(self.root) == ["root"] and not new.is_dir()
        sink(new, {"events": []})
        assert names(self.root) == ["root", "new"]


CASES: dict[str, Callable[[Bucket], Case]] = {"forget": Forget, "drop": Drop}


@pytest.fixture
def bucket(
    root: ObjectPath, s3: S3Server, written: str, folder: Path, erased: Erased, tmp_path: Path
) -> Bucket:
    return Bucket(root, s3, written, folder, erased, tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("forget", marks=pytest.mark.component),
        *(name for name in CASES if name != "forget"),
    ],
)
def test_guarantees_3_and_8_what_is_killed_twice_is_ended_by_the_third(
    name: str, bucket: Bucket
) -> None:
    case = CASES[name](bucket)
    case.prepare()
    for nth, done in case.kills:
        assert case.killed(nth, done=done).killed
        case.between()
    case.end()
    case.check()


@pytest.mark.soak
@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_guarantees_3_and_8_what_is_killed_anywhere_is_ended_by_the_next(
    name: str, done: bool, bucket: Bucket
) -> None:
    """At points of its whole way, each time on what was there before."""
    case, at = CASES[name](bucket), bucket.s3.lies_at(bucket.root.key)
    case.prepare()
    at.mkdir(parents=True, exist_ok=True)
    before = shutil.copytree(at, bucket.local / "before")
    changes, count = case.killed(NEVER).changes, int(os.environ.get("STORE_KILLS", "7"))
    for share in range(count):
        shutil.rmtree(at)
        shutil.copytree(before, at)
        assert case.killed(1 + share * changes // count, done=done).killed
        case.end()
        case.check()


@pytest.mark.soak
@pytest.mark.parametrize("name", CASES)
def test_guarantees_3_and_8_what_is_killed_again_and_again_over_a_store_that_fails_ends(
    name: str, bucket: Bucket
) -> None:
    """One request in thirty fails before or after it was done, is slow or breaks off."""
    case = CASES[name](bucket)
    case.prepare()
    kills, nth = 0, case.step
    while case.killed(nth, faults=1 / 30).killed:
        kills, nth = kills + 1, nth + case.step
    assert kills > 1
    case.check()


@pytest.mark.parametrize("name", soaked(CASES, 1))
def test_guarantees_3_and_8_a_store_that_fails_loses_and_doubles_nothing(
    name: str, bucket: Bucket
) -> None:
    """Half an upload is never taken for a whole one."""
    case = CASES[name](bucket)
    case.prepare()
    ending = case.killed(NEVER, faults=1 / 12)
    assert not ending.killed
    assert sum(ending.faults.values()) > ending.faults["none"]
    case.check()
