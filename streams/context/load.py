"""Builds context packs from a history."""

from typing import Any, NamedTuple

import msgspec

from schemas.time import format_time
from sinks.generation import find_tables
from sinks.locations import Location
from streams import history_documents, history_lists, search
from streams.context.pack_lines import ValidState, items
from streams.context.request import PackRequest, checked
from streams.context.token_budget import Pack, pack
from streams.errors import UsageError
from streams.files.manifest import rules_of
from streams.files.refold import refold
from streams.folds import session_memory
from streams.folds.constants import Rules
from streams.folds.effects import Rows
from streams.folds.session_state import HEADER, MAX_USERS, visible
from streams.search.query import MAX_LIMIT

TOKENS_A_HIT = 40
"""Tokens of a short turn with its date and citation: bounds the number of hits."""
ADJACENT = 1
"""Turns on each side of the best hits."""

KINDS = {
    "turns": "event", "preferences": "preference", "facts": "state", "tasks": "state",
    "identity": "state", "constraints": "state",
}  # fmt: skip
"""Section -> the kind of its hits."""
MOOD = "long_mood_state"
"""The state kind of the mood."""

Json = dict[str, Any]


class Context(NamedTuple):
    """A pack, and whether the history has any data of its user."""

    pack: Pack
    known: bool

    def document(self, request: PackRequest) -> Json:
        """The response document (schemas.context.ContextPack)."""
        return {
            "user_id": request.user_id,
            "known": self.known,
            "as_of": format_time(request.at),
            "known_at": None if request.known_at is None else format_time(request.known_at),
            "max_tokens": request.max_tokens,
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
"""Fields of an item in the response document."""


def context(root: Location, tenant: str, request: PackRequest) -> Context:
    """Builds a pack from a history. Raises UsageError, NotIndexed, HistoryError."""
    request = checked(request)
    user = user_documents(root, tenant, request)
    session = session_documents(root, tenant, request)
    query = search_query(request)
    recall = None if query is None else search.recall(root, tenant, query)
    return Context(build(request, user, session, recall), user is not None)


def build(
    request: PackRequest, user: Json | None, session: Json | None, recall: search.Recall | None
) -> Pack:
    """Builds the pack of documents and hits. Turns recorded later than `known_at` are omitted."""
    if recall is not None and request.known_at is not None:
        hits = [_as_known(hit, request.known_at) for hit in recall.hits]
        recall = search.Recall([hit for hit in hits if hit is not None], recall.weights)
    if recall is not None and not recall.hits:
        recall = None  # "Hello": rank by recency instead
    candidates = items(user, session, recall, request.at)
    selected = [item for item in candidates if item.section in request.sections]
    return pack(
        selected, request.max_tokens, request.format,
        is_query=recall is not None, count=request.count,
    )  # fmt: skip


def _as_known(hit: search.Recalled, known_at: int) -> search.Recalled | None:
    """A hit without the data recorded after `known_at`."""
    if hit.turn is not None and hit.turn.recorded_at > known_at:
        return None
    if hit.later is not None and hit.later.recorded_at > known_at:
        return msgspec.structs.replace(hit, later=None)
    return hit


def user_documents(root: Location, tenant: str, request: PackRequest) -> Json | None:
    """Returns the user's documents valid at `question.at`, in the form that `items` takes, or None
    for an unknown user."""
    documents = history_documents.memory_as_of(
        root, tenant, request.user_id, request.at, request.known_at
    )
    if any(documents.values()):
        return _with_mood(documents, request.at)
    is_known = history_lists.knows_user(root, tenant, request.user_id, request.known_at)
    return documents if is_known else None


def _with_mood(documents: Json, at: int) -> Json:
    """Separates the mood, faded by `at`, from the other states."""
    moods = [state for state in documents["states"] if state["kind"] == MOOD]
    states = [ValidState.of(state) for state in documents["states"] if state["kind"] != MOOD]
    mood = mood_document(moods[0], at) if moods else None
    return {**documents, "states": states, "mood": mood}


def mood_document(state: Json, at: int) -> Json:
    """The mood at a time, from the document of its state."""
    return {**history_documents.mood(state, at), "state_id": state["state_id"]}


def session_documents(root: Location, tenant: str, request: PackRequest) -> Json | None:
    """Returns the session's memory at `question.at`, or None before its start. Raises UsageError
    for another user's session."""
    if not needs_session(request):
        return None
    assert request.session_id is not None
    rules = rules_of(find_tables(root))
    rows = refold(root, tenant, request.session_id, rules, request.at, request.known_at)
    return session_of(rows, rules, request.user_id)


def needs_session(request: PackRequest) -> bool:
    """Whether the pack includes a session's memory."""
    return request.session_id is not None and "session" in request.sections


def search_query(request: PackRequest) -> search.Query | None:
    """The search query of a pack, or None if it needs no search."""
    kinds = tuple(dict.fromkeys(KINDS[name] for name in request.sections if name in KINDS))
    if not request.text or not kinds:
        return None
    limit = min(MAX_LIMIT, max(10, request.max_tokens // TOKENS_A_HIT))
    return search.Query(
        text=request.text, now=request.at, as_of=request.at, user_id=request.user_id,
        kinds=kinds, limit=limit, neighbours=ADJACENT,
    )  # fmt: skip


def session_of(rows: Rows, rules: Rules, user_id: str) -> Json | None:
    """Returns the session's id and `session_memory`, each item with `said_by`, or None for an
    unknown session.

    `said_by` has the users of the turns that an item is based on (None for a turn without a user);
    it is empty if that is the given user alone: every user with a turn in a session may read it,
    but statements of others are attributed (docs/context.md, "Content"). Raises UsageError for a
    session of other users.
    """
    base = rows.get(HEADER)
    if base is None:
        return None
    header = visible(rows, base, rules)
    speakers = header.users or ((header.user[2],) if header.user else ())
    if speakers and user_id not in speakers and len(speakers) < MAX_USERS:
        raise UsageError("session_id: the session is another user's")
    said_by = session_memory.speakers(rows, rules) if header.users else {}
    return {
        "session_id": rows.key,
        "session_memory": [
            {**item, "said_by": _speakers(said_by.get(item["id"], set()), user_id)}
            for item in session_memory.items(rows, rules)
        ],
    }


def _speakers(users: set[str | None], user_id: str) -> list[str | None]:
    """The users in order; empty if there is none but the given one."""
    if users <= {user_id}:
        return []
    return sorted(users, key=lambda user: (user is None, user or ""))
