"""`backfill` of a history in a bucket: the generation is that of a folder, whoever is killed,
forgotten or at work meanwhile."""

import os
from pathlib import Path

import pytest

from sinks.digest import digest
from sinks.forgotten import Forgotten
from sinks.generation import FOLDER, find, names
from sinks.links import commit
from sinks.maintenance import compact
from sinks.object_store import ObjectPath
from sinks.root import HistoryError
from streams.apps.maintenance import forget
from streams.errors import ConfigurationError
from streams.files.manifest import Settings, load
from streams.generations import desk, in_store, rebuild
from tests.acceptance.test_laws import ALICE, MARKS
from tests.command import environment, files_holding, turnfold
from tests.object_store.faulty_store import FaultyStore, often
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import Pieces, company_and_others, sink
from tests.object_store.test_store_forget import copy_of, killed
from tests.tiers import soaked

NONE = Settings(extractor="none")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    return company_and_others(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def folder(pieces: Pieces, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What sinks wrote into a folder, with the generation `new`."""
    root = tmp_path_factory.mktemp("folder") / "h"
    sink(root, pieces)
    rebuild.backfill(root, "new", NONE)
    return root


@pytest.fixture
def desks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(desk.SETTING, str(tmp_path / "desks"))
    return tmp_path / "desks"


@pytest.fixture
def sunk(root: ObjectPath, pieces: Pieces, desks: Path) -> ObjectPath:
    sink(root, pieces)
    return root


def files(place: Path) -> list[Path]:
    return [one for one in place.rglob("*") if one.is_file() and one.stat().st_size]


@pytest.mark.nightly
def test_a_generation_is_that_of_the_folder(
    sunk: ObjectPath, folder: Path, desks: Path, tmp_path: Path
) -> None:
    asked = ("backfill", "--generation", "new", "--extractor", "none", "--json")
    done = turnfold(*asked, "--history", str(sunk))
    assert done.code == 0, done.err
    here = load(folder / FOLDER / "new")
    there = load(sunk / FOLDER / "new")
    assert here is not None and there is not None
    assert (there.counts, there.stage, there.made_of) == (here.counts, "complete", "root")
    assert there.settings == here.settings
    assert digest(sunk / FOLDER / "new") == digest(folder / FOLDER / "new")
    assert files(desks) == []
    differ = ("diff", "live", "new", "--json")
    same = turnfold(*differ, "--history", str(sunk)).json()
    assert same["kinds"] == turnfold(*differ, "--history", folder).json()["kinds"]
    again = turnfold(*asked, "--history", str(sunk))
    assert again.code == 0, again.err
    assert again.json()["passes"] == 2
    assert digest(sunk / FOLDER / "new") == digest(folder / FOLDER / "new")


@pytest.mark.nightly
def test_what_is_refused_says_what_to_do(
    sunk: ObjectPath, desks: Path, pieces: Pieces, root: ObjectPath
) -> None:
    sink(sunk / FOLDER / "sunk", pieces)
    for asked, word in (
        (("--generation", "root"), "name another generation"),
        (("--generation", "live"), "cannot name a generation"),
        (("--generation", "sunk"), "is written by sinks; name another one"),
        (("--generation", "new", "--part", "0/2"), "leave it out"),
    ):
        refused = turnfold("backfill", *asked, "--history", str(sunk))
        assert (refused.code, len(refused.err.splitlines())) == (3, 1), refused.err
        assert word in refused.err
    assert names(sunk) == ["root", "sunk"]
    in_store.backfill_in_store(sunk, "new", NONE)
    refused = turnfold("backfill", "--generation", "new", "--history", str(sunk))
    assert (refused.code, "begun with other settings" in refused.err) == (3, True)
    refused = turnfold("promote", "new", "--history", str(sunk))
    assert (refused.code, "--generation new" in refused.err) == (3, True)
    with pytest.raises(HistoryError, match="has made it; name another"):
        sink(sunk / FOLDER / "new", pieces)
    done = turnfold("generations", "drop", "new", "--history", str(sunk))
    assert done.code == 0, done.err
    assert names(sunk) == ["root", "sunk"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "point", soaked(["claimed", "uploaded events", "published", "copied", "folded"], 2)
)
def test_law_8_who_is_forgotten_meanwhile_is_in_no_generation(
    point: str, sunk: ObjectPath, s3: S3Server, desks: Path
) -> None:
    seen = list[str]()

    def passed(now: str) -> None:
        if now == point and not seen:
            seen.append(now)
            forget(sunk, "default", ALICE)

    in_store.backfill_in_store(sunk, "new", NONE, passed=passed)
    assert seen == [point]
    assert held(s3, sunk, desks) == set()
    new = find(sunk, "new")
    assert digest(new)["memory"] == digest(sunk)["memory"]


@pytest.mark.nightly
def test_law_8_a_commit_that_is_on_its_way_is_refused(
    sunk: ObjectPath, s3: S3Server, desks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the notes and the commit."""
    seen = list[str]()

    def late(delta: object, table: str, *given: object) -> None:
        if table == "events" and not seen:
            seen.append(table)
            forget(sunk, "default", ALICE)
        commit(delta, table, *given)  # type: ignore[arg-type]

    monkeypatch.setattr("streams.generations.in_store.commit", late)
    in_store.backfill_in_store(sunk, "new", NONE)
    assert seen == ["events"]
    forget(sunk, "default", ALICE)  # what it had uploaded, and no commit named
    assert held(s3, sunk, desks) == set()
    assert digest(find(sunk, "new"))["memory"] == digest(sunk)["memory"]


@pytest.mark.nightly
def test_who_begins_to_publish_later_is_the_one(
    sunk: ObjectPath, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines make the same generation."""
    seen = list[str]()

    def passed(now: str) -> None:
        if now == "named dead_letters":
            seen.append(now)
            monkeypatch.setenv(desk.SETTING, str(tmp_path / "elsewhere"))
            in_store.backfill_in_store(sunk, "new", NONE)

    with pytest.raises(ConfigurationError, match="another `turnfold backfill` publishes it"):
        in_store.backfill_in_store(sunk, "new", NONE, passed=passed)
    assert seen
    assert digest(find(sunk, "new")) == digest(folder / FOLDER / "new")


@pytest.mark.nightly
def test_law_8_forget_clears_a_desk_that_a_killed_command_has_left(
    sunk: ObjectPath, s3: S3Server, desks: Path
) -> None:
    def stop(now: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_store.backfill_in_store(sunk, "new", NONE, passed=stop)
    assert files_holding(desks, MARKS[0])
    assert {one.stat().st_mode & 0o777 for one in desks.iterdir()} == {0o700}
    forget(sunk, "default", ALICE)
    assert held(s3, sunk, desks) == set()
    assert Forgotten(sunk).notes and Forgotten(find(sunk, "new")).notes
    in_store.backfill_in_store(sunk, "new", NONE)
    assert digest(find(sunk, "new"))["memory"] == digest(sunk)["memory"]


def held(s3: S3Server, root: ObjectPath, desks: Path) -> set[str]:
    """The files in which something of Alice still stands."""
    places = (s3.folder / "memory" / root.key, desks)
    return {file for place in places for mark in MARKS for file in files_holding(place, mark)}


# --- killed, and over a store that fails ----------------------------------------------------------


@pytest.mark.nightly
def test_a_killed_backfill_is_ended_by_the_next(
    sunk: ObjectPath, s3: S3Server, folder: Path, desks: Path
) -> None:
    """Killed at points of its whole way, each time over a history that has nothing of it."""
    whole = s3.folder / "memory" / sunk.key
    asked = ("backfill", "--generation", "new", "--extractor", "none")
    _, changes = killed(s3, copy_of(sunk, whole, "whole"), 10_000, *asked)
    assert changes > 40
    kills = int(os.environ.get("BACKFILL_KILLS", "4"))
    for turn in range(kills):
        at = copy_of(sunk, whole, str(turn))
        assert killed(s3, at, 1 + turn * changes // kills, *asked)[0]
        done = turnfold(*asked, "--history", str(at))
        assert done.code == 0, done.err
        assert digest(find(at, "new")) == digest(folder / FOLDER / "new")


@pytest.mark.soak
@pytest.mark.nightly
def test_a_backfill_that_is_killed_again_and_again_ends(
    sunk: ObjectPath, s3: S3Server, folder: Path, desks: Path
) -> None:
    asked = ("backfill", "--generation", "new", "--extractor", "none")
    kills, nth = 0, 6
    while killed(s3, sunk, nth, *asked)[0]:
        kills, nth = kills + 1, nth + 8
    assert kills > 2
    assert digest(find(sunk, "new")) == digest(folder / FOLDER / "new")
    assert files(desks) == []


@pytest.mark.soak
@pytest.mark.nightly
def test_a_store_that_fails_loses_and_doubles_nothing(
    sunk: ObjectPath, s3: S3Server, folder: Path, desks: Path
) -> None:
    """One request in twenty is throttled, fails before or after it was done, is slow or breaks
    off. `compact` is at work, too."""
    with FaultyStore(s3.port, often(1 / 20)) as store:
        there = environment(**s3.environ(store.port))
        asked = ("backfill", "--generation", "new", "--extractor", "none", "--history", str(sunk))
        done = turnfold(*asked, env=there)
        assert done.code == 0, done.err
    assert sum(store.counts.values()) - store.counts["none"] > 5
    compact(find(sunk, "new"))
    assert digest(find(sunk, "new")) == digest(folder / FOLDER / "new")
