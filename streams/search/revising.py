"""What revisions make of the documents in an index: the versions of what is held.

Many revisions at a time: what they come to is made in memory, then written at once and in the order
of the documents' numbers, which costs SQLite and FTS5 a tenth of writing one after the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from streams.directory import states_held
from streams.directory.states_held import StateRevision
from streams.search.doc import FOREVER, Doc
from streams.search.source import Change
from streams.search.store import Index, New

Key = tuple[str, int | None, str]
"""Kind, owner and id of what is held."""


@dataclass(slots=True)
class _Version:
    """One document. `doc` is what it becomes; None: its text stays. `stored`: it was there."""

    number: int
    since: int
    ends: int
    seq: int
    text: str
    doc: Doc | None = None
    stored: bool = True
    ended: bool = False
    dropped: bool = False


def apply(index: Index, changes: Iterable[Change]) -> None:
    """Some revisions, of each owner in the order in which they were made."""
    every: dict[Key, list[_Version]] = {}
    again: list[tuple[int, Doc]] = []
    of_states: list[StateRevision] = []
    for change in changes:
        doc, owner = change.doc, index.owner(change.doc)
        key = (doc.kind, owner, doc.key)
        if key not in every:
            every[key] = [_Version(*one) for one in index.versions(*key)]
        again += _apply(index, every[key], change)
        if doc.kind == "state" and owner is not None:
            of_states.append(
                StateRevision(
                    owner, doc.key, doc.seq, doc.since, doc.ends, change.gone, doc.recorded
                )
            )
    _write(index, every)
    index.widen(again)
    states_held.note(index.db, of_states)


def _apply(index: Index, every: list[_Version], change: Change) -> list[tuple[int, Doc]]:
    """One revision; the document that took another's place. Of a state, a version is known by its
    valid_from; of the rest, each new text is one, true until the next."""
    doc, gone = change
    known = _in_order(doc.kind, every)
    if any(one.seq >= doc.seq for one in known):
        return []  # read before
    if doc.kind == "state":
        same = [one for one in known if one.since == doc.since]
    else:
        same = [one for one in known[-1:] if one.ends == FOREVER and (gone or one.text == doc.text)]
        doc = doc._replace(since=same[0].since) if same and not gone else doc
    if gone:
        for one in same:
            if doc.kind == "state":
                one.dropped = True
            else:
                one.ends, one.ended = doc.at, True
    elif same:
        one = same[0]
        one.since, one.ends, one.seq, one.text = doc.since, doc.ends, doc.seq, doc.text
        one.doc = doc
        return [(one.number, doc)]
    else:
        number = index.place(doc)
        every.append(_Version(number, doc.since, doc.ends, doc.seq, doc.text, doc, stored=False))
    return []


def _in_order(kind: str, every: list[_Version]) -> list[_Version]:
    left = [one for one in every if not one.dropped]
    return sorted(left, key=lambda one: one.since if kind == "state" else one.seq)


def _write(index: Index, every: dict[Key, list[_Version]]) -> None:
    fresh: list[New] = []
    bounds: list[tuple[int, int, bool]] = []
    for (kind, *_), versions in every.items():
        for one in versions:
            if one.stored:
                _write_stored(index, one)
        known = _in_order(kind, versions)
        for one, following in zip(known, [*known[1:], None], strict=False):
            # each ends where the next begins
            until = one.ends if following is None else min(one.ends, following.since)
            newest = following is None and (kind == "state" or one.ends == FOREVER)
            if one.stored:
                bounds.append((one.number, until, newest))
            else:
                assert one.doc is not None, "it is new"
                fresh.append(New(one.number, one.doc, one.ends, until, newest))
    index.write(fresh)
    index.bound(bounds)


def _write_stored(index: Index, one: _Version) -> None:
    if one.dropped:
        index.drop(one.number)
        return
    if one.doc is not None:
        index.replace(one.number, one.doc)
    if one.ended:
        index.end(one.number, one.ends)
