"""The rule extractor: what users say of themselves, as write plans (docs/extractors.md).

It sees one turn and nothing that is remembered, so any worker may run it in any order. Hence its
operations are total: none names a state that has to be there. What has one value at a time keeps
one state id, made of its slot; a later statement ends the old version and begins a new one.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, Protocol

from schemas.base import JsonObject, format_time
from streams.extractors import languages
from streams.extractors.do_not_store import is_private
from streams.extractors.engine import MAX_TEXT as MAX_TEXT
from streams.extractors.engine import Language, OverBudget
from streams.extractors.english import to_do
from streams.extractors.instructions import order_slot
from streams.extractors.languages import language_of as language_of
from streams.extractors.normalize import cleaned
from streams.extractors.registry import failure
from streams.extractors.rule import Finding
from streams.extractors.sentence_dates import Dates
from streams.folds.end_facts import stem
from streams.folds.ids import make_id, normalise
from streams.folds.quote_reason import quoted

NAME = "rules"
VERSION = "1"
"""Another one wherever the plan of some turn differs."""
OWN_WORDS = "chat"  # the one source in which a user speaks
DOMAIN = "general"
UNNAMED = "unnamed pet"
"""The slot of a pet whose name is not known yet; it ends when the name is told."""
LANGUAGE = "answer language"
"""The one slot of instructions whose end names a value: "stop answering in French"."""
OF_OTHERS = frozenset(["people", "health", "diet"])
"""Families of facts about a person close to the user, which end with that person."""
SLOT = "slot"
"""The family in the id of what has one value at a time."""

Estimate = Callable[[str], tuple[float, float, float, float] | None]


class Turn(Protocol):
    """What the extractor reads of a turn (`schemas.events.Turn`, `pipeline.plain.PlainTurn`)."""

    tenant: str
    event_id: str
    session_id: str
    user_id: str | None
    source: str
    status: Any  # running, done or error
    occurred_at: int
    user_input: str
    affect: Any


def extract(turn: Turn, affect: Estimate | None = None) -> JsonObject | None:
    """The write plan of an ended chat turn, as JSON; None where nothing was found, or where its
    words ask not to be kept. Of a text that takes too many tries, a plan that says so and writes
    nothing (`naming.failure`).

    `affect` estimates (valence, arousal, dominance, confidence) of a sentence; without it no moment
    of feeling is written, nor where the turn brings its own, which is better than a guess.
    """
    if turn.source != OWN_WORDS or turn.status == "running" or turn.user_id is None:
        return None
    text = cleaned(turn.user_input)
    language = language_of(text)
    try:
        found = language.find(text, turn.occurred_at)
    except OverBudget as error:
        return failure(NAME, turn, error)
    if not found or is_private(text):
        return None
    return _plan(turn, text, found, language, affect if turn.affect is None else None)


def state_id(tenant: str, user_id: str, family: str, name: str) -> str:
    """The id of a user's state; `name` is the slot of family `SLOT`, otherwise what `_name` makes
    of a value."""
    return make_id(NAME, tenant, user_id, family, name)


def _plan(
    turn: Turn, text: str, found: list[Finding], language: Language, affect: Estimate | None
) -> JsonObject | None:
    plan: JsonObject = {
        "type": "write_plan",
        "tenant": turn.tenant,
        "plan_id": make_id("plan", NAME, turn.tenant, turn.session_id, turn.event_id),
        "user_id": turn.user_id,
        "session_id": turn.session_id,
        "event_id": turn.event_id,
        "occurred_at": format_time(turn.occurred_at),
        "extractor": {"name": NAME, "version": VERSION},
    }
    dates = Dates.of(text, turn.occurred_at, found)
    told = _told_once([one for one in found if _is_state(one)], language)
    states = [
        _state(turn, one, language, dates, at)
        for one in told
        for at in dates.begins(one, bool(_slot(one)))
    ]
    kept = [{one.rule.family, _slot(one)} for one in told]
    ends = [  # what a later value of its slot replaces needs no end
        update
        for one in found
        for update in _ends(turn, one, language, dates)
        if not any(families.issuperset(update["families"]) for families in kept)
    ]
    likes = [
        _preference(turn, one) for one in found if one.rule.kind == "preference" and not _slot(one)
    ]
    felt = _moment(found, affect) if affect else None
    if states:
        plan["state_updates"] = states
    if likes:
        plan["preference_updates"] = likes
    if ends:
        plan["ends"] = ends
    if felt:
        plan["event_affect"] = felt
    if about := dates.annotations():
        plan["event_annotations"] = about
    return plan if states or likes or ends or felt else None


def _told_once(states: list[Finding], language: Language) -> list[Finding]:
    """Of constraints with the same words the one whose rule stands first in the table: who is
    allergic to nuts, and so eats none, has one constraint."""
    first: dict[tuple[str, ...], int] = {}
    for one in states:
        words, place = _words(one), language.rules.index(one.rule)
        first[words] = min(place, first.get(words, place))
    return [
        one
        for one in states
        if one.rule.kind != "constraint" or language.rules.index(one.rule) == first[_words(one)]
    ]


def _words(found: Finding) -> tuple[str, ...]:
    words = {stem(word) for word in languages.words(found.value)}
    return found.rule.kind, normalise(found.whose), *sorted(words)


def _is_state(found: Finding) -> bool:
    """A like is a preference; a favourite has one value at a time and is a state."""
    kind = found.rule.kind
    return bool(_slot(found)) if kind == "preference" else kind not in ("feeling", "end")


def _slot(found: Finding) -> str:
    """The name of what has one value at a time; "" where its topic is not said."""
    if found.rule.accepts == "order":
        slot = order_slot(found.value)
        return " ".join(filter(None, (slot, normalise(found.condition)))) if slot else ""
    if found.rule.family == "pet":
        return "" if found.name else UNNAMED
    return _filled(found.slot_name(), found)


def _filled(name: str, found: Finding) -> str:
    """A slot of the table with its parts; "" where one is not said."""
    topic = normalise(found.topic)
    for part, text in (
        ("{topic}", languages.TOPICS.get(topic, topic)),
        ("{whose}", normalise(found.whose)),
    ):
        if part in name:
            name = name.replace(part, text) if text else ""
    return name


def _state(turn: Turn, found: Finding, language: Language, dates: Dates, begins: int) -> JsonObject:
    rule, slot = found.rule, _slot(found)
    kind = "task" if rule.kind == "task" else "fact"
    payload: JsonObject = {
        "category": rule.kind,
        "value": _value(found, language),
        "evidence": found.sentence,
    }
    if slot:
        payload["slot"] = slot
    if rule.family:
        payload["family"] = rule.family
    if found.whose:
        payload["whose"] = found.whose
    if rule.polarity:
        payload["polarity"] = rule.polarity
    if found.condition:
        payload["condition"] = found.condition
    if kind == "task":
        payload["status"] = "open"
    payload |= dates.payload(found)
    return {
        "kind": kind,
        "state_id": state_id(turn.tenant, turn.user_id or "", *_name(found, slot)),
        "body_text": languages.tell(language, found, dates.fixed(found, language.code)),
        "payload": payload,
        "confidence": float(rule.confidence),
        "valid_from": format_time(begins),
        "evidence_event_ids": [turn.event_id],
        "reason": quoted(found.sentence),
    }


def _value(found: Finding, language: Language) -> str:
    if not found.name:
        return found.value
    return language.called.format(value=found.value, name=found.name)


def _name(found: Finding, slot: str) -> tuple[str, str]:
    """What a state is recognised by: its slot, a pet's name, or the words of its value, whatever
    their endings and order."""
    family = found.rule.family or found.rule.kind
    if found.name:
        return family, normalise(found.name)
    if slot and slot != UNNAMED:
        return SLOT, slot
    _, whose, *words = _words(found)
    return family, f"{whose} {' '.join(words)}".strip()


def _ends(turn: Turn, found: Finding, language: Language, dates: Dates) -> Iterator[JsonObject]:
    """What is over by it: an end for each person it may be of, and each time it may have been."""
    families = _filled(found.rule.ends, found).split("|") if found.rule.ends else []
    if found.rule.kind == "preference" and found.old is None:
        return
    value = found.value if found.old is None else found.old
    if found.rule.family == "pet" and found.name:
        families, value = [UNNAMED], languages.kind_of_pet(found.value)
    if families == ["task"] and language.code == "en":
        value = to_do(value)
    if families == ["instruction"] and (slot := order_slot(found.value)):
        families, value = [slot], value if slot == LANGUAGE else ""
    people = (found.whose or found.rule.whose).split("|") if families else ()
    ended = _by_value(families, value)
    for (names, named), whose, at in product(ended, people, dates.ended(found)):
        if not whose and found.rule.whose:  # the user's own, where it is of a person as well
            names = [name for name in names if name not in OF_OTHERS]
        yield {
            "families": names,
            "value": language.head(named),
            **({"whose": whose} if whose else {}),
            "at": format_time(at),
            "evidence_event_ids": [turn.event_id],
            "reason": quoted(found.sentence),
        }


def _by_value(families: list[str], value: str) -> list[tuple[list[str], str]]:
    """Families by the value that an end of them names: those with `*` are over whatever it is."""
    whole = [name.removesuffix("*") for name in families if name.endswith("*")]
    if not value or not whole:
        return [([name.removesuffix("*") for name in families], value)]
    return [([name for name in families if not name.endswith("*")], value), (whole, "")]


def _preference(turn: Turn, found: Finding) -> JsonObject:
    """The like or dislike, confirmed."""
    return {
        "op": "confirm",
        "subject": found.value,
        "domain": DOMAIN,
        "polarity": found.rule.polarity,
        "confidence": float(found.rule.confidence),
        "note": found.sentence,
        "evidence_event_ids": [turn.event_id],
        "reason": quoted(found.sentence),
        "payload": {"evidence": found.sentence},
    }


def _moment(found: Iterable[Finding], affect: Estimate) -> JsonObject | None:
    """The first feeling shown, with the labels of all of them."""
    shown = [one for one in found if one.rule.kind == "feeling"]
    felt = affect(shown[0].sentence) if shown else None
    if felt is None:
        return None
    v, a, d, confidence = felt
    return {
        "text": shown[0].sentence,
        "labels": list(dict.fromkeys(one.rule.slot for one in shown))[:6],
        "vad": {"v": v, "a": a, "d": d},
        "confidence": confidence,
    }
