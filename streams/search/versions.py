"""Applies revisions of memory to the documents of an index.

The result of a batch of revisions is computed in memory and written in the order of the documents'
numbers, at a tenth of the cost of single writes to SQLite and FTS5.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from streams.directory import states_held
from streams.directory.states_held import StateRevision
from streams.search.document import FOREVER, Doc
from streams.search.history_source import Change
from streams.search.store import Index, New

Key = tuple[str, int | None, str]
"""Kind, owner and id of an item of memory."""


@dataclass(slots=True)
class _Version:
    """A document. `doc`: its new content, or None if unchanged. `stored`: it is in the index."""

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
    """Applies revisions, which are in order for each owner."""
    items: dict[Key, list[_Version]] = {}
    replaced: list[tuple[int, Doc]] = []
    state_revisions: list[StateRevision] = []
    for change in changes:
        doc, owner = change.doc, index.owner(change.doc)
        key = (doc.kind, owner, doc.key)
        if key not in items:
            items[key] = [_Version(*version) for version in index.versions(*key)]
        replaced += _apply(index, items[key], change)
        if doc.kind == "state" and owner is not None:
            state_revisions.append(
                StateRevision(
                    owner, doc.key, doc.seq, doc.since, doc.ends, change.is_removed, doc.recorded
                )
            )
    _write(index, items)
    index.widen(replaced)
    states_held.note(index.db, state_revisions)


def _apply(index: Index, versions: list[_Version], change: Change) -> list[tuple[int, Doc]]:
    """Applies a revision; returns the document that replaced another one. A state's version is
    identified by its valid_from; for other kinds each new text is a version, valid until the
    next."""
    doc, is_removed = change
    current = _in_order(doc.kind, versions)
    if any(version.seq >= doc.seq for version in current):
        return []  # a repeat
    if doc.kind == "state":
        same = [version for version in current if version.since == doc.since]
    else:
        same = [
            version
            for version in current[-1:]
            if version.ends == FOREVER and (is_removed or version.text == doc.text)
        ]
        doc = doc._replace(since=same[0].since) if same and not is_removed else doc
    if is_removed:
        for version in same:
            if doc.kind == "state":
                version.dropped = True
            else:
                version.ends, version.ended = doc.at, True
    elif same:
        version = same[0]
        version.since, version.ends, version.seq, version.text = (
            doc.since, doc.ends, doc.seq, doc.text,
        )  # fmt: skip
        version.doc = doc
        return [(version.number, doc)]
    else:
        number = index.place(doc)
        versions.append(_Version(number, doc.since, doc.ends, doc.seq, doc.text, doc, stored=False))
    return []


def _in_order(kind: str, versions: list[_Version]) -> list[_Version]:
    present = [version for version in versions if not version.dropped]
    return sorted(present, key=lambda version: version.since if kind == "state" else version.seq)


def _write(index: Index, items: dict[Key, list[_Version]]) -> None:
    new: list[New] = []
    bounds: list[tuple[int, int, bool]] = []
    for (kind, *_), versions in items.items():
        for version in versions:
            if version.stored:
                _write_stored(index, version)
        ordered = _in_order(kind, versions)
        for version, following in zip(ordered, [*ordered[1:], None], strict=False):
            # each ends where the next starts
            until = version.ends if following is None else min(version.ends, following.since)
            newest = following is None and (kind == "state" or version.ends == FOREVER)
            if version.stored:
                bounds.append((version.number, until, newest))
            else:
                assert version.doc is not None, "it is new"
                new.append(New(version.number, version.doc, version.ends, until, newest))
    index.write(new)
    index.bound(bounds)


def _write_stored(index: Index, version: _Version) -> None:
    if version.dropped:
        index.drop(version.number)
        return
    if version.doc is not None:
        index.replace(version.number, version.doc)
    if version.ended:
        index.end(version.number, version.ends)
