"""`backfill` of a history in a bucket: the generation is that of a folder, whoever is forgotten or
at work at the same time."""

from pathlib import Path

import pytest

from sinks.digest import digest
from sinks.forgotten import Forgotten
from sinks.generation import FOLDER, find, names
from sinks.links import commit
from sinks.object_store import ObjectPath
from sinks.root import HistoryError
from streams.apps.maintenance import forget
from streams.errors import ConfigurationError
from streams.files.manifest import Settings, load
from streams.generations import desk, in_store
from tests.acceptance.test_laws import ALICE, MARKS
from tests.command import files_holding
from tests.object_store.cli import refusal, turnfold
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import Pieces, sink, traces
from tests.tiers import soaked

NONE = Settings(extractor="none")


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
def test_what_is_refused_says_what_to_do(sunk: ObjectPath, desks: Path, pieces: Pieces) -> None:
    def backfill(*options: str) -> str:
        return refusal("backfill", *options, "--history", str(sunk))

    sink(sunk / FOLDER / "sunk", pieces)
    for options, words in (
        (("--generation", "root"), "name another generation"),
        (("--generation", "live"), "cannot name a generation"),
        (("--generation", "sunk"), "is written by sinks; name another one"),
        (("--generation", "new", "--part", "0/2"), "leave it out"),
    ):
        assert words in backfill(*options)
    assert names(sunk) == ["root", "sunk"]
    in_store.backfill_in_store(sunk, "new", NONE)
    assert "begun with other settings" in backfill("--generation", "new")
    assert "--generation new" in refusal("promote", "new", "--history", str(sunk))
    with pytest.raises(HistoryError, match="has made it; name another"):
        sink(sunk / FOLDER / "new", pieces)
    done = turnfold("generations", "drop", "new", "--history", str(sunk))
    assert done.code == 0, done.err
    assert names(sunk) == ["root", "sunk"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "point", soaked(["uploaded events", "claimed", "published", "copied", "folded"], 1)
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
    assert remains(s3, sunk, desks) == []
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
    assert remains(s3, sunk, desks) == []
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
    assert remains(s3, sunk, desks) == []
    assert Forgotten(sunk).notes and Forgotten(find(sunk, "new")).notes
    in_store.backfill_in_store(sunk, "new", NONE)
    assert digest(find(sunk, "new"))["memory"] == digest(sunk)["memory"]


def remains(s3: S3Server, root: ObjectPath, desks: Path) -> list[str]:
    """The files in which something of Alice is."""
    return [*traces(s3, root), *(file for mark in MARKS for file in files_holding(desks, mark))]
