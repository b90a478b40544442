"""The lines of a context pack, made of the documents of a user, a session and what was found.

A document says what stood at the time that is asked about; here is decided which of it an agent
needs, under which heading, and in what order it gives way where there is too much.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

from schemas.citation import cited
from schemas.context import SECTIONS
from schemas.time import DAY, format_time, parse_time
from streams.context.visible import seen
from streams.dates.period import format_period
from streams.search import Turn, about

Json = dict[str, Any]
Source = Literal["user", "agent"]

LASTING = ("identity", "constraints", "preferences", "facts", "tasks")
"""The sections that neither the question nor the minute changes."""
NAMING = {"name", "address", "pronouns", "nickname"}
"""Slots of states that say how to speak to a person."""
BINDING = {"constraint", "health", "allergy", "diet"}
"""Categories and families of states that an answer may not go against."""
NEVER = parse_time("1000-01-01T00:00:00Z")
"""A time to which no date is near that somebody says without its year."""
FELT = 0.25
"""Valence from which, up or down, a mood is worth mentioning."""
STANDS = 30 * DAY
"""How long a task without a date goes before preferences and facts, from when it was last told."""
SAID, ANSWERED = 400, 300
"""Characters of a recalled turn that are shown."""


class Item(NamedTuple):
    """One line, or a recalled turn of several.

    `id` is the document's, and `cite` what stands in the text for it (schemas.citation). `text` is
    what is remembered, `detail` what the pack adds to it. `source`: whose words it goes back to.
    `said_by`: in a session of several users, who said it, where that is not the user alone
    (streams.context.session). `key` puts a section in order. Where the budget does not hold two
    items, the one with the higher `rank` is left out.
    """

    section: str
    kind: str
    id: str
    cite: str
    text: str
    source: Source
    at: int
    key: tuple[Any, ...]
    rank: tuple[Any, ...]
    detail: str = ""
    answer: str = ""
    session_id: str | None = None
    said_by: tuple[str | None, ...] = ()


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


def items(user: Json | None, session: Json | None = None, turns: Iterable[Turn] = ()) -> list[Item]:
    """All that could be said, in the order of a pack; what is said twice only once.

    `user` is what `gather` knows of a user: `states`, each a `Held`, `preferences` and the `mood`;
    only what stands, though its end may be known already (a lease, a deadline, what ended after the
    time asked about). `session` is what `session_of` makes, `turns` are those that the question is
    about, best first.
    """
    bare = _Bare()
    found = [*_of_user(user or {}, bare), *_of_session(session or {}), *_recalled(turns)]
    said = [item for item in found if item.text or item.answer]
    said.sort(key=_in_order)
    return _once(said, bare)


_ORDER = {name: place for place, name in enumerate(SECTIONS)}


def _in_order(item: Item) -> tuple[Any, ...]:
    return _ORDER[item.section], item.key


def _of_user(user: Json, bare: "_Bare") -> Iterator[Item]:
    states: list[Held] = [
        state
        for state in user.get("states", ())
        if state.kind != "task" or state.payload.get("status") != "done"
    ]
    told = _Told(states, bare)
    heard = max((state.confirmed for state in states), default=0)
    for state in states:
        if not told.fuller(state.payload.get("value"), len(state.text), state.evidence):
            yield _state(state, heard)
    for preference in user.get("preferences", ()):
        if preference["status"] == "confirmed" and not told.fuller(
            preference["subject"], 0, preference["evidence_event_ids"], preference["polarity"]
        ):
            yield _preference(preference)
    mood = user.get("mood")
    if mood and abs(mood["vad"]["v"]) >= FELT:
        yield _mood(mood)


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


def _state(state: Held, heard: int) -> Item:
    """`heard`: when the newest of them was last confirmed."""
    section = _section(state.kind, state.payload)
    place = _RANKS["facts" if section == "tasks" and _is_past(state, heard) else section]
    return Item(
        section, "state", state.id, cited("state", state.id), seen(state.text),
        "user" if state.payload.get("evidence") else "agent", state.since,
        key=(state.since, state.id), rank=(place, -state.confirmed, state.id),
        detail=_dates(state) if section in _DATED else "",
    )  # fmt: skip


def _is_past(task: Held, heard: int) -> bool:
    """Whether a task's date had passed, or it had stood for long, when the user was last heard of:
    by memory's own time, so that a pack does not change with the minute."""
    for _, end in about.of_payload(task.payload):
        return heard >= end
    return heard >= task.confirmed + STANDS


