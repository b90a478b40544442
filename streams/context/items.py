"""The lines of a context pack, derived from the documents of a user and a session and from hits.

A pack has three parts (docs/context.md). `STABLE`: what an answer always has to respect, the same
for every query. `NOW`: the session and the mood. `ABOUT`: the one ranking of facts, preferences,
tasks and turns, by the query, or by recency if there is none.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

from schemas.citation import cited
from schemas.context import SECTIONS
from schemas.time import DAY, SECOND, format_time, parse_time
from streams.context.excerpt import excerpt
from streams.context.visible import seen
from streams.dates.period import format_period
from streams.search import Recall, Recalled, Turn, about

Json = dict[str, Any]
Source = Literal["user", "agent"]
Part = Literal["stable", "now", "about"]

STABLE_SECTIONS = ("identity", "constraints", "preferences", "facts")
"""Sections of the stable part: of `preferences` those about answers, of `facts` those about who the
user is."""
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
"""Categories, families and slots of states that describe who the user is."""
DATED = {"facts", "tasks"}
"""Sections of states that are shown with their dates."""
NEVER = parse_time("1000-01-01T00:00:00Z")
"""A time far from every date that a text names without its year."""
NOTABLE = 0.25
"""Distance of the valence from neutral at which a mood is shown."""
SAID, ANSWERED, LATER = 400, 300, 120
"""Characters of a turn that are shown: of the user, of the agent, beside a fact."""


class Item(NamedTuple):
    """One line of a pack.

    `id` is the document's id, and `cite` its short form in the text (schemas.citation). `text` is
    what is remembered, `detail` what the pack adds to it. `source`: whose words it is based on.
    `said_by`: in a session of several users, who said it, if not this user alone
    (streams.context.session). `key` orders a section. `rank` orders the items of the stable part
    and of `now`: the budget takes the lowest first. `place` is the item's place in the ranking;
    None: it does not match the query. `later` is a turn that may have overtaken a fact.
    `evidence` has the ids of the events that it is based on.
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


class Held(NamedTuple):
    """A version of a state that stands: what a pack is made of, out of rows or of a document.

    `since` and `confirmed` are microseconds, `payload` and `evidence` as schemas.memory.State has
    them.
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
        """That of a state's document."""
        return cls(
            document["state_id"], document["kind"], document["body_text"], document["payload"],
            document["evidence_event_ids"], parse_time(document["valid_from"]),
            parse_time(document["last_confirmed_at"]),
        )  # fmt: skip


def items(
    user: Json | None, session: Json | None = None, recall: Recall | None = None, at: int = 0
) -> list[Item]:
    """All items of a pack, by part and place; duplicates are removed.

    `user`: `states`, each a `Held`, `preferences` and the `mood`, as they stand. `session` is the
    result of `session_of`. `recall`: what the query matches; None: there is no query, or no index
    to ask. `at` is the time of the answer.
    """
    bare = _Bare()
    held = list(_of_user(user or {}, bare, at))
    if recall is None:
        items = [one._replace(place=_recency(one)) for one in held]
    else:
        items = list(_ranked(held, recall))
    items += _mood(user or {}, at)
    items += _of_session(session or {})
    shown = [item for item in items if item.text or item.answer]
    shown.sort(key=in_order)
    return _once(shown, bare)


_ORDER = {name: place for place, name in enumerate(SECTIONS)}
_PARTS: dict[Part, int] = {"stable": 0, "now": 1, "about": 2}


def in_order(item: Item) -> tuple[Any, ...]:
    """Sort key: the place of an item in the text."""
    if item.part == "about":
        return _PARTS["about"], 0, item.place
    return _PARTS[item.part], _ORDER[item.section], item.key


def _recency(item: Item) -> tuple[Any, ...]:
    """What binds an answer first, then the most recent."""
    return item.section not in ("identity", "constraints"), -item.at, item.kind, item.id


def _ranked(held: list[Item], recall: Recall) -> Iterator[Item]:
    """The hits in their order, and what is shown whether the query matches it or not."""
    by_id = {(item.kind, item.id): item for item in held}
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
        elif later is not None and later.event_id not in turns:  # the stable part stays as it is
            turns.add(later.event_id)
            yield _turn(hit, later, recall.weights)._replace(place=(0, place, 1))
        yield item._replace(place=(0, place))
    for item in by_id.values():
        if item.section in ("identity", "constraints"):  # shown last if the stable part is full
            yield item._replace(place=(1, *_recency(item)))
        elif item.part == "stable":
            yield item


def _of_user(user: Json, bare: "_Bare", at: int) -> Iterator[Item]:
    states: list[Held] = [state for state in user.get("states", ()) if not _is_past(state, at)]
    told = _Told(states, bare)
    for state in states:
        if not told.fuller(state.payload.get("value"), len(state.text), state.evidence):
            yield _state(state)
    for preference in user.get("preferences", ()):
        if preference["status"] == "confirmed" and not told.fuller(
            preference["subject"], 0, preference["evidence_event_ids"], preference["polarity"]
        ):
            yield _preference(preference)


def _is_past(state: Held, at: int) -> bool:
    """Whether it is a task that is done, or whose date has passed."""
    if state.kind != "task":
        return False
    return state.payload.get("status") == "done" or any(
        end <= at for _, end in about.of_payload(state.payload)
    )


