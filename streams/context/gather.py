"""The documents that a context pack is made of, read from a history."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from schemas.time import format_time
from sinks.generation import find_tables
from sinks.locations import Location
from streams import listing, reading, search
from streams.context.items import Held, items
from streams.context.pack import Pack, pack
from streams.context.question import Question, checked
from streams.context.session import session_of
from streams.files.manifest import rules_of
from streams.files.refold import refold
from streams.reading import FAR

RECALLED = 8
"""Turns that are looked for; the budget decides how many are shown."""
AROUND = 1
"""Turns on each side of one that was found: what it answers, or what it was answered."""

MOOD = "long_mood_state"
"""The kind of the state that is the mood."""

Json = dict[str, Any]


class Context(NamedTuple):
    """A pack, and whether anything is known of its user."""

    pack: Pack
    known: bool

    def document(self, question: Question) -> Json:
        """As it is answered (schemas.context.ContextPack)."""
        return {
            "user_id": question.user_id,
            "known": self.known,
            "as_of": format_time(question.at),
            "known_at": None if question.known_at is None else format_time(question.known_at),
            "max_tokens": question.max_tokens,
            "tokens": self.pack.tokens,
            "left_out": self.pack.left_out,
            "text": self.pack.text,
            "items": [{name: getattr(item, name) for name in SHOWN} for item in self.pack.items],
        }


SHOWN = (
    "section", "kind", "id", "cite", "text", "detail", "answer", "source", "said_by", "session_id",
)  # fmt: skip
"""What is told of an item besides its line."""


def context(root: Location, tenant: str, question: Question) -> Context:
    """The pack out of a history. Raises UsageError, NotIndexed, HistoryError."""
    question = checked(question)
    user = user_then(root, tenant, question)
    session = session_then(root, tenant, question)
    query = recalling(question)
    turns = [] if query is None else search.recall(root, tenant, query)
    return Context(made(question, user, session, turns), user is not None)


def made(
    question: Question, user: Json | None, session: Json | None, turns: Iterable[search.Turn]
) -> Pack:
    """The pack out of documents and turns: here the ways of the tiers meet. What was recorded later
    than `known_at` is left out of the turns."""
    known_at = FAR if question.known_at is None else question.known_at
    known = (turn for turn in turns if turn.recorded_at <= known_at)
    found = [one for one in items(user, session, known) if one.section in question.sections]
    recalls = asks_session(question) or recalling(question) is not None
    return pack(found, question.max_tokens, question.format, recalls=recalls, count=question.count)


def user_then(root: Location, tenant: str, question: Question) -> Json | None:
    """What stood of the user at the time asked about; None: nothing is known."""
    known = reading.known_of(root, tenant, question.user_id, question.at, question.known_at)
    return remembered(root, tenant, question, known)


def remembered(root: Location, tenant: str, question: Question, known: Json) -> Json | None:
    """The same, of what stood (`reading.known_of`)."""
    if any(known.values()):
        return with_mood(known, question.at)
    is_known = listing.knows_user(root, tenant, question.user_id, question.known_at)
    return known if is_known else None


def with_mood(known: Json, at: int) -> Json:
    """A user's documents as `items` takes them: the mood apart from the states, as it has faded by
    then."""
    moods = [one for one in known["states"] if one["kind"] == MOOD]
    states = [Held.of(one) for one in known["states"] if one["kind"] != MOOD]
    return {**known, "states": states, "mood": felt(moods[0], at) if moods else None}


def felt(state: Json, at: int) -> Json:
    """The mood at a time, out of its state's document."""
    return {**reading.mood(state, at), "state_id": state["state_id"]}


def session_then(root: Location, tenant: str, question: Question) -> Json | None:
    """The session's memory at the time asked about; None where it had not begun. Raises UsageError
    for a session of others."""
    if not asks_session(question):
        return None
    assert question.session_id is not None
    rules = rules_of(find_tables(root))
    rows = refold(root, tenant, question.session_id, rules, question.at, question.known_at)
    return session_of(rows, rules, question.user_id)


def asks_session(question: Question) -> bool:
    """Whether a session's memory is to be shown."""
    return question.session_id is not None and "session" in question.sections


def recalling(question: Question) -> search.Query | None:
    """What the search is asked for; None where nothing is."""
    if not question.text or "turns" not in question.sections:
        return None
    return search.Query(
        text=question.text, now=question.at, as_of=question.at, user_id=question.user_id,
        kinds=("event",), limit=RECALLED, neighbours=AROUND,
    )  # fmt: skip
