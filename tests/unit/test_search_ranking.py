"""What search ranks higher, and why."""

from pathlib import Path
from typing import Any

import pytest

from schemas.base import parse_time
from streams.search import Hit, indexing
from streams.search.open_index import connected
from streams.search.store import Index
from tests.command import turn, turnfold
from tests.unit.test_search import asked, ids, run, state


def said(number: int, text: str, **more: Any) -> dict[str, Any]:
    """A turn of a minute of its own."""
    at = f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"
    return turn(f"e{number}", **{"occurred_at": at, "user_input": text, **more})


def best(history: Path, text: str, **given: Any) -> Hit:
    return asked(history, text, **given)[0]


def test_a_question_may_end_with_a_wide_mark(tmp_path: Path) -> None:
    lines = [said(1, "Bea: Which team did you sign with？"), said(2, "Ann: It was the Wolves!"),
             said(3, "Bea: nice")]  # fmt: skip
    hits = asked(run(tmp_path, "a", lines), "Which team did Ann sign with?")
    assert [(hit.id, "reply" in hit.why) for hit in hits[:2]] == [("e1", False), ("e2", True)]


@pytest.mark.parametrize("prefixed", [True, False])
def test_whom_the_question_names_is_who_speaks_not_who_is_spoken_to(
    tmp_path: Path, prefixed: bool
) -> None:
    talk = [("Ann", "Hi Bea, I bought a violin."), ("Bea", "Hi Ann, I bought a violin."),
            ("Ann", "Nice."), ("Bea", "Yes.")]  # fmt: skip
    lines = [
        said(n, f"{who}: {text}" if prefixed else text, user_id="u" if prefixed else f"talk-{who}")
        for n, (who, text) in enumerate(talk)
    ]
    history = run(tmp_path, "a", lines)
    assert best(history, "What did Ann buy? A violin?").id == "e0"
    assert best(history, "What did Bea buy? A violin?").id == "e1"
    assert best(history, "What did Bea buy? A violin?").why["speaker"] > 0


def test_what_only_an_answer_says_is_found(tmp_path: Path) -> None:
    history = run(tmp_path, "a", [said(0, "Which one?", agent_answer="The Stradivari.")])
    (hit,) = asked(history, "stradivari")
    assert hit.text == "Which one?\nThe Stradivari."
    assert [hit.text[start:end] for start, end in hit.matches] == ["Stradivari"]


def test_what_was_said_in_the_named_month_is_lifted(tmp_path: Path) -> None:
    lines = [
        said(
            n, "We went to the museum.", session_id=f"s{n}", occurred_at=f"2025-{n:02}-05T00:00:00Z"
        )
        for n in range(1, 13)
    ]
    history = run(tmp_path, "a", lines)
    now = parse_time("2026-01-08T00:00:00Z")

    def dated(text: str) -> set[str]:
        return {hit.id for hit in asked(history, text, now=now) if "date" in hit.why}

    for text in ("Which museum was it in April?", "the museum, April 2025", "museum 2025-04-05",
                 "2025年4月 museum", "museum on the 5th of April", "museum in April"):  # fmt: skip
        assert best(history, text, now=now).id == "e4" and dated(text) == {"e4"}, text
    for text in ("museum in April 2024", "May I see the museum?", "museum in 2025"):
        assert dated(text) == set(), text
    assert dated("Which museum was it last month?") == {"e12"}
    assert dated("Which museum did I see last week?") == set()


def test_what_has_ended_ranks_below_what_stands_unless_it_is_asked_for(tmp_path: Path) -> None:
    lines = [
        state("p1", "old", "Lives in Oslo with two cats.", "2026-01-01T00:00:00Z",
              valid_from="2026-01-01T00:00:00Z", valid_to="2026-02-01T00:00:00Z"),
        state("p2", "new", "Lives with one dog in the town of Bergen by the sea.",
              "2026-02-01T00:00:00Z"),
    ]  # fmt: skip
    history = run(tmp_path, "a", lines)
    assert ids(history, "lives in Oslo or Bergen?", kinds=("state",)) == ["new", "old"]
    assert best(history, "lives with cats", kinds=("state",), limit=2).why.get("closed", 0) <= 0
    for text in ("where did she live before: Oslo?", "she used to live in Oslo", "以前 Oslo"):
        hits = asked(history, text, kinds=("state",))
        assert hits[0].id == "old" and "closed" not in hits[0].why
    then = parse_time("2026-01-15T00:00:00Z")
    assert ids(history, "lives in Oslo", kinds=("state",), as_of=then) == ["old"]


def test_parts_add_up_to_the_score_and_the_order_is_the_same_each_time(tmp_path: Path) -> None:
    lines = [said(n, "the dog and the cat", session_id=f"s{n % 3}") for n in range(30)]
    history = run(tmp_path, "a", lines)
    hits = asked(history, "a dog with a cat", limit=100)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.why.values()), abs=1e-5)
    assert ids(history, "a dog with a cat", limit=100) == [hit.id for hit in hits]


def test_an_index_of_another_format_is_built_anew_and_said_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    history = run(tmp_path, "a", [said(0, "the heron")])
    assert ids(history, "heron") == ["e0"]
    path = indexing.current(history, "default")
    assert path is not None
    index = Index(connected(path))
    index.set_meta("format", 4)
    index.close()
    assert ids(history, "heron") == ["e0"]
    assert "format 4" in caplog.text and "rebuilding it" in caplog.text
    assert not path.exists()
    assert turnfold("search", "heron", "--history", history).err == ""