class _Told:
    """Of what was made of one sentence twice, the fuller is shown."""

    def __init__(self, states: list[Held], bare: "_Bare") -> None:
        self._bare = bare
        self._by_event: dict[str, list[tuple[bytes, Held]]] = defaultdict(list)
        for state in states:
            told = bare.letters[state.text], state
            for event in state.evidence:
                self._by_event[event].append(told)

    def fuller(
        self,
        value: str | None,
        length: int,
        evidence: Sequence[str],
        polarity: str | None = None,
    ) -> bool:
        """Whether a state of the same evidence (and polarity), longer than `length`, says a value,
        too."""
        if not value:
            return False
        bare, letters = self._bare, self._bare.letters[value]
        for event in evidence:
            for told, state in self._by_event.get(event, ()):
                if (
                    letters in told
                    and len(state.text) > length
                    and bare[value] in bare[state.text]
                    and (polarity is None or polarity == state.payload.get("polarity"))
                ):
                    return True
        return False


def _state(state: Held) -> Item:
    section, part = _section(state.kind, state.payload)
    return Item(
        section, "state", state.id, cited("state", state.id), seen(state.text),
        "user" if state.payload.get("evidence") else "agent", state.confirmed, part,
        key=(state.since, state.id), rank=(_ORDER[section], -state.confirmed, state.id),
        detail=_dates(state) if section in DATED else "",
        evidence=tuple(state.evidence),
    )  # fmt: skip


def _dates(state: Held) -> str:
    """Since when it is valid, and the date that it is about, unless its text names that date: "on
    Monday" alone means nothing a month later."""
    since = _day(state.since // DAY)
    for period in about.of_payload(state.payload):
        date = format_period(*period)
        named = about.of_event(state.text, NEVER)
        if date != since and about.overlapping(named, period) is None:
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


def _preference(preference: Json) -> Item:
    verb = "Likes" if preference["polarity"] == "like" else "Dislikes"
    updated, id = parse_time(preference["updated_at"]), preference["preference_id"]
    return Item(
        "preferences", "preference", id, cited("preference", id),
        seen(f"{verb}: {preference['subject']}"), "user", updated,
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
        "mood", "state", mood["state_id"], cited("state", mood["state_id"]), seen(mood["text"]),
        "agent", last, "now", key=(0,), rank=(0,), detail=f"{tone} mood",
    )  # fmt: skip


def _of_session(session: Json) -> Iterator[Item]:
    for place, item in enumerate(session.get("session_memory", ())):
        text = item.get("decision") or item["content"]
        if item.get("rationale"):
            text = f"{text.rstrip('.')}. Reason: {item['rationale']}"
        yield Item(
            "session", "session_memory", item["id"], cited("session_memory", item["id"]),
            seen(text), "agent" if item.get("source") == "agent" else "user", 0, "now",
            key=(place,), rank=(1, -item["confidence"], -place),
            detail=item["type"].replace("_", " "), session_id=session["session_id"],
            said_by=tuple(item.get("said_by", ())),
        )  # fmt: skip


def _turn(hit: Recalled, turn: Turn, weights: dict[str, float]) -> Item:
    """A turn; the agent's words only if the user's lack what the query is about."""
    said = excerpt(turn.user_input, SAID, weights)
    answer = "" if said and not hit.answers else turn.agent_answer
    return Item(
        "turns", "event", turn.event_id, cited("event", turn.event_id), said,
        "user" if said else "agent", turn.at, "about", detail=_day(turn.at // DAY),
        answer=excerpt(answer, ANSWERED, weights), session_id=turn.session_id,
        evidence=(turn.event_id,),
    )  # fmt: skip


def _once(found: list[Item], bare: "_Bare") -> list[Item]:
    """Of items that say the same in other letters, the first; of what several said each."""
    alike = Counter(bare.letters[item.text] for item in found)
    said: set[tuple[object, ...]] = set()
    kept = []
    for item in found:
        if alike[bare.letters[item.text]] > 1:
            says = bare[item.text], bare[item.answer], item.said_by
            if says in said:
                continue
            said.add(says)
        kept.append(item)
    return kept


class _Bare(dict[str, str]):
    """Text -> its words without case and without the marks around them: what tells one saying from
    another. Signs within a word count: C++ is not C, 1.5 is not 15.

    `letters` is quicker to have: where two texts differ in it, their words do.
    """

    def __init__(self) -> None:
        self.letters = _Letters()

    def __missing__(self, text: str) -> str:
        plain = text.isascii()
        folded, marks = (text.lower(), _ASCII_MARKS) if plain else (_folded(text), _MARKS)
        words = [one if one.isalnum() else one.strip(marks) or one for one in folded.split()]
        made = self[text] = " ".join(words)
        return made


class _Letters(dict[str, bytes]):
    """Text -> what is left of it, in one case, without blanks and marks."""

    def __missing__(self, text: str) -> bytes:
        folded = text if text.isascii() else _UNMARKED.sub("", _folded(text))
        left = folded.encode("utf-8", "surrogatepass").lower().translate(None, _ASCII_UNMARKED)
        self[text] = left
        return left


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


_MARKS = ".,;:!?\"'()“”„‟«»‘’…。、「」『』؟،؛।"
"""Marks around a word, as far as NFKC leaves them."""
_ASCII_MARKS = "".join(one for one in _MARKS if one.isascii())
_ASCII_BLANKS = "".join(one for one in map(chr, range(128)) if one.isspace())
_UNMARKED = re.compile(rf"[{re.escape(_MARKS)}\s]+")
_ASCII_UNMARKED = (_ASCII_MARKS + _ASCII_BLANKS).encode()
