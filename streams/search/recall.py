"""Recall for context packs: turns and facts that match a query, in one ranking."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from streams.search.candidates import Candidates
from streams.search.document import ANSWER, scope
from streams.search.neighbours import around
from streams.search.open_index import IN_VALUES, values_parameter
from streams.search.query import Query, Turn
from streams.search.question import QueryTerm, query_terms
from streams.search.rank import RankedDoc
from streams.search.stopwords import STOP

ENOUGH = 0.3
"""Share of the best hit's score below which a hit is omitted. On LoCoMo 26 and 43, 0.3 omits one
line in eight and costs at most half a point of evidence; 0.4 costs two points."""
BESIDE, FIRST = 3, 6
"""The turns adjacent to the `BESIDE` best hits rank after the `FIRST` best hits: they add two to
three points of evidence in packs of 800 tokens, and displace no good hit."""
FACTS = 8
"""Maximum facts for which a later turn is searched; bounds the cost."""
ANSWERS = 0.2
"""Minimum share of the query's terms, by weight, that an answer adds to the user's words to be part
of a pack."""
SAME = 0.4
"""Overlap of the terms of a fact and of a later turn about the same subject: the weight of the
shared terms, as a share of the lighter one's weight."""
TERMS, NEWEST = 8, 300
"""Rarest terms of a fact, and newest turns of the user, that are compared. A search for the terms
would read their postings of all users."""

TURNS = f"""
SELECT doc.id, doc.key, s.name, u.name, doc.at, doc.at + doc.recorded,
    doc.said, doc.answered, doc.text
FROM doc JOIN name s ON s.no = doc.owner LEFT JOIN name u ON u.no = doc.person
WHERE doc.id IN {IN_VALUES}
"""
LATER = """
SELECT doc.id, doc.key, doc.at, doc.terms FROM doc
WHERE doc.id IN (SELECT rowid FROM term WHERE term MATCH ? ORDER BY rowid DESC LIMIT ?)
    AND doc.kind = 'event' AND doc.person = ? AND doc.at > ? AND doc.at <= ?
    AND doc.until > ?
ORDER BY doc.at DESC, doc.id DESC
"""


class _Turn(NamedTuple):
    """A turn's words; `length`: how many are no stop words."""

    number: int
    event_id: str
    at: int
    words: frozenset[str]
    length: int


class Recalled(msgspec.Struct, frozen=True):
    """A hit, or a turn adjacent to one. `turn` is set for events; `answers`: its answer has terms
    of the query that the user's words lack. `later`: for a fact, a turn of the same user about the
    same subject after its last change."""

    kind: str
    id: str
    turn: Turn | None = None
    later: Turn | None = None
    answers: bool = False


class Recall(msgspec.Struct, frozen=True):
    """Hits, best first, and the query's terms with their weights, for excerpts."""

    hits: list[Recalled]
    weights: dict[str, float]


def recalled(
    db: sqlite3.Connection, query: Query, ranking: list[RankedDoc], candidates: Candidates
) -> Recall:
    """Returns the hits that score at least `ENOUGH` of the best, with turns adjacent to the
    best."""
    best = ranking[0].score if ranking else 0.0
    hits = [doc for doc in ranking[: query.limit] if doc.score >= ENOUGH * best]
    beside = around(db, query, [hit.row for hit in hits[:BESIDE]], candidates)
    facts = [hit for hit in hits if hit.row.kind != "event"][:FACTS]
    later = _later(db, query, facts, candidates.docs)
    numbers = {hit.number for hit in hits if hit.row.kind == "event"} | set(later.values())
    numbers |= {near.number for adjacent in beside.values() for near in adjacent}
    turns = dict(_turns(db, sorted(numbers)))
    ranked: dict[tuple[str, int], Recalled] = {}

    def rank(hit: RankedDoc) -> None:
        later_turn = turns.get(later.get(hit.number, -1))
        turn, answers = turns.get(hit.number), _answers(candidates, hit.row.terms)
        recalled_hit = Recalled(hit.row.kind, hit.row.key, turn, later_turn, answers)
        ranked.setdefault((hit.row.kind, hit.number), recalled_hit)

    for hit in hits[:FIRST]:
        rank(hit)
    for hit in hits[:BESIDE]:
        for near in beside.get(hit.number, ()):
            turn = turns[near.number]
            ranked.setdefault(("event", near.number), Recalled("event", turn.event_id, turn))
    for hit in hits[FIRST:]:
        rank(hit)
    weights = {term.term: term.weight for term in candidates.query_terms}
    return Recall(list(ranked.values()), weights)


def _answers(candidates: Candidates, terms: str) -> bool:
    """Whether the answer adds `ANSWERS` of the query's terms to the user's words."""
    text, _, answer = terms.partition(ANSWER)
    words = ((term.weight, f" {term.term} ") for term in candidates.query_terms)
    added = sum(weight for weight, word in words if word in answer and word not in text)
    return added > 0 and added >= ANSWERS * candidates.total_weight


def _turns(db: sqlite3.Connection, numbers: list[int]) -> Iterator[tuple[int, Turn]]:
    for row in db.execute(TURNS, values_parameter(numbers)):
        number, event, session, user, at, recorded, input_length, answer_length, text = row
        user_input, answer = text[:input_length], text[len(text) - answer_length :]
        yield number, Turn(event, session, user, at, recorded, user_input, answer)


def _later(
    db: sqlite3.Connection, query: Query, facts: list[RankedDoc], total: int
) -> dict[int, int]:
    """Returns fact -> the user's later turn that shares most of its terms, the newest of equals."""
    if not facts or query.user_id is None:
        return {}
    sql = "SELECT no FROM name WHERE kind = 'user' AND name = ?"
    users: list[tuple[int]] = db.execute(sql, [query.user_id]).fetchall()
    until = query.now if query.as_of is None else query.as_of
    later: dict[int, int] = {}
    since = min(max(fact.row.at, fact.row.since) for fact in facts)
    turns = [turn for (user,) in users for turn in _newest_turns(db, user, since, until)]
    for fact in facts if turns else ():
        terms = [term for term in query_terms(db, fact.row.text, total)[:TERMS] if term.docs]
        evidence = set((fact.row.evidence or "").split("\n"))
        changed, best = max(fact.row.at, fact.row.since), SAME
        for turn in turns:
            overlap = _overlap(terms, turn) if turn.at > changed else 0.0
            if overlap > best and turn.event_id not in evidence:
                best, later[fact.number] = overlap, turn.number
    return later


def _newest_turns(db: sqlite3.Connection, user: int, since: int, until: int) -> Iterator[_Turn]:
    """The user's turns after `since`, up to `until`, the newest first."""
    match = f'"{scope("u", user)}" AND "{scope("k", "event")}"'
    for number, key, at, terms in db.execute(LATER, [match, NEWEST, user, since, until, until]):
        words = terms.partition(ANSWER)[0].split()
        yield _Turn(number, key, at, frozenset(words), sum(word not in STOP for word in words))


def _overlap(terms: list[QueryTerm], turn: _Turn) -> float:
    """`SAME` of a fact's terms and a turn. Shared names count double. Other terms of the turn weigh
    as much as the fact's terms on average. Each weight is raised by 2, because rarity is a weak
    signal in a small memory."""
    shared = [term for term in terms if term.term in turn.words]
    if not shared:
        return 0.0
    total = sum(2 + term.weight for term in terms)
    weight = sum(2 + term.weight for term in shared)
    names = sum(2 + term.weight for term in shared if term.is_name)
    turn_weight = weight + max(0, turn.length - len(shared)) * total / len(terms)
    return (weight + names) / min(total, turn_weight)
