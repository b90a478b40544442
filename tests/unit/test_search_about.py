"""Search by the dates that turns and states name (docs/search.md, "Dates")."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.time import DAY, EPOCH, parse_time
from streams.errors import UsageError
from streams.files import file_runner
from streams.search import Hit, Query, period, search
from streams.search import dates_named as dates
from streams.search.dates_named import Span
from tests.command import ndjson, turn, turnfold

NOW = parse_time("2026-04-01T00:00:00Z")


def said(event: str, at: str, text: str) -> dict[str, Any]:
    return turn(event, occurred_at=at, user_input=text, user_id="u", agent_answer="")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three turns, of which two name a date, and one plan with a date in its state."""
    folder = tmp_path_factory.mktemp("about")
    records = [
        said("fox", "2023-05-08T12:00:00Z", "I saw a fox in the garden yesterday."),
        said("owl", "2023-05-20T12:00:00Z", "I saw an owl in the garden."),
        said("hen", "2023-06-02T12:00:00Z", "Last month I saw a hen, and in 2019 an eagle."),
        {
            "type": "write_plan", "plan_id": "p", "user_id": "u",
            "occurred_at": "2023-06-03T12:00:00Z",
            "extractor": {"name": "test", "version": "1"},
            "state_updates": [{
                "kind": "fact", "state_id": "trip", "body_text": "Will travel to the lake.",
                "payload": {"about_start": "2023-08-01T00:00:00Z",
                            "about_end": "2023-09-01T00:00:00Z"},
            }],
        },
    ]  # fmt: skip
    file_runner.run([str(ndjson(folder / "all.ndjson", records))], folder / "history")
    return folder / "history"


def found(history: Path, text: str, about: str | None = None, **more: Any) -> list[Hit]:
    query = Query(text=text, now=NOW, about=period(about), **more)
    return search(history, "default", query).hits


def ids(history: Path, text: str, about: str | None = None) -> list[str]:
    return [hit.id for hit in found(history, text, about)]


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ("2023-05", {"fox", "hen"}), ("2023-05-07", {"fox", "hen"}), ("2023-05-08", {"hen"}),
        ("2023-05-31..2023-08-15", {"hen", "trip"}), ("2019", {"hen"}),
        ("1900..2100", {"fox", "hen", "trip"}), ("2022", set()),
    ],
)  # fmt: skip
@pytest.mark.parametrize("text", ["", "the garden, a hen, an eagle or the lake"])
def test_about_finds_what_names_a_date_in_the_period(
    history: Path, about: str, expected: set[str], text: str
) -> None:
    assert set(ids(history, text, about)) == expected


def test_about_is_one_more_filter(history: Path) -> None:
    assert ids(history, "fox", "2023-05") == ["fox"]
    assert [one.id for one in found(history, "", "2023", kinds=("state",))] == ["trip"]
    assert found(history, "", "2023", user_id="somebody else") == []


def test_a_hit_shows_the_date_that_it_names_first_in_the_period(history: Path) -> None:
    (fox,) = found(history, "fox")[:1]
    assert (fox.about_start, fox.about_end) == ("2023-05-07T00:00:00Z", "2023-05-08T00:00:00Z")
    (hen,) = found(history, "hen")[:1]
    assert hen.about_start == "2023-05-01T00:00:00Z"
    (hen,) = found(history, "hen", "2019")
    assert (hen.about_start, hen.about_end) == ("2019-01-01T00:00:00Z", "2020-01-01T00:00:00Z")
    (trip,) = found(history, "lake")[:1]
    assert trip.about_end == "2023-09-01T00:00:00Z"
    (owl,) = found(history, "owl")[:1]
    assert b"about" not in msgspec.json.encode(owl)


def test_the_words_of_a_date_find_what_names_it_in_other_words(history: Path) -> None:
    assert set(ids(history, "in May 2023")[:2]) == {"fox", "hen"}
    assert ids(history, "2019") == ["hen"]
    assert ids(history, "What is planned for August?")[0] == "trip"


def test_a_changed_state_is_found_under_its_new_date_alone(tmp_path: Path) -> None:
    def plan(number: int, month: int) -> dict[str, Any]:
        return {
            "type": "write_plan", "plan_id": f"p{number}", "user_id": "u",
            "occurred_at": f"2023-06-0{number}T12:00:00Z",
            "extractor": {"name": "test", "version": "1"},
            "state_updates": [{
                "kind": "fact", "state_id": "trip", "body_text": "Will travel to the lake.",
                "valid_from": "2023-06-01T00:00:00Z",
                "payload": {"about_start": f"2023-0{month}-01T00:00:00Z",
                            "about_end": f"2023-0{month}-15T00:00:00Z"},
            }],
        }  # fmt: skip

    for number, month in ((1, 7), (2, 8)):
        file_runner.run(
            [str(ndjson(tmp_path / f"{number}.ndjson", [plan(number, month)]))],
            tmp_path / "history",
        )
        assert ids(tmp_path / "history", "", f"2023-0{month}") == ["trip"]
    assert ids(tmp_path / "history", "", "2023-07") == []
    assert ids(tmp_path / "history", "July") == []


@pytest.mark.parametrize(
    "payload",
    [
        None, {}, [], {"about_start": 5, "about_end": "x"},
        {"about_start": "2023-05-01T00:00:00Z"},
        {"about_start": "2023-05-01T00:00:00Z", "about_end": "2023-05-01T00:00:00Z"},
    ],
)  # fmt: skip
def test_a_payload_without_a_date_is_about_none(payload: Any) -> None:
    assert dates.of_payload(payload) == []


FIRST, LAST = -(EPOCH.toordinal() - 2) * DAY, 2_900_000 * DAY
SPANS = st.tuples(st.integers(FIRST, LAST), st.integers(1, 400_000 * DAY)).map(
    lambda one: (one[0], min(one[0] + one[1], LAST + DAY))
)


@given(SPANS, SPANS)
def test_dates_that_overlap_share_a_term(one: Span, other: Span) -> None:
    if dates.overlapping([one], other):
        assert set(dates.index_keys([one])) & set(dates.query_keys(other))


@given(st.lists(SPANS))
def test_dates_are_read_as_they_are_written(spans: list[Span]) -> None:
    assert dates.parse_spans(dates.format_spans(spans)) == spans


def test_what_is_no_period_is_refused() -> None:
    with pytest.raises(UsageError, match=r"about: 'May': expected a year, month or day"):
        period("May")


def test_the_command_takes_a_period_with_or_without_words(history: Path) -> None:
    where = ["--history", str(history), "--about", "2023-05"]
    lines = turnfold("search", *where).out
    assert "(about 2023-05-07)" in lines
    assert "(about 2023-05)" in lines
    assert "fox" in turnfold("search", "fox", *where).out
    wrong = turnfold("search", "fox", "--history", str(history), "--about", "2023-5")
    assert wrong.code == 2
    assert "about: '2023-5': expected a year, month or day" in wrong.err


def test_the_timeline_and_a_user_show_the_dates(history: Path) -> None:
    lines = turnfold("show", "timeline", "u", "--history", str(history)).out
    assert "(about 2023-05-07)" in lines
    told = msgspec.json.decode(
        turnfold("show", "timeline", "u", "--history", str(history), "-o", "json").out
    )
    assert [one["about_start"] for one in told] == [
        "2023-05-07T00:00:00Z", None, "2023-05-01T00:00:00Z",
    ]  # fmt: skip
    assert "(about 2023-08)" in turnfold("show", "user", "u", "--history", str(history)).out
