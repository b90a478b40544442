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
        findings = language.find(text, turn.occurred_at)
    except OverBudget as error:
        return failure(NAME, turn, error)
    if not findings or is_private(text):
        return None
    return _plan(turn, text, findings, language, affect if turn.affect is None else None)


def state_id(tenant: str, user_id: str, family: str, name: str) -> str:
    """The id of a user's state; `name` is the slot of family `SLOT`, otherwise what `_name` makes
    of a value."""
    return make_id(NAME, tenant, user_id, family, name)


def _plan(
    turn: Turn, text: str, findings: list[Finding], language: Language, affect: Estimate | None
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
    dates = Dates.of(text, turn.occurred_at, findings)
    statements = _told_once([finding for finding in findings if _is_state(finding)], language)
    states = [
        _state(turn, finding, language, dates, at)
        for finding in statements
        for at in dates.begins(finding, bool(_slot(finding)))
    ]
    slots = [{finding.rule.family, slot} for finding in statements if (slot := _slot(finding))]
    ends = [  # what a later value of its slot replaces needs no end
        update
        for finding in findings
        for update in _ends(turn, finding, language, dates)
        if not any(families.issuperset(update["families"]) for families in slots)
    ]
    likes = [
        _preference(turn, finding)
        for finding in findings
        if finding.rule.kind == "preference" and not _slot(finding)
    ]
    felt = _moment(findings, affect) if affect else None
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
    for finding in states:
        words, place = _words(finding), language.rules.index(finding.rule)
        first[words] = min(place, first.get(words, place))
    return [
        finding
        for finding in states
        if finding.rule.kind != "constraint"
        or language.rules.index(finding.rule) == first[_words(finding)]
    ]


def _words(finding: Finding) -> tuple[str, ...]:
    words = {stem(word) for word in languages.words(finding.value)}
    return finding.rule.kind, normalise(finding.whose), *sorted(words)


def _is_state(finding: Finding) -> bool:
    """A like is a preference; a favourite has one value at a time and is a state."""
    kind = finding.rule.kind
    return bool(_slot(finding)) if kind == "preference" else kind not in ("feeling", "end")


def _slot(finding: Finding) -> str:
    """The name of what has one value at a time; "" where its topic is not said."""
    if finding.rule.accepts == "order":
        slot = order_slot(finding.value)
        return " ".join(filter(None, (slot, normalise(finding.condition)))) if slot else ""
    if finding.rule.family == "pet":
        return "" if finding.name else UNNAMED
    return _filled(finding.rule.slot, finding)


def _filled(name: str, finding: Finding) -> str:
    """A slot of the table with its parts; "" where one is not said."""
    topic = normalise(finding.topic)
    for part, text in (
        ("{topic}", languages.TOPICS.get(topic, topic)),
        ("{whose}", normalise(finding.whose)),
    ):
        if part in name:
            name = name.replace(part, text) if text else ""
    return name


def _state(
    turn: Turn, finding: Finding, language: Language, dates: Dates, begins: int
) -> JsonObject:
    rule, slot = finding.rule, _slot(finding)
    kind = "task" if rule.kind == "task" else "fact"
    payload: JsonObject = {
        "category": rule.kind,
        "value": _value(finding, language),
        "evidence": finding.sentence,
    }
    if slot:
        payload["slot"] = slot
    if rule.family:
        payload["family"] = rule.family
    if finding.whose:
        payload["whose"] = finding.whose
    if rule.polarity:
        payload["polarity"] = rule.polarity
    if finding.condition:
        payload["condition"] = finding.condition
    if kind == "task":
        payload["status"] = "open"
    payload |= dates.payload(finding)
    return {
        "kind": kind,
        "state_id": state_id(turn.tenant, turn.user_id or "", *_name(finding, slot)),
        "body_text": languages.tell(language, finding, dates.fixed(finding, language.code)),
        "payload": payload,
        "confidence": float(rule.confidence),
        "valid_from": format_time(begins),
        "evidence_event_ids": [turn.event_id],
        "reason": quoted(finding.sentence),
    }


def _value(finding: Finding, language: Language) -> str:
    if not finding.name:
        return finding.value
    return language.called.format(value=finding.value, name=finding.name)


def _name(finding: Finding, slot: str) -> tuple[str, str]:
    """What a state is recognised by: its slot, a pet's name, or the words of its value, whatever
    their endings and order."""
    family = finding.rule.family or finding.rule.kind
    if finding.name:
        return family, normalise(finding.name)
    if slot and slot != UNNAMED:
        return SLOT, slot
    _, person, *words = _words(finding)
    return family, f"{person} {' '.join(words)}".strip()


def _ends(turn: Turn, finding: Finding, language: Language, dates: Dates) -> Iterator[JsonObject]:
    """What is over by it: an end for each person it may be of, and each time it may have been."""
    ends = finding.rule.ends or ((finding.rule.family,) if finding.old else ())
    families = [filled for name in ends if (filled := _filled(name, finding))]
    if finding.rule.kind == "preference" and finding.old is None:
        return
    value = finding.value if finding.old is None else finding.old
    if finding.rule.family == "pet" and finding.name:
        families, value = [UNNAMED], languages.kind_of_pet(finding.value)
    if families == ["task"] and language.code == "en":
        value = to_do(value)
    if families == ["instruction"] and (slot := order_slot(finding.value)):
        families, value = [slot], value if slot == LANGUAGE else ""
    people = (finding.whose or finding.rule.whose).split("|") if families else ()
    ended = _by_value(families, value)
    for (names, named), person, at in product(ended, people, dates.ended(finding)):
        if not person and finding.rule.whose:  # the user's own, where it is of a person as well
            names = [name for name in names if name not in OF_OTHERS]
        yield {
            "families": names,
            "value": language.head(named),
            **({"whose": person} if person else {}),
            "at": format_time(at),
            "evidence_event_ids": [turn.event_id],
            "reason": quoted(finding.sentence),
        }


def _by_value(families: list[str], value: str) -> list[tuple[list[str], str]]:
    """Families by the value that an end of them names: those with `*` are over whatever it is."""
    whole = [name.removesuffix("*") for name in families if name.endswith("*")]
    if not value or not whole:
        return [([name.removesuffix("*") for name in families], value)]
    return [([name for name in families if not name.endswith("*")], value), (whole, "")]


def _preference(turn: Turn, finding: Finding) -> JsonObject:
    """The like or dislike, confirmed."""
    return {
        "op": "confirm",
        "subject": finding.value,
        "domain": DOMAIN,
        "polarity": finding.rule.polarity,
        "confidence": float(finding.rule.confidence),
        "note": finding.sentence,
        "evidence_event_ids": [turn.event_id],
        "reason": quoted(finding.sentence),
        "payload": {"evidence": finding.sentence},
    }


def _moment(findings: Iterable[Finding], affect: Estimate) -> JsonObject | None:
    """The first feeling shown, with the labels of all of them."""
    feelings = [finding for finding in findings if finding.rule.kind == "feeling"]
    felt = affect(feelings[0].sentence) if feelings else None
    if felt is None:
        return None
    v, a, d, confidence = felt
    return {
        "text": feelings[0].sentence,
        "labels": list(dict.fromkeys(finding.rule.slot for finding in feelings))[:6],
        "vad": {"v": v, "a": a, "d": d},
        "confidence": confidence,
    }