def _dates(state: Held) -> str:
    """Since when it stands, and the date that it is about, if that is another and its text does not
    name it: "on Monday" alone says nothing a month later."""
    since = _day(state.since // DAY)
    for period in about.of_payload(state.payload):
        date = format_period(*period)
        named = about.of_event(state.text, NEVER)
        if date != since and about.overlapping(named, period) is None:
            return f"since {since}, date {date}"
    return f"since {since}"


def _section(kind: str, payload: Json) -> str:
    if kind == "task":
        return "tasks"
    if payload.get("slot") in NAMING:
        return "identity"
    kinds = {payload.get("category"), payload.get("family")}
    return "facts" if BINDING.isdisjoint(kinds) else "constraints"


@lru_cache(maxsize=4096)
def _day(number: int) -> str:
    return format_time(number * DAY)[:10]


_DATED = {"facts", "tasks"}
_RANKS = {
    "identity": 0, "constraints": 1, "tasks": 2, "preferences": 3, "facts": 3, "mood": 4,
    "session": 5, "turns": 6,
}  # fmt: skip
"""What is chosen first. Preferences and facts are chosen by when they were last confirmed."""


def _preference(preference: Json) -> Item:
    verb = "Likes" if preference["polarity"] == "like" else "Dislikes"
    updated = parse_time(preference["updated_at"])
    id = preference["preference_id"]
    return Item(
        "preferences", "preference", id, cited("preference", id),
        seen(f"{verb}: {preference['subject']}"), "user", updated,
        key=(verb, preference["subject"], id), rank=(_RANKS["preferences"], -updated, id),
    )  # fmt: skip


def _mood(mood: Json) -> Item:
    felt = "good" if mood["vad"]["v"] > 0 else "low"
    at = parse_time(mood["last_at"])
    return Item(
        "mood", "state", mood["state_id"], cited("state", mood["state_id"]),
        seen(mood["text"]), "agent", at, key=(0,), rank=(_RANKS["mood"],), detail=f"{felt} mood",
    )  # fmt: skip


def _of_session(session: Json) -> Iterator[Item]:
    for place, item in enumerate(session.get("session_memory", ())):
        text = item.get("decision") or item["content"]
        if item.get("rationale"):
            text = f"{text.rstrip('.')}. Reason: {item['rationale']}"
        yield Item(
            "session", "session_memory", item["id"], cited("session_memory", item["id"]),
            seen(text), "agent" if item.get("source") == "agent" else "user", 0,
            key=(place,), rank=(_RANKS["session"], -item["confidence"], -place),
            detail=item["type"].replace("_", " "), session_id=session["session_id"],
            said_by=tuple(item.get("said_by", ())),
        )  # fmt: skip


def _recalled(turns: Iterable[Turn]) -> Iterator[Item]:
    for place, turn in enumerate(turns):
        said, answer = short(turn.user_input, SAID), short(turn.agent_answer, ANSWERED)
        yield Item(
            "turns", "event", turn.event_id, cited("event", turn.event_id), said,
            "user" if said else "agent", turn.at,
            key=(turn.at, turn.event_id), rank=(_RANKS["turns"], place),
            detail=_day(turn.at // DAY), answer=answer, session_id=turn.session_id,
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


def short(text: str, length: int) -> str:
    """The beginning of a text in one line, at most so many characters, cut behind a word."""
    line = seen(text)
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > length // 2 else cut) + "…"
