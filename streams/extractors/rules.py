"""The rule extractor: what users say of themselves, as write plans (docs/extractors.md).

It sees one turn and nothing that is remembered, so any worker may run it in any order. Hence its
operations are total: none names a state that has to be there. What has one value at a time keeps
one state id, made of its slot; a later statement ends the old version and begins a new one.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, Protocol

from schemas.base import JsonObject, format_time
from streams.extractors.chinese import CHINESE
from streams.extractors.dating import Dates
from streams.extractors.engine import MAX_TEXT as MAX_TEXT
from streams.extractors.engine import Language
from streams.extractors.english import ENGLISH
from streams.extractors.european import code_of
from streams.extractors.french import FRENCH
from streams.extractors.german import GERMAN
from streams.extractors.japanese import JAPANESE
from streams.extractors.rule import Finding
from streams.extractors.spanish import SPANISH
from streams.folds.ids import make_id, normalise
from streams.folds.quoting import quoted

NAME = "rules"
VERSION = "17"
"""Another one wherever the plan of some turn differs."""
OWN_WORDS = "chat"  # the one source in which a user speaks
DOMAIN = "general"
LANGUAGES = {
    "en": ENGLISH, "zh": CHINESE, "ja": JAPANESE, "de": GERMAN, "fr": FRENCH, "es": SPANISH,
}  # fmt: skip
TOPICS = {  # one name for what people of all languages speak of
    **dict.fromkeys(
        ("飲み物", "ドリンク", "饮料", "饮品", "飲料", "beverage", "getränk", "boisson", "bebida"),
        "drink",
    ),
    **dict.fromkeys(
        ("食べ物", "料理", "食物", "菜", "dish", "meal", "essen", "gericht", "plat", "comida"),
        "food",
    ),
    **dict.fromkeys(("色", "颜色", "顏色", "color", "farbe", "couleur"), "colour"),
    **dict.fromkeys(("映画", "电影", "電影", "film", "película"), "movie"),
    **dict.fromkeys(("音楽", "音乐", "音樂", "musik", "musique", "música"), "music"),
    **dict.fromkeys(("本", "书", "書", "buch", "livre", "libro"), "book"),
}
SHARED = frozenset(["event", "decision", "plan", "goal", "habit", "home", "partner"])
"""Families of what people do together: their text says with whom."""
STATE_KINDS = {"task": "task", "task_done": "task"}  # all else is a fact

Estimate = Callable[[str], tuple[float, float, float, float] | None]

_CHOOSING = re.compile(  # the words around any choice, around what is chosen
    r"^(?:(?:use|go with|stick with|stick to|adopt|pick|choose) (?:the )?|the |采用|使用|选用|用)"
    r"|(?:を(?:使う|採用する|採用|選ぶ))$"
)
_KANA = re.compile("[ぁ-んァ-ヶ]")
_HAN = re.compile("[一-鿿]")


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


def language_of(text: str) -> Language:
    """By script: kana is Japanese, other Han characters are Chinese; all else by its words."""
    if not text.isascii():
        if _KANA.search(text):
            return JAPANESE
        if _HAN.search(text):
            return CHINESE
    return LANGUAGES[code_of(text)]


def extract(turn: Turn, affect: Estimate | None = None) -> JsonObject | None:
    """The write plan of an ended chat turn, as JSON; None where nothing was found.

    `affect` estimates (valence, arousal, dominance, confidence) of a sentence; without it no moment
    of feeling is written, nor where the turn brings its own, which is better than a guess.
    """
    if turn.source != OWN_WORDS or turn.status == "running" or turn.user_id is None:
        return None
    language = language_of(turn.user_input)
    found = language.find(turn.user_input)
    if not found:
        return None
    return _plan(turn, turn.user_id, found, language, affect if turn.affect is None else None)


def _plan(
    turn: Turn, user_id: str, found: list[Finding], language: Language, affect: Estimate | None
) -> JsonObject | None:
    plan: JsonObject = {
        "type": "write_plan",
        "tenant": turn.tenant,
        "plan_id": make_id("plan", NAME, turn.tenant, turn.session_id, turn.event_id),
        "user_id": user_id,
        "session_id": turn.session_id,
        "event_id": turn.event_id,
        "occurred_at": format_time(turn.occurred_at),
        "extractor": {"name": NAME, "version": VERSION},
    }
    dates = Dates.of(turn.user_input, turn.occurred_at, found)
    states = [_state(turn, one, language, dates) for one in found if _is_state(one)]
    ends = [update for one in found for update in _ends(turn, one, language, dates)]
    likes = [
        update
        for one in found
        if one.rule.kind == "preference"
        for update in _preferences(turn, one)
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


def _is_state(found: Finding) -> bool:
    """A like is a preference; only a favourite has one value at a time and is a state as well."""
    kind = found.rule.kind
    return bool(_slot(found)) if kind == "preference" else kind not in ("feeling", "end")


def _slot(found: Finding) -> str:
    """The name of what has one value at a time; "" where its topic is not said."""
    slot = found.rule.slot
    if "{topic}" not in slot:
        return slot
    topic = normalise(found.topic)
    return slot.format(topic=TOPICS.get(topic, topic)) if topic else ""


def _state(turn: Turn, found: Finding, language: Language, dates: Dates) -> JsonObject:
    rule = found.rule
    slot = _slot(found)
    kind = STATE_KINDS.get(rule.kind, "fact")
    if kind == "task":
        name = (
            ("slot", slot)
            if slot
            else ("task", normalise(language.key(found.value, rule.kind == "task_done")))
        )
    else:
        name = ("slot", slot) if slot else _unslotted(found)
    payload: JsonObject = {
        "category": rule.kind,
        "value": found.value,
        "corrects": found.old or None,
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
    if found.why:
        payload["rationale"] = found.why
    if kind == "task":
        payload["status"] = "done" if rule.kind == "task_done" else "open"
    payload |= dates.payload(found)
    begins = dates.begins(found, bool(slot))
    return {
        "kind": kind,
        "state_id": make_id("rules", turn.tenant, turn.user_id or "", *name),
        "body_text": language.tell(rule.says, _parts(found, dates.fixed(found, language.fix_date))),
        "payload": payload,
        "confidence": rule.confidence,
        "valid_from": format_time(begins),
        "evidence_event_ids": [turn.event_id],
        "reason": quoted(found.sentence),
    }


def _unslotted(found: Finding) -> tuple[str, str]:
    """What tells a fact of no slot from others: a decision's object, the old one where it is taken
    back, so that "we switched from MySQL" ends "let's use MySQL"."""
    kind, said = found.rule.kind, normalise(found.old or found.value)
    if kind == "decision":
        return kind, _CHOOSING.sub("", said) or said
    return found.rule.family or kind, f"{found.whose} {said}".strip()


def _parts(found: Finding, value: str) -> dict[str, str]:
    """What a rule's `says` may name."""
    return {
        "value": value,
        "old": found.old or "",
        "topic": found.topic,
        "company": found.company if found.rule.family in SHARED else "",
    }


