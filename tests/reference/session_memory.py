"""Session memory: the items that the ended turns of a session make together.

An *entry* is everything said of one thing under one id; what it shows, if it shows, is an *item*.
Assumed of the input: at most 200 items and 100 candidates a session.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, NamedTuple
from uuid import uuid5

from schemas.events import Observation, SessionMemoryDelta, Turn
from schemas.session import SessionMemoryItem
from tests.reference import constants
from tests.reference.records import order

Owner = tuple[str, str]  # tenant and session id
FIELDS = set(SessionMemoryItem.model_fields)
Item = dict[str, Any]  # as SessionMemoryItem; until merged its evidence are places of turns


class Mention(NamedTuple):
    """One thing that a turn says of an entry."""

    at: tuple[int, str]  # the place of the turn: its time and its event id
    how: str  # show, oppose, add, update or delete: also their order within a turn
    what: Any  # show and oppose: the Observation that does it; add and update: the fields given


def session_memory(owner: Owner, turns: Sequence[Turn]) -> list[Item]:
    """The items in the order in which their entries began (first mention of any kind, then id).

    Items of equal type and content show once, under the id of the oldest entry that shows.
    """
    entries: dict[str, list[Mention]] = {}
    for turn in turns:
        for id, how, what in mentions_by(owner, turn):
            entries.setdefault(id, []).append(Mention(order(turn), how, what))
    # to oppose, supersede, update or delete what is not there is a mention, too
    began = sorted((mentions[0].at, id) for id, mentions in entries.items())
    same: dict[str, list[Item]] = {}
    for _, id in began:
        item = item_of(owner, id, entries)
        if item is not None:
            same.setdefault(memory_id(owner, item), []).append(item)
    return [merged(items) for items in same.values()]


def merged(items: Sequence[Item]) -> Item:
    """The item of the oldest entry, with the greatest confidence and all evidence."""
    # all else (spelling, rationale, source, scope) is the oldest entry's, too
    evidence = sorted({at for item in items for at in item["evidence"]})
    return items[0] | {
        "confidence": max(item["confidence"] for item in items),
        "evidence": [event_id for _, event_id in evidence][-constants.MAX_EVIDENCE :],
    }


def memory_id(owner: Owner, item: Item) -> str:
    """The id that an observation of this type and content makes, however it is written."""
    same = " ".join(unicodedata.normalize("NFKC", thing(item)).casefold().split())
    parts = ("session_memory", *owner, item["type"], same)
    return str(uuid5(constants.MEMORY_IDS, "\x1f".join(parts)))


def thing(item: Item) -> str:
    """The content that tells one thing from another; of a decision its `decision`."""
    content: str = item["content"]
    return item.get("decision") or content if item["type"] == "decision" else content


def is_stated(seen: Observation) -> bool:
    """Said outright. A decision is so only with a source and a rationale."""
    if seen.type == "decision":
        return bool(seen.source and seen.rationale)
    return seen.explicit or (seen.type == "constraint" and seen.environment)


def mentions_by(owner: Owner, turn: Turn) -> Iterator[tuple[str, str, Any]]:
    """Everything that a turn says: of which entry, how, and what."""
    # it shows a thing once: by the stated observation, then the surest, then the first
    observations = list(reversed(turn.observations or []))
    observations.sort(key=rank)
    shown = {memory_id(owner, seen.model_dump()): seen for seen in observations}
    yield from ((id, "show", seen) for id, seen in shown.items())
    for seen in observations:  # also where another one shows in its place
        content = seen.opposes
        if seen.type == "decision":  # which has `supersedes` in the place of `opposes`
            content = seen.supersedes if is_stated(seen) else None
        if content:
            yield memory_id(owner, {"type": seen.type, "content": content}), "oppose", seen
    delta = turn.session_memory_delta or SessionMemoryDelta()
    # fields that an item does not know are in the history only
    for item in delta.add:
        blank = {"content": "", "confidence": 0.5}
        if item.type == "decision":
            blank["reversible"] = True
        yield item.id, "add", blank | item.model_dump(include=FIELDS, exclude_defaults=True)
    for patch in delta.update:
        yield patch.id, "update", patch.model_dump(include=FIELDS, exclude_none=True)
    yield from ((id, "delete", None) for id in delta.delete)


def rank(seen: Observation) -> tuple[bool, float]:
    return is_stated(seen), seen.confidence


def item_of(owner: Owner, id: str, entries: dict[str, list[Mention]]) -> Item | None:
    """What was written over what was observed; None where a later turn opposes what it says."""
    deletes = [place for place, mention in enumerate(entries[id]) if mention.how == "delete"]
    mentions = entries[id][deletes[-1] + 1 if deletes else 0 :]  # a delete wipes what was before
    observed = observed_item(id, mentions)
    item, is_written = observed, False
    # writes apply over what is observed in the end, not over what was observed by then
    for at, how, fields in mentions:
        if how == "add" or (how == "update" and item is not None):
            # evidence adds up: of what was observed, then of each write that did something
            evidence = [*(item or {}).get("evidence", []), at]
            item = ({} if how == "add" else item or {}) | fields | {"evidence": evidence}
            is_written = True
    if item is None or not is_written:
        return observed
    is_final = item["type"] == "decision" and not item.setdefault("reversible", True)
    last = max(at for at, how, _ in entries[id] if how != "oppose")
    of_content = entries.get(memory_id(owner, item), [])
    opposed = [what for at, how, what in of_content if how == "oppose" and at > last]
    return None if any(is_of_user(what) or not is_final for what in opposed) else item


def observed_item(id: str, mentions: Sequence[Mention]) -> Item | None:
    """What the entry shows by observation alone."""
    showings = [what for _, how, what in mentions if how == "show"]
    counting = showings_that_count(mentions)
    seen = [what for _, _, what in counting]
    stated = [what for what in seen if is_stated(what)]
    needed = constants.SHOWINGS_NEEDED.get(seen[0].type, inf) if seen else inf
    if not stated and len(seen) < needed:
        return None
    latest = stated[-1] if seen[0].type == "decision" else seen[-1]
    item: Item = {"id": id, "type": latest.type, "content": latest.content}
    item |= {"confidence": max(what.confidence for what in seen)}
    item |= {"evidence": [at for at, _, _ in counting]}
    if latest.type == "decision":
        item |= latest.model_dump(include={"source", "rationale", "reversible"})
        item["decision"] = thing(latest.model_dump())
    if latest.type == "capability_assumption":
        surest = max(what.confidence for what in showings)  # those that no longer count, too
        item["confidence"] = 1 - (1 - surest) * 0.5 ** (len(seen) - 1)
    return item


def showings_that_count(mentions: Sequence[Mention]) -> list[Mention]:
    """Those after the last turn that opposed the entry.

    To a decision whose latest statement is not reversible only the user's opposition counts.
    """
    stated = [what for _, how, what in mentions if how == "show" and is_stated(what)]
    is_final = bool(stated) and stated[-1].type == "decision" and not stated[-1].reversible
    counting: list[Mention] = []
    for mention in mentions:
        if mention.how == "show":
            counting.append(mention)
        elif mention.how == "oppose" and (is_of_user(mention.what) or not is_final):
            counting = []
    return counting


def is_of_user(opposing: Observation) -> bool:
    return opposing.type != "decision" or opposing.source == "user"
