"""A generation that several commands make in parts is the one that a single command makes."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from schemas.rows import TABLES
from sinks.diff import diff
from sinks.digest import digest
from sinks.generation import generation_path
from sinks.hard_links import files_at
from sinks.history_root import open_root
from streams.apps import compact_and_forget
from streams.errors import ConfigurationError, TurnfoldError
from streams.files import file_runner
from streams.files.manifest import Settings, load
from streams.files.open_generation import locked, writing
from streams.generations import in_parts
from streams.generations.folding import fold_part
from streams.generations.in_parts import Folded, Part, backfill_part
from streams.generations.promotion import drop, list_generations, promote, rollback
from streams.generations.rebuild import backfill
from tests.command import ndjson, rows, turn
from tests.planned import CONVERSATIONS
from tests.waiting import WITHIN

pytestmark = pytest.mark.nightly

SAME = Settings()
CHANGED = Settings(extractor="rules", constants={"max_intents": 2})


@pytest.fixture
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a history of real data."""
    copy = tmp_path / "history"
    if request.param == "sample":
        file_runner.run([str(CONVERSATIONS)], copy)
    else:
        shutil.copytree(request.getfixturevalue(f"{request.param}_run") / "history", copy)
    return copy


def in_three(history: Path, name: str = "again", settings: Settings = SAME) -> Folded:
    """All parts, not in their order; what the last one answers."""
    for number in (2, 0):
        made = backfill_part(history, name, settings, Part(number, 3))
        assert made.generation.ended_at is None
    return backfill_part(history, name, settings, Part(1, 3))


