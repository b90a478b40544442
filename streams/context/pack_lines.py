"""Derives the items of a context pack from the documents of a user and a session and from hits.

A pack has three parts (docs/context.md). `stable`: what every answer must respect, the same for
every query. `now`: the session and the mood. `about`: one ranking of facts, preferences, tasks and
turns, by the query, or by recency without one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

from schemas.citation import cited
from schemas.context import SECTIONS
from schemas.time import DAY, SECOND, format_time, parse_time
from streams.context.excerpt import excerpt
from streams.context.visible import sanitize
from streams.dates.period import format_period
from streams.folds.ids import folded
from streams.search import Recall, Recalled, Turn, dates_named

Json = dict[str, Any]
Source = Literal["user", "agent"]
Part = Literal["stable", "now", "about"]

STABLE_SECTIONS = ("identity", "constraints", "preferences", "facts")
"""Sections of the stable part; it has only `preferences` about answers and `facts` about the user's
identity."""
NAMING = {"name", "address", "pronouns", "nickname"}
"""Slots and families of states that specify how to address a person."""
BINDING = {"constraint", "health", "allergy", "diet", "instruction"}
"""Categories and families of states that an answer must respect."""
STYLE = {"style", "format", "tone", "language", "length", "communication"}
"""Domains of preferences about how an agent answers."""
PERSONAL = {
    "identity", "home", "work", "study", "people", "partner", "household", "family", "pet", "age",
    "birthday", "origin", "language",
}  # fmt: skip
"""Categories, families and slots of states about the user's identity."""
DATED = {"facts", "tasks"}
"""Sections of states with dates in their lines."""
NEVER = parse_time("1000-01-01T00:00:00Z")
"""A time far from every date that a text names without its year."""
WEEK = 7 * DAY
NOTABLE = 0.25
"""Minimum distance of the valence from neutral for a mood in the pack."""
INPUT, ANSWER, LATER = 400, 300, 120
"""Maximum characters of a turn: of the user, of the agent, after a fact."""


class Item(NamedTuple):
    """One line of a pack.

    `id` is the document's id, `cite` its short form in the text (schemas.citation). `text` is the
    remembered text, `detail` an addition of the pack. `source`: user or agent. `said_by`: the
    speakers in a session of several users, if not this user alone (streams.context.load). `key`
    is the sort key within a section. `rank` orders the stable part and `now`: the budget takes the
    lowest first. `place` is the position in the ranking, or None without a match. `later`: a turn
    that may have overtaken a fact. `evidence`: ids of the events that it is based on.
    """

    section: str
    kind: str
    id: str
    cite: str
    text: str
    source: Source
    at: int
    part: Part
    key: tuple[Any, ...] = ()
    rank: tuple[Any, ...] = ()
    place: tuple[Any, ...] | None = None
    detail: str = ""
    answer: str = ""
    session_id: str | None = None
    said_by: tuple[str | None, ...] = ()
    later: str = ""
    later_id: str | None = None
    evidence: tuple[str, ...] = ()


class ValidState(NamedTuple):
    """A valid version of a state.

    `since` and `confirmed` are in microseconds, `payload` and `evidence` as in
    schemas.memory.State.
    """

    id: str
    kind: str
    text: str
    payload: Json
    evidence: Sequence[str]
    since: int
    confirmed: int

    @classmethod
    def of(cls, document: Json) -> Self:
        """Converts a state's document."""
        return cls(
            document["state_id"], document["kind"], document["body_text"], document["payload"],
            document["evidence_event_ids"], parse_time(document["valid_from"]),
            parse_time(document["last_confirmed_at"]),
        )  # fmt: skip


def items(
    user: Json | None, session: Json | None = None, recall: Recall | None = None, at: int = 0
) -> list[Item]:
    """Returns all items of a pack, by part and place, without duplicates.

    `user`: `states`, each a `ValidState`, `preferences`, the `mood`, and ids of the states and
    preferences `of_rules`. `session`: the result of
    `session_of`. `recall`: the hits of the query, or None without a query or an index. `at`: the
    time of the answer.
    """
    normal = _NormalText()
    memory = list(_user_items(user or {}, normal, at))
    if recall is None:
        items = [item._replace(place=_recency(item)) for item in memory]
    else:
        items = list(_ranked(memory, recall))
    items += _mood(user or {}, at)
    items += _session_items(session or {})
    items = [item for item in items if item.text or item.answer]
    items.sort(key=in_order)
    return _without_duplicates(items, normal)


_ORDER = {name: place for place, name in enumerate(SECTIONS)}
_PARTS: dict[Part, int] = {"stable": 0, "now": 1, "about": 2}


def in_order(item: Item) -> tuple[Any, ...]:
    """Sort key: the position of an item in the text."""
    if item.part == "about":
        return _PARTS["about"], 0, item.place
    return _PARTS[item.part], _ORDER[item.section], item.key


