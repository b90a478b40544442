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


def test_a_turn_is_lifted_by_those_beside_it_and_never_more_than_by_its_own(tmp_path: Path) -> None:
    lines = ["the weather is fine", "my dog barks at the postman", "we called it Biscuit, a dog",
             "nothing else happened", "the garden has roses"]  # fmt: skip
    far = said(50, "a dog in another talk", session_id="far")
    history = run(tmp_path, "a", [*(said(n, line) for n, line in enumerate(lines)), far])
    hits = {hit.id: hit for hit in asked(history, "dog postman called")}
    assert list(hits)[:2] == ["e1", "e2"] or list(hits)[:2] == ["e2", "e1"]
    assert hits["e2"].why["near"] > 0 and "near" not in hits["e50"].why
    assert all(hit.why.get("near", 0) <= hit.why["words"] + 1e-6 for hit in hits.values())


def test_a_turn_of_another_passage_of_the_session_is_beside_it_too(tmp_path: Path) -> None:
    """The index cuts a session into passages of sixteen."""
    lines = [said(n, "filler") for n in range(15)]
    lines += [said(15, "a giraffe"), said(16, "an okapi"), said(17, "okapi, okapi")]
    history = run(tmp_path, "a", lines)
    hits = {hit.id: hit for hit in asked(history, "giraffe okapi")}
    assert hits["e16"].why["near"] > 0 and "near" not in hits["e17"].why


def test_a_session_with_several_passages_has_one_best_turn(tmp_path: Path) -> None:
    lines = [said(n, "a giraffe" if n % 16 == 5 else "an okapi", session_id="a") for n in range(40)]
    hits = {hit.id: hit for hit in asked(run(tmp_path, "a", lines), "giraffe okapi", limit=100)}
    lifts = sorted(hits[one].why["nearby"] for one in ("e5", "e21", "e37"))
    assert lifts[2] > 2 * lifts[1] > 0


def test_what_a_long_answer_mentions_lifts_its_passage_less(tmp_path: Path) -> None:
    long = "One could do many things here. " * 60
    told = {"a": ("I saw a giraffe.", "Nice."), "b": ("Hello.", f"{long} A giraffe. {long}")}
    lines = [
        said(n, text, agent_answer=answer, session_id=session)
        for session, first in (("a", 0), ("b", 10))
        for n, (text, answer) in enumerate([("My okapi sleeps.", "Good."), told[session]], first)
    ]
    hits = {hit.id: hit for hit in asked(run(tmp_path, "a", lines), "giraffe okapi")}
    assert hits["e0"].why["nearby"] > 2 * hits["e10"].why["nearby"] > 0


@pytest.mark.parametrize("mark", ["?", "？"])
@pytest.mark.parametrize("answer", ["", "The Wolves."])
def test_the_turn_after_a_question_without_an_answer_is_its_reply(
    tmp_path: Path, mark: str, answer: str
) -> None:
    lines = [
        said(0, "Ann: hello"),
        said(1, f"Bea: Which team did you sign with{mark}", agent_answer=answer),
        said(2, "Ann: It was the Wolves!"),
        said(3, "Bea: nice"),
        said(4, "Ann: thanks"),
    ]
    hits = asked(run(tmp_path, "a", lines), "Which team did Ann sign with?")
    assert hits[0].id == "e1"
    assert [hit.id for hit in hits if "reply" in hit.why] == ([] if answer else ["e2"])
    assert answer or hits[1].id == "e2"


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


def test_a_long_answer_counts_less_than_what_a_user_said(tmp_path: Path) -> None:
    long = "You could try a violin. " + "There are many things that one could do here. " * 40
    lines = [
        said(0, "What could I learn?", agent_answer=long, session_id="a"),
        said(1, "I play the violin.", agent_answer="Good.", session_id="b"),
        *(said(n, "Thank you.", session_id=f"c{n}") for n in range(2, 9)),
    ]
    history = run(tmp_path, "a", lines)
    assert ids(history, "violin")[:2] == ["e1", "e0"]


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
