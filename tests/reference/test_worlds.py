"""The system beside the reference model, on worlds in which everything meets everything.

Worlds through the folds, with the revisions replayed: 60 in each run, 1,600 in `pytest -m soak`.
Worlds through the file runner, in three runs over files of any names, with every view asked: 100 in
the component tests, 300 more in the soak. `python -m tests.reference.worlds_at_length` does the
folds' part for as many as it is told.
"""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sinks.diff import diff
from sinks.digest import digest
from streams.apps.export_person import export
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.generations.rebuild import backfill
from streams.importers import turnfold
from streams.importers.base import Skipped
from tests.command import checked, ndjson, rows
from tests.property.world import World, feeling, plan, turn
from tests.reference import compared, replayed, viewed, worlds
from tests.reference.worlds import Json

AT_A_TIME = 100
"""Worlds in one history, as tenants."""
EXPORTED = 12
"""Worlds that are exported, each from a history of its own."""


def faults(records: list[Json], world: World) -> list[str]:
    """Where the folds' documents or the end of the revisions are not what the rules say; of one id
    there is one content, so nothing may be a conflict."""
    wanted = compared.wanted(records)
    ended = replayed.replay(world.rows["revisions"])
    return [
        *compared.differences(wanted, compared.held(world)),
        *ended.broken,
        *replayed.told(ended, wanted),
        *(reason for reason in world.reasons if reason in ("conflicting_duplicate", "invalid")),
    ]


def in_worlds(count: int, check: Callable[[Random], None]) -> None:
    """Calls a check with so many draws."""
    bounds = settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    bounds(given(st.randoms(use_true_random=False))(check))()


@pytest.mark.parametrize("count", [60, pytest.param(1600, marks=pytest.mark.soak)])
def test_guarantee_2_and_4_folds_and_revisions_say_what_the_reference_says(count: int) -> None:
    def check(draw: Random) -> None:
        records = worlds.arranged(draw, worlds.world(draw))
        world = World()
        world.say(*records)
        assert faults(records, world) == []

    in_worlds(count, check)


@pytest.mark.parametrize("count", [60, pytest.param(1600, marks=pytest.mark.soak)])
def test_guarantee_1_the_stored_records_make_the_same_memory_in_any_order(count: int) -> None:
    """A rebuild, an import of an export and a look back have no others."""

    def check(draw: Random) -> None:
        first, again = World(), World()
        first.say(*worlds.arranged(draw, worlds.world(draw)))
        again.say(*worlds.arranged(draw, stored(first), copies=0))
        assert compared.differences(compared.held(first), compared.held(again)) == []

    in_worlds(count, check)


def stored(world: World) -> list[Json]:
    """The records in a history's tables; plans in the order in which they were applied."""
    tables = ("events", "recursions", "tool_results", "signals", "plans")
    rows = [row for table in tables for row in world.rows[table]]
    return [
        json.loads(row["doc"])
        | ({"image_summaries": row["image_summaries"]} if row.get("image_summaries") else {})
        for row in rows
    ]


def test_the_comparison_finds_a_difference() -> None:
    """Of a world with a turn less, with a revision less, with a state's confidence changed."""
    records: list[Json] = [
        {"type": "turn", "event_id": "e1", "session_id": "s", "user_id": "u", "topic": "tea",
         "occurred_at": "2026-01-01T00:00:00Z", "subject": {"content": "tea"}},
        {"type": "write_plan", "plan_id": "p", "user_id": "u", "event_id": "e1",
         "extractor": {"name": "hand"}, "occurred_at": "2026-01-01T00:00:00Z",
         "state_updates": [{"op": "upsert", "kind": "fact", "body_text": "tea"}]},
    ]  # fmt: skip
    whole = World()
    whole.say(*records)
    assert faults(records, whole) == []
    assert any("session" in fault for fault in faults(records[1:], whole))
    assert any("state" in fault for fault in faults(records[:1], whole))
    for revision in list(whole.rows["revisions"]):
        whole.rows["revisions"].remove(revision)
        assert faults(records, whole)
        whole.rows["revisions"].append(revision)


# --- the file runner and the views ------------------------------------------------------------


def many(first: int, count: int) -> list[Json]:
    """Worlds as tenants of one log, in which they take turns."""
    chance = Random(first)
    made = []
    for seed in range(first, first + count):
        draw = Random(seed)
        arranged = worlds.arranged(draw, worlds.world(draw))
        made.append([one | {"tenant": f"{one['tenant']}-{seed}"} for one in arranged])
    order = [number for number, one in enumerate(made) for _ in one]
    chance.shuffle(order)
    rest = [iter(one) for one in made]
    return [next(rest[number]) for number in order]


