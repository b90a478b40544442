"""Measures how well search finds the evidence of questions."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from schemas.time import parse_time
from sinks.history import connect
from streams.errors import DataRefused
from streams.evaluation.labels import Question
from streams.search import Hit, Neighbour, Query, dates_named, embed, search, update
from streams.search.query import By
from streams.search.stopwords import STOP
from streams.search.tokens import terms

ALL, PARAPHRASE = "all", "(paraphrase)"
"""Names of the rows of all questions, and of the questions that share no word, stop words aside,
with the user's words in their evidence."""


class SearchResult(msgspec.Struct, frozen=True):
    """The result of one question; a property that does not apply is None.

    `turn`, `session`: an event of its evidence, or of that event's session, is among the hits.
    `answer`, `answer_with_neighbours`: every word of an answer, without stop words, is in a text,
    time or date of the hits, without and with the turns around them. `hits`: event ids.
    """

    line: int
    category: str
    question: str
    turn: bool | None
    session: bool | None
    answer: bool | None
    answer_with_neighbours: bool | None
    hits: list[str]
    paraphrase: bool


class PackResult(msgspec.Struct, frozen=True):
    """The context pack of a question within a token budget. `any`, `all`: it has any or all events
    of the evidence, as turns, later turns, or evidence of a fact. `lines` counts its items."""

    line: int
    category: str
    max_tokens: int
    any: bool
    all: bool
    lines: int
    tokens: int
    paraphrase: bool


class Figures(msgspec.Struct, frozen=True):
    """The questions of a category: their number, and for each property of `SearchResult` its share
    (0..1) among the questions to which it applies, or None without any."""

    category: str
    questions: int
    turn: float | None
    session: float | None
    answer: float | None
    answer_with_neighbours: float | None


class Options(NamedTuple):
    """Search options: hits per question, turns on each side of a hit, whether to search the whole
    tenant even if a question names a user, and whether by words, meaning or both."""

    hits: int = 10
    neighbours: int = 1
    everybody: bool = False
    by: By = "both"


class Events(NamedTuple):
    """The events of a tenant: (user or None for any, id) -> sessions, and -> the terms of its text;
    the time of the newest event."""

    sessions: dict[tuple[str | None, str], set[str]]
    terms: dict[tuple[str | None, str], set[str]]
    newest: int


def events_of(
    history: Path, file: Path, questions: Sequence[Question], by: By = "words"
) -> dict[str, Events]:
    """Returns the events of each tenant of the questions, and updates the tenants' indexes and,
    unless `by` is "words", their vectors.

    Raises DataRefused if the evidence of a question is missing.
    """
    tenants = {question.tenant for question in questions}
    events = {tenant: _events(history, tenant) for tenant in tenants}
    for tenant in events:
        update(history, tenant)
        if by != "words":
            embed(history, tenant)
    for question in questions:
        user, tenant = question.user_id, question.tenant
        for index, event in enumerate(question.evidence):
            if (user, event) not in events[tenant].sessions:
                owner = f"user {user!r}" if user else f"tenant {tenant!r}"
                raise DataRefused(
                    f"{file}: line {question.line}: evidence[{index}]: "
                    f"{owner} has no event {event!r}"
                )
    return events


def ask(
    history: Path, questions: Sequence[Question], events: dict[str, Events], options: Options
) -> list[SearchResult]:
    """Runs each question on a history or a generation's folder."""
    return [_ask(history, question, events[question.tenant], options) for question in questions]


def figures(results: Iterable[SearchResult]) -> list[Figures]:
    """Returns the figures of each category, in alphabetical order, and of all questions."""
    return [_figures(category, group) for category, group in rows(results)]


R = TypeVar("R", bound=SearchResult | PackResult)


def rows(results: Iterable[R]) -> list[tuple[str, list[R]]]:
    """Groups results by category, then adds the groups of paraphrases and of all."""
    all_results = list(results)
    by_category: dict[str, list[R]] = defaultdict(list)
    for result in all_results:
        by_category[result.category].append(result)
    groups: list[tuple[str, list[R]]] = []
    if list(by_category) != [ALL]:
        groups = sorted(by_category.items())
    if paraphrases := [result for result in all_results if result.paraphrase]:
        groups.append((PARAPHRASE, paraphrases))
    return [*groups, (ALL, all_results)] if all_results else []


def share(outcomes: Iterable[bool | None]) -> float | None:
    """The share of True among the outcomes that are not None, or None without any."""
    applicable = [outcome for outcome in outcomes if outcome is not None]
    return sum(applicable) / len(applicable) if applicable else None


def _figures(category: str, results: list[SearchResult]) -> Figures:
    return Figures(
        category,
        len(results),
        share(result.turn for result in results),
        share(result.session for result in results),
        share(result.answer for result in results),
        share(result.answer_with_neighbours for result in results),
    )


def _events(history: Path, tenant: str) -> Events:
    sql = (
        "SELECT event_id, session_id, user_id, epoch_us(occurred_at), user_input "
        "FROM events WHERE tenant = ?"
    )
    sessions: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    texts: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    newest = 0
    with connect(history, views=["events"]) as db:
        for event, session, user, at, text in db.execute(sql, [tenant]).fetchall():
            event_terms = set(terms(text or ""))
            for owner in {None, user}:
                sessions[owner, event].add(session)
                texts[owner, event] |= event_terms
            newest = max(newest, at)
    return Events(dict(sessions), dict(texts), newest)


def is_paraphrase(question: Question, events: Events) -> bool:
    """Whether a question shares no word with its evidence, stop words aside."""
    evidence = [events.terms[question.user_id, event] for event in question.evidence]
    return bool(evidence) and _words(question.question).isdisjoint(set().union(*evidence))


def _ask(history: Path, question: Question, events: Events, options: Options) -> SearchResult:
    keys = [(question.user_id, event) for event in question.evidence]
    sessions = {session for key in keys for session in events.sessions[key]}
    query = Query(
        text=question.question,
        now=moment(question, events),
        user_id=None if options.everybody else question.user_id,
        kinds=("event",),
        limit=options.hits,
        neighbours=options.neighbours,
        by=options.by,
    )
    hits = search(history, question.tenant, query, update=False).hits
    answers = [_words(answer) for answer in question.answers]
    return SearchResult(
        question.line,
        question.category,
        question.question,
        any(hit.id in question.evidence for hit in hits) if question.evidence else None,
        any(hit.session_id in sessions for hit in hits) if question.evidence else None,
        _contains(hits, answers, neighbours=False) if answers else None,
        _contains(hits, answers, neighbours=True) if answers else None,
        [hit.id for hit in hits],
        is_paraphrase(question, events),
    )


def moment(question: Question, events: Events) -> int:
    """The time of a question, in microseconds."""
    return events.newest if question.asked_at is None else parse_time(question.asked_at)


def _words(answer: str) -> set[str]:
    words = set(terms(answer))
    return words - STOP or words


def _date(hit: Hit) -> str:
    """The words of the date named by a hit."""
    if hit.about_start is None or hit.about_end is None:
        return ""
    return dates_named.words([(parse_time(hit.about_start), parse_time(hit.about_end))])


def _contains(hits: list[Hit], answers: list[set[str]], *, neighbours: bool) -> bool:
    """Whether the hits have all words of one of the answers."""
    turns: list[Hit | Neighbour] = [*hits]
    if neighbours:
        turns += [turn for hit in hits for turn in hit.neighbours]
    texts = [f"{turn.at[:4]} {turn.at[:10]} {turn.text}" for turn in turns]
    words = set(terms("\n".join([*texts, *map(_date, hits)])))
    return any(answer <= words for answer in answers)