def _ends(turn: Turn, found: Finding, language: Language, dates: Dates) -> Iterator[JsonObject]:
    """What is over by it: an end for each person it may be of, and each time it may have been."""
    families = found.rule.ends.split("|") if found.rule.ends else []
    people = (found.whose or found.rule.whose).split("|") if families else ()
    for whose, at in product(people, dates.ended(found)):
        yield {
            "families": families,
            "value": language.head(found.value if found.old is None else found.old),
            **({"whose": whose} if whose else {}),
            "at": format_time(at),
            "evidence_event_ids": [turn.event_id],
            "reason": quoted(found.sentence),
        }


def _preferences(turn: Turn, found: Finding) -> list[JsonObject]:
    """The like or dislike, confirmed. One that it takes the place of is revoked, and before that
    made a candidate: what is not known cannot be revoked, and here nothing is known."""
    rule = found.rule
    common = {
        "domain": DOMAIN,
        "polarity": rule.polarity,
        "confidence": rule.confidence,
        "note": found.sentence,
        "evidence_event_ids": [turn.event_id],
        "reason": quoted(found.sentence),
    }
    said = {"corrects": found.old, "evidence": found.sentence}
    new = common | {"op": "confirm", "subject": found.value, "payload": said}
    if not found.old or normalise(found.old) == normalise(found.value):
        return [new]
    ended = [common | {"op": op, "subject": found.old} for op in ("upsert_candidate", "revoke")]
    return [*ended, new]


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
