"""What plans say is over. An end is true of all that it names, whenever that was or will be said.

An end closes each version of a state that began before it, and revokes each preference that was
last said before it. Of several the earliest counts.
"""

import re
from typing import NamedTuple

from schemas.events import EndUpdate, WritePlan
from schemas.time import format_time, parse_time
from tests.reference.wording import Document, first_given, normalised


class End(NamedTuple):
    """An end, in the order in which ends count."""

    at: int
    plan_id: str
    place: int
    families: tuple[str, ...]
    value: str
    whose: str
    rests_on: tuple[str, ...]
    told_at: int


def end_of(plan: WritePlan, place: int, update: EndUpdate) -> End:
    own = [plan.event_id] if plan.event_id else []
    return End(
        first_given(update.at, plan.occurred_at),
        plan.plan_id,
        place,
        tuple(update.families),
        update.value,
        update.whose,
        tuple(dict.fromkeys([*update.evidence_event_ids, *own])),
        plan.occurred_at,
    )


def closed(version: Document, ends: list[End]) -> Document:
    """A version of a state as these ends close it: not those of earlier plans by which it is over
    before it was stated last."""
    stated_at = version["stated_at"]
    ends = [one for one in ends if one.told_at >= stated_at or one.at > stated_at]
    over = first(ends, *named(version["payload"], version["body_text"]), version["valid_from"])
    if over is None or (version["valid_to"] is not None and version["valid_to"] <= over.at):
        return version
    updated_at = max(version["updated_at"], over.told_at)
    changed = {"valid_to": over.at, "updated_at": updated_at}
    return version | changed | rests_on(version, over)


def revoked(known: Document, ends: list[End]) -> Document:
    """A preference as these ends revoke it."""
    over = first(ends, {known["polarity"]}, known["subject"], "", known["said_at"])
    if over is None or known["status"] == "revoked":
        return known
    updated_at = format_time(max(parse_time(known["updated_at"]), over.told_at))
    return known | {"status": "revoked", "updated_at": updated_at} | rests_on(known, over)


def rests_on(known: Document, over: End) -> Document:
    others = [one for one in known["evidence_event_ids"] if one not in over.rests_on]
    return {"evidence_event_ids": [*others, *over.rests_on][-20:]}


def named(payload: Document, body_text: str) -> tuple[set[str], str, str]:
    """The families of a state, its value, and whose it is."""

    def text(name: str) -> str:
        return payload[name] if isinstance(payload.get(name), str) else ""

    family = payload.get("family") or payload.get("category")
    families = {name for name in (family, text("slot")) if name and isinstance(name, str)}
    return families, text("value") or body_text, text("whose")


def first(ends: list[End], families: set[str], value: str, whose: str, since: int) -> End | None:
    meant = [
        one
        for one in ends
        if since < one.at
        and families & set(one.families)
        and one.whose == whose
        and has_words(value, one.value)
    ]
    return min(meant, default=None)


def has_words(text: str, wanted: str) -> bool:
    """Each word wanted is a word of the text, but for its ending; Chinese and Japanese anywhere."""
    words = re.findall(r"\w+", normalised(text))
    return all(
        word in normalised(text)
        if re.search("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]", word)
        else any(root(word) == root(one) for one in words)
        for word in re.findall(r"\w+", normalised(wanted))
    )


def root(word: str) -> str:
    if len(word) > 4 and word[-3:] in ("ies", "ied"):
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word[: -len(ending)]
            break
    if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "aeiou":
        return word[:-1]
    return word
