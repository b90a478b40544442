"""The turns that a question recalls are those of the history, on random memories."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from schemas.time import format_time, parse_time
from sinks.history import connect, read
from streams.context import PackRequest
from streams.context.load import context, search_query
from streams.files import file_runner
from streams.search import Query, Turn, candidates, recall, search
from streams.search.query import KINDS
from streams.search.recall import BESIDE, ENOUGH, FIRST
from tests.command import ndjson, turn
from tests.tiers import soaked

pytestmark = pytest.mark.nightly

NOW = parse_time("2026-06-01T00:00:00Z")
MINUTE = 60_000_000
WORDS = ["heron", "zebra", "violin", "C++", "river 7", "新幹線の席", "naïve", "👩‍👩‍👧", "“quoted”"]
ODD = ["\x00", "\u2028", "\r\n", "\u202e", "\n\n", "\t", " | ", "\U000e0041", "e\u0301", ""]
USERS = ["ann", "bea", None]


def spoken(chance: Random, most: int) -> str:
    """Words and odd characters; sometimes nothing, sometimes more than a pack shows."""
    count = chance.choice([0, 1, 3, 8, most])
    return "".join(chance.choice(WORDS) + " " + chance.choice(ODD) for _ in range(count))


def memory(chance: Random) -> list[dict[str, Any]]:
    """Turns of two sessions and users, in any order, some running, some with images or errors,
    some recorded days after they were spoken; of those that ended later both rows."""
    records = []
    for number in range(chance.randint(1, 40)):
        at = NOW - chance.randint(1, 400) * 60 * MINUTE
        told = turn(
            f"e{number}", session_id=chance.choice(["s1", "s2"]), occurred_at=format_time(at),
            recorded_at=format_time(at + chance.choice([0, 1, MINUTE, 3000 * MINUTE])),
            user_input=spoken(chance, 200), agent_answer="", status="running",
        )  # fmt: skip
        if (user := chance.choice(USERS)) is not None:
            told["user_id"] = user
        if ended := chance.random() < 0.9:
            done = {**told, "agent_answer": spoken(chance, 100), "status": "done"}
            if chance.random() < 0.2:
                done |= {"status": "error", "error": "out of memory"}
            if chance.random() < 0.3:
                done["image_summaries"] = ["a zebra by a river", "新幹線"]
            records.append(done)
        if not ended or chance.random() < 0.3:
            records.append(told)
    chance.shuffle(records)
    return records


def folded(folder: Path, chance: Random) -> Path:
    """A history that came in two parts, and was searched in between."""
    records = memory(chance)
    half = len(records) // 2
    for name, some in (("a", records[:half]), ("b", records[half:])):
        if some:
            file_runner.run([str(ndjson(folder / f"{name}.ndjson", some))], folder / "history")
            recall(folder / "history", "default", Query(text="zebra", now=NOW))
    return folder / "history"


def standing(root: Path, ids: list[tuple[str, str]]) -> list[Turn]:
    """What the view `event_current` says of these (session, event), in their order."""
    sql = (
        "SELECT event_id, session_id, user_id, epoch_us(occurred_at) AS at, "
        "epoch_us(recorded_at) AS recorded_at, user_input, agent_answer FROM event_current"
    )
    with connect(root, tenant="default", views=["event_current"]) as db:
        found = {(row["session_id"], row["event_id"]): row for row in read(db, sql).objects()}
    return [Turn(**found[one]) for one in ids]


@pytest.mark.parametrize("seed", soaked(range(20), 6))
def test_the_turns_recalled_are_those_of_the_hits_and_beside_them(
    tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    root, told = folded(tmp_path, chance), 0
    for _ in range(8):
        query = Query(
            text=" ".join(chance.choices(WORDS, k=2)), now=NOW, kinds=("event",),
            user_id=chance.choice(USERS), limit=chance.choice([1, 4, 8]),
            as_of=chance.choice([None, NOW, NOW - 200 * 60 * MINUTE]),
            neighbours=chance.choice([0, 1, 3]),
        )  # fmt: skip
        hits = search(root, "default", query).hits
        enough = ENOUGH * hits[0].score if hits else 0
        best = [hit for hit in hits if hit.score >= enough]
        keys = [(hit.session_id or "", hit.id) for hit in best]
        beside = [
            (hit.session_id or "", near.id) for hit in best[:BESIDE] for near in hit.neighbours
        ]
        expected = [*keys[:FIRST], *beside, *keys[FIRST:]]
        turns = [hit.turn for hit in recall(root, "default", query).hits]
        assert turns == standing(root, list(dict.fromkeys(expected)))
        told += len(turns)
    assert told


@pytest.mark.parametrize("seed", soaked(range(20, 30), 4))
def test_a_pack_shows_no_turn_that_was_recorded_later_than_known_at(
    tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    root, told, held = folded(tmp_path, chance), 0, 0
    for _ in range(8):
        known_at = NOW - chance.randint(1, 400) * 60 * MINUTE
        question = PackRequest(
            user_id=chance.choice(["ann", "bea"]), at=NOW, max_tokens=50_000,
            text=" ".join(chance.choices(WORDS, k=2)), known_at=chance.choice([None, known_at]),
        )  # fmt: skip
        query = search_query(question)
        assert query is not None
        turns = [hit.turn for hit in recall(root, "default", query).hits if hit.turn]
        assert {turn.user_id for turn in turns} <= {question.user_id}, "also beside what was found"
        known = [
            turn.event_id
            for turn in turns
            if question.known_at is None or turn.recorded_at <= question.known_at
        ]
        shown = {item.id for item in context(root, "default", question).pack.items}
        assert shown <= set(known)
        told, held = told + len(shown), held + len(known)
    assert 0 < told <= held


@pytest.mark.parametrize("seed", soaked(range(30, 36), 2))
def test_few_documents_are_found_as_many_are(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read one by one, or looked up by their words: the same hits with the same scores."""
    chance = Random(seed)
    root, told = folded(tmp_path, chance), 0
    for _ in range(12):
        query = Query(
            text=" ".join(chance.choices(WORDS, k=3)), now=NOW, limit=100,
            user_id=chance.choice(USERS), session_id=chance.choice(["s1", None]),
            as_of=chance.choice([None, NOW - 200 * 60 * MINUTE]),
            kinds=chance.choice([("event",), KINDS]),
        )  # fmt: skip
        pages = []
        for few in (0, candidates.FEW):
            with monkeypatch.context() as patch:
                patch.setattr(candidates, "FEW", few)
                pages.append(search(root, "default", query))
        assert pages[0] == pages[1]
        told += len(pages[0].hits)
    assert told
