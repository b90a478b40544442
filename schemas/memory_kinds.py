"""The kinds of memory, each declared once.

`MEMORY_KINDS` drives the views (`sinks/views.py`), `digest`, `diff`, search, the prompts of model
extractors, the document of a user and the topics. The models of the documents are in
`schemas/memory.py`, the folds of kinds that plans write in `streams/folds/revised_kinds.py`. This
module has names only, in named tuples: readers of a history start without loading pydantic or
`dataclasses`.
"""

from typing import NamedTuple


class Published(NamedTuple):
    """The compacted topic with the newest documents, keyed by the fields of the kind's key."""

    name: str
    about: str


class Searched(NamedTuple):
    """Indexed fields of a document. Hits show `text`; `hidden` fields are searched, but not
    shown."""

    text: tuple[str, ...]
    hidden: tuple[str, ...] = ()


class Prompted(NamedTuple):
    """Documents in a model's prompt: the list `name` with these fields of each document. Documents
    with a field `text` closest to the turns, and the newest, come first."""

    name: str
    fields: tuple[str, ...]
    text: str


class Listed(NamedTuple):
    """The list `name` in a user's document, ordered by the fields `order`. `line` is the template
    of `turnfold show user` for one document. That command omits the fields `left_out`; the HTTP API
    returns them."""

    name: str
    order: tuple[str, ...]
    line: str
    left_out: tuple[str, ...] = ()


class MemoryKind(NamedTuple):
    """One kind of memory.

    `name` is the `entity_type` of its revisions and the kind of its search hits. `key` has the
    identifying columns of its `view` and topic; the last one is the id. `about` describes the view.
    `diff` compares the columns `compared` and counts by the column `counted_by` (`kind` of the
    revisions). `evidence` is SQL for the supporting events. `same_if`: a removed and an added
    document with equal content are the same if these columns agree, as ids differ by generation.

    The newest document comes from a `table` of documents; if `revised`, from the revisions, one
    document per id; otherwise from the SQL of the view in `sinks/views.py`. `ended` is the status
    of a document that is stored but no longer in force.
    """

    name: str
    key: tuple[str, ...]
    view: str = ""
    about: str = ""
    compared: tuple[str, ...] = ("doc",)
    counted_by: str = ""
    evidence: str = "[]"
    same_if: tuple[str, ...] = ()
    table: str = ""
    revised: bool = False
    ended: str = ""
    topic: Published | None = None
    searched: Searched | None = None
    prompted: Prompted | None = None
    listed: Listed | None = None

    @property
    def id(self) -> str:
        """The field with the id of the document."""
        return self.key[-1]


TASK = MemoryKind(
    "task",
    key=("tenant", "session_id", "task_id"),
    view="task_current",
    about="The newest document of each task (`doc`: a TaskDocument).",
    table="tasks",
    topic=Published("tasks", "the task's state machine"),
)
SESSION = MemoryKind(
    "session",
    key=("tenant", "session_id"),
    view="session_current",
    about="The newest document of each session (`doc`: a SessionDocument), its status without "
    "expiry.",
    table="sessions",
    topic=Published("sessions", "the session's document"),
)
PROFILE = MemoryKind(
    "profile",
    key=("tenant", "user_id"),
    view="profile_current",
    about="The newest learning profile of each user (`doc`: a UserLearningProfile).",
    table="profiles",
    topic=Published("profiles", "the user's learning profile"),
)

_STATE = (
    "kind", "body_text", "payload", "confidence", "valid_from", "valid_to", "last_confirmed_at",
    "status", "evidence_event_ids",
)  # fmt: skip
STATE = MemoryKind(
    "state",
    key=("tenant", "owner_id", "state_id"),
    view="state_current",
    about="The version of each state with the latest `valid_from`, even if it has ended or starts "
    "in the future.",
    compared=_STATE,
    counted_by="kind",
    evidence="evidence_event_ids",
    same_if=("tenant", "owner_id"),
    topic=Published("states", "the newest version of a state"),
    searched=Searched(("body_text",), ("entities",)),
    prompted=Prompted(
        "states",
        ("state_id", "kind", "body_text", "confidence", "valid_from", "last_confirmed_at",
         "status"),
        "body_text",
    ),
)  # fmt: skip
MOOD = MemoryKind(
    "mood",
    key=("tenant", "owner_id"),
    view="mood_current",
    about="The mood of each user right after the last moment of affect: the state of kind "
    "`long_mood_state`, its numbers in `payload`.",
    compared=_STATE,
    evidence="evidence_event_ids",
    topic=Published("moods", "the mood at its last moment; readers apply the decay"),
)
PREFERENCE = MemoryKind(
    "preference",
    key=("tenant", "owner_id", "preference_id"),
    view="preference_current",
    about="The current form of each preference, including revoked ones.",
    compared=("domain", "polarity", "subject", "status", "confidence", "note",
              "evidence_event_ids"),
    evidence="evidence_event_ids",
    same_if=("tenant", "owner_id"),
    revised=True,
    ended="revoked",
    topic=Published("preferences", "a like or dislike"),
    searched=Searched(("subject", "note"), ("polarity",)),
    prompted=Prompted(
        "preferences", ("domain", "polarity", "subject", "status", "confidence"), "subject"
    ),
    listed=Listed(
        "preferences", ("domain", "subject"), "{polarity} ({status}, {domain}): {subject}",
        left_out=("note",),
    ),
)  # fmt: skip
SESSION_MEMORY = MemoryKind(
    "session_memory",
    key=("tenant", "session_id", "item_id"),
    counted_by="type",
    evidence="evidence",
    searched=Searched(("content", "decision", "rationale")),
)
AFFECT = MemoryKind(
    "affect",
    key=("tenant", "user_id", "session_id", "event_id"),
    view="affect_current",
    about="The moment of affect that counts for each event: a plan's beats a turn's.",
    compared=("v", "a", "d", "text", "labels", "confidence"),
    evidence="[event_id]",
)
LINK = MemoryKind(
    "link",
    key=("tenant", "owner_id", "session_id", "from_event_id", "to_event_id", "label",
         "provisional"),
    view="link_current",
    about="Current links. A plan's `reply_to` replaces the provisional one.",
    compared=("confidence",),
    counted_by="label",
    evidence="[from_event_id, to_event_id]",
)  # fmt: skip
THREAD = MemoryKind(
    "thread",
    key=("tenant", "owner_id", "thread_key", "session_id", "event_id"),
    view="thread_current",
    about="The events of each thread.",
    compared=("confidence",),
    evidence="[event_id]",
)

MEMORY_KINDS: tuple[MemoryKind, ...] = (
    TASK, SESSION, PROFILE, STATE, MOOD, PREFERENCE, SESSION_MEMORY, AFFECT, LINK, THREAD,
)  # fmt: skip
REVISED: tuple[MemoryKind, ...] = tuple(kind for kind in MEMORY_KINDS if kind.revised)
"""Kinds of a user's memory with the newest document in the newest revision."""
OF_USERS = (STATE.name, *(kind.name for kind in REVISED))
"""The `entity_type` of the revisions of a user's memory; the mood is a state."""
SEARCHED = ("event", *(kind.name for kind in MEMORY_KINDS if kind.searched))
"""The kinds of search hits."""
