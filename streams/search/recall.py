"""What a context pack is made of: the turns and facts that match a query, in one ranking."""

import sqlite3
from collections.abc import Iterator
from itertools import product

import msgspec

from streams.search.candidates import Candidates
from streams.search.doc import ANSWER, scope
from streams.search.neighbours import around
from streams.search.opening import GIVEN, given
from streams.search.query import Query, Turn
from streams.search.question import Asked, ask
from streams.search.rank import Found
from streams.search.words import STOP

ENOUGH = 0.3
"""Share of the best hit's score below which a hit is omitted. On LoCoMo 26 and 43, 0.3 omits one
line in eight and costs at most half a point of evidence; 0.4 costs two points."""
BESIDE, FIRST = 3, 6
"""Best hits whose adjacent turns are ranked behind so many hits: they give two to three points of
evidence in packs of 800 tokens, and displace no good hit."""
FACTS = 8
"""Best facts for which a later turn is looked up; it bounds the cost."""
ANSWERS = 0.2
"""Share of the query's terms, by weight, that the agent's answer adds to the user's words: then it
is worth showing."""
SAME = 0.4
"""Overlap of the terms of a fact and of a later turn about the same subject: the weight of those
that both have, as a share of the lighter one's weight."""
TERMS, NEWEST = 8, 40
"""Rarest terms of a fact, and the newest documents with any of them, that are compared."""

TURNS = f"""
SELECT doc.id, doc.key, s.name, u.name, doc.at, doc.at + doc.recorded,
    doc.said, doc.answered, doc.text
FROM doc JOIN name s ON s.no = doc.owner LEFT JOIN name u ON u.no = doc.person
WHERE doc.id IN {GIVEN}
"""
LATER = """
SELECT doc.id, doc.key, doc.at, doc.terms FROM doc
WHERE doc.id IN (SELECT rowid FROM term WHERE term MATCH ? ORDER BY rowid DESC LIMIT ?)
    AND doc.kind = 'event' AND doc.person = ? AND doc.at > ? AND doc.at <= ?
    AND doc.until > ?
ORDER BY doc.at DESC, doc.id DESC
"""


class Recalled(msgspec.Struct, frozen=True):
    """A hit, or a turn adjacent to one. `turn` is set for events; `answers`: its answer has what
    the query is about and the user's words lack. `later`: for a fact, a turn of the same user about
    the same subject that came after its last change."""

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
    db: sqlite3.Connection, query: Query, found: list[Found], candidates: Candidates
) -> Recall:
    """The hits that score at least `ENOUGH` of the best, with the turns beside the best."""
    best = found[0].score if found else 0.0
    hits = [one for one in found[: query.limit] if one.score >= ENOUGH * best]
    beside = around(db, query, [one.row for one in hits[:BESIDE]], candidates)
    facts = [one for one in hits if one.row.kind != "event"][:FACTS]
    later = _later(db, query, facts, candidates.docs)
    numbers = {one.number for one in hits if one.row.kind == "event"} | set(later.values())
    numbers |= {near.number for turns in beside.values() for near in turns}
    turns = dict(_turns(db, sorted(numbers)))
    ranked: dict[tuple[str, int], Recalled] = {}

    def rank(hit: Found) -> None:
        after = turns.get(later.get(hit.number, -1))
        turn, answers = turns.get(hit.number), _adds(candidates, hit.row.terms)
        own = Recalled(hit.row.kind, hit.row.key, turn, after, answers)
        ranked.setdefault((hit.row.kind, hit.number), own)

    for hit in hits[:FIRST]:
        rank(hit)
    for hit in hits[:BESIDE]:
        for near in beside.get(hit.number, ()):
            turn = turns[near.number]
            ranked.setdefault(("event", near.number), Recalled("event", turn.event_id, turn))
    for hit in hits[FIRST:]:
        rank(hit)
    return Recall(list(ranked.values()), {one.term: one.weight for one in candidates.asked})


def _adds(candidates: Candidates, terms: str) -> bool:
    said, _, answer = terms.partition(ANSWER)
    words = ((one.weight, f" {one.term} ") for one in candidates.asked)
    added = sum(weight for weight, word in words if word in answer and word not in said)
    return added > 0 and added >= ANSWERS * candidates.whole


def _turns(db: sqlite3.Connection, numbers: list[int]) -> Iterator[tuple[int, Turn]]:
    for row in db.execute(TURNS, given(numbers)):
        number, event, session, user, at, recorded, said, answered, text = row
        words = text[:said], text[len(text) - answered :]
        yield number, Turn(event, session, user, at, recorded, *words)


def _later(db: sqlite3.Connection, query: Query, facts: list[Found], docs: int) -> dict[int, int]:
    """By fact: the later turn of the user that shares most of its terms, the newest of equals."""
    if not facts or query.user_id is None:
        return {}
    sql = "SELECT no FROM name WHERE kind = 'user' AND name = ?"
    users: list[tuple[int]] = db.execute(sql, [query.user_id]).fetchall()
    until = query.now if query.as_of is None else query.as_of
    later: dict[int, int] = {}
    for fact, (user,) in product(facts, users):
        terms = [one for one in ask(db, fact.row.text, docs)[:TERMS] if one.docs]
        if not terms:
            continue
        words = " OR ".join(f'"{one.term}"' for one in terms)
        match = f'({words}) AND "{scope("u", user)}" AND "{scope("k", "event")}"'
        evidence = set((fact.row.evidence or "").split("\n"))
        since, best = max(fact.row.at, fact.row.since), SAME
        for number, key, _, said in db.execute(LATER, [match, NEWEST, user, since, until, until]):
            overlap = _overlap(terms, said.partition(ANSWER)[0])
            if overlap > best and key not in evidence:
                best, later[fact.number] = overlap, number
    return later


def _overlap(terms: list[Asked], said: str) -> float:
    """`SAME` of a fact's terms and a turn's; names that both have count double. Terms that only the
    turn has weigh as much as the fact's do on average. In small memories weights of rarity mean
    little: each term gets 2 more."""
    whole = sum(2 + one.weight for one in terms)
    both = [one for one in terms if f" {one.term} " in said]
    weight = sum(2 + one.weight for one in both)
    names = sum(2 + one.weight for one in both if one.is_name)
    others = sum(term not in STOP for term in said.split()) - len(both)
    turn = weight + max(0, others) * whole / len(terms)
    return (weight + names) / min(whole, turn) if both else 0.0
