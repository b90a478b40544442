"""How well search finds what questions are answered from."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from schemas.time import parse_time
from sinks.history import connect
from streams.errors import DataRefused
from streams.evaluation.labels import Question
from streams.search import Hit, Neighbour, Query, about, embed, search, update
from streams.search.tokens import terms
from streams.search.words import STOP

ALL = "all"


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
    """How it is searched: hits a question, turns on each side of one, and whether the whole tenant
    is searched although a question names a user."""

    hits: int = 10
    neighbours: int = 1
    everybody: bool = False


class _Events(NamedTuple):
    """The events of a tenant: (user or None for any, id) -> sessions; the newest one's time."""

    sessions: dict[tuple[str | None, str], set[str]]
    newest: int


def ask(history: Path, file: Path, questions: Sequence[Question], options: Options) -> list[Asked]:
    """Asks each question of a history, or of one generation's folder.

    Raises DataRefused where the evidence of a question is not there.
    """
    known = {tenant: _events(history, tenant) for tenant in {one.tenant for one in questions}}
    for tenant in known:
        update(history, tenant)
        embed(history, tenant)
    return [_asked(history, file, one, known[one.tenant], options) for one in questions]


def figures(asked: Iterable[Asked]) -> list[Figures]:
    """The figures of each category, in alphabetical order, and of all questions together."""
    by_category: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        by_category[one.category].append(one)
    everything = [one for some in by_category.values() for one in some]
    rows = [_figures(name, by_category[name]) for name in sorted(by_category)]
    return rows if list(by_category) == [ALL] else [*rows, _figures(ALL, everything)]


def _figures(category: str, asked: list[Asked]) -> Figures:
    def share(values: list[bool | None]) -> float | None:
        told = [value for value in values if value is not None]
        return sum(told) / len(told) if told else None

    return Figures(
        category,
        len(asked),
        share([one.turn for one in asked]),
        share([one.session for one in asked]),
        share([one.answer for one in asked]),
        share([one.answer_with_neighbours for one in asked]),
    )


def _events(history: Path, tenant: str) -> _Events:
    sql = "SELECT event_id, session_id, user_id, epoch_us(occurred_at) FROM events WHERE tenant = ?"
    sessions: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    newest = 0
    with connect(history, views=["events"]) as db:
        for event, session, user, at in db.execute(sql, [tenant]).fetchall():
            sessions[None, event].add(session)
            sessions[user, event].add(session)
            newest = max(newest, at)
    return _Events(dict(sessions), newest)


def _asked(history: Path, file: Path, one: Question, known: _Events, options: Options) -> Asked:
    sessions: set[str] = set()
    for place, event in enumerate(one.evidence):
        if (one.user_id, event) not in known.sessions:
            whose = f"user {one.user_id!r}" if one.user_id else f"tenant {one.tenant!r}"
            raise DataRefused(
                f"{file}: line {one.line}: evidence[{place}]: {whose} has no event {event!r}"
            )
        sessions |= known.sessions[one.user_id, event]
    query = Query(
        text=one.question,
        now=known.newest if one.asked_at is None else parse_time(one.asked_at),
        user_id=None if options.everybody else one.user_id,
        kinds=("event",),
        limit=options.hits,
        neighbours=options.neighbours,
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
    )


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
