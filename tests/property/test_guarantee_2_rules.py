"""What the rules find in turns depends on the turns, and not on the order in which they come: in
memory, through Kafka's agents, by `run`, over HTTP, and folded again."""

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sinks.digest import digest
from streams.extractors.registry import named
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.folds import affect, preferences, states
from streams.folds.session_state import HEADER
from streams.generations.rebuild import backfill
from tests.command import ndjson
from tests.property.sentences import sentences
from tests.property.strategies import events, shuffled
from tests.property.world import Json, World, fact, plan, turn, when, world
from tests.reference import compared, worlds
from tests.serving.serving import serving
from tests.tiers import examples
from tests.unit.test_record_processor import Files, Kafka

UNDER = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TIERS: tuple[Callable[..., Files | Kafka], ...] = (Files, Kafka)
OPPOSITE = [
    turn("e1", 0, session_id="s1", user_id="u1", user_input="I hate running."),
    turn("e2", 90_000, session_id="s2", user_id="u1", user_input="I love running."),
]
OFTEN = [  # of what comes late a part is undone by what came before it
    turn(f"e{number}", at, session_id=f"s{number % 3}", user_id="u1", user_input=said)
    for number, (at, said) in enumerate((
        (0, "I love coffee."), (10, "I gave up coffee."), (20, "I love coffee."),
        (30, "I hate coffee."), (40, "I gave up coffee."), (50, "I really like coffee."),
        (60, "I live in Oslo."), (70, "I live in Bergen."), (80, "I live in Oslo."),
        (80, "I live in Bergen."), (90, "My favourite drink is coffee."),
    ))
]  # fmt: skip


def memory_of(rows: dict[str, Any]) -> dict[str, Any]:
    """A user's states and preferences as they are shown, and the mood."""
    shown: dict[str, Any] = {}
    for name, row in rows.items():
        if name.startswith("s/"):
            shown[name] = [states.document(row, one) for one in row.versions]
        elif name.startswith("p/"):
            shown[name] = preferences.document(row)
        elif name == affect.MOOD:
            shown[name] = row
    return shown


def told(tier: Callable[..., Files | Kafka], records: list[Json]) -> dict[str, Any]:
    running = tier(named("rules"))
    for record in records:
        assert running.give(record).ending == "applied"
    assert running.letters == []
    return memory_of(running.rows("users", "u1"))


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """The rules compile their patterns at the first turn, which is not a test's own time."""
    told(Files, OPPOSITE)


@pytest.mark.parametrize("tier", TIERS)
def test_guarantee_2_of_two_opposite_statements_the_later_one_holds(
    tier: Callable[..., Files | Kafka],
) -> None:
    liked = told(tier, OPPOSITE)
    assert told(tier, OPPOSITE[::-1]) == liked
    status = {one["polarity"]: one["status"] for one in liked.values()}
    assert status == {"like": "confirmed", "dislike": "revoked"}


@pytest.mark.parametrize("tier", TIERS)
def test_guarantee_2_what_was_said_again_and_again_has_one_end(
    tier: Callable[..., Files | Kafka],
) -> None:
    draw, wanted = Random(7), told(tier, OFTEN)
    for _ in range(12):
        assert told(tier, draw.sample(OFTEN, len(OFTEN))) == wanted


@examples(10, 1_500, st.randoms(use_true_random=False), under=UNDER)
def test_guarantee_2_no_order_of_turns_shows_in_what_the_rules_find(draw: Random) -> None:
    records = sentences(draw, 9)
    assert told(Files, draw.sample(records, len(records))) == told(Files, records)


@examples(25, 2_000, st.randoms(use_true_random=False), under=UNDER)
def test_guarantee_2_plans_made_of_turns_make_one_memory_in_any_order(draw: Random) -> None:
    plans = worlds.plans_of_turns(draw)
    first, other = world(*plans), world(*draw.sample(plans, len(plans)))
    assert compared.differences(compared.held(first), compared.held(other)) == []


@pytest.mark.component
@pytest.mark.parametrize("seed", range(3))
def test_guarantee_2_a_run_a_rebuild_and_a_server_find_the_same_in_any_order(
    tmp_path: Path, seed: int
) -> None:
    """Beside plans that others send, in their order: those name what the rules do not."""
    draw = Random(seed)
    turns = [
        one | {"session_id": f"{one['session_id']}-{user}"}
        for user in ("u1", "u2", "u3")
        for one in sentences(draw, 14, user)
    ]
    sent = [
        plan(f"p{number}", draw.randint(0, 12) * 1440, fact(f"f{number % 3}", f"fact {number}"),
             preference_updates=[{"op": draw.choice(("confirm", "upsert_candidate")),
                                  "domain": "general", "subject": draw.choice(("jazz", "coffee")),
                                  "polarity": draw.choice(("like", "dislike"))}])
        for number in range(7)
    ]  # fmt: skip
    digests = set()
    for number in range(3):
        shuffled = iter(draw.sample(turns, len(turns)))
        plans, kinds = iter(sent), draw.sample("t" * len(turns) + "p" * len(sent), len(turns) + 7)
        records = [next(shuffled if kind == "t" else plans) for kind in kinds]
        records = [one | {"recorded_at": when(20_000 + at)} for at, one in enumerate(records)]
        history = tmp_path / f"h{number}"
        file = ndjson(tmp_path / f"{number}.ndjson", records)
        counts = file_runner.run([str(file)], history, choose=lambda: named("rules"))
        assert counts["dead"] == counts.get("extracted_dead", 0) == 0
        digests.add(digest(history)["memory"])
        backfill(history, "again", Settings(extractor="rules"))
        digests.add(digest(history / "generations" / "again")["memory"])
        served = tmp_path / f"served{number}"
        with serving("--history", served, "--extractor", "rules") as server:
            for record in records:
                assert set(server.endings([record])) <= {"applied", "accepted"}
        digests.add(digest(served)["memory"])
    assert len(digests) == 1


SLOW = settings(
    max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


Where = tuple[str, str, str]  # table, tenant, key


def final(memory: World, entities: Iterable[Where] = ()) -> dict[str, Any]:
    """Every document that stands at the end, and the net of the provisional links."""
    standing: dict[str, Any] = {"links": memory.replies("s1") | memory.replies("s2")}
    for table, _, key in list(entities or memory.store.entities):
        rows = memory.rows_of(table, key)
        if table == "users":
            standing[f"user {key}"] = memory.profile(key), memory.mood(key)
        elif rows.get(HEADER) is not None:
            standing[f"session {key}"] = memory.session(key)
            for _, task in rows.scan("t/"):
                standing[f"task {key} {task.task_id}"] = memory.task(task.task_id, key)
    return standing


@examples(60, 400, st.data(), under=SLOW)
def test_guarantee_2_neither_order_nor_copies_change_what_stands(data: st.DataObject) -> None:
    records = data.draw(events())
    other = data.draw(shuffled(records))
    assert final(world(*other)) == final(world(*records))