def _recency(item: Item) -> tuple[Any, ...]:
    """Sort key: constraints first, then the most recent."""
    return item.section not in ("identity", "constraints"), -item.at, item.kind, item.id


def _ranked(memory: list[Item], recall: Recall) -> Iterator[Item]:
    """Yields the hits in order, and the items that a pack has whether they match or not."""
    by_id = {(item.kind, item.id): item for item in memory}
    turns = {hit.id for hit in recall.hits if hit.turn is not None}
    for place, hit in enumerate(recall.hits):
        if hit.turn is not None:
            yield _turn(hit, hit.turn, recall.weights)._replace(place=(0, place))
            continue
        item = by_id.pop((hit.kind, hit.id), None)
        if item is None:
            continue
        later = hit.later
        if later is not None and item.part == "about":
            text = f"{_day(later.at // DAY)} {excerpt(later.user_input, LATER, recall.weights)}"
            item = item._replace(later=text, later_id=later.event_id)
        elif later is not None and later.event_id not in turns:  # the stable part does not change
            turns.add(later.event_id)
            yield _turn(hit, later, recall.weights)._replace(place=(0, place, 1))
        yield item._replace(place=(0, place))
    for item in by_id.values():
        if item.section in ("identity", "constraints"):  # last if the stable part is full
            yield item._replace(place=(1, *_recency(item)))
        elif item.part == "stable":
            yield item


def _user_items(user: Json, normal: "_NormalText", at: int) -> Iterator[Item]:
    states: list[ValidState] = [
        state for state in user.get("states", ()) if not _is_past(state, at)
    ]
    texts, of_rules = _StateTexts(states, normal), user.get("of_rules", frozenset())
    for state in states:
        if not texts.contain(state.payload.get("value"), len(state.text), state.evidence):
            yield _state(state, _source(state.id, of_rules))
    for preference in user.get("preferences", ()):
        if preference["status"] == "confirmed" and not texts.contain(
            preference["subject"], 0, preference["evidence_event_ids"], preference["polarity"]
        ):
            yield _preference(preference, _source(preference["preference_id"], of_rules))


def _is_past(state: ValidState, at: int) -> bool:
    """Whether it is a task that is done or past its date."""
    if state.kind != "task":
        return False
    return state.payload.get("status") == "done" or any(
        end <= at for _, end in dates_named.of_payload(state.payload)
    )


class _StateTexts:
    """The texts of states: a pack omits a text that a longer state of the same evidence
    contains."""

    def __init__(self, states: list[ValidState], normal: "_NormalText") -> None:
        self._normal = normal
        self._by_event: dict[str, list[tuple[bytes, ValidState]]] = defaultdict(list)
        for state in states:
            entry = normal.letters[state.text], state
            for event in state.evidence:
                self._by_event[event].append(entry)

    def contain(
        self,
        value: str | None,
        length: int,
        evidence: Sequence[str],
        polarity: str | None = None,
    ) -> bool:
        """Whether a state of the same evidence (and polarity), longer than `length`, contains a
        value."""
        if not value:
            return False
        normal, letters = self._normal, self._normal.letters[value]
        for event in evidence:
            for state_letters, state in self._by_event.get(event, ()):
                if (
                    letters in state_letters
                    and len(state.text) > length
                    and normal[value] in normal[state.text]
                    and (polarity is None or polarity == state.payload.get("polarity"))
                ):
                    return True
        return False


def _source(id: str, of_rules: Set[str]) -> Source:
    """The user if only the rules, which read the user's message alone, have written a value."""
    return "user" if id in of_rules else "agent"


def _state(state: ValidState, source: Source) -> Item:
    section, part = _section(state.kind, state.payload)
    return Item(
        section, "state", state.id, cited("state", state.id), sanitize(state.text),
        source, state.confirmed, part,
        key=(state.since, state.id), rank=(_ORDER[section], -state.confirmed, state.id),
        detail=_dates(state) if section in DATED else "",
        evidence=tuple(state.evidence),
    )  # fmt: skip


