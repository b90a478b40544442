"""What plans say is over. An end is true of all that it names, whenever that was or will be said.

An end closes each version of a state that began before it, and revokes each preference that was
last said before it. Of several the earliest counts.
"""

import re
from typing import NamedTuple

from schemas.events import EndUpdate, WritePlan
from schemas.time import format_time
from tests.reference.preferences import Preferences
from tests.reference.states import States
from tests.reference.wording import Document, evidence, first_given, normalised


class End(NamedTuple):
    """An end, in the order in which ends count."""

    at: int
    plan_id: str
    place: int
    families: tuple[str, ...]
    value: str
    whose: str
    rests_on: tuple[str, ...]


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
    )


def hold(ends: list[End], states: States, preferences: Preferences, plan: WritePlan) -> None:
    """Whatever these ends name is over; what that changes is the plan's change."""
    for versions in states.values():
        for version in versions:
            said = named(version["payload"], version["body_text"])
            over = first(ends, *said, since=version["valid_from"])
            if over and (version["valid_to"] is None or over.at < version["valid_to"]):
                finish(version, over, plan, {"valid_to": over.at, "updated_at": plan.occurred_at})
    for known in preferences.values():
        polarity, subject = known["polarity"], known["subject"]
        over = first(ends, {polarity}, subject, "", since=known["said_at"])
        if over and known["status"] != "revoked":
            changed = {"status": "revoked", "updated_at": format_time(plan.occurred_at)}
            finish(known, over, plan, changed)


def finish(known: Document, over: End, plan: WritePlan, changed: Document) -> None:
    elsewhere = plan.model_copy(update={"event_id": None})  # the end rests on its own events
    rests_on = evidence(known["evidence_event_ids"], elsewhere, list(over.rests_on))
    known.update(changed, evidence_event_ids=rests_on)


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
