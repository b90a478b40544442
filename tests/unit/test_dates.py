"""The resolver of dates: what it promises of any text, and its rules (docs/dates.md)."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.time import DAY, parse_time
from streams.dates import MAX_TEXT, resolve
from streams.dates.grammar import MOST_TRIES
from streams.dates.languages import LANGUAGES, fold
from streams.dates.period import PATTERN, format_period, parse_period

WEDNESDAY = parse_time("2026-03-18T10:00:00Z")
EPOCH = datetime(1970, 1, 1)
AGES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
    lambda one: (one - EPOCH) // timedelta(microseconds=1)
)
MORE = "3 31 2019 in on the 3rd ago vor il y a hace 前 の から 年 月 号"
WORDS = [
    word for language in LANGUAGES.values() for table in language.tables.values() for word in table
] + MORE.split()
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=30).map("".join),
)


def said(text: str, at: int = WEDNESDAY) -> list[str]:
    return [format_period(one.start, one.end) for one in resolve(text, at)]


@given(TEXTS, AGES, st.none() | st.sampled_from(list(LANGUAGES)))
def test_any_text_at_any_time_has_dates_of_whole_days_at_places_that_do_not_overlap(
    text: str, at: int, language: str | None
) -> None:
    last = 0
    for one in resolve(text, at, language):
        assert one.start < one.end
        assert one.start % DAY == one.end % DAY == 0
        assert last <= one.begin < one.stop <= len(text)
        last = one.stop


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(st.integers(-300_000, 300_000), st.sampled_from(["yesterday", "3 days ago", "tomorrow"]))
def test_days_move_with_the_day_on_which_they_are_said(days: int, words: str) -> None:
    (now,), (then,) = resolve(words, WEDNESDAY), resolve(words, WEDNESDAY + days * DAY)
    assert then.start - now.start == days * DAY


@pytest.mark.parametrize("verb", ["starts", "begins", "opens", "ends", "closes"])
@pytest.mark.parametrize("before", ["I signed up", "They told me", "We got tickets"])
def test_what_starts_is_to_come_whatever_is_past_in_its_sentence(before: str, verb: str) -> None:
    assert said(f"{before}, it {verb} on 2 February.") == ["2027-02-02"]
    assert said(f"{before}, it was on 2 February.") == ["2026-02-02"]


@pytest.mark.parametrize(
    "text",
    [
        "Ich habe mich angemeldet, der Kurs beginnt am 2. Februar.",
        "Je me suis inscrit, le cours commence le 2 février.",
        "Me apunté a un curso, empieza el 2 de febrero.",
    ],
)
def test_what_starts_is_to_come_in_other_languages(text: str) -> None:
    assert said(text) == ["2027-02-02"]


@given(st.sampled_from(["last week", "last Friday", "in May", "on the 31st"]), AGES)
def test_the_time_of_day_does_not_matter(words: str, at: int) -> None:
    midnight = at // DAY * DAY
    assert resolve(words, at) == resolve(words, midnight)


@pytest.mark.parametrize("text", ["五号", "5 May, ", "il y a 3 ans, ", "am 3. Mai, "])
def test_of_a_text_of_dates_only_so_many_are_resolved(text: str) -> None:
    assert len(resolve(text * (MAX_TEXT // len(text)), WEDNESDAY)) == MOST_TRIES


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_that_is_too_long_to_be_said_has_no_dates(language: str) -> None:
    for text in ("yesterday", "昨天", "昨日", "gestern", "hier", "ayer"):
        assert resolve(text + " " * MAX_TEXT, WEDNESDAY, language) == []


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("I went there on Friday.", ["2026-03-13"]),
        ("I'll go there on Friday.", ["2026-03-20"]),
        ("I have to be there on Friday.", ["2026-03-20"]),
        ("I've got to be there on Friday.", ["2026-03-20"]),
        ("I have an exam on Friday.", ["2026-03-20"]),
        ("She has two meetings on Friday.", ["2026-03-20"]),
        ("I have been there on Friday.", ["2026-03-13"]),
        ("I had to be there on Friday.", ["2026-03-13"]),
        ("I got a dog on Friday.", ["2026-03-13"]),
        ("I moved in May.", ["2025-05"]),
        ("I'm moving in May.", ["2026-05"]),
        ("It was in March.", ["2026-03"]),
        ("Last March was cold.", ["2025-03"]),
        ("Next summer I'll rest.", ["2026-06..2026-08"]),
        ("It was the winter of 2022.", ["2022-12..2023-02"]),
        ("I've lived here since May 2020.", ["2020-05-01..2026-03-18"]),
        ("From next week on I'll be in Rome.", ["2026-03-23..2026-03-29"]),
        ("I did it in two weeks.", []),
        ("We met a year ago today.", ["2025-03-18"]),
        ("We met half a year ago.", ["2025-09"]),
        ("We met six months ago.", ["2025-09"]),
        ("Wir trafen uns vor einem halben Jahr.", ["2025-09"]),
        ("Nos vimos hace medio año.", ["2025-09"]),
        ("It was on 31 June.", []),
        ("Book it for the 8th of this month.", ["2026-03-08"]),
        ("What is left to do before the 27th?", ["2026-03-27"]),
        ("On the 31st I paid the rent.", ["2026-01-31"]),
        ("Am 29.2. habe ich gewonnen.", ["2024-02-29"]),
        ("Le 3 mai 2022 et le 5 mai 2022.", ["2022-05-03", "2022-05-05"]),
    ],
)  # fmt: skip
def test_a_date_without_a_year_is_the_nearest_that_fits_what_is_said(
    text: str, periods: list[str]
) -> None:
    assert said(text) == periods


@pytest.mark.parametrize(
    "at", ["2024-02-29T12:00:00Z", "2025-12-31T23:59:59Z", "0001-01-02T00:00:00Z"]
)
def test_the_calendars_edges_are_no_errors(at: str) -> None:
    for words in ("a year ago", "in 5 years", "a month ago today", "200 years ago", "last winter"):
        for one in resolve(words, parse_time(at)):
            assert one.start < one.end


@given(st.dates(), st.integers(1, 1000))
def test_a_period_is_read_as_it_is_written(first: date, days: int) -> None:
    start = (first - EPOCH.date()).days * DAY
    try:
        text = format_period(start, start + days * DAY)
    except OverflowError:
        return  # after 9999
    if not text.endswith("9999"):
        assert parse_period(text) == (start, start + days * DAY)


def test_either_end_of_a_period_may_come_first() -> None:
    assert parse_period("2023-05-14..2022") == parse_period("2022..2023-05-14")


@given(st.from_regex(PATTERN, fullmatch=True))
def test_what_the_api_describes_is_a_period(text: str) -> None:
    try:
        start, end = parse_period(text)
    except ValueError:
        assert "-02-29" in text
    else:
        assert start < end


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected a year"), ("May 2023", "expected a year"), ("2023-5", "expected a year"),
        ("2023-13", "there is no such date"), ("2023-02-30", "there is no such date"),
        ("0000", "there is no such date"), ("9999", "there is no such date"),
        ("2023-05..", "expected a year"),
    ],
)  # fmt: skip
def test_what_is_no_period_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_period(text)