def differing(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return {name for name in one["tables"] if one["tables"][name] != other["tables"][name]}


@pytest.mark.parametrize("history", ["ledger", "sgd"], indirect=True)
def test_guarantee_1_parts_make_the_memory_that_was_live(history: Path) -> None:
    live = digest(history)
    made, counts = in_three(history)
    assert counts is not None and made.ended_at is not None
    assert made.counts["read"] == made.records == made.parts[-1] > 0
    again = digest(generation_path(history, "again"))
    assert differing(live, again) == set()
    assert (again["memory"], again["log"]) == (live["memory"], live["log"])
    assert {one.name for one in generation_path(history, "again").glob("_*")} == {
        "_generation.json",
        "_store",
    }
    assert promote(history, "again").caught_up == 0
    assert digest(history)["log"] == live["log"]


@pytest.mark.parametrize("history", ["sample"], indirect=True)
def test_guarantee_1_parts_with_other_settings_make_what_one_command_makes(history: Path) -> None:
    whole = backfill(history, "whole", CHANGED)
    made = in_three(history, "parted", CHANGED).generation
    assert made.counts == whole.counts
    one, other = (digest(generation_path(history, name)) for name in ("whole", "parted"))
    assert differing(one, other) == set()
    assert (one["memory"], one["log"]) == (other["memory"], other["log"])
    assert one["memory"] != digest(history)["memory"]


def test_people_who_share_sessions_are_in_one_part(tmp_path: Path) -> None:
    """They form one ring: each is in a session with the next. The others are alone."""
    ring = [turn(f"e{n}-{side}", session_id=f"s{n}", user_id=f"u{(n + side) % 40}",
                 user_input="I live in Oslo.", occurred_at=f"2026-01-01T00:{n:02}:{side:02}Z")
            for n in range(40) for side in (0, 1)]  # fmt: skip
    alone = [turn(f"a{n}", session_id=f"a{n}", user_id=f"a{n}", user_input="I live in Rome.")
             for n in range(40)]  # fmt: skip
    file_runner.run([str(ndjson(tmp_path / "said.ndjson", ring + alone))], tmp_path / "history")
    history = tmp_path / "history"
    counts = [backfill_part(history, "again", SAME, Part(number, 4)).counts for number in range(4)]
    read = [one.get("read", 0) for one in counts if one is not None]
    assert sum(read) == 120 and max(read) >= 80
    assert digest(generation_path(history, "again"))["log"] == digest(history)["log"]


def test_more_parts_than_people_and_an_empty_history(tmp_path: Path) -> None:
    history = tmp_path / "history"
    for said in ([], [turn("e1")]):
        file_runner.run([str(ndjson(tmp_path / "said.ndjson", said))], history)
        name = f"again-{len(said)}"
        for number in range(3):
            made = backfill_part(history, name, SAME, Part(number, 3)).generation
        assert made.ended_at is not None and made.missing_parts == []
        assert digest(generation_path(history, name)) == digest(history)
    assert rows(generation_path(history, name), "SELECT event_id FROM events") == [("e1",)]


def test_what_comes_between_the_parts_is_read_afterwards(growing: Any, tmp_path: Path) -> None:
    history, quiet = tmp_path / "history", tmp_path / "quiet"
    growing(3_000)
    for number in range(3):
        made = backfill_part(history, "again", SAME, Part(number, 3)).generation
        growing(500)
    assert made.counts["read"] == 3_000  # what there was when the first part began
    assert backfill(history, "again", SAME).counts["read"] == 4_500
    growing(500)
    assert promote(history, "again").caught_up == 500
    growing(500)
    assert rollback(history).caught_up == 500
    file_runner.run([str(tmp_path / "turns.ndjson")], quiet)
    for name in ("root", "again"):
        assert promote(history, name).current == name
        assert differing(digest(quiet), digest(generation_path(history, name))) == set()


def test_a_backfill_afterwards_shares_what_is_equal(growing: Any, tmp_path: Path) -> None:
    """Parts share what was said only: to compare the rest would be one command's work."""
    history = tmp_path / "history"
    growing(3_000, 1_000)
    in_three(history)
    root, again = history, generation_path(history, "again")

    def own(name: str) -> set[str]:
        theirs = {one.path for one in files_at(root / name)}
        return {one.path for one in files_at(again / name)} - theirs

    assert own("events") == set()
    assert {"sessions", "links"} <= {name for name in TABLES if own(name)}
    backfill(history, "again", SAME)
    assert {name for name in TABLES if own(name)} <= {"profiles"}
    assert digest(again)["log"] == digest(root)["log"]
    kinds = diff(root, again, samples=0)["kinds"]
    assert sum(one["same"] for one in kinds) > 100
    assert not any(one["added"] + one["gone"] + one["changed"] for one in kinds)


def test_a_part_that_fails_goes_on_without_doubling(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    growing(3_000)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("streams.generations.rebuild.gather", full)
        with pytest.raises(TurnfoldError, match=r"No space left on device.*same command again"):
            backfill_part(history, "again", SAME, Part(0, 2))
    with monkeypatch.context() as patched:
        patched.setattr("streams.files.store.Store.export", full)
        with pytest.raises(TurnfoldError, match=r"No space left on device.*same command again"):
            backfill_part(history, "again", SAME, Part(0, 2))
    made, counts = backfill_part(history, "again", SAME, Part(0, 2))
    assert counts is not None and counts["read"] == counts["applied"] == made.parts[0]
    for place in ("rebuild.adopt", "in_parts.take_rows", "in_parts.adopt_parts", "rebuild.save"):
        with monkeypatch.context() as patched:
            patched.setattr(f"streams.generations.{place}", full)
            with pytest.raises(TurnfoldError, match="No space left on device"):
                backfill_part(history, "again", SAME, Part(1, 2))
        with pytest.raises(ConfigurationError, match="all are folded: run any of them again"):
            promote(history, "again")
    assert backfill_part(history, "again", SAME, Part(0, 2)).generation.ended_at is not None
    assert digest(generation_path(history, "again"))["log"] == digest(history)["log"]


def test_guarantee_8_forget_drops_a_generation_of_which_parts_are_missing(
    growing: Any, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    growing(1_000)
    backfill_part(history, "again", SAME, Part(0, 2))
    ((user,),) = rows(history, "SELECT user_id FROM events LIMIT 1")
    receipt = compact_and_forget.forget(history, "default", user)
    assert receipt["generations"] == {"again": "dropped: it was not finished"}
    made = backfill_part(history, "again", SAME, Part(1, 2)).generation
    assert made.missing_parts == ["0/2"]  # begun anew: what was folded held that person
    backfill_part(history, "again", SAME, Part(0, 2))
    assert digest(generation_path(history, "again"))["log"] == digest(history)["log"]


def test_while_a_part_is_folded_nobody_takes_its_generation_away(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, met = tmp_path / "history", []
    growing(100)

    def meeting(*given: Any) -> dict[str, int]:
        with pytest.raises(ConfigurationError, match=r"its part 0 is being folded"):
            drop(history, "again")
        with pytest.raises(ConfigurationError, match=r"another turnfold.*`backfill`"):
            compact_and_forget.forget(history, "default", "nobody")
        with pytest.raises(ConfigurationError, match=r"0/2 .*folded by another process"):
            backfill_part(history, "again", SAME, Part(0, 2))
        monkeypatch.setattr(in_parts, "fold_part", fold_part)
        backfill_part(history, "again", SAME, Part(1, 2))  # the others go on
        met.append(True)
        return fold_part(*given)

    monkeypatch.setattr(in_parts, "fold_part", meeting)
    made = backfill_part(history, "again", SAME, Part(0, 2)).generation
    assert met and made.ended_at is not None


def test_a_part_waits_for_the_others_and_for_nobody_else(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history, waited = tmp_path / "history", Event()
    growing(100)
    open_root(history / "generations" / "again").parent.mkdir(exist_ok=True)
    monkeypatch.setattr(in_parts, "BEGUN_WITHIN", 0.5)
    with (
        locked(history / "generations" / "again"),  # by one that does not say what it makes
        pytest.raises(ConfigurationError, match="another turnfold"),
    ):
        backfill_part(history, "again", SAME, Part(0, 2))
    backfill_part(history, "again", SAME, Part(0, 2))
    with ThreadPoolExecutor(1) as other, locked(generation_path(history, "again")):
        last = other.submit(backfill_part, history, "again", SAME, Part(1, 2), None, waited.set)
        assert waited.wait(WITHIN)
        generation = load(generation_path(history, "again"))
        assert generation is not None and generation.missing_parts == ["1/2"]
        assert list_generations(history)[1]["missing_parts"] == ["1/2"]
    assert last.result().generation.ended_at is not None
    assert list_generations(history)[1]["missing_parts"] == []


TURNS = 3_000


def parquet(folder: Path) -> dict[str, int]:
    """The tables' files and their bytes."""
    found = folder.glob("*/date=*/*.parquet")
    return {str(path.relative_to(folder)): path.stat().st_size for path in found}


def state(folder: Path) -> dict[bytes, bytes]:
    """All rows of the fold's tables, without the runner's own values."""
    with writing(folder) as (store, _):
        rows: Any = store._db.items()
        return {key: value for key, value in rows if not key.startswith(b"m\0")}


def test_guarantee_2_the_same_turns_three_times_are_held_once(
    sgd_run: Path, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    with (sgd_run / "records.ndjson").open("rb") as whole:
        lines = b"".join(islice(whole, TURNS))
    seen = []
    for number in (1, 2, 3):
        file = tmp_path / f"turns-{number}.ndjson"  # by another name it is read again
        file.write_bytes(lines)
        counts = file_runner.run([str(file)], history)
        assert (counts["applied"], counts["duplicate"]) == ((TURNS, 0), (0, TURNS))[number > 1]
        seen.append((parquet(history), state(history), digest(history)))
    assert seen[0] == seen[1] == seen[2]


def test_three_backfills_hold_what_the_first_held(sgd_run: Path, tmp_path: Path) -> None:
    history, again = tmp_path / "history", tmp_path / "history" / "generations" / "again"
    with (sgd_run / "records.ndjson").open("rb") as whole:
        (tmp_path / "turns.ndjson").write_bytes(b"".join(islice(whole, TURNS)))
    file_runner.run([str(tmp_path / "turns.ndjson")], history)
    seen = []
    for _ in range(3):
        backfill(history, "again", Settings(constants={"max_intents": 9}))
        seen.append((parquet(again), state(again), digest(generation_path(history, "again"))))
    assert seen[0] == seen[1] == seen[2]
