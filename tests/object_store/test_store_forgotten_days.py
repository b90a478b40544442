"""Erasure in a bucket's generation of some days, whole or still being made: what was made of a turn
goes with it, also where the turn itself lies in a day that the generation leaves out."""

from pathlib import Path

import pytest

from sinks.generation import FOLDER, names
from sinks.object_store import ObjectPath
from streams.apps.maintenance import forget
from streams.errors import TurnfoldError
from streams.generations import in_store
from tests.acceptance.test_forgotten_days import ANNS, BOBS, DAYS, SECRET
from tests.command import files_holding, rows
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import read, sink
from tests.tiers import soaked

POINTS = soaked(["uploaded plans", "folded", "claimed", "published"], 2)


@pytest.fixture
def sunk(root: ObjectPath, desks: Path, tmp_path: Path) -> ObjectPath:
    sink(root, read([*ANNS, *BOBS], tmp_path))
    return root


def held(s3: S3Server, root: ObjectPath) -> list[str]:
    return files_holding(s3.folder / "memory" / root.key, SECRET)


def test_law_8_what_was_made_of_a_turn_goes_from_a_generation_without_its_day(
    sunk: ObjectPath, s3: S3Server
) -> None:
    in_store.backfill_in_store(sunk, "days", DAYS)
    days = sunk / FOLDER / "days"
    assert rows(days, "SELECT count(*) FROM plans") == [(4,)]
    receipt = forget(sunk, "default", "ann")
    assert receipt["generations"]["days"]["plans"]["erased"] == 3
    assert held(s3, sunk) == []
    assert rows(days, "SELECT body_text FROM state_current") == [("Bob fishes.",)]
    assert rows(days, "SELECT plan_id FROM plans") == [("own",)]


@pytest.mark.nightly
@pytest.mark.parametrize("point", POINTS)
def test_law_8_one_that_is_being_made_meanwhile_holds_nothing_either(
    point: str, sunk: ObjectPath, s3: S3Server
) -> None:
    """It is made to its end without the person, or is dropped, and `backfill` says so."""
    seen = list[str]()

    def passed(now: str) -> None:
        if now == point and not seen:
            seen.append(now)
            forget(sunk, "default", "ann")

    try:
        in_store.backfill_in_store(sunk, "days", DAYS, passed=passed)
    except TurnfoldError:
        assert names(sunk) == ["root"]
    assert seen == [point]
    forget(sunk, "default", "ann")  # what it had uploaded, and no commit named
    assert held(s3, sunk) == []
    in_store.backfill_in_store(sunk, "days", DAYS)
    days = sunk / FOLDER / "days"
    assert rows(days, "SELECT body_text FROM state_current") == [("Bob fishes.",)]