def in_runs(folder: Path, records: list[Json], runs: int = 3) -> Path:
    """A history of these records, folded in several runs; files' names are in no order."""
    size = -(-len(records) // runs)
    for number in range(runs):
        some = records[number * size : (number + 1) * size]
        file = ndjson(folder / f"{runs - number}.ndjson", some)
        checked(file_runner.run([str(file)], folder / "history"))
    return folder / "history"


@pytest.mark.component
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(one, marks=pytest.mark.soak) for one in range(100, 400, AT_A_TIME))]
)
def test_guarantee_1_and_2_views_of_a_history_show_what_the_reference_says(
    tmp_path: Path, first: int
) -> None:
    records = many(first, AT_A_TIME)
    wanted = viewed.wanted(records)
    assert len(wanted) > 10 * AT_A_TIME
    assert compared.differences(wanted, viewed.shown(in_runs(tmp_path, records))) == []


@pytest.mark.component
def test_guarantee_2_another_order_and_other_runs_give_one_digest(tmp_path: Path) -> None:
    records = many(5_000, AT_A_TIME)
    again = worlds.arranged(Random(1), records)
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    one, other = digest(in_runs(first, records)), digest(in_runs(second, again, runs=5))
    names = [name for name in one["tables"] if one["tables"][name] != other["tables"][name]]
    assert (one["memory"], set(names) & {"events", "plans"}) == (other["memory"], set()), names


LETTERS = "SELECT reason, detail, src_topic, src_offset, count(*) FROM dead_letters GROUP BY ALL"


@pytest.mark.component
def test_guarantee_1_a_rebuild_of_any_worlds_has_the_same_memory_and_letters(
    tmp_path: Path,
) -> None:
    """Folded in the order of `recorded_at`, here the times at which things happened. Of one file:
    where plans of several that change nothing stood among others, no row says."""
    history = in_runs(tmp_path, many(20_000, AT_A_TIME), runs=1)
    again = history / "generations" / "again"
    backfill(history, "again", Settings())
    assert digest(again)["memory"] == digest(history)["memory"]
    assert sorted(rows(again, LETTERS)) == sorted(rows(history, LETTERS))
    compared_kinds = {one["kind"]: one for one in diff(history, again, samples=0)["kinds"]}
    for kind, one in compared_kinds.items():
        assert (one["added"], one["gone"], one["changed"]) == (0, 0, 0), kind
    ((moods,),) = rows(history, "SELECT count(*) FROM mood_current")
    assert compared_kinds["mood"]["same"] == moods > 0


@pytest.mark.component
def test_diff_counts_a_mood_of_which_a_version_was_taken_back(tmp_path: Path) -> None:
    """The plan moves the first moment to a later time: the last revision takes a version back."""
    felt = [turn(f"e{at}", at, user_id="u1", affect=feeling(0.5)) for at in (1, 2)]
    moved = plan("p", 3, event_id="e1", event_affect=feeling(-0.5))
    history = in_runs(tmp_path, [*felt, moved])
    backfill(history, "again", Settings())
    kinds = diff(history, history / "generations" / "again", samples=0)["kinds"]
    assert [one["same"] for one in kinds if one["kind"] == "mood"] == [1]


@pytest.mark.component
def test_guarantee_1_an_export_read_back_makes_the_same_memory(tmp_path: Path) -> None:
    """Of worlds in which one user alone speaks; the archive has what the history stored."""
    seeds, tried = iter(range(10_000)), 0
    while tried < EXPORTED:
        draw = Random(next(seeds))
        records = worlds.arranged(draw, worlds.world(draw))
        speakers = {(one["tenant"], one["user_id"]) for one in records if "user_id" in one}
        turns = [one for one in records if one["type"] == "turn" and "user_id" in one]
        sessions = {one["session_id"] for one in turns}
        named = {one["session_id"] for one in records if "session_id" in one}
        if len(speakers) != 1 or len({one["tenant"] for one in records}) != 1 or named - sessions:
            continue
        tried += 1
        ((tenant, user),) = speakers
        folder = tmp_path / str(tried)
        folder.mkdir()
        history = in_runs(folder, records)
        archive = folder / "archive.jsonl"
        archive.write_bytes(b"".join(export(history, tenant, user)))
        back = list(turnfold.read(archive, Skipped()))
        checked(file_runner.run([str(ndjson(folder / "back.ndjson", back))], folder / "other"))
        assert digest(folder / "other")["memory"] == digest(history)["memory"], draw


@pytest.mark.component
def test_what_was_known_at_a_time_is_what_was_said_until_then(tmp_path: Path) -> None:
    """`known_at`, of a log in the order of `recorded_at`: what had come up to then."""
    records = many(9_000, AT_A_TIME)
    stamped = [
        one | {"recorded_at": worlds.when(60 * number)} for number, one in enumerate(records)
    ]
    history = in_runs(tmp_path, stamped)
    for count in (1, len(stamped) // 3, len(stamped) // 2, len(stamped)):
        known_at = viewed.parse_time(stamped[count - 1]["recorded_at"])
        wanted: Any = viewed.only_as_of(viewed.wanted(stamped[:count]))
        assert compared.differences(wanted, viewed.known_then(history, known_at)) == []
