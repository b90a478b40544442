"""The parts of docs/search.md, "Ranking", with the coefficients of streams/search/rank.py, computed
plainly: every event is scored by reading all of them.

No index, no bounds on what is looked at, no masks: a term is a string, a passage a list. It scores
events alone, without the part `recent`, and without states and threads.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

K1, B = 1.2, 0.5
TOGETHER = 0.3
"""K1 of a passage."""
STRETCH = 16


class Event(NamedTuple):
    """An event, in the order of time; `said` and `answered` are terms; `asks`: there is a question
    mark."""

    id: str
    session: str
    speaker: str
    month: int
    said: list[str]
    answered: list[str]
    asks: bool


class Constants(NamedTuple):
    """The weights of the parts."""

    speaker: float
    near: dict[int, float]
    most_near: float
    nearby: float
    others: float
    date: float
    reply: float


def rank(
    events: list[Event], asked: list[str], names: set[str], month: int | None, by: Constants
) -> list[tuple[str, float]]:
    """The events that match, with their scores, best first; of equal ones the later first."""
    weights = {term: _weight(events, term) for term in asked}
    lengths = [len(one.said) for one in events if one.said]
    average = sum(lengths) / len(lengths)
    places = {id(one): _place(events, one) for one in events}
    matching = [one for one in events if _having(one, asked)]
    spoken_by = {one.speaker for one in matching}
    speakers = names & spoken_by if len(spoken_by) > 1 else set()
    own = {one.id: _own(one, weights, speakers, average, by) for one in matching}

    def total(terms: set[str]) -> float:
        return sum(weights[term] for term in terms)

    scores: dict[str, float] = {}
    for one in matching:
        words, spoken = own[one.id]
        session, passage, place = places[id(one)]
        members = session[passage * STRETCH : (passage + 1) * STRETCH]
        best = max(
            (other for other in session if other.id in own),
            key=lambda other: sum(own[other.id]),
        )
        share = 1.0 if best is one else by.others
        lacking = _together(members, weights, average) - words
        scores[one.id] = (
            words + spoken
            + (0.0 if best is one else _near(session, place, asked, total, words, by))
            + by.reply * _asked_before(session, place, own)
            + by.nearby * share * max(0.0, lacking)
            + (by.date * total(set(asked)) if month == one.month else 0.0)
        )  # fmt: skip
    whole = total(set(asked))
    order = {one.id: n for n, one in enumerate(events)}
    ranked = sorted(scores, key=lambda key: (-scores[key], -order[key]))
    return [(key, scores[key] / whole) for key in ranked]


def _asked_before(session: list[Event], place: int, own: dict[str, tuple[float, float]]) -> float:
    """The words of the turn before, if that asks and its own event has no answer."""
    before = session[place - 1] if place else None
    if before is None or not before.asks or before.answered or before.id not in own:
        return 0.0
    return own[before.id][0]


def _weight(events: list[Event], term: str) -> float:
    having = sum(term in one.said or term in one.answered for one in events)
    return max(0.01, math.log(1 + (len(events) - having + 0.5) / (having + 0.5)))


def _having(one: Event, asked: list[str]) -> set[str]:
    return set(asked) & {*one.said, *one.answered}


def _own(
    one: Event,
    weights: dict[str, float],
    speakers: set[str],
    average: float,
    by: Constants,
) -> tuple[float, float]:
    """The parts `words` and `speaker`."""
    words = 0.0
    for term, weight in weights.items():
        if term in speakers:
            continue
        count = _often(one, term, average)
        words += weight * count * (K1 + 1) / (count + K1)
    return words, by.speaker * words if one.speaker in speakers else 0.0


def _together(members: list[Event], weights: dict[str, float], average: float) -> float:
    """BM25 of a passage as if it were one event."""
    counts = {term: sum(_often(one, term, average) for one in members) for term in weights}
    return sum(
        weights[term] * count * (TOGETHER + 1) / (count + TOGETHER)
        for term, count in counts.items()
    )


def _often(one: Event, term: str, average: float) -> float:
    """How often an event has a term, for its length."""
    said = one.said.count(term) / (1 - B + B * len(one.said) / average)
    return said + one.answered.count(term) / (1 - B + B * len(one.answered) / average)


def _place(events: list[Event], one: Event) -> tuple[list[Event], int, int]:
    """Its session, the number of its passage there, and its own."""
    session = [other for other in events if other.session == one.session]
    place = session.index(one)
    return session, place // STRETCH, place


def _near(
    session: list[Event],
    place: int,
    asked: list[str],
    total: Callable[[set[str]], float],
    words: float,
    by: Constants,
) -> float:
    """What the turns beside it have that neither it nor a nearer one has."""
    known, found = _having(session[place], asked), 0.0
    for steps, share in by.near.items():
        for at in (place - steps, place + steps):
            if 0 <= at < len(session):
                having = _having(session[at], asked)
                found += share * total(having - known)
                known |= having
    return min(found, by.most_near * words)
