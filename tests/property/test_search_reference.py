"""The ranking of the index is that of the plain reference, on random corpora."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from schemas.time import parse_time
from streams.files import file_runner
from streams.search import Query, candidates, rank, search, word_score
from streams.search.candidates import NEARBY, Candidates
from streams.search.stopwords import MONTHS
from streams.search.tokens import stem
from tests.command import ndjson, turn
from tests.reference import search as reference

NOW = parse_time("2026-01-01T00:00:00Z")
WORDS = ["heron", "zebra", "violin", "lamp", "river", "cedar", "stone", "plum"]
SPEAKERS = ["ann", "bea", "eve"]
BY = reference.Constants(
    word_score.SPEAKER, rank.NEAR, rank.MOST_NEAR, NEARBY, rank.OTHERS, rank.DATE, rank.REPLY
)  # fmt: skip
LEFT_OUT = ("recent",)


def corpus(chance: Random) -> list[reference.Event]:
    """Up to 80 events of up to four sessions, whose turns come mixed."""
    sessions = [f"s{n}" for n in range(chance.randint(1, 4))]

    def some(most: int) -> list[str]:
        return chance.choices(WORDS, k=chance.randint(0, most))

    return [
        reference.Event(
            f"e{n}", chance.choice(sessions), speaker, chance.randint(1, 12),
            [speaker, *some(6)], some(chance.choice([0, 4, 40])), chance.random() < 0.5,
        )
        for n in range(chance.randint(1, 80))
        for speaker in [chance.choice(SPEAKERS)]
    ]  # fmt: skip


def record(one: reference.Event) -> dict[str, Any]:
    speaker, *said = one.said
    return turn(
        one.id,
        session_id=one.session,
        occurred_at=f"2025-{one.month:02}-01T00:00:00Z",
        user_input=f"{speaker.title()}: {' '.join(said)}{'?' if one.asks else ''}",
        agent_answer=" ".join(one.answered),
    )


@pytest.mark.parametrize("seed", range(25))
def test_scores_are_those_of_the_reference(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    events = sorted(corpus(chance), key=lambda one: one.month)  # a commit's rows are
    history = tmp_path / "h"
    file_runner.run([str(ndjson(tmp_path / "a.ndjson", map(record, events)))], history)
    for _ in range(10):
        words = chance.sample(WORDS, k=chance.randint(1, 4))
        named = [chance.choice(SPEAKERS)] if chance.random() < 0.5 else []
        month = chance.choice([None, "march", "july"])
        text = " ".join([*words, *(one.title() for one in named)])
        text += f" in {month.title()}" if month else ""
        hits = search(history, "default", Query(text=text, now=NOW, limit=100)).hits
        asked = [*words, *named, *([stem(month)] if month else [])]
        number = MONTHS.index(month) + 1 if month else None
        expected = reference.rank(events, asked, set(named), number, BY)
        shown = {
            hit.id: hit.score - sum(hit.why.get(part, 0.0) for part in LEFT_OUT) for hit in hits
        }
        assert shown == pytest.approx(dict(expected), abs=1e-5), (seed, text)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("postings", [1, 7, 40, candidates.POSTINGS])
def test_no_term_of_a_text_is_missed_where_postings_are_left_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postings: int, seed: int
) -> None:
    chance = Random(seed)
    events = corpus(chance)
    history = tmp_path / "h"
    file_runner.run([str(ndjson(tmp_path / "a.ndjson", map(record, events)))], history)
    monkeypatch.setattr(candidates, "POSTINGS", postings)
    texts = [" ".join(chance.sample(WORDS, k=chance.randint(1, 4))) for _ in range(10)]
    queries = [Query(text=text, now=NOW, limit=100) for text in texts]
    found = [search(history, "default", query).hits for query in queries]
    monkeypatch.setattr(Candidates, "possible_terms", lambda self, number: self._all)
    assert [search(history, "default", query).hits for query in queries] == found
