"""The documents that a context pack is made of, read from a history."""

from typing import Any, NamedTuple

import msgspec

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
from streams.search.query import MAX_LIMIT

TOKENS_A_HIT = 40
"""A short turn with its date and citation: the budget holds at most so many hits."""
BESIDE = 1
"""Turns on each side of the best hits."""

KINDS = {
    "turns": "event", "preferences": "preference", "facts": "state", "tasks": "state",
    "identity": "state", "constraints": "state",
}  # fmt: skip
"""Section -> the kind of hits that it shows."""
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
            "left_out": sum(self.pack.left_out.values()),
            "left_out_by_section": self.pack.left_out,
            "text": self.pack.text,
            "items": [{name: getattr(item, name) for name in SHOWN} for item in self.pack.items],
        }


SHOWN = (
    "section", "kind", "id", "cite", "text", "detail", "answer", "source", "said_by", "session_id",
    "later", "later_id",
)  # fmt: skip
"""What is told of an item besides its line."""


def context(root: Location, tenant: str, question: Question) -> Context:
    """The pack out of a history. Raises UsageError, NotIndexed, HistoryError."""
    question = checked(question)
    user = user_then(root, tenant, question)
    session = session_then(root, tenant, question)
    query = recalling(question)
    recall = None if query is None else search.recall(root, tenant, query)
    return Context(made(question, user, session, recall), user is not None)


def made(
    question: Question, user: Json | None, session: Json | None, recall: search.Recall | None
) -> Pack:
    """The pack of documents and hits, in any tier. Turns recorded later than `known_at` are
    omitted."""
    if recall is not None and question.known_at is not None:
        hits = [_known(hit, question.known_at) for hit in recall.hits]
        recall = search.Recall([hit for hit in hits if hit is not None], recall.weights)
    if recall is not None and not recall.hits:
        recall = None  # "Hello": what is recent serves better than nothing
    candidates = items(user, session, recall, question.at)
    shown = [item for item in candidates if item.section in question.sections]
    return pack(
        shown, question.max_tokens, question.format,
        is_query=recall is not None, count=question.count,
    )  # fmt: skip


def _known(hit: search.Recalled, known_at: int) -> search.Recalled | None:
    """A hit as it was known at a time."""
    if hit.turn is not None and hit.turn.recorded_at > known_at:
        return None
    if hit.later is not None and hit.later.recorded_at > known_at:
        return msgspec.structs.replace(hit, later=None)
    return hit


def user_then(root: Location, tenant: str, question: Question) -> Json | None:
    """What stood of the user at the time asked about; None: nothing is known."""
    known = reading.memory_as_of(root, tenant, question.user_id, question.at, question.known_at)
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
    """The search query of a pack; None if it needs none."""
    kinds = tuple(dict.fromkeys(KINDS[name] for name in question.sections if name in KINDS))
    if not question.text or not kinds:
        return None
    limit = min(MAX_LIMIT, max(10, question.max_tokens // TOKENS_A_HIT))
    return search.Query(
        text=question.text, now=question.at, as_of=question.at, user_id=question.user_id,
        kinds=kinds, limit=limit, neighbours=BESIDE,
    )  # fmt: skip