def _dates(state: ValidState) -> str:
    """The start of its validity, and the date that it is about, unless its text has that date: "on
    Monday" is ambiguous a month later. What has lasted until its validity began ("since 2019")
    began then."""
    since = _day(state.since // DAY)
    for period in dates_named.of_payload(state.payload):
        if period[0] + WEEK < state.since <= period[1]:
            return f"since {_day(period[0] // DAY)}"
        date = format_period(*period)
        named = dates_named.of_event(state.text, NEVER)
        if date != since and dates_named.overlapping(named, period) is None:
            return f"since {since}, date {date}"
    return f"since {since}"


def _section(kind: str, payload: Json) -> tuple[str, Part]:
    if kind == "task":
        return "tasks", "about"
    kinds = {payload.get(name) for name in ("category", "family", "slot")}
    if not NAMING.isdisjoint(kinds):
        return "identity", "stable"
    if not BINDING.isdisjoint(kinds):
        return "constraints", "stable"
    return "facts", "stable" if kind == "relation" or not PERSONAL.isdisjoint(kinds) else "about"


@lru_cache(maxsize=4096)
def _day(number: int) -> str:
    return format_time(number * DAY)[:10]


def _preference(preference: Json, source: Source) -> Item:
    verb = "Likes" if preference["polarity"] == "like" else "Dislikes"
    updated, id = parse_time(preference["updated_at"]), preference["preference_id"]
    return Item(
        "preferences", "preference", id, cited("preference", id),
        sanitize(f"{verb}: {preference['subject']}"), source, updated,
        "stable" if preference["domain"] in STYLE else "about",
        key=(verb, preference["subject"], id), rank=(_ORDER["preferences"], -updated, id),
        detail=_day(updated // DAY), evidence=tuple(preference["evidence_event_ids"]),
    )  # fmt: skip


def _mood(user: Json, at: int) -> Iterator[Item]:
    """The mood, unless it is near neutral or older than its half-life."""
    mood = user.get("mood")
    if not mood or mood["last_at"] is None or abs(mood["vad"]["v"]) < NOTABLE:
        return
    last = parse_time(mood["last_at"])
    if at - last > mood["shock_halflife_seconds"] * SECOND:
        return
    tone = "good" if mood["vad"]["v"] > 0 else "low"
    yield Item(
        "mood", "state", mood["state_id"], cited("state", mood["state_id"]), sanitize(mood["text"]),
        "agent", last, "now", key=(0,), rank=(0,), detail=f"{tone} mood",
    )  # fmt: skip


def _session_items(session: Json) -> Iterator[Item]:
    for place, item in enumerate(session.get("session_memory", ())):
        text = item.get("decision") or item["content"]
        if item.get("rationale"):
            text = f"{text.rstrip('.')}. Reason: {item['rationale']}"
        yield Item(
            "session", "session_memory", item["id"], cited("session_memory", item["id"]),
            sanitize(text), "agent" if item.get("source") == "agent" else "user", 0, "now",
            key=(place,), rank=(1, -item["confidence"], -place),
            detail=item["type"].replace("_", " "), session_id=session["session_id"],
            said_by=tuple(item.get("said_by", ())),
        )  # fmt: skip


def _turn(hit: Recalled, turn: Turn, weights: dict[str, float]) -> Item:
    """A turn; with the agent's answer only if the user's words lack the subject of the query."""
    text = excerpt(turn.user_input, INPUT, weights)
    answer = "" if text and not hit.answers else turn.agent_answer
    return Item(
        "turns", "event", turn.event_id, cited("event", turn.event_id), text,
        "user" if text else "agent", turn.at, "about", detail=_day(turn.at // DAY),
        answer=excerpt(answer, ANSWER, weights), session_id=turn.session_id,
        evidence=(turn.event_id,),
    )  # fmt: skip


def _without_duplicates(items: list[Item], normal: "_NormalText") -> list[Item]:
    """The first of items that differ in case and punctuation only; one per group of speakers."""
    counts = Counter(normal.letters[item.text] for item in items)
    keys: set[tuple[object, ...]] = set()
    unique = []
    for item in items:
        if counts[normal.letters[item.text]] > 1:
            key = normal[item.text], normal[item.answer], item.said_by
            if key in keys:
                continue
            keys.add(key)
        unique.append(item)
    return unique


class _NormalText(dict[str, str]):
    """Text -> its words without case and without the marks around them, to compare texts. Signs
    within a word count: C++ is not C, 1.5 is not 15.

    `letters` is a faster first comparison: texts with different letters have different words.
    """

    def __init__(self) -> None:
        self.letters = _Letters()

    def __missing__(self, text: str) -> str:
        is_ascii = text.isascii()
        lower, marks = (text.lower(), _ASCII_MARKS) if is_ascii else (folded(text), _MARKS)
        words = [word if word.isalnum() else word.strip(marks) or word for word in lower.split()]
        normal = self[text] = " ".join(words)
        return normal


class _Letters(dict[str, bytes]):
    """Text -> its letters in lower case, without blanks and marks."""

    def __missing__(self, text: str) -> bytes:
        plain = text if text.isascii() else _UNMARKED.sub("", folded(text))
        letters = plain.encode("utf-8", "surrogatepass").lower().translate(None, _ASCII_UNMARKED)
        self[text] = letters
        return letters


_MARKS = ".,;:!?\"'()“”„‟«»‘’…。、「」『』؟،؛।"
"""Marks around a word after NFKC."""
_ASCII_MARKS = "".join(mark for mark in _MARKS if mark.isascii())
_ASCII_BLANKS = "".join(char for char in map(chr, range(128)) if char.isspace())
_UNMARKED = re.compile(rf"[{re.escape(_MARKS)}\s]+")
_ASCII_UNMARKED = (_ASCII_MARKS + _ASCII_BLANKS).encode()
