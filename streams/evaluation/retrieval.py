"""How well search finds what questions are answered from."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from schemas.time import parse_time
from sinks.history import connect
from streams.errors import DataRefused
from streams.evaluation.labels import Question
from streams.search import Hit, Neighbour, Query, about, embed, search, update
from streams.search.query import By
from streams.search.tokens import terms
from streams.search.words import STOP

ALL, PARAPHRASE = "all", "(paraphrase)"
"""Rows of all questions, and of those that share no word with the user's words in their evidence,
stop words aside."""


class Asked(msgspec.Struct, frozen=True):
    """One question as it was answered; what does not apply to it is None.

    `turn`, `session`: an event of its evidence, or of that event's session, is among the hits.
    `answer`, `answer_with_neighbours`: every word of an answer, without stop words, stands in the
    hits' texts, times or dates, without and with the turns around them. `hits`: the events' ids.
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


class Packed(msgspec.Struct, frozen=True):
    """The context pack of a question, within a budget of tokens. `any`, `all`: it has events of the
    evidence, as turns, as later turns, or as evidence of a fact. `lines` counts its items."""

    line: int
    category: str
    max_tokens: int
    any: bool
    all: bool
    lines: int
    tokens: int
    paraphrase: bool


class Figures(msgspec.Struct, frozen=True):
    """Of the questions of a category: how many, and of those to which it applies the share (0..1)
    with each property of `Asked`; None where it applies to none."""

    category: str
    questions: int
    turn: float | None
    session: float | None
    answer: float | None
    answer_with_neighbours: float | None


class Options(NamedTuple):
    """How it is searched: hits a question, turns on each side of one, whether the whole tenant is
    searched although a question names a user, and whether by words or meaning alone."""

    hits: int = 10
    neighbours: int = 1
    everybody: bool = False
    by: By = "both"


class Events(NamedTuple):
    """The events of a tenant: (user or None for any, id) -> sessions, and -> the terms of its
    words; the newest one's time."""

    sessions: dict[tuple[str | None, str], set[str]]
    terms: dict[tuple[str | None, str], set[str]]
    newest: int


def events_of(
    history: Path, file: Path, questions: Sequence[Question], by: By = "words"
) -> dict[str, Events]:
    """The events of each tenant of some questions; its index, and unless it is searched by words
    alone its vectors, are brought up to date.

    Raises DataRefused if the evidence of a question is missing.
    """
    events = {tenant: _events(history, tenant) for tenant in {one.tenant for one in questions}}
    for tenant in events:
        update(history, tenant)
        if by != "words":
            embed(history, tenant)
    for one in questions:
        for place, event in enumerate(one.evidence):
            if (one.user_id, event) not in events[one.tenant].sessions:
                whose = f"user {one.user_id!r}" if one.user_id else f"tenant {one.tenant!r}"
                raise DataRefused(
                    f"{file}: line {one.line}: evidence[{place}]: {whose} has no event {event!r}"
                )
    return events


def ask(
    history: Path, questions: Sequence[Question], events: dict[str, Events], options: Options
) -> list[Asked]:
    """Runs each question on a history, or on one generation's folder."""
    return [_asked(history, one, events[one.tenant], options) for one in questions]


def figures(asked: Iterable[Asked]) -> list[Figures]:
    """The figures of each category, in alphabetical order, and of all questions together."""
    return [_figures(name, some) for name, some in rows(asked)]


R = TypeVar("R", bound=Asked | Packed)


def rows(results: Iterable[R]) -> list[tuple[str, list[R]]]:
    """Results by category, then those of paraphrases, then all."""
    every = list(results)
    by_category: dict[str, list[R]] = defaultdict(list)
    for one in every:
        by_category[one.category].append(one)
    groups: list[tuple[str, list[R]]] = []
    if list(by_category) != [ALL]:
        groups = sorted(by_category.items())
    if paraphrases := [one for one in every if one.paraphrase]:
        groups.append((PARAPHRASE, paraphrases))
    return [*groups, (ALL, every)] if every else []


def share(values: Iterable[bool | None]) -> float | None:
    """The share of True among the values that are not None; None without any."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _figures(category: str, asked: list[Asked]) -> Figures:
    return Figures(
        category,
        len(asked),
        share([one.turn for one in asked]),
        share([one.session for one in asked]),
        share([one.answer for one in asked]),
        share([one.answer_with_neighbours for one in asked]),
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
            found = set(terms(text or ""))
            for whose in {None, user}:
                sessions[whose, event].add(session)
                texts[whose, event] |= found
            newest = max(newest, at)
    return Events(dict(sessions), dict(texts), newest)


def is_paraphrase(question: Question, events: Events) -> bool:
    """Whether a question shares no word with its evidence, stop words aside."""
    evidence = [events.terms[question.user_id, event] for event in question.evidence]
    return bool(evidence) and _words(question.question).isdisjoint(set().union(*evidence))


def _asked(history: Path, one: Question, events: Events, options: Options) -> Asked:
    keys = [(one.user_id, event) for event in one.evidence]
    sessions = {session for key in keys for session in events.sessions[key]}
    query = Query(
        text=one.question,
        now=moment(one, events),
        user_id=None if options.everybody else one.user_id,
        kinds=("event",),
        limit=options.hits,
        neighbours=options.neighbours,
        by=options.by,
    )
    hits = search(history, one.tenant, query, update=False).hits
    wanted = [_words(answer) for answer in one.answers]
    return Asked(
        one.line,
        one.category,
        one.question,
        any(hit.id in one.evidence for hit in hits) if one.evidence else None,
        any(hit.session_id in sessions for hit in hits) if one.evidence else None,
        _contains(hits, wanted, neighbours=False) if wanted else None,
        _contains(hits, wanted, neighbours=True) if wanted else None,
        [hit.id for hit in hits],
        is_paraphrase(one, events),
    )


def moment(question: Question, events: Events) -> int:
    """When a question is asked."""
    return events.newest if question.asked_at is None else parse_time(question.asked_at)


def _words(answer: str) -> set[str]:
    found = set(terms(answer))
    return {term for term in found if term not in STOP} or found


def _date(hit: Hit) -> str:
    """The words of the date that a hit names."""
    if hit.about_start is None or hit.about_end is None:
        return ""
    return about.words([(parse_time(hit.about_start), parse_time(hit.about_end))])


def _contains(hits: list[Hit], wanted: list[set[str]], *, neighbours: bool) -> bool:
    """Whether all words of one wording of the answer are there."""
    shown: list[Hit | Neighbour] = [*hits]
    if neighbours:
        shown += [turn for hit in hits for turn in hit.neighbours]
    told = [f"{one.at[:4]} {one.at[:10]} {one.text}" for one in shown]
    there = set(terms("\n".join([*told, *map(_date, hits)])))
    return any(words <= there for words in wanted)
